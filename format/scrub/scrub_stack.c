/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of a stack is unchanged since the thread's previous sample: comparing the bytes, a step at a
 * time, finds the words that were already scrubbed.  Which words keep their value depends on the
 * mapped code, on the stack's end and on its start, which moves with each call: so each step knows
 * the starts for which its words stay valid.
 */
#include <stdlib.h>
#include <string.h>

#include "format/scrub/scrub_internal.h"

/* Threads whose stack is kept, indexed by their ids' lowest bits: 9.5 MB at most. */
#define STACKS 64
/* Larger stacks are not kept. */
#define STACK_BYTES_MAX 65536
#define STACK_BYTES_MIN 4096

/* How often other threads may pass before they replace a stack that is in use. */
#define CREDIT_MAX 4

/* A sample's bytes are in the cache of its CPU: prefetch this many steps ahead. */
#define AHEAD 32

/* The words of a step are valid for starts above `above`, up to `up_to`. */
struct step {
	uint64_t above, up_to;
};

struct stack {
	uint64_t thread;
	uint64_t generation; /* of the code; 0: empty */
	uint64_t end;
	uint64_t code_mask, data_mask;
	unsigned word_size;
	bool big_endian;
	unsigned credit;
	/* The stack's end is the buffers' end. */
	size_t capacity;
	uint8_t *raw, *scrubbed;
	struct step *steps; /* the first is at the end */
};

struct scrub_stacks {
	struct stack stacks[STACKS];
};

