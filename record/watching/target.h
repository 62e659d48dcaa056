/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that is recorded: CPU, kernel, vDSO. */
#ifndef RECORD_WATCHING_TARGET_H
#define RECORD_WATCHING_TARGET_H

#include "base/elf_identity.h"

struct reel_target {
	struct reel_elf_kind elf; /* of native user code */
	/* ELF machine of 32-bit code that a 64-bit kernel runs, 0 if there is none. */
	uint16_t compat_machine;
	uint64_t page_size;
	uint64_t cpus_possible, cpus_online;
	/* Of signed pointers (arm64); 0 without pointer authentication. */
	uint64_t code_mask, data_mask;
	/* Our own vDSO, which is every native process's; NULL if there is none. */
	const uint8_t *vdso;
	size_t vdso_size;
	/* That of 32-bit programs; NULL if there is none, or it cannot be had. */
	uint8_t *compat_vdso;
	size_t compat_vdso_size;
	char hostname[256];
	char kernel_release[256], kernel_version[256];
	struct reel_build_id kernel_build_id;
};

struct reel_error *reel_target_find(struct reel_target *ret) REEL_MUST_CHECK;
void reel_target_free(struct reel_target *target);

#endif
