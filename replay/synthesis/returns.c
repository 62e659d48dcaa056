/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows by following the code to its returns.  At a return, the place of the caller is known.  Facts
 * after an instruction also hold before the instruction, if they are expressed by the registers
 * there.  So facts are passed back from the returns until nothing changes; all instructions that
 * lead to them then have facts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/synthesis/facts.h"
#include "replay/synthesis/synthesis_internal.h"

/* Changes of an instruction's facts until they should have settled: nested loops take several. */
#define CHANGES_MAX 32
/* Visits of an instruction, on average, until loops are not repeated. */
#define VISITS_MAX 1024

/* Limit of cached addresses; beyond it, all are dropped. */
#define RETURNS_MAX (1u << 20)

/* Limit of nested functions analyzed to know which registers they keep. */
#define DEPTH_MAX 4

/* The facts at a node. */
struct node_facts {
	uint32_t facts[REEL_SYNTHESIZED_MAX];
	/* How often each one's way leads back in a loop: a loop may move the stack pointer each
	 * time, which gives facts without end. */
	uint8_t loops[REEL_SYNTHESIZED_MAX];
	uint8_t n;
	/* There are more facts, or code that was not followed. */
	bool open;
	/* The code uses the frame pointer before changing it. */
	bool by_fp;
	bool calls;
	uint64_t passed_on; /* as struct reel_synthesized_rows */
};

/* The results at an address. */
struct found {
	struct reel_id_entry entry; /* by address */
	struct reel_code_seen *seen;
	struct node_facts facts;
	/* How they were found: code was followed only up to CFI, or not to its end. */
	bool ends_at_cfi, is_cut;
};

/* When a node was looked at last, and when that changed its facts; 0: never. */
struct node_times {
	uint64_t looked_at, changed;
	unsigned n_changes;
	uint32_t loop_end; /* the last node that leads back to this one, if any does */
};

struct run {
	struct reel_synthesis *synthesis;
	const struct reel_arch *arch;
	struct reel_code_graph graph;
	struct node_facts *found; /* by node */
	struct node_times *times; /* by node */
	uint64_t now;		  /* counts looks and changes */
	int32_t least_cfa;	  /* bytes above sp, right after a call */
	uint8_t fp;
	bool short_of_memory, settled;
};

static uint64_t untouched_by(struct reel_synthesis *synthesis, uint64_t function);

static const struct reel_facts *facts_at(const struct reel_synthesis *synthesis, uint32_t number)
{
	return reel_pool_at(&synthesis->facts, number);
}

/* Keeps the agreeing facts about the caller's registers; making a record gives few facts. */
static void meet(const struct reel_arch *arch, size_t size, struct reel_facts *to,
		 const struct reel_facts *with)
{
	uint64_t by = with->by < to->by ? with->by : to->by;

	if (to->by == REEL_BY_RECORD && with->by != REEL_BY_RECORD) {
		memcpy(to, with, size);
	} else if (to->by == REEL_BY_RECORD || with->by != REEL_BY_RECORD) {
		for (uint8_t i = 0; i < arch->n_registers; i++) {
			if (!reel_value_equal(to->registers[i], with->registers[i]))
				to->registers[i] = (struct reel_value){ 0 };
		}
	}
	to->by = by;
}

/* The CFA is above the return address, and that above sp; other code never ran. */
static bool is_possible(const struct run *run, const struct reel_facts *facts)
{
	uint8_t sp = reel_arch_slot(run->arch, run->arch->sp);

	int32_t least = run->least_cfa;

	/* It may already be in a register. */
	if (facts->return_address.kind == REEL_VALUE_REGISTER)
		least = 0;
	return facts->cfa.kind != REEL_VALUE_REGISTER || facts->cfa.slot != sp ||
	       facts->cfa.plus >= least;
}

/* Registers whose change may change a value. */
static uint64_t slots_of(struct reel_value value)
{
	uint64_t slot = (uint64_t)1 << value.slot;

	switch ((enum reel_value_kind)value.kind) {
	case REEL_VALUE_UNKNOWN:
		return 0;
	case REEL_VALUE_AT_CFA: /* changes with the CFA */
		return UINT64_MAX;
	case REEL_VALUE_SUM:
		return slot | (uint64_t)1 << reel_value_place(value);
	default:
		return slot;
	}
}

