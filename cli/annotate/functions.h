/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of captures' samples that may match the wanted function. */
#ifndef CLI_ANNOTATE_FUNCTIONS_H
#define CLI_ANNOTATE_FUNCTIONS_H

#include "cli/profile/call_tree.h"
#include "cli/profile/pointer_map.h"
#include "cli/session/session.h"

/* How well a name matches the wanted one. */
enum fit {
	FIT_NONE,
	/* It contains the wanted name, ignoring case, or is in the module: only listed. */
	FIT_NEAR,
	FIT_PART,
	/* The wanted address is a return address of a call in it: it may be another function's
	 * first address. */
	FIT_RETURN,
	FIT_WHOLE,
};

/* Samples with the same pc. */
struct sampled {
	uint64_t address; /* as reel_frame.module_address; the line of an interpreter's function */
	bool exact;	  /* an instruction begins there; else it is within one */
	bool inlined;
	struct amount amount;
};

struct function {
	const struct reel_frame *frame; /* one of its frames, of the last capture that has it */
	size_t capture;			/* that capture's number */
	enum fit fit;
	uint64_t begin;
	char *name; /* as report shows it, not escaped */
	/* Of a sample with it: for JIT-generated code. */
	uint64_t thread, time;
	struct amount self, inlined; /* the latter is of functions inlined into it, and in both */
	struct sampled *sampled;     /* sorted by functions_finish */
	size_t n_sampled, capacity;
	struct function *next; /* with the same number but a different start */
};

struct functions {
	const char *wanted;
	/* The parts of MODULE:FUNC and MODULE+0xADDRESS; NULL: not of this form. */
	char *module;
	const char *in_module;
	bool has_address;
	uint64_t address;

	struct function **by_number; /* reel_frame.function_id */
	size_t n_numbers;
	struct pointer_map by_frame; /* struct function, or the one that means none */
	struct pointer_map by_leaf;  /* an index of by_leaf's function's `sampled`, from 1 on */
	struct function **all;
	size_t n, capacity;
	size_t capture;	     /* the current one's number */
	struct amount whole; /* all samples */
	const struct reel_event_info *event;
	const struct reel_event_info *other_event; /* NULL: no other */
	bool has_weights;
	/* The functions into which ones of that name are inlined. */
	char *hosts;
	size_t n_hosts;
};

/* `wanted` as given: a name, MODULE:NAME or MODULE+0xADDRESS. */
void functions_init(struct functions *functions, const char *wanted);
void functions_free(struct functions *functions);
/* For session_visit; `context` is the functions. */
bool functions_add(void *context, const struct reel_trace *trace,
		   const struct reel_event_info *event);
/* The next samples are of another capture of the same recording, which has the same modules. */
void functions_begin_capture(struct functions *functions);
void functions_finish(struct functions *functions);
/* The wanted function; NULL after an error, which lists the candidates. */
struct function *functions_choose(struct functions *functions);

#endif
