/* SPDX-License-Identifier: Apache-2.0 */
#include "format/perf/perf_records.h"

/* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
#define KSYMBOL_GONE 1

#define SHA1_SIZE 20

static void read_place(struct perf_cursor *cursor, struct perf_mmap *ret)
{
	*ret = (struct perf_mmap){ 0 };
	ret->pid = perf_cursor_u32(cursor);
	ret->tid = perf_cursor_u32(cursor);
	ret->address = perf_cursor_u64(cursor);
	ret->size = perf_cursor_u64(cursor);
	ret->offset = perf_cursor_u64(cursor);
}

bool reel_perf_mmap_read(struct perf_cursor cursor, struct perf_mmap *ret)
{
	read_place(&cursor, ret);
	ret->path = perf_cursor_string(&cursor);
	return !cursor.bytes.failed;
}

bool reel_perf_mmap2_read(struct perf_cursor cursor, uint32_t build_id_min, struct perf_mmap *ret)
{
	struct perf_cursor numbers;
	const uint8_t *build_id;

	read_place(&cursor, ret);
	numbers = cursor;
	/* u8 size, three reserved bytes, 20 of the build-id. */
	build_id = perf_cursor_take(&cursor, 4 + SHA1_SIZE);
	if (build_id && build_id[0] >= build_id_min && build_id[0] <= SHA1_SIZE) {
		ret->build_id = (struct reel_bytes){ build_id + 4, build_id[0] };
	} else {
		ret->device_major = perf_cursor_u32(&numbers);
		ret->device_minor = perf_cursor_u32(&numbers);
		ret->inode = perf_cursor_u64(&numbers);
		ret->inode_generation = perf_cursor_u64(&numbers);
	}
	ret->protection = perf_cursor_u32(&cursor);
	ret->flags = perf_cursor_u32(&cursor);
	ret->path = perf_cursor_string(&cursor);
	return !cursor.bytes.failed;
}

bool reel_perf_comm_read(struct perf_cursor cursor, struct perf_comm *ret)
{
	ret->pid = perf_cursor_u32(&cursor);
	ret->tid = perf_cursor_u32(&cursor);
	ret->comm = perf_cursor_string(&cursor);
	return !cursor.bytes.failed;
}

bool reel_perf_task_read(struct perf_cursor cursor, struct perf_task *ret)
{
	ret->pid = perf_cursor_u32(&cursor);
	ret->parent_pid = perf_cursor_u32(&cursor);
	ret->tid = perf_cursor_u32(&cursor);
	ret->parent_tid = perf_cursor_u32(&cursor);
	ret->time = perf_cursor_u64(&cursor);
	return !cursor.bytes.failed;
}

bool reel_perf_ksymbol_read(struct perf_cursor cursor, struct perf_ksymbol *ret)
{
	ret->address = perf_cursor_u64(&cursor);
	ret->size = perf_cursor_u32(&cursor);
	ret->type = perf_cursor_u16(&cursor);
	ret->is_gone = perf_cursor_u16(&cursor) & KSYMBOL_GONE;
	ret->name = perf_cursor_string(&cursor);
	return !cursor.bytes.failed;
}
