/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined calls and lines of some addresses, from DWARF (replay/dwarf/debug_info.c and
 * below) in a file whose sections come from the input: abbreviations, DIEs, strings, ranges, lines.
 */
#include "replay/dwarf/debug_info.h"
#include "tests/fuzz/elf_parts.h"

#define ADDRESSES 16

/* A checksum of all answers for an address. */
static uint64_t look_up(struct reel_debug_info *info, uint64_t address)
{
	const struct reel_debug_frame *frames;
	uint64_t begin, sum;
	size_t n;

	must(reel_debug_info_look_up(info, address, &frames, &n, &begin));
	sum = n * 31 + begin;
	for (size_t i = 0; i < n; i++) {
		sum = sum * 31 + frames[i].line + frames[i].column;
		sum = sum * 31 + strlen(frames[i].function) + strlen(frames[i].file);
	}
	return sum;
}

static void look_up_all(struct reel_elf_file *file, const uint64_t *addresses, size_t n)
{
	struct reel_debug_info *info;
	uint64_t sums[ADDRESSES];

	if (!fuzz_fine(reel_debug_info_open(file, file, NULL, &info)))
		return;
	for (size_t i = 0; i < n; i++)
		sums[i] = look_up(info, addresses[i]);
	/* Work counts against the limits once: a found function is found again. */
	for (size_t i = n; i-- > 0;)
		must_be(look_up(info, addresses[i]) == sums[i], "the same when asked again");
	reel_debug_info_split_problem(info);
	reel_debug_info_close(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		".debug_info",	  ".debug_abbrev", ".debug_line",     ".debug_line_str",
		".debug_str",	  ".debug_addr",   ".debug_rnglists", ".debug_str_offsets",
		".debug_aranges", ".debug_ranges",
	};
	struct elf_section sections[sizeof(names) / sizeof(*names)];
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_cursor input = reel_cursor(data, size);
	struct elf_form form = elf_form_of(reel_cursor_u8(&input), ET_DYN);
	size_t n = sizeof(names) / sizeof(*names), count;
	uint64_t addresses[ADDRESSES];
	struct reel_elf_file *file;

	count = reel_cursor_u8(&input) % (ADDRESSES + 1);
	for (size_t i = 0; i < count; i++)
		addresses[i] = reel_cursor_u32(&input) % (2 * FUZZ_TEXT_END);
	for (size_t i = 0; i < n; i++)
		sections[i] = (struct elf_section){
			.name = names[i],
			.type = SHT_PROGBITS,
			.bytes = fuzz_part(&input),
		};
	elf_of_sections(&form, sections, n, &bytes);
	must(reel_elf_file_open_memory(bytes.bytes, bytes.size, "fuzz", &file));
	look_up_all(file, addresses, count);
	reel_elf_file_close(file);
	return 0;
}
