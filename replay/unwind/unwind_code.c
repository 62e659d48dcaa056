/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without CFI, by analyzing the code (replay/synthesis/).  A result is used only if its
 * address follows a call that can have led here.
 */
#include "replay/unwind/unwind_cache.h"
#include "replay/unwind/unwind_internal.h"

/* For all frames of a walk. */
#define WALK_SEARCHED_WORDS 65536

/* Limit of the frame that code makes below the frame of the code that jumped to it (LuaJIT's traces
 * spill at most 1 KiB). */
#define DEEPER_MAX 2048

/* ---- callers ------------------------------------------------------------------------------ */

/* A return address was pushed, but nothing left yet: the code there continues with the frame that
 * the code here uses. */
static bool is_own_frame(const struct reel_walk *walk, const struct reel_synthesized_rows *rows,
			 const struct reel_unwind_state *caller)
{
	uint8_t fp = walk->programs->fp;

	return rows->by_fp && reel_walk_knows(walk->state, fp) &&
	       walk->state->registers[fp] == caller->registers[fp];
}

/*
 * `by`: the caller's row.  JIT code jumps through registers within a frame as well as out of it, so
 * for such a jump only a call that leads here is evidence: any call through a register could.
 */
static enum reel_proof prove(const struct reel_walk *walk, const struct reel_code *code,
			     const struct reel_synthesized_rows *rows,
			     const struct reel_unwind_state *caller, enum reel_synthesized_by by)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_unwind_state *state = walk->state;
	uint8_t sp = walk->programs->sp;
	struct reel_code there = { 0 };
	bool agrees;

	/* A function that has called has a frame. */
	if (reel_walk_knows(state, sp) && reel_walk_knows(caller, sp) &&
	    caller->registers[sp] < state->registers[sp] + !walk->first)
		return REEL_CALLER_REFUSED;
	if (!reel_walk_is_behind_call(walk, caller->pc, NULL)) {
		input->find_code(input->context, caller->pc, &there);
		return reel_walk_is_outermost(walk, caller->pc, &there) ||
				       (reel_walk_resumes(walk, caller) &&
					!is_own_frame(walk, rows, caller))
			       ? REEL_CALLER_POSSIBLE
			       : REEL_CALLER_REFUSED;
	}
	switch (reel_walk_call_leads_here(walk, code, caller, &agrees)) {
	case REEL_LEADS_THERE:
		return agrees ? REEL_CALLER_PROVED : REEL_CALLER_POSSIBLE;
	case REEL_LEADS_PERHAPS:
		return by == REEL_BY_JUMP && !code->rows ? REEL_CALLER_REFUSED
							 : REEL_CALLER_POSSIBLE;
	case REEL_LEADS_NOT:
		break;
	}
	return REEL_CALLER_REFUSED;
}

static bool same_frame(const struct reel_walk *walk, const struct reel_unwind_state *a,
		       const struct reel_unwind_state *b)
{
	return a->pc == b->pc &&
	       a->registers[walk->programs->sp] == b->registers[walk->programs->sp];
}

/* Code that continues by its frame pointer has the same caller wherever its sp is. */
static bool same_caller(const struct reel_walk *walk, const struct reel_unwind_state *a,
			const struct reel_unwind_state *b)
{
	uint8_t fp = walk->programs->fp;

	return same_frame(walk, a, b) ||
	       (a->pc == b->pc && reel_walk_knows(a, fp) && reel_walk_knows(b, fp) &&
		a->registers[fp] == b->registers[fp] && reel_walk_resumes(walk, a));
}

/* Adds the rows' callers, each caller once. */
static unsigned add_candidates(const struct reel_walk *walk, const struct reel_code *code,
			       const struct reel_synthesized_rows *here,
			       const struct reel_synthesized *rows, unsigned n_rows,
			       struct reel_candidate *candidates, unsigned n)
{
	for (unsigned i = 0; i < n_rows; i++) {
		struct reel_candidate *candidate = &candidates[n];
		unsigned j = 0;

		/* Frame records are also made for other purposes. */
		if (n && rows[i].by != candidates[0].by &&
		    (rows[i].by == REEL_BY_RECORD || candidates[0].by == REEL_BY_RECORD))
			continue;
		if (!reel_walk_try(walk, rows[i].row, &candidate->caller))
			continue;
		while (j < n && !same_caller(walk, &candidates[j].caller, &candidate->caller))
			j++;
		if (j < n && same_frame(walk, &candidates[j].caller, &candidate->caller))
			continue;
		candidate->by = rows[i].by;
		candidate->proof = prove(walk, code, here, &candidate->caller, rows[i].by);
		if (j == n)
			n += candidate->proof != REEL_CALLER_REFUSED;
		else if (candidate->proof > candidates[j].proof)
			candidates[j] = *candidate;
	}
	return n;
}