/* The number of the facts in the pool; NONE if memory is short. */
static uint32_t number_of(const struct run *run, const struct reel_facts *facts)
{
	struct reel_synthesis *synthesis = run->synthesis;
	uint32_t number = reel_pool_add(&synthesis->facts, facts);
	uint64_t slots = slots_of(facts->cfa) | slots_of(facts->return_address);

	if (number == REEL_POOL_NONE || number < synthesis->n_fact_slots)
		return number;
	for (uint8_t i = 0; i < run->arch->n_registers; i++)
		slots |= slots_of(facts->registers[i]);
	while (synthesis->n_fact_slots <= number) {
		if (!reel_array_reserve(&synthesis->fact_slots, synthesis->n_fact_slots,
					&synthesis->fact_slots_capacity, sizeof(slots)))
			return REEL_POOL_NONE;
		/* Others were added elsewhere. */
		synthesis->fact_slots[synthesis->n_fact_slots++] = UINT64_MAX;
	}
	synthesis->fact_slots[number] = slots;
	return number;
}

/* The less certain facts, and of these the ones with more loops, are the first to go. */
static unsigned badness(const struct reel_facts *facts, uint8_t loops)
{
	return (unsigned)facts->by << 8 | loops;
}

/* The place for one more; if all are taken, that of the worst, or SYNTHESIZED_MAX if no known facts
 * are worse. */
static unsigned place_for(const struct run *run, struct node_facts *to,
			  const struct reel_facts *facts, uint8_t loops)
{
	unsigned place = REEL_SYNTHESIZED_MAX, worst = badness(facts, loops);

	if (to->n < REEL_SYNTHESIZED_MAX)
		return to->n++;
	to->open = true;
	for (unsigned i = 0; i < to->n; i++) {
		unsigned bad = badness(facts_at(run->synthesis, to->facts[i]), to->loops[i]);

		if (bad > worst) {
			worst = bad;
			place = i;
		}
	}
	return place;
}

/* Adds facts: merges them with those for the same caller, or appends them.  `number` is theirs, or
 * NONE if unknown. */
static void add_facts(struct run *run, struct node_facts *to, const struct reel_facts *facts,
		      uint32_t number, uint8_t loops)
{
	size_t size = run->synthesis->facts.item_size;
	struct reel_facts merged;
	unsigned i = 0;

	for (; i < to->n; i++) {
		const struct reel_facts *known = facts_at(run->synthesis, to->facts[i]);

		if (to->facts[i] != number &&
		    (!reel_value_equal(known->cfa, facts->cfa) ||
		     !reel_value_equal(known->return_address, facts->return_address)))
			continue;
		loops = loops < to->loops[i] ? loops : to->loops[i];
		to->loops[i] = loops;
		if (to->facts[i] == number || !memcmp(known, facts, size))
			return;
		memcpy(&merged, facts, size);
		meet(run->arch, size, &merged, known);
		facts = &merged;
		number = REEL_POOL_NONE;
		break;
	}
	if (i == to->n)
		i = place_for(run, to, facts, loops);
	if (i == REEL_SYNTHESIZED_MAX)
		return;
	if (number == REEL_POOL_NONE)
		number = number_of(run, facts);
	if (number == REEL_POOL_NONE) {
		run->short_of_memory = true;
		return;
	}
	to->facts[i] = number;
	to->loops[i] = loops;
}

static bool stays(uint64_t kept, struct reel_value value)
{
	return !value.kind || value.kind == REEL_VALUE_AT_CFA ||
	       (kept >> value.slot & 1 &&
		(value.kind != REEL_VALUE_SUM || kept >> reel_value_place(value) & 1));
}

/*
 * A call keeps only registers that callees keep.  But if the caller is found by another register
 * (hand-written code that knows its helpers), it keeps those that the callee leaves alone.
 */
static void clobber_call(struct run *run, const struct reel_instruction *instruction,
			 struct reel_facts *facts)
{
	struct reel_value *values[2] = { &facts->cfa, &facts->return_address };
	uint64_t kept = run->synthesis->kept_by_calls;

	if (instruction->has_target &&
	    !(stays(kept, facts->cfa) && stays(kept, facts->return_address)))
		kept |= untouched_by(run->synthesis, instruction->target);

