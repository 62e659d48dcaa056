/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world to unwind in: a module with CFI built function by function, and a stack of words.
 */
#ifndef TESTS_SUPPORT_UNWIND_WORLD_H
#define TESTS_SUPPORT_UNWIND_WORLD_H

#include "replay/synthesis/synthesis.h"
#include "replay/unwind/unwind.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/test.h"
#include "tests/support/unwind_compare.h"

#define STACK_WORD(i) (STACK + 8 * (i))
#define BIAS	      0x400000 /* the module's code is mapped at ELF address + BIAS */
#define TEXT	      0x1000
#define TEXT_END      0x9000
#define STACK	      0x7ffd0000

struct world {
	const struct reel_arch *arch;
	struct cfi_builder eh;
	size_t cie, signal_cie;
	uint8_t code[TEXT_END - TEXT];
	uint64_t stack[512];
	uint8_t stack_bytes[512 * 8];
	struct reel_memory_range missing[2];
	struct reel_memory_region regions[4];
	struct reel_memory_view memory;
	struct reel_unwind_state state;
	struct reel_unwind_input input;
	struct reel_unwind_frames frames;
	struct reel_unwind_programs *programs;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
	struct reel_synthesis *synthesis;
	uint64_t entry;
	struct reel_cfi_range switches; /* code that switches stacks, unless empty */
	enum reel_code_found found;	/* result of looking up its code */
	bool unreadable;
	bool recorded;	/* the code is not in a file, but its bytes are known */
	uint64_t moved; /* the module's code is mapped this much higher */
	uint64_t id;	/* its name for caches, less 1 */
	enum reel_stop stop;
	unsigned lookups,
		cached_lookups; /* of code, by a walk without a cache and by one with it */
};

static inline bool read_code(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct world *w = module;

	if (w->unreadable || address < TEXT || address + size > TEXT_END)
		return false;
	memcpy(bytes_ret, w->code + (address - TEXT), size);
	return true;
}

static inline enum reel_code_found find_code(void *context, uint64_t address, struct reel_code *ret)
{
	struct world *w = context;

	w->lookups++;
	if (address < BIAS + w->moved + TEXT || address >= BIAS + w->moved + TEXT_END)
		return REEL_CODE_NO_MAPPING;
	if (w->found == REEL_CODE_FOUND)
		*ret = (struct reel_code){
			.rows = w->rows,
			.synthesis = w->synthesis,
			.bias = BIAS + w->moved,
			.read_code = read_code,
			.module = w,
			.begin = BIAS + w->moved + TEXT,
			.size = TEXT_END - TEXT,
			.id = w->id + 1,
		};
	else if (w->recorded)
		*ret = (struct reel_code){
			.synthesis = w->synthesis,
			.bias = BIAS + w->moved,
			.read_code = read_code,
			.module = w,
			.begin = BIAS + w->moved + TEXT,
			.size = TEXT_END - TEXT,
		};
	return w->found;
}

static inline void world_init(struct world *w, const char *arch, uint8_t code_align, uint8_t column,
			      const uint8_t *initial, size_t size)
{
	memset(w, 0, sizeof(*w));
	w->arch = reel_arch_by_name(arch);
	assert_non_null(w->arch);
	w->eh.address = 0x20000;
	w->eh.is_32 = w->arch->word_size == 4;
	w->eh.big_endian = w->memory.big_endian = !strcmp(arch, "s390x");
	w->cie = build_cie(&w->eh, 1, "zR", PCREL_SDATA4, code_align, column, initial, size);
	w->signal_cie =
		build_cie(&w->eh, 1, "zRS", PCREL_SDATA4, code_align, column, initial, size);
	w->regions[0] = (struct reel_memory_region){ STACK, 512ul * w->arch->word_size,
						     w->stack_bytes, NULL, 0 };
	w->memory.regions = w->regions;
	w->memory.n_regions = 1;
	w->state.arch = w->arch;
	w->state.memory = &w->memory;
	w->input = (struct reel_unwind_input){
		.arch = w->arch, .memory = &w->memory, .find_code = find_code, .context = w
	};
}

static inline void function(struct world *w, uint64_t begin, uint64_t end, const uint8_t *program,
			    size_t size)
{
	build_fde(&w->eh, w->cie, true, begin, end - begin, program, size);
}

static inline void set(struct world *w, uint16_t dwarf, uint64_t value)
{
	uint8_t slot = reel_arch_slot(w->arch, dwarf);

	w->state.registers[slot] = value;
	w->state.known |= (uint64_t)1 << slot;
}

/* Where the walk begins: an address in the module, and the stack pointer. */
static inline void begin_at(struct world *w, uint64_t pc, uint64_t sp)
{
	w->state.pc = BIAS + pc;
	set(w, w->arch->sp, sp);
}

static inline void code_at(struct world *w, uint64_t address, const uint8_t *bytes, size_t size)
{
	memcpy(w->code + (address - TEXT), bytes, size);
}

/* Puts a call before a return address, through a register: its target is unknown. */
static inline uint64_t call_before(struct world *w, uint64_t address)
{
	if (w->arch->code_align == 1)
		code_at(w, address - 2, BYTES(0xff, 0xd0));
	else if (w->arch->code_align == 4)
		code_at(w, address - 4, BYTES(0x00, 0x00, 0x3f, 0xd6));
	else
		code_at(w, address - 4, BYTES(0x01, 0x00, 0x00, 0x94));
	return address + BIAS;
}

