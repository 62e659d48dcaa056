/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that began a moment ago.  Most programs of a build or a shell script end before anything
 * samples them, and then nobody asks what they mapped; so their events are kept for a moment, to be
 * handed on or skipped.  A child begins with what its parent has at the fork, so the events of both
 * are: they are a family.  The owner has the events, in order of time, and numbers them.
 */
#ifndef RECORD_PROCESSES_FAMILIES_H
#define RECORD_PROCESSES_FAMILIES_H

#include "base/error.h"
#include "base/id_table.h"

#define FAMILY_MEMBERS_MAX 4096 /* programs at a time */

enum family_event_kind {
	FAMILY_FORK,
	FAMILY_EXEC,
	FAMILY_MAP,
	FAMILY_NAME,
	FAMILY_EXIT,
};

struct family_event {
	enum family_event_kind kind;
	uint64_t time;
	uint32_t pid, tid;
	uint32_t parent_pid; /* FORK */
};

struct family {
	size_t first, last; /* its events' numbers; the owner sets `last` */
	size_t sibling;	    /* one that the same program started earlier; 0: none */
	uint32_t n_threads; /* that live */
	uint64_t end;	    /* the last event's time */
	bool is_gone;	    /* handed on or skipped, by the owner */
	/* For the owner: the family's details, numbered from 1. */
	size_t first_details, last_details;
};

/* All zero: empty. */
struct families {
	struct family *items;
	size_t n, capacity;
	struct reel_id_table members, parents; /* by pid */
};

/* None is kept any more. */
void families_clear(struct families *families);

/* Numbers of families begin with 1; 0: none. */
size_t families_find(const struct families *families, uint32_t pid);
/* A family that has to be handed on before the event: this changes memory that the family began with,
 * or a pid is used again, or there is no room for another member.  0: none. */
size_t families_disturbed(struct families *families, const struct family_event *event);
/* *family_ret: the family that keeps the event, if one does. */
struct reel_error *families_take(struct families *families, const struct family_event *event,
				 size_t number, size_t *family_ret) REEL_MUST_CHECK;

#endif
