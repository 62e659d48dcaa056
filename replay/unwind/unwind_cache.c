/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "cfi/row_internal.h"
#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/unwind_trial.h"
#include "host/system.h"

_Static_assert(sizeof(struct cached_row) == 64, "an entry fills a line");
_Static_assert(CACHED_ROW_BITS <= 16, "entries are named by 16 bits");

/* 2 MiB: a huge page of most CPUs. */
#define ENTRIES_SIZE (sizeof(struct cached_row) << CACHED_ROW_BITS)

/*
 * Zeroed memory, in a huge page if the kernel follows the advice.  Entries in use are spread over
 * all pages; small pages would cost two faults and a TLB entry each.
 */
static bool map_entries(struct reel_unwind_cache *cache)
{
	uintptr_t begin;

	/* Twice as much address space contains an aligned part of that size. */
	cache->memory = mmap(NULL, 2 * ENTRIES_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cache->memory == MAP_FAILED)
		return false;
	begin = ((uintptr_t)cache->memory + ENTRIES_SIZE - 1) / ENTRIES_SIZE * ENTRIES_SIZE;
	cache->entries = (struct cached_row *)begin;
	reel_system_advise_huge_pages(cache->entries, ENTRIES_SIZE, true);
	return true;
}

struct reel_error *reel_unwind_cache_create(struct reel_unwind_cache **ret)
{
	struct reel_unwind_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return reel_error_no_memory();
	cache->trials = reel_trials_create();
	if (!cache->trials || !map_entries(cache)) {
		reel_trials_destroy(cache->trials);
		free(cache);
		return reel_error_no_memory();
	}
	*ret = cache;
	return NULL;
}

void reel_unwind_cache_destroy(struct reel_unwind_cache *cache)
{
	if (!cache)
		return;
	munmap(cache->memory, 2 * ENTRIES_SIZE);
	reel_trials_destroy(cache->trials);
	free(cache->steps);
	free(cache);
}

bool reel_cached_reserve_steps(struct reel_unwind_cache *cache, size_t n)
{
	return reel_array_fit(&cache->steps, n, &cache->steps_capacity, sizeof(*cache->steps));
}

/* ---- plain rows ---------------------------------------------------------------------- */

/* The words that a row reads, relative to the CFA. */
struct reads {
	int64_t low, high;
	bool any;
};

static void add_read(struct reads *reads, int32_t offset, unsigned word)
{
	int64_t end = (int64_t)offset + word;

	if (!reads->any || offset < reads->low)
		reads->low = offset;
	if (!reads->any || end > reads->high)
		reads->high = end;
	reads->any = true;
}

static bool take_saved(const struct reel_walk *walk, const struct rule_source *source,
		       struct reads *reads, bool *has_sp, struct cached_row *entry)
{
	const struct reel_arch *arch = walk->input->arch;
	const struct reel_unwind_programs *programs = walk->programs;

	if (source->to == programs->sp && source->from == FROM_CFA) {
		entry->sp_offset = (int16_t)source->offset;
		*has_sp = true;
		return source->offset == entry->sp_offset;
	}
	if (source->from != FROM_MEMORY || arch->registers[source->to].size != arch->word_size)
		return false;
	add_read(reads, source->offset, arch->word_size);
	if (source->to == programs->sp) {
		entry->sp_offset = (int16_t)source->offset;
		entry->flags |= CACHED_SAVES_SP;
		*has_sp = true;
		return true;
	}
	if (source->to == programs->fp) {
		entry->fp_offset = (int16_t)source->offset;
		entry->flags |= CACHED_SAVES_FP;
	}
	entry->saved |= (uint64_t)1 << source->to;
	return true;
}

static bool take_cfa(const struct reel_walk *walk, const struct rule_source *cfa,
		     struct cached_row *entry)
{
	if (cfa->from != FROM_REGISTER ||
	    (cfa->slot != walk->programs->sp && cfa->slot != walk->programs->fp))
		return false;
	if (cfa->slot != walk->programs->sp)
		entry->flags |= CACHED_BY_FP;
	entry->cfa_offset = cfa->offset;
	return true;
}

