/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dynamic linker sees of an ELF file: its symbols, looked up by hash, and its segments.
 * Only the needed bytes are read, as every file that a process maps is looked at.
 */
#ifndef RECORD_PROC_DYNAMIC_FILE_H
#define RECORD_PROC_DYNAMIC_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files with more are not understood; it is far above what linkers make. */
#define REEL_DYNAMIC_SEGMENTS_MAX 64

struct reel_dynamic_file {
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr segments[REEL_DYNAMIC_SEGMENTS_MAX];
	size_t n_segments;
	uint64_t strings, symbols, hash;	      /* addresses */
	uint64_t relocations[2], relocation_sizes[2]; /* DT_RELA, DT_JMPREL; 0: none */
	bool is_executable, is_musl;
};

/* Whether it is a 64-bit ELF file of this byte order. */
bool reel_elf_is_native(const Elf64_Ehdr *header);
/* False if the file is not a 64-bit ELF file of this byte order with symbols and DT_GNU_HASH. */
bool reel_dynamic_file_read(int fd, struct reel_dynamic_file *ret);
/* NULL: none. */
const Elf64_Phdr *reel_dynamic_file_segment(const struct reel_dynamic_file *file, uint32_t type);
/* The file's bytes at an address. */
bool reel_dynamic_file_bytes(const struct reel_dynamic_file *file, uint64_t address, void *ret,
			     size_t size);
/* A defined symbol of a type (STT_OBJECT ...). */
bool reel_dynamic_file_symbol(const struct reel_dynamic_file *file, const char *name, uint8_t type,
			      uint32_t *index_ret, Elf64_Sym *ret);
/* The distance of addresses of code from file offsets, which mappings of code have. */
bool reel_dynamic_file_distance(const struct reel_dynamic_file *file, uint64_t *ret);

#endif
