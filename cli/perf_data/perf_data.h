/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, as `perf record --call-graph dwarf -o -' writes it to a pipe: registers, stacks and
 * mappings as recorded, which perf unwinds itself; docs/exports.md.
 */
#ifndef CLI_PERF_DATA_PERF_DATA_H
#define CLI_PERF_DATA_PERF_DATA_H

#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/profile/pointer_map.h"
#include "format/perf/perf_abi.h"

/* A record's size has 16 bits. */
#define MAX_RECORD 65528
/* For names, with their NUL. */
#define MAX_TEXT 4096
#define NOBODY	 UINT32_MAX

/* Selected samples: a run of consecutive ids. */
struct id_run {
	uint64_t first, count;
};

struct perf_space {
	uint32_t pid, word_bits;
	uint16_t machine;
};

struct perf_thread {
	uint64_t space;
	uint32_t tid;
};

struct perf_module {
	char *path;
	uint8_t build_id[20];
	uint8_t build_id_size;
	enum reel_module_kind kind;
	/* Of the file used for the module. */
	bool has_segments;
	struct reel_file_segment *segments;
	size_t n_segments;
};

struct perf_data {
	FILE *file;
	bool big_endian;
	uint32_t n_captures, n_events;
	struct id_run *runs;
	size_t n_runs, runs_capacity, run;
	uint64_t run_done;
	/* By id. */
	struct pointer_map spaces, threads, modules;
	uint64_t regs_mask, page_size;
	struct reel_capture *capture; /* set when all its samples were taken */
	uint8_t *record;	      /* the current record */
	size_t size;
	/* Samples whose stack or kernel chain does not fit into a record. */
	uint64_t cut;
};

/* Builds records, number by number. */
void perf_append_bytes(struct perf_data *data, const void *bytes, size_t size);
void perf_append_number(struct perf_data *data, uint64_t value, size_t size);
void perf_append_u32(struct perf_data *data, uint32_t value);
void perf_append_u64(struct perf_data *data, uint64_t value);
void perf_append_text(struct perf_data *data, const char *text);
void perf_begin_record(struct perf_data *data, uint32_t type, uint32_t misc);
void perf_end_record(struct perf_data *data);

/* Fields of the capture's records, and the stored ones. */
const struct reel_field *perf_field_of(const struct reel_record_view *record, const char *name);
const struct reel_field *perf_subfield_of(const struct reel_field *field, const char *name);
uint64_t perf_number_of(const struct reel_record_view *record, const char *name);
char *perf_text_of(const struct reel_record_view *record, const char *name);
const void *perf_key_of(uint64_t id);
void *perf_item_of(struct pointer_map *map, uint64_t id, size_t size);
void perf_free_items(struct pointer_map *map);
const struct perf_space *perf_space_of(const struct perf_data *data, uint64_t id);
const struct perf_thread *perf_thread_of(const struct perf_data *data, uint64_t id);
uint32_t perf_pid_of(const struct perf_data *data, const struct perf_thread *thread);

/* Tasks, their names and mappings. */
void perf_append_sample_id(struct perf_data *data, uint32_t pid, uint32_t tid, uint64_t time);
void perf_keep_space(struct perf_data *data, const struct reel_record_view *record);
void perf_write_thread(struct perf_data *data, const struct reel_record_view *record);
void perf_write_exec(struct perf_data *data, const struct reel_record_view *record);
void perf_write_comm(struct perf_data *data, const struct reel_record_view *record);
void perf_write_exit(struct perf_data *data, const struct reel_record_view *record);
void perf_keep_module(struct perf_data *data, const struct reel_record_view *record);
void perf_write_map(struct perf_data *data, const struct reel_record_view *record);

/* The data before all records: attributes of events, and features. */
uint64_t perf_registers_of(const char *arch);
bool perf_write_head(struct perf_data *data, struct session *session);

#endif
