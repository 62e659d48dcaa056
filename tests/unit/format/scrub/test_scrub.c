/* SPDX-License-Identifier: Apache-2.0 */
/* format/scrub/ compared with a model that checks one word after another, as in SPEC.md 8.1. */
#include <elf.h>
#include <inttypes.h>
#include <malloc.h>

#include "base/bytes.h"
#include "base/dwarf_cursor.h"
#include "format/scrub/scrub.h"
#include "tests/support/test.h"

#define SPACES 70 /* more lists than the scrubber keeps */
#define PAGE   0x1000u
#define WORDS  700 /* more than it handles at once */
#define STACKS 4

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

static uint64_t random_64(void)
{
	uint64_t high = random_below(1u << 31), middle = random_below(1u << 31);

	return high << 62 ^ middle << 31 ^ random_below(1u << 31);
}

static void must(struct reel_error *error)
{
	if (error)
		fail_msg("%s", reel_error_message(error));
}

/* ---- spaces ------------------------------------------------------------------- */

static void map(struct reel_timeline *timeline, uint64_t space, uint64_t address, uint64_t size,
		uint64_t protection)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };

	record.map = (struct reel_record_map){
		.time = 1,
		.space = space,
		.address = address,
		.size = size,
		.protection = protection,
		.flags = 2,
		.module = 1,
	};
	must(reel_timeline_add(timeline, &record));
}

/* The meaning of a process's words. */
struct kind {
	unsigned size; /* bytes */
	bool big_endian;
	uint64_t code_mask, data_mask;
	uint16_t machine;
	/* The capture does not give code_mask. */
	bool no_mask;
};

static const struct kind plain = { .size = 8 };
static const struct reel_elf_kind nothing_known = { 0 };

static void add_space(struct reel_timeline *timeline, uint64_t id, const struct kind *kind)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE };

	record.space = (struct reel_record_space){
		.time = 1,
		.id = id,
		.machine = kind->machine ? kind->machine : UINT16_MAX,
		.word_bits = kind->size * 8,
		.byte_order = kind->big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
		.code_mask = kind->no_mask ? 0 : kind->code_mask,
		.data_mask = kind->data_mask,
	};
	must(reel_timeline_add(timeline, &record));
}

/* ---- the model ---------------------------------------------------------------- */

struct model {
	const struct reel_timeline *timeline;
	uint64_t space;
	const struct kind *kind;
	const struct reel_sample *sample;
};

static bool is_executable(const struct model *model, uint64_t address)
{
	struct reel_mapping mapping;

	return reel_timeline_find(model->timeline, model->space, REEL_TIME_NOW, address,
				  &mapping) &&
	       mapping.protection & 4;
}

static uint64_t model_word(const struct model *model, uint64_t word)
{
	uint64_t code = word & ~model->kind->code_mask, data = word & ~model->kind->data_mask;

	for (size_t i = 0; i < model->sample->n_regions; i++) {
		const struct reel_region *region = &model->sample->regions[i];

		if (data >= region->address && data - region->address <= region->size)
			return word;
	}
	if (is_executable(model, code) || (code && is_executable(model, code - 1)))
		return word;
	return word != 0;
}

static bool is_missing(const struct reel_region *region, size_t offset, size_t size)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		if (offset < region->missing[i].offset + region->missing[i].size &&
		    region->missing[i].offset < offset + size)
			return true;
	}
	return false;
}

/* A word of the region, as the text defines it: aligned, with all bytes present. */
static bool region_word(const struct model *model, const struct reel_region *region,
			uint64_t address, uint64_t *ret)
{
	unsigned size = model->kind->size;

	if (address % size || address < region->address ||
	    address + size > region->address + region->size ||
	    is_missing(region, address - region->address, size))
		return false;
	*ret = reel_load_target(region->bytes + (address - region->address), size,
				model->kind->big_endian);
	return true;
}

static bool is_code(const struct model *model, uint64_t word)
{
	return is_executable(model, word) || (word && is_executable(model, word - 1));
}

static unsigned sizes_kept;