/* Keeps only the proved ones, if there are any. */
static unsigned keep_best(struct reel_candidate *candidates, unsigned n)
{
	enum reel_proof most = REEL_CALLER_REFUSED;
	unsigned kept = 0;

	for (unsigned i = 0; i < n; i++) {
		if (candidates[i].proof > most)
			most = candidates[i].proof;
	}
	for (unsigned i = 0; i < n; i++) {
		if (candidates[i].proof == most)
			candidates[kept++] = candidates[i];
	}
	return kept;
}

unsigned reel_walk_add_by_beginnings(const struct reel_walk *walk, const struct reel_code *code,
				     const struct reel_synthesized_rows *here,
				     struct reel_candidate *candidates, unsigned n)
{
	const struct reel_row *found[REEL_SYNTHESIZED_MAX];
	struct reel_synthesized rows[REEL_SYNTHESIZED_MAX];
	unsigned n_rows = reel_synthesis_beginnings(code->synthesis, walk->state->pc - code->bias,
						    !code->rows, found);

	for (unsigned i = 0; i < n_rows; i++)
		rows[i] = (struct reel_synthesized){ .row = found[i] };
	return keep_best(candidates, add_candidates(walk, code, here, rows, n_rows, candidates, n));
}

bool reel_walk_by_beginning(struct reel_walk *walk, const struct reel_code *code)
{
	uint8_t sp = walk->programs->sp;
	uint64_t begin = walk->state->registers[sp], end;
	unsigned word = walk->input->arch->word_size;
	struct reel_candidate candidates[REEL_SYNTHESIZED_MAX];
	struct reel_unwind_state *caller = &candidates[0].caller;
	struct reel_synthesized_rows rows;

	if (!code || !code->synthesis || code->rows || !reel_walk_knows(walk->state, sp) ||
	    walk->input->arch->flags & REEL_ARCH_LINK_REGISTER)
		return false;
	reel_synthesis_at(code->synthesis, walk->state->pc - code->bias, &rows);
	if ((rows.n && rows.rows[0].by == REEL_BY_RETURN) ||
	    !reel_walk_add_by_beginnings(walk, code, &rows, candidates, 0) ||
	    !reel_walk_is_known_return(walk, caller))
		return false;
	end = caller->registers[sp] - word;
	walk->guessed |= candidates[0].proof != REEL_CALLER_PROVED &&
			 (end - begin > REEL_SEARCHED_WORDS * word ||
			  !reel_walk_is_nothing_between(walk, begin, end, caller->pc));
	*walk->state = *caller;
	return true;
}

/* The rows with a caller, each caller once; only proved ones if there are any. */
static unsigned find_candidates(const struct reel_walk *walk, const struct reel_code *code,
				const struct reel_synthesized_rows *rows,
				struct reel_candidate *candidates)
{
	return keep_best(candidates,
			 add_candidates(walk, code, rows, rows->rows, rows->n, candidates, 0));
}

/* The frame's sp has several candidates. */
static bool has_other_sps(const struct reel_walk *walk)
{
	const struct reel_other_sps *others = &walk->other_sps;
	uint8_t sp = walk->programs->sp;

	return others->n && others->pc == walk->state->pc && reel_walk_knows(walk->state, sp) &&
	       others->sp == walk->state->registers[sp];
}

static unsigned add_candidate(const struct reel_walk *walk, const struct reel_candidate *candidate,
			      struct reel_candidate *candidates, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (same_caller(walk, &candidates[i].caller, &candidate->caller))
			return n;
	}
	if (n && (candidate->proof != candidates[0].proof || n == REEL_SYNTHESIZED_MAX))
		return n;
	candidates[n] = *candidate;
	return n + 1;
}

unsigned reel_walk_find_candidates(const struct reel_walk *walk, const struct reel_code *code,
				   const struct reel_synthesized_rows *rows,
				   struct reel_candidate *candidates)
{
	struct reel_candidate found[REEL_SYNTHESIZED_MAX];
	struct reel_walk other = *walk;
	struct reel_unwind_state state = *walk->state;
	unsigned n = find_candidates(walk, code, rows, candidates), n_found;