	for (uint8_t i = 0; i < run->arch->n_registers + 2; i++) {
		struct reel_value *value = i < 2 ? values[i] : &facts->registers[i - 2];

		if (!stays(kept, *value))
			*value = (struct reel_value){ 0 };
	}
}

/* Registers that an instruction does not change. */
static uint64_t kept_by(const struct run *run, const struct reel_instruction *instruction)
{
	uint64_t kept =
		instruction->flow == REEL_FLOW_CALL ? run->synthesis->kept_by_calls : UINT64_MAX;

	for (unsigned i = 0; i < instruction->n_effects; i++) {
		if (!instruction->effects[i].size)
			kept &= ~((uint64_t)1 << instruction->effects[i].slot);
	}
	return kept;
}

/* Registers whose value the instruction stores, copies or jumps to. */
static uint64_t passed_on_by(const struct run *run, const struct reel_instruction *instruction)
{
	uint64_t slots = 0;

	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];

		if (effect->value.kind == REEL_VALUE_REGISTER && !effect->value.plus &&
		    (effect->size ? effect->size == run->arch->word_size
				  : effect->slot != effect->value.slot))
			slots |= (uint64_t)1 << effect->value.slot;
	}
	if (instruction->flow == REEL_FLOW_JUMP && instruction->through != REEL_ARCH_NO_SLOT)
		slots |= (uint64_t)1 << instruction->through;
	return slots;
}

/* Registers on which no facts may depend for them to stay as they are. */
static uint64_t touched_by(const struct run *run, const struct reel_instruction *instruction)
{
	uint64_t slots = instruction->flow == REEL_FLOW_CALL ? ~run->synthesis->kept_by_calls : 0;

	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];

		slots |= (uint64_t)1 << effect->slot;
		/* It may be where a register is saved, whatever its place depends on. */
		if (effect->size && effect->value.kind == REEL_VALUE_REGISTER)
			slots = UINT64_MAX;
	}
	return slots;
}

/* Passes back the facts after an instruction; `back`: that leads back in a loop. */
static void hand_back(struct run *run, const struct reel_instruction *instruction,
		      const struct node_facts *from, bool back, struct node_facts *to)
{
	uint64_t touched = touched_by(run, instruction);

	to->open |= from->open;
	to->calls |= from->calls || (from->n && instruction->flow == REEL_FLOW_CALL);
	to->by_fp |= from->by_fp && reel_value_equal(reel_instruction_sets(instruction, run->fp),
						     reel_value_of_register(run->fp, 0));
	to->passed_on |= from->passed_on & kept_by(run, instruction);
	for (unsigned i = 0; i < from->n; i++) {
		const struct reel_facts *after = facts_at(run->synthesis, from->facts[i]);
		uint8_t loops = from->loops[i] + (back && from->loops[i] < UINT8_MAX);
		struct reel_facts facts;

		if (!(run->synthesis->fact_slots[from->facts[i]] & touched)) {
			if (is_possible(run, after))
				add_facts(run, to, after, from->facts[i], loops);
			continue;
		}
		memcpy(&facts, after, run->synthesis->facts.item_size);
		if (instruction->flow == REEL_FLOW_CALL)
			clobber_call(run, instruction, &facts);
		if (!reel_facts_before(run->arch, instruction, &facts))
			to->open = true;
		else if (is_possible(run, &facts))
			add_facts(run, to, &facts, REEL_POOL_NONE, loops);
	}
}

static void hand_back_push(struct run *run, const struct node_facts *from, bool back,
			   struct node_facts *to)
{
	struct reel_instruction push = { 0 };

	reel_code_make_push(run->arch, &push);
	hand_back(run, &push, from, back, to);
}

/* The frame pointer becomes sp: a frame record if the old one was pushed before. */
static bool makes_record(const struct run *run, const struct reel_instruction *instruction)
{
	uint8_t sp = reel_arch_slot(run->arch, run->arch->sp);

	return !(run->arch->flags & REEL_ARCH_LINK_REGISTER) &&
	       reel_value_equal(reel_instruction_sets(instruction, run->fp),
				reel_value_of_register(sp, 0));
}

