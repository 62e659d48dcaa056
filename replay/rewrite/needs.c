/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "format/schema.h"
#include "replay/rewrite/id_map.h"
#include "replay/rewrite/needs.h"

struct reel_needs {
	struct reel_capture *capture;
	uint64_t from, to;
	/* Needed ids.  The number of a space is the time when it was last needed, plus 1. */
	struct reel_id_map ids[REEL_ID_KINDS];
	struct reel_id_map jit_symbols, kernel_symbols; /* by symbol_key */
	/* Kernel modules whose symbols are needed. */
	struct reel_id_map kernel_modules;
	bool all_kernel_symbols; /* a symbol without a size ends at the next one */
};

struct reel_error *reel_needs_create(struct reel_capture *capture, uint64_t from, uint64_t to,
				     struct reel_needs **ret)
{
	struct reel_needs *needs = calloc(1, sizeof(*needs));

	if (!needs)
		return reel_error_no_memory();
	needs->capture = capture;
	needs->from = from;
	needs->to = to;
	*ret = needs;
	return NULL;
}

void reel_needs_destroy(struct reel_needs *needs)
{
	if (!needs)
		return;
	for (int i = 0; i < REEL_ID_KINDS; i++)
		reel_id_map_free(&needs->ids[i]);
	reel_id_map_free(&needs->jit_symbols);
	reel_id_map_free(&needs->kernel_symbols);
	reel_id_map_free(&needs->kernel_modules);
	free(needs);
}

static struct reel_error *mark(struct reel_id_map *map, uint64_t id)
{
	uint64_t *number;

	TRY(reel_id_map_get(map, id, &number));
	*number = 1;
	return NULL;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* Marks the spaces it was forked from, up to the fork: it began with their mappings. */
static struct reel_error *mark_space(struct reel_needs *needs, const struct reel_space_state *space,
				     uint64_t time)
{
	while (space) {
		uint64_t *until;
		bool is_new;

		TRY(reel_id_map_get(&needs->ids[REEL_ID_SPACE], space->id, &until));
		is_new = !*until;
		if (*until <= time)
			*until = time + (time < UINT64_MAX);
		if (!is_new || !space->forked)
			break;
		time = space->start;
		space = reel_timeline_space(needs->capture->timeline, space->parent);
	}
	return NULL;
}

static struct reel_error *mark_cgroup(struct reel_needs *needs,
				      const struct reel_space_state *space, uint64_t time)
{
	const struct reel_cgroup *cgroup =
		space ? reel_timeline_cgroup(needs->capture->timeline, space->id, time) : NULL;

	return cgroup ? mark(&needs->ids[REEL_ID_CGROUP], cgroup->id) : NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* JIT symbols: space, time and address.  Kernel: origin, since and address.  If two had the same
 * hash, a symbol too many would be copied. */
static uint64_t symbol_key(uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t parts[] = { a, b, c };

	return reel_bytes_hash(REEL_HASH_BEGIN,
			       (struct reel_bytes){ (const uint8_t *)parts, sizeof(parts) });
}

static uint64_t kernel_key(const struct reel_kernel_symbol *symbol)
{
	return symbol_key(symbol->origin, symbol->since, symbol->address);
}

static struct reel_error *mark_kernel(struct reel_needs *needs, const struct reel_sample *sample)
{
	const struct reel_kernel_symbol_map *symbols = needs->capture->kernel_symbols;
	const struct reel_origin_capture *origin =
		reel_origins_of_sample(needs->capture->origins, sample->id);

	for (size_t i = 0; i < 2 * sample->n_kernel_chain; i++) {
		/* Whether one byte less is looked up depends on the preceding address. */
		uint64_t address = sample->kernel_chain[i / 2] - i % 2;
		const struct reel_kernel_symbol *symbol = reel_kernel_symbol_map_find(
			symbols, origin ? origin->id : 0, address, sample->time);

		if (symbol)
			TRY(mark(&needs->kernel_symbols, kernel_key(symbol)));
	}
	return NULL;
}

static struct reel_error *mark_jit(struct reel_needs *needs, const struct reel_space_view *view,
				   uint64_t word, uint64_t code_mask)
{
	word &= ~code_mask;
	for (unsigned int i = 0; i < 2; i++) {
		const struct reel_jit_symbol *symbol = reel_space_view_jit_symbol(view, word - i);

		if (symbol)
			TRY(mark(&needs->jit_symbols,
				 symbol_key(symbol->space, symbol->time, symbol->address)));
	}
	return NULL;
}

static uint64_t word_at(const uint8_t *bytes, unsigned int size, bool big_endian)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < size; i++)
		word = word << 8 | bytes[big_endian ? i : size - 1 - i];
	return word;
}

