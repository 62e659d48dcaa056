/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder's fast path compared with the slow one: every sample of every capture in testdata,
 * unchanged and damaged in ways that programs' frames never are.  Frames, stops and the final state
 * must be the same.  Numbers repeat in every run; FUZZ_SEED changes them.
 */
#include <ftw.h>

#include "replay/capture/capture.h"
#include "tests/support/mutate.h"
#include "tests/support/test.h"
#include "tests/support/unwind_compare.h"

/* Damaged forms of each sample. */
#define FORMS 2

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	return next_random(&random_state) % n;
}

/* ---- a sample, to be changed --------------------------------------------------------------- */

struct sample {
	const struct reel_arch *arch;
	struct reel_unwind_state state;
	struct reel_memory_region regions[REEL_REGIONS_MAX + 1];
	struct reel_memory_range missing[REEL_REGIONS_MAX + 1][4];
	uint8_t *bytes[REEL_REGIONS_MAX + 1];
	struct reel_memory_view memory;
	struct reel_unwind_input input;
};

static void take_region(struct sample *s, const struct reel_region *from)
{
	size_t n = s->memory.n_regions++;

	s->bytes[n] = malloc(from->size + 1);
	must_be(s->bytes[n] != NULL, "memory");
	memcpy(s->bytes[n], from->bytes, from->size);
	s->regions[n] = (struct reel_memory_region){
		.address = from->address,
		.size = from->size,
		.bytes = s->bytes[n],
		.missing = (const struct reel_memory_range *)from->missing,
		.n_missing = from->n_missing,
	};
}

static void take_sample(const struct reel_capture *capture, struct reel_code_map *map,
			const struct reel_sample *from, struct sample *ret)
{
	const struct reel_timeline *timeline = capture->timeline;
	uint64_t id = reel_timeline_thread_space(timeline, from->thread, from->time);
	const struct reel_space_state *space = reel_timeline_space(timeline, id);
	const struct reel_arch *arch =
		space && space->machine
			? reel_arch_by_machine((uint16_t)space->machine, (unsigned)space->word_bits)
			: reel_arch_by_machine(capture->machine, capture->word_bits);

	must_be(arch != NULL, "a CPU with a table");
	reel_code_map_set_space(map, reel_timeline_view(timeline, id, from->time), arch);
	*ret = (struct sample){ .arch = arch };
	ret->memory = (struct reel_memory_view){
		.regions = ret->regions,
		.big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
							 : capture->info.big_endian,
		.read_other = reel_code_map_read,
		.context = map,
	};
	for (size_t i = 0; i < from->n_regions; i++)
		take_region(ret, &from->regions[i]);
	ret->state = (struct reel_unwind_state){ .arch = arch, .pc = from->pc };
	for (size_t i = 0; i < from->layout->n_slots; i++) {
		uint8_t slot = reel_arch_slot(arch, from->layout->slots[i].dwarf);

		if (slot == REEL_ARCH_NO_SLOT || !(from->known[i / 8] >> i % 8 & 1))
			continue;
		ret->state.registers[slot] = from->values[i];
		ret->state.known |= (uint64_t)1 << slot;
	}
	ret->input = (struct reel_unwind_input){
		.arch = arch,
		.code_mask = space ? space->code_mask : 0,
		.find_code = reel_code_map_find_code,
		.context = map,
		.generation = map->view.generation,
		.after_syscall = from->where == REEL_WHERE_SYSCALL,
		.stack_cut = from->flags & REEL_SAMPLE_STACK_CUT,
	};
}

static void free_sample(struct sample *s)
{
	for (size_t i = 0; i < s->memory.n_regions; i++)
		free(s->bytes[i]);
}

/* ---- damaging it ----------------------------------------------------------------------------- */

static struct reel_memory_region *any_region(struct sample *s)
{
	return s->memory.n_regions ? &s->regions[random_below(s->memory.n_regions)] : NULL;
}

static uint8_t sp_slot(const struct sample *s)
{
	return reel_arch_slot(s->arch, s->arch->sp);
}

/*
 * Replaces a word of the stack by another word, an address near itself or sp, 0, or anything.
 */
static void spoil_word(struct sample *s)
{
	struct reel_memory_region *region = any_region(s);
	unsigned word = s->arch->word_size;
	size_t words = region ? (size_t)region->size / word : 0, at, near;
	uint64_t value = 0;
	uint8_t *bytes;

	if (!words)
		return;
	bytes = s->bytes[region - s->regions];
	/* Most relevant words are close to sp. */
	near = random_below(2) && words > 64 ? 64 : words;
	at = random_below(near);
	switch (random_below(5)) {
	case 0:
		memcpy(bytes + at * word, bytes + random_below(words) * word, word);
		return;
	case 1:
		value = region->address + at * word + 8 * random_below(64) - 256;
		break;
	case 2:
		value = s->state.pc + random_below(64) - 32;
		break;
	case 3:
		value = next_random(&random_state);
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < word; i++)
		bytes[at * word + (s->memory.big_endian ? word - 1 - i : i)] =
			(uint8_t)(value >> 8 * i);
}

