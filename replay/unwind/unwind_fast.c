/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast path: frames with plain rows (unwind_cache.h), while all words that they read are in one
 * stretch of recorded bytes.  FAST_PATH.md explains why its results equal the slow path's
 * (unwind.c).
 *
 * Only the registers sp and fp are followed; the others that callees keep are read at the end from
 * where frames saved them.  The caller's entry is predicted from the last time, so that the loads
 * of a frame need not wait for the return address loaded by the previous frame.  A prediction is
 * right if the entry was last used with the same return address in the same state of the space.
 */
#include "base/bytes.h"
#include "cfi/row_internal.h"
#include "replay/unwind/unwind_cache.h"

/* One function is compiled per size and byte order of words, with all its callees inlined. */
#define INLINED static inline __attribute__((always_inline))

/* Recorded bytes without a gap, from one region. */
struct stretch {
	uint64_t begin, size;
	const uint8_t *bytes;
};

/* The current frame; `pc` without pointer authentication. */
struct reached {
	uint64_t pc, sp;
	uint64_t fp;	  /* unknown_fp(): unknown */
	uint64_t touched; /* slots saved on the way */
};

struct fast_walk {
	struct reel_walk *walk;
	struct reel_unwind_cache *cache;
	struct reel_unwind_frames *frames;
	size_t limit;
	struct stretch stretch;
	struct reached at;
	const struct cached_range *range; /* of some code on the way; NULL: none */
	unsigned stalled;
};

/* A CFA computed from this is far from all recorded bytes, so find_cfa refuses it. */
static uint64_t unknown_fp(const struct stretch *stretch)
{
	return stretch->begin + ((uint64_t)1 << 63);
}

/* ---- the stretch of bytes ---------------------------------------------------------------- */

static bool overlap(const struct reel_memory_region *a, const struct reel_memory_region *b)
{
	return a->address - b->address < b->size || b->address - a->address < a->size;
}

/* The recorded part between missing bytes that contains `offset`. */
static bool cut_missing(const struct reel_memory_region *region, uint64_t offset,
			struct stretch *ret)
{
	uint64_t low = 0, high = region->size;

	for (size_t i = 0; i < region->n_missing; i++) {
		const struct reel_memory_range *range = &region->missing[i];
		uint64_t end;

		if (__builtin_add_overflow(range->offset, range->size, &end))
			return false;
		if (range->offset > offset)
			high = range->offset < high ? range->offset : high;
		else if (end > offset)
			return false;
		else
			low = end > low ? end : low;
	}
	*ret = (struct stretch){ region->address + low, high - low, region->bytes + low };
	return true;
}

/* The recorded bytes around sp.  False if reel_memory_read would read some from another region or
 * fail. */
static bool find_stretch(const struct reel_walk *walk, uint64_t sp, struct stretch *ret)
{
	const struct reel_memory_view *memory = walk->input->memory;
	const struct reel_memory_region *region = NULL;
	uint64_t last = walk->input->arch->word_size == 8 ? UINT64_MAX : UINT32_MAX;

	for (size_t i = 0; i < memory->n_regions && !region; i++)
		if (sp - memory->regions[i].address < memory->regions[i].size)
			region = &memory->regions[i];
	if (!region || region->address > last || region->size > last - region->address ||
	    region->size >> 62)
		return false;
	for (size_t i = 0; memory->n_regions > 1 && i < memory->n_regions; i++)
		if (&memory->regions[i] != region && overlap(&memory->regions[i], region))
			return false;
	return cut_missing(region, sp - region->address, ret);
}

/* ---- frames -------------------------------------------------------------------------------- */

/* How words are read.  Constant at each use, so that the compiler makes a function for each. */
struct words {
	unsigned size;
	bool big_endian;
};

INLINED uint64_t word_mask(struct words words)
{
	return words.size == 8 ? UINT64_MAX : UINT32_MAX;
}

INLINED uint64_t load(const uint8_t *bytes, struct words words)
{
	uint64_t word = words.size == 8 ? reel_load64(bytes) : reel_load32(bytes);

	if (!words.big_endian)
		return word;
	return words.size == 8 ? __builtin_bswap64(word) : __builtin_bswap32((uint32_t)word);
}

/* A row applied to a frame. */
struct frame {
	const struct cached_row *row;
	uint64_t cfa;
	uint64_t position; /* the CFA's, in the stretch; the row reads around it */
	struct reached caller;
};

