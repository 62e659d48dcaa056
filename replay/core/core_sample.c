/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a sample in a capture, and keeps its registers and memory. */
#include <stdlib.h>

#include "base/array.h"
#include "replay/core/core_state.h"

static struct reel_error *refuse(const struct reel_sample *sample, const char *reason)
{
	return reel_error_create(REEL_ERROR_INVALID, "sample %llu %s",
				 (unsigned long long)sample->id, reason);
}

static struct reel_error *check(const struct reel_sample *sample)
{
	if (sample->where == REEL_WHERE_KERNEL_THREAD)
		return refuse(sample, "is of a kernel thread, which has no user stack");
	if (reel_sample_is_resolved(sample))
		return refuse(sample, "is resolved: it has a finished trace instead of a stack");
	if (!sample->layout)
		return refuse(sample, "has no registers");
	if (!sample->n_regions)
		return refuse(sample, "has no stack");
	return NULL;
}

/* ---- registers ------------------------------------------------------------------------------ */

static void set_register(struct reel_core *core, uint16_t dwarf, uint64_t value)
{
	if (dwarf >= REEL_ARCH_DWARF_MAX)
		return;
	core->values[dwarf] = value;
	core->known[dwarf] = true;
}

static void copy_registers(struct reel_core *core, const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		if (sample->known[i / 8] >> i % 8 & 1)
			set_register(core, sample->layout->slots[i].dwarf, sample->values[i]);
	}
	set_register(core, core->arch->pc, sample->pc);
}

/* Of those that captures store: flags and the like are always missing. */
static struct reel_error *name_unknown_registers(struct reel_core *core)
{
	_cleanup_buffer_ struct reel_buffer names = { 0 };

	for (size_t i = 0; i < core->arch->n_registers; i++) {
		const struct reel_arch_register *reg = &core->arch->registers[i];

		if (core->known[reg->dwarf])
			continue;
		reel_buffer_append(&names, " ", names.size ? 1 : 0);
		reel_buffer_append(&names, reg->name, strlen(reg->name));
	}
	core->info.unknown_registers =
		names.failed ? NULL : reel_texts_add(core->texts, names.bytes, names.size);
	return core->info.unknown_registers ? NULL : reel_error_no_memory();
}

/* ---- memory --------------------------------------------------------------------------------- */

static struct reel_error *append_piece(struct reel_core *core, uint64_t address,
				       const uint8_t *bytes, uint64_t size)
{
	struct reel_core_piece piece = { .address = address, .size = size };

	TRY(REEL_FIT(core->pieces, core->n_pieces + 1, core->pieces_capacity));
	piece.bytes = malloc(size);
	if (!piece.bytes)
		return reel_error_no_memory();
	memcpy(piece.bytes, bytes, size);
	core->pieces[core->n_pieces++] = piece;
	return NULL;
}

