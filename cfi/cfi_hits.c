/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "cfi/cfi_hits.h"
#include "cfi/frame_writer.h"

/* DW_EH_PE_udata2: the shortest pointer, for a personality routine whose address is omitted. */
#define PERSONALITY_ENCODING 0x02

/* A .debug_frame being written. */
struct hits_writer {
	struct frame_writer frames;
	/* Offsets and sizes of CIEs: many are equal. */
	struct cie_place {
		size_t offset, size;
	} * cies;
	size_t n_cies, capacity;
};

void reel_cfi_hits_add(struct cfi_hits *hits, const struct cfi_data *data, uint64_t offset)
{
	struct cfi_hit hit = { data, offset };
	const struct cfi_hit *last = hits->n ? &hits->all[hits->n - 1] : NULL;

	if (!hits->wanted || (last && last->data == data && last->offset == offset))
		return;
	if (!reel_array_reserve(&hits->all, hits->n, &hits->capacity, sizeof(*hits->all)))
		hits->failed = true;
	else
		hits->all[hits->n++] = hit;
}

void reel_cfi_hits_free(struct cfi_hits *hits)
{
	free(hits->all);
	*hits = (struct cfi_hits){ 0 };
}

/* ---- writing ----------------------------------------------------------------------------- */

static void put_augmentation(struct hits_writer *writer, const struct cfi_cie *cie)
{
	static const char *const texts[] = { "", "zS", "zP", "zPS" };
	const char *text = texts[cie->signal_frame + 2 * cie->has_personality];

	reel_buffer_append(writer->frames.out, text, strlen(text) + 1);
}

static void put_augmentation_data(struct hits_writer *writer, const struct cfi_cie *cie)
{
	if (!cie->signal_frame && !cie->has_personality)
		return;
	reel_buffer_uleb(writer->frames.out, cie->has_personality ? 3 : 0);
	if (cie->has_personality) {
		reel_buffer_u8(writer->frames.out, PERSONALITY_ENCODING);
		reel_frame_put(&writer->frames, 2, 0);
	}
}

static bool is_alike(const struct hits_writer *writer, const struct cie_place *a,
		     const struct cie_place *b)
{
	const uint8_t *bytes = writer->frames.out->bytes;

	return a->size == b->size && !memcmp(bytes + a->offset, bytes + b->offset, a->size);
}

/* The offset of an equal CIE; writes the CIE if none is equal. */
static size_t put_cie(struct hits_writer *writer, const struct cfi_cie *cie)
{
	struct cie_place place = { .offset = writer->frames.out->size };

	reel_frame_begin_entry(&writer->frames, UINT32_MAX);
	reel_buffer_u8(writer->frames.out, FRAME_CIE_VERSION);
	put_augmentation(writer, cie);
	reel_buffer_uleb(writer->frames.out, cie->code_align);
	reel_frame_put_sleb(&writer->frames, cie->data_align);
	reel_buffer_uleb(writer->frames.out, cie->return_column);
	put_augmentation_data(writer, cie);
	reel_buffer_append(writer->frames.out, cie->program, cie->program_size);
	reel_frame_end_entry(&writer->frames, place.offset);
	place.size = writer->frames.out->size - place.offset;
	for (size_t i = 0; i < writer->n_cies && !writer->frames.out->failed; i++) {
		if (is_alike(writer, &writer->cies[i], &place)) {
			writer->frames.out->size = place.offset;
			return writer->cies[i].offset;
		}
	}
	if (!reel_array_reserve(&writer->cies, writer->n_cies, &writer->capacity,
				sizeof(*writer->cies)))
		writer->frames.out->failed = true;
	else
		writer->cies[writer->n_cies++] = place;
	return place.offset;
}

/*
 * Operands of instructions whose two high bits are 0 (DWARF 5, 7.24, and vendors'): a an address, u
 * LEB128, b a block, a digit that many bytes.  NULL: undefined.
 */
