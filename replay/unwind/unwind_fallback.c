/* SPDX-License-Identifier: Apache-2.0 */
/* What code, registers and frame records show without CFI: signal trampolines, calls, callers. */
#include <string.h>

#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/unwind_internal.h"

/* ---- reading code --------------------------------------------------------------------- */

/* Code outside modules may be on the stack (signal trampolines of s390x before Linux 5.17). */
static bool read_from_stack(const struct reel_walk *walk, uint64_t address, size_t size,
			    uint8_t *bytes_ret)
{
	uint64_t byte;

	for (size_t i = 0; i < size; i++) {
		if (!reel_memory_read(walk->input->memory, address + i, 1, &byte))
			return false;
		bytes_ret[i] = (uint8_t)byte;
	}
	return true;
}

/* Bytes at a runtime address; `code` is find_code's result for it, or NULL. */
static bool read_code(const struct reel_walk *walk, const struct reel_code *code, uint64_t address,
		      size_t size, uint8_t *bytes_ret)
{
	if (size > REEL_ARCH_CODE_MAX)
		return false;
	if (code && code->read_code)
		return code->read_code(code->module, address - code->bias, size, bytes_ret);
	return read_from_stack(walk, address, size, bytes_ret);
}

/*
 * Bytes of code around an address, read at once for many patterns.  If they are not completely
 * readable (at a segment's end, or on the stack), each pattern's bytes are read separately.
 */
struct window {
	const struct reel_walk *walk;
	const struct reel_code *code;
	uint64_t begin;
	size_t size; /* 0: not read */
	uint8_t bytes[2 * REEL_ARCH_CODE_MAX];
};

static struct window open_window(const struct reel_walk *walk, const struct reel_code *code,
				 uint64_t begin, uint64_t end)
{
	struct window window = { .walk = walk, .code = code, .begin = begin };

	if (code && code->read_code && end - begin <= sizeof(window.bytes) &&
	    code->read_code(code->module, begin - code->bias, end - begin, window.bytes))
		window.size = end - begin;
	return window;
}

static bool window_read(const struct window *window, uint64_t address, size_t size,
			uint8_t *bytes_ret)
{
	uint64_t at = address - window->begin;

	if (at > window->size || size > window->size - at)
		return read_code(window->walk, window->code, address, size, bytes_ret);
	memcpy(bytes_ret, window->bytes + at, size);
	return true;
}

static bool matches(const uint8_t *bytes, const uint8_t *code, const uint8_t *mask, size_t size)
{
	if (!mask)
		return !memcmp(bytes, code, size);
	for (size_t i = 0; i < size; i++) {
		if ((bytes[i] & mask[i]) != code[i])
			return false;
	}
	return true;
}

static bool code_matches(const struct window *window, uint64_t address,
			 const struct reel_arch_signal_frame *frame)
{
	uint8_t bytes[REEL_ARCH_CODE_MAX];

	return window_read(window, address, frame->size, bytes) &&
	       matches(bytes, frame->code, frame->mask, frame->size);
}

static size_t longest_signal_frame(const struct reel_arch *arch)
{
	size_t longest = 0;

	for (size_t i = 0; i < arch->n_signal_frames; i++)
		if (arch->signal_frames[i].size > longest)
			longest = arch->signal_frames[i].size;
	return longest;
}

/* The entry for an ELF address, cleared if it was another's; NULL without a cache. */
static struct cached_call *cached_call(const struct reel_walk *walk, const struct reel_code *code,
				       uint64_t address)
{
	uint64_t hash = (address ^ code->id << 48) * 0x9e3779b97f4a7c15;
	struct cached_call *cached;

	if (!walk->input->cache || !code->id)
		return NULL;
	cached = &walk->input->cache->calls[hash >> (64 - CACHED_CALL_BITS)];
	if (cached->id != code->id || cached->address != address)
		*cached = (struct cached_call){ .address = address, .id = code->id };
	return cached;
}

/* The number of the signal frame whose code is at pc; arch->n_signal_frames: none. */
static size_t find_signal_frame(const struct reel_walk *walk, const struct reel_code *code)
{
	const struct reel_arch *arch = walk->input->arch;
	size_t longest = longest_signal_frame(arch);
	uint64_t pc = walk->state->pc;
	struct window window =
		open_window(walk, code, walk->first ? pc - longest : pc, pc + longest);

	for (size_t i = 0; i < arch->n_signal_frames; i++) {
		const struct reel_arch_signal_frame *frame = &arch->signal_frames[i];
		/* A handler returns to its start.  A sample may be anywhere in it, since it never
		 * moves sp, or after it, whatever `where`: a pending interrupt is taken before the
		 * kernel records a system call (arm64's el0_svc enables interrupts before
		 * el0_svc_common sets syscallno; Linux 6.12). */
		size_t last = !walk->first ? 0 : frame->size;

		for (size_t into = 0; into <= last; into += arch->code_align) {
			if (code_matches(&window, pc - into, frame))
				return i;
		}
	}
	return arch->n_signal_frames;
}