/* The same by the fast path, with new and with existing entries. */
static inline void compare_fast_path(struct world *w, const struct reel_unwind_state *start)
{
	struct reel_unwind_frames frames = { 0 };

	assert_null(reel_unwind_cache_create(&w->input.cache));
	w->input.generation = 1;
	for (unsigned i = 0; i < 3; i++) {
		struct reel_unwind_state state = *start;
		enum reel_stop stop;

		w->lookups = 0;
		assert_null(reel_unwind_trace(&w->input, w->programs, &state, &frames, &stop));
		assert_int_equal(stop, w->stop);
		assert_true(same_frames(&w->frames, &frames));
		assert_true(same_state(&w->state, &state));
	}
	reel_unwind_frames_free(&frames);
	reel_unwind_cache_destroy(w->input.cache);
	w->input.cache = NULL;
}

static inline void write_stack(struct world *w)
{
	size_t word = w->arch->word_size;

	for (size_t i = 0; i < 512; i++) {
		for (size_t j = 0; j < word; j++)
			w->stack_bytes[word * i + (w->memory.big_endian ? word - 1 - j : j)] =
				(uint8_t)(w->stack[i] >> 8 * j);
	}
}

static inline void unwind(struct world *w)
{
	struct reel_unwind_state start = w->state;

	struct reel_cfi_input input = {
		.arch = w->arch,
		.big_endian = w->eh.big_endian,
		.eh_frame = { w->eh.bytes, w->eh.size, w->eh.address },
		.text_begin = TEXT,
		.text_end = TEXT_END,
	};

	struct reel_synthesis_input synthesis = { .arch = w->arch,
						  .read_code = read_code,
						  .module = w };

	unsigned lookups;

	write_stack(w);
	assert_null(reel_cfi_create(&input, &w->cfi));
	if (w->switches.end)
		assert_null(reel_cfi_set_switches(w->cfi, &w->switches, 1));
	synthesis.find_row = reel_synthesis_cfi_row;
	synthesis.rows = w->cfi;
	assert_null(reel_rows_create(w->arch, w->cfi, w->entry, &w->rows));
	assert_null(reel_synthesis_create(&synthesis, &w->synthesis));
	assert_null(reel_unwind_programs_create(w->arch, &w->programs));
	w->lookups = 0;
	assert_null(reel_unwind_trace(&w->input, w->programs, &w->state, &w->frames, &w->stop));
	lookups = w->lookups;
	compare_fast_path(w, &start);
	w->cached_lookups = w->lookups;
	w->lookups = lookups;
}

/* Checks the frames (ELF addresses inside the module) and the stop, and frees the world. */
static inline void expect(struct world *w, enum reel_stop stop, size_t n, const uint64_t *addresses)
{
	assert_int_equal(w->frames.n, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t address = w->frames.addresses[i];

		assert_int_equal(address >= BIAS ? address - BIAS : address, addresses[i]);
	}
	assert_int_equal(w->stop, stop);
	reel_unwind_frames_free(&w->frames);
	reel_unwind_programs_destroy(w->programs);
	reel_synthesis_destroy(w->synthesis);
	reel_rows_destroy(w->rows);
	reel_cfi_destroy(w->cfi);
}

#define EXPECT(w, stop, ...)                                                                       \
	expect(w, stop, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

/* The same after unwinding. */
#define UNWIND(w, stop, ...) (unwind(w), EXPECT(w, stop, __VA_ARGS__))

/* x86_64: CFA = rsp + 8, rip at CFA - 8. */
static inline void world_x86(struct world *w)
{
	world_init(w, "x86_64", 1, 16, X86_INITIAL);
}

#define UNDEFINED_RIP BYTES(DW_CFA_undefined, 16)

/* main at 0x1000 with an undefined return address is where all x86 stacks here end. */
static inline void root_function(struct world *w)
{
	function(w, 0x1000, 0x1100, UNDEFINED_RIP);
}

static inline void world_x86_with_root(struct world *w)
{
	world_x86(w);
	root_function(w);
}

/* main calls a function with CFI at 0x2000, whose frame has two words and which calls the tested
 * code. */
static inline void world_x86_with_caller(struct world *w)
{
	world_x86_with_root(w);
	function(w, 0x2000, 0x2100, BYTES(DW_CFA_def_cfa_offset, 16));
	w->stack[101] = 0x5555;
	w->stack[102] = BIAS + 0x1020;
	w->stack[100] = call_before(w, 0x2020);
}

/* `call` rel32 at 0x201b that returns to 0x2020. */
static inline void call_directly(struct world *w, uint64_t target)
{
	uint32_t to = (uint32_t)(target - 0x2020);

	code_at(w, 0x201b,
		BYTES(0xe8, (uint8_t)to, (uint8_t)(to >> 8), (uint8_t)(to >> 16),
		      (uint8_t)(to >> 24)));
}

/* A module's root, and recorded code: find_code tells them apart. */
static inline enum reel_code_found find_recorded(void *context, uint64_t address,
						 struct reel_code *ret)
{
	enum reel_code_found found = find_code(context, address, ret);

	if (found != REEL_CODE_FOUND || address < BIAS + 0x3000)
		return found;
	ret->rows = NULL;
	ret->id = 0;
	ret->begin = BIAS + 0x3000;
	ret->size = TEXT_END - 0x3000;
	return REEL_CODE_ANONYMOUS;
}

/*
 * A function with a frame:
 *   00: 53              push %rbx
 *   01: 48 83 ec 20     sub $0x20,%rsp
 *   05: 31 db           xor %ebx,%ebx
 *   07: 75 fe           jne 07
 *   09: 48 83 c4 20     add $0x20,%rsp
 *   0d: 5b              pop %rbx
 *   0e: c3              ret
 */
#define FRAMED_CODE                                                                                \
	0x53, 0x48, 0x83, 0xec, 0x20, 0x31, 0xdb, 0x75, 0xfe, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3

#endif
