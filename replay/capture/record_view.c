/* SPDX-License-Identifier: Apache-2.0 */
/* Records as named fields: reel_capture_visit_records of include/commands.h. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/array.h"
#include "format/schema.h"
#include "replay/capture/capture.h"

/* Fields of the current record; reused for all records. */
struct view {
	struct reel_field *fields;
	size_t n, capacity;
};

/* Fields of a SAMPLE itself. */
#define SAMPLE_FIELDS 18

/* Room for `n` adjacent fields.  The caller has reserved enough for the whole record, so they never
 * move. */
static struct reel_field *append(struct view *view, size_t n)
{
	struct reel_field *fields = view->fields + view->n;

	view->n += n;
	return fields;
}

static struct reel_error *reserve(struct view *view, size_t n)
{
	view->n = 0;
	return REEL_FIT(view->fields, n, view->capacity);
}

static struct reel_field number(const char *name, uint64_t value)
{
	return (struct reel_field){ .name = name, .kind = REEL_FIELD_UNSIGNED, .value = value };
}

static struct reel_field address(const char *name, uint64_t value)
{
	return (struct reel_field){ .name = name, .kind = REEL_FIELD_ADDRESS, .value = value };
}

static struct reel_field none(const char *name)
{
	return (struct reel_field){ .name = name, .kind = REEL_FIELD_NULL };
}

static struct reel_field list(const char *name, const struct reel_field *items, size_t n)
{
	return (struct reel_field){
		.name = name, .kind = REEL_FIELD_LIST, .items = items, .n_items = n
	};
}

static struct reel_field object(const char *name, const struct reel_field *items, size_t n)
{
	return (struct reel_field){
		.name = name, .kind = REEL_FIELD_OBJECT, .items = items, .n_items = n
	};
}

static struct reel_error *view_record(struct view *view, const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	struct reel_field *fields;

	TRY(reserve(view, schema->n_fields));
	fields = append(view, schema->n_fields);
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];
		struct reel_bytes bytes;

		switch (field->kind) {
		case REEL_SCHEMA_NUMBER:
			fields[i] = number(field->name, reel_schema_number(field, record));
			continue;
		case REEL_SCHEMA_ADDRESS:
			fields[i] = address(field->name, reel_schema_number(field, record));
			continue;
		case REEL_SCHEMA_TEXT:
		case REEL_SCHEMA_BYTES:
			bytes = reel_schema_bytes(field, record);
			fields[i] = (struct reel_field){
				.name = field->name,
				.kind = field->kind == REEL_SCHEMA_TEXT ? REEL_FIELD_TEXT
									: REEL_FIELD_BYTES,
				.bytes = bytes.data,
				.n_bytes = bytes.size,
			};
		}
	}
	return NULL;
}

static struct reel_error *view_layout(struct view *view,
				      const struct reel_record_sample_layout *layout)
{
	struct reel_field *fields, *registers;

	TRY(reserve(view, 2 + 3 * layout->n_slots));
	fields = append(view, 2);
	registers = append(view, layout->n_slots);
	for (size_t i = 0; i < layout->n_slots; i++) {
		struct reel_field *pair = append(view, 2);

		pair[0] = number("", layout->slots[i].dwarf);
		pair[1] = number("", layout->slots[i].size);
		registers[i] = list("", pair, 2);
	}
	fields[0] = number("id", layout->id);
	fields[1] = list("registers", registers, layout->n_slots);
	return NULL;
}

static struct reel_field view_registers(struct view *view, const struct reel_sample *sample)
{
	size_t n = sample->layout ? sample->layout->n_slots : 0;
	struct reel_field *registers = append(view, n);

	for (size_t i = 0; i < n; i++) {
		struct reel_field *triple = append(view, 3);
		bool known = sample->known[i / 8] >> i % 8 & 1;

		triple[0] = number("", sample->layout->slots[i].dwarf);
		triple[1] = number("", sample->layout->slots[i].size);
		triple[2] = known ? address("", sample->values[i]) : none("");
		registers[i] = list("", triple, 3);
	}
	return list("registers", registers, n);
}

static struct reel_field view_missing(struct view *view, const struct reel_region *region)
{
	struct reel_field *ranges = append(view, region->n_missing);

	for (size_t i = 0; i < region->n_missing; i++) {
		struct reel_field *pair = append(view, 2);

		pair[0] = number("", region->missing[i].offset);
		pair[1] = number("", region->missing[i].size);
		ranges[i] = list("", pair, 2);
	}
	return list("missing", ranges, region->n_missing);
}