static bool take_return_address(const struct reel_walk *walk, const struct rule_source *from,
				enum cached_as as, struct reads *reads, struct cached_row *entry)
{
	if (from->from == FROM_MEMORY) {
		entry->return_offset = (int16_t)from->offset;
		add_read(reads, from->offset, walk->input->arch->word_size);
		return true;
	}
	/* A frame that has called has overwritten it. */
	if (as == CACHED_CALLER || from->from != FROM_REGISTER || from->offset ||
	    walk->programs->link == REEL_ARCH_NO_SLOT || from->slot != walk->programs->link)
		return false;
	entry->flags |= CACHED_BY_LINK;
	return true;
}

/* False: not plain. */
static bool take_row(const struct reel_walk *walk, const struct reel_row *row, enum cached_as as,
		     struct cached_row *entry)
{
	struct reads reads = { 0 };
	bool has_sp = row->flags & ROW_SP_IS_CFA;
	uint64_t kept = walk->programs->undo_call->keep;

	if (row->n_expressions || !take_cfa(walk, &row->cfa, entry) ||
	    !take_return_address(walk, &row->return_address, as, &reads, entry))
		return false;
	for (unsigned i = 0; i < row->n_saved; i++)
		if (!take_saved(walk, &row->saved[i], &reads, &has_sp, entry))
			return false;
	if (reads.low < INT16_MIN || reads.high > INT16_MAX)
		return false;
	entry->low = (int16_t)reads.low;
	entry->extent = (uint16_t)(reads.high - reads.low);
	entry->row = row;
	if (!(entry->flags & CACHED_SAVES_FP))
		entry->fp_offset = entry->low;
	if (!has_sp || row->keep & ~kept || kept & ~(row->keep | entry->saved))
		return false;
	entry->saved &= kept;
	return true;
}

/* ---- making entries ------------------------------------------------------------------- */

static enum cached_kind kind_of(const struct reel_walk *walk, const struct reel_code *code,
				enum cached_as as, struct cached_row *entry)
{
	const struct reel_row *edge,
		*row = reel_rows_at(code->rows, reel_walk_lookup(walk) - code->bias);
	enum reel_row_outcome outcome = reel_row_outcome(row);
	bool ignored;

	if ((outcome != REEL_ROW_STEP && outcome != REEL_ROW_ROOT) ||
	    reel_row_is_signal_frame(row) ||
	    (walk->first && reel_row_assumes_frame(row, walk->input->arch)) ||
	    (reel_walk_wants_signal_pattern(walk, row) && reel_walk_match_signal_frame(walk, code)))
		return CACHED_OTHER;
	/* An address stored for the outermost function to return to. */
	if (!walk->exact && reel_row_ends_function(row) &&
	    reel_code_never_returns(code, walk->state->pc))
		return CACHED_OTHER;
	if (outcome == REEL_ROW_ROOT || reel_walk_was_stored(walk, code, row))
		return CACHED_ROOT;
	if ((reel_row_denies_return(row, walk->input->arch) &&
	     reel_walk_is_at_return(walk, code)) ||
	    reel_code_is_entered(code, walk->state->pc) || !take_row(walk, row, as, entry))
		return CACHED_OTHER;
	edge = reel_walk_edge_row(walk, code, row, &ignored);
	if (edge && !reel_row_same_frame(edge, row))
		return CACHED_OTHER;
	return CACHED_PLAIN;
}

/*
 * The walk as it will be at the address.  Only the state's pc is set, since entries depend only on
 * the code.
 */
static struct reel_walk walk_at(const struct reel_walk *walk, struct reel_unwind_state *state,
				uint64_t pc, enum cached_as as)
{
	struct reel_walk there = *walk;

	state->arch = walk->input->arch;
	state->memory = walk->input->memory;
	state->pc = pc;
	state->known = 0;
	there.state = state;
	there.first = as != CACHED_CALLER;
	there.exact = as == CACHED_FIRST;
	return there;
}

const struct cached_range *reel_cached_range_slow(const struct reel_walk *walk, uint64_t lookup,
						  struct cached_range *range)
{
	const struct reel_unwind_input *input = walk->input;
	struct reel_code code = { 0 };

