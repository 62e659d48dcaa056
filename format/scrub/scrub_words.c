/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a process's words, and which are addresses. */
#include <string.h>

#include "base/array.h"
#include "format/timeline/mapping_tree.h"
#include "format/scrub/scrub_internal.h"

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

/* Longer lists are not made. */
#define CODE_RANGES_MAX 65536

#define WORDS_AT_ONCE 512

/* Empty: holds no address (except 0 and the last, which take a second check). */
static const struct address_range nowhere = { UINT64_MAX, 0 };

/* ---- policy ------------------------------------------------------------------------- */

/* Linux before 5.17 put the code of s390x's signal trampolines on the stack. */
static void add_trampolines(struct scrub_policy *policy, const struct reel_arch *arch)
{
	for (size_t i = 0; i < arch->n_signal_frames && policy->n_code < SCRUB_CODE_MAX; i++) {
		const struct reel_arch_signal_frame *frame = &arch->signal_frames[i];

		if (frame->size <= policy->word_size)
			policy->code[policy->n_code++] =
				(struct reel_bytes){ frame->code, frame->size };
	}
}

struct scrub_policy reel_scrub_policy_of(const struct reel_elf_kind *native,
					 const struct reel_space_state *space)
{
	bool is_known = space && space->machine;
	uint16_t machine = is_known ? (uint16_t)space->machine : native->machine;
	unsigned bits =
		is_known && space->word_bits ? (unsigned)space->word_bits : native->word_bits;
	const struct reel_arch *arch = reel_arch_by_machine(machine, bits);
	struct scrub_policy policy = {
		.arch = arch,
		.word_size = bits == 32 ? 4 : 8,
		.big_endian =
			(space && space->byte_order ? space->byte_order : native->byte_order) ==
			REEL_BYTE_ORDER_BIG,
		.code_mask = space ? space->code_mask : 0,
		.data_mask = space ? space->data_mask : 0,
	};

	/* Without a mask pointer authentication is unknown: the unwinder then strips these bits,
	 * and everything it can follow must stay. */
	if (arch && !policy.code_mask)
		policy.code_mask = arch->default_code_mask;
	if (arch && arch->flags & REEL_ARCH_STACK_TRAMPOLINES)
		add_trampolines(&policy, arch);
	return policy;
}

/* ---- code --------------------------------------------------------------------------- */

static void add_range(void *context, const struct reel_mapping *mapping)
{
	struct scrub_code *list = context;
	/* A mapping may end at 2^64. */
	uint64_t end = mapping->address + mapping->size, last = end ? end : UINT64_MAX;
	struct address_range *ranges = list->ranges;

	if (!(mapping->protection & PROTECTION_EXECUTE) || list->failed)
		return;
	if (list->count && ranges[list->count - 1].last >= mapping->address) {
		ranges[list->count - 1].last = last;
		return;
	}
	if (list->count == CODE_RANGES_MAX ||
	    !reel_array_reserve(&list->ranges, list->count, &list->capacity, sizeof(*ranges))) {
		list->failed = true;
		return;
	}
	list->ranges[list->count++] = (struct address_range){ mapping->address, last };
}

static void fill_filter(struct scrub_code *list)
{
	memset(list->filter, 0, sizeof(list->filter));
	for (size_t i = 0; i < list->count; i++) {
		uint64_t bit = list->ranges[i].first >> SCRUB_FILTER_SHIFT;
		uint64_t last = list->ranges[i].last >> SCRUB_FILTER_SHIFT;

		if (last - bit >= SCRUB_FILTER_BITS) {
			memset(list->filter, 0xff, sizeof(list->filter));
			return;
		}
		for (; bit <= last; bit++)
			list->filter[bit % SCRUB_FILTER_BITS / 64] |= (uint64_t)1 << bit % 64;
	}
}

/* Without memory, or with too many ranges, the tree is used instead. */
static void make_list(struct scrub_code *list, const struct reel_space_view *view)
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
 * The code of a space not yet seen in this state.  A list takes time in proportion to its length,
 * and mappings may change with each sample: so it is made after as many look-ups without it.
 */
static struct scrub_code *find_list(struct scrub_code *codes, const struct reel_space_view *view)
{
	struct scrub_code *list = &codes[view->space % SCRUB_CODE_LISTS];

	if (list->generation != view->generation || !view->generation) {
		list->generation = view->generation;
		list->searches = 0;
		list->is_list = false;
		list->whole = (struct address_range){ 0, UINT64_MAX };
		memset(list->filter, 0xff, sizeof(list->filter));
	}
	/* An AVL tree of that height has at most this many nodes. */
	if (!list->is_list && list->searches >> reel_mapping_tree_height(view->root))
		make_list(list, view);
	return list;
}

static bool tree_has(const struct reel_space_view *view, uint64_t address)
{
	const struct reel_mapping *mapping = reel_mapping_tree_find(view->root, address);

	return mapping && mapping->protection & PROTECTION_EXECUTE;
}

static bool list_has(struct scrub_code *list, uint64_t address)
{
	const struct address_range *range = list->ranges;

	if (!list->count)
		return false;
	if (address_range_has(&list->found, address))
		return true;

	/* The last range that begins at or below it. */
	for (size_t count = list->count; count > 1;) {
		size_t half = count / 2;

		range += range[half].first <= address ? half : 0;
		count -= half;
	}
	if (!address_range_has(range, address))
		return false;
	list->found = *range;
	return true;
}