static struct reel_field view_regions(struct view *view, const struct reel_sample *sample)
{
	struct reel_field *regions = append(view, sample->n_regions);

	for (size_t i = 0; i < sample->n_regions; i++) {
		const struct reel_region *region = &sample->regions[i];
		struct reel_field *fields = append(view, 6);

		fields[0] = number("kind", region->kind);
		fields[1] = address("address", region->address);
		fields[2] = number("size", region->size);
		fields[3] = view_missing(view, region);
		fields[4] = number("crc", crc32_z(0, region->bytes, region->size));
		fields[5] = (struct reel_field){ .name = "bytes",
						 .kind = REEL_FIELD_BYTES,
						 .bytes = region->bytes,
						 .n_bytes = region->size };
		regions[i] = object("", fields, 6);
	}
	return list("regions", regions, sample->n_regions);
}

static struct reel_field view_chain(struct view *view, const char *name, const uint64_t *chain,
				    size_t n)
{
	struct reel_field *items = append(view, n);

	if (!n)
		return none(name);
	for (size_t i = 0; i < n; i++)
		items[i] = address("", chain[i]);
	return list(name, items, n);
}

#define KERNEL_FRAME_FIELDS 4

static struct reel_field view_kernel_frame(struct view *view, const struct reel_sample *sample)
{
	const struct reel_kernel_frame *frame = &sample->kernel_frame;
	struct reel_field *fields = append(view, KERNEL_FRAME_FIELDS);

	if (!sample->has_kernel_frame)
		return none("kernel_frame");
	fields[0] = address("pc", frame->pc);
	fields[1] = address("sp", frame->sp);
	fields[2] = address("fp", frame->fp);
	fields[3] = address("return_address", frame->return_address);
	return object("kernel_frame", fields, KERNEL_FRAME_FIELDS);
}

static struct reel_field view_label(const struct reel_sample_label *label)
{
	switch (label->kind) {
	case REEL_LABEL_TEXT:
		return (struct reel_field){ .name = "",
					    .kind = REEL_FIELD_TEXT,
					    .bytes = label->text.data,
					    .n_bytes = label->text.size };
	case REEL_LABEL_ADDRESS:
		return address("", label->number);
	default:
		return number("", label->number);
	}
}

/* Pairs of a key and a value. */
static struct reel_field view_labels(struct view *view, const struct reel_sample *sample)
{
	struct reel_field *labels = append(view, sample->n_labels);

	for (size_t i = 0; i < sample->n_labels; i++) {
		struct reel_field *pair = append(view, 2);

		pair[0] = number("", sample->labels[i].key);
		pair[1] = view_label(&sample->labels[i]);
		labels[i] = list("", pair, 2);
	}
	return sample->n_labels ? list("labels", labels, sample->n_labels) : none("labels");
}

#define RUNTIME_FIELDS 3
#define FRAME_FIELDS   4

static struct reel_field view_runtime_frames(struct view *view, const struct reel_sample *sample)
{
	struct reel_field *fields = append(view, RUNTIME_FIELDS);
	struct reel_field *frames = append(view, sample->n_runtime_frames);

	if (!sample->n_runtime_frames)
		return none("runtime_frames");
	for (size_t i = 0; i < sample->n_runtime_frames; i++) {
		const struct reel_runtime_frame *frame = &sample->runtime_frames[i];
		struct reel_field *parts = append(view, FRAME_FIELDS);

		parts[0] = number("", frame->function);
		parts[1] = number("", frame->position);
		parts[2] = number("", frame->is_entry);
		parts[3] = address("", frame->native);
		frames[i] = list("", parts, FRAME_FIELDS);
	}
	fields[0] = number("runtime", sample->runtime);
	fields[1] = number("cut", sample->runtime_cut);
	fields[2] = list("frames", frames, sample->n_runtime_frames);
	return object("runtime_frames", fields, RUNTIME_FIELDS);
}

static size_t count_sample_fields(const struct reel_sample *sample)
{
	size_t n = SAMPLE_FIELDS + KERNEL_FRAME_FIELDS + sample->n_kernel_chain +
		   sample->n_frame_chain;

	n += sample->layout ? 4 * sample->layout->n_slots : 0;
	n += 3 * sample->n_labels;
	n += RUNTIME_FIELDS + (1 + FRAME_FIELDS) * sample->n_runtime_frames;
	for (size_t i = 0; i < sample->n_regions; i++)
		n += 7 + 3 * sample->regions[i].n_missing;
	return n;
}

