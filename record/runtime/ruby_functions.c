/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of Ruby's code objects (iseqs) and of the methods that are C functions. */
#include <string.h>

#include "record/proc/proc.h"
#include "record/runtime/ruby.h"

/* enum ruby_value_type, enum ruby_fl_type, enum imemo_type (ruby_offsets.sh checks these). */
#define TYPE_MASK      0x1f
#define TYPE_STRING    5
#define TYPE_ARRAY     7
#define TYPE_MEMO      0x1a
#define MEMO_SHIFT     12
#define MEMO_MASK      0xf
#define MEMO_METHOD    6
#define MEMO_CODE      7
#define STRING_OUTSIDE (1u << 13) /* RSTRING_NOEMBED */
#define ARRAY_EMBEDDED (1u << 13)
/* Up to 3.1, the length of a short string is in its flags. */
#define STRING_SHIFT 14
#define STRING_MASK  31

/* struct RArray. */
#define ARRAY_DATA    16
#define ARRAY_POINTER 32

/* Numbers of names (symbol.c): ID_ENTRY_UNIT entries of a name and a symbol in an array. */
#define ID_UNIT	      512
#define ID_SCOPE_BITS 4
#define ID_STATIC     1

#define BODY_SIZE_MAX 512
/* Instructions and lines of one function. */
#define POSITIONS_MAX (1u << 17)
#define LINES_MAX     (1u << 15)
/* Data of the file that has the table of names. */
#define DATA_MAX (4u << 20)

/* struct succ_index_table: a sum for each of the first 54 positions, then blocks of 512 bits. */
#define DIRECT_WORDS	 6
#define DIRECT_PER_WORD	 9
#define DIRECT_POSITIONS (DIRECT_WORDS * DIRECT_PER_WORD)
#define BLOCK_BITS	 512
#define BLOCK_WORDS	 10 /* rank, small_block_ranks, bits */

struct reader {
	struct reel_runtime_reader base;
	const uint16_t *fields;
	uint64_t names; /* the array of all names; 0: not found */
	bool has_searched;
	uint8_t body[BODY_SIZE_MAX];
	uint32_t positions[LINES_MAX];
	uint8_t entries[LINES_MAX * 16];
};

static bool read_word(const struct reader *reader, uint64_t at, uint64_t *ret)
{
	return !(at & 7) && reel_proc_memory(reader->base.pid, at, ret, sizeof(*ret));
}

static uint64_t body_word(const struct reader *reader, enum ruby_field field)
{
	uint64_t word;

	memcpy(&word, reader->body + reader->fields[field], sizeof(word));
	return word;
}

/* ---- objects ------------------------------------------------------------------------------ */

static bool read_text(const struct reader *reader, uint64_t object, struct reel_buffer *ret)
{
	const uint16_t *fields = reader->fields;
	uint64_t flags, length, data = object + fields[RUBY_STRING_EMBEDDED];
	uint8_t text[REEL_RUNTIME_TEXT_MAX];

	ret->size = 0;
	if (!object || !read_word(reader, object, &flags) || (flags & TYPE_MASK) != TYPE_STRING)
		return false;
	if (!(flags & STRING_OUTSIDE) && reader->base.place->version < 0x030200)
		length = flags >> STRING_SHIFT & STRING_MASK;
	else if (!read_word(reader, object + fields[RUBY_STRING_LENGTH], &length))
		return false;
	if (flags & STRING_OUTSIDE &&
	    !read_word(reader, object + fields[RUBY_STRING_POINTER], &data))
		return false;
	if (!length || length > sizeof(text) ||
	    !reel_proc_memory(reader->base.pid, data, text, length))
		return false;
	/* The format has no NUL in texts. */
	for (uint64_t i = 0; i < length; i++)
		reel_buffer_u8(ret, text[i] ? text[i] : '?');
	return true;
}

/* An element of an array; false if it has fewer. */
static bool read_element(const struct reader *reader, uint64_t array, uint64_t index, uint64_t *ret)
{
	uint64_t flags, length, data = array + ARRAY_DATA;

	if (!array || !read_word(reader, array, &flags) || (flags & TYPE_MASK) != TYPE_ARRAY)
		return false;
	if (flags & ARRAY_EMBEDDED)
		length = flags >> 15 & (reader->base.place->version < 0x030200 ? 3 : 127);
	else if (!read_word(reader, array + ARRAY_DATA, &length) ||
		 !read_word(reader, array + ARRAY_POINTER, &data))
		return false;
	return index < length && read_word(reader, data + 8 * index, ret);
}