	/* Without a file, code may be read from the stack; entries must not depend on it. */
	if (input->find_code(input->context, lookup, &code) != REEL_CODE_FOUND || !code.rows ||
	    !code.read_code || !code.id || code.id >= CACHED_ID_LIMIT)
		return NULL;
	*range = (struct cached_range){ input->generation, code };
	return range;
}

static void make_entry(const struct reel_walk *walk, const struct cached_range *range, uint64_t pc,
		       enum cached_as as, struct cached_row *entry)
{
	struct reel_unwind_state state;
	struct reel_walk there = walk_at(walk, &state, pc, as);

	*entry = (struct cached_row){
		.address = pc - range->code.bias,
		.tag = reel_cached_tag(range, as),
	};
	entry->kind = (uint8_t)kind_of(&there, &range->code, as, entry);
}

/* Entries whose indices differ only in these bits make room for each other. */
#define WAYS 4

/* The entry in a slot other than its own; NULL if none. */
static struct cached_row *find_displaced(struct cached_row *entries, size_t index, uint64_t address,
					 uint32_t tag)
{
	/* A displaced entry's slot is always taken by another entry; slots are never emptied. */
	if (!entries[index].tag)
		return NULL;
	for (size_t way = 1; way < WAYS; way++) {
		struct cached_row *entry = &entries[index ^ way];

		if (entry->address == address && entry->tag == tag)
			return entry;
	}
	return NULL;
}

/* Makes room at the index: entries move by one slot, up to an empty one; without an empty slot, the
 * last entry is dropped. */
static void displace(struct cached_row *entries, size_t index)
{
	size_t way = 0;

	while (way < WAYS - 1 && entries[index ^ way].tag)
		way++;
	for (; way; way--)
		entries[index ^ way] = entries[index ^ (way - 1)];
}

struct cached_row *reel_cached_row_slow(const struct reel_walk *walk,
					const struct cached_range *range, uint64_t pc,
					enum cached_as as)
{
	struct cached_row *entries = walk->input->cache->entries, *displaced, made;
	uint64_t address = pc - range->code.bias;
	uint32_t tag = reel_cached_tag(range, as);
	size_t index = reel_cached_index(address, tag);
	struct cached_range made_for;

	displaced = find_displaced(entries, index, address, tag);
	if (displaced)
		return displaced;
	made_for = *range; /* what makes the entry may look up other code */
	make_entry(walk, &made_for, pc, as, &made);
	displace(entries, index);
	entries[index] = made;
	return &entries[index];
}

/* ---- facts about the preceding code ---------------------------------------------------- */

/* Caches the answer. */
static bool answer(struct cached_row *entry, bool is_so)
{
	entry->flags |= CACHED_ASKED | (is_so ? CACHED_SO : 0);
	return is_so;
}

bool reel_cached_is_landing_pad(const struct reel_walk *walk, uint64_t pc, struct cached_row *entry)
{
	struct reel_unwind_state state;
	struct reel_walk there;

	if (entry->flags & CACHED_ASKED)
		return entry->flags & CACHED_SO;
	/* Its row is the one that the slow check would use. */
	if (entry->kind == CACHED_PLAIN && !reel_row_has_personality(entry->row))
		return answer(entry, false);
	there = walk_at(walk, &state, pc, CACHED_CALLER);
	return answer(entry, reel_walk_is_landing_pad(&there));
}

bool reel_cached_is_behind_system_call(const struct reel_walk *walk)
{
	const struct cached_range *range = NULL;
	uint64_t pc = walk->state->pc;
	struct cached_row *entry = NULL;

	if (walk->input->cache && walk->input->generation)
		range = reel_cached_range(walk, pc);
	/* At the start of the range, the preceding code belongs to another file. */
	if (range && reel_cached_holds(range, pc - 1))
		entry = reel_cached_row(walk, walk->input->cache, range, pc, CACHED_FIRST);
	if (!entry)
		return reel_walk_is_behind_system_call(walk, walk->state->pc);
	if (entry->flags & CACHED_ASKED)
		return entry->flags & CACHED_SO;
	return answer(entry, reel_walk_is_behind_system_call(walk, walk->state->pc));
}
