/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section of an ELF file that is read where it is needed: of .debug_info, which can have
 * gigabytes, that is the units of the addresses that are asked for.  Never mmap of the file: one
 * that shrinks would be SIGBUS.
 */
#ifndef ELF_SECTION_H
#define ELF_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct reel_section_pages;

struct reel_section {
	/* Undefined where reel_section_need has not said that they are there, if there are pages.
	 */
	const uint8_t *bytes;
	uint64_t size;			  /* 0: there is no such section */
	struct reel_section_pages *pages; /* NULL: all bytes are there */
};

/* Bytes [offset, offset + size) of an open file, which must stay open. */
struct reel_error *reel_section_open(int fd, uint64_t offset, uint64_t size,
				     struct reel_section *ret) REEL_MUST_CHECK;
void reel_section_close(struct reel_section *section);

/*
 * Bytes [offset, offset + size), which live with the section; NULL if it has not so many, or they
 * cannot be read.
 */
const uint8_t *reel_section_need(const struct reel_section *section, uint64_t offset,
				 uint64_t size);
/* The latter, because there was no memory for them. */
bool reel_section_is_short_of_memory(const struct reel_section *section);
/* Copies bytes out without keeping them; returns how many of them there are. */
size_t reel_section_copy(const struct reel_section *section, uint64_t offset, size_t size,
			 uint8_t *bytes_ret);
/* Names and paths of files have so many bytes at most; others are shown as this text. */
#define REEL_NAME_MAX 65535u
extern const char reel_long_name[];
/* `name`, or that text; as much of it as counts must be there, up to a NUL. */
const char *reel_name_or_long(const char *name);

/* The string that begins there, or the text; it lives with the section.  NULL: there is none. */
const char *reel_section_string(const struct reel_section *section, uint64_t offset);

#endif