INLINED uint64_t load_at(const struct fast_walk *fast, const struct frame *frame, int32_t offset,
			 struct words words)
{
	return load(fast->stretch.bytes + (frame->position + (uint64_t)(int64_t)offset), words);
}

/* All ones or all zeros.  Branches on the registers of a frame would often be mispredicted. */
INLINED uint64_t mask_of(const struct cached_row *row, enum cached_flags flag)
{
	return -(uint64_t) !!(row->flags & flag);
}

INLINED uint64_t choose(uint64_t mask, uint64_t if_set, uint64_t otherwise)
{
	return otherwise ^ ((otherwise ^ if_set) & mask);
}

INLINED bool find_cfa(const struct fast_walk *fast, const struct reached *at, struct words words,
		      struct frame *frame)
{
	const struct stretch *stretch = &fast->stretch;
	const struct cached_row *row = frame->row;
	uint64_t base = choose(mask_of(row, CACHED_BY_FP), at->fp, at->sp), offset;

	frame->cfa = (base + (uint64_t)(int64_t)row->cfa_offset) & word_mask(words);
	frame->position = frame->cfa - stretch->begin;
	offset = frame->position + (uint64_t)(int64_t)row->low;
	return base <= word_mask(words) && offset < stretch->size &&
	       row->extent <= stretch->size - offset;
}

INLINED void find_caller(const struct fast_walk *fast, const struct reached *at,
			 uint64_t return_address, struct words words, struct frame *frame)
{
	const struct cached_row *row = frame->row;
	struct reached *caller = &frame->caller;

	caller->pc = return_address & ~fast->walk->code_mask;
	caller->sp = (frame->cfa + (uint64_t)(int64_t)row->sp_offset) & word_mask(words);
	if (row->flags & CACHED_SAVES_SP)
		caller->sp = load_at(fast, frame, row->sp_offset, words);
	caller->fp = at->fp;
	if (row->extent)
		caller->fp = choose(mask_of(row, CACHED_SAVES_FP),
				    load_at(fast, frame, row->fp_offset, words), at->fp);
	caller->touched = at->touched | row->saved;
}

/* Where frames go; a copy of their list, so that the compiler knows what writes can change. */
struct sink {
	struct reel_unwind_frames frames;
	struct cached_step *steps;
};

/* Except for the common fields (finish). */
INLINED void append(struct sink *sink, const struct reel_row *row, uint64_t cfa,
		    const struct reached *caller)
{
	size_t n = sink->frames.n++;

	sink->steps[n] = (struct cached_step){ row, cfa };
	sink->frames.addresses[n] = caller->pc;
	sink->frames.sps[n] = caller->sp;
}

/* The entry of an address; NULL if the code cannot be cached. */
INLINED struct cached_row *enter(struct fast_walk *fast, uint64_t pc, enum cached_as as)
{
	uint64_t lookup = reel_cached_lookup(pc, as);

	if (!fast->range || !reel_cached_holds(fast->range, lookup)) {
		fast->range = reel_cached_range(fast->walk, lookup);
		if (!fast->range)
			return NULL;
	}
	return reel_cached_row(fast->walk, fast->cache, fast->range, pc, as);
}

/*
 * The step from the first frame.  If registers were just popped, or it leads to a landing pad, the
 * slow path must take it.  Returns the caller's entry; NULL: no step was taken.
 */
INLINED struct cached_row *leave_first(struct fast_walk *fast, struct cached_row *row,
				       struct words words)
{
	const struct reel_walk *walk = fast->walk;
	struct frame frame = { .row = row };
	struct cached_row *caller;
	const struct reel_row *general = row->row;
	const struct reached *at = &fast->at;
	bool by_link = row->flags & CACHED_BY_LINK, stalls;
	struct sink sink = { *fast->frames, fast->cache->steps };

