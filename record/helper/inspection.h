/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the recorder to its helper (inspector.h) and the answers: packets of structs, as both
 * are one program.  An answer is a sequence of items that ends with ITEM_END.  The helper reads
 * untrusted data, so the recorder trusts an answer only where a wrong one does no harm.
 */
#ifndef RECORD_HELPER_INSPECTION_H
#define RECORD_HELPER_INSPECTION_H

#include <limits.h>

#include "record/helper/inspector.h"
#include "record/proc/jit_files.h"
#include "record/proc/maps_reader.h"

enum inspection_kind {
	INSPECT_PROCESSES = 1, /* -> NUMBERs */
	INSPECT_PROCESS,       /* -> PROCESS, MAPs */
	INSPECT_THREADS,       /* of a process -> THREADs */
	INSPECT_THREAD,	       /* -> THREAD */
	INSPECT_FILE,	       /* of a mapping -> maybe FOUND, FILE */
	INSPECT_KERNEL_MODULE, /* -> FILE */
	INSPECT_CODE,	       /* of a process -> CODEs, of pages that can be read */
	INSPECT_JIT,	       /* of a process -> its JITs' entries, JIT_STATE */
	INSPECT_SERVICE,       /* of a process -> SERVICE */
	INSPECT_CONTAINER,     /* of a process -> CONTAINER */
	INSPECT_INTERPRETER,   /* of a process -> INTERPRETER */
	INSPECT_FUNCTIONS,     /* of a process's interpreter -> FUNCTIONs */
};

struct inspection_request {
	uint32_t kind;
	uint32_t number; /* of the process or thread; KERNEL_MODULE: byte order */
	/* THREADS: first place in the list; CODE, FUNCTIONS: number of pages or codes; FILE: whether to send it. */
	uint32_t first;
	struct reel_maps_limits limits;	   /* PROCESS; others: only its deadline */
	struct reel_proc_map map;	   /* FILE, JIT; its path follows */
	struct reel_jit_question jit;	   /* JIT */
	struct reel_runtime_place runtime; /* INTERPRETER, FUNCTIONS */
	union {
		char path[PATH_MAX];		     /* KERNEL_MODULE: name; CONTAINER: id */
		uint64_t pages[REEL_CODE_PAGES_MAX]; /* CODE: their addresses */
		struct reel_runtime_code codes[REEL_RUNTIME_CODES_MAX]; /* FUNCTIONS */
	};
};

enum inspection_item_kind {
	ITEM_NUMBER = 1,  /* uint32_t */
	ITEM_PROCESS,	  /* struct reel_proc_process */
	ITEM_MAP,	  /* struct reel_proc_map, the path and a NUL */
	ITEM_THREAD,	  /* struct reel_proc_thread */
	ITEM_FOUND,	  /* nothing: the mapping's own file is about to be read */
	ITEM_FILE,	  /* struct reel_proc_file; the packet may have its descriptor */
	ITEM_CODE,	  /* struct reel_code_page */
	ITEM_SERVICE,	  /* struct reel_proc_service */
	ITEM_CONTAINER,	  /* struct reel_container_names */
	ITEM_INTERPRETER, /* struct inspection_interpreter */
	ITEM_FUNCTION,	  /* struct inspection_function, and its name, file and lines */
	ITEM_JIT_STATE,	  /* struct reel_jit_state */
	ITEM_JIT_SAID,	  /* plus enum reel_jit_said: a struct and the bytes after it */
	ITEM_JIT_SAID_LAST = ITEM_JIT_SAID + REEL_JIT_SAID_COUNT - 1,
	ITEM_END, /* uint32_t: nothing is missing */
};

struct inspection_interpreter {
	uint32_t answer; /* enum reel_runtime_answer */
	struct reel_bpf_interpreter interpreter;
};

struct inspection_function {
	struct reel_runtime_code code;
	uint64_t line;
	uint32_t name_size, file_size;
};

struct inspection_item {
	uint32_t kind;
	uint32_t size; /* of the data after this header, which is padded to a multiple of 8 */
};

#define INSPECTION_PATH_MAX (2 * PATH_MAX)
/* The name, file and lines of a function. */
#define INSPECTION_FUNCTION_MAX (2 * REEL_RUNTIME_TEXT_MAX + REEL_RUNTIME_LINES_MAX)
/* A packet is sent once it is this full; it has room for one more item. */
#define INSPECTION_PACKET 4096
#define INSPECTION_ITEM_MAX                                                                        \
	(sizeof(struct inspection_item) + sizeof(struct inspection_function) +                     \
	 INSPECTION_FUNCTION_MAX)
_Static_assert(sizeof(struct reel_proc_map) + INSPECTION_PATH_MAX <= INSPECTION_ITEM_MAX,
	       "an item of a mapping has room");
_Static_assert(sizeof(struct reel_code_page) <= INSPECTION_ITEM_MAX, "an item of code has room");
_Static_assert(sizeof(struct reel_jit_said_function) <= sizeof(struct reel_proc_map) &&
		       REEL_JIT_TEXT_MAX <= INSPECTION_PATH_MAX,
	       "an item of what a JIT said has room");
#define INSPECTION_PACKET_MAX (INSPECTION_PACKET + INSPECTION_ITEM_MAX)

/* The helper's main function: answers requests until the socket's end. */
void reel_inspections_answer(int socket);
/* The same, after dropping privileges that it does not need. */
void reel_inspections_answer_confined(int socket);

#endif
