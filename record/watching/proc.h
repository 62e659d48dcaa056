/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says of processes.  They may end at any time, so nothing here fails but by absence.
 * But any of it may wait for what a stranger holds up: the recorder asks its helper (inspector.h),
 * and only that calls what is here of other processes than our own.
 */
#ifndef RECORD_WATCHING_PROC_H
#define RECORD_WATCHING_PROC_H

#include "base/bytes.h"
#include "base/elf_identity.h"

#define REEL_COMM_SIZE 16 /* TASK_COMM_LEN, with the NUL */

/* /proc is that of our own PID namespace; otherwise its numbers mean other processes. */
bool reel_proc_is_ours(void);

struct reel_proc_process {
	uint32_t namespace_pid; /* in the innermost PID namespace; 0 if unknown */
	/* Of its code; 0 if unknown. What the process says: its samples know better. */
	uint32_t word_bits;
};

struct reel_proc_thread {
	uint64_t time;	   /* what happened before is contained in what follows */
	uint32_t tid, pid; /* `pid`: of its thread group */
	uint32_t parent;   /* the process that its own is a child of; 0: none */
	uint32_t namespace_tid, namespace_pid; /* in the innermost PID namespace; 0 if unknown */
	uint32_t user;			       /* whose its files are */
	char comm[REEL_COMM_SIZE];
};

/* False if it is gone. */
bool reel_proc_process(uint32_t pid, struct reel_proc_process *ret);
bool reel_proc_thread(uint32_t tid, struct reel_proc_thread *ret);

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

enum reel_answer {
	REEL_ANSWER_NONE, /* it cannot be read, or it ends, which does not say that nothing was
			   * there
			   */
	REEL_ANSWER_PART, /* the lowest addresses: limits left something out */
	REEL_ANSWER_WHOLE,
};

/* Calls `visit` for each executable mapping, by ascending addresses. */
enum reel_answer reel_proc_maps(uint32_t pid, const struct reel_maps_limits *limits,
				void (*visit)(void *context, const struct reel_proc_map *map),
				void *context);

/*
 * A place (O_PATH, so it is not opened yet) of the file of a mapping: by /proc/PID/map_files, which
 * needs CAP_CHECKPOINT_RESTORE and finds deleted files too, if it is mapped there still: then it is
 * the very file.  Else by its
 * path in the process's root directory, if the inode is the mapping's; or, if the process is gone,
 * in ours, if the device is the mapping's, too.  -1 if that fails.  Where the inode is not known,
 * 0, the name decides, and the caller has to see that it is the file.
 */
int reel_proc_find_mapped(uint32_t pid, const struct reel_proc_map *map, bool *exact_ret);

/* Whether a place is on the device that the mapping is said to be of. */
bool reel_proc_is_on_device(int place, const struct reel_proc_map *map);

/* What a file says of itself. */
struct reel_proc_file {
	uint32_t device_major, device_minor; /* as stat(2) has them */
	uint64_t inode, generation;
	struct reel_build_id build_id;
	/* Where it has no build-id. */
	uint64_t size, time; /* in bytes; of its last change, ns since 1970 */
	bool has_digest;
	uint8_t digest[REEL_FILE_DIGEST_SIZE];
};

/* Of a place; false if that is no regular file, or cannot be read.  *fd_ret is what it was read
 * by. */
bool reel_proc_file(int place, struct reel_proc_file *ret, int *fd_ret);
/*
 * A page of a process's memory, and a few bytes before it: a call may reach over its start.  Of the
 * size that is the smallest everywhere.
 */
#define REEL_CODE_PAGE	 4096
#define REEL_CODE_BEFORE 16

struct reel_code_page {
	uint64_t address;
	uint64_t before; /* so many of REEL_CODE_BEFORE could be read: all or none */
	uint8_t bytes[REEL_CODE_BEFORE + REEL_CODE_PAGE];
};

/* False if it is not there, or may not be read. */
bool reel_proc_code(uint32_t pid, uint64_t address, struct reel_code_page *ret);

/* Of a loaded kernel module, `name` without brackets. */
bool reel_proc_module_build_id(const char *name, enum reel_byte_order order,
			       struct reel_build_id *ret);

/* Numbers of all processes, or of a process's threads; NULL and 0 if there are none. The caller
 * frees it. */
uint32_t *reel_proc_processes(size_t *count_ret);
uint32_t *reel_proc_threads(uint32_t pid, size_t *count_ret);

/* A whole file of /proc or /sys, with a NUL behind its size; false if it cannot be read. */
bool reel_proc_read(const char *path, struct reel_buffer *ret);

#endif
