/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "cfi/cfi_index.h"
#include "base/dwarf_cursor.h"

/* ---- .eh_frame_hdr ---------------------------------------------------------------- */

bool reel_cfi_header_parse(const struct cfi_data *data, struct cfi_header *ret)
{
	struct reel_cursor cursor = reel_cursor(data->section.bytes, data->section.size);
	uint8_t version, frame_encoding, count_encoding;
	uint64_t ignored, count;
	size_t fits;

	*ret = (struct cfi_header){ .data = *data };
	if (!data->section.size)
		return false;
	/* Here DW_EH_PE_datarel means relative to the header's own address. */
	ret->data.data_base = data->section.address;
	version = reel_cursor_u8(&cursor);
	frame_encoding = reel_cursor_u8(&cursor);
	count_encoding = reel_cursor_u8(&cursor);
	ret->encoding = reel_cursor_u8(&cursor);
	ret->pointer_size = reel_cfi_pointer_size(data, ret->encoding);
	if (version != 1 || !ret->pointer_size ||
	    !reel_cfi_pointer(&ret->data, &cursor, frame_encoding, &ignored) ||
	    !reel_cfi_pointer(&ret->data, &cursor, count_encoding, &count))
		return false;
	fits = reel_cursor_left(&cursor) / (2 * ret->pointer_size);
	ret->table = cursor.at;
	ret->n = count < fits ? (size_t)count : fits;
	return ret->n > 0;
}

/* Used by almost all tables: 4-byte numbers, relative to the header. */
#define PE_DATAREL_SDATA4 0x3b

/* Pointer 0 (the function's begin) or 1 (its FDE) of an entry. */
static bool header_pointer(const struct cfi_header *header, size_t entry, unsigned which,
			   uint64_t *ret)
{
	struct reel_cursor cursor =
		reel_cursor(header->table, header->n * 2 * header->pointer_size);

	if (header->encoding == PE_DATAREL_SDATA4) {
		const uint8_t *at = header->table + (2 * entry + which) * 4;
		uint64_t value = reel_load_target(at, 4, header->data.big_endian);

		*ret = reel_sign_extend(value, 32) + header->data.data_base;
		if (header->data.arch->word_size == 4)
			*ret &= UINT32_MAX;
		return true;
	}
	reel_cursor_take(&cursor, (2 * entry + which) * header->pointer_size);
	return reel_cfi_pointer(&header->data, &cursor, header->encoding, ret);
}

bool reel_cfi_header_search(const struct cfi_header *header, uint64_t address,
			    struct cfi_header_entry *ret)
{
	size_t low = 0, high = header->n;

	/*
	 * Entries below `low` begin at or before the address, those from `high` on after it.  If
	 * the table is not sorted, no later step may widen a range narrowed by an earlier one: an
	 * address outside would have taken a different path.
	 */
	ret->begin = 0;
	ret->next = UINT64_MAX;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t begin;

		if (!header_pointer(header, middle, 0, &begin))
			return false;
		if (begin <= address) {
			low = middle + 1;
			if (ret->begin < begin)
				ret->begin = begin;
		} else {
			high = middle;
			if (ret->next > begin)
				ret->next = begin;
		}
	}
	return low && header_pointer(header, low - 1, 1, &ret->fde);
}

/* ---- the scan ---------------------------------------------------------------------- */

struct scan {
	const struct cfi_data *data;
	uint64_t text_begin, text_end;
	struct cfi_segment *found;
	size_t n, capacity;
	/* Consecutive FDEs usually have the same CIE. */
	bool has_cie;
	uint64_t cie_offset;
	struct cfi_cie cie;
};

static struct reel_error *add_segment(struct cfi_segment **segments, size_t *n, size_t *capacity,
				      struct cfi_segment segment)
{
	if (!reel_array_reserve(segments, *n, capacity, sizeof(**segments)))
		return reel_error_no_memory();
	(*segments)[(*n)++] = segment;
	return NULL;
}

/* The address range of an FDE; false if no part of it is in the text. */
static bool clip_to_text(const struct scan *scan, const struct cfi_fde *fde,
			 struct cfi_segment *ret)
{
	ret->begin = fde->begin;
	if (!fde->size || __builtin_add_overflow(fde->begin, fde->size, &ret->end))
		return false;
	if (scan->text_begin == scan->text_end)
		return true;
	/* A linker leaves the FDEs of removed sections at address 0, and the ELF header is there.
	 */
	if (!fde->begin || fde->begin < scan->text_begin || fde->begin >= scan->text_end)
		return false;
	if (ret->end > scan->text_end)
		ret->end = scan->text_end;
	return true;
}

