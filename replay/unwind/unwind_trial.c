/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/unwind/unwind_trial.h"

/* Limits of a walk's work (unwind_code.c) are the same with and without the words that a trial's rest
 * searched, as long as the sum is below this. */
#define SEARCHED_SAFE 60000

/* Before a step, in a frame that the fast path leaves. */
struct trial_state {
	uint64_t hash;
	size_t n_frames; /* up to it */
	unsigned searched;
};

struct reel_trial {
	struct reel_unwind_frames frames;
	struct trial_state *states;
	size_t n_states, capacity;
	/* In the end. */
	struct reel_unwind_state state;
	unsigned searched;
};

struct reel_trials {
	struct reel_trial trials[2];
	/* The last one that has reached the root, or NULL, and the present one. */
	struct reel_trial *done, *next;
};

struct reel_trials *reel_trials_create(void)
{
	struct reel_trials *trials = calloc(1, sizeof(*trials));

	if (trials)
		trials->next = &trials->trials[0];
	return trials;
}

void reel_trials_destroy(struct reel_trials *trials)
{
	for (size_t i = 0; trials && i < 2; i++) {
		reel_unwind_frames_free(&trials->trials[i].frames);
		free(trials->trials[i].states);
	}
	free(trials);
}

void reel_trials_begin(struct reel_trials *trials)
{
	trials->done = NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ hash >> 32 ^ value) * 0x9e3779b97f4a7c15;
}

static uint64_t mix_place(uint64_t hash, const struct reel_place *place)
{
	return mix(mix(mix(hash, place->sp), place->fp), place->pc);
}

/* Of all that the next steps of walks over the same memory depend on. */
static uint64_t hash_walk(const struct reel_walk *walk)
{
	const struct reel_unwind_state *state = walk->state;
	const struct reel_other_sps *others = &walk->other_sps;
	uint64_t hash = mix(mix(state->pc, state->known), walk->callee);

	for (uint64_t known = state->known; known; known &= known - 1)
		hash = mix(hash, state->registers[__builtin_ctzll(known)]);
	hash = mix(hash, (uint64_t)walk->stalled << 8 | walk->first | walk->exact << 1 |
				 walk->sp_assumed << 2 | walk->is_computed << 3 |
				 walk->is_beyond_gap << 4 | walk->on_trial << 5 |
				 walk->follows_scratch << 6);
	if (walk->left || walk->waiting.sp || walk->own.sp)
		hash = mix(mix_place(mix_place(hash, &walk->waiting), &walk->own), walk->left);
	if (others->n) {
		hash = mix(mix(hash, others->pc), others->sp);
		for (unsigned i = 0; i < others->n; i++)
			hash = mix(hash, others->sps[i]);
	}
	return hash;
}

struct reel_unwind_frames *reel_trials_next(struct reel_trials *trials)
{
	trials->next->n_states = 0;
	return &trials->next->frames;
}

void reel_trials_keep(struct reel_trials *trials, const struct reel_walk *trial)
{
	trials->done = trials->next;
	trials->done->state = *trial->state;
	trials->done->searched = trial->searched;
	trials->next = trials->done == &trials->trials[0] ? &trials->trials[1] : &trials->trials[0];
}

/* The state of the last trial that is the walk's, and has further frames. */
static const struct trial_state *find(const struct reel_trial *done, uint64_t hash)
{
	for (size_t i = 0; i < done->n_states; i++) {
		if (done->states[i].hash == hash && done->states[i].n_frames < done->frames.n)
			return &done->states[i];
	}
	return NULL;
}

static bool append(struct reel_unwind_frames *frames, const struct reel_unwind_frames *from,
		   size_t first)
{
	struct reel_error *error = reel_unwind_frames_fit(frames, frames->n + from->n - first);

	if (error) {
		reel_error_destroy(error);
		return false;
	}
	/* As in unwind.c, unwind. */
	if (from->steps[first] == REEL_STEP_SIGNAL && frames->n > 1)
		frames->lookups[frames->n - 1] = frames->addresses[frames->n - 1];
	for (size_t i = first; i < from->n; i++) {
		frames->addresses[frames->n] = from->addresses[i];
		frames->lookups[frames->n] = from->lookups[i];
		frames->sps[frames->n] = from->sps[i];
		frames->steps[frames->n++] = from->steps[i];
	}
	return true;
}

bool reel_trials_know_rest(struct reel_walk *walk, struct reel_unwind_frames *frames,
			   size_t max_frames)
{
	struct reel_trial *next = walk->trials->next, *done = walk->trials->done;
	const struct trial_state *state;
	uint64_t hash;

	if ((!done && frames != &next->frames) || frames->keeps_states)
		return false;
	hash = hash_walk(walk);
	state = done ? find(done, hash) : NULL;
	if (state && done->frames.n - state->n_frames <= max_frames - frames->n &&
	    walk->searched < SEARCHED_SAFE && done->searched < SEARCHED_SAFE &&
	    walk->searched + (done->searched - state->searched) < SEARCHED_SAFE &&
	    append(frames, &done->frames, state->n_frames)) {
		*walk->state = done->state;
		walk->searched += done->searched - state->searched;
		return true;
	}
	/* Without memory, the rest is walked again. */
	if (frames == &next->frames && reel_array_reserve(&next->states, next->n_states,
							  &next->capacity, sizeof(*next->states)))
		next->states[next->n_states++] =
			(struct trial_state){ hash, frames->n, walk->searched };
	return false;
}
