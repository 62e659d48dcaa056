/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded machine: CPU, kernel, vDSO. */
#ifndef RECORD_PROC_TARGET_H
#define RECORD_PROC_TARGET_H

#include "base/elf_identity.h"

struct reel_target {
	struct reel_elf_kind elf; /* of native user code */
	/* ELF machine of 32-bit code on a 64-bit kernel; 0 if unsupported. */
	uint16_t compat_machine;
	uint64_t page_size;
	uint64_t cpus_possible, cpus_online;
	/* Of signed pointers (arm64); 0 without pointer authentication. */
	uint64_t code_mask, data_mask;
	/* Our own vDSO, which every native process has; NULL without a vDSO. */
	const uint8_t *vdso;
	size_t vdso_size;
	/* vDSO of 32-bit programs; NULL if missing or unreadable. */
	uint8_t *compat_vdso;
	size_t compat_vdso_size;
	char hostname[256];
	char kernel_release[256], kernel_version[256];
	struct reel_build_id kernel_build_id;
};

struct reel_error *reel_target_find(struct reel_target *ret) REEL_MUST_CHECK;
void reel_target_free(struct reel_target *target);

#endif
