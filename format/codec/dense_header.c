/* SPDX-License-Identifier: Apache-2.0 */
#include "format/codec/dense_header.h"

/* A lateness below this part of the period shifts later predictions by a part of the lateness. */
#define NEAR_PART   16
#define FOLLOW_BITS 2
/* The predicted bits of numbers: lower bits are noise in times, but not in the others. */
#define TIME_BITS  5
#define FIELD_BITS 12
#define PLACE_BITS 20

/* The kinds of numbers; dense_words.c has those of words. */
enum salt {
	SALT_CPU = 2000,
	SALT_THREAD,
	SALT_SAME,
	SALT_ID,
	SALT_PERIODS,
	SALT_LATENESS,
	SALT_END,
	SALT_ADDRESS,
	SALT_UNALIGNED,
	SALT_FIELDS = 2016, /* and the field's position */
	SALT_STEPS = 2022,
};

static struct reel_number_context context_of(enum salt salt, uint64_t a, uint64_t b)
{
	return (struct reel_number_context){
		REEL_NUMBER_FIELD,
		{ salt, reel_word_mix(a, salt), reel_word_mix(b, salt) },
	};
}

static bool is_like(const struct reel_sample_head *head, const struct reel_sample_head *last)
{
	return head->id == last->id + 1 && head->event == last->event &&
	       head->weight == last->weight && head->where == last->where &&
	       head->flags == last->flags && head->parts == last->parts &&
	       head->n_regions == last->n_regions && head->steps == last->steps;
}

/* The previous sample's fields, usually; else all fields. */
REEL_BOTH_WAYS void code_fields(struct reel_dense_headers *headers,
				struct reel_number_coder *numbers, bool decoding,
				struct reel_sample_head *head)
{
	const struct reel_sample_head *last = &headers->last;
	const uint64_t before[] = { last->event, last->weight, last->where,
				    last->flags, last->parts,  last->n_regions };
	uint64_t *const fields[] = { &head->event, &head->weight, &head->where,
				     &head->flags, &head->parts,  &head->n_regions };
	struct reel_number_context context = context_of(SALT_SAME, head->thread, head->cpu);
	bool same = !decoding && is_like(head, last);

	same = reel_number_bits(numbers, decoding, same, 1, &context, 0);
	context = context_of(SALT_ID, 0, 0);
	head->id = last->id + (same ? 1
				    : reel_number_difference(numbers, decoding, head->id - last->id,
							     FIELD_BITS, &context));
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		context = context_of(SALT_FIELDS + i, before[i], head->thread);
		*fields[i] =
			same ? before[i]
			     : reel_number(numbers, decoding, *fields[i], FIELD_BITS, &context);
	}
	context = context_of(SALT_STEPS, last->steps, head->thread);
	if (same)
		head->steps = last->steps;
	else if (head->parts & REEL_PART_STEPS)
		head->steps = reel_number(numbers, decoding, head->steps, FIELD_BITS, &context);
}

/* The number of periods since `from`, if it can be computed. */
static uint64_t periods_from(uint64_t from, uint64_t time, uint64_t period)
{
	uint64_t behind = time - from;

	return period && behind >> 63 == 0 ? (behind + period / 2) / period : 0;
}

/* Timers fire once in a period, but late: the prediction is the time when they should fire. */
REEL_BOTH_WAYS uint64_t code_time(struct reel_dense_headers *headers,
				  struct reel_number_coder *numbers, bool decoding, uint64_t time,
				  uint64_t *cpu_time)
{
	struct reel_number_context context = context_of(SALT_PERIODS, headers->periods, 0);
	uint64_t periods = periods_from(*cpu_time, time, headers->period), expected;
	int64_t late, near = (int64_t)(headers->period / NEAR_PART);

	periods =
		headers->period ? reel_number(numbers, decoding, periods, FIELD_BITS, &context) : 0;
	expected = *cpu_time + periods * headers->period;
	context = context_of(SALT_LATENESS, periods, headers->lateness);
	late = (int64_t)reel_number_difference(numbers, decoding, time - expected, TIME_BITS,
					       &context);
	time = expected + (uint64_t)late;
	/* Shifts of negative numbers round down (SPEC.md). */
	*cpu_time = late > -near && late < near ? expected + (uint64_t)(late >> FOLLOW_BITS) : time;
	headers->periods = periods;
	headers->lateness = late ? 64 - (unsigned)__builtin_clzll(reel_zigzag(late)) : 0;
	return time;
}

