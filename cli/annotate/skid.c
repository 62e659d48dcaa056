/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture stores its event's perf type and its name, whose modifiers show whether it was precise
 * (perf_event_attr.precise_ip).
 */
#include <string.h>

#include "cli/annotate/skid.h"

/* From Linux's enum perf_type_id; the CPU counts the other types; SPEC.md, EVENT. */
enum {
	TYPE_SOFTWARE = 1,
	TYPE_TRACEPOINT = 2,
	TYPE_BREAKPOINT = 5,
	TYPE_NONE = UINT32_MAX,
};

struct search {
	uint32_t id;
	uint64_t type;
	bool found;
};

static bool is_number(const struct reel_field *field, const char *name)
{
	return field->kind == REEL_FIELD_UNSIGNED && !strcmp(field->name, name);
}

static bool note_type(void *context, const struct reel_record_view *record)
{
	struct search *search = context;
	uint64_t id = 0, type = 0;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	for (size_t i = 0; i < record->n_fields; i++) {
		if (is_number(&record->fields[i], "id"))
			id = record->fields[i].value;
		else if (is_number(&record->fields[i], "perf_type"))
			type = record->fields[i].value;
	}
	search->found = id == search->id;
	search->type = type;
	return !search->found;
}

/* "cycles:ppp" is 3; perf's P is the highest possible precision. */
static unsigned int precision_of(const char *name)
{
	const char *colon = strrchr(name, ':');
	unsigned int n = 0;

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "ukpPhHGSDWIeb")])
		return 0;
	for (const char *at = colon + 1; *at; at++)
		n += *at == 'p' ? 1 : *at == 'P' ? 3 : 0;
	return n;
}

static bool is_clock(const char *name)
{
	return !strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10);
}

static const char *describe(uint64_t type, const char *name, const char *arch)
{
	bool is_x86 = !strcmp(arch, "x86_64") || !strcmp(arch, "i386");

	if (type == TYPE_SOFTWARE && is_clock(name))
		return "sampled by a timer: time is attributed to the instruction after the slow "
		       "one";
	if (type == TYPE_SOFTWARE || type == TYPE_TRACEPOINT || type == TYPE_NONE)
		return "none: sampled where the kernel counts the event, or at the preceding "
		       "system call";
	if (type == TYPE_BREAKPOINT)
		return "at most one instruction: sampled at a breakpoint";
	switch (precision_of(name)) {
	case 0:
		return is_x86 ? "sampled without precise events (such as cycles:pp): "
				"addresses may be some instructions late"
			      : "sampled without precise events: addresses may be some "
				"instructions late";
	case 1:
		return "sampled with a precise event (:p): addresses are late by a constant, "
		       "usually one instruction";
	default:
		return "sampled with a precise event: addresses are exact";
	}
}

bool skid_describe(const struct session *session, const struct reel_event_info *event,
		   const char **ret)
{
	struct search search = { 0 };

	*ret = "unknown, since the type of event was not recorded";
	if (!event)
		return true;
	search.id = event->id;
	if (!no_error(reel_capture_visit_side_records(session->capture, note_type, &search)))
		return false;
	if (search.found)
		*ret = describe(search.type, event->name, session->info->arch);
	return true;
}