static void spoil_register(struct sample *s)
{
	uint8_t slot = (uint8_t)random_below(s->arch->n_registers);
	struct reel_memory_region *region = any_region(s);

	if (random_below(3) == 0)
		slot = sp_slot(s);
	else if (random_below(2) == 0)
		slot = reel_arch_slot(s->arch, s->arch->fp);
	switch (random_below(4)) {
	case 0:
		s->state.known ^= (uint64_t)1 << slot;
		break;
	case 1:
		s->state.registers[slot] += 8 * random_below(32) - 128;
		break;
	case 2:
		if (region)
			s->state.registers[slot] = region->address + random_below(region->size + 1);
		break;
	default:
		s->state.registers[slot] = next_random(&random_state);
		break;
	}
}

static void spoil_missing(struct sample *s)
{
	struct reel_memory_region *region = any_region(s);
	struct reel_memory_range *missing;
	uint64_t at = 0;

	if (!region)
		return;
	missing = s->missing[region - s->regions];
	region->missing = missing;
	region->n_missing = 0;
	while (region->n_missing < 4) {
		uint64_t left = region->size - at, offset, size;

		if (left < 64)
			break;
		offset = at + random_below(left / 2);
		size = 1 + random_below(random_below(2) ? 8 : (left - left / 2) / 2);
		missing[region->n_missing++] = (struct reel_memory_range){ offset, size };
		at = offset + size;
	}
}

/*
 * A region ends or begins elsewhere; or an additional one overlaps it, or precedes it in the list.
 */
static void spoil_regions(struct sample *s)
{
	struct reel_memory_region *region = any_region(s), copy;
	size_t n = s->memory.n_regions;
	uint64_t cut;

	if (!region || region->size < 64)
		return;
	cut = random_below(region->size / 2);
	switch (random_below(4)) {
	case 0:
		region->size -= cut;
		return;
	case 1:
		region->address += cut / 8 * 8;
		return;
	case 2:
		region->address = UINT64_MAX - region->size + random_below(64);
		return;
	default:
		break;
	}
	if (n > REEL_REGIONS_MAX)
		return;
	copy = *region;
	s->bytes[n] = malloc(copy.size);
	must_be(s->bytes[n] != NULL, "memory");
	memset(s->bytes[n], (int)random_below(256), copy.size);
	copy.bytes = s->bytes[n];
	copy.missing = NULL;
	copy.n_missing = 0;
	copy.address += cut;
	s->regions[n] = copy;
	s->memory.n_regions++;
	if (random_below(2)) {
		uint8_t *bytes = s->bytes[0];

		s->bytes[0] = s->bytes[n];
		s->bytes[n] = bytes;
		copy = s->regions[0];
		s->regions[0] = s->regions[n];
		s->regions[n] = copy;
	}
}

static void spoil_pc(struct sample *s)
{
	if (random_below(2))
		s->state.pc += random_below(65) - 32;
	else
		s->state.pc = next_random(&random_state) >> random_below(64);
}

static void spoil_input(struct sample *s)
{
	s->input.after_syscall = random_below(2);
	s->input.no_frame_pointers = random_below(2);
	s->input.stack_cut = random_below(2);
	if (random_below(2))
		s->input.max_frames = 1 + random_below(12);
	if (random_below(4) == 0)
		s->input.code_mask = (uint64_t)0xff << 56;
}

static void spoil(struct sample *s)
{
	static void (*const paths[])(struct sample *) = {
		spoil_word,    spoil_word, spoil_word,	   spoil_register, spoil_missing,
		spoil_regions, spoil_pc,   spoil_register, spoil_input,
	};
	uint64_t n = 1 + random_below(4);

	while (n--)
		paths[random_below(sizeof(paths) / sizeof(paths[0]))](s);
}

/* ---- both paths ----------------------------------------------------------------------------- */

struct paths {
	struct reel_capture *capture;
	struct reel_code_map *map;
	struct reel_unwind_programs *programs[8];
	struct reel_unwind_cache *cache;
	struct reel_unwind_frames slow, frames;
	uint64_t samples, n_frames;
	uint64_t stops[REEL_STOP_COUNT];
};

static const struct reel_unwind_programs *programs_of(struct paths *paths,
						      const struct reel_arch *arch)
{
	size_t i = 0;

	while (reel_arch_all[i] != arch)
		i++;
	if (!paths->programs[i])
		must(reel_unwind_programs_create(arch, &paths->programs[i]));
	return paths->programs[i];
}

static void compare(struct paths *paths, const struct sample *s)
{
	const struct reel_unwind_programs *programs = programs_of(paths, s->arch);
	struct reel_unwind_state slow = s->state, state = s->state;
	struct reel_unwind_input input = s->input;
	enum reel_stop stop, short_stop;

	input.memory = slow.memory = state.memory = &s->memory;
	must(reel_unwind_trace(&input, programs, &slow, &paths->slow, &stop));
	input.cache = paths->cache;
	must(reel_unwind_trace(&input, programs, &state, &paths->frames, &short_stop));
	assert_int_equal(stop, short_stop);
	assert_true(same_frames(&paths->slow, &paths->frames));
	assert_true(same_state(&slow, &state));
	paths->samples++;
	paths->n_frames += paths->frames.n;
	paths->stops[stop]++;
}