struct reel_error *reel_core_add_piece(struct reel_core *core, size_t n_sorted, uint64_t address,
				       const uint8_t *bytes, uint64_t size)
{
	uint64_t at = address, end = address + size;
	size_t next = REEL_PARTITION_POINT(
		n_sorted, i, core->pieces[i].address + core->pieces[i].size <= address);

	if (end < address)
		return NULL;
	while (at < end) {
		uint64_t stop = end, after = end;

		if (next < n_sorted && core->pieces[next].address < end) {
			stop = core->pieces[next].address;
			after = stop + core->pieces[next].size;
			next++;
		}
		if (stop > at)
			TRY(append_piece(core, at, bytes + (at - address), stop - at));
		at = after;
	}
	return NULL;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct reel_core_piece *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void reel_core_sort_pieces(struct reel_core *core)
{
	if (core->n_pieces)
		qsort(core->pieces, core->n_pieces, sizeof(*core->pieces), compare_pieces);
}

/* Without the bytes that were not recorded. */
static struct reel_error *add_region(struct reel_core *core, const struct reel_region *region)
{
	size_t n_sorted = core->n_pieces;
	uint64_t at = 0;

	core->info.stack_bytes += region->size;
	for (size_t i = 0; i <= region->n_missing; i++) {
		bool is_last = i == region->n_missing;
		uint64_t stop = is_last ? region->size : region->missing[i].offset;

		if (stop > at)
			TRY(reel_core_add_piece(core, n_sorted, region->address + at,
						region->bytes + at, stop - at));
		if (is_last)
			break;
		at = stop + region->missing[i].size;
		core->info.missing_bytes += region->missing[i].size;
	}
	reel_core_sort_pieces(core);
	return NULL;
}

/* ---- the sample ----------------------------------------------------------------------------- */

static struct reel_error *set_space(struct reel_core *core, const struct reel_space_state *space)
{
	const struct reel_capture *capture = core->capture;
	uint16_t machine = capture->machine;
	unsigned word_bits = capture->word_bits;

	core->big_endian = capture->info.big_endian;
	if (space && space->machine) {
		machine = (uint16_t)space->machine;
		word_bits = (unsigned)space->word_bits;
	}
	if (space && space->byte_order)
		core->big_endian = space->byte_order == REEL_BYTE_ORDER_BIG;
	if (space) {
		core->code_mask = space->code_mask;
		core->data_mask = space->data_mask;
		core->vdso = space->vdso;
		core->info.pid = (uint32_t)space->pid;
	}
	core->arch = reel_arch_by_machine(machine, word_bits);
	core->layout = core->arch ? reel_core_layout_of(core->arch) : NULL;
	if (!core->layout)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the process runs on an unsupported CPU (ELF machine %u, "
					 "%u bits)",
					 machine, word_bits);
	core->info.arch = core->arch->name;
	return NULL;
}

static struct reel_error *copy_sample(struct reel_core *core, const struct reel_sample *sample,
				      uint64_t *space_ret)
{
	const struct reel_timeline *timeline = core->capture->timeline;
	const struct reel_thread_state *thread = reel_timeline_thread(timeline, sample->thread);

	*space_ret = reel_timeline_thread_space(timeline, sample->thread, sample->time);
	core->info.time = sample->time;
	core->info.tid = thread ? (uint32_t)thread->tid : 0;
	core->info.comm = reel_timeline_thread_comm(timeline, sample->thread, sample->time);
	core->info.pc = sample->pc;
	core->info.scrubbed = sample->flags & REEL_SAMPLE_SCRUBBED;
	core->info.stack_cut = sample->flags & REEL_SAMPLE_STACK_CUT;
	TRY(set_space(core, reel_timeline_space(timeline, *space_ret)));
	copy_registers(core, sample);
	TRY(name_unknown_registers(core));
	for (size_t i = 0; i < sample->n_regions; i++)
		TRY(add_region(core, &sample->regions[i]));
	return NULL;
}

/* Reads a block; *found_ret is set if it has the sample, which is then copied. */
static struct reel_error *search(struct reel_core *core, struct reel_block_reader *reader,
				 uint64_t id, bool *found_ret, uint64_t *space_ret)
{
	struct reel_block_item item;

	do {
		TRY(reel_block_reader_next(reader, &item));
		if (item.kind == REEL_ITEM_SAMPLE && item.sample.id == id) {
			*found_ret = true;
			TRY(check(&item.sample));
			return copy_sample(core, &item.sample, space_ret);
		}
	} while (item.kind != REEL_ITEM_END);
	return NULL;
}

struct reel_error *reel_core_read_sample(struct reel_core *core, uint64_t id, uint64_t *space_ret)
{
	_cleanup_block_reader_ struct reel_block_reader *reader = NULL;
	struct reel_capture *capture = core->capture;
	_cleanup_free_ const struct reel_block **blocks = NULL;
	size_t n;

	TRY(reel_capture_sample_blocks(capture, 0, UINT64_MAX, &blocks, &n));
	TRY(reel_block_reader_create(capture->reader, &reader));
	for (size_t i = 0; i < n; i++) {
		struct reel_error *error = reel_block_reader_load(reader, blocks[i]);
		bool found = false;

		if (!error)
			error = search(core, reader, id, &found, space_ret);
		if (found)
			return error;
		TRY(reel_capture_end_block(capture, reader, error));
		if (capture->options.progress)
			capture->options.progress(capture->options.progress_context,
						  blocks[i]->offset, capture->info.file_size);
	}
	return reel_error_create(REEL_ERROR_NOT_FOUND, "no sample %llu in the capture",
				 (unsigned long long)id);
}
