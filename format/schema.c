/* SPDX-License-Identifier: Apache-2.0 */
#include "format/schema.h"

#define FIELD(record, field, field_kind, field_max, ...)                                           \
	{                                                                                          \
		.name = #field, .kind = field_kind,                                                \
		.offset = offsetof(struct reel_record, record.field), .max = field_max,            \
		__VA_ARGS__                                                                        \
	}
/* Fields missing in files of older versions; such fields come last. */
#define ADDED(record, field, ...)                                                                  \
	FIELD(record, field, REEL_SCHEMA_NUMBER, 0, .added = true, __VA_ARGS__)
/* The same for fields that are usually unknown. */
#define SELDOM(record, field, field_kind, field_max, ...)                                          \
	FIELD(record, field, field_kind, field_max, .added = true, .left_out = true, __VA_ARGS__)
#define NUMBER(record, field)	    FIELD(record, field, REEL_SCHEMA_NUMBER, 0)
#define LISTED(record, field, last) FIELD(record, field, REEL_SCHEMA_NUMBER, 0, .listed = last)
#define ADDRESS(record, field)	    FIELD(record, field, REEL_SCHEMA_ADDRESS, 0)
#define TEXT(record, field)	    FIELD(record, field, REEL_SCHEMA_TEXT, REEL_TEXT_MAX)
#define BYTES(record, field, max)   FIELD(record, field, REEL_SCHEMA_BYTES, max)

#define TIME(record, field) FIELD(record, field, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_TIME)
#define TIME_IF_KNOWN(record, field)                                                               \
	FIELD(record, field, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_TIME_IF_KNOWN)
