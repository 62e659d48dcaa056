/* SPDX-License-Identifier: Apache-2.0 */
#include "format/schema.h"

#define FIELD(record, field, field_kind, field_max)                                                \
	{                                                                                          \
		.name = #field, .kind = field_kind,                                                \
		.offset = offsetof(struct reel_record, record.field), .max = field_max             \
	}
/* Fields missing in files of older versions; such fields come last. */
#define ADDED(record, field)                                                                       \
	{                                                                                          \
		.name = #field, .kind = REEL_SCHEMA_NUMBER,                                        \
		.offset = offsetof(struct reel_record, record.field), .added = true                \
	}
/* The same for fields that are usually unknown. */
#define SELDOM(record, field, field_kind, field_max)                                               \
	{                                                                                          \
		.name = #field, .kind = field_kind,                                                \
		.offset = offsetof(struct reel_record, record.field), .max = field_max,            \
		.added = true, .left_out = true                                                    \
	}
#define NUMBER(record, field)	  FIELD(record, field, REEL_SCHEMA_NUMBER, 0)
#define ADDRESS(record, field)	  FIELD(record, field, REEL_SCHEMA_ADDRESS, 0)
#define TEXT(record, field)	  FIELD(record, field, REEL_SCHEMA_TEXT, REEL_TEXT_MAX)
#define BYTES(record, field, max) FIELD(record, field, REEL_SCHEMA_BYTES, max)

static const struct reel_schema_field capture_fields[] = {
	NUMBER(capture, start_time),   NUMBER(capture, start_wall_time),
	NUMBER(capture, clock),	       NUMBER(capture, machine),
	NUMBER(capture, word_bits),    NUMBER(capture, byte_order),
	NUMBER(capture, page_size),    NUMBER(capture, cpus_possible),
	NUMBER(capture, cpus_online),  NUMBER(capture, max_stack),
	NUMBER(capture, ring_size),    NUMBER(capture, rings),
	NUMBER(capture, part),	       BYTES(capture, recording, 0),
	TEXT(capture, hostname),       TEXT(capture, kernel_release),
	TEXT(capture, kernel_version), BYTES(capture, kernel_build_id, REEL_BUILD_ID_MAX),
	TEXT(capture, tool_version),   BYTES(capture, command_line, 0),
};

