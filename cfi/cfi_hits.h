/* SPDX-License-Identifier: Apache-2.0 */
/* Which FDEs answered, and a .debug_frame with these alone. Internal to cfi*.c. */
#ifndef CFI_CFI_HITS_H
#define CFI_CFI_HITS_H

#include "cfi/cfi_entry.h"

struct cfi_hit {
	const struct cfi_data *data; /* its section */
	uint64_t offset;
};

struct cfi_hits {
	bool wanted;
	struct cfi_hit *all;
	size_t n, capacity;
	bool failed; /* there was no memory for one */
};

void reel_cfi_hits_add(struct cfi_hits *hits, const struct cfi_data *data, uint64_t offset);
void reel_cfi_hits_free(struct cfi_hits *hits);
/*
 * Each FDE once, in the order of sections and offsets, with plain addresses.  One that is malformed
 * stays so.  UNSUPPORTED if that takes more than `limit` bytes.
 */
struct reel_error *reel_cfi_hits_write(struct cfi_hits *hits, size_t limit,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
