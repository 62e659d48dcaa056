/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for what may be large.  The large comes from the system and goes back to it, so that it
 * leaves no holes where another size is wanted next; and a page of it costs nothing until it is
 * written to: a few bytes of a hostile file can stand for 16 MiB.
 */
#ifndef BASE_LARGE_MEMORY_H
#define BASE_LARGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* From this size on. */
#define REEL_LARGE_MEMORY (256u << 10)

/* Zeroed; NULL without memory, and perhaps for 0 bytes. */
uint8_t *reel_large_memory_allocate(size_t size);
/* `size` as it was allocated; `memory` may be NULL. */
void reel_large_memory_free(uint8_t *memory, size_t size);

#endif