const struct reel_row *reel_walk_match_signal_frame(const struct reel_walk *walk,
						    const struct reel_code *code)
{
	struct cached_call *cached =
		code && !walk->first ? cached_call(walk, code, walk->state->pc - code->bias) : NULL;
	size_t number;

	if (cached && cached->is_no_signal_frame)
		return NULL;
	number = find_signal_frame(walk, code);
	if (number < walk->input->arch->n_signal_frames)
		return walk->programs->signal_frames[number];
	if (cached)
		cached->is_no_signal_frame = true;
	return NULL;
}

/* ---- checks ----------------------------------------------------------------------------- */

/* The instructions that end at `address`, as bits; all of them if no bytes are readable. */
static uint32_t instructions_before(const struct reel_walk *walk, const struct reel_code *code,
				    uint64_t address, const struct reel_arch_call *instructions,
				    size_t n)
{
	uint32_t found = 0;
	uint8_t bytes[REEL_ARCH_CODE_MAX];
	struct window window;
	size_t longest = 0;
	bool readable = false;

	for (size_t i = 0; i < n; i++)
		if (instructions[i].size > longest)
			longest = instructions[i].size;
	window = open_window(walk, code, address - longest, address);
	for (size_t i = 0; i < n; i++) {
		const struct reel_arch_call *instruction = &instructions[i];
		const uint8_t *at = bytes;

		/* The window ends at the address. */
		if (window.size)
			at = window.bytes + (window.size - instruction->size);
		else if (!read_code(walk, code, address - instruction->size, instruction->size,
				    bytes))
			continue;
		readable = true;
		if (matches(at, instruction->code, instruction->mask, instruction->size))
			found |= 1u << i;
	}
	return readable ? found : UINT32_MAX;
}

bool reel_walk_is_behind_system_call(const struct reel_walk *walk, uint64_t address)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code code = { 0 };

	if (input->find_code(input->context, address - 1, &code) != REEL_CODE_FOUND)
		/* If no file precedes it, the pc itself may begin a mapping. */
		return input->find_code(input->context, address, &code) != REEL_CODE_FOUND;
	return instructions_before(walk, &code, address, input->arch->system_calls,
				   input->arch->n_system_calls);
}

uint32_t reel_walk_calls_before(const struct reel_walk *walk, const struct reel_code *code,
				uint64_t address)
{
	const struct reel_arch *arch = walk->input->arch;
	struct cached_call *cached = cached_call(walk, code, address - code->bias);
	uint32_t calls;

	if (cached && cached->knows_calls)
		return cached->calls;
	calls = instructions_before(walk, code, address, arch->calls, arch->n_calls);
	if (cached) {
		cached->calls = calls;
		cached->knows_calls = true;
	}
	return calls;
}

/* After a call instruction if the bytes are readable; otherwise in executable memory.  `code_ret`
 * may be NULL. */
bool reel_walk_is_behind_call(const struct reel_walk *walk, uint64_t address,
			      struct reel_code *code_ret)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code code = { 0 };

	if (!address || address % input->arch->code_align ||
	    input->find_code(input->context, address - 1, &code) == REEL_CODE_NO_MAPPING)
		return false;
	if (code_ret)
		*code_ret = code;
	return reel_walk_calls_before(walk, &code, address);
}

bool reel_walk_is_return_address(const struct reel_walk *walk)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code code = { 0 };
	bool found = input->find_code(input->context, walk->state->pc, &code) == REEL_CODE_FOUND;

	return reel_walk_is_behind_call(walk, walk->state->pc, NULL) ||
	       reel_walk_match_signal_frame(walk, found ? &code : NULL);
}

bool reel_walk_is_landing_pad(const struct reel_walk *walk)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_row *before;
	struct reel_code code = { 0 };

	/* riscv64 calls __riscv_save_* through t0, which is not a call by its psABI. */
	if (input->arch->flags & REEL_ARCH_LINK_REGISTER ||
	    input->find_code(input->context, walk->state->pc - 1, &code) != REEL_CODE_FOUND ||
	    !code.rows)
		return false;
	before = reel_rows_at(code.rows, walk->state->pc - 1 - code.bias);
	return reel_row_outcome(before) == REEL_ROW_STEP && reel_row_has_personality(before) &&
	       !reel_row_ends_function(before) &&
	       !instructions_before(walk, &code, walk->state->pc, input->arch->calls,
				    input->arch->n_calls);
}

