/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file (or image in memory) of any CPU: what unwinding and symbols need of it. */
#ifndef REPLAY_ELF_FILE_H
#define REPLAY_ELF_FILE_H

#include <libelf.h>

#include "format/error.h"
#include "replay/cfi.h"

#define REEL_BUILD_ID_MAX 64

struct reel_elf_file;

/* NOT_A_CAPTURE if it is not ELF, UNSUPPORTED for what is not an executable, shared object, kernel module or debug file. */
struct reel_error *reel_elf_file_open(const char *path, struct reel_elf_file **ret) REEL_MUST_CHECK;
/* Bytes are borrowed for the handle's life. */
struct reel_error *reel_elf_file_open_memory(const uint8_t *bytes, size_t size, const char *name,
					     struct reel_elf_file **ret) REEL_MUST_CHECK;
void reel_elf_file_close(struct reel_elf_file *file);

const char *reel_elf_file_path(const struct reel_elf_file *file);
Elf *reel_elf_file_handle(const struct reel_elf_file *file);
uint16_t reel_elf_file_machine(const struct reel_elf_file *file);
bool reel_elf_file_big_endian(const struct reel_elf_file *file);
unsigned reel_elf_file_word_bits(const struct reel_elf_file *file);
uint64_t reel_elf_file_entry(const struct reel_elf_file *file);
/* Size 0: it has none. */
const uint8_t *reel_elf_file_build_id(const struct reel_elf_file *file, size_t *size_ret);
/* NULL: it has none. */
const char *reel_elf_file_debuglink(const struct reel_elf_file *file, uint32_t *crc_ret);
/* .gnu_debugaltlink (dwz): NULL if it has none. */
const char *reel_elf_file_altlink(const struct reel_elf_file *file, const uint8_t **build_id_ret,
				  size_t *build_id_size_ret);
bool reel_elf_file_has_debug_info(const struct reel_elf_file *file);

/*
 * The ELF address of a file offset, by the PT_LOAD whose file range (rounded
 * out to pages) holds it; an executable one is preferred.
 */
bool reel_elf_file_address_of_offset(const struct reel_elf_file *file, uint64_t offset,
				     uint64_t *ret);
/* Bytes at an ELF address, from the file; false if it does not hold all of them. */
bool reel_elf_file_read(const struct reel_elf_file *file, uint64_t address, size_t size,
			uint8_t *bytes_ret);

/* Fills in sections (decompressed where they are compressed), bases and text range; they live with the file. */
struct reel_error *reel_elf_file_cfi_input(struct reel_elf_file *file, struct reel_cfi_input *ret)
	REEL_MUST_CHECK;

#endif
