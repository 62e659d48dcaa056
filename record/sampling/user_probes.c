/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/user_probes.h"

#include <string.h>

/* s390x ELF ABI supplement: r14's place in the save area is at 112, of 160 bytes. */
#define SAVE_AREA_SIZE 160

/* The trampoline and each copy of an instruction have their own part of the page
 * (asm/uprobes.h: UPROBE_XOL_SLOT_BYTES, at most 128 on all CPUs). */
#define TRAMPOLINE_SIZE 128

/* Longest instruction. */
#define INSTRUCTION_MAX 16

/*
 * x86-64 from 6.11 on (arch/x86/kernel/uprobes.c, uretprobe_trampoline_entry): it pushes rax, rcx
 * and r11, makes a system call, pops r11 and rcx, and returns to the address that the call has put
 * in rax's place, at the end of the call: until then, the stack has rax there, and the address is
 * unknown.
 */
#define TRAMPOLINE_PUSHED 24
static const struct {
	uint8_t pc, sp_to_return;
} after_call[] = {
	{ 13, 16 }, /* pop r11 */
	{ 15, 8 },  /* pop rcx */
	{ 16, 0 },  /* ret */
};

/* DWARF numbers of the pc (bpf/registers/), and of sp. */
static const struct {
	uint16_t pc, sp;
	enum reel_return_place place;
	size_t word_size;
} cpus[] = {
	{ 16, 7, REEL_RETURN_AT_SP, 8 },     /* x86-64 */
	{ 8, 4, REEL_RETURN_AT_SP, 4 },	     /* i386 */
	{ 32, 31, REEL_RETURN_BELOW_SP, 8 }, /* arm64 */
	{ 15, 13, REEL_RETURN_BELOW_SP, 4 }, /* arm */
	{ 64, 2, REEL_RETURN_BELOW_SP, 8 },  /* riscv64 */
	{ 65, 15, REEL_RETURN_ABOVE_SP, 8 }, /* s390x */
};

bool reel_user_probes_begin(const struct reel_sampler_parts *parts, struct reel_user_probes *ret)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!parts->user_probes || !parts->user_probes->trampoline)
		return false;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		if (sample->pc_register != cpus[i].pc)
			continue;
		*ret = (struct reel_user_probes){
			.state = parts->user_probes,
			.n_returns = parts->n_returns,
			.place = cpus[i].place,
			.word_size = sample->flags & REEL_BPF_COMPAT ? 4 : cpus[i].word_size,
			.sp = sample->registers[cpus[i].sp],
			.sp_number = cpus[i].sp,
			.is_x86_64 = cpus[i].pc == 16,
			.rax = sample->registers[0],
			.in_kernel = sample->where == REEL_BPF_WHERE_INTERRUPT,
		};
		return sample->known >> cpus[i].sp & 1;
	}
	return false;
}

static uint64_t word_get(const uint8_t *bytes, size_t size)
{
	uint32_t half;
	uint64_t word;

	if (size == 4) {
		memcpy(&half, bytes, 4);
		return half;
	}
	memcpy(&word, bytes, 8);
	return word;
}

static void word_set(uint8_t *bytes, size_t size, uint64_t word)
{
	uint32_t half = (uint32_t)word;

	if (size == 4)
		memcpy(bytes, &half, 4);
	else
		memcpy(bytes, &word, 8);
}

/*
 * The function that has saved its return address at `place`.  The latest come first: a function left
 * by longjmp stays until the kernel notices, and its frame may be another's by now.
 */
static const struct reel_bpf_return *owner_of(const struct reel_user_probes *probes, uint64_t place)
{
	const struct reel_bpf_return *found = NULL;

	for (size_t i = 0; i < probes->n_returns; i++) {
		const struct reel_bpf_return *it = &probes->state->returns[i];

		switch (probes->place) {
		case REEL_RETURN_AT_SP:
			if (it->stack == place)
				return it;
			break;
		case REEL_RETURN_BELOW_SP:
			if (it->stack > place && (!found || it->stack < found->stack))
				found = it;
			break;
		case REEL_RETURN_ABOVE_SP:
			if (it->stack <= place && place - it->stack < SAVE_AREA_SIZE &&
			    (!found || it->stack > found->stack))
				found = it;
			break;
		}
	}
	return found;
}

bool reel_user_probes_has_return(const struct reel_user_probes *probes, uint64_t address,
				 const uint8_t *bytes, size_t size)
{
	size_t skipped = -address % probes->word_size;

	for (size_t i = skipped; i + probes->word_size <= size; i += probes->word_size) {
		if (word_get(bytes + i, probes->word_size) == probes->state->trampoline)
			return true;
	}
	return false;
}

void reel_user_probes_restore_stack(const struct reel_user_probes *probes, uint64_t address,
				    uint8_t *bytes, size_t size)
{
	size_t skipped = -address % probes->word_size;

	for (size_t i = skipped; i + probes->word_size <= size; i += probes->word_size) {
		const struct reel_bpf_return *owner;

		if (word_get(bytes + i, probes->word_size) != probes->state->trampoline)
			continue;
		owner = owner_of(probes, address + i);
		if (owner)
			word_set(bytes + i, probes->word_size, owner->address);
	}
}

/* The innermost function that has not returned. */
static const struct reel_bpf_return *innermost(const struct reel_user_probes *probes)
{
	const struct reel_bpf_return *found = NULL;

	for (size_t i = 0; i < probes->n_returns; i++) {
		const struct reel_bpf_return *it = &probes->state->returns[i];

		if (it->stack >= probes->sp && (!found || it->stack < found->stack))
			found = it;
	}
	return found;
}

