/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/export/formats.h"
#include "cli/flamegraph/flame_profile.h"
#include "cli/page/page_content.h"
#include "cli/page/page_file.h"
#include "cli/page/page_make.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/session/selection.h"

/* ---- options -------------------------------------------------------------------------------- */

bool page_request_is_comparison(const struct page_request *request)
{
	return request->files.files[SIDE_NEW].count;
}

const char *page_request_file(const struct page_request *request)
{
	const struct string_list *new = &request->files.files[SIDE_NEW];

	return new->count ? new->items[new->count - 1] : request->common->file;
}

error_t page_request_take(struct page_request *request, int key, char *arg,
			  struct argp_state *state)
{
	struct options *common = request->common;

	switch (key) {
	case PAGE_KEY_BY:
		grouping_take(state, arg, &request->files.by.groups, common);
		return 0;
	case PAGE_KEY_VALUES:
		options_add_values(state, arg, common);
		if (!common->shown_values.items[common->shown_values.count - 1].expression)
			options_error(state, "--values: '%s' has no expression", arg);
		return 0;
	case PAGE_KEY_SOURCE_PATH:
		string_list_add(&request->folders, arg);
		request->has_code = true;
		return 0;
	case PAGE_KEY_SOURCE:
		request->has_code = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!request->files.files[SIDE_OLD].count) {
			if (common->file)
				options_error(state, "only one file is allowed: %s and %s",
					      common->file, arg);
			common->file = arg;
		}
		break;
	}
	return diff_request_take(&request->files, key, arg, state);
}

void page_request_check(struct page_request *request, struct argp_state *state)
{
	struct diff_request *files = &request->files;

	if (files->side == SIDE_NEW || files->files[SIDE_OLD].count > 1)
		diff_request_check(files, request->common, state);
	else if (files->per != PER_ALL)
		options_error(state, "--per needs two captures to compare");
}

void page_request_free(struct page_request *request)
{
	diff_request_free(&request->files);
	free(request->folders.items);
}

/* ---- a page of at most 3 MB ---------------------------------------------------------------- */

/* The page's own programs need less than 250 kB of 3 MB. */
#define PACKED_MAX 2750000

/* The limits to try, in this order.  A page shows its steps on one or two thousand pixels. */
static const struct level {
	uint64_t steps; /* 0: as they are */
	size_t nodes, threads, values;
} levels[] = {
	{ 0, 250000, SIZE_MAX, 5000 }, { 16000, 100000, SIZE_MAX, 1000 },
	{ 8000, 80000, 20000, 500 },   { 4000, 60000, 5000, 200 },
	{ 2000, 40000, 2000, 100 },    { 1000, 30000, 1000, 50 },
	{ 500, 20000, 500, 20 },       { 250, 10000, 200, 10 },
	{ 100, 5000, 100, 10 },	       { 50, 2000, 50, 5 },
};

static uint64_t duration_of(const struct flame_profile *profile)
{
	uint64_t last = 0;

	for (size_t i = 0; i < profile->spans.n; i++) {
		if (profile->spans.items[i].bin > last)
			last = profile->spans.items[i].bin;
	}
	return (last + 1) * profile->spans.step;
}

/* Packing takes long, so returns NULL if the result would be far too large. */
static char *pack_content(struct flame_profile *profile, const struct page_source *source,
			  double *ratio, size_t *size_ret)
{
	_cleanup_free_ char *content = NULL;
	char *packed;
	size_t size;

	content = page_content_make(profile, source, &size);
	if ((double)size * *ratio > 1.1 * PACKED_MAX)
		return NULL;
	packed = page_file_pack(content, size, size_ret);
	*ratio = (double)*size_ret / (double)size;
	return packed;
}

/* The packed content of a finished profile, which is shrunk as needed: rare data is added up, and the
 * page reports this.  `loud`: reports a page that is still larger. */