	if (!has_other_sps(walk))
		return n;
	other.state = &state;
	for (unsigned i = 0; i < walk->other_sps.n; i++) {
		state.registers[walk->programs->sp] = walk->other_sps.sps[i];
		n_found = find_candidates(&other, code, rows, found);
		if (n_found && n && found[0].proof > candidates[0].proof)
			n = 0;
		for (unsigned j = 0; j < n_found; j++)
			n = add_candidate(walk, &found[j], candidates, n);
	}
	return n;
}

void reel_walk_note_other_sps(struct reel_walk *walk, const struct reel_code *code,
			      const struct reel_unwind_state *caller)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_unwind_state *state = walk->state;
	uint8_t fp = walk->programs->fp, sp = walk->programs->sp;
	unsigned size = input->arch->word_size;
	struct reel_other_sps *others = &walk->other_sps;
	struct reel_code there = { 0 };
	uint64_t word, least, n_words;

	others->n = 0;
	if (input->arch->flags & REEL_ARCH_LINK_REGISTER || !code || code->rows || !caller->pc ||
	    !reel_walk_knows(state, sp) || !reel_walk_knows(caller, sp) ||
	    input->find_code(input->context, caller->pc - 1, &there) == REEL_CODE_NO_MAPPING ||
	    there.rows)
		return;
	least = caller->registers[sp];
	others->pc = caller->pc;
	others->sp = least;
	n_words = (state->registers[fp] - state->registers[sp]) / size;
	/* Words kept for the whole call are next to the record. */
	for (uint64_t i = 1;
	     i <= n_words && i <= REEL_SEARCHED_WORDS && others->n < REEL_OTHER_SPS_MAX; i++) {
		if (!reel_memory_read(input->memory, state->registers[fp] - i * size, size, &word))
			return;
		if (word % size == 0 && word > least && word - least <= REEL_SEARCHED_WORDS * size)
			others->sps[others->n++] = word;
	}
}

/* ---- searching ------------------------------------------------------------------------------ */

/* Sets the targets of the calls before `pc`.  *lasts_ret: they stay in this state of the space, as
 * those in files do. */
static void find_targets(const struct reel_walk *walk, uint64_t pc, struct cached_word *word,
			 bool *lasts_ret)
{
	const struct reel_arch *arch = walk->input->arch;
	struct reel_code there = { .id = UINT64_MAX }; /* stays so without code */
	uint32_t calls = 0;

	word->n = 0;
	if (reel_walk_is_behind_call(walk, pc, &there) && there.synthesis)
		calls = reel_walk_calls_before(walk, &there, pc);
	for (; calls && word->n < CACHED_TARGETS_MAX; calls &= calls - 1) {
		unsigned i = (unsigned)__builtin_ctz(calls);
		uint64_t *target = &word->targets[word->n];

		if (i < arch->n_calls &&
		    reel_synthesis_call_target(there.synthesis, pc - there.bias,
					       arch->calls[i].size, target)) {
			*target += there.bias;
			word->n++;
		}
	}
	*lasts_ret = there.id && walk->input->generation;
}

/* The same, which may be known; in `made` if it cannot be cached. */
static const struct cached_word *targets_before(const struct reel_walk *walk, uint64_t pc,
						struct cached_word *made)
{
	struct reel_unwind_cache *cache = walk->input->cache;
	uint64_t generation = walk->input->generation;
	struct cached_word *word = made;
	bool lasts;

	if (cache) {
		word = &cache->words[pc * 0x9e3779b97f4a7c15 >> (64 - CACHED_WORD_BITS)];
		if (word->pc == pc && word->stamp &&
		    (word->stamp == generation || word->stamp == cache->trace))
			return word;
	}
	find_targets(walk, pc, word, &lasts);
	word->pc = pc;
	word->stamp = lasts ? generation : cache ? cache->trace : 0;
	return word;
}

/* The row from the call before `word`, by the called function's changes to the stack up to here,
 * or up to its jump; NULL if none.  `most`: as of search_words.  *in_files_ret: all that is called is
 * code of files. */
static const struct reel_row *row_by_call(const struct reel_walk *walk,
					  const struct reel_code *here,
					  const struct cached_word *word, enum reel_led_by most,
					  enum reel_led_by *ret, bool *in_files_ret)
{
	const struct reel_unwind_input *input = walk->input;
	const struct reel_row *row = NULL;

