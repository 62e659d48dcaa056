/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for data that may be large.  Large blocks are mapped from the system and unmapped again,
 * so they leave no holes for later sizes; and a page costs nothing until it is written: a few bytes
 * of a hostile file can declare 16 MiB.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The smallest size that counts as large. */
#define REEL_LARGE_MEMORY (256u << 10)

/* Zeroed; NULL if out of memory, and perhaps for 0 bytes. */
uint8_t *reel_large_memory_allocate(size_t size);
/* `size` must be the allocated size; `memory` may be NULL. */
void reel_large_memory_free(uint8_t *memory, size_t size);

/* Memory that lasts as long as its list of chunks; NULL if out of memory. */
struct reel_arena_chunk;
void *reel_arena_allocate(struct reel_arena_chunk **arena, size_t size);
void reel_arena_free(struct reel_arena_chunk **arena);

#endif