static struct reel_error *mark_jit_region(struct reel_needs *needs,
					  const struct reel_space_view *view,
					  const struct reel_space_state *space,
					  const struct reel_region *region)
{
	const struct reel_capture *capture = needs->capture;
	unsigned int bits = space->word_bits ? (unsigned int)space->word_bits : capture->word_bits;
	bool big_endian = space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
					    : capture->info.big_endian;
	unsigned int size = bits / 8;

	/* An address at half a word is as likely to lead to a caller as any other. */
	for (size_t at = -region->address % (size / 2);
	     at < region->size && region->size - at >= size; at += size / 2)
		TRY(mark_jit(needs, view, word_at(region->bytes + at, size, big_endian),
			     space->code_mask));
	return NULL;
}

/* Marks all JIT code that its trace may contain. */
static struct reel_error *mark_jits(struct reel_needs *needs, const struct reel_sample *sample,
				    const struct reel_space_state *space)
{
	struct reel_space_view view =
		reel_timeline_view(needs->capture->timeline, space->id, sample->time);

	if (!view.moment)
		return NULL;
	TRY(mark_jit(needs, &view, sample->pc, space->code_mask));
	for (size_t i = 0; sample->layout && i < sample->layout->n_slots; i++)
		TRY(mark_jit(needs, &view, sample->values[i], space->code_mask));
	for (size_t i = 0; i < sample->n_frame_chain; i++)
		TRY(mark_jit(needs, &view, sample->frame_chain[i], space->code_mask));
	for (size_t i = 0; i < sample->n_regions; i++)
		TRY(mark_jit_region(needs, &view, space, &sample->regions[i]));
	return NULL;
}

/* ---- samples -------------------------------------------------------------------------------- */

struct reel_error *reel_needs_add(struct reel_needs *needs, const struct reel_sample *sample,
				  const struct reel_space_state *space)
{
	TRY(mark(&needs->ids[REEL_ID_THREAD], sample->thread));
	/* Its name is the process's. */
	if (space && space->main_thread)
		TRY(mark(&needs->ids[REEL_ID_THREAD], space->main_thread));
	if (sample->steps)
		TRY(mark(&needs->ids[REEL_ID_STEPS], sample->steps));
	for (size_t i = 0; i < sample->n_runtime_frames; i++)
		TRY(mark(&needs->ids[REEL_ID_FUNCTION], sample->runtime_frames[i].function));
	TRY(mark_kernel(needs, sample));
	TRY(mark_space(needs, space, sample->time));
	TRY(mark_cgroup(needs, space, sample->time));
	return space ? mark_jits(needs, sample, space) : NULL;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Other symbols locate the sections of a kernel module; the kernel is moved as a whole. */
static struct reel_error *mark_kernel_modules(struct reel_needs *needs)
{
	size_t n;
	const struct reel_kernel_symbol *all =
		reel_kernel_symbol_map_all(needs->capture->kernel_symbols, &n);

	for (size_t i = 0; i < n; i++) {
		const struct reel_record_module *module;

		needs->all_kernel_symbols |= !all[i].size;
		if (!reel_id_map_find(&needs->kernel_symbols, kernel_key(&all[i])))
			continue;
		TRY(mark(&needs->ids[REEL_ID_MODULE], all[i].module_id));
		module = reel_timeline_module(needs->capture->timeline, all[i].module_id);
		if (module && module->kind == REEL_MODULE_KERNEL_MODULE)
			TRY(mark(&needs->kernel_modules, all[i].module_id));
	}
	return NULL;
}

static bool needs_space(const struct reel_needs *needs, uint64_t id, uint64_t time)
{
	const uint64_t *until = reel_id_map_find(&needs->ids[REEL_ID_SPACE], id);

	return until && time < *until;
}

static bool is_text_start(struct reel_bytes name)
{
	return (name.size == 5 && !memcmp(name.data, "_text", 5)) ||
	       (name.size == 6 && !memcmp(name.data, "_stext", 6));
}

/* A record without a name marks the end of a symbol. */
static bool needs_kernel_symbol(const struct reel_needs *needs,
				const struct reel_record_kernel_symbol *symbol)
{
	return needs->all_kernel_symbols || !symbol->name.size || is_text_start(symbol->name) ||
	       reel_id_map_find(&needs->kernel_symbols,
				symbol_key(symbol->origin, symbol->since, symbol->address)) ||
	       reel_id_map_find(&needs->kernel_modules, symbol->module);
}

bool reel_needs_frame(const void *context, const struct reel_record_frame *frame)
{
	const struct reel_needs *needs = context;
	uint64_t id;
	enum reel_id_kind ids = reel_record_frame_subject(frame, &id);

	return !ids || reel_id_map_find(&needs->ids[ids], id);
}

static bool is_needed_map(const void *needs, const struct reel_record_frame *frame)
{
	return frame->id == REEL_RECORD_MAP && reel_needs_frame(needs, frame);
}

static struct reel_error *mark_modules(struct reel_needs *needs, const struct reel_block *block,
				       struct reel_block_reader *block_reader)
{
	struct reel_error *damage = reel_block_reader_load(block_reader, block);
	struct reel_block_item item;

	while (!damage) {
		damage = reel_block_reader_next(block_reader, &item);
		if (damage || item.kind == REEL_ITEM_END)
			break;
		if (item.kind != REEL_ITEM_RECORD || item.record.id != REEL_RECORD_MAP ||
		    !reel_needs_record(needs, &item.record))
			continue;
		TRY(mark(&needs->ids[REEL_ID_MODULE], item.record.map.module));
	}
	return reel_capture_end_block(needs->capture, block_reader, damage);
}

struct reel_error *reel_needs_seal(struct reel_needs *needs)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(needs->capture->reader, &n);

	TRY(mark_kernel_modules(needs));
	TRY(reel_block_reader_create(needs->capture->reader, &block_reader));
	reel_block_reader_choose(block_reader, is_needed_map, needs);
	/* Later mappings than the last sample are not needed. */
	for (size_t i = 0; i < n; i++)
		if (blocks[i].header.type == REEL_BLOCK_SIDE &&
		    reel_block_overlaps(&blocks[i].header, 0, needs->to))
			TRY(mark_modules(needs, &blocks[i], block_reader));
	return NULL;
}

