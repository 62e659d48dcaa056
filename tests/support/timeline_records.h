/* SPDX-License-Identifier: Apache-2.0 */
/* Records of spaces, threads, modules and mappings, and their timeline. */
#ifndef TESTS_SUPPORT_TIMELINE_RECORDS_H
#define TESTS_SUPPORT_TIMELINE_RECORDS_H

#include "format/timeline/space.h"
#include "tests/support/test.h"

static inline struct reel_record map_record(uint64_t time, uint64_t space, uint64_t address,
					    uint64_t size, uint64_t offset, uint64_t module)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };

	record.map = (struct reel_record_map){
		.time = time,
		.space = space,
		.address = address,
		.size = size,
		.offset = offset,
		.protection = 5,
		.flags = 2,
		.module = module,
	};
	return record;
}

static inline struct reel_record unmap_record(uint64_t time, uint64_t space, uint64_t address,
					      uint64_t size)
{
	struct reel_record record = { .id = REEL_RECORD_UNMAP };

	record.unmap = (struct reel_record_unmap){ time, space, address, size, 1 };
	return record;
}

static inline struct reel_record code_record(uint64_t time, uint64_t space, uint64_t address,
					     const char *bytes)
{
	struct reel_record record = { .id = REEL_RECORD_CODE };

	record.code = (struct reel_record_code){
		.time = time,
		.space = space,
		.address = address,
		.bytes = reel_bytes_of_string(bytes),
	};
	return record;
}

static inline struct reel_record space_record(uint64_t time, uint64_t id, enum reel_origin origin,
					      uint64_t parent)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE };

	record.space = (struct reel_record_space){
		.time = time,
		.id = id,
		.origin = origin,
		.parent = parent,
		.pid = id + 1000,
		.word_bits = 64,
	};
	return record;
}

static inline struct reel_record space_exit_record(uint64_t time, uint64_t space)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE_EXIT };

	record.space_exit = (struct reel_record_space_exit){ time, space };
	return record;
}

static inline struct reel_record thread_record(uint64_t time, uint64_t id, uint64_t space,
					       const char *comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD };

	record.thread = (struct reel_record_thread){
		.time = time,
		.id = id,
		.space = space,
		.tid = id + 2000,
		.comm = { (const uint8_t *)comm, strlen(comm) },
	};
	return record;
}

static inline struct reel_record comm_record(uint64_t time, uint64_t thread, const char *comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_COMM };

	record.thread_comm = (struct reel_record_thread_comm){
		time, thread, { (const uint8_t *)comm, strlen(comm) }
	};
	return record;
}

static inline struct reel_record exec_record(uint64_t time, uint64_t thread, uint64_t space)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXEC };

	record.thread_exec = (struct reel_record_thread_exec){ time, thread, space };
	return record;
}

static inline struct reel_record thread_exit_record(uint64_t time, uint64_t thread)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXIT };

	record.thread_exit = (struct reel_record_thread_exit){ time, thread };
	return record;
}

static inline struct reel_record module_record(uint64_t id, const char *path)
{
	struct reel_record record = { .id = REEL_RECORD_MODULE };

	record.module = (struct reel_record_module){
		.id = id,
		.kind = REEL_MODULE_FILE,
		.build_id = { (const uint8_t *)"\x12\x34", 2 },
		.path = { (const uint8_t *)path, strlen(path) },
	};
	return record;
}

static inline void add(struct reel_timeline *timeline, struct reel_record record)
{
	assert_null(reel_timeline_add(timeline, &record));
}

static inline struct reel_timeline *create(bool keep_past)
{
	struct reel_timeline *timeline;

	assert_null(reel_timeline_create(keep_past, &timeline));
	return timeline;
}

#endif
