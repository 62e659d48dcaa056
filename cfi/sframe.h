/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .sframe as the .debug_frame that gives the same rows: versions 2 and 3 of the SFrame format, of
 * x86-64, AArch64 and s390x (binutils, libsframe/doc/sframe-spec.texi and include/sframe.h).
 */
#ifndef CFI_SFRAME_H
#define CFI_SFRAME_H

#include "cfi/cfi_entry.h"

/*
 * `data` is the section, `entry` the ELF file's e_entry (0: none): version 2 cannot mark functions
 * without a caller, so the function at `entry` is treated as one.  Appends nothing for other
 * versions and CPUs.  SFrame knows only the CFA, the return address and the frame pointer: all other
 * registers are undefined in the caller.  An unreadable function gets a malformed FDE, and so do all
 * that follow once the result is many times larger than any linker's section.  The only error is
 * NO_MEMORY.
 */
struct reel_error *reel_sframe_translate(const struct cfi_data *data, uint64_t entry,
					 struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
