/* SPDX-License-Identifier: Apache-2.0 */
/* Build-ids (NT_GNU_BUILD_ID notes) of ELF files, images in memory and notes by themselves. */
#ifndef SPACE_BUILD_ID_H
#define SPACE_BUILD_ID_H

#include "format/bytes.h"
#include "format/record.h"

struct reel_build_id {
	uint8_t size; /* 0: unknown */
	uint8_t bytes[REEL_BUILD_ID_MAX];
};

/* What an ELF header says. */
struct reel_elf_kind {
	uint16_t machine;
	uint8_t word_bits;
	uint8_t byte_order; /* enum reel_byte_order */
};

/* False if these are no ELF header's first 20 bytes. */
bool reel_elf_kind_of(const uint8_t *header, size_t size, struct reel_elf_kind *ret);

/*
 * The size of the ELF image that begins with `header` (what its section
 * headers end at, for a vDSO the whole image), at most `limit`.
 */
size_t reel_elf_image_size(const uint8_t *header, size_t size, size_t limit);

/* False (and *ret empty) where there is none: a missing build-id is no error. */
bool reel_build_id_of_file(int fd, struct reel_build_id *ret);
bool reel_build_id_of_image(const uint8_t *image, size_t size, struct reel_build_id *ret);
/* Notes as in /sys/kernel/notes and /sys/module/NAME/notes. */
bool reel_build_id_of_notes(const uint8_t *notes, size_t size, enum reel_byte_order order,
			    struct reel_build_id *ret);

#endif
