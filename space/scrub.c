/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "space/mapping_tree.h"
#include "space/scrub.h"

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

/* Spaces whose code is kept as a list, found by their ids' lowest bits. */
#define CODE_LISTS 64
/* Longer lists are not made. */
#define CODE_RANGES_MAX 65536

/*
 * Addresses are filtered by which 64 KB they lie in, modulo 1 GB: most words that are no
 * addresses of code end there.
 */
#define FILTER_SHIFT 16
#define FILTER_BITS  16384

#define WORDS_AT_ONCE 512

/* Kernel stacks are no larger (arm64's with pages of 64 KB; x86-64's with KASAN have half of it).
 */
#define KERNEL_STACK_MAX 65536

/* First and last address; the last one is that behind the mapping: a call may end it. */
struct address_range {
	uint64_t first, last;
};

static inline bool is_in(const struct address_range *range, uint64_t address)
{
	return address - range->first <= range->last - range->first;
}

/* Where nothing lies (but 0 and the last address: who has this looks twice). */
static const struct address_range nowhere = { UINT64_MAX, 0 };

/* The code of a space, in one state of its mappings. */
struct code_list {
	uint64_t generation; /* 0: of none */
	/* Look-ups so far that went without a list. */
	uint64_t searches;
	bool is_list;
	/* Ascending, not touching each other. */
	struct address_range *ranges;
	size_t count, capacity;
	bool failed;		    /* no memory, or too many ranges */
	struct address_range found; /* by the last look-up */
	struct address_range whole; /* all of them lie within */
	uint64_t filter[FILTER_BITS / 64];
};

struct reel_scrubber {
	struct code_list lists[CODE_LISTS];
	/* Copies of a sample's parts. */
	struct reel_region regions[REEL_REGIONS_MAX];
	uint8_t *bytes;
	size_t bytes_capacity;
	uint64_t values[REEL_REGISTERS_MAX];
	uint64_t *chain;
	size_t chain_capacity;
};

/* What the words of one sample are compared with. */
struct sieve {
	const struct reel_space_view *view;
	struct reel_scrub_words words;
	struct code_list *code;
	/* With their ends: a frame may end where a stack does. */
	struct address_range regions[REEL_REGIONS_MAX];
	size_t n_regions;
	/* Regions and code lie within. */
	struct address_range all;
	uint8_t scrubbed[8]; /* a word without its value */
};

/* ---- code --------------------------------------------------------------------------- */

static void add_range(void *context, const struct reel_mapping *mapping)
{
	struct code_list *list = context;
	/* A mapping may end at 2^64. */
	uint64_t end = mapping->address + mapping->size, last = end ? end : UINT64_MAX;
	struct address_range *ranges = list->ranges;

	if (!(mapping->protection & PROTECTION_EXECUTE) || list->failed)
		return;
	if (list->count && ranges[list->count - 1].last >= mapping->address) {
		ranges[list->count - 1].last = last;
		return;
	}
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 64;

		ranges = list->count < CODE_RANGES_MAX
				 ? reallocarray(ranges, capacity, sizeof(*ranges))
				 : NULL;
		if (!ranges) {
			list->failed = true;
			return;
		}
		list->ranges = ranges;
		list->capacity = capacity;
	}
	ranges[list->count++] = (struct address_range){ mapping->address, last };
}

static void fill_filter(struct code_list *list)
{
	memset(list->filter, 0, sizeof(list->filter));
	for (size_t i = 0; i < list->count; i++) {
		uint64_t bit = list->ranges[i].first >> FILTER_SHIFT;
		uint64_t last = list->ranges[i].last >> FILTER_SHIFT;

		if (last - bit >= FILTER_BITS) {
			memset(list->filter, 0xff, sizeof(list->filter));
			return;
		}
		for (; bit <= last; bit++)
			list->filter[bit % FILTER_BITS / 64] |= (uint64_t)1 << bit % 64;
	}
}

/* Where there is no memory for it, or no end to it, the tree will do. */
static void make_list(struct code_list *list, const struct reel_space_view *view)
{
	list->count = 0;
	list->failed = false;
	reel_mapping_tree_visit(view->root, 0, UINT64_MAX, add_range, list);
	if (list->failed) {
		list->searches = 0;
		return;
	}
	list->is_list = true;
	list->found = list->count ? list->ranges[0] : nowhere;
	list->whole = list->count ? (struct address_range){ list->ranges[0].first,
							    list->ranges[list->count - 1].last }
				  : nowhere;
	fill_filter(list);
}

