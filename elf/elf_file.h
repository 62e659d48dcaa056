/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file (or image in memory) of any CPU: what unwinding and symbols need of it. */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include <libelf.h>

#include "base/bytes.h"
#include "base/elf_identity.h"
#include "elf/address_ranges.h"
#include "elf/section.h"

struct reel_elf_file;

/*
 * NOT_A_CAPTURE if it is not ELF, UNSUPPORTED for what is not an executable, shared object, kernel
 * module or debug file, TRUNCATED if its end is missing.  One that is compressed is unpacked
 * (packed_file.h).  The file stays open: libelf reads
 * sections as they are asked for (never mmap: a file that shrinks would be SIGBUS).
 */
struct reel_error *reel_elf_file_open(const char *path, struct reel_elf_file **ret) REEL_MUST_CHECK;
/* The same of what is open already; it closes `fd`, if it fails, too.  `name` is for messages. */
struct reel_error *reel_elf_file_open_descriptor(int fd, const char *name,
						 struct reel_elf_file **ret) REEL_MUST_CHECK;
/* Bytes are borrowed for the handle's life. */
struct reel_error *reel_elf_file_open_memory(const uint8_t *bytes, size_t size, const char *name,
					     struct reel_elf_file **ret) REEL_MUST_CHECK;
/*
 * The same, of a file that a capture holds in part (embedded_image.h): it stands for the file,
 * though it is debug-only, and of its code has what the image has.
 */
struct reel_error *reel_elf_file_open_embedded(const uint8_t *bytes, size_t size, const char *name,
					       struct reel_elf_file **ret) REEL_MUST_CHECK;
bool reel_elf_file_is_embedded(const struct reel_elf_file *file);
/*
 * A relocatable file (a kernel module, or its debug file) with its sections at addresses of their
 * own, that do not overlap, and the relocations of its debug information applied: from then on it
 * is as good as an executable of these addresses.  Another file is left as it is.
 */
struct reel_error *reel_elf_file_lay_out(struct reel_elf_file *file) REEL_MUST_CHECK;
bool reel_elf_file_is_laid_out(const struct reel_elf_file *file);
/* For who lays it out (relocated.c): `elf` stands for the file from here on, `layout` is freed with
 * it. */
void reel_elf_file_take_layout(struct reel_elf_file *file, Elf *elf, void *layout,
			       void (*free_layout)(void *layout));
void reel_elf_file_close(struct reel_elf_file *file);
/* Closes the descriptor, when all sections that will be asked for have been. */
void reel_elf_file_let_go(struct reel_elf_file *file);

/* Device and inode, as fstat(2) gives them; false for an image in memory. */
bool reel_elf_file_identity(const struct reel_elf_file *file, uint64_t *device_ret,
			    uint64_t *inode_ret);

/* reel_file_digest_of's; false if it has none. */
bool reel_elf_file_digest(const struct reel_elf_file *file, uint8_t ret[REEL_FILE_DIGEST_SIZE]);
/* -1: it is an image in memory, or was let go. */
int reel_elf_file_descriptor(const struct reel_elf_file *file);
/* As stat(2) has it. */
uint64_t reel_elf_file_length(const struct reel_elf_file *file);
/* In bytes, without holes. */
uint64_t reel_elf_file_size(const struct reel_elf_file *file);
const char *reel_elf_file_path(const struct reel_elf_file *file);
Elf *reel_elf_file_handle(const struct reel_elf_file *file);
uint16_t reel_elf_file_machine(const struct reel_elf_file *file);
bool reel_elf_file_big_endian(const struct reel_elf_file *file);
unsigned reel_elf_file_word_bits(const struct reel_elf_file *file);
uint64_t reel_elf_file_entry(const struct reel_elf_file *file);
/* Size 0: it has none. */
struct reel_bytes reel_elf_file_build_id(const struct reel_elf_file *file);
/* NULL: it has none. */
const char *reel_elf_file_debuglink(const struct reel_elf_file *file, uint32_t *crc_ret);
/* .gnu_debugaltlink (dwz): NULL if it has none. */
const char *reel_elf_file_altlink(const struct reel_elf_file *file,
				  struct reel_bytes *build_id_ret);