/* x86-64's frame sizes on the stack: between two return addresses. */
static bool is_frame_size(const struct model *model, const struct reel_region *region,
			  uint64_t address, uint64_t word)
{
	uint64_t size = word >> 8, header = word >> 4 & 15, end = address + size, below, above;

	if (model->kind->machine != EM_X86_64 || (header != 2 && header != 4) || size >= 1 << 20 ||
	    size % 8 || !region_word(model, region, address - 8, &below) ||
	    !is_code(model, below) ||
	    !((size && region_word(model, region, end + 8 * header - 8, &above) &&
	       is_code(model, above)) ||
	      (region_word(model, region, end + 80, &above) && is_code(model, above))))
		return false;
	sizes_kept++;
	return true;
}

static void model_region(const struct model *model, const struct reel_region *region, uint8_t *ret)
{
	unsigned size = model->kind->size;

	memset(ret, 0, region->size);
	for (size_t i = 0; i + size <= region->size; i++) {
		uint64_t word;

		if ((region->address + i) % size || is_missing(region, i, size))
			continue;
		word = reel_load_target(region->bytes + i, size, model->kind->big_endian);
		if (!is_frame_size(model, region, region->address + i, word))
			word = model_word(model, word);
		for (unsigned j = 0; j < size; j++)
			ret[i + (model->kind->big_endian ? size - 1 - j : j)] =
				(uint8_t)(word >> 8 * j);
	}
}

/* x86-64's r9 where [rsp + 8 + 8 r9] is a word of the stack above that holds a return address. */
static bool is_count(const struct model *model, const struct reel_sample *sample, size_t index)
{
	uint64_t value = sample->values[index], sp = 0, at, frame, caller;

	for (size_t i = 0; i < sample->layout->n_slots; i++)
		sp = sample->layout->slots[i].dwarf == 7 ? sample->values[i] : sp;
	at = sp + 8 + 8 * value;
	if (model->kind->machine != EM_X86_64 || sample->layout->slots[index].dwarf != 9 ||
	    value < 2 || value > 1024)
		return false;
	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];

		if (sp >= region->address && sp - region->address < region->size)
			return region_word(model, region, at, &frame) && frame > at &&
			       region_word(model, region, frame, &caller) && is_code(model, caller);
	}
	return false;
}

/* Large blocks are mapped. */
static size_t heap_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* ---- random samples ------------------------------------------------------------- */

#define STACK 0x7ffc00001000u
#define CODE  0x7f0000000000u

struct world {
	struct reel_timeline *timeline;
	struct reel_scrubber *scrubber;
	uint64_t code; /* where mappings begin */
	uint64_t stack;
	/* Leftovers of threads on their stacks. */
	uint8_t stacks[STACKS][WORDS * 8];
};

/* Words of all kinds, and their close neighbours. */
static uint64_t random_word(const struct world *world, const struct kind *kind,
			    const struct reel_region *region)
{
	uint64_t mask = kind->size == 4 ? UINT32_MAX : UINT64_MAX, word;

	switch (random_below(8)) {
	case 0:
		word = 0;
		break;
	case 1:
		word = random_64();
		break;
	case 2:
		word = random_below(3) ? random_below(5000)
				       : (random_below(64) << 11 | random_below(256));
		break;
	case 3:
		word = region->address + random_below((uint32_t)region->size + 3) - 1;
		break;
	case 4:
		word = region->address + (random_below(2) ? region->size : 0) + random_below(3) - 1;
		break;
	case 5:
		word = world->code + random_below(60 * PAGE);
		break;
	default:
		word = world->code + random_below(60) * (uint64_t)PAGE + random_below(3) - 1;
		break;
	}
	/* Signatures. */
	if (!random_below(6))
		word |= random_64() & kind->code_mask;
	return word & mask;
}

static void random_region(const struct world *world, const struct kind *kind,
			  struct reel_region *region, uint8_t *bytes, struct reel_range *missing)
{
	size_t size = random_below(4) ? random_below(WORDS * 8) : random_below(20);

