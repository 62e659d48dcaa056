/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/jumps.h"
#include "cli/print/text.h"

static size_t top_of(const struct jump *jump)
{
	return jump->from < jump->to ? jump->from : jump->to;
}

static size_t bottom_of(const struct jump *jump)
{
	return jump->from < jump->to ? jump->to : jump->from;
}

/* Short ones first: they get the inner lanes. */
static int compare_jumps(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	size_t p = bottom_of(x) - top_of(x), q = bottom_of(y) - top_of(y);

	if (p != q)
		return p < q ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* The search for a free lane takes as many steps as the jump is long, for each lane. */
#define STEPS_MAX 50000000

/* Bits of the lanes that are free from the jump's top to its bottom. */
static unsigned int free_lanes(const struct jumps *jumps, const struct jump *jump)
{
	unsigned int taken = 0;

	for (size_t i = top_of(jump); i <= bottom_of(jump); i++)
		taken |= jumps->through[i] | jumps->top[i] | jumps->bottom[i];
	return ~taken & ((1u << JUMP_LANES_MAX) - 1);
}

static void draw(struct jumps *jumps, struct jump *jump, unsigned int lanes)
{
	unsigned int lane = (unsigned int)__builtin_ctz(lanes);

	jump->lane = (uint8_t)lane;
	jump->drawn = true;
	if (lane >= jumps->lanes)
		jumps->lanes = lane + 1;
	jumps->top[top_of(jump)] |= (uint16_t)(1u << lane);
	jumps->bottom[bottom_of(jump)] |= (uint16_t)(1u << lane);
	for (size_t i = top_of(jump) + 1; i < bottom_of(jump); i++)
		jumps->through[i] |= (uint16_t)(1u << lane);
	jumps->is_source[jump->from] = true;
	jumps->is_target[jump->to] = true;
}

void jumps_make(struct jumps *jumps, const struct listing *listing)
{
	size_t steps = 0, n = listing->n;

	*jumps = (struct jumps){
		.all = memory_resize(NULL, n + 1, sizeof(*jumps->all)),
		.through = calloc(n + 1, sizeof(uint16_t)),
		.top = calloc(n + 1, sizeof(uint16_t)),
		.bottom = calloc(n + 1, sizeof(uint16_t)),
		.is_target = calloc(n + 1, sizeof(bool)),
		.is_source = calloc(n + 1, sizeof(bool)),
	};
	memory_check(jumps->through);
	memory_check(jumps->top);
	memory_check(jumps->bottom);
	memory_check(jumps->is_target);
	memory_check(jumps->is_source);
	for (size_t i = 0; i < n; i++) {
		size_t to = listing->rows[i].target_row;

		if (to != SIZE_MAX && to != i)
			jumps->all[jumps->n++] = (struct jump){ .from = i, .to = to };
	}
	if (jumps->n)
		qsort(jumps->all, jumps->n, sizeof(*jumps->all), compare_jumps);
	for (size_t i = 0; i < jumps->n; i++) {
		struct jump *jump = &jumps->all[i];
		unsigned int lanes = 0;

		steps += bottom_of(jump) - top_of(jump);
		if (steps < STEPS_MAX)
			lanes = free_lanes(jumps, jump);
		if (lanes)
			draw(jumps, jump, lanes);
		else
			jumps->left_out++;
	}
}

void jumps_free(struct jumps *jumps)
{
	free(jumps->all);
	free(jumps->through);
	free(jumps->top);
	free(jumps->bottom);
	free(jumps->is_target);
	free(jumps->is_source);
}

/* The mark drawn in a lane. */
enum mark {
	MARK_NOTHING,
	MARK_LINE,    /* from top to bottom */
	MARK_TOP,     /* it begins, and turns to the instruction */
	MARK_BOTTOM,  /* it ends, the same */
	MARK_PASSING, /* one of an outer lane on its way to the instruction */
	MARK_CROSSED, /* both */
	MARK_TARGET,
};

static void print_mark(enum mark mark, const struct output *output)
{
	static const char *const ascii[] = { " ", "|", ".", "'", "-", "+", ">" };
	static const char *const utf8[] = { " ", "│", "╭", "╰", "─", "┼", "▶" };

	fputs((output->utf8 ? utf8 : ascii)[mark], output->file);
}

void jumps_print(const struct jumps *jumps, size_t row, bool above, const struct output *output)
{
	unsigned int through = jumps->through[row], top = jumps->top[row],
		     bottom = jumps->bottom[row];
	bool passing = false;

	/* Above the row, lines from further up continue to it. */
	if (above) {
		through |= bottom;
		top = bottom = 0;
	}
	for (unsigned int lane = jumps->lanes; lane--;) {
		unsigned int bit = 1u << lane;

		if (top & bit || bottom & bit)
			print_mark(top & bit ? MARK_TOP : MARK_BOTTOM, output);
		else if (through & bit)
			print_mark(passing ? MARK_CROSSED : MARK_LINE, output);
		else
			print_mark(passing ? MARK_PASSING : MARK_NOTHING, output);
		passing |= ((top | bottom) & bit) != 0;
	}
	print_mark(!passing		   ? MARK_NOTHING
		   : jumps->is_target[row] ? MARK_TARGET
					   : MARK_PASSING,
		   output);
}