REEL_BOTH_WAYS void code_header(struct reel_dense_headers *headers,
				struct reel_number_coder *numbers, bool decoding,
				struct reel_sample_head *head)
{
	struct reel_number_context context =
		context_of(SALT_CPU, headers->last.cpu, headers->last.thread);
	uint64_t *thread;

	head->cpu = reel_number(numbers, decoding, head->cpu, FIELD_BITS, &context);
	thread = &headers->cpus[head->cpu % REEL_DENSE_CPUS].thread;
	context = context_of(SALT_THREAD, *thread, head->cpu);
	head->thread = reel_number(numbers, decoding, head->thread, FIELD_BITS, &context);
	*thread = head->thread;
	code_fields(headers, numbers, decoding, head);
	head->time = code_time(headers, numbers, decoding, head->time,
			       &headers->cpus[head->cpu % REEL_DENSE_CPUS].time);
	headers->last = *head;
}

void reel_dense_header_encode(struct reel_dense_headers *headers, struct reel_number_coder *numbers,
			      const struct reel_sample_head *head)
{
	struct reel_sample_head copy = *head;

	code_header(headers, numbers, false, &copy);
}

void reel_dense_header_decode(struct reel_dense_headers *headers, struct reel_number_coder *numbers,
			      struct reel_sample_head *ret)
{
	*ret = (struct reel_sample_head){ 0 };
	code_header(headers, numbers, true, ret);
}

/* ---- where regions lie -------------------------------------------------------------- */

/* Start and end move by the same distance if a region starts anew. */
REEL_BOTH_WAYS void code_place(struct reel_number_coder *numbers, bool decoding,
			       const struct reel_coder_region *region,
			       const struct reel_region_base *base, uint64_t *address,
			       uint64_t *size)
{
	uint64_t end = *address + *size, end_before = base->address + base->size;
	uint64_t moved = *address - base->address;
	struct reel_number_context context = {
		REEL_NUMBER_ADDRESS,
		{ reel_word_mix(region->pc, SALT_ADDRESS + 16 * region->index),
		  reel_word_mix(region->pc, reel_word_mix(region->pc_before,
							  SALT_ADDRESS + 16 * region->index)),
		  reel_word_mix(region->pc,
				reel_word_mix(base->address, SALT_ADDRESS + 16 * region->index)) },
	};
	uint64_t words = reel_number_difference(numbers, decoding, (uint64_t)((int64_t)moved >> 3),
						PLACE_BITS, &context);

	context = context_of(SALT_UNALIGNED, region->index, 0);
	*address = base->address + words * 8 +
		   reel_number_bits(numbers, decoding, moved & 7, 3, &context, 0);
	context = context_of(SALT_END, region->index, 0);
	*size = end_before +
		reel_number_difference(numbers, decoding, end - end_before, FIELD_BITS, &context) -
		*address;
}

void reel_dense_place_encode(struct reel_number_coder *numbers,
			     const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t address, uint64_t size)
{
	code_place(numbers, false, region, base, &address, &size);
}

void reel_dense_place_decode(struct reel_number_coder *numbers,
			     const struct reel_coder_region *region,
			     const struct reel_region_base *base, uint64_t *address_ret,
			     uint64_t *size_ret)
{
	*address_ret = *size_ret = 0;
	code_place(numbers, true, region, base, address_ret, size_ret);
}
