/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"

uint8_t *reel_large_memory_allocate(size_t size)
{
	void *memory;

	if (size < REEL_LARGE_MEMORY)
		return calloc(1, size);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void reel_large_memory_free(uint8_t *memory, size_t size)
{
	if (size < REEL_LARGE_MEMORY)
		free(memory);
	else if (memory)
		munmap(memory, size);
}

#define CHUNK_SIZE (64 << 10)

struct reel_arena_chunk {
	struct reel_arena_chunk *next;
	size_t used, size;
	max_align_t data[];
};

void *reel_arena_allocate(struct reel_arena_chunk **arena, size_t size)
{
	struct reel_arena_chunk *chunk = *arena;
	size_t wanted = size > CHUNK_SIZE ? size : CHUNK_SIZE;
	void *taken;

	size = (size + 7) & ~(size_t)7;
	if (!chunk || chunk->size - chunk->used < size) {
		wanted = (wanted + 7) & ~(size_t)7;
		chunk = malloc(sizeof(*chunk) + wanted);
		if (!chunk)
			return NULL;
		*chunk = (struct reel_arena_chunk){ .next = *arena, .size = wanted };
		*arena = chunk;
	}
	taken = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return taken;
}

void reel_arena_free(struct reel_arena_chunk **arena)
{
	struct reel_arena_chunk *next;

	for (struct reel_arena_chunk *chunk = *arena; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*arena = NULL;
}