	*region = (struct reel_region){
		.address = world->stack + random_below(3) * 0x100000u +
			   (random_below(3) ? 0 : random_below(8)),
		.size = size,
		.bytes = bytes,
		.missing = missing,
	};
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_below(3);
	for (size_t i = 0; i + kind->size <= size; i++) {
		uint64_t word = random_word(world, kind, region);

		/* Aligned by the address, and sometimes not. */
		if ((region->address + i) % kind->size && random_below(40))
			continue;
		for (unsigned j = 0; j < kind->size; j++)
			bytes[i + (kind->big_endian ? kind->size - 1 - j : j)] =
				(uint8_t)(word >> 8 * j);
		i += kind->size - 1;
	}
	for (size_t i = 0, at = 0; i < 3; i++) {
		size_t gap = random_below(200), length = 1 + random_below(30);

		if (random_below(3) || at + gap + length > size)
			break;
		missing[i] = (struct reel_range){ at + gap, length };
		memset(bytes + at + gap, 0, length);
		at += gap + length;
		region->n_missing = i + 1;
	}
}

/* A possible count, or nearly one. */
static void plant_count(const struct world *world, struct reel_region *region, uint8_t *bytes,
			uint64_t *sp_ret, uint64_t *count_ret)
{
	uint64_t end = region->address + region->size, at, frame;

	*sp_ret = (region->address + random_below((uint32_t)region->size + 9)) & -(uint64_t)8;
	*count_ret = random_below(40);
	at = *sp_ret + 8 + 8 * *count_ret;
	frame = at + (uint64_t)random_below(60) * 4 - 16;
	if (at < region->address || at + 8 > end)
		return;
	reel_store64(bytes + (at - region->address), frame);
	if (frame > at && frame + 8 <= end && random_below(4))
		reel_store64(bytes + (frame - region->address),
			     world->code + random_below(60 * PAGE));
}

static void check_regions(const struct model *model, const struct reel_sample *scrubbed)
{
	static uint8_t expected[WORDS * 8];

	assert_int_equal(scrubbed->n_regions, model->sample->n_regions);
	for (size_t i = 0; i < scrubbed->n_regions; i++) {
		const struct reel_region *region = &model->sample->regions[i];

		assert_true(scrubbed->regions[i].address == region->address);
		assert_int_equal(scrubbed->regions[i].size, region->size);
		assert_int_equal(scrubbed->regions[i].n_missing, region->n_missing);
		model_region(model, region, expected);
		if (region->size)
			assert_memory_equal(scrubbed->regions[i].bytes, expected, region->size);
	}
}

static void check_numbers(const struct model *model, const struct reel_sample *scrubbed)
{
	const struct reel_sample *sample = model->sample;

	for (size_t i = 0; i < sample->layout->n_slots; i++)
		assert_true(scrubbed->values[i] ==
			    (sample->values[i] == sample->pc ? sample->pc
			     : is_count(model, sample, i)    ? sample->values[i]
							  : model_word(model, sample->values[i])));
	for (size_t i = 0; i < sample->n_frame_chain; i++)
		assert_true(scrubbed->frame_chain[i] ==
			    (sample->frame_chain[i] == sample->pc
				     ? sample->pc
				     : model_word(model, sample->frame_chain[i])));
	assert_true(scrubbed->pc == sample->pc);
	assert_true(scrubbed->flags == (sample->flags | REEL_SAMPLE_SCRUBBED));
}

static unsigned counts_kept;

