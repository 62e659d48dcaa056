/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an address's FDE by .eh_frame_hdr, or by a scan of the section.  Internal to cfi*.c. */
#ifndef CFI_CFI_INDEX_H
#define CFI_CFI_INDEX_H

#include "cfi/cfi_entry.h"

/* Addresses that belong to one FDE; segments are ascending and do not overlap. */
struct cfi_segment {
	uint64_t begin, end;
	uint64_t offset; /* of the FDE in its section */
};

struct cfi_index {
	struct cfi_segment *segments;
	size_t n;
};

/*
 * Reads a whole section.  FDEs may be in any order, be empty, be outside of [text_begin, text_end)
 * (ignored, if that range is not empty) and overlap: an address belongs to the FDE that begins
 * last.  The only error is NO_MEMORY.  There is room for `expected` FDEs from the beginning.
 */
struct reel_error *reel_cfi_index_build(const struct cfi_data *data, uint64_t text_begin,
					uint64_t text_end, size_t expected,
					struct cfi_index *ret) REEL_MUST_CHECK;
void reel_cfi_index_free(struct cfi_index *index);
/* The first segment that ends after `address`: it holds the address or begins after it.  `n` if
 * all end earlier. */
size_t reel_cfi_index_search(const struct cfi_index *index, uint64_t address);

/* .eh_frame_hdr (LSB Core 5.0, 10.6.2). */
struct cfi_header {
	struct cfi_data data;
	uint8_t encoding; /* of the table's pointers */
	unsigned pointer_size;
	const uint8_t *table;
	size_t n;
};

/* False, without entries, without a searchable table. */
bool reel_cfi_header_parse(const struct cfi_data *data, struct cfi_header *ret);

struct cfi_header_entry {
	uint64_t begin;
	uint64_t next; /* the next entry's begin; UINT64_MAX for the last entry */
	uint64_t fde;  /* its ELF address */
};

/*
 * The table's entry for `address`.  The FDE is unverified: the table may be wrong, and the FDE may
 * end before the address.
 */
bool reel_cfi_header_search(const struct cfi_header *header, uint64_t address,
			    struct cfi_header_entry *ret);

#endif