static struct reel_error *view_sample(struct view *view, const struct reel_sample *sample,
				      size_t *n_ret)
{
	struct reel_field *fields;
	size_t n = 0;

	TRY(reserve(view, count_sample_fields(sample)));
	fields = append(view, SAMPLE_FIELDS);
	fields[n++] = number("id", sample->id);
	fields[n++] = number("time", sample->time);
	fields[n++] = number("thread", sample->thread);
	fields[n++] = number("cpu", sample->cpu);
	fields[n++] = number("event", sample->event);
	fields[n++] = number("weight", sample->weight);
	fields[n++] = number("where", sample->where);
	fields[n++] = number("flags", sample->flags);
	fields[n++] = number("steps", sample->steps);
	fields[n++] = address("pc", sample->pc);
	fields[n++] = sample->layout ? number("layout", sample->layout->id) : none("layout");
	fields[n++] = view_registers(view, sample);
	fields[n++] = view_regions(view, sample);
	fields[n++] =
		view_chain(view, "kernel_chain", sample->kernel_chain, sample->n_kernel_chain);
	fields[n++] = view_chain(view, "frame_chain", sample->frame_chain, sample->n_frame_chain);
	fields[n++] = view_kernel_frame(view, sample);
	fields[n++] = view_labels(view, sample);
	fields[n++] = view_runtime_frames(view, sample);
	*n_ret = n;
	return NULL;
}

static struct reel_error *view_unknown(struct view *view, const struct reel_record_frame *frame)
{
	TRY(reserve(view, 1));
	*append(view, 1) = number("size", (uint64_t)(frame->payload.end - frame->payload.start));
	return NULL;
}

static struct reel_error *view_item(struct view *view, const struct reel_block_item *item,
				    struct reel_record_view *ret)
{
	struct reel_error *error;

	switch (item->kind) {
	case REEL_ITEM_RECORD:
		error = view_record(view, &item->record);
		ret->n_fields = view->n;
		break;
	case REEL_ITEM_LAYOUT:
		error = view_layout(view, item->layout);
		ret->n_fields = 2;
		break;
	case REEL_ITEM_SAMPLE:
		error = view_sample(view, &item->sample, &ret->n_fields);
		break;
	default:
		error = view_unknown(view, &item->frame);
		ret->n_fields = 1;
		break;
	}
	ret->fields = view->fields;
	return error;
}

static struct reel_error *visit_records(struct reel_capture *capture, bool only_side,
					bool (*visit)(void *context,
						      const struct reel_record_view *record),
					void *context)
{
	struct reel_block_reader *block_reader;
	struct view view = { 0 };
	struct reel_error *error = NULL;
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);
	uint64_t n_samples = 0;
	bool go_on = true;

	TRY(reel_block_reader_create(capture->reader, &block_reader));
	for (size_t i = 0; i < n_blocks && go_on && !error; i++) {
		if (only_side && blocks[i].header.type == REEL_BLOCK_SAMPLES)
			continue;
		error = reel_block_reader_load(block_reader, &blocks[i]);
		while (!error && go_on) {
			struct reel_record_view record = {
				.block_offset = blocks[i].offset,
				.block_sequence = blocks[i].header.sequence,
			};
			struct reel_block_item item;
			char unknown[32];

			error = reel_block_reader_next(block_reader, &item);
			if (error || item.kind == REEL_ITEM_END)
				break;
			/* Samples packed in one record are shown as separate records. */
			record.name = item.kind == REEL_ITEM_SAMPLE
					      ? "SAMPLE"
					      : reel_record_name(item.frame.id);
			if (!record.name) {
				snprintf(unknown, sizeof(unknown), "unknown-%llu",
					 (unsigned long long)item.frame.id);
				record.name = unknown;
			}
			error = view_item(&view, &item, &record);
			if (!error)
				go_on = visit(context, &record);
		}
		n_samples += reel_block_reader_counts(block_reader).samples;
		error = reel_capture_end_block(capture, block_reader, error);
	}
	if (!error && go_on && !only_side)
		error = reel_capture_check_samples(capture, n_samples);
	reel_block_reader_destroy(block_reader);
	free(view.fields);
	return error;
}

struct reel_error *reel_capture_visit_records(struct reel_capture *capture,
					      bool (*visit)(void *context,
							    const struct reel_record_view *record),
					      void *context)
{
	return visit_records(capture, false, visit, context);
}

struct reel_error *reel_capture_visit_side_records(
	struct reel_capture *capture,
	bool (*visit)(void *context, const struct reel_record_view *record), void *context)
{
	return visit_records(capture, true, visit, context);
}