/* ---- words -------------------------------------------------------------------------- */

/* Cheap, and certain if false. */
static inline bool may_be_code(const struct address_range *code, const uint64_t *filter,
			       uint64_t address)
{
	uint64_t bit = address >> SCRUB_FILTER_SHIFT;

	return address_range_has(code, address) &
	       (filter[bit % SCRUB_FILTER_BITS / 64] >> bit % 64 & 1);
}

static bool is_code(const struct scrub_sieve *sieve, uint64_t address)
{
	struct scrub_code *code = sieve->code;

	if (!may_be_code(&code->whole, code->filter, address))
		return false;
	if (code->is_list)
		return list_has(code, address);
	code->searches++;
	return tree_has(sieve->view, address) || (address && tree_has(sieve->view, address - 1));
}

static bool is_data(const struct scrub_sieve *sieve, uint64_t address)
{
	for (size_t i = 0; i < sieve->n_regions; i++) {
		if (address_range_has(&sieve->regions[i], address))
			return true;
	}
	return false;
}

bool reel_scrub_is_code(const struct scrub_sieve *sieve, uint64_t word)
{
	return is_code(sieve, word & ~sieve->policy.code_mask);
}

bool reel_scrub_is_address(const struct scrub_sieve *sieve, uint64_t word)
{
	return is_data(sieve, word & ~sieve->policy.data_mask) || reel_scrub_is_code(sieve, word);
}

void reel_scrub_sieve_init(struct scrub_sieve *sieve, struct scrub_code *codes,
			   const struct reel_space_view *view, const struct scrub_policy *policy,
			   const struct reel_sample *sample)
{
	sieve->view = view;
	sieve->policy = *policy;
	sieve->code = find_list(codes, view);
	sieve->n_regions = sample->n_regions;
	memset(sieve->scrubbed, 0, sizeof(sieve->scrubbed));
	sieve->scrubbed[policy->big_endian ? policy->word_size - 1 : 0] = REEL_SCRUBBED_WORD;
	sieve->all = sieve->code->whole;
	for (size_t i = 0; i < sample->n_regions; i++) {
		uint64_t start = sample->regions[i].address;
		uint64_t end = start + sample->regions[i].size;

		end = end < start ? UINT64_MAX : end;
		sieve->regions[i] = (struct address_range){ start, end };
		if (start < sieve->all.first)
			sieve->all.first = start;
		if (end > sieve->all.last)
			sieve->all.last = end;
	}
	/* The stripped bits are above all addresses, unless a file lies to mislead readers. */
	if ((policy->code_mask | policy->data_mask) &
	    (UINT64_MAX >> __builtin_clzll(sieve->all.last | 1)))
		sieve->all.first = 0;
}

/*
 * Handles up to WORDS_AT_ONCE words.  The first loop, which all words take, has no branch that
 * depends on a word's value, which would be unpredictable: it notes possible addresses.
 */
static inline __attribute__((always_inline)) void scrub_some(const struct scrub_sieve *sieve,
							     const uint8_t *restrict at,
							     size_t count, uint8_t *restrict to,
							     unsigned size, bool big_endian)
{
	const uint64_t mask = ~(sieve->policy.code_mask | sieve->policy.data_mask);
	const uint64_t first = sieve->all.first, span = sieve->all.last - first;
	const uint64_t code_mask = ~sieve->policy.code_mask, data_mask = ~sieve->policy.data_mask;
	const struct address_range stack = sieve->regions[0], code = sieve->code->whole;
	const uint64_t *const filter = sieve->code->filter;
	const bool has_others = sieve->n_regions > 1;
	uint64_t scrubbed = 0;
	uint16_t noted[WORDS_AT_ONCE];
	size_t n_noted = 0;

	/* Only copied, so its byte order does not matter. */
	memcpy(&scrubbed, sieve->scrubbed, size);
	for (size_t i = 0; i < count; i++) {
		uint64_t word = scrub_load_word(at + i * size, size, big_endian);
		uint64_t bytes = word ? scrubbed : 0;

		memcpy(to + i * size, &bytes, size);
		noted[n_noted] = (uint16_t)i;
		n_noted += (word & mask) - first <= span;
	}
	for (size_t i = 0; i < n_noted; i++) {
		size_t offset = noted[i] * (size_t)size;
		uint64_t word = scrub_load_word(at + offset, size, big_endian);

		/* Most are the stack's own addresses, or outside all code. */
		if (address_range_has(&stack, word & data_mask) ||
		    ((has_others || may_be_code(&code, filter, word & code_mask)) &&
		     reel_scrub_is_address(sieve, word)))
			memcpy(to + offset, at + offset, size);
	}
}

void reel_scrub_words(const struct scrub_sieve *sieve, const uint8_t *at, size_t count, uint8_t *to)
{
	bool big_endian = sieve->policy.big_endian;
	unsigned size = sieve->policy.word_size;

	while (count) {
		size_t some = count < WORDS_AT_ONCE ? count : WORDS_AT_ONCE;

		/* Constant arguments make it fast. */
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
