/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/usdt.h"

#include <string.h>

#define OWNER	  "stapsdt"
#define NOTE_TYPE 3

/* Each is a nop in the code: more are not from a compiler. */
#define NOTES_MAX 1000000

struct reader {
	struct reel_elf_file *file;
	uint64_t moved; /* since the notes were written, by prelink */
	void (*visit)(void *context, const struct reel_usdt *usdt);
	void *context;
};

static uint64_t word_at(const struct reader *reader, const uint8_t *at)
{
	return reel_load_target(at, reel_elf_file_word_bits(reader->file) / 8,
				reel_elf_file_big_endian(reader->file));
}

/* The string at *at, and *at after its NUL; NULL without a NUL. */
static const char *string_take(const uint8_t **at, const uint8_t *end)
{
	const char *string = (const char *)*at;
	const uint8_t *nul = memchr(*at, '\0', (size_t)(end - *at));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

/* pc, the address of .stapsdt.base at that time, the semaphore; three strings. */
static void description_read(const struct reader *reader, const uint8_t *at, size_t size)
{
	size_t word = reel_elf_file_word_bits(reader->file) / 8;
	const uint8_t *end = at + size;
	struct reel_segment segment;
	struct reel_usdt usdt = { 0 };
	uint64_t pc, semaphore, moved, base;

	if (size < 3 * word)
		return;
	pc = word_at(reader, at);
	base = word_at(reader, at + word);
	semaphore = word_at(reader, at + 2 * word);
	at += 3 * word;
	moved = reader->moved ? reader->moved - base : 0;
	usdt.provider = string_take(&at, end);
	usdt.name = usdt.provider ? string_take(&at, end) : NULL;
	usdt.arguments = usdt.name ? string_take(&at, end) : NULL;
	if (!usdt.arguments || !reel_elf_file_code_segment(reader->file, pc + moved, &segment))
		return;
	usdt.offset = pc + moved - segment.address + segment.offset;
	if (semaphore &&
	    !reel_elf_file_offset_of_address(reader->file, semaphore + moved, &usdt.semaphore))
		return;
	reader->visit(reader->context, &usdt);
}

static uint64_t aligned(uint64_t size)
{
	return (size + 3) & ~UINT64_C(3);
}

void reel_usdt_visit(struct reel_elf_file *file,
		     void (*visit)(void *context, const struct reel_usdt *usdt), void *context)
{
	struct reader reader = { .file = file, .visit = visit, .context = context };
	struct reel_loaded_bytes notes;
	struct reel_cursor cursor;

	if (!reel_elf_file_section(file, ".note.stapsdt", &notes))
		return;
	if (!reel_elf_file_section_address(file, ".stapsdt.base", &reader.moved))
		reader.moved = 0;
	cursor = reel_cursor(notes.bytes, notes.size);
	for (size_t i = 0; i < NOTES_MAX && reel_cursor_left(&cursor) >= 12; i++) {
		uint32_t head[3];
		const uint8_t *owner, *description;

		for (size_t word = 0; word < 3; word++) {
			const uint8_t *bytes = reel_cursor_take(&cursor, 4);

			head[word] = (uint32_t)reel_load_target(bytes, 4,
								reel_elf_file_big_endian(file));
		}
		owner = reel_cursor_take(&cursor, aligned(head[0]));
		description = owner ? reel_cursor_take(&cursor, aligned(head[1])) : NULL;
		if (!description)
			return;
		if (head[2] == NOTE_TYPE && head[0] == sizeof(OWNER) &&
		    !memcmp(owner, OWNER, sizeof(OWNER)))
			description_read(&reader, description, head[1]);
	}
}