bool reel_walk_try(const struct reel_walk *walk, const struct reel_row *row,
		   struct reel_unwind_state *ret)
{
	enum reel_stop stop;

	*ret = *walk->state;
	if (reel_row_apply(row, ret, false, 0, &stop) != REEL_NEXT_CALLER)
		return false;
	ret->pc = reel_walk_strip(walk, ret->pc);
	return true;
}

bool reel_walk_undo_call(struct reel_walk *walk)
{
	struct reel_unwind_state caller;

	if (!reel_walk_try(walk, walk->programs->undo_call, &caller) ||
	    !reel_walk_is_behind_call(walk, caller.pc, NULL))
		return false;
	*walk->state = caller;
	return true;
}

/* ---- frame pointers ----------------------------------------------------------------------- */

/* The register of the frame record: fp, or sp if frames have a back chain (s390x). */
static uint8_t frame_record_register(const struct reel_walk *walk)
{
	return walk->input->arch->flags & REEL_ARCH_BACK_CHAIN ? walk->programs->sp
							       : walk->programs->fp;
}

static bool has_no_use_by_code(const struct reel_code *code, uint64_t address, uint8_t slot)
{
	struct reel_synthesized_rows rows;

	if (!code->synthesis)
		return false;
	reel_synthesis_at(code->synthesis, address - code->bias, &rows);
	return rows.n && rows.rows[0].by == REEL_BY_RETURN && !rows.by_fp &&
	       !reel_row_needs(rows.rows[0].row, slot);
}

/*
 * The caller's CFI or code finds its frame by sp, as code compiled without frame pointers does: it
 * may keep anything in that register.
 */
static bool has_no_use_for(const struct reel_walk *walk, const struct reel_unwind_state *caller,
			   uint8_t slot)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_row *row;
	struct reel_code code = { 0 };
	enum reel_code_found found;

	if (input->arch->flags & (REEL_ARCH_FRAME_STEP_LOSES_SP | REEL_ARCH_BACK_CHAIN) ||
	    !caller->pc)
		return false;
	found = input->find_code(input->context, caller->pc - 1, &code);
	if (found != REEL_CODE_FOUND || !code.rows)
		return found != REEL_CODE_NO_MAPPING && !code.rows &&
		       has_no_use_by_code(&code, caller->pc, slot);
	row = reel_rows_at(code.rows, caller->pc - 1 - code.bias);
	return reel_row_outcome(row) == REEL_ROW_ROOT ||
	       (reel_row_outcome(row) == REEL_ROW_STEP && !reel_row_needs(row, slot));
}

/*
 * Scrubbing removes words that are not addresses on this stack.  If the caller's frame is on
 * another stack (of a runtime called from C), the removed word may have been its address.  That
 * frame is not recorded, so the walk ends there either way.
 */
static bool may_be_on_another_stack(const struct reel_walk *walk, uint64_t frame_pointer)
{
	return walk->state->scrubbed && frame_pointer == REEL_STATE_SCRUBBED &&
	       !(walk->input->arch->flags & REEL_ARCH_BACK_CHAIN);
}

static bool is_sane_frame_record(const struct reel_walk *walk,
				 const struct reel_unwind_state *caller)
{
	const struct reel_unwind_state *state = walk->state;
	uint8_t slot = frame_record_register(walk), sp = walk->programs->sp;
	unsigned word = walk->input->arch->word_size;
	uint64_t from = state->registers[slot], to = caller->registers[slot];

	if (from % word || !reel_walk_knows(caller, slot))
		return false;
	if (reel_walk_knows(state, sp) && from < state->registers[sp])
		return false;
	/* Frames ascend; the last one's pointer is 0. */
	return !to || (to % word == 0 && to > from) || has_no_use_for(walk, caller, slot) ||
	       may_be_on_another_stack(walk, to);
}

bool reel_walk_by_frame_record(const struct reel_walk *walk, struct reel_unwind_state *ret)
{
	const struct reel_arch *arch = walk->input->arch;
	uint8_t slot = frame_record_register(walk), sp = walk->programs->sp;
	struct reel_code there = { 0 };

	if (walk->input->no_frame_pointers || !reel_walk_knows(walk->state, slot) ||
	    !reel_walk_try(walk, walk->programs->frame_step, ret) ||
	    !is_sane_frame_record(walk, ret))
		return false;
	if (arch->flags & REEL_ARCH_FRAME_STEP_LOSES_SP)
		ret->known &= ~((uint64_t)1 << sp);
	/* AAPCS64 6.4.6, and all others: the last record is all zeros. */
	if (!ret->pc)
		return !ret->registers[slot];
	/* JIT code may be returned to without a call: HotSpot's interpreter pushes where to
	 * continue (its invoke return entries) and jumps. */
	return reel_walk_is_behind_call(walk, ret->pc, &there) || (there.read_code && !there.rows);
}