	if (row->extent || row->flags & CACHED_BY_FP) {
		uint64_t lowest;

		if (!find_cfa(fast, at, words, &frame))
			return NULL;
		/* Words below the red zone have been popped. */
		lowest = frame.cfa + (uint64_t)(int64_t)row->low;
		if (lowest < at->sp && at->sp - lowest > walk->input->arch->red_zone)
			return NULL;
	} else {
		frame.cfa = (at->sp + (uint64_t)(int64_t)row->cfa_offset) & word_mask(words);
	}
	if (by_link && !reel_walk_knows(walk->state, walk->programs->link))
		return NULL;
	find_caller(fast, at,
		    by_link ? walk->state->registers[walk->programs->link] & word_mask(words)
			    : load_at(fast, &frame, row->return_offset, words),
		    words, &frame);
	/* Leaf functions of CPUs with a link register leave sp alone. */
	stalls = frame.caller.sp == at->sp;
	if (frame.caller.sp < at->sp || (stalls && (fast->stalled || frame.caller.pc == at->pc)))
		return NULL;
	caller = enter(fast, frame.caller.pc, CACHED_CALLER);
	if (!caller || reel_cached_is_landing_pad(walk, frame.caller.pc, caller))
		return NULL;
	fast->stalled = stalls;
	append(&sink, general, frame.cfa, &frame.caller);
	fast->frames->n = sink.frames.n;
	fast->at = frame.caller;
	return caller;
}

/* Counts whether an unused prediction would have been right.  Without a branch, which would be as
 * hard to predict as the caller. */
INLINED void update_predictor(struct cached_row *row, bool right)
{
	unsigned next = row->predictor + 2u - 3u * right;

	row->predictor = (uint8_t)(next < CACHED_PREDICTOR_MAX ? next : CACHED_PREDICTOR_MAX);
}

/*
 * The entry of a caller.  Each load of a walk waits for the previous one; a prediction takes the
 * return address out of that sequence.  A wrong one costs more than none, so entries that are often
 * wrong are not used.
 */
INLINED struct cached_row *enter_caller(struct fast_walk *fast, struct cached_row *row, uint64_t pc,
					uint64_t generation)
{
	struct cached_row *entries = fast->cache->entries, *predicted = &entries[row->next], *found;
	bool is_off = row->predictor >= CACHED_PREDICTOR_OFF;

	if (!is_off && predicted->pc == pc && predicted->generation == generation)
		return predicted;
	found = enter(fast, pc, CACHED_CALLER);
	if (!found)
		return NULL;
	row->next = (uint16_t)(found - entries);
	if (is_off) {
		update_predictor(row, found == predicted);
		return found;
	}
	if (found != predicted)
		row->predictor += CACHED_PREDICTOR_OFF / 2;
	found->pc = pc;
	found->generation = generation;
	return found;
}

/* Goes from caller to caller; returns the last one's entry, NULL if none. */
INLINED const struct cached_row *leave_callers(struct fast_walk *fast, struct cached_row *row,
					       struct words words)
{
	const uint64_t generation = fast->walk->input->generation;
	struct fast_walk local = *fast;
	struct sink sink = { *fast->frames, fast->cache->steps };
	struct reached at = fast->at;

	while (row && row->kind == CACHED_PLAIN && sink.frames.n < local.limit) {
		const struct reel_row *general = row->row;
		struct frame frame = { .row = row };
		struct cached_row *caller;

		if (!find_cfa(&local, &at, words, &frame))
			break;
		find_caller(&local, &at, load_at(&local, &frame, row->return_offset, words), words,
			    &frame);
		/* The slow path handles an sp that does not move up, and other code, if any. */
		if (frame.caller.sp <= at.sp)
			break;
		caller = enter_caller(&local, row, frame.caller.pc, generation);
		if (!caller)
			break;
		row = caller;
		append(&sink, general, frame.cfa, &frame.caller);
		at = frame.caller;
	}
	if (sink.frames.n > fast->frames->n)
		fast->stalled = 0;
	fast->frames->n = sink.frames.n;
	fast->at = at;
	return row;
}

/* ---- the state at the end ------------------------------------------------------------------- */

/* Slots saved in any frame if callees keep them; in the last frame, all saved slots. */
static uint64_t known_of(const struct fast_walk *fast, const struct cached_step *last)
{
	uint64_t known = fast->at.touched;

	for (unsigned i = 0; i < last->row->n_saved; i++)
		known |= (uint64_t)1 << last->row->saved[i].to;
	return known & ~((uint64_t)1 << fast->walk->programs->sp);
}

/* Reads registers saved on the way from where they were saved last. */
static void restore(struct fast_walk *fast, size_t start, uint64_t needed, struct words words)
{
	struct reel_unwind_state *state = fast->walk->state;

	for (size_t i = fast->frames->n; needed && i-- > start;) {
		const struct cached_step *step = &fast->cache->steps[i];
		uint64_t position = step->cfa - fast->stretch.begin;

		for (unsigned j = 0; j < step->row->n_saved; j++) {
			const struct rule_source *saved = &step->row->saved[j];
			uint64_t bit = (uint64_t)1 << saved->to;

			if (!(needed & bit))
				continue;
			state->registers[saved->to] = load(
				fast->stretch.bytes + (position + (uint64_t)(int64_t)saved->offset),
				words);
			needed &= ~bit;
		}
	}
}