/* A word of the sample's stack; 0 if it is not there. */
static uint64_t stack_word(const struct reel_region *regions, size_t n, uint64_t address)
{
	uint64_t word;

	for (size_t i = 0; i < n; i++) {
		if (address < regions[i].address ||
		    address - regions[i].address > regions[i].size ||
		    regions[i].size - (address - regions[i].address) < sizeof(word))
			continue;
		memcpy(&word, regions[i].bytes + (address - regions[i].address), sizeof(word));
		return word;
	}
	return 0;
}

static void forget(uint8_t *known, uint64_t *values, unsigned number)
{
	known[number / 8] &= (uint8_t) ~(1u << number % 8);
	values[number] = 0;
}

/* The trampoline of x86-64 after its system call: the kernel has forgotten the function. */
static uint64_t trampoline_leave(const struct reel_user_probes *probes,
				 const struct reel_region *regions, size_t n_regions, uint64_t at,
				 uint64_t *sp)
{
	for (size_t i = 0; i < sizeof(after_call) / sizeof(*after_call); i++) {
		uint64_t address;

		if (after_call[i].pc != at)
			continue;
		*sp = probes->sp + after_call[i].sp_to_return;
		address = stack_word(regions, n_regions, *sp);
		return i || address != probes->rax ? address : 0;
	}
	return 0;
}

/* The function has returned to the trampoline: the caller continues. */
static void registers_return(const struct reel_user_probes *probes,
			     const struct reel_region *regions, size_t n_regions, uint64_t *values,
			     uint8_t *known, size_t n)
{
	uint64_t popped = probes->place == REEL_RETURN_AT_SP ? probes->word_size : 0;
	uint64_t address = 0, sp = 0, at = values[n] - probes->state->trampoline;

	for (size_t i = 0; i < probes->n_returns && !address; i++) {
		const struct reel_bpf_return *it = &probes->state->returns[i];

		if (it->stack + popped - probes->sp <=
		    (probes->is_x86_64 ? TRAMPOLINE_PUSHED : 0)) {
			address = it->address;
			sp = it->stack;
		}
	}
	if (!address && probes->is_x86_64)
		address = trampoline_leave(probes, regions, n_regions, at, &sp);
	if (!address || address == probes->state->trampoline)
		return;
	values[n] = address;
	values[probes->sp_number] = sp + popped;
	if (probes->is_x86_64 && at) {
		forget(known, values, 0);
		forget(known, values, 2);
		forget(known, values, 11);
	}
}

/*
 * Whether the kernel was interrupted after it had pushed a word for the probed instruction
 * (arch/x86/kernel/uprobes.c, emulate_push_stack).  For a call (branch_emulate_op), the pc is already
 * the return address.  A push is recognized only at a function's entry.
 */
static bool has_pushed(const struct reel_user_probes *probes, const struct reel_region *regions,
		       size_t n_regions, const uint64_t *values, size_t n)
{
	const struct reel_bpf_return *latest = probes->n_returns ? probes->state->returns : NULL;
	uint64_t word = stack_word(regions, n_regions, probes->sp);

	if (!probes->is_x86_64 || !probes->in_kernel)
		return false;
	if (word == values[n])
		return true;
	if (!latest || latest->function != values[n] || latest->stack - probes->sp != 8)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (word == values[i])
			return true;
	}
	return false;
}

/*
 * Whether the kernel was interrupted when it had handled the trampoline's system call, and had made
 * room again for the three words that the trampoline pushed, but the pc was still the caller's.
 */
static bool has_made_room(const struct reel_user_probes *probes, const struct reel_region *regions,
			  size_t n_regions, const uint64_t *values)
{
	return probes->is_x86_64 && probes->in_kernel && values[11] &&
	       stack_word(regions, n_regions, probes->sp) == values[11] &&
	       stack_word(regions, n_regions, probes->sp + 8) == values[2] &&
	       stack_word(regions, n_regions, probes->sp + 16) == values[0];
}

void reel_user_probes_restore_registers(const struct reel_user_probes *probes,
					const struct reel_region *regions, size_t n_regions,
					uint64_t *values, uint8_t *known, size_t n)
{
	const struct reel_bpf_user_probes *state = probes->state;
	const struct reel_bpf_return *latest = innermost(probes);
	bool is_noted;

	if (state->its_copy && values[n] - state->its_copy <= INSTRUCTION_MAX)
		values[n] = values[n] - state->its_copy + state->probed;
	else if (values[n] - state->trampoline < TRAMPOLINE_SIZE)
		registers_return(probes, regions, n_regions, values, known, n);
	else if (has_made_room(probes, regions, n_regions, values))
		values[probes->sp_number] += TRAMPOLINE_PUSHED;
	else if (has_pushed(probes, regions, n_regions, values, n))
		values[probes->sp_number] += 8;
	if (probes->place == REEL_RETURN_AT_SP || !latest)
		return;
	/* The kernel replaces a function's return address before it notes the old one
	 * (prepare_uretprobe): in between, the latest one is the caller's. */
	is_noted = !probes->in_kernel || latest->stack == probes->sp;
	for (unsigned i = 0; i < n; i++) {
		if (values[i] == state->trampoline && is_noted)
			values[i] = latest->address;
		else if (values[i] == state->trampoline)
			forget(known, values, i);
	}
}

void reel_user_probes_restore_chain(const struct reel_user_probes *probes, uint64_t *chain,
				    size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (chain[i] != probes->state->trampoline)
			continue;
		while (at < probes->n_returns && probes->state->returns[at].stack < probes->sp)
			at++;
		if (at < probes->n_returns)
			chain[i] = probes->state->returns[at++].address;
	}
}
