/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of samples: by thread, process, thread name, host, state, event, CPU, the value of a label
 * or of a variable, or how long each took.
 */
#ifndef CLI_PROFILE_GROUPS_H
#define CLI_PROFILE_GROUPS_H

#include "base/hash_index.h"
#include "cli/profile/pointer_map.h"
#include "cli/profile/symbols.h"
#include "cli/session/session.h"

enum group_kind {
	GROUP_THREAD,
	GROUP_PROCESS,
	GROUP_COMM,
	GROUP_HOST,
	GROUP_STATE,
	GROUP_EVENT,
	GROUP_CPU,
	GROUP_LABEL,
	GROUP_VARIABLE,
	GROUP_DURATION, /* the weight's highest bit; not a key of --by */
};

struct group_key {
	enum group_kind kind;
	const char *name; /* as in --by; a label's key. Never freed */
	size_t request;	  /* of a variable: index of the options' values */
};

/* A thread or process. */
struct group {
	uint64_t id;
	uint32_t number; /* tid or pid, as shown */
	/* The last name of the thread, or of the process's main thread if known. */
	const char *comm;
	bool is_named;
	struct symbol *symbol;
};

/* A value of a label or variable, or a duration. */
struct group_value {
	char *text; /* as in the trace */
	enum reel_label_kind kind;
	uint64_t number;
	struct symbol *symbol;
};

/* The groups of one key. */
struct groups {
	struct group_key key;
	/* Threads or processes, in order of arrival. */
	struct group *tasks;
	size_t n_tasks, tasks_capacity;
	struct reel_hash_index by_id;
	/* Strings that live as long as the capture; or CPUs' numbers, plus 1. */
	struct pointer_map comms;
	/* Strings that live as long as the trace. */
	struct group_value *values;
	size_t n_values, values_capacity;
	struct reel_hash_index by_text;
	/* Of traces without the label or the variable's function; of unknown values, by state. */
	struct symbol *missing, *unknown[REEL_VALUE_NOT_CAPTURED + 1];
	bool has_variable;
};

void groups_init(struct groups *groups, struct group_key key);
void groups_free(struct groups *groups);
/*
 * The group of a trace of the event, as a symbol of `table`. Only groups by event need `event`;
 * NULL: unknown.
 */
struct symbol *groups_find(struct groups *groups, struct symbol_table *table,
			   const struct reel_trace *trace, const struct reel_event_info *event);
/* Whether histograms can show its values. */
bool group_may_be_numbers(const struct group_key *key);
/* The group's name without its key, for a column that names it: "3" of "cpu=3". */
const char *group_value_text(const struct group_key *key, const struct symbol *group);
/* Gives the symbols of threads and processes their latest names. */
void groups_name(struct groups *groups, const struct symbol_table *table);

/*
 * Of groups by `n` keys: some trace had each label; otherwise reports that, with the labels that
 * the capture has.
 */
bool groups_have_labels(const struct groups *groups, size_t n, struct session *session);

#endif