static void check_random(struct world *world, uint64_t space, const struct kind *kind)
{
	static const struct reel_register_slot slots[] = {
		{ 0, 8 }, { 9, 8 }, { 7, 8 }, { 16, 8 }
	};
	static const struct reel_record_sample_layout layout = { .n_slots = 4, .slots = slots };
	static uint8_t bytes[3][WORDS * 8];
	struct reel_range missing[3][3];
	struct reel_region regions[3];
	uint64_t values[4], chain[5];
	struct reel_sample sample = {
		.flags = REEL_SAMPLE_STACK_CUT,
		.layout = &layout,
		.values = values,
		.regions = regions,
		.n_regions = random_below(4),
		.frame_chain = chain,
		.n_frame_chain = random_below(6),
	};
	struct reel_sample scrubbed;
	struct reel_space_view view = reel_timeline_view(world->timeline, space, REEL_TIME_NOW);
	struct model model = { world->timeline, space, kind, &sample };

	for (size_t i = 0; i < 3; i++)
		random_region(world, kind, &regions[i], bytes[i], missing[i]);
	for (size_t i = 0; i < 4; i++)
		values[i] = random_word(world, kind, &regions[0]);
	for (size_t i = 0; i < 5; i++)
		chain[i] = random_word(world, kind, &regions[0]);
	if (sample.n_regions && kind->size == 8 && random_below(2))
		plant_count(world, &regions[0], bytes[0], &values[2], &values[1]);
	sample.pc = values[3];
	if (!random_below(3))
		values[0] = sample.pc;
	scrubbed = sample;
	must(reel_scrub_sample(world->scrubber, &view, &scrubbed));
	check_regions(&model, &scrubbed);
	check_numbers(&model, &scrubbed);
	counts_kept += is_count(&model, &sample, 1);
}

/* A stack that is mostly unchanged, sometimes with words just outside the changes. */
static void check_stack(struct world *world, uint64_t space, const struct kind *kind)
{
	unsigned index = random_below(STACKS), used = 1 + random_below(WORDS / 2);
	size_t size = (size_t)used * (random_below(9) ? kind->size : 2);
	uint8_t *bytes = world->stacks[index] + sizeof(world->stacks[index]) - size;
	struct reel_region region = {
		/* Some end elsewhere. */
		.address = world->stack + WORDS * 8 - size + (random_below(30) ? 0 : 16),
		.size = size,
		.bytes = bytes,
	};
	struct reel_sample sample = {
		/* The last two share one buffer. */
		.thread = index == STACKS - 1 ? 64 + index - 1 : index,
		.regions = &region,
		.n_regions = 1,
	};
	struct reel_space_view view = reel_timeline_view(world->timeline, space, REEL_TIME_NOW);
	struct model model = { world->timeline, space, kind, &sample };
	struct reel_sample scrubbed = sample;

	for (unsigned i = random_below(4); i; i--) {
		uint64_t word = random_word(world, kind, &region);
		size_t at = random_below(used) * (size_t)kind->size;

		for (unsigned j = 0; j < kind->size && at + kind->size <= size; j++)
			bytes[at + (kind->big_endian ? kind->size - 1 - j : j)] =
				(uint8_t)(word >> 8 * j);
	}
	must(reel_scrub_sample(world->scrubber, &view, &scrubbed));
	check_regions(&model, &scrubbed);
}

/* Several samples of an unchanged space, then it changes: with a list and without. */
static void check_world(struct world *world, const struct kind *kind)
{
	const unsigned changes = 300;

	must(reel_timeline_create(false, &world->timeline));
	must(reel_scrubber_create(&nothing_known, &world->scrubber));
	for (uint64_t space = 1; space <= SPACES; space++)
		add_space(world->timeline, space, kind);
	for (unsigned i = 0; i < changes; i++) {
		uint64_t space = 1 + random_below(i % 3 ? 2 : SPACES);

		for (unsigned j = random_below(3); j; j--)
			map(world->timeline, space, world->code + random_below(50) * PAGE,
			    (1 + random_below(8)) * PAGE, random_below(3) ? 5 : 3);
		for (unsigned j = random_below(6); j; j--)
			check_random(world, space, kind);
		for (unsigned j = random_below(60); j; j--)
			check_stack(world, space, kind);
	}
	reel_scrubber_destroy(world->scrubber);
	reel_timeline_destroy(world->timeline);
}

