/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of files with some hit addresses, as the recorder's helper makes them: from any file, the
 * image is readable, within its size limit, and only contains code bytes of the file.  Input:
 * flags, a count, and that many addresses of 4 bytes; then the file.
 */
#include "elf/embedded_code.h"
#include "elf/image/hit_image.h"
#include "cfi/module_cfi.h"
#include "tests/fuzz/fuzz.h"

#define HITS_MAX 16

static void check_code(const struct reel_elf_file *file, struct reel_elf_file *image)
{
	struct reel_loaded_bytes section = { 0 };
	struct reel_embedded_code code;

	if (!reel_elf_file_section(image, REEL_EMBEDDED_CODE, &section))
		return;
	must(reel_embedded_code_open((struct reel_bytes){ section.bytes, section.size },
				     reel_elf_file_big_endian(image), &code));
	for (size_t i = 0; i < code.n; i++) {
		const struct reel_embedded_piece *piece = &code.pieces[i];
		uint8_t byte;

		for (uint64_t j = 0; j < piece->size; j++)
			must_be(!piece->bytes[j] ||
					(reel_elf_file_read(file, piece->address + j, 1, &byte) &&
					 byte == piece->bytes[j]),
				"a byte of the file");
	}
	reel_embedded_code_free(&code);
}

static void check_image(const struct reel_elf_file *file, const struct reel_buffer *made)
{
	struct reel_elf_file *image;
	struct reel_cfi *cfi;
	const struct reel_arch *arch;

	must(reel_elf_file_open_embedded(made->bytes, made->size, "image", &image));
	arch = reel_arch_by_machine(reel_elf_file_machine(image), reel_elf_file_word_bits(image));
	must_be(arch != NULL, "an image of a known CPU");
	must(reel_module_cfi_create(image, NULL, arch, &cfi));
	check_code(file, image);
	reel_cfi_destroy(cfi);
	reel_elf_file_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	uint8_t flags = reel_cursor_u8(&input), n = reel_cursor_u8(&input) % (HITS_MAX + 1);
	const struct reel_hit_image_options options = {
		.no_symbols = flags & 1,
		.everything = flags & 2,
	};
	const size_t limit = flags & 4 ? 4096 : 1 << 20;
	struct reel_hit_imager *imager;
	struct reel_buffer image = { 0 };
	struct reel_elf_file *file;
	uint64_t hits[HITS_MAX];
	struct reel_bytes rest;

	for (uint8_t i = 0; i < n; i++) {
		uint32_t hit = reel_cursor_u32(&input);

		hits[i] = (hit & INT32_MAX) | (hit >> 31 ? REEL_HIT_IS_PC : 0);
	}
	rest = fuzz_rest(&input);
	if (!rest.size ||
	    !fuzz_fine(reel_elf_file_open_memory(rest.data, rest.size, "file", &file)))
		return 0;
	must(reel_hit_imager_create(file, &options, &imager));
	for (uint8_t part = flags & 8 ? n / 2 : n;; part = n) {
		image.size = 0;
		if (fuzz_fine(reel_hit_imager_make(imager, hits, part, limit, &image))) {
			must_be(image.size <= limit, "an image within its limit");
			check_image(file, &image);
		}
		if (part == n)
			break;
	}
	reel_hit_imager_destroy(imager);
	reel_buffer_free(&image);
	reel_elf_file_close(file);
	return 0;
}
