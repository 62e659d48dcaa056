/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses, each asked for once: (module, address) -> the chain of
 * interned frames, inlined ones first.
 */
#ifndef REPLAY_FRAME_TABLE_H
#define REPLAY_FRAME_TABLE_H

#include "replay/code_map.h"
#include "replay/kernel_symbols.h"

struct reel_frame_table;

struct reel_frame_chain {
	const struct reel_frame *const *frames;
	size_t n;
};

/* Both are borrowed. */
struct reel_error *reel_frame_table_create(struct reel_texts *texts,
					   struct reel_kernel_symbols *kernel,
					   struct reel_frame_table **ret) REEL_MUST_CHECK;
void reel_frame_table_destroy(struct reel_frame_table *table);

/*
 * The chain at a runtime address in `range`.  `lookup` is the address that
 * decides which function it is: the same, or one less for a return address.
 */
struct reel_error *reel_frame_table_user(struct reel_frame_table *table,
					 const struct reel_code_range *range, uint64_t address,
					 uint64_t lookup,
					 struct reel_frame_chain *ret) REEL_MUST_CHECK;
/* The chain (of one frame) at a kernel address. */
struct reel_error *reel_frame_table_kernel(struct reel_frame_table *table, uint64_t address,
					   uint64_t lookup,
					   struct reel_frame_chain *ret) REEL_MUST_CHECK;

#endif