/* ---- names of methods --------------------------------------------------------------------- */

static bool read_name(const struct reader *reader, uint64_t names, uint64_t serial,
		      struct reel_buffer *ret)
{
	uint64_t unit, text;

	return read_element(reader, names, serial / ID_UNIT, &unit) &&
	       read_element(reader, unit, serial % ID_UNIT * 2, &text) &&
	       read_text(reader, text, ret);
}

/* Operators of one character have its code as their number, which no other array has. */
static bool is_table_of_names(struct reader *reader, uint64_t names)
{
	static const char operators[] = "!%&*+-/<>^`|~";

	for (const char *c = operators; *c; c++) {
		if (!read_name(reader, names, (uint8_t)*c, &reader->base.name) ||
		    reader->base.name.size != 1 || reader->base.name.bytes[0] != (uint8_t)*c)
			return false;
	}
	return true;
}

/* ruby_global_symbols has no symbol of its own in the file, whose data is searched for it. Where it
 * was found last is tried first, as questions about one process follow each other. */
static void find_names(struct reader *reader)
{
	const struct reel_runtime_place *place = reader->base.place;
	uint64_t end = place->at + (place->size < DATA_MAX ? place->size : DATA_MAX), words[512];
	static uint64_t last;

	reader->has_searched = true;
	if (last && is_table_of_names(reader, last))
		reader->names = last;
	for (uint64_t at = place->at & ~7ull; at < end && !reader->names; at += sizeof(words)) {
		size_t size = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);

		if (!reel_proc_memory(reader->base.pid, at, words, size))
			continue;
		for (size_t i = 0; i < size / 8 && !reader->names; i++) {
			if (words[i] && !(words[i] & 7) && words[i] - place->at >= place->size &&
			    is_table_of_names(reader, words[i]))
				reader->names = last = words[i];
		}
	}
}

