/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that -gsplit-dwarf adds (replay/dwarf/split_units.c, package.c): a program with
 * skeletons, and its package, or a .dwo, whose sections come from the input.
 */
#include "replay/dwarf/debug_info.h"
#include "tests/fuzz/elf_parts.h"

#define ADDRESSES 8

static void make_image(struct reel_cursor *input, const struct elf_form *form,
		       const char *const *names, struct reel_buffer *ret)
{
	struct elf_section sections[ELF_SECTIONS_MAX];
	size_t n = 0;

	for (; names[n]; n++)
		sections[n] = (struct elf_section){
			.name = names[n],
			.type = SHT_PROGBITS,
			.bytes = fuzz_part(input),
		};
	elf_of_sections(form, sections, n, ret);
}

/* Each is found again unchanged, although others were opened in between. */
static void look_up_all(struct reel_debug_info *info, const uint64_t *addresses, size_t n)
{
	uint64_t sums[2][ADDRESSES];

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			const struct reel_debug_frame *frames;
			uint64_t begin;
			size_t n_frames;

			if (!fuzz_fine(reel_debug_info_look_up(info, addresses[i], &frames,
							       &n_frames, &begin)))
				return; /* too much work */
			sums[pass][i] = n_frames * 31 + begin;
			for (size_t j = 0; j < n_frames; j++)
				sums[pass][i] = sums[pass][i] * 31 + strlen(frames[j].function) +
						strlen(frames[j].file) + frames[j].line;
		}
	}
	must_be(!memcmp(sums[0], sums[1], n * sizeof(**sums)), "the same when asked again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const skeletons[] = { ".debug_info",	  ".debug_abbrev",
						 ".debug_line",	  ".debug_str",
						 ".debug_addr",	  ".debug_rnglists",
						 ".debug_ranges", NULL };
	static const char *const split[] = { ".debug_info.dwo",
					     ".debug_abbrev.dwo",
					     ".debug_str.dwo",
					     ".debug_str_offsets.dwo",
					     ".debug_rnglists.dwo",
					     ".debug_cu_index",
					     NULL };
	static char path[32], other[40];
	const char *symfs[] = { "", NULL };
	const struct reel_capture_options options = { .symfs = symfs, .debug_dirs = symfs + 1 };
	_cleanup_buffer_ struct reel_buffer program = { 0 }, package = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	struct elf_form form = elf_form_of(reel_cursor_u8(&input), ET_DYN);
	uint64_t addresses[ADDRESSES];
	struct reel_module_search *search;
	struct reel_debug_info *info;
	struct reel_elf_file *file;
	FILE *stream;

	if (!path[0]) {
		snprintf(path, sizeof(path), "/tmp/fuzz_split.%d", getpid());
		snprintf(other, sizeof(other), "%s.dwp", path);
	}
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = reel_cursor_u32(&input) % (2 * FUZZ_TEXT_END);
	make_image(&input, &form, skeletons, &program);
	make_image(&input, &form, split, &package);
	/* A .dwo is found by the same name, if a skeleton has it. */
	stream = fopen(other, "wb");
	must_be(stream && fwrite(package.bytes, 1, package.size, stream) == package.size &&
			!fclose(stream),
		"a file");
	must(reel_module_search_create(&options, &search));
	must(reel_elf_file_open_memory(program.bytes, program.size, path, &file));
	if (fuzz_fine(reel_debug_info_open(file, file, search, &info))) {
		look_up_all(info, addresses, ADDRESSES);
		reel_debug_info_close(info);
	}
	reel_elf_file_close(file);
	reel_module_search_destroy(search);
	unlink(other);
	return 0;
}
