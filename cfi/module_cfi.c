/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdlib.h>

#include "cfi/module_cfi.h"

/* binutils' include/elf/common.h; elf.h of glibc 2.42 and later has it. */
#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

/*
 * Finds .eh_frame by PT_GNU_EH_FRAME, for a file without section headers: the header's second field
 * points to it (LSB Core, 10.6.2).  Its size is not stored; a terminator ends it.
 */
static void find_eh_frame(const struct reel_elf_file *file, const struct reel_loaded_bytes *header,
			  struct reel_loaded_bytes *ret)
{
	enum { VERSION = 1, PCREL_SDATA4 = 0x1b, DATAREL_SDATA4 = 0x3b, UDATA4 = 0x03, ABSPTR = 0 };
	unsigned word = reel_elf_file_word_bits(file) / 8;
	bool big_endian = reel_elf_file_big_endian(file);
	uint64_t address;

	if (header->size < 4 + word || header->bytes[0] != VERSION)
		return;
	switch (header->bytes[1]) {
	case PCREL_SDATA4:
		address = header->address + 4 +
			  (uint64_t)(int32_t)reel_load_target(header->bytes + 4, 4, big_endian);
		break;
	case DATAREL_SDATA4:
		address = header->address +
			  (uint64_t)(int32_t)reel_load_target(header->bytes + 4, 4, big_endian);
		break;
	case UDATA4:
		address = reel_load_target(header->bytes + 4, 4, big_endian);
		break;
	case ABSPTR:
		address = reel_load_target(header->bytes + 4, word, big_endian);
		break;
	default:
		return;
	}
	if (word == 4)
		address &= UINT32_MAX;
	reel_elf_file_load(file, address, UINT64_MAX, ret);
}

/* DW_EH_PE_datarel is relative to DT_PLTGOT, as in libgcc's dl_iterate_phdr callback. */
static uint64_t find_data_base(const struct reel_elf_file *file)
{
	uint64_t base = 0;

	if (!reel_elf_file_dynamic(file, DT_PLTGOT, &base) &&
	    !reel_elf_file_section_address(file, ".got.plt", &base))
		reel_elf_file_section_address(file, ".got", &base);
	return base;
}

struct reel_error *reel_module_cfi_input(struct reel_elf_file *file, struct reel_cfi_input *ret)
{
	*ret = (struct reel_cfi_input){ .big_endian = reel_elf_file_big_endian(file) };
	reel_elf_file_section(file, ".eh_frame", &ret->eh_frame);
	reel_elf_file_section(file, ".eh_frame_hdr", &ret->eh_frame_hdr);
	reel_elf_file_section(file, ".debug_frame", &ret->debug_frame);
	reel_elf_file_section(file, ".sframe", &ret->sframe);
	if (!ret->sframe.size)
		reel_elf_file_segment(file, PT_GNU_SFRAME, &ret->sframe);
	if (!ret->eh_frame_hdr.size)
		reel_elf_file_segment(file, PT_GNU_EH_FRAME, &ret->eh_frame_hdr);
	if (!ret->eh_frame.size && ret->eh_frame_hdr.size && !reel_elf_file_is_debug_only(file))
		find_eh_frame(file, &ret->eh_frame_hdr, &ret->eh_frame);
	reel_elf_file_section_address(file, ".text", &ret->text_base);
	ret->data_base = find_data_base(file);
	ret->entry = reel_elf_file_entry(file);
	reel_elf_file_text_range(file, &ret->text_begin, &ret->text_end);
	return reel_elf_file_memory_error(file);
}

void reel_module_cfi_take(struct reel_cfi_input *input, struct reel_go_frames *go)
{
	if (!go->debug_frame.size)
		return;
	input->debug_frame = (struct reel_loaded_bytes){
		.bytes = go->debug_frame.bytes,
		.size = go->debug_frame.size,
	};
	input->owned = go->debug_frame.bytes;
	go->debug_frame = (struct reel_buffer){ 0 };
}

struct reel_error *reel_module_cfi_create(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_arch *arch, struct reel_cfi **ret)
{
	struct reel_cfi_input input = { 0 }, debug_input = { 0 };
	struct reel_error *error = reel_module_cfi_input(file, &input);
	struct reel_go_frames go = { 0 };

	if (!error && debug && !input.debug_frame.size) {
		error = reel_module_cfi_input(debug, &debug_input);
		input.debug_frame = debug_input.debug_frame;
	}
	input.arch = arch;
	if (!error)
		error = reel_go_frames_read(file, arch, !input.debug_frame.size, &go);
	if (!error)
		reel_module_cfi_take(&input, &go);
	if (!error)
		error = reel_cfi_create(&input, ret);
	if (!error && go.n_switches)
		error = reel_cfi_set_switches(*ret, go.switches, go.n_switches);
	reel_go_frames_free(&go);
	return error;
}

enum reel_symbol_reach reel_symbol_reach(const struct reel_symbol *symbol, uint64_t address,
					 struct reel_cfi *cfi)
{
	uint64_t begin, end;

	if (symbol->sized || symbol->address == address)
		return REEL_SYMBOL_REACHES;
	if (cfi && reel_cfi_function_at(cfi, address, &begin, &end))
		return symbol->address >= begin ? REEL_SYMBOL_REACHES : REEL_SYMBOL_ENDS_BEFORE;
	if (cfi && !reel_cfi_same_gap(cfi, symbol->address, address))
		return REEL_SYMBOL_ENDS_BEFORE;
	return REEL_SYMBOL_ASK_CODE;
}
