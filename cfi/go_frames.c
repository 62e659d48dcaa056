/* SPDX-License-Identifier: Apache-2.0 */
/* Go's cmd/link/internal/ld/dwarf.go (writeframes) makes the same FDEs from the same table. */
#include "cfi/go_frames.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "cfi/frame_writer.h"
#include "elf/go_table.h"
#include "elf/embedded_code.h"

struct maker {
	const struct reel_arch *arch;
	bool wants_debug_frame, is_short_of_memory;
	struct reel_go_frames *frames;
	struct frame_writer writer; /* of its debug_frame */
};

static bool has_link_register(const struct maker *maker)
{
	return maker->arch->flags & REEL_ARCH_LINK_REGISTER;
}

/* DWARF 5, 6.4.1.  Without a link register, the call has put the return address there. */
static void make_cie(struct maker *maker)
{
	struct reel_buffer *section = &maker->frames->debug_frame;
	uint8_t word = maker->arch->word_size;
	size_t begin = reel_frame_begin_entry(&maker->writer, UINT32_MAX);

	reel_buffer_u8(section, FRAME_CIE_VERSION);
	reel_buffer_u8(section, 0); /* augmentation */
	reel_buffer_uleb(section, 1);
	reel_buffer_u8(section, (uint8_t)(0x80 - word)); /* data alignment: -word, as SLEB128 */
	reel_buffer_uleb(section, maker->arch->return_column);
	reel_buffer_u8(section, DW_CFA_def_cfa);
	reel_buffer_uleb(section, maker->arch->sp);
	reel_buffer_uleb(section, has_link_register(maker) ? 0 : word);
	if (has_link_register(maker)) {
		reel_buffer_u8(section, DW_CFA_same_value);
		reel_buffer_uleb(section, maker->arch->return_column);
	} else {
		reel_buffer_u8(section, DW_CFA_offset_extended);
		reel_buffer_uleb(section, maker->arch->return_column);
		reel_buffer_uleb(section, 1);
	}
	reel_frame_end_entry(&maker->writer, begin);
}

/* The rules where sp is `depth` bytes below its value at entry: a link register was saved there. */
static void make_row(struct maker *maker, uint32_t depth)
{
	struct reel_buffer *section = &maker->frames->debug_frame;
	uint8_t word = maker->arch->word_size;

	reel_buffer_u8(section, DW_CFA_def_cfa_offset);
	reel_buffer_uleb(section, depth + (has_link_register(maker) ? 0 : word));
	if (!has_link_register(maker))
		return;
	reel_buffer_u8(section, depth ? DW_CFA_offset_extended : DW_CFA_same_value);
	reel_buffer_uleb(section, maker->arch->return_column);
	if (depth)
		reel_buffer_uleb(section, depth / word);
}

static void make_fde(struct maker *maker, const struct reel_go_code *code,
		     struct reel_go_depths *depths)
{
	struct reel_buffer *section = &maker->frames->debug_frame;
	size_t begin = reel_frame_begin_entry(&maker->writer, 0);
	uint64_t at = code->begin, end;
	int32_t depth;

	reel_frame_put(&maker->writer, maker->arch->word_size, code->begin);
	reel_frame_put(&maker->writer, maker->arch->word_size, code->end - code->begin);
	while (reel_go_depths_next(depths, &end, &depth)) {
		/* Go's assembler also counts bytes that a function pops without having pushed
		 * them. */
		if (depth >= 0)
			make_row(maker, (uint32_t)depth);
		if (end < code->end) {
			reel_buffer_u8(section, DW_CFA_advance_loc4);
			reel_frame_put(&maker->writer, 4, end - at);
		}
		at = end;
	}
	reel_frame_end_entry(&maker->writer, begin);
}

static void add_switch(struct maker *maker, uint64_t begin, uint64_t end)
{
	struct reel_go_frames *frames = maker->frames;

	if (reel_array_reserve(&frames->switches, frames->n_switches, &frames->switches_capacity,
			       sizeof(*frames->switches)))
		frames->switches[frames->n_switches++] = (struct reel_cfi_range){ begin, end };
	else
		maker->is_short_of_memory = true;
}

static void add_function(void *context, const struct reel_go_code *code,
			 struct reel_go_depths *depths)
{
	struct maker *maker = context;

	if (maker->wants_debug_frame)
		make_fde(maker, code, depths);
	if (code->switches)
		add_switch(maker, code->begin, code->end);
}

/* Pairs of numbers; searches would miss those out of order. */
static void read_embedded_switches(struct reel_elf_file *file, struct maker *maker)
{
	struct reel_loaded_bytes section;
	uint64_t last = 0;

	if (!reel_elf_file_section(file, REEL_EMBEDDED_SWITCHES, &section))
		return;
	for (size_t at = 0; section.size - at >= 16; at += 16) {
		uint64_t begin = reel_load_target(section.bytes + at, 8, maker->writer.big_endian);
		uint64_t end =
			reel_load_target(section.bytes + at + 8, 8, maker->writer.big_endian);

		if (begin < last || end < begin)
			return;
		add_switch(maker, begin, end);
		last = end;
	}
}

struct reel_error *reel_go_frames_read(struct reel_elf_file *file, const struct reel_arch *arch,
				       bool wants_debug_frame, struct reel_go_frames *ret)
{
	struct maker maker = {
		.arch = arch,
		.wants_debug_frame = wants_debug_frame,
		.frames = ret,
		.writer = { &ret->debug_frame, reel_elf_file_big_endian(file), arch->word_size },
	};
	struct reel_error *error = NULL;
	size_t empty;

	*ret = (struct reel_go_frames){ 0 };
	if (reel_elf_file_is_embedded(file))
		maker.wants_debug_frame = false;
	if (maker.wants_debug_frame)
		make_cie(&maker);
	empty = ret->debug_frame.size;
	if (reel_elf_file_is_embedded(file))
		read_embedded_switches(file, &maker);
	else
		error = reel_go_visit_code(file, add_function, &maker);
	if (!error && (maker.is_short_of_memory || ret->debug_frame.failed))
		error = reel_error_no_memory();
	if (error || ret->debug_frame.size == empty)
		ret->debug_frame.size = 0;
	if (error)
		reel_go_frames_free(ret);
	return error;
}

void reel_go_frames_free(struct reel_go_frames *frames)
{
	reel_buffer_free(&frames->debug_frame);
	free(frames->switches);
	*frames = (struct reel_go_frames){ 0 };
}