static char *fit(struct flame_profile *profile, const struct page_source *source, bool loud)
{
	uint64_t duration = duration_of(profile);
	double ratio = 0; /* of packed bytes */
	char *packed = NULL;
	size_t size = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		const struct flame_limits limits = {
			.step = levels[i].steps ? duration / levels[i].steps : 0,
			.nodes = levels[i].nodes,
			.threads = levels[i].threads,
			.values = levels[i].values,
		};

		flame_profile_limit(profile, &limits);
		free(packed);
		packed = pack_content(profile, source, &ratio, &size);
		if (packed && size <= PACKED_MAX)
			return packed;
	}
	free(packed);
	ratio = 0;
	packed = pack_content(profile, source, &ratio, &size);
	if (loud && size > PACKED_MAX)
		complain("the page has %s, which browsers may show slowly; use --pid or --time for "
			 "a part",
			 format_bytes(size).text);
	return packed;
}

/* ---- parts of all pages --------------------------------------------------------------------- */

struct making {
	struct page_request *request;
	struct diff_counts counts; /* of a comparison */
	char *packed;
	int status;
};

static bool pack(struct making *making, struct flame_profile *profile,
		 const struct page_source *source)
{
	if (!profile->n_events) {
		complain("%s: no samples to show", making->request->common->file);
		return false;
	}
	making->packed = fit(profile, source, !making->request->common->quiet);
	return true;
}

/* ---- a capture ------------------------------------------------------------------------------ */

struct adding {
	struct flame_profile *profile;
	struct page_instructions *instructions; /* NULL: not wanted */
	struct value_labels values;
};

static bool add_trace(void *context, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct adding *adding = context;

	if (adding->instructions)
		page_instructions_count(adding->instructions, trace, event);
	return flame_profile_add(adding->profile, value_labels_add(&adding->values, trace), event);
}

/* `diff`: NULL without a comparison. */
static bool pack_capture(struct making *making, struct session *session,
			 const struct page_diff *diff)
{
	bool has_code = making->request->has_code;
	struct page_instructions instructions;
	struct page_code code = { 0 };
	struct flame_profile profile;
	struct adding adding = { .profile = &profile,
				 .instructions = has_code ? &instructions : NULL };
	bool ok;

	page_instructions_init(&instructions);
	flame_profile_init(&profile, session->info->first_sample_time, true);
	flame_profile_group(&profile, &making->request->files.by.groups);
	profile.keeps_labels = true;
	value_labels_init(&adding.values, session->options->values, session->options->n_values,
			  &session->options->shown_values);
	ok = session_visit(session, add_trace, &adding) &&
	     groups_have_labels(profile.groups, profile.n_groups, session) &&
	     session_explain_labels(session, &adding.values);
	if (ok) {
		struct page_source source = {
			.of = { .path = session->name,
				.quality = &session->quality,
				.info = session->info },
			.capture = session->capture,
			.diff = diff,
		};

		flame_profile_finish(&profile);
		if (has_code) {
			page_code_find(&code, session, &making->request->folders, &profile);
			page_instructions_find(&instructions, session, &profile.frames.symbols);
			source.code = &code;
			source.instructions = &instructions;
		}
		if (!diff)
			session_warn(session);
		making->status = session_status(session);
		ok = pack(making, &profile, &source);
	}
	page_code_free(&code);
	page_instructions_free(&instructions);
	flame_profile_free(&profile);
	value_labels_free(&adding.values);
	return ok;
}

static bool make_of_capture(struct making *making)
{
	struct session session;
	bool ok = session_open(&session, making->request->common) &&
		  pack_capture(making, &session, NULL);

	session_close(&session);
	return ok;
}

/* ---- a profile of `stackreel aggregate` ------------------------------------------------------- */

static bool make_of_profile(struct making *making)
{
	struct options *common = making->request->common;
	struct flame_profile profile;
	struct profiles profiles;
	struct profile_view view;
	bool ok;

	profiles_init(&profiles, &(struct by){ 0 }, true);
	flame_profile_init(&profile, 0, false);
	ok = profile_view_open(&view, common, &profiles);
	if (ok) {
		const struct page_source source = {
			.of = { .path = common->file,
				.quality = &view.quality,
				.captures = view.totals.captures },
		};

		flame_profile_add_all(&profile, &profiles);
		flame_profile_finish(&profile);
		making->status = quality_status(&view.quality, common);
		ok = pack(making, &profile, &source);
	}
	flame_profile_free(&profile);
	profiles_free(&profiles);
	return ok;
}

