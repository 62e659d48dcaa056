/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of an open file, each read once.  Code is read a few bytes at a time, from everywhere, and
 * a system call costs more than that.  Several threads may read.
 */
#ifndef ELF_FILE_PAGES_H
#define ELF_FILE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_file_pages;

/* NULL if out of memory, or if the file is larger than 4 GiB. */
struct reel_file_pages *reel_file_pages_create(uint64_t file_size);
void reel_file_pages_destroy(struct reel_file_pages *pages);

/* Bytes [offset, offset + size) of the file, which has them; false if they cannot be read.  NULL:
 * reads them from the file. */
bool reel_file_pages_read(struct reel_file_pages *pages, int fd, uint64_t offset, size_t size,
			  uint8_t *bytes_ret);

#endif