/*
 * The code of a space that was not seen in this state.  Its list takes as long to make as it is,
 * and mappings may change with each sample: it is made once as many look-ups went without one.
 */
static struct code_list *find_list(struct reel_scrubber *scrubber,
				   const struct reel_space_view *view)
{
	struct code_list *list = &scrubber->lists[view->space % CODE_LISTS];

	if (list->generation != view->generation || !view->generation) {
		list->generation = view->generation;
		list->searches = 0;
		list->is_list = false;
		list->whole = (struct address_range){ 0, UINT64_MAX };
		memset(list->filter, 0xff, sizeof(list->filter));
	}
	/* An AVL tree of that height has no more than so many nodes. */
	if (!list->is_list && list->searches >> reel_mapping_tree_height(view->root))
		make_list(list, view);
	return list;
}

static bool tree_has(const struct reel_space_view *view, uint64_t address)
{
	const struct reel_mapping *mapping = reel_mapping_tree_find(view->root, address);

	return mapping && mapping->protection & PROTECTION_EXECUTE;
}

static bool list_has(struct code_list *list, uint64_t address)
{
	const struct address_range *range = list->ranges;

	if (!list->count)
		return false;
	if (is_in(&list->found, address))
		return true;

	/* The last one that begins at or below it. */
	for (size_t count = list->count; count > 1;) {
		size_t half = count / 2;

		range += range[half].first <= address ? half : 0;
		count -= half;
	}
	if (!is_in(range, address))
		return false;
	list->found = *range;
	return true;
}

/* ---- words -------------------------------------------------------------------------- */

/* Cheap, and right where it says no. */
static inline bool may_be_code(const struct address_range *code, const uint64_t *filter,
			       uint64_t address)
{
	uint64_t bit = address >> FILTER_SHIFT;

	return is_in(code, address) & (filter[bit % FILTER_BITS / 64] >> bit % 64 & 1);
}

static bool is_code(const struct sieve *sieve, uint64_t address)
{
	struct code_list *code = sieve->code;

	if (!may_be_code(&code->whole, code->filter, address))
		return false;
	if (code->is_list)
		return list_has(code, address);
	code->searches++;
	return tree_has(sieve->view, address) || (address && tree_has(sieve->view, address - 1));
}

static bool is_data(const struct sieve *sieve, uint64_t address)
{
	for (size_t i = 0; i < sieve->n_regions; i++) {
		if (is_in(&sieve->regions[i], address))
			return true;
	}
	return false;
}

/* May unwinding follow it? */
static bool is_address(const struct sieve *sieve, uint64_t word)
{
	return is_data(sieve, word & ~sieve->words.data_mask) ||
	       is_code(sieve, word & ~sieve->words.code_mask);
}

static inline uint64_t without_value(uint64_t word)
{
	return word ? REEL_SCRUBBED_WORD : 0;
}

static uint64_t scrub_value(const struct sieve *sieve, uint64_t value)
{
	return is_address(sieve, value) ? value : without_value(value);
}

static void make_sieve(struct reel_scrubber *scrubber, const struct reel_space_view *view,
		       const struct reel_scrub_words *words, const struct reel_sample *sample,
		       struct sieve *ret)
{
	ret->view = view;
	ret->words = *words;
	ret->code = find_list(scrubber, view);
	ret->n_regions = sample->n_regions;
	memset(ret->scrubbed, 0, sizeof(ret->scrubbed));
	ret->scrubbed[words->big_endian ? words->size - 1 : 0] = REEL_SCRUBBED_WORD;
	ret->all = ret->code->whole;
	for (size_t i = 0; i < sample->n_regions; i++) {
		uint64_t start = sample->regions[i].address;
		uint64_t end = start + sample->regions[i].size;

		end = end < start ? UINT64_MAX : end;
		ret->regions[i] = (struct address_range){ start, end };
		if (start < ret->all.first)
			ret->all.first = start;
		if (end > ret->all.last)
			ret->all.last = end;
	}
	/* What is stripped lies above addresses, unless a file says so to fool its readers. */
	if ((words->code_mask | words->data_mask) &
	    (UINT64_MAX >> __builtin_clzll(ret->all.last | 1)))
		ret->all.first = 0;
}