TEST(random_samples)
{
	static const struct kind kinds[] = {
		{ 8, false, 0, 0, 0, false },
		{ 8, true, 0, 0, 0, false },
		{ 4, false, 0, 0, 0, false },
		{ 4, true, 0, 0, 0, false },
		/* AArch64 with pointer authentication, and with an unknown mask. */
		{ 8, false, 0x007f000000000000, 0xff7f000000000000, EM_AARCH64, false },
		{ 8, false, 0xffff000000000000, 0, EM_AARCH64, true },
		{ 8, false, 0, 0, EM_X86_64, false },
		/* Masks of no real CPU: bits within addresses. */
		{ 8, false, 0x10000, 0x108, 0, false },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct world world = {
			.code = kinds[i].size == 4 ? 0x8048000 : CODE,
			.stack = kinds[i].size == 4 ? 0xffd01000 : STACK,
		};

		check_world(&world, &kinds[i]);
		/* A large space for code, around the stack. */
		world.code = world.stack - 4 * PAGE;
		check_world(&world, &kinds[i]);
	}
	assert_true(counts_kept >= 3); /* 6 to 20, as the compiler evaluates arguments */
	assert_true(sizes_kept >= 20);
}

/* ---- by hand -------------------------------------------------------------------- */

static void reel_scrub_words(uint64_t code, uint64_t code_size, const uint64_t *words,
			     uint64_t *ret, size_t n)
{
	struct reel_timeline *timeline;
	struct reel_scrubber *scrubber;
	uint8_t bytes[8 * 16];
	struct reel_region region = { .address = STACK, .bytes = bytes, .size = 8 * n };
	struct reel_sample sample = { .regions = &region, .n_regions = 1 };
	struct reel_space_view view;

	assert_true(n <= 16);
	must(reel_timeline_create(false, &timeline));
	must(reel_scrubber_create(&nothing_known, &scrubber));
	add_space(timeline, 1, &plain);
	map(timeline, 1, code, code_size, 5);
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	for (size_t i = 0; i < n; i++)
		reel_store64(bytes + 8 * i, words[i]);
	must(reel_scrub_sample(scrubber, &view, &sample));
	for (size_t i = 0; i < n; i++)
		ret[i] = reel_load64(sample.regions[0].bytes + 8 * i);
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(timeline);
}

TEST(what_stays)
{
	const uint64_t words[] = {
		STACK,	   STACK + 8 * 12,     CODE,	   CODE + 0x2000, /* the last two: ends,
									     inclusive */
		STACK - 1, STACK + 8 * 12 + 1, CODE - 1,   CODE + 0x2001, 0,
		1,	   0x68736d6170617373, UINT64_MAX,
	};
	uint64_t scrubbed[12];

	reel_scrub_words(CODE, 0x2000, words, scrubbed, 12);
	for (size_t i = 0; i < 12; i++)
		assert_true(scrubbed[i] == (i < 4 ? words[i] : i != 8));
}

/*
 * The words that bn_mul_mont's CFA needs: [rsp + 8 + 8 r9] is the old rsp, and the return address
 * is there.
 */
