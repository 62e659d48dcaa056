/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of processes.  They may end at any time, so nothing here fails but by absence. */
#ifndef RECORD_PROC_H
#define RECORD_PROC_H

#include "format/bytes.h"
#include "space/elf_identity.h"

#define REEL_COMM_SIZE 16 /* TASK_COMM_LEN, with the NUL */

/* /proc is that of our own PID namespace; otherwise its numbers mean other processes. */
bool reel_proc_is_ours(void);

struct reel_proc_status {
	uint32_t pid;		/* thread group */
	uint32_t namespace_pid; /* in the innermost PID namespace; 0 if unknown */
	uint32_t namespace_tid;
};

/* Of the thread `tid`; false if it is gone. */
bool reel_proc_status(uint32_t tid, struct reel_proc_status *ret);
bool reel_proc_comm(uint32_t tid, char ret[REEL_COMM_SIZE]);
/* What the process's executable is; false where that cannot be read (kernel threads). */
bool reel_proc_elf_kind(uint32_t pid, struct reel_elf_kind *ret);

/* A mapping, as /proc/PID/maps or perf tells it. `path` is not escaped. */
struct reel_proc_map {
	uint64_t address, size, offset;
	uint32_t protection; /* PROT_* */
	uint32_t flags;	     /* MAP_SHARED or MAP_PRIVATE */
	uint32_t device_major, device_minor;
	uint64_t inode;
	const char *path; /* "//anon" where there is none, as perf has it */
};

struct reel_maps_limits; /* maps_reader.h */

enum reel_maps_answer {
	REEL_MAPS_NONE, /* it cannot be read, or it ends, which does not say that nothing was there
			 */
	REEL_MAPS_PART, /* the lowest addresses: limits left something out */
	REEL_MAPS_WHOLE,
};

/* Calls `visit` for each executable mapping, by ascending addresses. */
enum reel_maps_answer reel_proc_maps(uint32_t pid, const struct reel_maps_limits *limits,
				     void (*visit)(void *context, const struct reel_proc_map *map),
				     void *context);

/*
 * Opens the file of a mapping: by /proc/PID/map_files, which needs
 * CAP_CHECKPOINT_RESTORE and finds deleted files too, else by its path in the
 * process's root directory, or in ours if the process is gone; then only if
 * the inode is the mapping's.  -1 if that fails.
 */
int reel_proc_open_mapped(uint32_t pid, const struct reel_proc_map *map);

/* Bytes of a process's memory; false if not all could be read. */
bool reel_proc_memory(uint32_t pid, uint64_t address, void *ret, size_t size);

/* Numbers of all processes, or of a process's threads; NULL and 0 if there are none. The caller
 * frees it. */
uint32_t *reel_proc_processes(size_t *count_ret);
uint32_t *reel_proc_threads(uint32_t pid, size_t *count_ret);

/* A whole file of /proc or /sys, with a NUL behind its size; false if it cannot be read. */
bool reel_proc_read(const char *path, struct reel_buffer *ret);

#endif
