/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/diff/request.h"
#include "cli/print/text.h"

/* ---- options ------------------------------------------------------------------------------ */

/* "second", "OLD:NEW" (two numbers), or an event's name. */
static void parse_per(struct diff_request *request, const char *arg, struct argp_state *state)
{
	const char *end;
	uint64_t numbers[SIDES];

	if (!strcmp(arg, "second")) {
		request->per = PER_SECOND;
		return;
	}
	if (!reel_decimal_parse(arg, 1000, &end, &numbers[SIDE_OLD])) {
		request->per = PER_EVENT;
		request->per_event = arg;
		return;
	}
	request->per = PER_REQUEST;
	if (*end != ':' || !reel_decimal_parse(end + 1, 1000, &end, &numbers[SIDE_NEW]) || *end ||
	    !numbers[SIDE_OLD] || !numbers[SIDE_NEW])
		options_error(state,
			      "--per: invalid value '%s' (expected 'second', the name of an event, "
			      "or an amount of work for each side, e.g. 1000:1200)",
			      arg);
	for (int side = 0; side < SIDES; side++)
		request->requests[side] = (double)numbers[side] / 1000;
}

error_t diff_request_take(struct diff_request *request, int key, char *arg,
			  struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		string_list_add(&request->files[request->side], arg);
		return 0;
	case DIFF_KEY_NEW:
		request->side = SIDE_NEW;
		return 0;
	case DIFF_KEY_PER:
		parse_per(request, arg, state);
		return 0;
	case DIFF_KEY_FALSE_RATE:
		if (!percent_parse(arg, &request->false_rate) || !request->false_rate)
			options_error(state, "--false-rate: invalid percentage '%s'", arg);
		return 0;
	case DIFF_KEY_RUN_NOISE:
		if (!percent_parse(arg, &request->run_noise))
			options_error(state, "--run-noise: invalid percentage '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Keys that mean the same in several captures. */
static void check_keys(const struct by *by, struct argp_state *state)
{
	if (by->symbols != SYMBOLS_BY_FUNCTION && by->symbols != SYMBOLS_BY_MODULE)
		options_error(state, "--by: a comparison has functions and modules, but no %s",
			      symbols_by_name(by->symbols));
	for (size_t i = 0; i < by->groups.n; i++) {
		if (by->groups.keys[i].kind == GROUP_THREAD ||
		    by->groups.keys[i].kind == GROUP_PROCESS)
			options_error(state, "--by: captures have different threads and processes; "
					     "use comm, their names");
	}
}

/* Two files are one for each side; more need --new between the sides. */
void diff_request_check(struct diff_request *request, struct options *common,
			struct argp_state *state)
{
	struct string_list *old = &request->files[SIDE_OLD], *new = &request->files[SIDE_NEW];

	if (request->side == SIDE_OLD && old->count == 2) {
		string_list_add(new, old->items[1]);
		old->items[--old->count] = NULL;
	}
	if (!old->count || !new->count)
		argp_error(state, "missing captures; use OLD NEW, or OLD... --new NEW...");
	/* Reading it enters the sandbox, which blocks other files (options_sandbox). */
	for (size_t i = 0; i < old->count + new->count - 1; i++) {
		if (!strcmp(i < old->count ? old->items[i] : new->items[i - old->count], "-"))
			argp_error(state, "only the last capture can be standard input");
	}
	if (request->per == PER_EVENT && common->event &&
	    !strcmp(request->per_event, common->event))
		argp_error(state,
			   "--per and --event name the same event; name two different events");
	if (common->sandbox == SANDBOX_ON)
		argp_error(state, "--sandbox only works with a single capture");
	check_keys(&request->by, state);
	common->file = old->items[0];
}

void diff_request_free(struct diff_request *request)
{
	for (int side = 0; side < SIDES; side++)
		free(request->files[side].items);
}

struct diff_doubts diff_request_doubts(const struct diff_request *request)
{
	return (struct diff_doubts){ (double)request->false_rate / (100.0 * PERCENT),
				     (double)request->run_noise / (100.0 * PERCENT) };
}

/* ---- reading ------------------------------------------------------------------------------ */

struct reading {
	const struct diff_request *request;
	struct options *common;
	bool (*visit)(void *context, struct session *session);
	void *context;
	struct diff_counts *counts;
};

static bool read_file(const struct reading *reading, const char *file, enum diff_side side)
{
	const struct string_list *new = &reading->request->files[SIDE_NEW];
	bool is_last = file == new->items[new->count - 1];
	struct session session;
	bool ok;

	reading->common->file = file;
	ok = session_open(&session, reading->common) &&
	     diff_counts_add(reading->counts, &session, side);
	if (ok) {
		session_warn(&session);
		ok = session_is_sound(&session) &&
		     quality_status(&session.quality, reading->common) == STATUS_OK;
	}
	if (ok && is_last)
		ok = diff_counts_check_labels(reading->counts) &&
		     (!reading->visit || reading->visit(reading->context, &session));
	session_close(&session);
	return ok;
}

bool diff_request_read(const struct diff_request *request, struct options *common,
		       bool (*visit)(void *context, struct session *session), void *context,
		       struct diff_counts *ret)
{
	const struct reading reading = { request, common, visit, context, ret };

	diff_counts_init(ret);
	ret->per = request->per;
	ret->per_event = request->per_event;
	ret->by = request->by;
	ret->has_paths = request->has_paths;
	/* Samples of both events are needed. */
	if (request->per == PER_EVENT && common->event) {
		ret->event = memory_print("%s", common->event);
		common->event = NULL;
	}
	for (int side = 0; side < SIDES; side++) {
		ret->n_captures[side] = request->files[side].count;
		ret->requests[side] = request->requests[side];
	}
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < request->files[side].count; i++) {
			if (!read_file(&reading, request->files[side].items[i],
				       (enum diff_side)side))
				return false;
		}
	}
	return true;
}