static struct reel_error *scan_fde(struct scan *scan, const struct cfi_entry *entry)
{
	struct cfi_segment segment = { .offset = entry->offset };
	struct cfi_fde fde;

	if (!scan->has_cie || scan->cie_offset != entry->cie_offset) {
		/* A malformed FDE is reported when one of its rows is looked up. */
		reel_cfi_cie_parse(scan->data, entry->cie_offset, &scan->cie);
		scan->cie_offset = entry->cie_offset;
		scan->has_cie = true;
	}
	reel_cfi_fde_parse(scan->data, entry, &scan->cie, &fde);
	if (!clip_to_text(scan, &fde, &segment))
		return NULL;
	return add_segment(&scan->found, &scan->n, &scan->capacity, segment);
}

static struct reel_error *scan_section(struct scan *scan)
{
	enum cfi_entry_found found;
	struct cfi_entry entry;
	uint64_t offset = 0;

	/* Continue past terminators: a linker that merges sections can leave some in the middle. */
	for (;;) {
		found = reel_cfi_entry_at(scan->data, offset, &entry);
		if (found == CFI_ENTRY_END)
			return NULL;
		if (found == CFI_ENTRY_FOUND && !entry.is_cie) {
			struct reel_error *error = scan_fde(scan, &entry);

			if (error)
				return error;
		}
		offset = entry.next;
	}
}

/* By begin; among equal begins the longest first, then the last in the section: later ones win. */
static int compare_segments(const void *a, const void *b)
{
	const struct cfi_segment *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->offset > y->offset ? -1 : x->offset < y->offset;
}

/*
 * Makes overlapping segments disjoint: each address keeps the segment that began last and has not
 * ended.  `open` is a stack of the segments that began earlier.
 */
struct flatten {
	struct cfi_segment *open;
	size_t n_open, open_capacity;
	struct cfi_segment *out;
	size_t n, capacity;
	uint64_t at; /* everything below is finished */
};

static struct reel_error *flatten_until(struct flatten *f, uint64_t limit)
{
	while (f->n_open && f->at < limit) {
		struct cfi_segment top = f->open[f->n_open - 1];
		struct reel_error *error;
		uint64_t end = top.end < limit ? top.end : limit;

		if (top.end <= limit)
			f->n_open--;
		if (top.end <= f->at)
			continue;
		error = add_segment(&f->out, &f->n, &f->capacity,
				    (struct cfi_segment){ f->at, end, top.offset });
		if (error)
			return error;
		f->at = end;
	}
	f->at = limit;
	return NULL;
}

static struct reel_error *flatten(const struct cfi_segment *sorted, size_t n, struct flatten *f)
{
	for (size_t i = 0; i < n; i++) {
		struct reel_error *error = flatten_until(f, sorted[i].begin);

		if (!error)
			error = add_segment(&f->open, &f->n_open, &f->open_capacity, sorted[i]);
		if (error)
			return error;
	}
	return flatten_until(f, UINT64_MAX);
}

static bool in_order(const struct cfi_segment *segments, size_t n, bool disjoint)
{
	for (size_t i = 1; i < n; i++) {
		if (disjoint ? segments[i].begin < segments[i - 1].end
			     : compare_segments(&segments[i - 1], &segments[i]) > 0)
			return false;
	}
	return true;
}

struct reel_error *reel_cfi_index_build(const struct cfi_data *data, uint64_t text_begin,
					uint64_t text_end, size_t expected, struct cfi_index *ret)
{
	struct scan scan = { .data = data, .text_begin = text_begin, .text_end = text_end };
	struct flatten f = { 0 };
	struct reel_error *error;

	*ret = (struct cfi_index){ 0 };
	if (expected) {
		scan.found = calloc(expected, sizeof(*scan.found));
		scan.capacity = scan.found ? expected : 0;
	}
	error = scan_section(&scan);
	if (error) {
		free(scan.found);
		return error;
	}
	if (!in_order(scan.found, scan.n, false))
		qsort(scan.found, scan.n, sizeof(*scan.found), compare_segments);
	if (in_order(scan.found, scan.n, true)) {
		*ret = (struct cfi_index){ scan.found, scan.n };
		return NULL;
	}
	error = flatten(scan.found, scan.n, &f);
	free(scan.found);
	free(f.open);
	if (error)
		free(f.out);
	else
		*ret = (struct cfi_index){ f.out, f.n };
	return error;
}

void reel_cfi_index_free(struct cfi_index *index)
{
	free(index->segments);
	*index = (struct cfi_index){ 0 };
}

size_t reel_cfi_index_search(const struct cfi_index *index, uint64_t address)
{
	size_t low = REEL_PARTITION_POINT(index->n, i, index->segments[i].end <= address);

	return low;
}