#define RANGE(record) FIELD(record, address, REEL_SCHEMA_ADDRESS, 0, .role = REEL_ROLE_RANGE)
#define IDENTITY(record, id_kind)                                                                  \
	FIELD(record, id, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_ID, .ids = REEL_ID_##id_kind)
#define REFERENCE(record, field, id_kind)                                                          \
	FIELD(record, field, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_REFERENCE,                   \
	      .ids = REEL_ID_##id_kind)

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
	IDENTITY(event, EVENT),
	NUMBER(event, perf_type),
	NUMBER(event, perf_config),
	NUMBER(event, frequency),
	NUMBER(event, period),
	LISTED(event, weight_unit, REEL_WEIGHT_NANOSECONDS),
	TEXT(event, name),
	SELDOM(event, value_names, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
	SELDOM(event, waits, REEL_SCHEMA_NUMBER, 0, .listed = REEL_WAITS_PROCESS_VM_READV),
};

static const struct reel_schema_field module_fields[] = {
	IDENTITY(module, MODULE),
	LISTED(module, kind, REEL_MODULE_SPECIAL),
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
	REFERENCE(image, module, MODULE),
	NUMBER(image, offset),
	NUMBER(image, total_size),
	BYTES(image, bytes, 0),
	ADDED(image, number),
	SELDOM(image, base, REEL_SCHEMA_NUMBER, 0),
};

static const struct reel_schema_field space_fields[] = {
	TIME(space, time),
	IDENTITY(space, SPACE),
	REFERENCE(space, parent, SPACE),
	LISTED(space, origin, REEL_ORIGIN_SNAPSHOT),
	NUMBER(space, pid),
	NUMBER(space, namespace_pid),
	NUMBER(space, machine),
	NUMBER(space, word_bits),
	NUMBER(space, byte_order),
	ADDRESS(space, code_mask),
	ADDRESS(space, data_mask),
	ADDRESS(space, vdso),
};

static const struct reel_schema_field space_exit_fields[] = {
	TIME(space_exit, time),
	REFERENCE(space_exit, space, SPACE),
};

static const struct reel_schema_field thread_fields[] = {
	TIME(thread, time),
	IDENTITY(thread, THREAD),
	REFERENCE(thread, space, SPACE),
	LISTED(thread, origin, REEL_ORIGIN_SNAPSHOT),
	NUMBER(thread, tid),
	NUMBER(thread, namespace_tid),
	REFERENCE(thread, parent, THREAD),
	TEXT(thread, comm),
};

static const struct reel_schema_field thread_comm_fields[] = {
	TIME(thread_comm, time),
	REFERENCE(thread_comm, thread, THREAD),
	TEXT(thread_comm, comm),
};

static const struct reel_schema_field thread_exec_fields[] = {
	TIME(thread_exec, time),
	REFERENCE(thread_exec, thread, THREAD),
	REFERENCE(thread_exec, space, SPACE),
};

static const struct reel_schema_field thread_exit_fields[] = {
	TIME(thread_exit, time),
	REFERENCE(thread_exit, thread, THREAD),
};

static const struct reel_schema_field map_fields[] = {
	TIME(map, time),    REFERENCE(map, space, SPACE),   RANGE(map),
	ADDRESS(map, size), ADDRESS(map, offset),	    NUMBER(map, protection),
	NUMBER(map, flags), REFERENCE(map, module, MODULE),
};

static const struct reel_schema_field unmap_fields[] = {
	TIME(unmap, time),
	REFERENCE(unmap, space, SPACE),
	RANGE(unmap),
	ADDRESS(unmap, size),
	LISTED(unmap, how, REEL_UNMAP_INFERRED_ABSENT),
};

static const struct reel_schema_field kernel_symbol_fields[] = {
	ADDRESS(kernel_symbol, address),
	NUMBER(kernel_symbol, size),
	REFERENCE(kernel_symbol, module, MODULE),
	TEXT(kernel_symbol, name),
	ADDED(kernel_symbol, since, .role = REEL_ROLE_TIME_IF_KNOWN),
	SELDOM(kernel_symbol, origin, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_REFERENCE,
	       .ids = REEL_ID_ORIGIN),
};

static const struct reel_schema_field loss_fields[] = {
	TIME(loss, time),
	NUMBER(loss, cpu),
	LISTED(loss, cause, REEL_LOSS_COUNT - 1),
	NUMBER(loss, count),
};

static const struct reel_schema_field end_fields[] = {
	TIME(end, time),      LISTED(end, reason, REEL_END_CONVERTED),
	NUMBER(end, samples), NUMBER(end, exit_status),
	ADDED(end, blocks),   ADDED(end, side_records),
};

static const struct reel_schema_field code_fields[] = {
	TIME(code, time),
	REFERENCE(code, space, SPACE),
	REFERENCE(code, module, MODULE),
	ADDRESS(code, address),
	BYTES(code, bytes, 0),
	SELDOM(code, since, REEL_SCHEMA_NUMBER, 0, .role = REEL_ROLE_TIME_IF_KNOWN),
};

static const struct reel_schema_field code_end_fields[] = {
	TIME(code_end, time),
	REFERENCE(code_end, space, SPACE),
	RANGE(code_end),
	NUMBER(code_end, size),
};

static const struct reel_schema_field jit_symbol_fields[] = {
	TIME_IF_KNOWN(jit_symbol, time),
	REFERENCE(jit_symbol, space, SPACE),
	RANGE(jit_symbol),
	NUMBER(jit_symbol, size),
	LISTED(jit_symbol, source, REEL_JIT_ELF),
	TEXT(jit_symbol, name),
};

static const struct reel_schema_field jit_unwind_fields[] = {
	TIME_IF_KNOWN(jit_unwind, time),
	REFERENCE(jit_unwind, space, SPACE),
	RANGE(jit_unwind),
	NUMBER(jit_unwind, size),
	ADDRESS(jit_unwind, frame_address),
	BYTES(jit_unwind, eh_frame, 0),
	ADDED(jit_unwind, section, .listed = REEL_JIT_DEBUG_FRAME),
};

static const struct reel_schema_field jit_line_fields[] = {
	TIME_IF_KNOWN(jit_line, time), REFERENCE(jit_line, space, SPACE),
	ADDRESS(jit_line, function),   ADDRESS(jit_line, address),
	NUMBER(jit_line, line),	       TEXT(jit_line, file),
};

static const struct reel_schema_field trace_steps_fields[] = {
	IDENTITY(trace_steps, STEPS),
	LISTED(trace_steps, stop, REEL_STOP_COUNT - 1),
	BYTES(trace_steps, steps, 0),
};

static const struct reel_schema_field origin_fields[] = {
	IDENTITY(origin, ORIGIN),
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
	IDENTITY(cgroup, CGROUP),
	TEXT(cgroup, path),
	SELDOM(cgroup, container_name, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
	SELDOM(cgroup, pod_name, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
	SELDOM(cgroup, namespace, REEL_SCHEMA_TEXT, REEL_TEXT_MAX),
};

static const struct reel_schema_field space_cgroup_fields[] = {
	TIME(space_cgroup, time),
	REFERENCE(space_cgroup, space, SPACE),
	REFERENCE(space_cgroup, cgroup, CGROUP),
};

static const struct reel_schema_field function_fields[] = {
	IDENTITY(function, FUNCTION),
	LISTED(function, runtime, REEL_RUNTIME_RUBY),
	NUMBER(function, line),
	FIELD(function, name, REEL_SCHEMA_TEXT, REEL_FUNCTION_TEXT_MAX),
	FIELD(function, file, REEL_SCHEMA_TEXT, REEL_FUNCTION_TEXT_MAX),
	BYTES(function, lines, REEL_FUNCTION_LINES_MAX),
};

static const struct reel_schema_field mark_fields[] = {
	TIME(mark, time),
	LISTED(mark, kind, REEL_MARK_JUMP),
	FIELD(mark, text, REEL_SCHEMA_TEXT, REEL_MARK_TEXT_MAX),
};

static const struct reel_schema_field index_entry_fields[] = {
	NUMBER(index_entry, offset),	 NUMBER(index_entry, type),
	NUMBER(index_entry, sequence),	 NUMBER(index_entry, stored_size),
	NUMBER(index_entry, raw_size),	 NUMBER(index_entry, expanded_size),
	NUMBER(index_entry, time_first), NUMBER(index_entry, time_last),
	NUMBER(index_entry, records),
};

static const struct reel_schema_field digest_fields[] = {
	BYTES(digest, sha256, 0),
};

static const struct reel_schema_field key_fields[] = {
	NUMBER(key, algorithm),
	BYTES(key, key, 64),
	BYTES(key, sealed, 1024),
};

#define SCHEMA(record, is_critical, member)                                                        \
	[REEL_RECORD_##record] = {                                                                 \
		.name = #record,                                                                   \
		.critical = is_critical,                                                           \
		.fields = member##_fields,                                                         \
		.n_fields = sizeof(member##_fields) / sizeof(member##_fields[0]),                  \
		.size = sizeof(((struct reel_record *)NULL)->member),                              \
	}

/* SPEC.md, section 4. */
static const struct reel_schema schemas[REEL_RECORD_ID_LIMIT] = {
	SCHEMA(CAPTURE, true, capture),
	SCHEMA(EVENT, false, event),
	SCHEMA(MODULE, false, module),
	SCHEMA(IMAGE, false, image),
	SCHEMA(SPACE, true, space),
	SCHEMA(SPACE_EXIT, false, space_exit),
	SCHEMA(THREAD, true, thread),
	SCHEMA(THREAD_COMM, false, thread_comm),
	SCHEMA(THREAD_EXEC, true, thread_exec),
	SCHEMA(THREAD_EXIT, false, thread_exit),
	SCHEMA(MAP, true, map),
	SCHEMA(UNMAP, true, unmap),
	SCHEMA(KERNEL_SYMBOL, false, kernel_symbol),
	SCHEMA(LOSS, false, loss),
	SCHEMA(END, false, end),
	SCHEMA(CODE, false, code),
	SCHEMA(JIT_SYMBOL, false, jit_symbol),
	SCHEMA(JIT_UNWIND, false, jit_unwind),
	SCHEMA(JIT_LINE, false, jit_line),
	SCHEMA(TRACE_STEPS, false, trace_steps),
	SCHEMA(ORIGIN, true, origin),
	SCHEMA(CGROUP, false, cgroup),
	SCHEMA(SPACE_CGROUP, false, space_cgroup),
	SCHEMA(FUNCTION, false, function),
	SCHEMA(MARK, false, mark),
	SCHEMA(CODE_END, false, code_end),
	/* These have no table: their coders are in format/codec/. */
	[REEL_RECORD_SAMPLE_LAYOUT] = { "SAMPLE_LAYOUT", true, NULL, 0, 0 },
	[REEL_RECORD_LABELS] = { "LABELS", false, NULL, 0, 0 },
	[REEL_RECORD_FRAMES] = { "FRAMES", false, NULL, 0, 0 },
	[REEL_RECORD_COLUMNS] = { "COLUMNS", true, NULL, 0, 0 },
	SCHEMA(INDEX_ENTRY, false, index_entry),
	SCHEMA(DIGEST, false, digest),
	SCHEMA(KEY, false, key),
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

	/* A record's own time is always the first field. */
	if (!schema || (schema->fields[0].role != REEL_ROLE_TIME &&
			schema->fields[0].role != REEL_ROLE_TIME_IF_KNOWN))
		return false;
	*ret = reel_schema_number(&schema->fields[0], record);
	return true;
}

enum reel_id_kind reel_record_subject(const struct reel_record *record, uint64_t *ret)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; schema && i < schema->n_fields; i++) {
		if (!schema->fields[i].ids)
			continue;
		*ret = reel_schema_number(&schema->fields[i], record);
		return schema->fields[i].ids;
	}
	return REEL_ID_NONE;
}

enum reel_id_kind reel_record_frame_subject(const struct reel_record_frame *frame, uint64_t *ret)
{
	struct reel_cursor cursor = frame->payload;

	if ((frame->id < REEL_RECORD_SPACE || frame->id > REEL_RECORD_UNMAP) &&
	    frame->id != REEL_RECORD_SPACE_CGROUP)
		return REEL_ID_NONE;
	/* All of these begin with a time and the id. */
	(void)reel_cursor_uleb(&cursor);
	*ret = reel_cursor_uleb(&cursor);
	return cursor.failed ? REEL_ID_NONE : schemas[frame->id].fields[1].ids;
}