/* The return address with all its bits: from memory, or from the link register, which `state` has
 * from the first frame. */
static uint64_t return_address_of(const struct fast_walk *fast, const struct cached_step *step,
				  struct words words)
{
	const struct rule_source *source = &step->row->return_address;

	if (source->from == FROM_REGISTER)
		return fast->walk->state->registers[source->slot] & word_mask(words);
	return load(fast->stretch.bytes +
			    (step->cfa - fast->stretch.begin + (uint64_t)(int64_t)source->offset),
		    words);
}

static void finish(struct fast_walk *fast, size_t start, struct words words)
{
	struct reel_walk *walk = fast->walk;
	const struct reel_unwind_programs *programs = walk->programs;
	struct reel_unwind_state *state = walk->state;
	struct reel_unwind_frames *frames = fast->frames;
	uint64_t known, return_address;
	const struct cached_step *last;

	if (frames->n == start)
		return;
	for (size_t i = start; i < frames->n; i++)
		frames->lookups[i] = frames->addresses[i] - 1;
	memset(frames->steps + start, REEL_STEP_CFI, frames->n - start);
	last = &fast->cache->steps[frames->n - 1];
	return_address = return_address_of(fast, last, words);
	known = known_of(fast, last);
	restore(fast, start, known, words);
	state->known = (state->known & programs->undo_call->keep) | known;
	state->known |= (uint64_t)1 << programs->sp;
	state->registers[programs->sp] = fast->at.sp;
	if (programs->pc != REEL_ARCH_NO_SLOT) {
		state->known |= (uint64_t)1 << programs->pc;
		state->registers[programs->pc] = return_address;
	}
	state->pc = fast->at.pc;
	walk->callee = frames->addresses[frames->n - 2];
	walk->stalled = fast->stalled;
	walk->first = false;
	walk->exact = false;
}

/* ---- the walk ----------------------------------------------------------------------------- */

INLINED bool walk_words(struct fast_walk *fast, struct words words)
{
	const struct reel_walk *walk = fast->walk;
	size_t start = fast->frames->n;
	const struct cached_row *last;
	struct cached_row *row;
	bool is_root;

	if (walk->first) {
		row = enter(fast, fast->at.pc, walk->exact ? CACHED_FIRST : CACHED_BEHIND);
		if (!row || row->kind != CACHED_PLAIN)
			return row && row->kind == CACHED_ROOT;
		row = fast->frames->n < fast->limit ? leave_first(fast, row, words) : NULL;
	} else {
		row = enter(fast, fast->at.pc, CACHED_CALLER);
	}
	last = leave_callers(fast, row, words);
	is_root = last && last->kind == CACHED_ROOT;
	finish(fast, start, words);
	return is_root;
}

bool reel_walk_fast(struct reel_walk *walk, struct reel_unwind_frames *frames, size_t max_frames)
{
	const struct reel_unwind_state *state = walk->state;
	const struct reel_unwind_programs *programs = walk->programs;
	struct fast_walk fast = {
		.walk = walk,
		.cache = walk->input->cache,
		.frames = frames,
		.limit = max_frames < frames->capacity ? max_frames : frames->capacity,
	};

	/* The fast path does not report its reads to `reads`. */
	if (!fast.cache || !walk->input->generation || walk->input->memory->reads ||
	    walk->sp_assumed || (walk->exact && !walk->first) ||
	    !reel_walk_knows(state, programs->sp) ||
	    !find_stretch(walk, state->registers[programs->sp], &fast.stretch) ||
	    !reel_cached_reserve_steps(fast.cache, frames->capacity))
		return false;
	fast.at = (struct reached){
		.pc = state->pc,
		.sp = state->registers[programs->sp],
		.fp = reel_walk_knows(state, programs->fp) ? state->registers[programs->fp]
							   : unknown_fp(&fast.stretch),
	};
	fast.stalled = walk->stalled;
	if (walk->input->arch->word_size == 8)
		return walk->input->memory->big_endian
			       ? walk_words(&fast, (struct words){ 8, true })
			       : walk_words(&fast, (struct words){ 8, false });
	return walk->input->memory->big_endian ? walk_words(&fast, (struct words){ 4, true })
					       : walk_words(&fast, (struct words){ 4, false });
}
