/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "elf/file_pages.h"

#define PAGE 4096u
/* Of larger files, sparse ones perhaps, nothing is kept. */
#define FILE_SIZE_MAX ((uint64_t)4 << 30)

struct reel_file_pages {
	uint64_t size;
	uint8_t *_Atomic all[]; /* NULL until one is read */
};

static size_t count(uint64_t size)
{
	return (size_t)((size + PAGE - 1) / PAGE);
}

struct reel_file_pages *reel_file_pages_create(uint64_t file_size)
{
	struct reel_file_pages *pages;

	if (file_size > FILE_SIZE_MAX)
		return NULL;
	pages = calloc(1, sizeof(*pages) + count(file_size) * sizeof(*pages->all));
	if (pages)
		pages->size = file_size;
	return pages;
}

void reel_file_pages_destroy(struct reel_file_pages *pages)
{
	for (size_t i = 0; pages && i < count(pages->size); i++)
		free(atomic_load_explicit(&pages->all[i], memory_order_relaxed));
	free(pages);
}

/* NULL: unreadable, or out of memory. */
static const uint8_t *page_at(struct reel_file_pages *pages, int fd, size_t number)
{
	uint8_t *page = atomic_load_explicit(&pages->all[number], memory_order_acquire);
	uint64_t offset = (uint64_t)number * PAGE, size = pages->size - offset;
	uint8_t *other = NULL;

	if (page)
		return page;
	page = malloc(PAGE);
	if (!page)
		return NULL;
	if (!reel_read_at(fd, page, size < PAGE ? (size_t)size : PAGE, offset)) {
		free(page);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&pages->all[number], &other, page))
		return page;
	/* Another thread was first. */
	free(page);
	return other;
}

bool reel_file_pages_read(struct reel_file_pages *pages, int fd, uint64_t offset, size_t size,
			  uint8_t *bytes_ret)
{
	while (size) {
		size_t at = (size_t)(offset % PAGE), n = size < PAGE - at ? size : PAGE - at;
		const uint8_t *page =
			pages && size <= PAGE ? page_at(pages, fd, (size_t)(offset / PAGE)) : NULL;

		if (!page)
			return reel_read_at(fd, bytes_ret, size, offset);
		memcpy(bytes_ret, page + at, n);
		bytes_ret += n;
		offset += n;
		size -= n;
	}
	return true;
}
