/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi/module_cfi.h"
#include "replay/dwarf/debug_parts.h"
#include "replay/dwarf/embedded_lines.h"
#include "replay/capture/capture.h"

/* CFI instructions per byte of an image: real ones take less than one. */
#define WORK_FREE  (1u << 20)
#define WORK_RATIO 64

/* Opening the image has checked code and constants. */
static struct reel_error *check_debug_info(struct reel_elf_file *file)
{
	static const char *const names[] = REEL_DEBUG_PARTS_NAMES;
	struct reel_section section;

	for (size_t i = 0; i < REEL_DEBUG_PARTS_MAX; i++)
		TRY(reel_elf_file_open_section(file, names[i], &section));
	return NULL;
}

static struct reel_error *check_lines(struct reel_elf_file *file)
{
	struct reel_loaded_bytes section;
	struct reel_embedded_lines *lines;

	if (!reel_elf_file_section(file, REEL_EMBEDDED_LINES, &section))
		return reel_elf_file_section_error(file);
	TRY(reel_embedded_lines_open((struct reel_bytes){ section.bytes, section.size }, &lines));
	reel_embedded_lines_close(lines);
	return NULL;
}

/* Checks every row of every FDE. */
static struct reel_error *check_rows(struct reel_cfi *cfi, const char *name, uint64_t work_left)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_row row;

	for (;;) {
		const char *problem = "malformed";

		switch (reel_cfi_next_row(cfi, &iterator, &row, &problem)) {
		case REEL_CFI_NONE:
			return NULL;
		case REEL_CFI_BAD:
			return reel_error_create(REEL_ERROR_CORRUPT, "%s: FDE at 0x%llx: %s", name,
						 (unsigned long long)row.fde_begin, problem);
		case REEL_CFI_SWITCHES:
		case REEL_CFI_FOUND:
			break;
		}
		if (row.work >= work_left)
			return reel_error_create(
				REEL_ERROR_CORRUPT,
				"%s: unwind information takes far too much work for its size",
				name);
		work_left -= row.work + 1;
	}
}

static struct reel_error *check_cfi(struct reel_elf_file *file, size_t size)
{
	const struct reel_arch *arch =
		reel_arch_by_machine(reel_elf_file_machine(file), reel_elf_file_word_bits(file));
	struct reel_cfi *cfi;
	struct reel_error *error;

	if (!arch)
		return NULL;
	TRY(reel_module_cfi_create(file, NULL, arch, &cfi));
	error = check_rows(cfi, reel_elf_file_path(file), WORK_FREE + WORK_RATIO * (uint64_t)size);
	reel_cfi_destroy(cfi);
	return error;
}

struct reel_error *reel_image_check(const struct reel_module *module)
{
	struct reel_elf_file *file;
	struct reel_error *error;

	if (!module->image)
		return NULL;
	TRY(reel_module_open_image(module, &file));
	error = check_cfi(file, module->image->size);
	if (!error)
		error = check_debug_info(file);
	if (!error)
		error = check_lines(file);
	reel_elf_file_close(file);
	return error;
}