static bool read_method(struct reader *reader, uint64_t method)
{
	uint64_t definition, id;
	bool is_operator;

	if (!read_word(reader, method + reader->fields[RUBY_METHOD_DEFINITION], &definition) ||
	    !read_word(reader, definition + reader->fields[RUBY_DEFINITION_ID], &id))
		return false;
	is_operator = id <= reader->fields[RUBY_LAST_OPERATOR];
	/* Names that define_method made of texts at run time are not in the table. */
	if (!is_operator && !(id & ID_STATIC))
		return false;
	if (!reader->has_searched)
		find_names(reader);
	if (!reader->names ||
	    !read_name(reader, reader->names, is_operator ? id : id >> ID_SCOPE_BITS,
		       &reader->base.name))
		return false;
	reel_buffer_append(&reader->base.file, "<cfunc>", 7);
	return true;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Positions whose bit is set, in ascending order: where an entry of the lines begins. */
static bool read_positions(struct reader *reader, uint64_t table, uint32_t n_instructions,
			   uint32_t count)
{
	uint64_t words[DIRECT_WORDS] = { 0 }, block[BLOCK_WORDS];
	uint32_t n = 0, sum = 0;
	/* Blocks are before the first direct words that are not needed. */
	uint32_t n_words = n_instructions < DIRECT_POSITIONS
				   ? (n_instructions + 8) / DIRECT_PER_WORD
				   : DIRECT_WORDS;

	if (n_words > DIRECT_WORDS ||
	    !reel_proc_memory(reader->base.pid, table, words, 8 * n_words))
		return false;
	for (uint32_t i = 0; i < n_words * DIRECT_PER_WORD && n < count; i++) {
		uint32_t next = words[i / DIRECT_PER_WORD] >> i % DIRECT_PER_WORD * 7 & 127;

		if (next > sum + 1 || next < sum)
			return false;
		if (next > sum)
			reader->positions[n++] = i;
		sum = next;
	}
	for (uint32_t at = DIRECT_POSITIONS; at < n_instructions && n < count; at += BLOCK_BITS) {
		uint64_t place = table + sizeof(words) +
				 (uint64_t)(at - DIRECT_POSITIONS) / BLOCK_BITS * sizeof(block);

		if (!reel_proc_memory(reader->base.pid, place, block, sizeof(block)) ||
		    (uint32_t)block[0] != n)
			return false;
		for (uint32_t i = 0; i < BLOCK_BITS && n < count; i++) {
			if (block[2 + i / 64] >> i % 64 & 1)
				reader->positions[n++] = at + i;
		}
	}
	return n == count;
}

/* A frame's pc points at its next instruction: a position is reached one word later. */
static bool read_lines(struct reader *reader, uint64_t first_line)
{
	uint16_t size = reader->fields[RUBY_LINE_SIZE];
	uint32_t count = (uint32_t)body_word(reader, RUBY_BODY_LINES_COUNT), n_instructions;
	uint64_t position = 0, line = first_line;

	memcpy(&n_instructions, reader->body + reader->fields[RUBY_BODY_SIZE],
	       sizeof(n_instructions));
	/* Longer lines are left out. */
	if (!count || count > LINES_MAX || n_instructions > POSITIONS_MAX || size > 16)
		return true;
	if (!reel_proc_memory(reader->base.pid, body_word(reader, RUBY_BODY_LINES), reader->entries,
			      (size_t)count * size))
		return false;
	if (count == 1)
		reader->positions[0] = 0;
	else if (!read_positions(reader, body_word(reader, RUBY_BODY_LINES_INDEX), n_instructions,
				 count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t next = reader->positions[i] ? 8 * ((uint64_t)reader->positions[i] + 1) : 0;
		int32_t number;

		memcpy(&number, reader->entries + (size_t)i * size, sizeof(number));
		if (number < 0)
			number = 0;
		reel_buffer_uleb(&reader->base.lines, next - position);
		reel_buffer_zigzag(&reader->base.lines, (int64_t)((uint64_t)number - line));
		position = next;
		line = (uint64_t)number;
	}
	return true;
}

/* ---- code --------------------------------------------------------------------------------- */

static bool read_code(struct reader *reader, uint64_t *line_ret)
{
	uint64_t file = body_word(reader, RUBY_BODY_FILE), path;

	memcpy(line_ret, reader->body + reader->fields[RUBY_BODY_FIRST_LINE], sizeof(*line_ret));
	/* A Fixnum up to 3.1. */
	*line_ret = reader->base.place->version < 0x030200 ? *line_ret >> 1 : (uint32_t)*line_ret;
	if (*line_ret > INT32_MAX)
		*line_ret = 0;
	/* A path, or an array of that and the real path. */
	if (read_element(reader, file, 0, &path))
		file = path;
	return read_text(reader, body_word(reader, RUBY_BODY_NAME), &reader->base.name) &&
	       read_text(reader, file, &reader->base.file) && read_lines(reader, *line_ret);
}

/* Whether the object is what BPF saw; of code, with its body. */
static bool is_same(struct reader *reader, const struct reel_runtime_code *wanted,
		    uint64_t *memo_ret)
{
	__u64 identity[REEL_BPF_IDENTITY_SIZE / 8];
	uint64_t flags, body;

	if (!read_word(reader, wanted->address, &flags) || (flags & TYPE_MASK) != TYPE_MEMO)
		return false;
	*memo_ret = flags >> MEMO_SHIFT & MEMO_MASK;
	if (*memo_ret == MEMO_METHOD) {
		if (!reel_proc_memory(reader->base.pid,
				      wanted->address + reader->fields[RUBY_METHOD_CLASS], identity,
				      sizeof(identity)))
			return false;
	} else {
		if (*memo_ret != MEMO_CODE ||
		    !read_word(reader, wanted->address + reader->fields[RUBY_CODE_BODY], &body) ||
		    !reel_proc_memory(reader->base.pid, body, reader->body,
				      reader->fields[RUBY_BODY_LINES_INDEX] + 8u))
			return false;
		memcpy(identity, reader->body + reader->fields[RUBY_BODY_FILE], sizeof(identity));
	}
	return reel_bpf_identity(identity) == wanted->identity;
}

static bool read_function(struct reel_runtime_reader *base, const struct reel_runtime_code *wanted,
			  uint64_t *line_ret)
{
	struct reader *reader = (struct reader *)base;
	uint64_t memo, again;

	return is_same(reader, wanted, &memo) &&
	       (memo == MEMO_CODE ? read_code(reader, line_ret)
				  : read_method(reader, wanted->address)) &&
	       is_same(reader, wanted, &again) && again == memo;
}

static bool reader_init(struct reel_runtime_reader *base)
{
	struct reader *reader = (struct reader *)base;

	reader->fields = ruby_fields_of(base->place->version);
	return reader->fields != NULL;
}

const struct reel_runtime ruby_runtime = {
	.id = REEL_RUNTIME_RUBY,
	.natives_follow = true,
	.locate = ruby_locate,
	.is_valid = ruby_is_valid,
	.reader_size = sizeof(struct reader),
	.reader_init = reader_init,
	.read_function = read_function,
};