static bool needs_module(const struct reel_needs *needs, const struct reel_record_module *module)
{
	/* The kernel's file also names addresses without a symbol. */
	return module->kind == REEL_MODULE_KERNEL ||
	       reel_id_map_find(&needs->ids[REEL_ID_MODULE], module->id) != NULL;
}

bool reel_needs_record(const struct reel_needs *needs, const struct reel_record *record)
{
	uint64_t id, time;
	enum reel_id_kind ids = reel_record_subject(record, &id);

	switch (record->id) {
	case REEL_RECORD_MODULE:
		return needs_module(needs, &record->module);
	case REEL_RECORD_SPACE: /* a later one may have its properties */
	case REEL_RECORD_SPACE_EXIT:
		return reel_id_map_find(&needs->ids[REEL_ID_SPACE], id);
	case REEL_RECORD_JIT_SYMBOL:
		return reel_id_map_find(
			&needs->jit_symbols,
			symbol_key(id, record->jit_symbol.time, record->jit_symbol.address));
	case REEL_RECORD_JIT_LINE:
		return reel_id_map_find(&needs->jit_symbols, symbol_key(id, record->jit_line.time,
									record->jit_line.function));
	case REEL_RECORD_KERNEL_SYMBOL:
		return needs_kernel_symbol(needs, &record->kernel_symbol);
	case REEL_RECORD_SPACE_CGROUP: /* others have no samples left */
		if (!reel_id_map_find(&needs->ids[REEL_ID_CGROUP], record->space_cgroup.cgroup))
			return false;
		break;
	case REEL_RECORD_LOSS:
		return record->loss.time >= needs->from && record->loss.time <= needs->to;
	case REEL_RECORD_MARK:
		return record->mark.time >= needs->from && record->mark.time <= needs->to;
	default:
		break;
	}
	if (ids == REEL_ID_SPACE && reel_record_time(record, &time))
		return needs_space(needs, id, time);
	return !ids || ids == REEL_ID_EVENT || ids == REEL_ID_ORIGIN ||
	       reel_id_map_find(&needs->ids[ids], id);
}