/* The facts just before the frame pointer becomes sp. */
static void facts_at_record(const struct run *run, struct reel_facts *ret)
{
	uint8_t sp = reel_arch_slot(run->arch, run->arch->sp);
	unsigned word = run->arch->word_size;

	memset(ret, 0, run->synthesis->facts.item_size);
	ret->cfa = reel_value_of_register(sp, 2 * word);
	ret->return_address = reel_value_of_memory(sp, word, 0);
	ret->registers[run->fp] = reel_value_of_memory(sp, 0, 0);
	ret->by = REEL_BY_RECORD;
}

/* The facts at an instruction without successors. */
static void begin_with(struct run *run, const struct reel_code_node *node,
		       const struct reel_instruction *instruction, struct node_facts *to)
{
	bool returns = instruction->flow == REEL_FLOW_RETURN ||
		       instruction->flow == REEL_FLOW_RETURN_OR_NEXT;
	const struct reel_synthesis_input *input = &run->synthesis->reader.input;
	struct reel_facts facts;
	struct reel_cfi_row row;

	if (node->flags & REEL_CODE_HAS_CFI) {
		if (input->find_row(input->rows, node->address, &row) == REEL_CFI_FOUND &&
		    reel_facts_of_row(run->arch, &row, &facts))
			add_facts(run, to, &facts, REEL_POOL_NONE, 0);
		else
			to->open = true;
		return;
	}
	to->open |= !!(node->flags & REEL_CODE_OPEN);
	if (returns || node->flags & REEL_CODE_LEAVES) {
		if (!reel_facts_at_return(
			    run->arch, returns ? instruction->through : REEL_ARCH_NO_SLOT, &facts))
			return;
		facts.by = returns ? REEL_BY_RETURN : REEL_BY_JUMP;
		add_facts(run, to, &facts, REEL_POOL_NONE, 0);
	}
	if (makes_record(run, instruction)) {
		facts_at_record(run, &facts);
		add_facts(run, to, &facts, REEL_POOL_NONE, 0);
	}
}

static struct node_facts facts_of(struct run *run, size_t i)
{
	const struct reel_code_node *node = &run->graph.nodes[i];
	const struct reel_instruction *instruction = reel_code_instruction(&run->graph, node);
	struct node_facts facts = { .n = 0 };

	if (node->flags & REEL_CODE_KNOWN)
		return run->found[i];
	if (!(node->flags & REEL_CODE_HAS_CFI)) {
		facts.by_fp = instruction->by_fp;
		facts.passed_on = passed_on_by(run, instruction);
	}
	begin_with(run, node, instruction, &facts);
	if (node->flags & REEL_CODE_HAS_CFI)
		return facts;
	if (node->next != REEL_CODE_NO_NODE)
		hand_back(run, instruction, &run->found[node->next], node->next <= i, &facts);
	if (node->target == REEL_CODE_NO_NODE)
		return facts;
	if (instruction->flow == REEL_FLOW_CALL)
		hand_back_push(run, &run->found[node->target], node->target <= i, &facts);
	else
		hand_back(run, instruction, &run->found[node->target], node->target <= i, &facts);
	return facts;
}

/* Whether the facts of `successor` have changed since node `i` was looked at. */
static bool has_news(const struct run *run, size_t i, uint32_t successor)
{
	return successor != REEL_CODE_NO_NODE &&
	       run->times[successor].changed > run->times[i].looked_at;
}

/* Looks at a node; true if its facts change. */
static bool look_at(struct run *run, size_t i)
{
	struct node_facts facts, *known = &run->found[i];
	struct node_times *times = &run->times[i];

	times->looked_at = run->now;
	facts = facts_of(run, i);
	/* Padding is compared as well: both began as zeros. */
	if (facts.n == known->n && facts.by_fp == known->by_fp && facts.calls == known->calls &&
	    facts.open == known->open && facts.passed_on == known->passed_on &&
	    !memcmp(facts.facts, known->facts, sizeof(facts.facts)) &&
	    !memcmp(facts.loops, known->loops, sizeof(facts.loops)))
		return false;
	if (times->n_changes == CHANGES_MAX) {
		run->settled = false;
		known->open = true;
	} else {
		*known = facts;
	}
	times->changed = ++run->now;
	return times->n_changes++ <= CHANGES_MAX;
}

/* Notes where loops end. */
static void find_loops(struct run *run)
{
	for (uint32_t i = 0; i < run->graph.n; i++) {
		uint32_t successors[2] = { run->graph.nodes[i].next, run->graph.nodes[i].target };

		for (unsigned j = 0; j < 2; j++) {
			if (successors[j] <= i)
				run->times[successors[j]].loop_end = i;
		}
	}
}

