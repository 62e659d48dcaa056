/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a flight recorder write its file: --trigger. */
#ifndef RECORD_TRIGGERS_TRIGGERS_H
#define RECORD_TRIGGERS_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REEL_TRIGGERS_MAX 16
/* Files in an hour that triggers may cause. */
#define REEL_TRIGGER_FILES 10

struct reel_trigger {
	const char *text; /* as the user typed it */
	enum reel_trigger_kind {
		REEL_TRIGGER_EVENT,    /* a sample of an event */
		REEL_TRIGGER_CPU,      /* the host is busy */
		REEL_TRIGGER_PRESSURE, /* the kernel's pressure stall information */
		REEL_TRIGGER_FILE,     /* a file is made or changed */
	} kind;
	char *event;	    /* EVENT: its name, as for -e */
	char *comm;	    /* off-cpu: a shell pattern of threads' names; NULL: all */
	const char *filter; /* of the event, as for --filter; NULL: none */
	size_t index;	    /* of the event */
	/* EVENT: the sample's weight, if it is not 0; CPU: percent. */
	uint64_t more_than;
	uint64_t time;	  /* CPU: for so many ns */
	char *path;	  /* FILE, PRESSURE */
	char request[64]; /* PRESSURE: what the kernel is asked for */
};

/* Errors: INVALID. */
struct reel_error *reel_trigger_parse(const char *text, struct reel_trigger *ret) REEL_MUST_CHECK;
void reel_trigger_free(struct reel_trigger *trigger);

struct reel_triggers;

/* Opens what the triggers watch; `list` is borrowed. */
struct reel_error *reel_triggers_create(const struct reel_trigger *list, size_t n,
					struct reel_triggers **ret) REEL_MUST_CHECK;
void reel_triggers_destroy(struct reel_triggers *triggers);
/* Looks which conditions have become true.  Never waits; call it often. */
void reel_triggers_look(struct reel_triggers *triggers);
/* The same for a sample of a thread with this name. */
void reel_triggers_sample(struct reel_triggers *triggers, uint64_t event, uint64_t weight,
			  uint64_t time, const char *comm);
/* The next trigger whose condition has become true, and when; each once until
 * reel_triggers_restart.  NULL: no more. */
const struct reel_trigger *reel_triggers_next(struct reel_triggers *triggers, uint64_t *time_ret);
void reel_triggers_restart(struct reel_triggers *triggers);
/* Counts a file; false: there were too many in the last hour. */
bool reel_triggers_allow(struct reel_triggers *triggers);

#endif