void reel_walk_take_record(const struct reel_walk *walk, struct reel_unwind_state *caller)
{
	uint8_t fp = frame_record_register(walk), sp = walk->programs->sp;
	struct reel_unwind_state record;

	if (reel_walk_knows(caller, fp) || !reel_walk_by_frame_record(walk, &record) ||
	    record.pc != caller->pc || !reel_walk_knows(&record, sp) ||
	    record.registers[sp] != caller->registers[sp])
		return;
	caller->registers[fp] = record.registers[fp];
	caller->known |= (uint64_t)1 << fp;
}

bool reel_walk_find_sp(struct reel_walk *walk, const struct reel_row *row)
{
	uint8_t fp = walk->programs->fp, sp = walk->programs->sp;
	struct reel_unwind_state caller;
	uint64_t found;

	if (reel_walk_knows(walk->state, sp) || !reel_walk_by_frame_record(walk, &caller) ||
	    !reel_row_sp_of_record(row, walk->input->arch, walk->state->registers[fp], &found))
		return false;
	walk->state->registers[sp] = found;
	walk->state->known |= (uint64_t)1 << sp;
	return true;
}

/* ---- link registers ------------------------------------------------------------------------- */

/*
 * The link register holds the caller in a leaf function, and an address within the function itself
 * after it has called another.  Without CFI, the only difference is that code with CFI is not the
 * function itself.
 */
static bool is_another_function(const struct reel_code *here, struct reel_code *there,
				uint64_t address)
{
	return there->rows &&
	       (!here || here->rows != there->rows ||
		reel_row_outcome(reel_rows_at(there->rows, address - 1 - there->bias)) !=
			REEL_ROW_NONE);
}

bool reel_walk_by_link_register(const struct reel_walk *walk, const struct reel_code *here,
				struct reel_unwind_state *ret, bool *certain_ret)
{
	struct reel_code there;

	if (!walk->first || !reel_walk_knows(walk->state, walk->programs->link) ||
	    !reel_walk_try(walk, walk->programs->undo_call, ret) ||
	    !reel_walk_is_behind_call(walk, ret->pc, &there))
		return false;
	*certain_ret = is_another_function(here, &there, ret->pc);
	return true;
}

static bool may_be_at(const struct reel_walk *walk, const struct reel_arch_entry *entry)
{
	return (walk->first && walk->exact) || entry->behind_call;
}

/* The entry of arch/ with the code at the pc, which describes the stack there; NULL if none. */
static const struct reel_arch_entry *find_entry(const struct reel_walk *walk,
						const struct reel_code *code,
						const struct reel_arch_entry *entries, size_t count)
{
	uint8_t bytes[REEL_ARCH_CODE_MAX];
	uint64_t pc = walk->state->pc;
	struct window window;
	size_t before = 0, behind = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct reel_arch_entry *entry = &entries[i];
		size_t left = entry->size > entry->into ? entry->size - entry->into : 0;

		if (!may_be_at(walk, entry))
			continue;
		before = entry->into > before ? entry->into : before;
		behind = left > behind ? left : behind;
		any = true;
	}
	if (!any)
		return NULL;
	window = open_window(walk, code, pc - before, pc + behind);
	for (size_t i = 0; i < count; i++) {
		const struct reel_arch_entry *entry = &entries[i];

		if (may_be_at(walk, entry) &&
		    window_read(&window, pc - entry->into, entry->size, bytes) &&
		    matches(bytes, entry->code, entry->mask, entry->size))
			return entry;
	}
	return NULL;
}

bool reel_walk_undo_entry(struct reel_walk *walk, const struct reel_code *code)
{
	const struct reel_arch *arch = walk->input->arch;
	const struct reel_arch_entry *entry =
		find_entry(walk, code, arch->entries, arch->n_entries);
	uint64_t *sp = &walk->state->registers[walk->programs->sp], pushed;

	if (!entry)
		return false;
	if (!reel_walk_knows(walk->state, walk->programs->sp))
		return false;
	pushed = (uint64_t)entry->pushed * walk->input->arch->word_size;
	*sp += pushed;
	if (reel_walk_undo_call(walk))
		return true;
	*sp -= pushed;
	return false;
}

bool reel_walk_is_at_return(const struct reel_walk *walk, const struct reel_code *code)
{
	const struct reel_arch *arch = walk->input->arch;

	return find_entry(walk, code, arch->returns, arch->n_returns);
}

bool reel_walk_undo_return(struct reel_walk *walk, const struct reel_code *code)
{
	return reel_walk_is_at_return(walk, code) && reel_walk_undo_call(walk);
}
