/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows by following the code from an entry.  Right after a call, the place of the CFA is known, and
 * each instruction's effect is tracked: which registers hold an address in the frame, and where the
 * caller's registers were saved.  If the entry is a call's target, this also shows whether the call
 * can have led to an address.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/synthesis/entries.h"
#include "base/array.h"
#include "replay/synthesis/synthesis_internal.h"

#define PASSES_MAX 64

/* Limit of cached addresses of all entries; beyond it, all are dropped. */
#define ADDRESSES_MAX (1u << 20)

/* Reached in different states. */
#define STATE_MANY (UINT32_MAX - 1)

struct reached {
	uint64_t address;
	uint32_t state; /* number, or MANY */
	uint8_t size;	/* of the instruction; 0: not decoded */
	bool jumped_to;
};

/* All results from an entry. */
struct entry {
	struct reel_id_entry entry;
	struct reel_code_seen *seen;
	bool leaves; /* it also leads to code that was not followed */
	/* The state at its jumps through a register or memory: number, MANY, or POOL_NONE. */
	uint32_t leaving;
	size_t n;
	struct reached reached[]; /* ascending by address */
};

static const struct reel_entry_state *state_at(const struct reel_synthesis *synthesis,
					       uint32_t number)
{
	return reel_pool_at(&synthesis->states, number);
}

static bool has(uint64_t slots, uint8_t slot)
{
	return slots >> slot & 1;
}

/* ---- one instruction -------------------------------------------------------------------- */

static uint8_t first_of(uint64_t slots)
{
	return (uint8_t)__builtin_ctzll(slots);
}

static void lose_place(struct reel_entry_state *state, uint8_t slot)
{
	state->placed &= ~((uint64_t)1 << slot);
	state->place[slot] = 0;
}

static void lose_saved(struct reel_entry_state *state, uint8_t slot)
{
	state->saved &= ~((uint64_t)1 << slot);
	state->saved_at[slot] = 0;
}

/* Sets a register's new value from the state before the instruction. */
static void set_register(const struct reel_synthesis *synthesis,
			 const struct reel_entry_state *before, struct reel_value value,
			 uint8_t slot, struct reel_entry_state *state)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	bool is_placed = has(before->placed, value.slot);
	int64_t place = is_placed ? before->place[value.slot] : 0;

	if (value.kind == REEL_VALUE_REGISTER && value.slot == slot && !value.plus)
		return;
	state->intact &= ~((uint64_t)1 << slot);
	lose_place(state, slot);
	if (!is_placed)
		return;
	if (value.kind == REEL_VALUE_REGISTER &&
	    place + value.plus == (int32_t)(place + value.plus)) {
		state->placed |= (uint64_t)1 << slot;
		state->place[slot] = (int32_t)(place + value.plus);
	} else if (value.kind == REEL_VALUE_MEMORY && !value.plus && has(before->saved, slot) &&
		   before->saved_at[slot] == place + value.at) {
		state->intact |= (uint64_t)1 << slot;
		/* s390x loads sp with the other registers. */
		if (slot == reel_arch_slot(arch, arch->sp)) {
			state->placed |= (uint64_t)1 << slot;
			state->place[slot] = synthesis->sp_at_entry;
		}
	}
}

static void store(const struct reel_arch *arch, const struct reel_entry_state *before,
		  const struct reel_effect *effect, struct reel_entry_state *state)
{
	int64_t at;

	if (!has(before->placed, effect->slot))
		return;
	at = (int64_t)before->place[effect->slot] + effect->at;
	for (uint64_t left = state->saved; left; left &= left - 1) {
		uint8_t i = first_of(left);

		if (state->saved_at[i] < at + effect->size &&
		    at < state->saved_at[i] + arch->word_size)
			lose_saved(state, i);
	}
	/* The first store saves it; a later store without a use in between has another purpose. */
	if (effect->size == arch->word_size && effect->value.kind == REEL_VALUE_REGISTER &&
	    !effect->value.plus && has(before->intact, effect->value.slot) &&
	    !has(state->saved, effect->value.slot) && at == (int32_t)at) {
		state->saved |= (uint64_t)1 << effect->value.slot;
		state->saved_at[effect->value.slot] = (int32_t)at;
	}
}

