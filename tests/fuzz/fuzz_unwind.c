/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, unwound with any CFI, code, registers and memory: the fast path (with an empty and a
 * filled cache) and the slow one give the same, and so does reporting every read, as shrinking
 * does.
 */
#include "tests/fuzz/cfi_parts.h"
#include "tests/support/unwind_compare.h"

#define BIAS	   0x10000000u
#define FRAMES_MAX 256
#define REGIONS	   3

struct world {
	struct cfi_parts cfi;
	uint64_t code_address;
	struct reel_bytes code;
	struct reel_unwind_programs *programs;
	struct reel_memory_range missing[REGIONS];
	struct reel_memory_region regions[REGIONS];
	struct reel_memory_view memory;
	struct reel_unwind_state state;
	struct reel_unwind_input input;
	enum reel_code_found found;
	uint64_t chain[64];
	size_t n_chain;
};

static bool read_code(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	const struct world *w = module;
	uint64_t at = address - w->code_address;

	if (at > w->code.size || size > w->code.size - at)
		return false;
	memcpy(bytes_ret, w->code.data + at, size);
	return true;
}

static enum reel_code_found find_code(void *context, uint64_t address, struct reel_code *ret)
{
	struct world *w = context;

	if (address < BIAS || address - BIAS >= CFI_TEXT_END)
		return REEL_CODE_NO_MAPPING;
	*ret = (struct reel_code){
		.rows = w->cfi.rows,
		.bias = BIAS,
		.read_code = read_code,
		.module = w,
		.begin = BIAS,
		.size = CFI_TEXT_END,
		.id = 1,
	};
	return w->found;
}

static bool read_other(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct world *w = context;

	return read_code(w, address - BIAS, size, bytes_ret);
}

static void take_regions(struct reel_cursor *input, struct world *w)
{
	for (size_t i = 0; i < REGIONS; i++) {
		struct reel_memory_region *region = &w->regions[i];
		uint64_t address = reel_cursor_u64(input);
		struct reel_bytes part = fuzz_part(input);
		struct reel_memory_range *missing = &w->missing[i];

		*region = (struct reel_memory_region){ address, part.size, part.data, NULL, 0 };
		missing->offset = reel_cursor_u16(input);
		missing->size = reel_cursor_u16(input);
		if (!missing->size || missing->offset >= part.size ||
		    missing->size > part.size - missing->offset)
			continue;
		region->missing = missing;
		region->n_missing = 1;
	}
	w->memory = (struct reel_memory_view){ .regions = w->regions,
					       .n_regions = REGIONS,
					       .big_endian = w->cfi.input.big_endian,
					       .read_other = read_other,
					       .context = w };
}

static void take_state(struct reel_cursor *input, struct world *w)
{
	const struct reel_arch *arch = w->cfi.input.arch;
	uint64_t mask = arch->word_size == 4 ? UINT32_MAX : UINT64_MAX;

	w->state = (struct reel_unwind_state){ .arch = arch, .memory = &w->memory };
	w->state.pc = reel_cursor_u64(input) & mask;
	w->state.known = reel_cursor_u64(input) & UINT64_MAX >> (64 - arch->n_registers);
	for (unsigned i = 0; i < arch->n_registers; i++)
		if (w->state.known >> i & 1)
			w->state.registers[i] = reel_cursor_u64(input) & mask;
}

static void take_world(struct reel_cursor *input, struct world *w)
{
	uint8_t bits = reel_cursor_u8(input);
	struct reel_bytes chain;

	cfi_parts_take(input, &w->cfi);
	w->code_address = reel_cursor_u32(input);
	w->code = fuzz_part(input);
	take_regions(input, w);
	chain = fuzz_part(input);
	w->n_chain = chain.size / 8 < 64 ? chain.size / 8 : 64;
	for (size_t i = 0; i < w->n_chain; i++)
		w->chain[i] = reel_load64(chain.data + 8 * i);
	take_state(input, w);
	w->found = bits & 16 ? REEL_CODE_MODULE_MISSING : REEL_CODE_FOUND;
	w->input = (struct reel_unwind_input){
		.arch = w->cfi.input.arch,
		.code_mask = bits & 8 ? w->cfi.input.arch->default_code_mask : 0,
		.memory = &w->memory,
		.find_code = find_code,
		.context = w,
		.generation = 1,
		.after_syscall = bits & 1,
		.no_frame_pointers = bits & 2,
		.stack_cut = bits & 4,
		.root_part = bits & 4 ? &w->regions[REGIONS - 1] : NULL,
		.max_frames = FRAMES_MAX,
	};
	must(reel_unwind_programs_create(w->input.arch, &w->programs));
}

struct walk {
	struct reel_unwind_state state;
	struct reel_unwind_frames frames;
	enum reel_stop stop;
};

static void walk(struct world *w, struct reel_unwind_cache *cache, struct walk *ret)
{
	w->input.cache = cache;
	ret->state = w->state;
	must(reel_unwind_trace(&w->input, w->programs, &ret->state, &ret->frames, &ret->stop));
	must_be(ret->frames.n >= 1 && ret->frames.n <= FRAMES_MAX, "some frames");
	must_be(ret->stop < REEL_STOP_COUNT, "a reason to stop");
}

static void must_be_same(const struct walk *a, const struct walk *b, const char *what)
{
	must_be(a->stop == b->stop && same_frames(&a->frames, &b->frames) &&
			same_state(&a->state, &b->state),
		what);
}

static void note_read(void *context, size_t region, uint64_t offset, unsigned size)
{
	const struct world *w = context;

	must_be(region < REGIONS && offset <= w->regions[region].size &&
			size <= w->regions[region].size - offset,
		"a read of existing bytes");
}

static void walk_fast_path(struct world *w, const struct walk *expected)
{
	struct reel_unwind_cache *cache;
	static struct walk other;

	must(reel_unwind_cache_create(&cache));
	walk(w, cache, &other);
	must_be_same(expected, &other, "the same result on the fast and the slow path");
	walk(w, cache, &other);
	must_be_same(expected, &other, "the same with a filled cache");
	w->memory.reads = note_read;
	w->memory.reads_context = w;
	walk(w, cache, &other);
	must_be_same(expected, &other, "the same while reads are reported");
	reel_unwind_cache_destroy(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct walk slow, recorded;
	struct reel_cursor input = reel_cursor(data, size);
	static struct world w;

	take_world(&input, &w);
	walk(&w, NULL, &slow);
	walk_fast_path(&w, &slow);
	w.input.cache = NULL;
	recorded.state = w.state;
	must(reel_unwind_recorded(&w.input, w.programs, &recorded.state, w.chain, w.n_chain,
				  w.n_chain & 1 ? REEL_STEP_RECORDED : REEL_STEP_RECORDED_CALL,
				  &recorded.frames, &recorded.stop));
	must_be(recorded.stop < REEL_STOP_COUNT, "a reason to stop");
	reel_unwind_programs_destroy(w.programs);
	cfi_parts_free(&w.cfi);
	return 0;
}