static const char *const operands[0x40] = {
	[0x00] = "",   [0x01] = "a", [0x02] = "1",  [0x03] = "2",  [0x04] = "4",  [0x05] = "uu",
	[0x06] = "u",  [0x07] = "u", [0x08] = "u",  [0x09] = "uu", [0x0a] = "",	  [0x0b] = "",
	[0x0c] = "uu", [0x0d] = "u", [0x0e] = "u",  [0x0f] = "b",  [0x10] = "ub", [0x11] = "uu",
	[0x12] = "uu", [0x13] = "u", [0x14] = "uu", [0x15] = "uu", [0x16] = "ub", [0x1d] = "8",
	[0x2c] = "",   [0x2d] = "",  [0x2e] = "u",  [0x2f] = "uu",
};

static void skip_operand(struct reel_cursor *code, char kind)
{
	if (kind == 'u')
		reel_cursor_uleb(code);
	else if (kind == 'b')
		reel_cursor_take(code, reel_cursor_uleb(code));
	else
		reel_cursor_take(code, (uint64_t)(kind - '0'));
}

/*
 * Copies the program, except the address of a DW_CFA_set_loc, which .eh_frame encodes, mostly
 * relative to its own place.  From an unreadable instruction on, the copy is unreadable as well.
 */
static void put_program(struct hits_writer *writer, const struct cfi_data *data,
			const struct cfi_fde *fde)
{
	struct reel_cursor code = reel_cursor(fde->program, fde->program_size);
	const uint8_t *copied = fde->program;

	while (data->is_eh && reel_cursor_left(&code) && !code.failed) {
		uint8_t op = reel_cursor_u8(&code);
		const char *kinds = op & 0xc0 ? (op & 0xc0) == 0x80 ? "u" : "" : operands[op];
		uint64_t address;

		if (!kinds)
			break;
		for (; *kinds && *kinds != 'a'; kinds++)
			skip_operand(&code, *kinds);
		if (!*kinds)
			continue;
		reel_buffer_append(writer->frames.out, copied, (size_t)(code.at - copied));
		copied = code.at;
		if (!reel_cfi_pointer(data, &code, fde->cie.fde_encoding, &address)) {
			reel_buffer_u8(writer->frames.out, FRAME_MALFORMED);
			return;
		}
		reel_frame_put(&writer->frames, writer->frames.word, address);
		copied = code.at;
	}
	reel_buffer_append(writer->frames.out, copied,
			   (size_t)(fde->program + fde->program_size - copied));
}

static void put_fde(struct hits_writer *writer, const struct cfi_hit *hit)
{
	const char *problem;
	struct cfi_fde fde;
	size_t cie, begin;

	problem = reel_cfi_fde_at(hit->data, hit->offset, &fde);
	if (problem)
		fde.cie = (struct cfi_cie){ .code_align = 1, .data_align = 1 };
	cie = put_cie(writer, &fde.cie);
	begin = reel_frame_begin_entry(&writer->frames, (uint32_t)cie);
	reel_frame_put(&writer->frames, writer->frames.word, fde.begin);
	reel_frame_put(&writer->frames, writer->frames.word, fde.size);
	if (fde.cie.signal_frame || fde.cie.has_personality)
		reel_buffer_uleb(writer->frames.out, 0);
	if (problem)
		reel_buffer_u8(writer->frames.out, FRAME_MALFORMED);
	else
		put_program(writer, hit->data, &fde);
	reel_frame_end_entry(&writer->frames, begin);
}

static int compare_hits(const void *a, const void *b)
{
	const struct cfi_hit *x = a, *y = b;

	/* They are in one array, in the order of look-ups. */
	if (x->data != y->data)
		return x->data < y->data ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

struct reel_error *reel_cfi_hits_write(struct cfi_hits *hits, size_t limit, struct reel_buffer *ret)
{
	struct hits_writer writer = { .frames.out = ret };

	if (hits->n)
		qsort(hits->all, hits->n, sizeof(*hits->all), compare_hits);
	for (size_t i = 0; i < hits->n && ret->size <= limit && !ret->failed; i++) {
		const struct cfi_hit *hit = &hits->all[i];

		if (i && !compare_hits(hit, hit - 1))
			continue;
		writer.frames.big_endian = hit->data->big_endian;
		writer.frames.word = hit->data->arch->word_size;
		put_fde(&writer, hit);
	}
	free(writer.cies);
	if (hits->failed || ret->failed)
		return reel_error_no_memory();
	return ret->size <= limit
		       ? NULL
		       : reel_error_create(REEL_ERROR_UNSUPPORTED,
					   "unwind information exceeds %zu bytes", limit);
}