static void pass_call(const struct reel_synthesis *synthesis, struct reel_entry_state *state)
{
	state->intact &= synthesis->kept_by_calls;
	for (uint64_t left = state->placed & ~synthesis->kept_by_calls; left; left &= left - 1)
		lose_place(state, first_of(left));
}

/* The state after an instruction. */
static void go_through(const struct reel_synthesis *synthesis,
		       const struct reel_instruction *instruction, struct reel_entry_state *state)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	struct reel_entry_state before;
	uint8_t sp = reel_arch_slot(arch, arch->sp);
	uint64_t set = 0;

	if (instruction->flow == REEL_FLOW_CALL)
		pass_call(synthesis, state);
	if (!instruction->n_effects)
		return;
	before = *state;
	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];

		if (effect->size)
			store(arch, &before, effect, state);
	}
	for (unsigned i = instruction->n_effects; i--;) {
		const struct reel_effect *effect = &instruction->effects[i];

		if (effect->size || has(set, effect->slot))
			continue;
		set |= (uint64_t)1 << effect->slot;
		set_register(synthesis, &before, effect->value, effect->slot, state);
	}
	if (!has(state->placed, sp))
		return;
	/* Words below sp are unused, except those just stored. */
	for (uint64_t left = state->saved & before.saved; left; left &= left - 1) {
		if (state->saved_at[first_of(left)] < (int64_t)state->place[sp] - arch->red_zone)
			lose_saved(state, first_of(left));
	}
}

static void go_through_push(const struct reel_synthesis *synthesis, struct reel_entry_state *state)
{
	struct reel_instruction push = { 0 };

	reel_code_make_push(synthesis->reader.input.arch, &push);
	go_through(synthesis, &push, state);
}

/* ---- all instructions ---------------------------------------------------------------------- */

static void meet(struct reel_entry_state *to, const struct reel_entry_state *with)
{
	to->intact &= with->intact;
	for (uint64_t left = to->placed; left; left &= left - 1) {
		uint8_t i = first_of(left);

		if (!has(with->placed, i) || with->place[i] != to->place[i])
			lose_place(to, i);
	}
	for (uint64_t left = to->saved; left; left &= left - 1) {
		uint8_t i = first_of(left);

		if (!has(with->saved, i) || with->saved_at[i] != to->saved_at[i])
			lose_saved(to, i);
	}
}

/* The state of a node. */
struct node_state {
	uint32_t number; /* or MANY; NONE: not reached yet */
	bool is_new;	 /* not passed on yet */
};

/* Passes a state, whose number may be NONE, on to a node; true if that changes the node. */
static bool hand_on(struct reel_synthesis *synthesis, const struct reel_entry_state *state,
		    uint32_t number, struct node_state *to)
{
	struct reel_entry_state merged;

	if (to->number == REEL_POOL_NONE) {
		to->number = number != REEL_POOL_NONE ? number
						      : reel_pool_add(&synthesis->states, state);
		return to->is_new = to->number != REEL_POOL_NONE;
	}
	if (to->number == STATE_MANY || to->number == number)
		return false;
	merged = *state;
	meet(&merged, state_at(synthesis, to->number));
	if (!memcmp(&merged, state_at(synthesis, to->number), sizeof(merged)))
		return false;
	to->number = reel_pool_add(&synthesis->states, &merged);
	if (to->number == REEL_POOL_NONE)
		to->number = STATE_MANY;
	return to->is_new = true;
}

static bool pass(struct reel_synthesis *synthesis, const struct reel_code_graph *graph,
		 struct node_state *states)
{
	bool changed = false;

