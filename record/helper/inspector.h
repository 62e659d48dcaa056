/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads data of other processes and their files through a helper process: any read can be made to
 * wait for ever (a FUSE server that does not answer; a page fault or an exec that waits for one,
 * and holds the locks that /proc/PID needs).  A new helper then replaces the hanging one, which is
 * killed. The recorder itself opens nothing below /proc/PID, and no file of a mapping.
 *
 * Each request has to be paid for (record/budget/budget.h); data skipped for that reason is
 * counted. Functions return false or NONE for unavailable data, whatever the cause.
 */
#ifndef RECORD_HELPER_INSPECTOR_H
#define RECORD_HELPER_INSPECTOR_H

#include "record/budget/budget.h"
#include "record/proc/jit_files.h"
#include "record/proc/maps_reader.h"
#include "record/proc/process_file.h"
#include "record/proc/container_names.h"
#include "record/proc/service.h"
#include "record/runtime/runtime.h"

struct reel_inspector;

/* Forks, so call it while the recorder is small. `budget` is borrowed. `note` is called once when data is skipped.
 * `confined`: the helper keeps only the rights that it needs. */
struct reel_error *reel_inspector_create(struct reel_budget *budget, bool confined,
					 void (*note)(void *context, const char *line),
					 void *context,
					 struct reel_inspector **ret) REEL_MUST_CHECK;
void reel_inspector_destroy(struct reel_inspector *inspector);
/* Call before the first sample: from now on, waiting costs other processes' samples. */
void reel_inspector_hurry(struct reel_inspector *inspector);
/* False if no helper can be started any more. */
bool reel_inspector_lives(const struct reel_inspector *inspector);
/* Number of requests that were not sent, or not answered in time. */
uint64_t reel_inspector_left_out(const struct reel_inspector *inspector);

enum reel_answer reel_inspector_processes(struct reel_inspector *inspector,
					  void (*visit)(void *context, uint32_t pid),
					  void *context);
/* The process's properties and its executable mappings, by ascending addresses. */
enum reel_answer reel_inspector_process(
	struct reel_inspector *inspector, uint32_t pid, const struct reel_maps_limits *limits,
	struct reel_proc_process *ret,
	void (*visit)(void *context, const struct reel_proc_map *map), void *context);
/* Starts at place `first` of the list, and stops at `deadline` (reel_now's time). */
enum reel_answer reel_inspector_threads(
	struct reel_inspector *inspector, uint32_t pid, uint32_t first, uint64_t deadline,
	void (*visit)(void *context, const struct reel_proc_thread *thread), void *context);
/* `pid`: its process, as far as it is known. */
bool reel_inspector_thread(struct reel_inspector *inspector, uint32_t pid, uint32_t tid,
			   struct reel_proc_thread *ret);

/* The file of a mapping, only if it is the mapped file itself. `fd_ret`, unless it is NULL, gets
 * the open file, which the caller closes, or -1; the recorder must not read it. */
bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret);
/* Code of a process: `visit` gets the readable ones of `count` pages. */
#define REEL_CODE_PAGES_MAX 64
enum reel_answer reel_inspector_code(
	struct reel_inspector *inspector, uint32_t pid, const uint64_t *pages, size_t count,
	void (*visit)(void *context, const struct reel_code_page *page), void *context);
/* The service that a process publishes; false if it does not. */
bool reel_inspector_service(struct reel_inspector *inspector, uint32_t pid, uint64_t deadline,
			    struct reel_proc_service *ret);
/* The names of a container, of which this is a process; false if they are unknown. */
bool reel_inspector_container(struct reel_inspector *inspector, uint32_t pid,
			      const char id[REEL_CONTAINER_ID + 1],
			      struct reel_container_names *ret);
/* Where a process's interpreter has its frames; `at` of the place is an address in the process.
 * LATER if there is no answer, either. */
enum reel_runtime_answer reel_inspector_interpreter(struct reel_inspector *inspector, uint32_t pid,
						    const struct reel_runtime_place *place,
						    struct reel_bpf_interpreter *ret);
/* The functions of at most this many codes of the same interpreter; PART if time ran out.
 * Texts have no NUL. */
#define REEL_RUNTIME_CODES_MAX 64
enum reel_answer reel_inspector_functions(
	struct reel_inspector *inspector, uint32_t pid, const struct reel_runtime_place *place,
	const struct reel_runtime_code *codes, size_t count, uint64_t deadline,
	void (*visit)(void *context, const struct reel_runtime_function *function), void *context);
/* New entries in the files of a process's JITs. False: an unknown part of them was reported.
 * Entries are checked: each has its struct's size and valid ranges. */
bool reel_inspector_jit(struct reel_inspector *inspector, uint32_t pid,
			const struct reel_jit_question *question, const struct reel_proc_map *dump,
			const struct reel_jit_listener *listener, struct reel_jit_state *ret);
/* The build-id of a loaded kernel module, `name` as in /proc/modules. */
bool reel_inspector_kernel_module(struct reel_inspector *inspector, const char *name,
				  enum reel_byte_order order, struct reel_build_id *ret);

#endif
