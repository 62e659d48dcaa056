/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file (or image in memory) of any CPU: the parts for unwinding and symbols. */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include <libelf.h>

#include "base/bytes.h"
#include "base/elf_identity.h"
#include "elf/address_ranges.h"
#include "elf/section.h"

struct reel_elf_file;

/*
 * NOT_A_CAPTURE if it is not ELF, UNSUPPORTED unless it is an executable, shared object, kernel
 * module or debug file, TRUNCATED if its end is missing.  A compressed file is unpacked
 * (packed_file.h).  The file stays open: libelf reads sections on demand (never mmap: a file that
 * shrinks would cause a SIGBUS).  Pages of code stay in memory once they were read.
 */
struct reel_error *reel_elf_file_open(const char *path, struct reel_elf_file **ret) REEL_MUST_CHECK;
/* The same from a descriptor, with no pages kept, as the recorder's helpers have little memory.  Takes
 * ownership of `fd`, even on error.  `name` is for messages. */
struct reel_error *reel_elf_file_open_descriptor(int fd, const char *name,
						 struct reel_elf_file **ret) REEL_MUST_CHECK;
/* Bytes are borrowed for the handle's life. */
struct reel_error *reel_elf_file_open_memory(const uint8_t *bytes, size_t size, const char *name,
					     struct reel_elf_file **ret) REEL_MUST_CHECK;
/*
 * The same for a file of which a capture holds parts (SPEC.md 5.1): it replaces the file,
 * though it is debug-only, and has only the code in the image.
 */
struct reel_error *reel_elf_file_open_embedded(const uint8_t *bytes, size_t size, const char *name,
					       struct reel_elf_file **ret) REEL_MUST_CHECK;
bool reel_elf_file_is_embedded(const struct reel_elf_file *file);
/*
 * Gives the sections of a relocatable file (a kernel module, or its debug file) distinct addresses,
 * and applies the relocations of its debug information: after this it is as good as an executable
 * with these addresses.  Leaves other files unchanged.
 */
struct reel_error *reel_elf_file_lay_out(struct reel_elf_file *file) REEL_MUST_CHECK;
bool reel_elf_file_is_laid_out(const struct reel_elf_file *file);
/* For replay/files/relocated.c, which lays it out: from here on `elf` replaces the file, and
 * `layout` is freed with it. */
void reel_elf_file_take_layout(struct reel_elf_file *file, Elf *elf, void *layout,
			       void (*free_layout)(void *layout));
void reel_elf_file_close(struct reel_elf_file *file);
/* Closes the descriptor, once all needed sections were looked up. */
void reel_elf_file_let_go(struct reel_elf_file *file);

/* Device and inode, as from fstat(2); false for an image in memory. */
bool reel_elf_file_identity(const struct reel_elf_file *file, uint64_t *device_ret,
			    uint64_t *inode_ret);

/* The digest by reel_file_digest_of; false if missing. */
bool reel_elf_file_digest(const struct reel_elf_file *file, uint8_t ret[REEL_FILE_DIGEST_SIZE]);
/* -1 for an image in memory or after reel_elf_file_let_go. */
int reel_elf_file_descriptor(const struct reel_elf_file *file);
/* The size by stat(2). */
uint64_t reel_elf_file_length(const struct reel_elf_file *file);
/* In bytes, without holes. */
uint64_t reel_elf_file_size(const struct reel_elf_file *file);
const char *reel_elf_file_path(const struct reel_elf_file *file);
Elf *reel_elf_file_handle(const struct reel_elf_file *file);
uint16_t reel_elf_file_machine(const struct reel_elf_file *file);
bool reel_elf_file_big_endian(const struct reel_elf_file *file);
unsigned reel_elf_file_word_bits(const struct reel_elf_file *file);
uint64_t reel_elf_file_entry(const struct reel_elf_file *file);
/* Size 0 if missing. */
struct reel_bytes reel_elf_file_build_id(const struct reel_elf_file *file);
/* NULL if missing. */
const char *reel_elf_file_debuglink(const struct reel_elf_file *file, uint32_t *crc_ret);
/* .gnu_debugaltlink (dwz); NULL if missing. */
const char *reel_elf_file_altlink(const struct reel_elf_file *file,
				  struct reel_bytes *build_id_ret);
/* DWARF's .debug_info, and a symbol table beyond .dynsym. */
bool reel_elf_file_has_debug_info(const struct reel_elf_file *file);
bool reel_elf_file_has_symbols(const struct reel_elf_file *file);
/* Its code is in another file (SHT_NOBITS): it cannot replace the file, and cannot map offsets to
 * addresses. */
