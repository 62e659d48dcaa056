/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO of 32-bit programs that a 64-bit kernel runs. */
#ifndef RECORD_WATCHING_COMPAT_VDSO_H
#define RECORD_WATCHING_COMPAT_VDSO_H

#include <stddef.h>

#include "base/error.h"
#include "base/elf_identity.h"

/*
 * Its image, to be freed, from a program of our own: what a stranger has at that place is his to
 * write.  NULL where there is none, or no such program may be run or looked into.
 */
uint8_t *reel_compat_vdso(const struct reel_elf_kind *native, uint16_t machine, size_t *size_ret);

#endif