struct reel_error *reel_scrub_stacks_create(struct scrub_stacks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

static void empty(struct stack *stack)
{
	free(stack->raw);
	free(stack->scrubbed);
	free(stack->steps);
	*stack = (struct stack){ 0 };
}

void reel_scrub_stacks_forget(struct scrub_stacks *stacks)
{
	for (size_t i = 0; i < STACKS; i++)
		empty(&stacks->stacks[i]);
}

/* ---- which stack ------------------------------------------------------------------ */

/* Only a single region of whole words is kept: with others, their places, missing bytes and code on
 * the stack would have to be compared as well. */
static bool is_kept(const struct scrub_sieve *sieve, const struct reel_region *region)
{
	unsigned size = sieve->policy.word_size;

	return sieve->n_regions == 1 && sieve->code->generation && !sieve->policy.n_code &&
	       region->size && region->size <= STACK_BYTES_MAX && !region->n_missing &&
	       !(region->address % size) && !(region->size % size);
}

static bool is_same_kind(const struct stack *stack, const struct scrub_sieve *sieve)
{
	const struct scrub_policy *policy = &sieve->policy;

	return stack->generation == sieve->code->generation &&
	       stack->end == sieve->regions[0].last && stack->word_size == policy->word_size &&
	       stack->big_endian == policy->big_endian && stack->code_mask == policy->code_mask &&
	       stack->data_mask == policy->data_mask;
}

/* Without memory nothing is kept. */
static bool make_room(struct stack *stack, size_t size)
{
	size_t capacity = STACK_BYTES_MIN;

	if (size <= stack->capacity)
		return true;
	while (capacity < size)
		capacity *= 2;
	empty(stack);
	stack->raw = malloc(capacity);
	stack->scrubbed = malloc(capacity);
	stack->steps = calloc(capacity / REEL_STEP_BYTES, sizeof(*stack->steps));
	if (!stack->raw || !stack->scrubbed || !stack->steps) {
		empty(stack);
		return false;
	}
	stack->capacity = capacity;
	return true;
}

static void forget(struct step *step)
{
	*step = (struct step){ UINT64_MAX, 0 };
}

static bool take_over(struct stack *stack, const struct scrub_sieve *sieve, uint64_t thread,
		      size_t size)
{
	if (!make_room(stack, size))
		return false;
	for (size_t i = 0; i < stack->capacity / REEL_STEP_BYTES; i++)
		forget(&stack->steps[i]);
	stack->thread = thread;
	stack->generation = sieve->code->generation;
	stack->end = sieve->regions[0].last;
	stack->word_size = sieve->policy.word_size;
	stack->big_endian = sieve->policy.big_endian;
	stack->code_mask = sieve->policy.code_mask;
	stack->data_mask = sieve->policy.data_mask;
	stack->credit = 1;
	return true;
}

static struct stack *find(struct scrub_stacks *stacks, const struct scrub_sieve *sieve,
			  uint64_t thread, size_t size)
{
	struct stack *stack = &stacks->stacks[thread % STACKS];

	if (stack->thread == thread && is_same_kind(stack, sieve) && size <= stack->capacity) {
		stack->credit += stack->credit < CREDIT_MAX;
		return stack;
	}
	if (stack->thread != thread && stack->credit) {
		stack->credit--;
		return NULL;
	}
	return take_over(stack, sieve, thread, size) ? stack : NULL;
}

/* ---- steps ------------------------------------------------------------------------ */

/* Learns for which starts the same words are the stack's own addresses. */
static inline __attribute__((always_inline)) void learn(struct step *step,
							const struct scrub_sieve *sieve,
							const uint8_t *bytes, unsigned size,
							bool big_endian)
{
	const struct address_range stack = sieve->regions[0];
	const uint64_t mask = ~sieve->policy.data_mask;
	uint64_t above = 0, up_to = UINT64_MAX;

	for (size_t i = 0; i < REEL_STEP_BYTES; i += size) {
		uint64_t word = scrub_load_word(bytes + i, size, big_endian) & mask;
		uint64_t below = word < stack.first ? word : 0;
		uint64_t within = address_range_has(&stack, word) ? word : UINT64_MAX;

		above = below > above ? below : above;
		up_to = within < up_to ? within : up_to;
	}
	*step = (struct step){ above, up_to };
}

/* Steps [first, end) of a stack, whose bytes end at `raw_end`. */
static void scrub_steps(struct stack *stack, const struct scrub_sieve *sieve,
			const uint8_t *raw_end, size_t first, size_t end)
{
	const uint8_t *raw = raw_end - end * REEL_STEP_BYTES;
	size_t size = (end - first) * REEL_STEP_BYTES,
	       offset = stack->capacity - end * REEL_STEP_BYTES;

	if (!size)
		return;
	memcpy(stack->raw + offset, raw, size);
	reel_scrub_words(sieve, raw, size / sieve->policy.word_size, stack->scrubbed + offset);
	for (size_t i = first; i < end; i++) {
		const uint8_t *bytes = raw_end - (i + 1) * REEL_STEP_BYTES;

		if (stack->word_size == 8 && !stack->big_endian)
			learn(&stack->steps[i], sieve, bytes, 8, false);
		else
			learn(&stack->steps[i], sieve, bytes, stack->word_size, stack->big_endian);
	}
}

const uint8_t *reel_scrub_stacks_scrub(struct scrub_stacks *stacks, const struct scrub_sieve *sieve,
				       const struct reel_sample *sample)
{
	const struct reel_region *region = sample->regions;
	struct stack *stack =
		is_kept(sieve, region) ? find(stacks, sieve, sample->thread, region->size) : NULL;
	const uint8_t *raw_end, *kept_end;
	size_t n_steps, rest, changed = 0;

	if (!stack)
		return NULL;
	raw_end = region->bytes + region->size;
	kept_end = stack->raw + stack->capacity;
	n_steps = region->size / REEL_STEP_BYTES;
	rest = region->size % REEL_STEP_BYTES;
	for (size_t i = 0; i < n_steps; i++) {
		const struct step *step = &stack->steps[i];
		size_t behind = (i + 1) * REEL_STEP_BYTES;

		if (i + AHEAD < n_steps)
			__builtin_prefetch(raw_end - behind - AHEAD * REEL_STEP_BYTES);

		if (reel_step_differs(raw_end - behind, kept_end - behind) ||
		    region->address <= step->above || region->address > step->up_to)
			continue;
		scrub_steps(stack, sieve, raw_end, changed, i);
		changed = i + 1;
	}
	scrub_steps(stack, sieve, raw_end, changed, n_steps);
	if (rest) {
		reel_scrub_words(sieve, region->bytes, rest / sieve->policy.word_size,
				 stack->scrubbed + stack->capacity - region->size);
		forget(&stack->steps[n_steps]);
	}
	return stack->scrubbed + stack->capacity - region->size;
}