	for (size_t i = 0; i < graph->n; i++) {
		const struct reel_code_node *node = &graph->nodes[i];
		const struct reel_instruction *instruction = reel_code_instruction(graph, node);
		struct reel_entry_state state;
		uint32_t number, after;

		if (!states[i].is_new || states[i].number >= STATE_MANY)
			continue;
		states[i].is_new = false;
		number = states[i].number;
		state = *state_at(synthesis, number);
		go_through(synthesis, instruction, &state);
		/* Most instructions change nothing. */
		after = memcmp(&state, state_at(synthesis, number), sizeof(state)) ? REEL_POOL_NONE
										   : number;
		if (node->next != REEL_CODE_NO_NODE)
			changed |= hand_on(synthesis, &state, after, &states[node->next]);
		if (node->target == REEL_CODE_NO_NODE)
			continue;
		if (instruction->flow == REEL_FLOW_CALL) {
			state = *state_at(synthesis, number);
			go_through_push(synthesis, &state);
			after = REEL_POOL_NONE;
		}
		changed |= hand_on(synthesis, &state, after, &states[node->target]);
	}
	return changed;
}

static struct reel_entry_state state_at_entry(const struct reel_synthesis *synthesis)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	struct reel_entry_state state = { 0 };
	struct reel_cfi_row row;
	uint8_t sp = reel_arch_slot(arch, arch->sp);

	if (!reel_cfi_run_program(arch, arch->undo_call, &row))
		return state;
	for (uint8_t i = 0; i < arch->n_registers; i++)
		state.intact |= (uint64_t)1 << i;
	state.placed = (uint64_t)1 << sp;
	state.place[sp] = synthesis->sp_at_entry;
	if (row.rules[row.return_column].kind == REEL_RULE_OFFSET) {
		uint8_t column = reel_arch_slot(arch, row.return_column);

		state.saved = (uint64_t)1 << column;
		state.saved_at[column] = (int32_t)row.rules[row.return_column].offset;
		state.intact &= ~((uint64_t)1 << column);
	}
	return state;
}