TEST(counts_in_registers)
{
#define BEHIND(word) (STACK + 8 * (uint64_t)(word))
	static const struct {
		uint16_t machine, dwarf;
		uint64_t count, sp;
		uint64_t frame;	 /* the word at sp + 8 + 8 * count */
		uint64_t caller; /* the word there */
		size_t words;
		struct reel_range missing;
		bool stays;
	} cases[] = {
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, true },
		{ EM_X86_64, 9, 2, STACK, BEHIND(4), CODE + 5, 5, { 0, 0 }, true },
		{ EM_X86_64, 9, 1024, STACK, BEHIND(1026), CODE + 0x2000, 1027, { 0, 0 }, true },
		/* It is an address anyway. */
		{ EM_X86_64, 9, CODE, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, true },
		/* No such numbers are multiplied. */
		{ EM_X86_64, 9, 1, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 1025, STACK, BEHIND(1030), CODE + 5, 1100, { 0, 0 }, false },
		{ EM_X86_64, 9, UINT64_MAX - 5, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		/* Invalid frames: below, at the word itself, between words, past the region. */
		{ EM_X86_64, 9, 6, STACK, BEHIND(6), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(7), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(20) + 4, CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(30), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, CODE, CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, 0, CODE + 5, 30, { 0, 0 }, false },
		/* The word is past the region, or the stack is elsewhere, or the word is unaligned.
		 */
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE + 5, 7, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK - 8, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, BEHIND(30), BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK + 4, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		/* Not after a call. */
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE - 1, 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), BEHIND(25), 30, { 0, 0 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), 0, 30, { 0, 0 }, false },
		/* One of the two words, or an adjacent one, is unknown. */
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 7 * 8 + 7, 1 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 20 * 8, 1 }, false },
		{ EM_X86_64, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 8 * 8, 12 * 8 }, true },
		/* Other registers, and other CPUs. */
		{ EM_X86_64, 8, 6, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		{ EM_AARCH64, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
		{ EM_386, 9, 6, STACK, BEHIND(20), CODE + 5, 30, { 0, 0 }, false },
	};
	static uint8_t bytes[8 * 1100];
	struct reel_timeline *timeline;
	struct reel_space_view view;

	must(reel_timeline_create(false, &timeline));
	map(timeline, 1, CODE, 0x2000, 5);
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct reel_elf_kind native = { cases[i].machine, 64,
						      REEL_BYTE_ORDER_LITTLE };
		const struct reel_register_slot slots[] = {
			{ cases[i].dwarf, 8 },
			{ cases[i].machine == EM_AARCH64 ? 31 : 7, 8 },
		};
		const struct reel_record_sample_layout layout = { .n_slots = 2, .slots = slots };
		uint64_t values[] = { cases[i].count, cases[i].sp };
		struct reel_region region = {
			.address = STACK,
			.bytes = bytes,
			.size = 8 * cases[i].words,
			.missing = &cases[i].missing,
			.n_missing = cases[i].missing.size != 0,
		};
		struct reel_sample sample = {
			.layout = &layout,
			.values = values,
			.regions = &region,
			.n_regions = 1,
		};
		uint64_t at = 8 + 8 * cases[i].count, frame = (cases[i].frame - STACK) & -8ull;
		struct reel_scrubber *scrubber;

		memset(bytes, 0x55, sizeof(bytes));
		if (at < sizeof(bytes))
			reel_store64(bytes + at, cases[i].frame);
		if (frame < sizeof(bytes) && frame != at)
			reel_store64(bytes + frame, cases[i].caller);
		must(reel_scrubber_create(&native, &scrubber));
		for (unsigned pass = 0; pass < 2; pass++) {
			/* Scrubbing twice equals scrubbing once. */
			must(reel_scrub_sample(scrubber, &view, &sample));
			if (sample.values[0] != (cases[i].stays ? cases[i].count : 1))
				fail_msg("case %zu: %" PRIx64, i, sample.values[0]);
			memcpy(values, sample.values, sizeof(values));
			memcpy(bytes, sample.regions[0].bytes, region.size);
			sample.values = values;
			sample.regions = &region;
		}
		reel_scrubber_destroy(scrubber);
	}
	reel_timeline_destroy(timeline);
}

/*
 * The same number after a signal has interrupted bn_mul_mont: r9, rsp, rip and the segment
 * registers as the kernel saves them (struct sigcontext_64).  Word 50 is the r9 of all cases.
 */
