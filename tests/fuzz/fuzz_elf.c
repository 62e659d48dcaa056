/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole ELF files: headers, segments, notes, links, sections (also compressed ones), as files and
 * as images in memory; and the recorder's own reader of headers and build-ids.
 */
#include "elf/elf_file.h"
#include "cfi/module_cfi.h"
#include "base/elf_identity.h"
#include "tests/fuzz/fuzz.h"

static const char *const names[] = { ".eh_frame",   ".eh_frame_hdr", ".debug_frame",
				     ".debug_info", ".debug_line",   ".debug_abbrev",
				     ".debug_str",  ".symtab",	     ".gnu_debuglink",
				     ".text" };

static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
	return crc32(0, bytes, (uInt)size);
}

static void read_sections(struct reel_elf_file *file)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct reel_loaded_bytes section;
		struct reel_section opened = { 0 };

		if (reel_elf_file_section(file, names[i], &section))
			sum_of(section.bytes, section.size);
		if (!fuzz_fine(reel_elf_file_open_section(file, names[i], &opened)))
			continue;
		if (opened.size && opened.size < 1 << 20) {
			const uint8_t *bytes = reel_section_need(&opened, 0, opened.size);

			if (bytes)
				sum_of(bytes, (size_t)opened.size);
			reel_section_string(&opened, opened.size / 2);
		}
		reel_section_close(&opened);
	}
}

static void read_addresses(const struct reel_elf_file *file)
{
	uint64_t begin, end, address;
	uint8_t bytes[16];

	reel_elf_file_text_range(file, &begin, &end);
	must_be(begin < end, "a range");
	for (uint64_t offset = 0; offset < 1 << 16; offset += 1 << 12)
		if (reel_elf_file_address_of_offset(file, offset, true, &address))
			reel_elf_file_read(file, address, sizeof(bytes), bytes);
	reel_elf_file_read(file, begin, sizeof(bytes), bytes);
	reel_elf_file_read(file, UINT64_MAX - 3, sizeof(bytes), bytes);
}

static void read_file(struct reel_elf_file *file)
{
	struct reel_bytes build_id = reel_elf_file_build_id(file);
	struct reel_cfi_input input;
	uint32_t crc;

	sum_of(build_id.data, build_id.size);
	reel_elf_file_debuglink(file, &crc);
	reel_elf_file_altlink(file, &build_id);
	read_addresses(file);
	read_sections(file);
	must(reel_module_cfi_input(file, &input));
	sum_of(input.eh_frame.bytes, input.eh_frame.size);
	sum_of(input.eh_frame_hdr.bytes, input.eh_frame_hdr.size);
	sum_of(input.debug_frame.bytes, input.debug_frame.size);
	sum_of(input.sframe.bytes, input.sframe.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file named;
	struct reel_build_id of_file, of_image;
	struct reel_elf_file *file;
	struct reel_elf_kind kind;

	fuzz_file_fill(&named, data, size);
	if (fuzz_fine(reel_elf_file_open(named.path, &file))) {
		bool packed = data[0] != 0x7f; /* the recorder reads no such files */

		must_be(packed || reel_elf_kind_of(data, size, &kind), "ELF for both readers");
		must_be(packed || (kind.machine == reel_elf_file_machine(file) &&
				   kind.word_bits == reel_elf_file_word_bits(file)),
			"of one CPU for both readers");
		read_file(file);
		reel_elf_file_close(file);
	}
	if (fuzz_fine(reel_elf_file_open_memory(data, size, "image", &file))) {
		read_file(file);
		reel_elf_file_close(file);
	}
	reel_build_id_of_file(named.fd, &of_file);
	reel_build_id_of_image(data, size, &of_image);
	must_be(reel_elf_image_size(data, size, size) <= size, "a size within the image");
	must_be(of_file.size <= sizeof(of_file.bytes) && of_image.size <= sizeof(of_image.bytes),
		"a build-id that fits");
	reel_build_id_of_notes(data, size, REEL_BYTE_ORDER_LITTLE, &of_image);
	reel_build_id_of_notes(data, size, REEL_BYTE_ORDER_BIG, &of_image);
	return 0;
}
