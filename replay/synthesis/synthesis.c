/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/synthesis/entries.h"
#include "replay/synthesis/facts.h"
#include "replay/synthesis/synthesis_internal.h"

/* Registers that a function keeps: those that callees keep by the ABI, and sp. */
static uint64_t slots_kept_by_calls(const struct reel_arch *arch, const struct reel_cfi_row *called)
{
	uint64_t kept = (uint64_t)1 << reel_arch_slot(arch, arch->sp);

	for (uint8_t i = 0; i < arch->n_registers; i++) {
		if (called->rules[arch->registers[i].dwarf].kind == REEL_RULE_SAME)
			kept |= (uint64_t)1 << i;
	}
	return kept;
}

enum reel_cfi_found reel_synthesis_cfi_row(void *rows, uint64_t address, struct reel_cfi_row *ret)
{
	return rows ? reel_cfi_row_at(rows, address, ret, NULL) : REEL_CFI_NONE;
}

struct reel_error *reel_synthesis_create(const struct reel_synthesis_input *input,
					 struct reel_synthesis **ret)
{
	struct reel_decoder *decoder;
	struct reel_synthesis *synthesis;
	struct reel_cfi_row called;
	struct reel_error *error = reel_decoder_create(input->arch, &decoder);

	*ret = NULL;
	if (error || !decoder)
		return error;
	synthesis = calloc(1, sizeof(*synthesis));
	if (!synthesis) {
		reel_decoder_destroy(decoder);
		return reel_error_no_memory();
	}
	pthread_mutex_init(&synthesis->lock, NULL);
	synthesis->reader.input = *input;
	synthesis->reader.decoder = decoder;
	synthesis->reader.state = 1;
	/* arch/'s programs always run. */
	if (reel_cfi_run_program(input->arch, input->arch->undo_call, &called)) {
		synthesis->kept_by_calls = slots_kept_by_calls(input->arch, &called);
		synthesis->sp_at_entry = (int32_t)-called.cfa.offset;
	}
	synthesis->facts.item_size = reel_facts_size(input->arch);
	synthesis->states.item_size = sizeof(struct reel_entry_state);
	*ret = synthesis;
	return NULL;
}

static void forget(struct reel_synthesis *synthesis)
{
	reel_returns_free(synthesis);
	reel_entries_free(synthesis);
	reel_beginnings_free(synthesis);
	reel_pool_free(&synthesis->facts);
	free(synthesis->fact_slots);
	synthesis->fact_slots = NULL;
	synthesis->n_fact_slots = synthesis->fact_slots_capacity = 0;
	reel_pool_free(&synthesis->states);
	reel_made_rows_free(&synthesis->fact_rows);
	reel_made_rows_free(&synthesis->state_rows);
	reel_made_rows_free(&synthesis->leaving_rows);
}

void reel_synthesis_changed(struct reel_synthesis *synthesis)
{
	pthread_mutex_lock(&synthesis->lock);
	if (synthesis->n_returns + synthesis->n_entry_addresses > REEL_SYNTHESIS_KEPT_MAX)
		forget(synthesis);
	reel_beginnings_free(synthesis);
	for (unsigned i = 0; i < REEL_CODE_WINDOWS; i++)
		synthesis->reader.windows[i].size = 0;
	synthesis->reader.state++;
	pthread_mutex_unlock(&synthesis->lock);
}

void reel_synthesis_destroy(struct reel_synthesis *synthesis)
{
	if (!synthesis)
		return;
	forget(synthesis);
	free(synthesis->calls);
	reel_decoder_destroy(synthesis->reader.decoder);
	pthread_mutex_destroy(&synthesis->lock);
	free(synthesis);
}

static struct reel_known_call look_at_call(struct reel_synthesis *synthesis, uint64_t address,
					   size_t size)
{
	struct reel_known_call call = { .address = address,
					.state = synthesis->reader.state,
					.size = (uint8_t)size };
	struct reel_instruction instruction;

	if (reel_code_decode(&synthesis->reader, address - size, &instruction) &&
	    instruction.size == size && instruction.flow == REEL_FLOW_CALL) {
		call.has_target = instruction.has_target;
		call.target = instruction.target;
	}
	return call;
}