TEST(counts_in_signal_frames)
{
	static const struct {
		uint64_t count, sp, pc, segments;
		struct reel_range missing;
		bool stays;
	} cases[] = {
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000033, { 0, 0 }, true },
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000033, { 51 * 8, 8 * 8 }, true },
		/* Too large a number, or one that leads nowhere. */
		{ 1025, BEHIND(80), CODE + 7, 0x002b000000000033, { 0, 0 }, false },
		{ 7, BEHIND(80), CODE + 7, 0x002b000000000033, { 0, 0 }, false },
		/* Not a signal frame, or one whose code and stack are unknown. */
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000023, { 0, 0 }, false },
		{ 6, BEHIND(80), CODE - 1, 0x002b000000000033, { 0, 0 }, false },
		{ 6, CODE, CODE + 7, 0x002b000000000033, { 0, 0 }, false },
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000033, { 50 * 8 + 7, 1 }, false },
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000033, { 64 * 8, 1 }, false },
		{ 6, BEHIND(80), CODE + 7, 0x002b000000000033, { 87 * 8, 1 }, false },
	};
	const struct reel_elf_kind native = { EM_X86_64, 64, REEL_BYTE_ORDER_LITTLE };
	const struct reel_register_slot slots[] = { { 9, 8 }, { 7, 8 } };
	const struct reel_record_sample_layout layout = { .n_slots = 2, .slots = slots };
	static uint8_t bytes[8 * 120];
	struct reel_timeline *timeline;
	struct reel_space_view view;
	struct reel_scrubber *scrubber;

	must(reel_timeline_create(false, &timeline));
	map(timeline, 1, CODE, 0x2000, 5);
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	must(reel_scrubber_create(&native, &scrubber));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t values[] = { 0, STACK }, at = 80 + 1 + 6;
		struct reel_region region = {
			.address = STACK,
			.bytes = bytes,
			.size = sizeof(bytes),
			.missing = &cases[i].missing,
			.n_missing = cases[i].missing.size != 0,
		};

		memset(bytes, 0x55, sizeof(bytes));
		reel_store64(bytes + 8 * 50, cases[i].count);
		reel_store64(bytes + 8 * 64, cases[i].sp);
		reel_store64(bytes + 8 * 65, cases[i].pc);
		reel_store64(bytes + 8 * 67, cases[i].segments);
		reel_store64(bytes + 8 * at, BEHIND(110));
		reel_store64(bytes + 8 * 110, CODE + 5);
		for (unsigned pass = 0; pass < 2; pass++) {
			struct reel_sample sample = {
				.layout = &layout,
				.values = values,
				.regions = &region,
				.n_regions = 1,
			};
			uint64_t kept;

			must(reel_scrub_sample(scrubber, &view, &sample));
			kept = reel_load64(sample.regions[0].bytes + 8 * 50);
			/* A word with a missing byte is unknown. */
			if (cases[i].missing.offset / 8 == 50
				    ? kept != 0
				    : kept != (cases[i].stays ? cases[i].count : 1))
				fail_msg("case %zu: %" PRIx64, i, kept);
			memcpy(bytes, sample.regions[0].bytes, region.size);
		}
	}
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(timeline);
}

TEST(code_at_the_end)
{
	const uint64_t words[] = { 0xfffffffffffff000, UINT64_MAX, 0xffffffffffffefff, 0 };
	uint64_t scrubbed[4];

	/* It ends at 2^64. */
	reel_scrub_words(0xfffffffffffff000, 0x1000, words, scrubbed, 4);
	assert_true(scrubbed[0] == words[0]);
	assert_true(scrubbed[1] == words[1]);
	assert_true(scrubbed[2] == 1);
	assert_true(scrubbed[3] == 0);
}

/*
 * The kernel's frame-pointer register holds anything if the kernel is built without frame pointers.
 */
TEST(kernel_frames)
{
	const uint64_t sp = 0xffffc90000003e00;
	const uint64_t fps[] = { sp, sp + 0xfff8, sp + 0x10000, sp - 8, 0x6b6579, 0 };
	const bool stays[] = { true, true, false, false, false, true };
	struct reel_timeline *timeline;
	struct reel_scrubber *scrubber;
	struct reel_space_view view;

	must(reel_timeline_create(false, &timeline));
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	must(reel_scrubber_create(&nothing_known, &scrubber));
	for (size_t i = 0; i < sizeof(fps) / sizeof(*fps); i++) {
		struct reel_sample sample = {
			.has_kernel_frame = true,
			.kernel_frame = { 0xffffffff81000000, sp, fps[i], 0xffffffff81000100 },
		};

		must(reel_scrub_sample(scrubber, &view, &sample));
		assert_true(sample.kernel_frame.pc == 0xffffffff81000000);
		assert_true(sample.kernel_frame.sp == sp);
		assert_true(sample.kernel_frame.fp == (stays[i] ? fps[i] : 1));
		assert_true(sample.kernel_frame.return_address == 0xffffffff81000100);
	}
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(timeline);
}