/* DWARF's .debug_info, and a symbol table beyond .dynsym. */
bool reel_elf_file_has_debug_info(const struct reel_elf_file *file);
bool reel_elf_file_has_symbols(const struct reel_elf_file *file);
/* Its code is elsewhere (SHT_NOBITS): it cannot stand for the file, and has no addresses of
 * offsets. */
bool reel_elf_file_is_debug_only(const struct reel_elf_file *file);

/* The file that .gnu_debugaltlink names; `file` owns it from then on. */
void reel_elf_file_set_alternate(struct reel_elf_file *file, struct reel_elf_file *alternate);
struct reel_elf_file *reel_elf_file_alternate(const struct reel_elf_file *file);

/*
 * A section by name, decompressed; ".debug_x" finds ".zdebug_x" too.  False if
 * it has no bytes in this file.  Bytes live with the file.
 */
bool reel_elf_file_section(struct reel_elf_file *file, const char *name,
			   struct reel_loaded_bytes *ret);
/* The next one behind `*at`, which is NULL at first. */
bool reel_elf_file_next_section(struct reel_elf_file *file, Elf_Scn **at, const char *name,
				struct reel_loaded_bytes *ret);
/*
 * The same, read as it is needed where that can be done: `ret` has size 0 if the file has no such
 * section.  Close it with reel_section_close, before the file.
 */
struct reel_error *reel_elf_file_open_section(struct reel_elf_file *file, const char *name,
					      struct reel_section *ret) REEL_MUST_CHECK;
/* The executable addresses [begin, end), from the program headers; all of them if it has none. */
void reel_elf_file_text_range(const struct reel_elf_file *file, uint64_t *begin_ret,
			      uint64_t *end_ret);

/*
 * The ELF address of a file offset, by the PT_LOAD whose file range (rounded
 * out to pages) holds it; an executable one is preferred.  False in a
 * debug-only file that is not embedded, whose program headers describe another one.
 */
bool reel_elf_file_address_of_offset(const struct reel_elf_file *file, uint64_t offset,
				     uint64_t *ret);
/* The executable PT_LOAD that holds an ELF address; false where there is none, and as above. */
bool reel_elf_file_code_segment(const struct reel_elf_file *file, uint64_t address,
				struct reel_segment *ret);
/* Bytes at an ELF address, from the file; false if it does not hold all of them. */
bool reel_elf_file_read(const struct reel_elf_file *file, uint64_t address, size_t size,
			uint8_t *bytes_ret);

/* The addresses that the file has bytes of, tidy, but for segments that overlap others before them;
 * none for an embedded or a debug-only file. */
void reel_elf_file_data_ranges(const struct reel_elf_file *file, struct reel_address_ranges *ret);

/* From here on, which addresses reel_elf_file_read gives bytes of is remembered; the file is one
 * thread's then. */
void reel_elf_file_keep_reads(struct reel_elf_file *file, struct reel_address_ranges *reads);

/* Which section that was looked for is there, but can't be read or decompressed; NULL: none. */
struct reel_error *reel_elf_file_section_error(const struct reel_elf_file *file) REEL_MUST_CHECK;
/* What looking for sections lacked, since one that is not found may not have been looked for. */
struct reel_error *reel_elf_file_memory_error(const struct reel_elf_file *file) REEL_MUST_CHECK;

/* What a PT_LOAD has in the file from an address on, `size` bytes of it at most; lives with the
 * file. */
bool reel_elf_file_load(const struct reel_elf_file *file, uint64_t address, uint64_t size,
			struct reel_loaded_bytes *ret);
/* The first segment of a type (PT_GNU_EH_FRAME) that the file has the bytes of. */
bool reel_elf_file_segment(const struct reel_elf_file *file, uint32_t type,
			   struct reel_loaded_bytes *ret);
/* By its header alone, with bytes or without. */
bool reel_elf_file_section_address(const struct reel_elf_file *file, const char *name,
				   uint64_t *ret);
/* The first dynamic entry with this tag (DT_PLTGOT). */
bool reel_elf_file_dynamic(const struct reel_elf_file *file, int64_t tag, uint64_t *ret);

#endif
