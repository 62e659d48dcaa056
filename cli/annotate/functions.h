/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a capture's samples are in, as far as they may be the one that is asked for.
 */
#ifndef CLI_ANNOTATE_FUNCTIONS_H
#define CLI_ANNOTATE_FUNCTIONS_H

#include "cli/report/call_tree.h"
#include "cli/report/pointer_map.h"
#include "cli/session/session.h"

/* How well a name fits what was asked for. */
enum fit {
	FIT_NONE,
	/* It has that as a part, but for capitals, or is of the module: only to be named. */
	FIT_NEAR,
	FIT_PART,
	/* The address that was asked for is where a call in it returns to: it may be another
	 * function's first. */
	FIT_RETURN,
	FIT_WHOLE,
};

/* Samples whose pc is one address. */
struct sampled {
	uint64_t address; /* as reel_frame.module_address */
	bool exact;	  /* an instruction begins there; else it is within one */
	bool inlined;
	struct amount amount;
};

struct function {
	const struct reel_frame *frame; /* one of its own */
	enum fit fit;
	uint64_t begin;
	char *name; /* as report shows it, not escaped */
	/* Of a sample that has it: for code of JITs. */
	uint64_t thread, time;
	struct amount self, inlined; /* the latter is of functions inlined into it, and in both */
	struct sampled *sampled;     /* sorted by functions_finish */
	size_t n_sampled, capacity;
	struct function *next; /* of the same number, that begins elsewhere */
};

struct functions {
	const char *wanted;
	/* MODULE:FUNC and MODULE+0xADDRESS, taken apart; NULL: it is no such. */
	char *module;
	const char *in_module;
	bool has_address;
	uint64_t address;

	struct function **by_number; /* reel_frame.function_id */
	size_t n_numbers;
	struct pointer_map by_frame; /* struct function, or one that stands for none */
	struct pointer_map by_leaf;  /* an index of by_leaf's function's `sampled`, from 1 on */
	struct function **all;
	size_t n, capacity;
	struct amount whole; /* all samples */
	const struct reel_event_info *event;
	const struct reel_event_info *other_event; /* NULL: there is no other */
	bool has_weights;
	/* What functions of that name are inlined into. */
	char *hosts;
	size_t n_hosts;
};

/* `wanted` as given: a name, MODULE:NAME or MODULE+0xADDRESS. */
void functions_init(struct functions *functions, const char *wanted);
void functions_free(struct functions *functions);
/* For session_visit; `context` is the functions. */
bool functions_add(void *context, const struct reel_trace *trace,
		   const struct reel_event_info *event);
void functions_finish(struct functions *functions);
/* The one that was asked for; NULL, after a complaint that names those that it may be. */
struct function *functions_choose(struct functions *functions);

#endif
