/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format/perf/jitdump.h"

#define MAGIC	  0x4a695444u
#define VERSION	  1u
#define CPU_TIMES 1u /* of the header's flags */

/* The fixed parts of all records, and of the types that are read. */
#define PREFIX_SIZE 16u
#define LOAD_SIZE   56u
#define MOVE_SIZE   64u
#define DEBUG_SIZE  32u
#define UNWIND_SIZE 40u

enum record_id {
	CODE_LOAD = 0,
	CODE_MOVE = 1,
	CODE_DEBUG_INFO = 2,
	CODE_UNWINDING_INFO = 4,
};

/*
 * Up to 5.8, perf mistook the code for the whole file made from it, header included ("perf jit: Fix
 * inaccurate DWARF line table"); V8 and LLVM still add this to the addresses of lines.
 */
#define LINE_SHIFT 0x40

/* A record; `bytes` are the available ones. */
struct record {
	uint32_t id;
	uint64_t size;
	struct reel_bytes bytes;
};

/* Records that describe the next function. */
struct before {
	uint64_t lines_of;
	struct reel_jitdump_lines lines;
	struct reel_bytes eh_frame;
};

static uint32_t load32(const struct reel_jitdump *dump, const uint8_t *bytes)
{
	return (uint32_t)reel_load_target(bytes, 4, dump->big_endian);
}

static uint64_t load64(const struct reel_jitdump *dump, const uint8_t *bytes)
{
	return reel_load_target(bytes, 8, dump->big_endian);
}

static bool is_range(uint64_t address, uint64_t size)
{
	return size && address + (size - 1) >= address;
}

/* ---- lines ---------------------------------------------------------------------------- */

bool reel_jitdump_next_line(struct reel_jitdump_lines *lines, struct reel_jitdump_line *ret)
{
	const uint8_t *entry = lines->left ? reel_cursor_take(&lines->entries, 16) : NULL;
	const uint8_t *end =
		entry ? memchr(lines->entries.at, 0, reel_cursor_left(&lines->entries)) : NULL;
	struct reel_bytes file;

	if (!end)
		return false;
	lines->left--;
	file = (struct reel_bytes){ lines->entries.at, (size_t)(end - lines->entries.at) };
	lines->entries.at = end + 1;
	/* V8 writes 0xff for "same file as before", and perf accepts it as well. */
	if (file.size != 1 || file.data[0] != 0xff)
		lines->file = file;
	*ret = (struct reel_jitdump_line){
		.address = reel_load_target(entry, 8, lines->big_endian) - lines->shift,
		.line = (uint32_t)reel_load_target(entry + 8, 4, lines->big_endian),
		.file = lines->file,
	};
	return true;
}

/* If no line is within the first bytes of the code, all lines are shifted. */
static uint64_t shift_of(struct reel_jitdump_lines lines, uint64_t address)
{
	struct reel_jitdump_line line;

	while (reel_jitdump_next_line(&lines, &line)) {
		if (line.address - address < LINE_SHIFT || line.address < address)
			return 0;
	}
	return LINE_SHIFT;
}

/* ---- records -------------------------------------------------------------------------- */

/* perf inject writes .eh_frame after the code, at a multiple of 8 (jit_write_elf of
 * tools/perf/util/genelf.c), and JITs write addresses to match. */
static uint64_t frame_address(uint64_t address, uint64_t size)
{
	return address + ((size + 7) & ~UINT64_C(7));
}

/* False if the name is incomplete. */
static bool take_load(struct reel_jitdump *dump, const struct record *record,
		      const struct before *before, const struct reel_jitdump_visitor *visitor,
		      struct reel_error **error)
{
	const uint8_t *bytes = record->bytes.data, *name = bytes + LOAD_SIZE, *end;
	struct reel_jitdump_function function;

	if (record->size > LOAD_SIZE && record->bytes.size <= LOAD_SIZE)
		return false;
	end = record->size > LOAD_SIZE ? memchr(name, 0, record->bytes.size - LOAD_SIZE) : NULL;
	if (!end && record->bytes.size < record->size)
		return false;
	if (!end) {
		dump->n_bad++;
		return true;
	}
	function = (struct reel_jitdump_function){
		.time = load64(dump, bytes + 8),
		.address = load64(dump, bytes + 32),
		.size = load64(dump, bytes + 40),
		.index = load64(dump, bytes + 48),
		.name = { name, (size_t)(end - name) },
		.eh_frame = before->eh_frame,
	};
	if (!function.size)
		return true; /* the format allows functions without code */
	if (!is_range(function.address, function.size)) {
		dump->n_bad++;
		return true;
	}
	function.frame_address = frame_address(function.address, function.size);
	if (before->lines_of == function.address) {
		function.lines = before->lines;
		function.lines.shift = shift_of(function.lines, function.address);
	}
	*error = visitor->function(visitor->context, &function);
	return true;
}

static struct reel_error *take_move(struct reel_jitdump *dump, const struct record *record,
				    const struct reel_jitdump_visitor *visitor)
{
	const uint8_t *bytes = record->bytes.data;
	struct reel_jitdump_move move;

	if (record->size < MOVE_SIZE) {
		dump->n_bad++;
		return NULL;
	}
	move = (struct reel_jitdump_move){
		.time = load64(dump, bytes + 8),
		.from = load64(dump, bytes + 32),
		.to = load64(dump, bytes + 40),
		.size = load64(dump, bytes + 48),
		.index = load64(dump, bytes + 56),
	};
	if (is_range(move.from, move.size) && is_range(move.to, move.size))
		return visitor->move(visitor->context, &move);
	dump->n_bad++;
	return NULL;
}