/* ---- a comparison --------------------------------------------------------------------------- */

/* The last capture was counted: its samples are read again, for the other tabs. */
static bool pack_comparison(void *context, struct session *session)
{
	struct making *making = context;
	const struct diff_request *request = &making->request->files;
	struct diff_counts *counts = &making->counts;
	struct diff_changes changes, paths;
	struct diff_result result = {
		.counts = counts,
		.changes = &changes,
		.paths = &paths,
		.files = { &request->files[SIDE_OLD], &request->files[SIDE_NEW] },
		.doubts = diff_request_doubts(request),
	};
	struct page_diff diff;
	bool ok;

	diff_counts_join_renamed(counts);
	diff_changes_find(counts, KIND_FUNCTION, &result.doubts, &changes);
	diff_changes_find(counts, KIND_PATH, &result.doubts, &paths);
	page_diff_init(&diff, &result);
	session->quality = (struct quality){ 0 };
	sample_counts_free(&session->missing);
	session->missing = (struct sample_counts){ 0 };
	ok = pack_capture(making, session, &diff);
	diff_changes_free(&paths);
	diff_changes_free(&changes);
	return ok;
}

static bool make_of_comparison(struct making *making)
{
	struct diff_request *request = &making->request->files;
	bool ok;

	/* Groups contain functions. */
	request->by.has_symbols = true;
	request->has_paths = true;
	ok = diff_request_read(request, making->request->common, pack_comparison, making,
			       &making->counts);
	diff_counts_free(&making->counts);
	return ok;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Comparisons and groups need samples: false if a file is a profile. */
static bool are_captures(const struct page_request *request)
{
	for (int side = 0; side < SIDES; side++) {
		const struct string_list *files = &request->files.files[side];

		for (size_t i = 0; i < files->count; i++) {
			if (!profile_file_is(files->items[i]))
				continue;
			complain("%s: comparisons need captures, not profiles of 'stackreel "
				 "aggregate'",
				 files->items[i]);
			return false;
		}
	}
	return true;
}

char *page_make(struct page_request *request, int *status_ret)
{
	struct making making = { .request = request };
	bool is_profile = profile_file_is(request->common->file), ok;

	*status_ret = STATUS_ERROR;
	if (page_request_is_comparison(request)) {
		ok = are_captures(request) && make_of_comparison(&making);
	} else if (is_profile && (request->files.by.groups.n || request->has_code ||
				  request->common->shown_values.count)) {
		complain("%s needs a capture, not a profile of 'stackreel aggregate'",
			 request->has_code	      ? "--source"
			 : request->files.by.groups.n ? "--by"
						      : "--values");
		return NULL;
	} else {
		ok = is_profile ? make_of_profile(&making) : make_of_capture(&making);
	}
	*status_ret = making.status;
	return ok ? making.packed : NULL;
}

/* ---- for profiler.firefox.com --------------------------------------------------------------- */

char *page_firefox_make(const struct options *common, int *status_ret)
{
	const struct export_format *format = &export_firefox;
	_cleanup_free_ char *text = NULL;
	struct export_target target = { .fd = -1 };
	size_t size, packed_size;
	void *state;
	bool ok;

	if (profile_file_is(common->file)) {
		complain("%s: --firefox needs a capture, not a profile of 'stackreel aggregate'",
			 common->file);
		return NULL;
	}
	target.file = open_memstream(&text, &size);
	memory_check(target.file);
	state = format->open(&target);
	ok = state;
	if (state) {
		*status_ret = export_capture(format, state, common, &ok);
		ok = format->close(state, ok) && ok;
	}
	fclose(target.file);
	memory_check(text);
	return ok ? page_file_pack(text, size, &packed_size) : NULL;
}
