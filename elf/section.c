/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/section.h"
#include "host/system.h"

/* The minimum to read: a system call costs as much as copying some 10 kB. */
#define PAGE 16384u
/*
 * From this size on, use huge pages: faults for small ones cost twice as much as the copying (for
 * 62 MB: 31 ms, and 11 ms with huge ones).
 */
#define LARGE	  (512u << 10)
#define HUGE_PAGE (2u << 20)
/* The unit in which address space becomes writable and counts for memory limits. */
#define CHUNK HUGE_PAGE

struct reel_section_pages {
	int fd;
	uint64_t offset; /* in the file */
	uint8_t *bytes;	 /* address space, which becomes memory as it is filled */
	size_t size;
	bool out_of_memory;
	uint64_t *writable; /* one bit per chunk */
	uint64_t present[]; /* one bit per page */
};

struct reel_error *reel_section_open(int fd, uint64_t offset, uint64_t size,
				     struct reel_section *ret)
{
	size_t n_pages = (size_t)(size / PAGE) + 1, n_chunks = (size_t)(size / CHUNK) + 1;
	struct reel_section_pages *pages;
	void *bytes;

	*ret = (struct reel_section){ 0 };
	if (!size)
		return NULL;
	if (size > SIZE_MAX / 2)
		return reel_error_no_memory();
	pages = calloc(1, sizeof(*pages) +
				  (n_pages / 64 + n_chunks / 64 + 2) * sizeof(*pages->present));
	if (!pages)
		return reel_error_no_memory();
	pages->writable = pages->present + n_pages / 64 + 1;
	bytes = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		     0);
	if (bytes == MAP_FAILED) {
		free(pages);
		return reel_error_no_memory();
	}
	pages->fd = fd;
	pages->offset = offset;
	pages->bytes = bytes;
	pages->size = (size_t)size;
	*ret = (struct reel_section){ bytes, size, pages };
	return NULL;
}

void reel_section_close(struct reel_section *section)
{
	if (section->pages) {
		munmap(section->pages->bytes, section->pages->size);
		free(section->pages);
	}
	*section = (struct reel_section){ 0 };
}

/* Returns the number of bytes read. */
static size_t read_at(int fd, uint64_t offset, size_t size, uint8_t *bytes)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, bytes + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Advises the kernel, which may ignore it, for [from, to) rounded outwards. */
static void ask_for_huge_pages(const struct reel_section_pages *pages, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t begin = from & ~((size_t)HUGE_PAGE - 1), end = to + HUGE_PAGE;

	if (end > pages->size)
		end = pages->size;
	/* mmap returned the start of a page. */
	reel_system_advise_huge_pages(pages->bytes + (begin & ~(page - 1)), end - begin, true);
}

static bool has_bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* Makes the chunks of [from, to) writable; false if out of memory. */
static bool make_writable(struct reel_section_pages *pages, size_t from, size_t to)
{
	size_t chunk = from / CHUNK, last = (to - 1) / CHUNK + 1;

	while (chunk < last) {
		size_t first = chunk, end;

		while (chunk < last && !has_bit(pages->writable, chunk))
			chunk++;
		end = chunk * CHUNK < pages->size ? chunk * CHUNK : pages->size;
		if (chunk > first && mprotect(pages->bytes + first * CHUNK, end - first * CHUNK,
					      PROT_READ | PROT_WRITE)) {
			pages->out_of_memory = true;
			return false;
		}
		for (size_t i = first; i < chunk; i++)
			pages->writable[i / 64] |= (uint64_t)1 << (i % 64);
		while (chunk < last && has_bit(pages->writable, chunk))
			chunk++;
	}
	return true;
}

bool reel_section_is_short_of_memory(const struct reel_section *section)
{
	return section->pages && section->pages->out_of_memory;
}

/* Reads pages [first, last), none of which is present. */
static bool read_pages(struct reel_section_pages *pages, size_t first, size_t last)
{
	size_t from = first * PAGE, to = last * PAGE;

	if (to > pages->size)
		to = pages->size;
	if (!make_writable(pages, from, to))
		return false;
	if (to - from >= LARGE)
		ask_for_huge_pages(pages, from, to);
	if (read_at(pages->fd, pages->offset + from, to - from, pages->bytes + from) != to - from)
		return false;
	for (size_t page = first; page < last; page++)
		pages->present[page / 64] |= (uint64_t)1 << (page % 64);
	return true;
}

const uint8_t *reel_section_need(const struct reel_section *section, uint64_t offset, uint64_t size)
{
	struct reel_section_pages *pages = section->pages;
	size_t page, last;

	if (!section->bytes || offset > section->size || size > section->size - offset)
		return NULL;
	if (!pages || !size)
		return section->bytes + offset;
	page = (size_t)(offset / PAGE);
	last = (size_t)((offset + size - 1) / PAGE) + 1;
	while (page < last) {
		size_t first = page;

		while (page < last && !has_bit(pages->present, page))
			page++;
		if (page > first && !read_pages(pages, first, page))
			return NULL;
		while (page < last && has_bit(pages->present, page))
			page++;
	}
	return section->bytes + offset;
}

size_t reel_section_copy(const struct reel_section *section, uint64_t offset, size_t size,
			 uint8_t *bytes_ret)
{
	const struct reel_section_pages *pages = section->pages;

	if (offset >= section->size)
		return 0;
	if (size > section->size - offset)
		size = (size_t)(section->size - offset);
	if (pages)
		return read_at(pages->fd, pages->offset + offset, size, bytes_ret);
	memcpy(bytes_ret, section->bytes + offset, size);
	return size;
}

const char reel_long_name[] = "[a name of more than 64 KiB]";

const char *reel_name_or_long(const char *name)
{
	return strnlen(name, REEL_NAME_MAX + 1) > REEL_NAME_MAX ? reel_long_name : name;
}

const char *reel_section_string(const struct reel_section *section, uint64_t offset)
{
	uint64_t at = offset;

	while (at < section->size) {
		/* Continue to the end of a page, page by page, until the string ends. */
		uint64_t size = PAGE - at % PAGE;
		const uint8_t *bytes;

		if (size > section->size - at)
			size = section->size - at;
		bytes = reel_section_need(section, at, size);
		if (!bytes)
			return NULL;
		if (memchr(bytes, 0, (size_t)size))
			return reel_name_or_long((const char *)section->bytes + offset);
		at += size;
		if (at - offset > REEL_NAME_MAX)
			return reel_long_name;
	}
	return NULL;
}