bool reel_elf_file_is_debug_only(const struct reel_elf_file *file);

/* The file named by .gnu_debugaltlink; `file` takes ownership. */
void reel_elf_file_set_alternate(struct reel_elf_file *file, struct reel_elf_file *alternate);
struct reel_elf_file *reel_elf_file_alternate(const struct reel_elf_file *file);

/*
 * A section by name, decompressed; ".debug_x" also finds ".zdebug_x".  False if it has no bytes in
 * this file.  Bytes live with the file.
 */
bool reel_elf_file_section(struct reel_elf_file *file, const char *name,
			   struct reel_loaded_bytes *ret);
/* The next section after `*at`, which is initially NULL. */
bool reel_elf_file_next_section(struct reel_elf_file *file, Elf_Scn **at, const char *name,
				struct reel_loaded_bytes *ret);
/*
 * The same, but read on demand if possible: `ret` has size 0 if the section is missing.  Close it
 * with reel_section_close, before the file.
 */
struct reel_error *reel_elf_file_open_section(struct reel_elf_file *file, const char *name,
					      struct reel_section *ret) REEL_MUST_CHECK;
/* The executable addresses [begin, end), from the program headers; all if there are none. */
void reel_elf_file_text_range(const struct reel_elf_file *file, uint64_t *begin_ret,
			      uint64_t *end_ret);

/*
 * The ELF address of a file offset, by the PT_LOAD whose file range (rounded out to pages) holds
 * it, preferably an executable one if `is_code`, else another.  False in a debug-only file that is
 * not embedded, whose program headers describe a different file.
 */
bool reel_elf_file_address_of_offset(const struct reel_elf_file *file, uint64_t offset,
				     bool is_code, uint64_t *ret);
/* The executable PT_LOAD that holds an ELF address; false without one, or as above. */
bool reel_elf_file_code_segment(const struct reel_elf_file *file, uint64_t address,
				struct reel_segment *ret);
/* Whether a PT_LOAD holds an ELF address; false in a debug-only file that is not embedded. */
bool reel_elf_file_holds(const struct reel_elf_file *file, uint64_t address);
/* The file offset of a byte at an ELF address; false if no PT_LOAD has it in the file. */
bool reel_elf_file_offset_of_address(const struct reel_elf_file *file, uint64_t address,
				     uint64_t *ret);
/* Reads bytes at an ELF address; false unless the file has them all. */
bool reel_elf_file_read(const struct reel_elf_file *file, uint64_t address, size_t size,
			uint8_t *bytes_ret);

/* The same of bytes that the program cannot change. */
bool reel_elf_file_read_constant(const struct reel_elf_file *file, uint64_t address, size_t size,
				 uint8_t *bytes_ret);

/* The addresses of sections of constants, or of the image's, tidy. */
void reel_elf_file_constants(const struct reel_elf_file *file, struct reel_address_ranges *ret);

/* The addresses whose bytes the file has, tidy, except segments that overlap previous ones; empty
 * for an embedded or a debug-only file. */
void reel_elf_file_data_ranges(const struct reel_elf_file *file, struct reel_address_ranges *ret);

/* From here on, records the addresses whose bytes reel_elf_file_read returned; only one thread may
 * use the file then. */
void reel_elf_file_keep_reads(struct reel_elf_file *file, struct reel_address_ranges *reads);

/* Why an existing section that was looked up cannot be read or decompressed; NULL if all could. */
struct reel_error *reel_elf_file_section_error(const struct reel_elf_file *file) REEL_MUST_CHECK;
/* Memory that ran out while looking for sections, so that a missing one may exist after all. */
struct reel_error *reel_elf_file_memory_error(const struct reel_elf_file *file) REEL_MUST_CHECK;

/* The bytes of a PT_LOAD in the file from an address on, at most `size`; they live with the
 * file. */
bool reel_elf_file_load(const struct reel_elf_file *file, uint64_t address, uint64_t size,
			struct reel_loaded_bytes *ret);
/* The first segment of a type (PT_GNU_EH_FRAME) whose bytes are in the file. */
bool reel_elf_file_segment(const struct reel_elf_file *file, uint32_t type,
			   struct reel_loaded_bytes *ret);
/* From its header alone, with or without bytes. */
bool reel_elf_file_section_address(const struct reel_elf_file *file, const char *name,
				   uint64_t *ret);
/* The first dynamic entry with this tag (DT_PLTGOT). */
bool reel_elf_file_dynamic(const struct reel_elf_file *file, int64_t tag, uint64_t *ret);

#endif
