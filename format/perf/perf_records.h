/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's records about processes and itself, laid out as described in the comments at
 * PERF_RECORD_* in include/uapi/linux/perf_event.h: the recorder reads them from the kernel's ring
 * buffers, import from a perf.data.  Each function reads one record, from after its header, and
 * returns false if it is too short or its text is unterminated; texts and build-ids stay in the
 * record.
 */
#ifndef FORMAT_PERF_PERF_RECORDS_H
#define FORMAT_PERF_PERF_RECORDS_H

#include "format/perf/perf_cursor.h"

/* MMAP2 has either a build-id or the file's numbers; MMAP has neither. */
struct perf_mmap {
	uint32_t pid, tid;
	uint64_t address, size, offset;
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	struct reel_bytes build_id;
	uint32_t protection, flags; /* MMAP2 only */
	struct reel_bytes path;
};

#define PERF_NO_BUILD_ID UINT32_MAX

bool reel_perf_mmap_read(struct perf_cursor cursor, struct perf_mmap *ret);
/* Ignores a build-id shorter than `build_id_min`; PERF_NO_BUILD_ID ignores all. */
bool reel_perf_mmap2_read(struct perf_cursor cursor, uint32_t build_id_min, struct perf_mmap *ret);

struct perf_comm {
	uint32_t pid, tid;
	struct reel_bytes comm;
};

bool reel_perf_comm_read(struct perf_cursor cursor, struct perf_comm *ret);

/* FORK and EXIT. */
struct perf_task {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

bool reel_perf_task_read(struct perf_cursor cursor, struct perf_task *ret);

struct perf_ksymbol {
	uint64_t address;
	uint32_t size;
	uint16_t type; /* PERF_RECORD_KSYMBOL_TYPE_… */
	bool is_gone;
	struct reel_bytes name;
};

bool reel_perf_ksymbol_read(struct perf_cursor cursor, struct perf_ksymbol *ret);

#endif