static const struct reel_schema_field event_fields[] = {
	NUMBER(event, id),	    NUMBER(event, perf_type),
	NUMBER(event, perf_config), NUMBER(event, frequency),
	NUMBER(event, period),	    NUMBER(event, weight_unit),
	TEXT(event, name),	    SELDOM(event, value_names, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
};

static const struct reel_schema_field module_fields[] = {
	NUMBER(module, id),
	NUMBER(module, kind),
	NUMBER(module, device_major),
	NUMBER(module, device_minor),
	NUMBER(module, inode),
	NUMBER(module, inode_generation),
	BYTES(module, build_id, REEL_BUILD_ID_MAX),
	TEXT(module, path),
	SELDOM(module, file_size, REEL_SCHEMA_NUMBER, 0),
	SELDOM(module, file_time, REEL_SCHEMA_NUMBER, 0),
	SELDOM(module, file_digest, REEL_SCHEMA_BYTES, REEL_BUILD_ID_MAX),
};

static const struct reel_schema_field image_fields[] = {
	NUMBER(image, module),	NUMBER(image, offset), NUMBER(image, total_size),
	BYTES(image, bytes, 0), ADDED(image, number),  SELDOM(image, base, REEL_SCHEMA_NUMBER, 0),
};

static const struct reel_schema_field space_fields[] = {
	NUMBER(space, time),	   NUMBER(space, id),	      NUMBER(space, parent),
	NUMBER(space, origin),	   NUMBER(space, pid),	      NUMBER(space, namespace_pid),
	NUMBER(space, machine),	   NUMBER(space, word_bits),  NUMBER(space, byte_order),
	ADDRESS(space, code_mask), ADDRESS(space, data_mask), ADDRESS(space, vdso),
};

static const struct reel_schema_field space_exit_fields[] = {
	NUMBER(space_exit, time),
	NUMBER(space_exit, space),
};

static const struct reel_schema_field thread_fields[] = {
	NUMBER(thread, time),	NUMBER(thread, id),  NUMBER(thread, space),
	NUMBER(thread, origin), NUMBER(thread, tid), NUMBER(thread, namespace_tid),
	NUMBER(thread, parent), TEXT(thread, comm),
};

static const struct reel_schema_field thread_comm_fields[] = {
	NUMBER(thread_comm, time),
	NUMBER(thread_comm, thread),
	TEXT(thread_comm, comm),
};

static const struct reel_schema_field thread_exec_fields[] = {
	NUMBER(thread_exec, time),
	NUMBER(thread_exec, thread),
	NUMBER(thread_exec, space),
};

static const struct reel_schema_field thread_exit_fields[] = {
	NUMBER(thread_exit, time),
	NUMBER(thread_exit, thread),
};

static const struct reel_schema_field map_fields[] = {
	NUMBER(map, time),    NUMBER(map, space),      ADDRESS(map, address), ADDRESS(map, size),
	ADDRESS(map, offset), NUMBER(map, protection), NUMBER(map, flags),    NUMBER(map, module),
};

static const struct reel_schema_field unmap_fields[] = {
	NUMBER(unmap, time),  NUMBER(unmap, space), ADDRESS(unmap, address),
	ADDRESS(unmap, size), NUMBER(unmap, how),
};

static const struct reel_schema_field kernel_symbol_fields[] = {
	ADDRESS(kernel_symbol, address), NUMBER(kernel_symbol, size),
	NUMBER(kernel_symbol, module),	 TEXT(kernel_symbol, name),
	ADDED(kernel_symbol, since),	 SELDOM(kernel_symbol, origin, REEL_SCHEMA_NUMBER, 0),
};

static const struct reel_schema_field loss_fields[] = {
	NUMBER(loss, time),
	NUMBER(loss, cpu),
	NUMBER(loss, cause),
	NUMBER(loss, count),
};

static const struct reel_schema_field end_fields[] = {
	NUMBER(end, time),	  NUMBER(end, reason), NUMBER(end, samples),
	NUMBER(end, exit_status), ADDED(end, blocks),  ADDED(end, side_records),
};

static const struct reel_schema_field code_fields[] = {
	NUMBER(code, time),	NUMBER(code, space),   NUMBER(code, module),
	ADDRESS(code, address), BYTES(code, bytes, 0), SELDOM(code, since, REEL_SCHEMA_NUMBER, 0),
};

static const struct reel_schema_field code_end_fields[] = {
	NUMBER(code_end, time),
	NUMBER(code_end, space),
	ADDRESS(code_end, address),
	NUMBER(code_end, size),
};

static const struct reel_schema_field jit_symbol_fields[] = {
	NUMBER(jit_symbol, time), NUMBER(jit_symbol, space),  ADDRESS(jit_symbol, address),
	NUMBER(jit_symbol, size), NUMBER(jit_symbol, source), TEXT(jit_symbol, name),
};

static const struct reel_schema_field jit_unwind_fields[] = {
	NUMBER(jit_unwind, time),	    NUMBER(jit_unwind, space),
	ADDRESS(jit_unwind, address),	    NUMBER(jit_unwind, size),
	ADDRESS(jit_unwind, frame_address), BYTES(jit_unwind, eh_frame, 0),
	ADDED(jit_unwind, section),
};

static const struct reel_schema_field jit_line_fields[] = {
	NUMBER(jit_line, time),	    NUMBER(jit_line, space), ADDRESS(jit_line, function),
	ADDRESS(jit_line, address), NUMBER(jit_line, line),  TEXT(jit_line, file),
};

static const struct reel_schema_field trace_steps_fields[] = {
	NUMBER(trace_steps, id),
	NUMBER(trace_steps, stop),
	BYTES(trace_steps, steps, 0),
};

static const struct reel_schema_field origin_fields[] = {
	NUMBER(origin, id),
	NUMBER(origin, first_sample),
	BYTES(origin, file, 0),
	NUMBER(origin, start_time),
	NUMBER(origin, start_wall_time),
	NUMBER(origin, clock),
	NUMBER(origin, cpus_online),
	NUMBER(origin, part),
	BYTES(origin, recording, 0),
	TEXT(origin, hostname),
	TEXT(origin, kernel_release),
	TEXT(origin, kernel_version),
	BYTES(origin, kernel_build_id, REEL_BUILD_ID_MAX),
	TEXT(origin, tool_version),
	BYTES(origin, command_line, 0),
};

static const struct reel_schema_field cgroup_fields[] = {
	NUMBER(cgroup, id),
	TEXT(cgroup, path),
	SELDOM(cgroup, container_name, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
	SELDOM(cgroup, pod_name, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
	SELDOM(cgroup, namespace, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
};

static const struct reel_schema_field space_cgroup_fields[] = {
	NUMBER(space_cgroup, time),
	NUMBER(space_cgroup, space),
	NUMBER(space_cgroup, cgroup),
};

static const struct reel_schema_field function_fields[] = {
	NUMBER(function, id),
	NUMBER(function, runtime),
	NUMBER(function, line),
	FIELD(function, name, REEL_SCHEMA_TEXT, REEL_FUNCTION_TEXT_MAX),
	FIELD(function, file, REEL_SCHEMA_TEXT, REEL_FUNCTION_TEXT_MAX),
	BYTES(function, lines, REEL_FUNCTION_LINES_MAX),
};

static const struct reel_schema_field mark_fields[] = {
	NUMBER(mark, time),
	NUMBER(mark, kind),
	FIELD(mark, text, REEL_SCHEMA_TEXT, REEL_MARK_TEXT_MAX),
};

static const struct reel_schema_field index_entry_fields[] = {
	NUMBER(index_entry, offset),	 NUMBER(index_entry, type),
	NUMBER(index_entry, sequence),	 NUMBER(index_entry, stored_size),
	NUMBER(index_entry, raw_size),	 NUMBER(index_entry, expanded_size),
	NUMBER(index_entry, time_first), NUMBER(index_entry, time_last),
	NUMBER(index_entry, records),
};

static const struct reel_schema_field key_fields[] = {
	NUMBER(key, algorithm),
	BYTES(key, key, 64),
	BYTES(key, sealed, 1024),
};

#define SCHEMA(record, is_critical, record_fields)                                                 \
	[REEL_RECORD_##record] = {                                                                 \
		.name = #record,                                                                   \
		.critical = is_critical,                                                           \
		.fields = record_fields,                                                           \
		.n_fields = sizeof(record_fields) / sizeof(record_fields[0]),                      \
	}

/* SPEC.md, section 4. */
static const struct reel_schema schemas[REEL_RECORD_ID_LIMIT] = {
	SCHEMA(CAPTURE, true, capture_fields),
	SCHEMA(EVENT, false, event_fields),
	SCHEMA(MODULE, false, module_fields),
	SCHEMA(IMAGE, false, image_fields),
	SCHEMA(SPACE, true, space_fields),
	SCHEMA(SPACE_EXIT, false, space_exit_fields),
	SCHEMA(THREAD, true, thread_fields),
	SCHEMA(THREAD_COMM, false, thread_comm_fields),
	SCHEMA(THREAD_EXEC, true, thread_exec_fields),
	SCHEMA(THREAD_EXIT, false, thread_exit_fields),
	SCHEMA(MAP, true, map_fields),
	SCHEMA(UNMAP, true, unmap_fields),
	SCHEMA(KERNEL_SYMBOL, false, kernel_symbol_fields),
	SCHEMA(LOSS, false, loss_fields),
	SCHEMA(END, false, end_fields),
	SCHEMA(CODE, false, code_fields),
	SCHEMA(JIT_SYMBOL, false, jit_symbol_fields),
	SCHEMA(JIT_UNWIND, false, jit_unwind_fields),
	SCHEMA(JIT_LINE, false, jit_line_fields),
	SCHEMA(TRACE_STEPS, false, trace_steps_fields),
	SCHEMA(ORIGIN, true, origin_fields),
	SCHEMA(CGROUP, false, cgroup_fields),
	SCHEMA(SPACE_CGROUP, false, space_cgroup_fields),
	SCHEMA(FUNCTION, false, function_fields),
	SCHEMA(MARK, false, mark_fields),
	SCHEMA(CODE_END, false, code_end_fields),
	/* These have no table: their coders are in format/codec/. */
	[REEL_RECORD_SAMPLE_LAYOUT] = { "SAMPLE_LAYOUT", true, NULL, 0 },
	[REEL_RECORD_LABELS] = { "LABELS", false, NULL, 0 },
	[REEL_RECORD_FRAMES] = { "FRAMES", false, NULL, 0 },
	[REEL_RECORD_COLUMNS] = { "COLUMNS", true, NULL, 0 },
	[REEL_RECORD_DENSE] = { "DENSE", true, NULL, 0 },
	SCHEMA(INDEX_ENTRY, false, index_entry_fields),
	SCHEMA(KEY, false, key_fields),
};

const struct reel_schema *reel_schema_of(uint64_t id)
{
	return id < REEL_RECORD_ID_LIMIT && schemas[id].fields ? &schemas[id] : NULL;
}

const char *reel_record_name(uint64_t id)
{
	return id < REEL_RECORD_ID_LIMIT ? schemas[id].name : NULL;
}

uint16_t reel_record_block_type(uint64_t id)
{
	if (!reel_record_name(id))
		return 0;
	if (id < REEL_RECORD_SAMPLE_LAYOUT)
		return REEL_BLOCK_SIDE;
	if (id < REEL_RECORD_INDEX_ENTRY)
		return REEL_BLOCK_SAMPLES;
	return id < REEL_RECORD_KEY ? REEL_BLOCK_INDEX : REEL_BLOCK_KEYS;
}

uint64_t reel_schema_number(const struct reel_schema_field *field, const struct reel_record *record)
{
	uint64_t value;

	memcpy(&value, (const char *)record + field->offset, sizeof(value));
	return value;
}

struct reel_bytes reel_schema_bytes(const struct reel_schema_field *field,
				    const struct reel_record *record)
{
	struct reel_bytes bytes;

	memcpy(&bytes, (const char *)record + field->offset, sizeof(bytes));
	return bytes;
}

bool reel_record_time(const struct reel_record *record, uint64_t *ret)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	/* A time is always the first field. */
	if (!schema || strcmp(schema->fields[0].name, "time"))
		return false;
	*ret = reel_schema_number(&schema->fields[0], record);
	return true;
}
