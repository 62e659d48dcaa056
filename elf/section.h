/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section of an ELF file, read on demand: of .debug_info, which can have gigabytes, only the
 * units of the wanted addresses.  Never mmap the file: one that shrinks would cause a SIGBUS.
 */
#ifndef ELF_SECTION_H
#define ELF_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct reel_section_pages;

struct reel_section {
	/* With pages, undefined until reel_section_need has returned them. */
	const uint8_t *bytes;
	uint64_t size;			  /* 0 if the section is missing */
	struct reel_section_pages *pages; /* NULL: all bytes are present */
};

/* Bytes [offset, offset + size) of an open file, which must stay open. */
struct reel_error *reel_section_open(int fd, uint64_t offset, uint64_t size,
				     struct reel_section *ret) REEL_MUST_CHECK;
void reel_section_close(struct reel_section *section);

/*
 * Bytes [offset, offset + size), which live with the section; NULL if it is smaller, or they cannot
 * be read.
 */
const uint8_t *reel_section_need(const struct reel_section *section, uint64_t offset,
				 uint64_t size);
/* Whether reading failed for lack of memory. */
bool reel_section_is_short_of_memory(const struct reel_section *section);
/* Copies bytes out without keeping them; returns the number of bytes copied. */
size_t reel_section_copy(const struct reel_section *section, uint64_t offset, size_t size,
			 uint8_t *bytes_ret);
/* The maximum size of names and paths of files; longer ones are shown as this text. */
#define REEL_NAME_MAX 65535u
extern const char reel_long_name[];
/* `name`, or that text; `name` must be readable up to its NUL or the maximum. */
const char *reel_name_or_long(const char *name);

/* The string at `offset`, or the text; it lives with the section.  NULL if missing. */
const char *reel_section_string(const struct reel_section *section, uint64_t offset);

#endif
