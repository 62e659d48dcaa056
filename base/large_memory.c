/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/large_memory.h"

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