/* A word as a number. */
static inline uint64_t load_word(const uint8_t *at, unsigned size, bool big_endian)
{
	if (size == 8)
		return big_endian ? __builtin_bswap64(reel_load64(at)) : reel_load64(at);
	return big_endian ? __builtin_bswap32(reel_load32(at)) : reel_load32(at);
}

/*
 * Up to WORDS_AT_ONCE words.  The first loop, which all of them take, has no branch that depends
 * on what a word is, since nothing would predict it: it notes what may be an address.
 */
static inline __attribute__((always_inline)) void scrub_some(const struct sieve *sieve,
							     const uint8_t *restrict at,
							     size_t count, uint8_t *restrict to,
							     unsigned size, bool big_endian)
{
	const uint64_t mask = ~(sieve->words.code_mask | sieve->words.data_mask);
	const uint64_t first = sieve->all.first, span = sieve->all.last - first;
	const uint64_t code_mask = ~sieve->words.code_mask, data_mask = ~sieve->words.data_mask;
	const struct address_range stack = sieve->regions[0], code = sieve->code->whole;
	const uint64_t *const filter = sieve->code->filter;
	const bool has_others = sieve->n_regions > 1;
	uint64_t scrubbed = 0;
	uint16_t noted[WORDS_AT_ONCE];
	size_t n_noted = 0;

	/* Whatever number these bytes are here: it is not computed with. */
	memcpy(&scrubbed, sieve->scrubbed, size);
	for (size_t i = 0; i < count; i++) {
		uint64_t word = load_word(at + i * size, size, big_endian);
		uint64_t bytes = word ? scrubbed : 0;

		memcpy(to + i * size, &bytes, size);
		noted[n_noted] = (uint16_t)i;
		n_noted += (word & mask) - first <= span;
	}
	for (size_t i = 0; i < n_noted; i++) {
		size_t offset = noted[i] * (size_t)size;
		uint64_t word = load_word(at + offset, size, big_endian);

		/* Most are the stack's own addresses, or lie where no code is. */
		if (is_in(&stack, word & data_mask) ||
		    ((has_others || may_be_code(&code, filter, word & code_mask)) &&
		     is_address(sieve, word)))
			memcpy(to + offset, at + offset, size);
	}
}

/* `at` is the first aligned word, `to` where its copy goes. */
static void scrub_words(const struct sieve *sieve, const uint8_t *at, size_t count, uint8_t *to)
{
	bool big_endian = sieve->words.big_endian;
	unsigned size = sieve->words.size;

	while (count) {
		size_t some = count < WORDS_AT_ONCE ? count : WORDS_AT_ONCE;

		/* Constants are what makes it fast. */
		if (size == 8 && !big_endian)
			scrub_some(sieve, at, some, to, 8, false);
		else if (size == 8)
			scrub_some(sieve, at, some, to, 8, true);
		else if (!big_endian)
			scrub_some(sieve, at, some, to, 4, false);
		else
			scrub_some(sieve, at, some, to, 4, true);
		at += some * size;
		to += some * size;
		count -= some;
	}
}

void reel_scrub_words_add_code(struct reel_scrub_words *words, const uint8_t *code, size_t size)
{
	if (size <= words->size && words->n_code < REEL_SCRUB_CODE_MAX)
		words->code[words->n_code++] = (struct reel_bytes){ code, size };
}

/* Of a word that begins with such code no more stays than that. */
static void keep_code(const struct sieve *sieve, const uint8_t *at, size_t count, uint8_t *to)
{
	const struct reel_scrub_words *words = &sieve->words;

	for (size_t i = 0; i < words->n_code; i++) {
		const struct reel_bytes *code = &words->code[i];

		for (size_t word = 0; word < count; word++) {
			size_t offset = word * words->size;

			if (memcmp(at + offset, code->data, code->size) != 0 ||
			    is_address(sieve,
				       load_word(at + offset, words->size, words->big_endian)))
				continue;
			memset(to + offset, 0, words->size);
			memcpy(to + offset, code->data, code->size);
		}
	}
}

/* ---- parts of samples --------------------------------------------------------------- */

/* Bytes that are missing are 0, and stay so in words that they share with others. */
static void clear_missing(const struct reel_region *region, unsigned size, uint8_t *bytes)
{
	for (size_t i = 0; i < region->n_missing; i++) {
		uint64_t first = region->missing[i].offset;
		uint64_t end = first + region->missing[i].size;

		/* By addresses: the region itself may begin anywhere. */
		first -= (region->address + first) % size < first ? (region->address + first) % size
								  : first;
		end += -(region->address + end) % size;
		memset(bytes + first, 0, (end < region->size ? end : region->size) - first);
	}
}