static void compare_sample(struct paths *paths, const struct reel_sample *from)
{
	if (!from->layout || !from->n_regions)
		return;
	for (unsigned form = 0; form <= FORMS; form++) {
		struct sample s;

		take_sample(paths->capture, paths->map, from, &s);
		if (form)
			spoil(&s);
		compare(paths, &s);
		free_sample(&s);
	}
}

static void compare_capture(const char *path, const char *symfs, struct paths *paths)
{
	const char *const folders[] = { symfs, NULL };
	const REEL_SIZED(reel_capture_options, options, .symfs = folders,
			 .debug_dirs = (const char *const[]){ NULL }, .no_host_files = true);
	struct reel_block_reader *reader;
	const struct reel_block *blocks;
	size_t n_blocks;

	must(reel_capture_open(path, &options, &paths->capture));
	paths->map = calloc(1, sizeof(*paths->map));
	must_be(paths->map != NULL, "memory");
	paths->map->modules = paths->capture->modules;
	/* Generations belong to a timeline. */
	must(reel_unwind_cache_create(&paths->cache));
	must(reel_block_reader_create(paths->capture->reader, &reader));
	blocks = reel_reader_blocks(paths->capture->reader, &n_blocks);
	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;

		if (blocks[i].header.type != REEL_BLOCK_SAMPLES)
			continue;
		must(reel_block_reader_load(reader, &blocks[i]));
		do {
			must(reel_block_reader_next(reader, &item));
			if (item.kind == REEL_ITEM_SAMPLE)
				compare_sample(paths, &item.sample);
		} while (item.kind != REEL_ITEM_END);
	}
	must_be(!paths->map->error, "nothing that ran short");
	reel_block_reader_destroy(reader);
	reel_unwind_cache_destroy(paths->cache);
	reel_capture_close(paths->capture);
	free(paths->map);
}

/* ---- the captures --------------------------------------------------------------------------- */

static struct paths paths;
static const char *walk_symfs;
static size_t n_captures;

static int visit(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	size_t length = strlen(path);

	(void)status, (void)ftw;
	if (type == FTW_F && length > 5 && !strcmp(path + length - 5, ".reel")) {
		compare_capture(path, walk_symfs, &paths);
		n_captures++;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status, (void)type, (void)ftw;
	return remove(path);
}

static void compare_folder(const char *folder, const char *symfs, size_t min)
{
	random_state = number_of("FUZZ_SEED", 1);
	walk_symfs = symfs;
	n_captures = 0;
	paths = (struct paths){ 0 };
	assert_int_equal(nftw(folder, visit, 16, FTW_PHYS), 0);
	print_message(
		"%s: %zu captures, %llu samples, %llu frames; to the root %llu, to the end of "
		"the stack %llu, without unwind information %llu\n",
		folder, n_captures, (unsigned long long)paths.samples,
		(unsigned long long)paths.n_frames, (unsigned long long)paths.stops[REEL_STOP_ROOT],
		(unsigned long long)paths.stops[REEL_STOP_STACK_END],
		(unsigned long long)paths.stops[REEL_STOP_NO_UNWIND_INFO]);
	assert_true(n_captures >= min);
	/* Some were still usable, and some were not. */
	assert_true(paths.stops[REEL_STOP_ROOT] > paths.samples / 4);
	assert_true(paths.stops[REEL_STOP_ROOT] < paths.samples);
	for (size_t i = 0; i < sizeof(paths.programs) / sizeof(paths.programs[0]); i++)
		reel_unwind_programs_destroy(paths.programs[i]);
	reel_unwind_frames_free(&paths.slow);
	reel_unwind_frames_free(&paths.frames);
}

/* tests/matrix/unpack.sh needs python3. */
static void compare_chains(const char *cpu)
{
	char symfs[] = "/var/tmp/unwind-paths.XXXXXX", command[256], folder[64];

	must_be(mkdtemp(symfs) != NULL, "a folder to unpack in");
	snprintf(command, sizeof(command), "tests/matrix/unpack.sh %s %s", cpu, symfs);
	must_be(!system(command), "unpacked; run this from the project's root");
	snprintf(folder, sizeof(folder), "testdata/%s/chains", cpu);
	compare_folder(folder, symfs, 30);
	nftw(symfs, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST(test_x86_64)
{
	compare_chains("x86_64");
}

TEST(test_aarch64)
{
	compare_chains("aarch64");
	compare_folder("testdata/aarch64/orders", "testdata/aarch64/orders", 1);
}

TEST(test_riscv64)
{
	compare_chains("riscv64");
}

TEST(test_s390x)
{
	compare_chains("s390x");
}

TEST(test_i386)
{
	compare_folder("testdata/i386/orders", "testdata/i386/orders", 1);
}

RUN_TESTS()
