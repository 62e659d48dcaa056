/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes what the kernel's probes of user code do to a thread's state, so that a sample is the same
 * as without them:
 *
 * - a function with a uretprobe returns to the kernel's trampoline.  The kernel keeps the original
 *   address, with sp at the function's entry: on x86, the place of the return address; on CPUs with
 *   a link register the frame is below, and on s390x the return address is saved above;
 * - a probed instruction may run as a copy in the kernel's page, or the kernel does what it would
 *   do: on x86, a call or a push changes sp before the pc.
 *
 * A trampoline's address without a known original stays: the trace ends there.
 */
#ifndef RECORD_SAMPLING_USER_PROBES_H
#define RECORD_SAMPLING_USER_PROBES_H

#include "format/record.h"
#include "record/sampling/sampler.h"

/* Where a function saves its return address, relative to sp at its entry. */
enum reel_return_place {
	REEL_RETURN_AT_SP,    /* x86: the call pushes it */
	REEL_RETURN_BELOW_SP, /* in its frame, or still in a register */
	REEL_RETURN_ABOVE_SP, /* s390x: in the register save area of its caller, or in a register */
};

struct reel_user_probes {
	const struct reel_bpf_user_probes *state;
	size_t n_returns;
	enum reel_return_place place;
	size_t word_size;
	uint64_t sp;
	uint16_t sp_number;
	bool is_x86_64;
	uint64_t rax;
	bool in_kernel; /* not for a system call of the program's own */
};

/* False if there is nothing to undo, or the CPU is unknown. */
bool reel_user_probes_begin(const struct reel_sampler_parts *parts, struct reel_user_probes *ret);
/* Whether a region, in native byte order, has the trampoline's address anywhere. */
bool reel_user_probes_has_return(const struct reel_user_probes *probes, uint64_t address,
				 const uint8_t *bytes, size_t size);
void reel_user_probes_restore_stack(const struct reel_user_probes *probes, uint64_t address,
				    uint8_t *bytes, size_t size);
/* `values`: n registers by DWARF number, and the pc.  The regions are already restored. */
void reel_user_probes_restore_registers(const struct reel_user_probes *probes,
					const struct reel_region *regions, size_t n_regions,
					uint64_t *values, uint8_t *known, size_t n);
/* A chain found by frame pointers. */
void reel_user_probes_restore_chain(const struct reel_user_probes *probes, uint64_t *chain,
				    size_t n);

#endif