/* Signal trampolines on the stack, only on s390x: the word keeps only its code. */
TEST(code_on_the_stack)
{
	const uint8_t before[] = { 0x0a, 0xad, 1, 2, 3, 4,    5,    6, 0x0a, 0xae, 0, 0,
				   0,	 0,    0, 0, 9, 0x0a, 0xad, 0, 0,    0,	   0, 0 };
	const uint8_t after[] = { 0x0a, 0xad, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
				  0,	0,    0, 1, 0, 0, 0, 0, 0, 0, 0, 1 };
	struct reel_region region = { .address = STACK, .bytes = before, .size = sizeof(before) };
	struct reel_sample sample = { .regions = &region, .n_regions = 1 };
	const struct reel_elf_kind native = { EM_S390, 64, REEL_BYTE_ORDER_BIG };
	struct reel_timeline *timeline;
	struct reel_scrubber *scrubber;
	struct reel_space_view view;

	must(reel_timeline_create(false, &timeline));
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	must(reel_scrubber_create(&native, &scrubber));
	must(reel_scrub_sample(scrubber, &view, &sample));
	assert_memory_equal(sample.regions[0].bytes, after, sizeof(after));
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(timeline);
}

/* ---- memory ------------------------------------------------------------------------ */

/* Threads that once had large stacks do not take memory for ever. */
TEST(forgotten)
{
	static uint8_t bytes[65536];
	struct reel_region region = { .address = STACK, .bytes = bytes, .size = sizeof(bytes) };
	struct reel_timeline *timeline;
	struct reel_scrubber *scrubber;
	struct reel_space_view view;
	size_t before, used;

	must(reel_timeline_create(false, &timeline));
	map(timeline, 1, CODE, 0x2000, 5);
	view = reel_timeline_view(timeline, 1, REEL_TIME_NOW);
	must(reel_scrubber_create(&nothing_known, &scrubber));
	before = heap_in_use();
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t thread = 1; thread <= 100; thread++) {
			struct reel_sample sample = { .thread = thread,
						      .regions = &region,
						      .n_regions = 1 };

			must(reel_scrub_sample(scrubber, &view, &sample));
		}
		used = heap_in_use();
		reel_scrubber_forget(scrubber);
		assert_true(heap_in_use() <= before + 4096);
		/* Sanitizers count nothing. */
		assert_true(used > before + 4000000 || !used);
	}
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(timeline);
}

/* ---- spaces that have ended -------------------------------------------------------- */

TEST(ended_spaces)
{
	struct reel_record space = { .id = REEL_RECORD_SPACE };
	struct reel_record end = { .id = REEL_RECORD_SPACE_EXIT };
	struct reel_timeline *timeline;
	struct reel_mapping mapping;

	must(reel_timeline_create(false, &timeline));
	reel_timeline_keep_ended(timeline);
	for (uint64_t id = 1; id <= 3; id++) {
		space.space = (struct reel_record_space){ .time = 1, .id = id, .pid = id };
		must(reel_timeline_add(timeline, &space));
		map(timeline, id, CODE, PAGE, 5);
		end.space_exit = (struct reel_record_space_exit){ 10 * id, id };
		must(reel_timeline_add(timeline, &end));
		assert_true(reel_timeline_find(timeline, id, REEL_TIME_NOW, CODE, &mapping));
	}
	reel_timeline_forget_ended(timeline, 20);
	assert_null(reel_timeline_space(timeline, 1));
	assert_non_null(reel_timeline_space(timeline, 2));
	reel_timeline_forget_ended(timeline, 21);
	assert_null(reel_timeline_space(timeline, 2));
	/* Another exit, after a space that still exists. */
	end.space_exit = (struct reel_record_space_exit){ 31, 3 };
	must(reel_timeline_add(timeline, &end));
	assert_true(reel_timeline_space(timeline, 3)->end == 30);
	reel_timeline_forget_ended(timeline, REEL_TIME_NOW);
	assert_null(reel_timeline_space(timeline, 3));
	space.space.id = 4;
	must(reel_timeline_add(timeline, &space));
	end.space_exit = (struct reel_record_space_exit){ 40, 4 };
	must(reel_timeline_add(timeline, &end));
	reel_timeline_destroy(timeline);
}

RUN_TESTS()