/* Passes facts back until nothing changes, from the last node to the first: a loop settles before
 * the code that leads to it. */
static void settle(struct run *run)
{
	size_t left = run->graph.n * VISITS_MAX;

	find_loops(run);
	run->now = 1;
	for (size_t i = run->graph.n; i-- && !run->short_of_memory; left -= !!left) {
		const struct reel_code_node *node = &run->graph.nodes[i];
		struct node_times *times = &run->times[i];

		if (times->n_changes > CHANGES_MAX ||
		    (times->looked_at && !has_news(run, i, node->next) &&
		     !has_news(run, i, node->target)))
			continue;
		if (look_at(run, i) && left && times->loop_end >= i)
			i = (size_t)times->loop_end + 1;
	}
	run->settled &= !!left;
	for (size_t i = 0; i < run->graph.n && !left; i++)
		run->found[i].open = true;
}

/* ---- cache ------------------------------------------------------------------------------- */

void reel_returns_free(struct reel_synthesis *synthesis)
{
	reel_id_table_free(&synthesis->returns);
	reel_arena_free(&synthesis->returns_memory);
	free(synthesis->returns_bits);
	synthesis->returns_bits = NULL;
	synthesis->n_returns = 0;
	reel_code_seen_free(synthesis->returns_seen);
	synthesis->returns_seen = NULL;
}

/* Bits of the results' addresses: 32 KiB; and bytes of code for each. */
#define BITS	     (1u << 18)
#define BYTES_OF_BIT 8

static uint64_t bit_of(uint64_t address)
{
	return address / BYTES_OF_BIT % BITS;
}

static struct found *find_any(struct reel_synthesis *synthesis, uint64_t address)
{
	uint64_t bit = bit_of(address);

	if (!synthesis->returns_bits || !(synthesis->returns_bits[bit / 64] >> bit % 64 & 1))
		return NULL;
	return (struct found *)reel_id_table_find(&synthesis->returns, address);
}

static struct found *add(struct reel_synthesis *synthesis, uint64_t address)
{
	struct found *found = reel_arena_allocate(&synthesis->returns_memory, sizeof(*found));
	uint64_t bit = bit_of(address);

	if (!synthesis->returns_bits)
		synthesis->returns_bits = calloc(BITS / 64, sizeof(*synthesis->returns_bits));
	if (!found || !synthesis->returns_bits)
		return NULL;
	found->entry.id = address;
	if (!reel_id_table_insert(&synthesis->returns, &found->entry))
		return NULL;
	synthesis->returns_bits[bit / 64] |= (uint64_t)1 << bit % 64;
	return found;
}

static void remember(struct run *run, struct reel_code_seen *seen)
{
	struct reel_synthesis *synthesis = run->synthesis;

	if (synthesis->n_returns + run->graph.n > RETURNS_MAX)
		reel_returns_free(synthesis);
	if (seen) {
		seen->next = synthesis->returns_seen;
		synthesis->returns_seen = seen;
		synthesis->n_returns += run->graph.n;
	}
	for (size_t i = 0; i < run->graph.n; i++) {
		uint64_t address = run->graph.nodes[i].address;
		struct found *found = find_any(synthesis, address);

		/* Code with CFI was not followed. */
		if (run->graph.nodes[i].flags & (REEL_CODE_HAS_CFI | REEL_CODE_KNOWN) ||
		    (found && reel_code_seen_holds(&synthesis->reader, found->seen)))
			continue;
		/* In a truncated graph, nodes that lead to the cut would find more on their own,
		 * and the first has the most.  Facts that do not settle would not do so there. */
		if (i && run->graph.truncated && run->found[i].open && run->settled)
			continue;
		synthesis->n_returns += !found && !seen;
		if (!found)
			found = add(synthesis, address);
		if (!found)
			return;
		found->seen = seen;
		found->facts = run->found[i];
		found->ends_at_cfi = run->graph.ends_at_cfi;
		found->is_cut = run->graph.truncated && run->found[i].open;
	}
}

static struct found *known(struct reel_synthesis *synthesis, uint64_t address)
{
	struct found *found = find_any(synthesis, address);

