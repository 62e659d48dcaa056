/* SPDX-License-Identifier: Apache-2.0 */
/* A relocatable ELF file as if it had been linked, by libdwfl. */
#ifndef REPLAY_ELF_RELOCATED_H
#define REPLAY_ELF_RELOCATED_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct reel_relocated;

/* Reads all `size` bytes of the file; `path` is for messages. CORRUPT where that cannot be done. */
struct reel_error *reel_relocated_create(const char *path, int fd, uint64_t size,
					 bool has_debug_info,
					 struct reel_relocated **ret) REEL_MUST_CHECK;
void reel_relocated_destroy(struct reel_relocated *relocated);
/* Its section headers have addresses, its .debug_ sections are decompressed and relocated. */
Elf *reel_relocated_elf(const struct reel_relocated *relocated);

#endif