bool reel_synthesis_call_target(struct reel_synthesis *synthesis, uint64_t address, size_t size,
				uint64_t *target_ret)
{
	uint64_t hash = (address ^ (uint64_t)size << 56) * 0x9e3779b97f4a7c15;
	struct reel_known_call call, *known = NULL;

	pthread_mutex_lock(&synthesis->lock);
	/* Without memory for the table, no calls are cached. */
	if (!synthesis->calls)
		synthesis->calls =
			calloc((size_t)1 << REEL_KNOWN_CALLS_BITS, sizeof(*synthesis->calls));
	if (synthesis->calls)
		known = &synthesis->calls[hash >> (64 - REEL_KNOWN_CALLS_BITS)];
	if (known && known->address == address && known->size == size &&
	    known->state == synthesis->reader.state)
		call = *known;
	else
		call = look_at_call(synthesis, address, size);
	if (known)
		*known = call;
	pthread_mutex_unlock(&synthesis->lock);
	*target_ret = call.target;
	return call.has_target;
}

/* Where straight-line code continues after an instruction; false at its first call or its end. */
static bool continues(const struct reel_instruction *instruction, uint64_t next, uint64_t *ret)
{
	*ret = next;
	switch ((enum reel_flow)instruction->flow) {
	case REEL_FLOW_NEXT:
	case REEL_FLOW_BRANCH:
		return true;
	case REEL_FLOW_JUMP:
		*ret = instruction->target;
		return instruction->has_target;
	case REEL_FLOW_CALL: /* i386 pushes its own address this way */
		return instruction->has_target && instruction->target == next;
	default:
		return false;
	}
}

/* glibc's and Free Pascal's entries have up to 25 instructions before their call. */
#define UNTIL_CALL_MAX 64

bool reel_synthesis_is_until_call(struct reel_synthesis *synthesis, uint64_t entry,
				  uint64_t address)
{
	struct reel_instruction instruction;
	bool found = false, goes_on = true;

	pthread_mutex_lock(&synthesis->lock);
	for (unsigned i = 0; i < UNTIL_CALL_MAX && goes_on && !found; i++) {
		goes_on = reel_code_decode(&synthesis->reader, entry, &instruction);
		if (!goes_on)
			break;
		found = address - entry < instruction.size;
		goes_on = continues(&instruction, entry + instruction.size, &entry);
	}
	pthread_mutex_unlock(&synthesis->lock);
	return found;
}

bool reel_synthesis_only_looks(struct reel_synthesis *synthesis, uint64_t from, uint64_t to)
{
	struct reel_instruction instruction;
	bool looks = true;

	pthread_mutex_lock(&synthesis->lock);
	while (looks && from < to) {
		looks = reel_code_decode(&synthesis->reader, from, &instruction) &&
			!instruction.n_effects &&
			(instruction.flow == REEL_FLOW_NEXT ||
			 instruction.flow == REEL_FLOW_BRANCH);
		from += instruction.size;
	}
	pthread_mutex_unlock(&synthesis->lock);
	return looks && from == to;
}

/* ---- rows -------------------------------------------------------------------------------- */

bool reel_find_made_row(const struct reel_made_rows *rows, uint32_t number,
			const struct reel_row **ret)
{
	if (number >= rows->n || !rows->rows[number].made)
		return false;
	*ret = rows->rows[number].row;
	return true;
}

const struct reel_row *reel_make_row(struct reel_made_rows *rows, const struct reel_arch *arch,
				     uint32_t number, const struct reel_cfi_row *cfi_row,
				     uint8_t *expressions)
{
	struct reel_made_row *made;
	struct reel_error *error = NULL;

	while (rows->n <= number) {
		if (!reel_array_reserve(&rows->rows, rows->n, &rows->capacity,
					sizeof(*rows->rows))) {
			free(expressions);
			return NULL;
		}
		rows->rows[rows->n++] = (struct reel_made_row){ 0 };
	}
	made = &rows->rows[number];
	made->made = true;
	made->expressions = expressions;
	if (cfi_row)
		error = reel_row_create(arch, cfi_row, &made->row);
	if (error) {
		reel_error_destroy(error);
		made->row = NULL;
	}
	return made->row;
}

void reel_made_rows_free(struct reel_made_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		reel_row_destroy(rows->rows[i].row);
		free(rows->rows[i].expressions);
	}
	free(rows->rows);
	*rows = (struct reel_made_rows){ 0 };
}