static void scrub_region(const struct sieve *sieve, const struct reel_region *region,
			 uint8_t *bytes)
{
	unsigned size = sieve->words.size;
	size_t before = -region->address % size, count;

	if (!region->size)
		return;
	if (before > region->size)
		before = region->size;
	count = (region->size - before) / size;
	memset(bytes, 0, before);
	scrub_words(sieve, region->bytes + before, count, bytes + before);
	keep_code(sieve, region->bytes + before, count, bytes + before);
	memset(bytes + before + count * size, 0, region->size - before - count * size);
	clear_missing(region, size, bytes);
}

static struct reel_error *scrub_regions(struct reel_scrubber *scrubber, const struct sieve *sieve,
					struct reel_sample *sample)
{
	size_t size = 0, at = 0;

	for (size_t i = 0; i < sample->n_regions; i++)
		size += sample->regions[i].size;
	if (size > scrubber->bytes_capacity) {
		uint8_t *bytes = realloc(scrubber->bytes, size);

		if (!bytes)
			return reel_error_no_memory();
		scrubber->bytes = bytes;
		scrubber->bytes_capacity = size;
	}
	for (size_t i = 0; i < sample->n_regions; i++) {
		scrubber->regions[i] = sample->regions[i];
		scrubber->regions[i].bytes = scrubber->bytes + at;
		scrub_region(sieve, &sample->regions[i], scrubber->bytes + at);
		at += sample->regions[i].size;
	}
	sample->regions = scrubber->regions;
	return NULL;
}

/* The pc stays, wherever it is: it is what is sampled. */
static void scrub_registers(struct reel_scrubber *scrubber, const struct sieve *sieve,
			    struct reel_sample *sample)
{
	if (!sample->layout)
		return;
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		uint64_t value = sample->values[i];

		scrubber->values[i] = value == sample->pc ? value : scrub_value(sieve, value);
	}
	sample->values = scrubber->values;
}

/* A walk by frame pointers takes whatever it meets for an address. */
static struct reel_error *scrub_chain(struct reel_scrubber *scrubber, const struct sieve *sieve,
				      struct reel_sample *sample)
{
	if (sample->n_frame_chain > scrubber->chain_capacity) {
		uint64_t *chain = reallocarray(scrubber->chain, sample->n_frame_chain,
					       sizeof(*scrubber->chain));

		if (!chain)
			return reel_error_no_memory();
		scrubber->chain = chain;
		scrubber->chain_capacity = sample->n_frame_chain;
	}
	for (size_t i = 0; i < sample->n_frame_chain; i++) {
		uint64_t address = sample->frame_chain[i];

		scrubber->chain[i] = address == sample->pc ? address : scrub_value(sieve, address);
	}
	if (sample->n_frame_chain)
		sample->frame_chain = scrubber->chain;
	return NULL;
}

/* The kernel is mostly built without frame pointers, and has anything in that register. */
static void scrub_kernel_frame(struct reel_sample *sample)
{
	struct reel_kernel_frame *frame = &sample->kernel_frame;

	if (frame->fp - frame->sp >= KERNEL_STACK_MAX)
		frame->fp = frame->fp ? REEL_SCRUBBED_WORD : 0;
}

/* ---- samples ------------------------------------------------------------------------ */

struct reel_error *reel_scrubber_create(struct reel_scrubber **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

void reel_scrubber_destroy(struct reel_scrubber *scrubber)
{
	if (!scrubber)
		return;
	for (size_t i = 0; i < CODE_LISTS; i++)
		free(scrubber->lists[i].ranges);
	free(scrubber->bytes);
	free(scrubber->chain);
	free(scrubber);
}

struct reel_error *reel_scrub_sample(struct reel_scrubber *scrubber,
				     const struct reel_space_view *view,
				     const struct reel_scrub_words *words,
				     struct reel_sample *sample)
{
	struct reel_error *error;
	struct sieve sieve;

	make_sieve(scrubber, view, words, sample, &sieve);
	scrub_registers(scrubber, &sieve, sample);
	error = scrub_chain(scrubber, &sieve, sample);
	if (!error)
		error = scrub_regions(scrubber, &sieve, sample);
	if (sample->has_kernel_frame)
		scrub_kernel_frame(sample);
	sample->flags |= REEL_SAMPLE_SCRUBBED;
	return error;
}
