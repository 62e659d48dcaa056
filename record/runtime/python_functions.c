/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that code objects are, by reading these and the objects that they lead to. */
#include <string.h>

#include "record/proc/proc.h"
#include "record/runtime/python.h"

/* Our fields of a code object, and of a text, are below. */
#define CODE_SIZE_MAX	     512
#define TEXT_HEADER_SIZE_MAX 128
/* A table of lines may be longer than REEL_RUNTIME_LINES_MAX and yet have few lines: in 3.10, one
 * of 25 KB of instructions has 84 KB. */
#define TABLE_SIZE_MAX (256u << 10)

enum known_type { TYPE_CODE, TYPE_STR, TYPE_BYTES, KNOWN_TYPES };

struct code_object {
	uint8_t bytes[CODE_SIZE_MAX];
	uint64_t file, name, lines;
	int32_t first_line;
};

struct reader {
	struct reel_runtime_reader base;
	struct python_layout layout;
	uint64_t types[KNOWN_TYPES]; /* addresses, once they are known */
	size_t code_size;
	uint8_t raw[TABLE_SIZE_MAX];
};

_Static_assert(sizeof(((struct reader *)NULL)->raw) >= 4 * REEL_RUNTIME_TEXT_MAX,
	       "the characters of a text have room");

static bool has_type(struct reader *reader, uint64_t object, uint64_t type, enum known_type known)
{
	static const char *const names[KNOWN_TYPES] = { "code", "str", "bytes" };

	if (!reader->types[known] && python_is_a(&reader->layout, object, names[known]))
		reader->types[known] = type;
	return type && reader->types[known] == type;
}

static uint64_t word_of(const struct reader *reader, const uint8_t *bytes, enum python_field field)
{
	uint64_t word;

	memcpy(&word, bytes + reader->layout.fields[field], sizeof(word));
	return word;
}

static bool set_code_size(struct reader *reader)
{
	static const enum python_field fields[] = { PYTHON_OBJECT_TYPE, PYTHON_CODE_FILE,
						    PYTHON_CODE_NAME,	PYTHON_CODE_QUALIFIED,
						    PYTHON_CODE_LINES,	PYTHON_CODE_FIRST_LINE };
	size_t end = python_identity(&reader->layout) + REEL_BPF_IDENTITY_SIZE;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint16_t offset = reader->layout.fields[fields[i]];

		if (offset != PYTHON_NO_FIELD && offset + sizeof(uint64_t) > end)
			end = offset + sizeof(uint64_t);
	}
	reader->code_size = end;
	return end <= CODE_SIZE_MAX;
}

/* ---- objects ------------------------------------------------------------------------------ */

/* UTF-8; a NUL, which the format does not have in texts, and half a surrogate pair become U+FFFD,
 * but for a byte of a file name that is not UTF-8, as os.fsdecode() escapes it. */
static void append_character(struct reel_buffer *text, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		reel_buffer_u8(text, (uint8_t)c);
		return;
	}
	if (!c || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		reel_buffer_u8(text, (uint8_t)c);
	} else if (c < 0x800) {
		reel_buffer_u8(text, (uint8_t)(0xc0 | c >> 6));
		reel_buffer_u8(text, 0x80 | (c & 63));
	} else {
		if (c < 0x10000) {
			reel_buffer_u8(text, (uint8_t)(0xe0 | c >> 12));
		} else {
			reel_buffer_u8(text, (uint8_t)(0xf0 | c >> 18));
			reel_buffer_u8(text, 0x80 | (c >> 12 & 63));
		}
		reel_buffer_u8(text, 0x80 | (c >> 6 & 63));
		reel_buffer_u8(text, 0x80 | (c & 63));
	}
}

static uint32_t character_of(const uint8_t *at, unsigned int kind)
{
	uint16_t two;
	uint32_t four;

	switch (kind) {
	case 1:
		return *at;
	case 2:
		memcpy(&two, at, sizeof(two));
		return two;
	default:
		memcpy(&four, at, sizeof(four));
		return four;
	}
}

/* A compact str: characters of 1, 2 or 4 bytes follow its header (PEP 393). */
static bool read_text(struct reader *reader, uint64_t object, struct reel_buffer *ret)
{
	const struct python_layout *layout = &reader->layout;
	uint16_t header = layout->fields[PYTHON_TEXT_ASCII_SIZE];
	/* The number of bits of `interned`, which precedes the others. */
	unsigned int shift = layout->is_free_threaded && layout->version >= 0x030e00 ? 8 : 2, kind;
	uint8_t bytes[TEXT_HEADER_SIZE_MAX];
	uint64_t length, data;
	uint32_t state;
	bool is_ascii;

	if (header > sizeof(bytes) ||
	    layout->fields[PYTHON_OBJECT_TYPE] + sizeof(uint64_t) > header ||
	    layout->fields[PYTHON_TEXT_LENGTH] + sizeof(length) > header ||
	    layout->fields[PYTHON_TEXT_STATE] + sizeof(state) > header ||
	    !reel_proc_memory(layout->pid, object, bytes, header) ||
	    !has_type(reader, object, word_of(reader, bytes, PYTHON_OBJECT_TYPE), TYPE_STR))
		return false;
	length = word_of(reader, bytes, PYTHON_TEXT_LENGTH);
	memcpy(&state, bytes + layout->fields[PYTHON_TEXT_STATE], sizeof(state));
	state >>= shift;
	kind = state & 7;
	is_ascii = state >> 4 & 1;
	if (!(state >> 3 & 1) || (kind != 1 && kind != 2 && kind != 4) || (is_ascii && kind != 1) ||
	    length > REEL_RUNTIME_TEXT_MAX)
		return false;
	/* PyUnicodeObject is a PyCompactUnicodeObject and a pointer. */
	data = object +
	       (is_ascii ? header : layout->fields[PYTHON_TEXT_SIZE] - (unsigned int)sizeof(data));
	if (length && !reel_proc_memory(layout->pid, data, reader->raw, length * kind))
		return false;
	for (uint64_t i = 0; i < length; i++)
		append_character(ret, character_of(reader->raw + i * kind, kind));
	return ret->size <= REEL_RUNTIME_TEXT_MAX;
}

