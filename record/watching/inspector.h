/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of other processes and of their files, by a helper process: any of it can be made to
 * wait for ever (a FUSE server that does not answer; a page fault or an exec that waits for one,
 * and holds the locks that /proc/PID needs), and then the helper is killed and another one takes
 * its place.  The recorder itself opens nothing below /proc/PID, and no file of a mapping.
 *
 * Waiting is bounded, each time and in all (patience.h); what was left out because of that is
 * counted.  Not to be had: false or NONE, whatever the cause.
 */
#ifndef RECORD_WATCHING_INSPECTOR_H
#define RECORD_WATCHING_INSPECTOR_H

#include "record/watching/jit_files.h"
#include "record/watching/maps_reader.h"

struct reel_inspector;

/* To be called while the recorder is small: it forks. `note` is told, once, that things are left
 * out. `confined`: the helper has no rights but those that it needs. */
struct reel_error *reel_inspector_create(bool confined,
					 void (*note)(void *context, const char *line),
					 void *context,
					 struct reel_inspector **ret) REEL_MUST_CHECK;
void reel_inspector_destroy(struct reel_inspector *inspector);
/* The first sample comes: from now on waiting costs others' samples. */
void reel_inspector_hurry(struct reel_inspector *inspector);
/* How often something was not asked, or not answered in time. */
uint64_t reel_inspector_left_out(const struct reel_inspector *inspector);

enum reel_answer reel_inspector_processes(struct reel_inspector *inspector,
					  void (*visit)(void *context, uint32_t pid),
					  void *context);
/* What the process is, and its executable mappings, by ascending addresses. */
enum reel_answer reel_inspector_process(
	struct reel_inspector *inspector, uint32_t pid, const struct reel_maps_limits *limits,
	struct reel_proc_process *ret,
	void (*visit)(void *context, const struct reel_proc_map *map), void *context);
/* From the thread with that place in the list on, until then (reel_now's time). */
enum reel_answer reel_inspector_threads(
	struct reel_inspector *inspector, uint32_t pid, uint32_t first, uint64_t deadline,
	void (*visit)(void *context, const struct reel_proc_thread *thread), void *context);
bool reel_inspector_thread(struct reel_inspector *inspector, uint32_t tid,
			   struct reel_proc_thread *ret);

/* The file of a mapping; only if it is that very file. `fd_ret`, unless it is NULL, gets the file
 * itself, which the caller closes, or -1; the recorder is not to read it. */
bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret);
/* Code of a process: `visit` gets those of `count` pages that can be read. */
#define REEL_CODE_PAGES_MAX 64
enum reel_answer reel_inspector_code(
	struct reel_inspector *inspector, uint32_t pid, const uint64_t *pages, size_t count,
	void (*visit)(void *context, const struct reel_code_page *page), void *context);
/* What is new in the files of a process's JITs; false: it is unknown how much of that was said.
 * What is said is as long as its struct, and in range. */
bool reel_inspector_jit(struct reel_inspector *inspector, uint32_t pid,
			const struct reel_jit_question *question, const struct reel_proc_map *dump,
			const struct reel_jit_listener *listener, struct reel_jit_state *ret);
/* The build-id of a loaded kernel module, `name` as in /proc/modules. */
bool reel_inspector_kernel_module(struct reel_inspector *inspector, const char *name,
				  enum reel_byte_order order, struct reel_build_id *ret);

#endif