	*ret = REEL_LED_BY_CALL;
	*in_files_ret = true;
	for (unsigned i = 0; !row && i < word->n; i++) {
		uint64_t target = word->targets[i];
		struct reel_code called = { 0 };

		input->find_code(input->context, target, &called);
		*in_files_ret &= called.id != 0;
		/* Another module leads here only by a jump. */
		if (most == REEL_LED_BY_CALL && !reel_code_is_same(here, &called))
			continue;
		if (reel_walk_target_leads(walk, here, target, &row) != REEL_LEADS_PERHAPS || row ||
		    !called.synthesis)
			continue;
		row = reel_synthesis_leaving(called.synthesis, target - called.bias);
		if (row)
			*ret = reel_synthesis_is_inner(called.synthesis, target - called.bias)
				       ? REEL_LED_BY_INNER
				       : REEL_LED_BY_LEAVE;
	}
	return row;
}

/* The caller with the return address at `at` if the code here has made a frame of its own after the
 * jump (LuaJIT's traces), and nothing else lies between. */
static bool try_deeper(const struct reel_walk *walk, const struct reel_row *row, uint64_t at,
		       struct reel_unwind_state *caller)
{
	uint8_t sp = walk->programs->sp;
	struct reel_unwind_state state = *walk->state;
	struct reel_walk deeper = *walk;
	uint64_t word = caller->pc, more;

	if (!reel_walk_try(walk, row, caller) || !reel_walk_knows(caller, sp))
		return false;
	more = at + walk->input->arch->word_size - caller->registers[sp];
	state.registers[sp] += more;
	deeper.state = &state;
	return more <= DEEPER_MAX && reel_walk_try(&deeper, row, caller) && caller->pc == word &&
	       reel_walk_is_nothing_between(walk, walk->state->registers[sp], at, 0);
}

/* Reads the word at `at` if it is a return address after a call with a target; otherwise NULL. */
static const struct cached_word *read_called(const struct reel_walk *walk, uint64_t at,
					     struct cached_word *made)
{
	const struct reel_unwind_input *input = walk->input;
	const struct cached_word *found;
	uint64_t word;

	/* A frame may have pages that were never touched; most words are not code addresses, and
	 * many were scrubbed. */
	if (!reel_memory_read(input->memory, at, input->arch->word_size, &word) || word <= 1)
		return NULL;
	found = targets_before(walk, reel_walk_strip(walk, word), made);
	return found->n ? found : NULL;
}

/*
 * For searches for calls from code without a file, all such code is one origin: calls into files do
 * not lead there.  Otherwise it is an address.
 */
#define ORIGIN_WITHOUT_FILE 1

static uint64_t origin_of(const struct reel_walk *walk, const struct reel_code *code,
			  enum reel_led_by most)
{
	if (most == REEL_LED_BY_CALL && !code->rows)
		return ORIGIN_WITHOUT_FILE;
	return (walk->state->pc << 1 | walk->exact) ^ (uint64_t)(most != REEL_LED_BY_CALL) << 63;
}

/* The words that searches from there have passed. */
static struct reel_word_bits *passed_from(const struct reel_walk *walk, uint64_t origin)
{
	struct reel_seen_words *seen = walk->seen;
	size_t index = origin * 0x9e3779b97f4a7c15 >> 32 & (REEL_SEEN_ORIGINS - 1);

	if (!seen)
		return NULL;
	if (!seen->begun) {
		seen->begun = true;
		seen->begin = walk->state->registers[walk->programs->sp];
		seen->passed = (struct reel_word_bits){ 0 };
		for (size_t i = 0; i < REEL_SEEN_ORIGINS; i++)
			seen->origins[i].code = 0;
	}
	if (seen->origins[index].code != origin) {
		seen->origins[index].code = origin;
		seen->origins[index].passed = (struct reel_word_bits){ 0 };
	}
	return &seen->origins[index].passed;
}

/* Number of words from `at` on already passed, in general or in such searches. */
static unsigned count_passed(const struct reel_walk *walk, const struct reel_word_bits *own,
			     uint64_t at)
{
	const struct reel_seen_words *seen = walk->seen;
	uint64_t first, i, left;

	if (!seen || (at - seen->begin) % walk->input->arch->word_size)
		return 0;
	first = (at - seen->begin) / walk->input->arch->word_size;
	for (i = first; i < REEL_SEEN_WORDS; i = (i | 63) + 1) {
		left = ~(seen->passed.bits[i / 64] | own->bits[i / 64]) >> i % 64;
		if (left)
			return (unsigned)(i - first) + (unsigned)__builtin_ctzll(left);
	}
	return first < REEL_SEEN_WORDS ? (unsigned)(REEL_SEEN_WORDS - first) : 0;
}