static void take_debug(struct reel_jitdump *dump, const struct record *record,
		       struct before *before)
{
	const uint8_t *bytes = record->bytes.data;

	if (record->size < DEBUG_SIZE) {
		dump->n_bad++;
		return;
	}
	before->lines_of = load64(dump, bytes + 16);
	before->lines = (struct reel_jitdump_lines){
		.entries = reel_cursor(bytes + DEBUG_SIZE, record->bytes.size - DEBUG_SIZE),
		.left = load64(dump, bytes + 24),
		.big_endian = dump->big_endian,
	};
}

/* .eh_frame, then .eh_frame_hdr: the specification has the reverse order, but this is what JITs
 * write and perf reads (jit_add_eh_frame_info of genelf.c). */
static void take_unwind(struct reel_jitdump *dump, const struct record *record,
			struct before *before)
{
	const uint8_t *bytes = record->bytes.data;
	uint64_t size, header;

	if (record->size >= UNWIND_SIZE) {
		size = load64(dump, bytes + 16);
		header = load64(dump, bytes + 24);
		if (size <= record->size - UNWIND_SIZE && header <= size) {
			before->eh_frame =
				(struct reel_bytes){ bytes + UNWIND_SIZE, (size_t)(size - header) };
			return;
		}
	}
	dump->n_bad++;
}

/* ---- the file ------------------------------------------------------------------------- */

static struct reel_error *take_header(struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
				      uint64_t *taken_ret)
{
	uint32_t length;

	*taken_ret = 0;
	if (size < REEL_JITDUMP_HEADER)
		return NULL;
	dump->big_endian = reel_load32(bytes) != MAGIC;
	if (load32(dump, bytes) != MAGIC)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "not a jitdump: starts with 0x%08x, not 0x%08x",
					 reel_load32(bytes), MAGIC);
	if (load32(dump, bytes + 4) != VERSION)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "jitdump: unsupported version %u (expected %u)",
					 load32(dump, bytes + 4), VERSION);
	length = load32(dump, bytes + 8);
	if (length < REEL_JITDUMP_HEADER)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "jitdump: header has %u bytes, less than %u", length,
					 REEL_JITDUMP_HEADER);
	dump->machine = load32(dump, bytes + 12);
	dump->pid = load32(dump, bytes + 20);
	dump->has_cpu_times = load64(dump, bytes + 32) & CPU_TIMES;
	dump->has_header = true;
	*taken_ret = length;
	return NULL;
}

/* False if the wanted part of the record is still missing. */
static bool find_record(const struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
			struct record *ret)
{
	size_t wanted = PREFIX_SIZE;

	if (size < PREFIX_SIZE)
		return false;
	*ret = (struct record){
		.id = load32(dump, bytes),
		.size = load32(dump, bytes + 4),
	};
	ret->bytes = (struct reel_bytes){ bytes, size < ret->size ? size : (size_t)ret->size };
	if (ret->id == CODE_LOAD)
		wanted = LOAD_SIZE;
	else if (ret->id == CODE_MOVE)
		wanted = MOVE_SIZE;
	else if (ret->id == CODE_DEBUG_INFO || ret->id == CODE_UNWINDING_INFO)
		wanted = (size_t)ret->size;
	return ret->bytes.size >= wanted || ret->bytes.size == ret->size;
}

/*
 * Takes a function and the records preceding it, or another record.  False if incomplete: then
 * *size_ret is the available size, or the size of a single record that is too long, 0 if unknown.
 */
static bool take_group(struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
		       const struct reel_jitdump_visitor *visitor, uint64_t *size_ret,
		       struct reel_error **error)
{
	uint64_t n_bad = dump->n_bad, at = 0;
	struct before before = { 0 };
	struct record record;

	*size_ret = size >= PREFIX_SIZE ? load32(dump, bytes + 4) : 0;
	while (at < size && find_record(dump, bytes + at, size - (size_t)at, &record)) {
		if (record.size < PREFIX_SIZE) {
			*error = reel_error_create(
				REEL_ERROR_CORRUPT,
				"jitdump: record has %u bytes, less than its header",
				(unsigned)record.size);
			return true;
		}
		if (record.id == CODE_LOAD && record.size < LOAD_SIZE)
			dump->n_bad++;
		else if (record.id == CODE_LOAD &&
			 !take_load(dump, &record, &before, visitor, error))
			break;
		else if (record.id == CODE_MOVE)
			*error = take_move(dump, &record, visitor);
		else if (record.id == CODE_DEBUG_INFO)
			take_debug(dump, &record, &before);
		else if (record.id == CODE_UNWINDING_INFO)
			take_unwind(dump, &record, &before);
		at += record.size;
		if (record.id != CODE_DEBUG_INFO && record.id != CODE_UNWINDING_INFO) {
			*size_ret = at;
			return true;
		}
	}
	dump->n_bad = n_bad; /* they will be read again */
	if (at)
		*size_ret = at;
	return false;
}

struct reel_error *reel_jitdump_parse(struct reel_jitdump *dump, const uint8_t *bytes, size_t size,
				      const struct reel_jitdump_visitor *visitor,
				      uint64_t *taken_ret)
{
	struct reel_error *error = NULL;
	uint64_t at = 0, taken;

	if (!dump->has_header)
		error = take_header(dump, bytes, size, &at);
	while (!error && dump->has_header && at < size) {
		size_t left = size - (size_t)at;

		if (!take_group(dump, bytes + at, left, visitor, &taken, &error)) {
			if (left < REEL_JITDUMP_ROOM)
				break;
			dump->n_bad++;
		}
		at += taken;
	}
	*taken_ret = at;
	return error;
}