static int compare_reached(const void *a, const void *b)
{
	const struct reached *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void free_entry(void *context, struct reel_id_entry *entry)
{
	(void)context;
	reel_code_seen_free(((struct entry *)entry)->seen);
	free(entry);
}

static void forget(struct reel_synthesis *synthesis)
{
	reel_id_table_visit(&synthesis->entries, free_entry, NULL);
	reel_id_table_free(&synthesis->entries);
	synthesis->entries = (struct reel_id_table){ 0 };
	synthesis->n_entry_addresses = 0;
}

void reel_entries_free(struct reel_synthesis *synthesis)
{
	forget(synthesis);
}

/* Whether it jumps through a register or memory. */
static bool leaves_by_register(const struct reel_code_graph *graph,
			       const struct reel_code_node *node)
{
	const struct reel_instruction *instruction = reel_code_instruction(graph, node);

	return node->flags & REEL_CODE_LEAVES && instruction->flow == REEL_FLOW_JUMP &&
	       !instruction->has_target;
}

/* Whether reel_synthesis_leaving gives the same row for jumps in these states. */
static bool leaves_alike(const struct reel_synthesis *synthesis, uint32_t a, uint32_t b)
{
	uint8_t sp = reel_arch_slot(synthesis->reader.input.arch, synthesis->reader.input.arch->sp);
	const struct reel_entry_state *x, *y;

	if (a == b || a >= STATE_MANY || b >= STATE_MANY)
		return a == b;
	x = state_at(synthesis, a);
	y = state_at(synthesis, b);
	return has(x->placed & y->placed, sp) && x->place[sp] == y->place[sp] &&
	       x->saved == y->saved && !memcmp(x->saved_at, y->saved_at, sizeof(x->saved_at));
}

/* The nodes' numbers by address; NULL if memory is short. */
static struct reel_sort_key *sort_nodes(const struct reel_code_graph *graph)
{
	struct reel_sort_key *keys = malloc(graph->n * sizeof(*keys));

	for (size_t i = 0; keys && i < graph->n; i++)
		keys[i] = (struct reel_sort_key){ graph->nodes[i].address, i };
	if (keys && reel_sort_keys(keys, graph->n))
		return keys;
	free(keys);
	return NULL;
}

static void add_leaving(const struct reel_synthesis *synthesis, uint32_t state, struct entry *entry)
{
	if (entry->leaving == REEL_POOL_NONE)
		entry->leaving = state;
	else if (!leaves_alike(synthesis, entry->leaving, state))
		entry->leaving = STATE_MANY;
}

static struct entry *remember(struct reel_synthesis *synthesis, uint64_t address,
			      const struct reel_code_graph *graph, const struct node_state *states,
			      bool settled)
{
	struct reel_sort_key *keys;
	struct entry *entry;

	if (synthesis->n_entry_addresses + graph->n > ADDRESSES_MAX)
		forget(synthesis);
	keys = sort_nodes(graph);
	entry = keys ? calloc(1, sizeof(*entry) + graph->n * sizeof(entry->reached[0])) : NULL;
	if (!entry) {
		free(keys);
		return NULL;
	}
	entry->entry.id = address;
	entry->leaves = graph->truncated;
	entry->leaving = REEL_POOL_NONE;
	entry->n = graph->n;
	for (size_t i = 0; i < graph->n; i++) {
		const struct reel_code_node *node = &graph->nodes[keys[i].item];

		entry->leaves |= !!(node->flags & (REEL_CODE_LEAVES | REEL_CODE_OPEN));
		entry->reached[i] = (struct reached){
			.address = node->address,
			.state = settled ? states[keys[i].item].number : STATE_MANY,
			.size = reel_code_instruction(graph, node)->size,
			.jumped_to = node->flags & REEL_CODE_JUMPED_TO,
		};
		if (leaves_by_register(graph, node))
			add_leaving(synthesis, entry->reached[i].state, entry);
	}
	free(keys);
	if (!reel_id_table_insert(&synthesis->entries, &entry->entry)) {
		free(entry);
		return NULL;
	}
	synthesis->n_entry_addresses += graph->n;
	return entry;
}

static const struct entry *run_from(struct reel_synthesis *synthesis, uint64_t address)
{
	struct reel_entry_state state = state_at_entry(synthesis);
	struct entry *entry = NULL;
	struct reel_code_seen *seen;
	struct reel_code_graph graph;
	unsigned passes = 0;
	struct node_state *states;
	bool followed;

	if (!reel_code_seen_begin(&synthesis->reader, &seen))
		return NULL;
	synthesis->reader.seen = seen;
	followed = reel_code_follow(&synthesis->reader, address, false, NULL, NULL, &graph);
	synthesis->reader.seen = NULL;
	reel_code_seen_end(&synthesis->reader, seen);
	states = followed ? malloc(graph.n * sizeof(*states)) : NULL;
	if (states) {
		for (size_t i = 0; i < graph.n; i++)
			states[i] = (struct node_state){ .number = REEL_POOL_NONE };
		hand_on(synthesis, &state, REEL_POOL_NONE, &states[0]);
		while (passes < PASSES_MAX && pass(synthesis, &graph, states))
			passes++;
		entry = remember(synthesis, address, &graph, states, passes < PASSES_MAX);
	}
	if (entry)
		entry->seen = seen;
	else
		reel_code_seen_free(seen);
	free(states);
	reel_code_graph_free(&graph);
	return entry;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* By sp if known, otherwise by fp, or any register with an address in the frame. */
static bool find_cfa(const struct reel_arch *arch, const struct reel_entry_state *state,
		     struct reel_cfi_rule *ret)
{
	uint8_t order[2] = { reel_arch_slot(arch, arch->sp), reel_arch_slot(arch, arch->fp) };

	for (unsigned i = 0; i < 2u + arch->n_registers; i++) {
		uint8_t slot = i < 2 ? order[i] : (uint8_t)(i - 2);

		if (!has(state->placed, slot))
			continue;
		*ret = (struct reel_cfi_rule){ .kind = REEL_RULE_REGISTER_OFFSET,
					       .reg = arch->registers[slot].dwarf,
					       .offset = -(int64_t)state->place[slot] };
		return true;
	}
	return false;
}

/* `state` may differ from the number's state: the difference depends only on `rows`. */
static const struct reel_row *row_of(struct reel_synthesis *synthesis, struct reel_made_rows *rows,
				     uint32_t number, const struct reel_entry_state *state)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	const struct reel_row *row;
	struct reel_cfi_row cfi_row;

	if (reel_find_made_row(rows, number, &row))
		return row;
	if (!reel_cfi_run_program(arch, arch->undo_call, &cfi_row) ||
	    !find_cfa(arch, state, &cfi_row.cfa))
		return reel_make_row(rows, arch, number, NULL, NULL);
	for (uint8_t i = 0; i < arch->n_registers; i++) {
		uint16_t dwarf = arch->registers[i].dwarf;
		struct reel_cfi_rule *rule = &cfi_row.rules[dwarf];

		if (dwarf == arch->sp || (dwarf == arch->pc && dwarf != cfi_row.return_column))
			continue;
		*rule = (struct reel_cfi_rule){ .kind = REEL_RULE_UNDEFINED };
		if (has(state->intact, i)) {
			rule->kind = REEL_RULE_SAME;
		} else if (has(state->saved, i)) {
			rule->kind = REEL_RULE_OFFSET;
			rule->offset = state->saved_at[i];
		} else if (dwarf == cfi_row.return_column) {
			return reel_make_row(rows, arch, number, NULL, NULL);
		}
	}
	return reel_make_row(rows, arch, number, &cfi_row, NULL);
}

static const struct entry *entry_of(struct reel_synthesis *synthesis, uint64_t entry)
{
	struct entry *found = (struct entry *)reel_id_table_find(&synthesis->entries, entry);

	if (found && reel_code_seen_holds(&synthesis->reader, found->seen))
		return found;
	if (found) {
		synthesis->n_entry_addresses -= found->n;
		free_entry(NULL, reel_id_table_remove(&synthesis->entries, entry));
	}
	return run_from(synthesis, entry);
}

static const struct reached *reached_at(const struct entry *entry, uint64_t address)
{
	return bsearch(&(struct reached){ .address = address }, entry->reached, entry->n,
		       sizeof(entry->reached[0]), compare_reached);
}

static const struct reel_row *row_at(struct reel_synthesis *synthesis,
				     const struct reached *reached)
{
	if (!reached || reached->state >= STATE_MANY)
		return NULL;
	return row_of(synthesis, &synthesis->state_rows, reached->state,
		      state_at(synthesis, reached->state));
}

enum reel_leads reel_synthesis_leads(struct reel_synthesis *synthesis, uint64_t entry,
				     uint64_t address, const struct reel_row **row_ret)
{
	const struct reached *reached = NULL;
	enum reel_leads leads = REEL_LEADS_PERHAPS;
	const struct entry *found;

	pthread_mutex_lock(&synthesis->lock);
	found = entry_of(synthesis, entry);
	if (found) {
		reached = reached_at(found, address);
		leads = reached		? REEL_LEADS_THERE
			: found->leaves ? REEL_LEADS_PERHAPS
					: REEL_LEADS_NOT;
	}
	*row_ret = row_at(synthesis, reached);
	pthread_mutex_unlock(&synthesis->lock);
	return leads;
}

static const struct reached *last_reached(const struct entry *entry, uint64_t address)
{
	size_t n = REEL_PARTITION_POINT(entry->n, i, entry->reached[i].address <= address);

	return n ? &entry->reached[n - 1] : NULL;
}

bool reel_synthesis_holds(struct reel_synthesis *synthesis, uint64_t entry, uint64_t address)
{
	const struct reached *reached;
	const struct entry *found;
	bool holds;

	pthread_mutex_lock(&synthesis->lock);
	found = entry_of(synthesis, entry);
	reached = found ? last_reached(found, address) : NULL;
	holds = reached && address - reached->address < reached->size;
	pthread_mutex_unlock(&synthesis->lock);
	return holds;
}

const struct reel_row *reel_synthesis_leaving(struct reel_synthesis *synthesis, uint64_t entry)
{
	uint8_t sp = reel_arch_slot(synthesis->reader.input.arch, synthesis->reader.input.arch->sp);
	const struct reel_row *row = NULL;
	const struct entry *found;

	pthread_mutex_lock(&synthesis->lock);
	found = entry_of(synthesis, entry);
	if (found && found->leaving < STATE_MANY) {
		struct reel_entry_state state = *state_at(synthesis, found->leaving);

		state.intact = 0;
		state.placed &= (uint64_t)1 << sp;
		/* Without a frame, this applies to any function with a tail call. */
		if (state.placed && state.place[sp] < synthesis->sp_at_entry)
			row = row_of(synthesis, &synthesis->leaving_rows, found->leaving, &state);
	}
	pthread_mutex_unlock(&synthesis->lock);
	return row;
}

bool reel_synthesis_is_inner(struct reel_synthesis *synthesis, uint64_t entry)
{
	const struct reel_synthesis_input *input = &synthesis->reader.input;
	struct reel_cfi_row row;
	bool is_inner;

	pthread_mutex_lock(&synthesis->lock);
	is_inner = input->find_row && input->find_row(input->rows, entry, &row) == REEL_CFI_FOUND &&
		   row.fde_begin != entry;
	pthread_mutex_unlock(&synthesis->lock);
	return is_inner;
}

enum reel_entry_reach reel_entry_reaches(struct reel_synthesis *synthesis, uint64_t entry,
					 uint64_t address)
{
	const struct entry *found = entry_of(synthesis, entry);
	const struct reached *reached = found ? reached_at(found, address) : NULL;

	if (!reached)
		return REEL_ENTRY_APART;
	return reached->jumped_to ? REEL_ENTRY_JUMPS : REEL_ENTRY_RUNS_ON;
}

const struct reel_row *reel_entry_row(struct reel_synthesis *synthesis, uint64_t entry,
				      uint64_t address)
{
	const struct entry *found = entry_of(synthesis, entry);

	return row_at(synthesis, found ? reached_at(found, address) : NULL);
}

/* Of a method's entry that checks the receiver's class first (HotSpot's). */
#define RECORD_MADE_MAX 8

bool reel_entry_makes_record(struct reel_synthesis *synthesis, uint64_t entry)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	struct reel_entry_state state = state_at_entry(synthesis);
	uint8_t fp = reel_arch_slot(arch, arch->fp);
	struct reel_instruction instruction;

	for (unsigned i = 0; i < RECORD_MADE_MAX; i++) {
		if (!reel_code_decode(&synthesis->reader, entry, &instruction) ||
		    (instruction.flow != REEL_FLOW_NEXT && instruction.flow != REEL_FLOW_BRANCH))
			return false;
		go_through(synthesis, &instruction, &state);
		if (has(state.saved, fp))
			return state.saved_at[fp] == synthesis->sp_at_entry - arch->word_size;
		entry += instruction.size;
	}
	return false;
}

/* ---- comparing entries ------------------------------------------------------------------ */

static const struct reached *first_reached(struct reel_synthesis *synthesis, uint64_t entry,
					   uint64_t address)
{
	const struct entry *found =
		(const struct entry *)reel_id_table_find(&synthesis->entries, entry);
	size_t n = found ? found->n : 0;
	size_t at = REEL_PARTITION_POINT(n, i, found->reached[i].address < address);

	return at < n ? &found->reached[at] : NULL;
}

const struct reel_entry_state *reel_synthesis_state(struct reel_synthesis *synthesis,
						    uint64_t entry, uint64_t address)
{
	const struct reached *reached = first_reached(synthesis, entry, address);

	return reached && reached->address == address && reached->state < STATE_MANY
		       ? state_at(synthesis, reached->state)
		       : NULL;
}

bool reel_synthesis_next_reached(struct reel_synthesis *synthesis, uint64_t entry,
				 uint64_t *address)
{
	const struct reached *reached = first_reached(synthesis, entry, *address);

	if (reached)
		*address = reached->address;
	return reached;
}
