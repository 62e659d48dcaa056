/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of processes from /proc.  They may end at any time, so missing data is the only error.  Any
 * read may be made to wait by another process: the recorder asks its helper (inspector.h), and only
 * the helper calls these functions for processes other than our own.
 */
#ifndef RECORD_PROC_PROC_H
#define RECORD_PROC_PROC_H

#include "base/bytes.h"
#include "base/elf_identity.h"

#define REEL_COMM_SIZE 16 /* TASK_COMM_LEN, with the NUL */

/* Whether /proc is for our own PID namespace; otherwise its numbers refer to other processes. */
bool reel_proc_is_ours(void);

struct reel_proc_process {
	uint32_t namespace_pid; /* in the innermost PID namespace; 0 if unknown */
	/* Word size of its code; 0 if unknown. The process can fake it, but not in samples. */
	uint32_t word_bits;
};

struct reel_proc_thread {
	uint64_t time;	   /* earlier events are contained in the fields below */
	uint32_t tid, pid; /* `pid`: of its thread group */
	uint32_t parent;   /* parent of its process; 0: none */
	uint32_t namespace_tid, namespace_pid; /* in the innermost PID namespace; 0 if unknown */
	uint32_t user;			       /* owner of its files */
	char comm[REEL_COMM_SIZE];
};

/* False if it is gone. */
bool reel_proc_process(uint32_t pid, struct reel_proc_process *ret);
bool reel_proc_thread(uint32_t tid, struct reel_proc_thread *ret);

/* A mapping as reported by /proc/PID/maps or perf. `path` is not escaped. */
struct reel_proc_map {
	uint64_t address, size, offset;
	uint32_t protection; /* PROT_* */
	uint32_t flags;	     /* MAP_SHARED or MAP_PRIVATE */
	uint32_t device_major, device_minor;
	uint64_t inode;
	const char *path; /* "//anon" for mappings without a path, as in perf */
};

struct reel_maps_limits; /* maps_reader.h */

enum reel_answer {
	REEL_ANSWER_NONE, /* it cannot be read, or it has ended: mappings may exist */
	REEL_ANSWER_PART, /* the lowest addresses, up to the limits */
	REEL_ANSWER_WHOLE,
};

/* Calls `visit` for each executable mapping, by ascending addresses. */
enum reel_answer reel_proc_maps(uint32_t pid, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context);

/*
 * A page of a process's memory, and some preceding bytes, since a call may cross the page's start.
 * The size is the smallest page size on all machines.
 */
#define REEL_CODE_PAGE	 4096
#define REEL_CODE_BEFORE 16

struct reel_code_page {
	uint64_t address;
	uint64_t before; /* readable bytes of REEL_CODE_BEFORE: all or none */
	uint8_t bytes[REEL_CODE_BEFORE + REEL_CODE_PAGE];
};

/* All bytes; false if any is not mapped, or may not be read. */
bool reel_proc_memory(uint32_t pid, uint64_t address, void *ret, size_t size);

#define REEL_PROC_PLACES_MAX 512

/* The same of several places, `size` bytes of each, in one call: returns how many of the first could be
 * read. */
size_t reel_proc_memory_places(uint32_t pid, const uint64_t *addresses, size_t n, void *ret,
			       size_t size);
bool reel_proc_code(uint32_t pid, uint64_t address, struct reel_code_page *ret);

/* Build-id of a loaded kernel module, `name` without brackets. */
bool reel_proc_module_build_id(const char *name, enum reel_byte_order order,
			       struct reel_build_id *ret);

/* Numbers of all processes, or of a process's threads; NULL and 0 if there are none. The caller
 * frees the array. */
uint32_t *reel_proc_processes(size_t *count_ret);
uint32_t *reel_proc_threads(uint32_t pid, size_t *count_ret);

/* A whole file of /proc or /sys, followed by a NUL; false if it cannot be read. */
bool reel_proc_read(const char *path, struct reel_buffer *ret);
/* The same in an open folder. */
bool reel_proc_read_at(int folder, const char *path, struct reel_buffer *ret);

#endif