	return found && reel_code_seen_holds(&synthesis->reader, found->seen) ? found : NULL;
}

/*
 * Code with a result is not followed again: what leads to it has the facts that lead on from there.
 * Facts that were cut off are not used, since others may be found from elsewhere.
 */
static bool is_known(void *context, uint64_t address, bool ends_at_cfi)
{
	struct reel_synthesis *synthesis = context;
	struct found *found = known(synthesis, address);

	if (!found || found->is_cut || found->ends_at_cfi != ends_at_cfi)
		return false;
	if (found->seen)
		reel_code_seen_add(synthesis->reader.seen, found->seen);
	return true;
}

static void take_known(struct run *run)
{
	for (size_t i = 0; i < run->graph.n; i++) {
		const struct reel_code_node *node = &run->graph.nodes[i];
		const struct found *found;

		if (!(node->flags & REEL_CODE_KNOWN))
			continue;
		/* It was there while the code was followed; without it, nothing is known. */
		found = known(run->synthesis, node->address);
		run->found[i] = found ? found->facts : (struct node_facts){ .open = true };
	}
}

/* `seen` gets what the results depend on, and becomes theirs; NULL if code never changes. */
static bool run_from(struct reel_synthesis *synthesis, uint64_t address,
		     struct reel_code_seen *seen)
{
	struct run run = { .synthesis = synthesis,
			   .arch = synthesis->reader.input.arch,
			   .settled = true };
	struct reel_facts called;
	bool done;

	if (!reel_facts_at_return(run.arch, REEL_ARCH_NO_SLOT, &called))
		return false;
	run.least_cfa = called.cfa.plus;
	run.fp = reel_arch_slot(run.arch, run.arch->fp);
	if (!reel_code_follow(&synthesis->reader, address, true, is_known, synthesis, &run.graph))
		return false;
	run.found = calloc(run.graph.n, sizeof(*run.found));
	run.times = calloc(run.graph.n, sizeof(*run.times));
	done = run.found && run.times && reel_code_sort(&run.graph);
	if (done) {
		take_known(&run);
		settle(&run);
	}
	done = done && !run.short_of_memory;
	if (done) {
		reel_code_seen_end(&synthesis->reader, seen);
		remember(&run, seen);
	}
	free(run.found);
	free(run.times);
	reel_code_graph_free(&run.graph);
	return done;
}

static const struct reel_row *row_of(struct reel_synthesis *synthesis, uint32_t number)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;
	uint8_t buffer[REEL_FACTS_EXPRESSIONS], *expressions;
	const struct reel_row *row;
	struct reel_cfi_row cfi_row;
	size_t size;

	if (reel_find_made_row(&synthesis->fact_rows, number, &row))
		return row;
	if (!reel_facts_to_row(arch, facts_at(synthesis, number), buffer, &size, &cfi_row))
		return reel_make_row(&synthesis->fact_rows, arch, number, NULL, NULL);
	if (!size)
		return reel_make_row(&synthesis->fact_rows, arch, number, &cfi_row, NULL);
	/* Make them again at their permanent place. */
	expressions = malloc(size);
	if (!expressions)
		return NULL;
	reel_facts_to_row(arch, facts_at(synthesis, number), expressions, &size, &cfi_row);
	return reel_make_row(&synthesis->fact_rows, arch, number, &cfi_row, expressions);
}

static uint64_t untouched(const struct reel_arch *arch, const struct reel_facts *facts)
{
	uint64_t slots = 0;

	for (uint8_t i = 0; i < arch->n_registers; i++) {
		if (reel_value_equal(facts->registers[i], reel_value_of_register(i, 0)))
			slots |= (uint64_t)1 << i;
	}
	return slots;
}

static const struct found *find(struct reel_synthesis *synthesis, uint64_t address)
{
	struct reel_code_seen *outer = synthesis->reader.seen, *seen;
	struct found *found = known(synthesis, address);

	if (!found && synthesis->depth < DEPTH_MAX &&
	    reel_code_seen_begin(&synthesis->reader, &seen)) {
		synthesis->depth++;
		synthesis->reader.seen = seen;
		if (!run_from(synthesis, address, seen))
			reel_code_seen_free(seen);
		synthesis->reader.seen = outer;
		synthesis->depth--;
		found = known(synthesis, address);
	}
	if (found && found->seen && outer)
		reel_code_seen_add(outer, found->seen);
	return found;
}