static uint64_t first_line_of(const struct code_object *code)
{
	return code->first_line > 0 ? (uint64_t)code->first_line : 0;
}

/* A table of lines; an empty one if it is too long. */
static bool read_lines(struct reader *reader, const struct code_object *code)
{
	const struct python_layout *layout = &reader->layout;
	struct reel_bytes table = { reader->raw, 0 };
	uint64_t type, length;

	if (!python_read(layout, code->lines, PYTHON_OBJECT_TYPE, &type, sizeof(type)) ||
	    !has_type(reader, code->lines, type, TYPE_BYTES) ||
	    !python_read(layout, code->lines, PYTHON_BYTES_LENGTH, &length, sizeof(length)) ||
	    length > INT64_MAX)
		return false;
	if (length > sizeof(reader->raw))
		return true;
	if (length && !python_read(layout, code->lines, PYTHON_BYTES_DATA, reader->raw, length))
		return false;
	table.size = length;
	python_lines_write(layout->version, table, first_line_of(code),
			   layout->fields[PYTHON_CODE_CODE], &reader->base.lines);
	return true;
}

/*
 * Whether an object has not been freed: the allocator (Objects/obmalloc.c, and malloc) leaves most
 * of it as it was, but puts the address of the next free one, or 0, where its count of references
 * was.  That is below 2^32; in 3.14 flags follow in its upper 16 bits.
 */
static bool is_alive(const struct reader *reader, const uint8_t *bytes)
{
	uint64_t count;

	if (reader->layout.is_free_threaded)
		return true;
	memcpy(&count, bytes, sizeof(count));
	return count && !(count >> 32 & 0xffff);
}

static bool read_code(struct reader *reader, const struct reel_runtime_code *wanted,
		      struct code_object *ret)
{
	const uint16_t *fields = reader->layout.fields;
	__u64 words[REEL_BPF_IDENTITY_SIZE / 8];
	bool has_qualified = fields[PYTHON_CODE_QUALIFIED] != PYTHON_NO_FIELD;

	if (!reel_proc_memory(reader->layout.pid, wanted->address, ret->bytes, reader->code_size))
		return false;
	memcpy(words, ret->bytes + python_identity(&reader->layout), sizeof(words));
	if (reel_bpf_identity(words) != wanted->identity || !is_alive(reader, ret->bytes) ||
	    !has_type(reader, wanted->address, word_of(reader, ret->bytes, PYTHON_OBJECT_TYPE),
		      TYPE_CODE))
		return false;
	ret->file = word_of(reader, ret->bytes, PYTHON_CODE_FILE);
	ret->name = word_of(reader, ret->bytes,
			    has_qualified ? PYTHON_CODE_QUALIFIED : PYTHON_CODE_NAME);
	ret->lines = word_of(reader, ret->bytes, PYTHON_CODE_LINES);
	memcpy(&ret->first_line, ret->bytes + fields[PYTHON_CODE_FIRST_LINE],
	       sizeof(ret->first_line));
	return true;
}

/* Reads the code object again at the end: if it changed, the texts may belong to another object. */
static bool read_function(struct reel_runtime_reader *base, const struct reel_runtime_code *wanted,
			  uint64_t *line_ret)
{
	struct reader *reader = (struct reader *)base;
	struct code_object code, again;

	if (!read_code(reader, wanted, &code) || !read_text(reader, code.name, &base->name) ||
	    !base->name.size || !read_text(reader, code.file, &base->file) ||
	    !read_lines(reader, &code) || !read_code(reader, wanted, &again) ||
	    again.file != code.file || again.name != code.name || again.lines != code.lines ||
	    again.first_line != code.first_line)
		return false;
	*line_ret = first_line_of(&code);
	return true;
}

static bool reader_init(struct reel_runtime_reader *base)
{
	struct reader *reader = (struct reader *)base;

	return python_layout_find(base->pid, base->place, &reader->layout) == REEL_RUNTIME_FOUND &&
	       set_code_size(reader);
}

const struct reel_runtime python_runtime = {
	.id = REEL_RUNTIME_PYTHON,
	.locate = python_locate,
	.is_valid = python_is_valid,
	.reader_size = sizeof(struct reader),
	.reader_init = reader_init,
	.read_function = read_function,
};