/* `own`: those of such searches; NULL: in general. */
static void note_passed(const struct reel_walk *walk, struct reel_word_bits *own, uint64_t at,
			unsigned n)
{
	struct reel_seen_words *seen = walk->seen;
	uint64_t i;

	if (!seen || (at - seen->begin) % walk->input->arch->word_size)
		return;
	i = (at - seen->begin) / walk->input->arch->word_size;
	for (uint64_t end = i + n; i < end && i < REEL_SEEN_WORDS; i = (i | 63) + 1) {
		uint64_t bits = UINT64_MAX << i % 64;

		if (end - (i & ~(uint64_t)63) < 64)
			bits &= ~(UINT64_MAX << end % 64);
		(own ? own : &seen->passed)->bits[i / 64] |= bits;
	}
}

/* Number of words from `at` on that cannot be return addresses. */
static unsigned count_excluded(const struct reel_walk *walk, const struct reel_word_bits *own,
			       uint64_t at, unsigned left)
{
	unsigned n = count_passed(walk, own, at);

	if (n)
		return n < left ? n : left;
	n = (unsigned)reel_memory_count_empty(walk->input->memory, at, walk->input->arch->word_size,
					      left);
	if (n)
		note_passed(walk, NULL, at, n);
	return n;
}

/* sp where the code leaves by a jump; the present one if it does not, or differs between jumps. */
static uint64_t sp_at_jump(const struct reel_walk *walk, const struct reel_synthesized_rows *rows)
{
	uint64_t now = walk->state->registers[walk->programs->sp], sp = now, cfa;

	for (unsigned i = 0; i < rows->n; i++) {
		if (rows->rows[i].by != REEL_BY_JUMP ||
		    !reel_row_cfa(rows->rows[i].row, walk->state, 0, &cfa))
			continue;
		if (!(walk->input->arch->flags & REEL_ARCH_LINK_REGISTER))
			cfa -= walk->input->arch->word_size; /* the return address */
		if (sp != now && sp != cfa)
			return now;
		sp = cfa;
	}
	return sp;
}

/*
 * If the code's returns are not found (it jumps by tables, or ends in code that never returns),
 * searches the stack for a return address whose call leads here and, by the changes of the stack
 * since then, left its return address in this word.  That is a proof; if the way is by a jump, only
 * if no other word qualifies and the code's returns lead to no caller (`most` is REEL_LED_BY_LEAVE or more).
 * If none does and `most` is REEL_LED_BY_INNER, the code here may have made a frame since the jump from
 * hand-written code: guesses the nearest return address of such code.
 */
static bool search_words(struct reel_walk *walk, const struct reel_code *code,
			 const struct reel_synthesized_rows *rows, unsigned left,
			 enum reel_led_by most)
{
	unsigned size = walk->input->arch->word_size;
	uint64_t at = walk->state->registers[walk->programs->sp];
	struct reel_unwind_state by_jump, by_deeper, at_jump = *walk->state;
	bool found = false, found_deeper = false, in_files;
	struct reel_walk leaving = *walk;
	uint64_t origin = origin_of(walk, code, most);
	struct reel_word_bits *own = passed_from(walk, origin);

