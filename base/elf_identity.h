/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of an ELF file or image: CPU, size, and build-id (NT_GNU_BUILD_ID note). */
#ifndef BASE_ELF_IDENTITY_H
#define BASE_ELF_IDENTITY_H

#include "base/bytes.h"

enum reel_byte_order {
	REEL_BYTE_ORDER_LITTLE = 1, /* ELFDATA2LSB */
	REEL_BYTE_ORDER_BIG = 2,    /* ELFDATA2MSB */
};

#define REEL_BUILD_ID_MAX 64

struct reel_build_id {
	uint8_t size; /* 0: unknown */
	uint8_t bytes[REEL_BUILD_ID_MAX];
};

static inline struct reel_bytes reel_build_id_bytes(const struct reel_build_id *build_id)
{
	return (struct reel_bytes){ build_id->bytes, build_id->size };
}

/* The properties in an ELF header. */
struct reel_elf_kind {
	uint16_t machine;
	uint8_t word_bits;
	uint8_t byte_order; /* enum reel_byte_order */
};

/* False if these are not the first 20 bytes of an ELF header. */
bool reel_elf_kind_of(const uint8_t *header, size_t size, struct reel_elf_kind *ret);

/* The machine of 32-bit programs on a 64-bit kernel for `machine`; 0 if there are none. */
uint16_t reel_elf_compat_machine(uint16_t machine);

/*
 * The size of the ELF image that begins with `header`, at most `limit`: the end of its section
 * headers, or for a vDSO the whole image.
 */
size_t reel_elf_image_size(const uint8_t *header, size_t size, size_t limit);

/* False (and *ret empty) without one: a missing build-id is not an error. */
bool reel_build_id_of_file(int fd, struct reel_build_id *ret);
bool reel_build_id_of_image(const uint8_t *image, size_t size, struct reel_build_id *ret);
/* Notes as in /sys/kernel/notes and /sys/module/NAME/notes. */
bool reel_build_id_of_notes(const uint8_t *notes, size_t size, enum reel_byte_order order,
			    struct reel_build_id *ret);

/*
 * Identifies files without a build-id: a digest of those loaded parts of an ELF file that stripping
 * keeps (SPEC.md, section 5, MODULE).  It takes 16 reads and gives up at `deadline` (reel_now's
 * time).  False if the file is not an ELF file, or bytes are missing.
 */
#define REEL_FILE_DIGEST_SIZE 16
bool reel_file_digest_of(int fd, uint64_t deadline, uint8_t ret[REEL_FILE_DIGEST_SIZE]);

#endif
