/* SPDX-License-Identifier: Apache-2.0 */
/* Records which FDEs answered, and writes a .debug_frame with only these.  Internal to cfi*.c. */
#ifndef CFI_CFI_HITS_H
#define CFI_CFI_HITS_H

#include "cfi/cfi_entry.h"

struct cfi_hit {
	const struct cfi_data *data; /* its section, one of reel_cfi's */
	uint64_t offset;
};

struct cfi_hits {
	bool wanted;
	struct cfi_hit *all;
	size_t n, capacity;
	bool failed; /* memory ran out for an FDE */
};

void reel_cfi_hits_add(struct cfi_hits *hits, const struct cfi_data *data, uint64_t offset);
void reel_cfi_hits_free(struct cfi_hits *hits);
/*
 * Writes each FDE once, in the order of sections and offsets, with plain addresses.  A malformed
 * FDE stays malformed.  UNSUPPORTED if the result takes more than `limit` bytes.
 */
struct reel_error *reel_cfi_hits_write(struct cfi_hits *hits, size_t limit,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