/* Registers that a function does not change, by all of its returns. */
static uint64_t untouched_by(struct reel_synthesis *synthesis, uint64_t function)
{
	const struct found *found = find(synthesis, function);
	uint64_t slots = UINT64_MAX;

	if (!found || !found->facts.n || found->facts.open)
		return 0;
	for (unsigned i = 0; i < found->facts.n; i++)
		slots &= untouched(synthesis->reader.input.arch,
				   facts_at(synthesis, found->facts.facts[i]));
	return slots;
}

/* The frame pointer was restored from right below the return address: a jump after that leaves the
 * frame. */
static bool takes_down_frame(const struct reel_arch *arch, const struct reel_facts *facts)
{
	struct reel_value record = facts->registers[reel_arch_slot(arch, arch->fp)];

	return record.kind == REEL_VALUE_MEMORY && !record.plus &&
	       reel_value_equal(facts->return_address,
				reel_value_of_memory(record.slot, record.at + arch->word_size, 0));
}

/* The source of the row; false without one: making a record is one only if the frame pointer
 * is still the caller's until then. */
static bool find_by(const struct reel_arch *arch, const struct reel_facts *facts,
		    enum reel_synthesized_by *ret)
{
	uint8_t fp = reel_arch_slot(arch, arch->fp);

	*ret = (enum reel_synthesized_by)facts->by;
	if (*ret == REEL_BY_JUMP && takes_down_frame(arch, facts))
		*ret = REEL_BY_RETURN;
	return *ret != REEL_BY_RECORD ||
	       reel_value_equal(facts->registers[fp], reel_value_of_register(fp, 0));
}

static void give(struct reel_synthesis *synthesis, const struct found *found,
		 enum reel_synthesized_by by, struct reel_synthesized_rows *ret)
{
	const struct reel_arch *arch = synthesis->reader.input.arch;

	for (unsigned i = 0; i < found->facts.n; i++) {
		const struct reel_facts *facts = facts_at(synthesis, found->facts.facts[i]);
		enum reel_synthesized_by told_by;
		const struct reel_row *row;

		if (!find_by(arch, facts, &told_by) || told_by != by)
			continue;
		ret->untouched &= untouched(arch, facts);
		row = row_of(synthesis, found->facts.facts[i]);
		if (row)
			ret->rows[ret->n++] = (struct reel_synthesized){ .row = row, .by = by };
	}
}

bool reel_returns_facts(struct reel_synthesis *synthesis, uint64_t address,
			const struct reel_facts *expected, struct reel_facts *ret)
{
	const struct found *found = find(synthesis, address);
	const struct reel_facts *facts;
	unsigned n = found ? found->facts.n : 0;

	for (unsigned i = 0; i < n; i++) {
		facts = facts_at(synthesis, found->facts.facts[i]);
		if (expected ? !reel_value_equal(facts->cfa, expected->cfa) ||
				       !reel_value_equal(facts->return_address,
							 expected->return_address)
			     : n != 1)
			continue;
		memcpy(ret, facts, synthesis->facts.item_size);
		return true;
	}
	return false;
}

const struct reel_row *reel_returns_row(struct reel_synthesis *synthesis,
					const struct reel_facts *facts)
{
	uint32_t number = reel_pool_add(&synthesis->facts, facts);

	return number == REEL_POOL_NONE ? NULL : row_of(synthesis, number);
}

void reel_synthesis_at(struct reel_synthesis *synthesis, uint64_t address,
		       struct reel_synthesized_rows *ret)
{
	const struct found *found;

	*ret = (struct reel_synthesized_rows){ .untouched = UINT64_MAX };
	pthread_mutex_lock(&synthesis->lock);
	found = find(synthesis, address);
	if (found) {
		ret->whole = !found->facts.open;
		ret->by_fp = found->facts.by_fp;
		ret->calls = found->facts.calls;
		ret->passed_on = found->facts.passed_on;
		give(synthesis, found, REEL_BY_RETURN, ret);
		give(synthesis, found, REEL_BY_RECORD, ret);
		give(synthesis, found, REEL_BY_JUMP, ret);
	}
	if (!ret->n)
		ret->untouched = 0;
	pthread_mutex_unlock(&synthesis->lock);
}
