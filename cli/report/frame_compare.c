/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "cli/report/frame_compare.h"
#include "cli/print/text.h"

struct comparing {
	struct frame_comparison *ret;
	const uint64_t *stack, *chain;
	size_t n_stack, n_chain;
};

void frame_comparison_free(struct frame_comparison *comparison)
{
	free(comparison->breaks);
	free(comparison->positions);
	*comparison = (struct frame_comparison){ 0 };
}

/* ---- where an address is on the stack --------------------------------------------------- */

static int by_position(const void *a, const void *b)
{
	const struct frame_position *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->frame > right->frame) - (left->frame < right->frame);
}

static void sort_places(const struct comparing *c)
{
	struct frame_comparison *ret = c->ret;

	ret->positions = memory_reserve(ret->positions, &ret->positions_capacity, c->n_stack,
					sizeof(*ret->positions));
	for (size_t i = 0; i < c->n_stack; i++)
		ret->positions[i] = (struct frame_position){ c->stack[i], i };
	qsort(ret->positions, c->n_stack, sizeof(*ret->positions), by_position);
}

/* The number of positions before (address, frame). */
static size_t positions_before(const struct comparing *c, uint64_t address, size_t frame)
{
	struct frame_position wanted = { address, frame };

	return REEL_PARTITION_POINT(c->n_stack, i, by_position(&c->ret->positions[i], &wanted) < 0);
}

#define NOWHERE SIZE_MAX

/* The first frame of the address from `frame` on. */
static size_t first_place(const struct comparing *c, uint64_t address, size_t frame)
{
	size_t i = positions_before(c, address, frame);

	return i < c->n_stack && c->ret->positions[i].address == address
		       ? c->ret->positions[i].frame
		       : NOWHERE;
}

/* The last frame of an address that is on the stack. */
static size_t last_place(const struct comparing *c, uint64_t address)
{
	return c->ret->positions[positions_before(c, address, SIZE_MAX) - 1].frame;
}

/* ---- breaks ------------------------------------------------------------------------------ */

/* The chain has stack[end], if it exists, and has `wrong` addresses in place of [begin, end). */
static void add_break(struct comparing *c, size_t begin, size_t end, size_t wrong)
{
	struct frame_comparison *ret = c->ret;

	if (begin == end && !wrong)
		return;
	ret->breaks = memory_reserve(ret->breaks, &ret->breaks_capacity, ret->n_breaks,
				     sizeof(*ret->breaks));
	ret->breaks[ret->n_breaks++] = (struct frame_break){
		.frame = begin ? begin - 1 : 0,
		.lost = end - begin,
		.wrong = wrong,
		.resumes = end < c->n_stack,
	};
	ret->lost += end - begin;
	ret->wrong += wrong;
}

static void forget_breaks(struct comparing *c)
{
	c->ret->n_breaks = c->ret->lost = c->ret->wrong = 0;
}

/*
 * Matches each address of chain[0..n_chain) at its first place after the previous one, within
 * stack[0..n_stack). Returns the number of frames consumed, and in *wrong_ret the number of
 * following addresses not on the stack.
 */
static size_t match_forwards(struct comparing *c, size_t n_stack, size_t n_chain, size_t *wrong_ret)
{
	size_t done = 0, wrong = 0;

	for (size_t i = 0; i < n_chain; i++) {
		size_t frame = first_place(c, c->chain[i], done);

		if (frame >= n_stack) {
			wrong++;
			continue;
		}
		add_break(c, done, frame, wrong);
		wrong = 0;
		done = frame + 1;
	}
	*wrong_ret = wrong;
	return done;
}

/*
 * The whole chain is in stack[0..end), and both end with the same address. In recursions the same
 * addresses repeat, which leaves open which of them are lost: most often the caller of the leaf,
 * which has not made its frame record yet. So match from the chain's end.
 */
static void match_backwards(struct comparing *c, size_t end)
{
	size_t same = 0, done, wrong;

	while (same + 1 < c->n_chain && same + 1 < end &&
	       c->stack[end - 1 - same] == c->chain[c->n_chain - 1 - same])
		same++;
	done = match_forwards(c, end - same, c->n_chain - same, &wrong);
	add_break(c, done, end - same, wrong);
}

void frame_compare(struct frame_comparison *comparison, const uint64_t *stack, size_t n_stack,
		   const uint64_t *chain, size_t n_chain, bool at_limit)
{
	struct comparing c = { comparison, stack, chain, n_stack, n_chain };
	size_t done = 0, wrong = 0;

	forget_breaks(&c);
	comparison->cut = false;
	while (done < n_stack && done < n_chain && stack[done] == chain[done])
		done++;
	if (done < n_chain) {
		sort_places(&c);
		done = match_forwards(&c, n_stack, n_chain, &wrong);
		if (!wrong && !comparison->wrong && n_chain > 1) {
			/* A cut chain ends as early as possible. */
			if (!at_limit)
				done = last_place(&c, chain[n_chain - 1]) + 1;
			forget_breaks(&c);
			match_backwards(&c, done);
		}
	}
	/* A chain that went astray would not have reached the root without the limit either. */
	comparison->cut = at_limit && !wrong && !comparison->wrong && done < n_stack;
	if (!comparison->cut)
		add_break(&c, done, n_stack, wrong);
}
