/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_CLEAN_NAMES_H
#define ELF_CLEAN_NAMES_H

#include <stddef.h>

/* Replaces control characters in an ELF file's string tables: other programs print its symbols'
 * names as they are. */
void reel_elf_clean_names(char *image, size_t size);

#endif
