/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scrubber on samples with any words, for spaces with any mappings, compared with SPEC.md, 8.1,
 * word by word: an address of a region or of code stays, all else becomes 1, and 0 stays 0.
 */
#include "base/dwarf_cursor.h"
#include "format/scrub/scrub.h"
#include "tests/fuzz/sample_parts.h"

#define SPACE 1

struct world {
	struct reel_timeline *timeline;
	struct reel_record_space space;
	unsigned word_size;
	bool big_endian;
	const struct reel_sample *sample;
};

static void take_mappings(struct reel_cursor *input, struct reel_timeline *timeline)
{
	for (unsigned n = reel_cursor_u8(input) % 16; n; n--) {
		struct reel_record record = { .id = REEL_RECORD_MAP };

		record.map = (struct reel_record_map){
			.time = 1,
			.space = SPACE,
			.address = 0x7fff00000000u + (reel_cursor_u16(input) << 4),
			.size = 1 + reel_cursor_u16(input),
			.protection = reel_cursor_u8(input) & 7,
			.flags = 2,
			.module = 1,
		};
		must(reel_timeline_add(timeline, &record));
	}
}

static bool is_code(const struct world *w, uint64_t address)
{
	struct reel_mapping mapping;

	return reel_timeline_find(w->timeline, SPACE, REEL_TIME_NOW, address, &mapping) &&
	       mapping.protection & 4;
}

static uint64_t word_of(const struct world *w, uint64_t word)
{
	uint64_t code = word & ~w->space.code_mask, data = word & ~w->space.data_mask;

	for (size_t i = 0; i < w->sample->n_regions; i++) {
		const struct reel_region *region = &w->sample->regions[i];

		if (data >= region->address && data - region->address <= region->size)
			return word;
	}
	return is_code(w, code) || (code && is_code(w, code - 1)) ? word : word != 0;
}

static bool is_missing(const struct reel_region *region, size_t offset, size_t size)
{
	return region->n_missing && offset < region->missing->offset + region->missing->size &&
	       region->missing->offset < offset + size;
}

/* Bytes outside of words are 0. */
static void check_region(const struct world *w, const struct reel_region *before,
			 const struct reel_region *after)
{
	unsigned size = w->word_size;
	size_t i = 0;

	must_be(before->address == after->address && before->size == after->size, "the region");
	while (i < before->size) {
		uint64_t word;

		if ((before->address + i) % size || before->size - i < size ||
		    is_missing(before, i, size)) {
			must_be(!after->bytes[i++], "0 outside of words");
			continue;
		}
		word = reel_load_target(before->bytes + i, size, w->big_endian);
		must_be(reel_load_target(after->bytes + i, size, w->big_endian) == word_of(w, word),
			"the word that SPEC.md requires");
		i += size;
	}
}

static void check(const struct world *w, const struct reel_sample *scrubbed)
{
	const struct reel_sample *sample = w->sample;
	size_t n = sample->layout ? sample->layout->n_slots : 0;

	must_be(scrubbed->flags == (sample->flags | REEL_SAMPLE_SCRUBBED), "marked");
	must_be(scrubbed->n_regions == sample->n_regions, "all regions");
	for (size_t i = 0; i < sample->n_regions; i++)
		check_region(w, &sample->regions[i], &scrubbed->regions[i]);
	for (size_t i = 0; i < n; i++) {
		uint64_t value = sample->values[i];

		must_be(scrubbed->values[i] == (value == sample->pc ? value : word_of(w, value)),
			"the register that SPEC.md requires");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_scrubber *scrubber;
	struct fuzz_sample samples[6];
	uint8_t bits = reel_cursor_u8(&input);
	const struct reel_elf_kind nothing_known = { 0 };
	struct reel_record record = { .id = REEL_RECORD_SPACE };
	struct world w = { .word_size = bits & 1 ? 4 : 8, .big_endian = bits & 2 };
	size_t n = 0;

	w.space = (struct reel_record_space){
		.id = SPACE,
		.machine = UINT16_MAX,
		.word_bits = w.word_size * 8,
		.byte_order = w.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
		.code_mask = bits & 4 ? UINT64_C(0xff7f) << 48 : 0,
		.data_mask = bits & 4 ? UINT64_C(0xff7f) << 48 : 0,
	};
	record.space = w.space;
	must(reel_timeline_create(false, &w.timeline));
	must(reel_timeline_add(w.timeline, &record));
	must(reel_scrubber_create(&nothing_known, &scrubber));
	for (; n < 6 && reel_cursor_left(&input); n++) {
		struct reel_sample scrubbed;
		struct reel_space_view view;

		/*
		 * Only in some samples: lists of code and of words are kept from one to the next.
		 */
		if (n % 3 == 0)
			take_mappings(&input, w.timeline);
		fuzz_sample(&input, NULL, &samples[n]);
		w.sample = &samples[n].sample;
		scrubbed = *w.sample;
		view = reel_timeline_view(w.timeline, SPACE, REEL_TIME_NOW);
		must(reel_scrub_sample(scrubber, &view, &scrubbed));
		check(&w, &scrubbed);
	}
	while (n)
		fuzz_sample_free(&samples[--n]);
	reel_scrubber_destroy(scrubber);
	reel_timeline_destroy(w.timeline);
	return 0;
}