	leaving.state = &at_jump;
	at_jump.registers[walk->programs->sp] = sp_at_jump(walk, rows);
	for (unsigned n; left; left -= n, walk->searched += n, at += (uint64_t)n * size) {
		struct reel_unwind_state caller;
		const struct reel_walk *where;
		const struct reel_row *row;
		const struct cached_word *word;
		struct cached_word made;
		enum reel_led_by way;

		n = count_excluded(walk, own, at, left);
		if (n)
			continue;
		n = 1;
		word = read_called(walk, at, &made);
		if (!word) {
			note_passed(walk, NULL, at, 1);
			continue;
		}
		caller.pc = word->pc;
		caller.known = 0;
		row = row_by_call(walk, code, word, most, &way, &in_files);
		if (!row && (origin != ORIGIN_WITHOUT_FILE || in_files))
			note_passed(walk, own, at, 1);
		if (!row || (way && !most))
			continue;
		where = way ? &leaving : walk;
		if (!reel_walk_finds(where, row, &caller)) {
			if (way == REEL_LED_BY_INNER && most == REEL_LED_BY_INNER &&
			    !found_deeper && try_deeper(walk, row, at, &caller)) {
				by_deeper = caller;
				found_deeper = true;
			}
			continue;
		}
		if (!reel_walk_try(where, row, &caller))
			continue;
		if (way == REEL_LED_BY_CALL) {
			walk->searched++;
			*walk->state = caller;
			return true;
		}
		if (found && !same_caller(walk, &by_jump, &caller)) {
			walk->searched++;
			return false;
		}
		by_jump = caller;
		found = true;
	}
	if (found || found_deeper)
		*walk->state = found ? by_jump : by_deeper;
	walk->guessed |= found_deeper && !found;
	return found || found_deeper;
}

bool reel_walk_search(struct reel_walk *walk, const struct reel_code *code,
		      const struct reel_synthesized_rows *rows, unsigned words,
		      enum reel_led_by most)
{
	unsigned left = WALK_SEARCHED_WORDS - walk->searched;

	if (!reel_walk_knows(walk->state, walk->programs->sp) || has_other_sps(walk))
		return false;
	return search_words(walk, code, rows, words < left ? words : left, most);
}

/* Until a function leaves its caller's stack, its depth follows from the code since its beginning;
 * true if the call there agrees. */
static bool take_from_begin(struct reel_walk *walk, const struct reel_code *code,
			    const struct reel_synthesized_rows *rows)
{
	uint64_t address = walk->state->pc - code->bias, begin;
	struct reel_synthesized since = { .by = REEL_BY_RETURN };
	struct reel_candidate candidate;

	if (!reel_rows_switch_begins(code->rows, reel_walk_lookup(walk) - code->bias, &begin) ||
	    !reel_synthesis_leads(code->synthesis, begin, address, &since.row) || !since.row ||
	    !add_candidates(walk, code, rows, &since, 1, &candidate, 0) ||
	    candidate.proof != REEL_CALLER_PROVED)
		return false;
	*walk->state = candidate.caller;
	return true;
}

bool reel_walk_by_code_alone(struct reel_walk *walk, const struct reel_code *code, bool *proved_ret)
{
	struct reel_candidate candidates[2 * REEL_SYNTHESIZED_MAX];
	struct reel_synthesized_rows rows;

	*proved_ret = true;
	if (!code->synthesis)
		return false;
	reel_synthesis_at(code->synthesis, walk->state->pc - code->bias, &rows);
	if (!rows.whole || find_candidates(walk, code, &rows, candidates) != 1)
		return take_from_begin(walk, code, &rows);
	*walk->state = candidates[0].caller;
	*proved_ret = candidates[0].proof == REEL_CALLER_PROVED;
	return true;
}

static void take_registers(struct reel_unwind_state *to, const struct reel_unwind_state *from,
			   uint64_t slots)
{
	to->known |= slots;
	for (; slots; slots &= slots - 1)
		to->registers[__builtin_ctzll(slots)] = from->registers[__builtin_ctzll(slots)];
}

void reel_walk_keep_scratch(struct reel_walk *walk, const struct reel_code *code,
			    const struct reel_unwind_state *callee)
{
	const struct reel_unwind_programs *programs = walk->programs;
	struct reel_unwind_state *caller = walk->state;
	struct reel_unwind_state state = *callee, restored;
	struct reel_synthesized_rows rows;
	struct reel_walk other = *walk;
	uint64_t kept;

	if (!code->synthesis)
		return;
	reel_synthesis_at(code->synthesis, callee->pc - code->bias, &rows);
	kept = rows.untouched & callee->known & ~caller->known & ~((uint64_t)1 << programs->sp);
	if (programs->pc != REEL_ARCH_NO_SLOT)
		kept &= ~((uint64_t)1 << programs->pc);
	caller->known |= kept;
	take_registers(caller, callee, kept);
	other.state = &state;
	for (unsigned i = 0; i < rows.n; i++) {
		if (rows.rows[i].by == REEL_BY_RETURN &&
		    reel_walk_try(&other, rows.rows[i].row, &restored) &&
		    same_frame(walk, &restored, caller))
			take_registers(caller, &restored,
				       restored.known & ~callee->known & ~caller->known);
	}
}
