/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO of 32-bit programs that a 64-bit kernel runs. */
#ifndef RECORD_PROC_COMPAT_VDSO_H
#define RECORD_PROC_COMPAT_VDSO_H

#include <stddef.h>

#include "base/error.h"
#include "base/elf_identity.h"

/*
 * Reads the image from a program of our own, since other processes can change their copy.  The
 * caller frees it.  NULL if the vDSO is missing, or such a program cannot be run or inspected.
 */
uint8_t *reel_compat_vdso(const struct reel_elf_kind *native, uint16_t machine, size_t *size_ret);

#endif
