/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/scan_copies.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Smaller pieces are values, of no use in parts. */
#define PARTIAL_MIN 256

static bool read_memory(pid_t pid, uint64_t address, uint8_t *to, size_t size)
{
	const struct iovec local = { to, size };
	const struct iovec remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Page by page, as some are missing. */
static void read_pages(pid_t pid, struct reel_bpf_piece *piece, uint8_t *to)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t done = 0;

	piece->is_partial = 1;
	memset(piece->missing, 0, sizeof(piece->missing));
	for (size_t page = 0; done < piece->size; page++) {
		size_t part = page_size - ((piece->address + done) & (page_size - 1));

		if (part > piece->size - done)
			part = piece->size - done;
		if (page / 64 < REEL_BPF_MISSING_WORDS &&
		    !read_memory(pid, piece->address + done, to + done, part)) {
			piece->missing[page / 64] |= UINT64_C(1) << page % 64;
		}
		done += part;
	}
}

static void read_piece(pid_t pid, struct reel_bpf_piece *piece)
{
	uint8_t *copy;

	piece->is_done = 1;
	/* Zeroes: pages beyond those of which `missing` tells are not read. */
	copy = calloc(1, piece->size);
	if (!copy)
		return;
	if (!read_memory(pid, piece->address, copy, piece->size)) {
		if (piece->size < PARTIAL_MIN) {
			free(copy);
			return;
		}
		read_pages(pid, piece, copy);
	}
	piece->copy = (uintptr_t)copy;
}

void reel_scan_copies_read(struct reel_bpf_copies *copies, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < copies[i].n_pieces; j++) {
			if (!copies[i].pieces[j].is_done)
				read_piece((pid_t)copies[i].pid, &copies[i].pieces[j]);
		}
	}
}

void reel_scan_copies_clear(struct reel_bpf_copies *copies, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < copies[i].n_pieces; j++)
			free((void *)(uintptr_t)copies[i].pieces[j].copy);
		copies[i].n_pieces = 0;
	}
}
