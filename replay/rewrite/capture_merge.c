/* SPDX-License-Identifier: Apache-2.0 */
/* Merges captures: collects them, orders them and finds their common properties.  Only one capture
 * is open at a time. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/output_file.h"
#include "base/sized.h"
#include "format/clock_text.h"
#include "replay/rewrite/merge.h"
#include "replay/rewrite/rewrite.h"

#define CLOCK_OF_THE_WALL 0
/* Limit of open data; many captures have few samples each, from many threads. */
#define BLOCK_EXPANDED ((uint64_t)8 << 20)

struct input {
	const char *path;
	uint64_t start_wall_time;
	char *hostname;
	uint8_t file_id[REEL_FILE_ID_SIZE];
	uint64_t size;
};

struct inputs {
	const struct reel_rewrite_options *options;
	struct reel_identities identities;
	struct input *all;
	size_t n;
	const struct reel_output_file *output; /* NULL: nameless */
	/* For the new capture; its strings are borrowed from `common`. */
	struct reel_record_capture capture;
	uint8_t *common[6];
	uint64_t size, done;
};

/* ---- opening -------------------------------------------------------------------------------- */

static bool is_output(const struct inputs *inputs, const struct reel_reader *reader)
{
	const struct reel_output_place *place = inputs->output ? &inputs->output->place : NULL;
	struct stat status;

	return place && place->exists && S_ISREG(place->status.st_mode) &&
	       !fstat(reel_reader_fd(reader), &status) && status.st_dev == place->status.st_dev &&
	       status.st_ino == place->status.st_ino;
}

static struct reel_error *check_reader(const struct inputs *inputs,
				       const struct reel_reader *reader)
{
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };

	if (is_output(inputs, reader))
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: output file is also an input file",
					 reel_reader_name(reader));
	if (inputs->identities.n && !reel_reader_was_encrypted(reader))
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: not encrypted, so it may come from anyone; omit "
					 "--identity to read it anyway",
					 reel_reader_name(reader));
	return reel_rewrite_recipients(reader, inputs->options, &recipients);
}

static struct reel_error *open_input(const struct inputs *inputs, const char *path,
				     struct reel_reader **ret)
{
	const struct reel_reader_options options = { .identities = &inputs->identities };
	_cleanup_reader_ struct reel_reader *reader = NULL;

	if (!strcmp(path, "-"))
		return reel_error_create(
			REEL_ERROR_INVALID,
			"cannot merge standard input: merging reads each capture twice");
	TRY(reel_reader_open(path, &options, &reader));
	TRY(check_reader(inputs, reader));
	*ret = reader;
	reader = NULL;
	return NULL;
}

/* ---- common properties ----------------------------------------------------------------------- */

static const size_t common_texts[] = {
	offsetof(struct reel_record_capture, hostname),
	offsetof(struct reel_record_capture, kernel_release),
	offsetof(struct reel_record_capture, kernel_version),
	offsetof(struct reel_record_capture, kernel_build_id),
	offsetof(struct reel_record_capture, tool_version),
	offsetof(struct reel_record_capture, command_line),
};

static struct reel_bytes *text_at(const struct reel_record_capture *capture, size_t offset)
{
	return (struct reel_bytes *)((uintptr_t)capture + offset);
}

static uint64_t common_number(uint64_t a, uint64_t b)
{
	return a == b ? a : 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct reel_error *set_common(struct inputs *inputs, const struct reel_record_capture *from)
{
	inputs->capture = *from;
	inputs->capture.clock = CLOCK_OF_THE_WALL;
	inputs->capture.part = 0;
	inputs->capture.recording = (struct reel_bytes){ 0 };
	for (size_t i = 0; i < sizeof(common_texts) / sizeof(*common_texts); i++) {
		struct reel_bytes *text = text_at(&inputs->capture, common_texts[i]);

		inputs->common[i] = malloc(text->size + 1);
		if (!inputs->common[i])
			return reel_error_no_memory();
		if (text->size)
			memcpy(inputs->common[i], text->data, text->size);
		text->data = inputs->common[i];
	}
	return NULL;
}

static void join(struct reel_record_capture *capture, const struct reel_record_capture *other)
{
	capture->page_size = common_number(capture->page_size, other->page_size);
	capture->ring_size = common_number(capture->ring_size, other->ring_size);
	capture->rings = common_number(capture->rings, other->rings);
	capture->cpus_possible = greater(capture->cpus_possible, other->cpus_possible);
	capture->cpus_online = greater(capture->cpus_online, other->cpus_online);
	capture->max_stack = greater(capture->max_stack, other->max_stack);
	if (other->start_wall_time < capture->start_wall_time)
		capture->start_wall_time = other->start_wall_time;
	for (size_t i = 0; i < sizeof(common_texts) / sizeof(*common_texts); i++) {
		struct reel_bytes *text = text_at(capture, common_texts[i]);

		if (!reel_bytes_are_equal(*text, *text_at(other, common_texts[i])))
			text->size = 0;
	}
}

static const char *order_name(uint64_t byte_order)
{
	return byte_order == REEL_BYTE_ORDER_BIG ? "big" : "little";
}

static struct reel_error *check_capture(const struct inputs *inputs, const char *path,
					const struct reel_record_capture *capture)
{
	const struct reel_record_capture *all = &inputs->capture;
	typedef unsigned long long ull;

	/* A time of 0 is unknown. */
	if (!capture->start_wall_time || capture->start_wall_time < capture->start_time)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: cannot merge: unknown start time, so its clock cannot be aligned",
			path);
	if (inputs->n &&
	    (capture->machine != all->machine || capture->word_bits != all->word_bits ||
	     capture->byte_order != all->byte_order))
		return reel_error_create(
			REEL_ERROR_INVALID,
			"cannot merge captures of different CPUs: %s is for ELF machine %llu, %llu "
			"bits, %s-endian, and %s for ELF machine %llu, %llu bits, %s-endian",
			path, (ull)capture->machine, (ull)capture->word_bits,
			order_name(capture->byte_order), inputs->all[0].path, (ull)all->machine,
			(ull)all->word_bits, order_name(all->byte_order));
	return NULL;
}

static struct reel_error *add_input(struct inputs *inputs, const struct reel_reader *reader,
				    const struct reel_record_capture *capture)
{
	const char *path = reel_reader_name(reader);
	struct input *input = &inputs->all[inputs->n];

	TRY(check_capture(inputs, path, capture));
	*input = (struct input){
		.path = path,
		.start_wall_time = capture->start_wall_time,
		.size = reel_reader_file_size(reader),
		.hostname = reel_text_print(
			"%.*s", (int)capture->hostname.size,
			capture->hostname.size ? (const char *)capture->hostname.data : ""),
	};
	if (!input->hostname)
		return reel_error_no_memory();
	memcpy(input->file_id, reel_reader_header(reader)->id, sizeof(input->file_id));
	inputs->size += input->size;
	if (!inputs->n++)
		return set_common(inputs, capture);
	join(&inputs->capture, capture);
	return NULL;
}

/* ---- passes over a capture's blocks --------------------------------------------------------- */

typedef struct reel_error *visit_item(void *context, struct reel_block_item *item);

/* Passes the block's items to `visit`; *damage_ret is the reason for an early end, or NULL. */
static struct reel_error *walk_block(struct reel_block_reader *block_reader,
				     const struct reel_block *block, visit_item *visit,
				     void *context, struct reel_error **damage_ret)
{
	struct reel_error *damage = reel_block_reader_load(block_reader, block);

	while (!damage) {
		struct reel_block_item item;

		damage = reel_block_reader_next(block_reader, &item);
		if (damage || item.kind == REEL_ITEM_END)
			break;
		TRY(visit(context, &item));
	}
	*damage_ret = damage;
	return NULL;
}

/* ---- the first pass ------------------------------------------------------------------------- */

struct search {
	struct inputs *inputs;
	const struct reel_reader *reader;
	bool found;
};

static struct reel_error *read_capture(void *context, struct reel_block_item *item)
{
	struct search *search = context;
	struct inputs *inputs = search->inputs;

	if (item->kind != REEL_ITEM_RECORD)
		return NULL;
	if (item->record.id != REEL_RECORD_CAPTURE || search->found)
		return NULL;
	search->found = true;
	return add_input(inputs, search->reader, &item->record.capture);
}

/* Finds the first CAPTURE record. */
static struct reel_error *find_capture(struct inputs *inputs, const struct reel_reader *reader)
{
	struct search search = { .inputs = inputs, .reader = reader };
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(reader, &n);

	TRY(reel_block_reader_create(reader, &block_reader));
	for (size_t i = 0; i < n && !search.found; i++) {
		_cleanup_error_ struct reel_error *damage = NULL; /* reported when it is copied */

		if (blocks[i].header.type == REEL_BLOCK_SIDE)
			TRY(walk_block(block_reader, &blocks[i], read_capture, &search, &damage));
	}
	if (search.found)
		return NULL;
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s: no readable CAPTURE record, so CPU and time are unknown",
				 reel_reader_name(reader));
}

static int compare_inputs(const void *a, const void *b)
{
	const struct input *x = a, *y = b;
	int order = strcmp(x->hostname, y->hostname);

	if (x->start_wall_time != y->start_wall_time)
		return x->start_wall_time < y->start_wall_time ? -1 : 1;
	return order ? order : memcmp(x->file_id, y->file_id, sizeof(x->file_id));
}

/* The order of the output does not depend on the order of `paths`. */
static struct reel_error *find_captures(struct inputs *inputs, const char *const *paths)
{
	size_t n = 0;

	while (paths[n])
		n++;
	inputs->all = calloc(n + 1, sizeof(*inputs->all));
	if (!inputs->all)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		_cleanup_reader_ struct reel_reader *reader = NULL;

		TRY(open_input(inputs, paths[i], &reader));
		TRY(find_capture(inputs, reader));
		inputs->all[i].path = paths[i]; /* the reader's copy is about to be freed */
	}
	if (!n)
		return reel_error_create(REEL_ERROR_INVALID, "no captures to merge");
	qsort(inputs->all, inputs->n, sizeof(*inputs->all), compare_inputs);
	return NULL;
}

static void inputs_free(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++)
		free(inputs->all[i].hostname);
	for (size_t i = 0; i < sizeof(common_texts) / sizeof(*common_texts); i++)
		free(inputs->common[i]);
	free(inputs->all);
	reel_identities_free(&inputs->identities);
}
#define _cleanup_inputs_ __attribute__((cleanup(inputs_free)))

/* ---- copying -------------------------------------------------------------------------------- */

static struct reel_error *report(struct reel_merge_copy *copy, struct reel_error *problem)
{
	const struct reel_rewrite_options *options = &copy->merge->options;

	if (!problem || reel_error_code(problem) == REEL_ERROR_NO_MEMORY)
		return problem;
	copy->merge->counts.problems++;
	if (options->problem)
		options->problem(options->context, copy->path, reel_error_message(problem));
	reel_error_destroy(problem);
	return NULL;
}

static struct reel_error *report_all(struct reel_merge_copy *copy,
				     const struct reel_problem *problems, size_t n)
{
	for (size_t i = 0; i < n; i++)
		TRY(report(copy, reel_error_create(problems[i].code, "%s", problems[i].message)));
	return NULL;
}

static struct reel_error *define(void *context, struct reel_block_item *item)
{
	struct reel_merge_copy *copy = context;

	if (item->kind != REEL_ITEM_RECORD)
		return NULL;
	if (item->record.id == REEL_RECORD_CAPTURE && copy->shift == UINT64_MAX)
		copy->shift =
			item->record.capture.start_wall_time - item->record.capture.start_time;
	return reel_merge_define(copy, &item->record);
}

/* The first CAPTURE record. */
static struct reel_error *define_origin(void *context, struct reel_block_item *item)
{
	struct reel_merge_copy *copy = context;

	if (item->kind != REEL_ITEM_RECORD)
		return NULL;
	if (item->record.id == REEL_RECORD_CAPTURE && !copy->own_origin)
		return reel_merge_define_origin(copy, &item->record.capture);
	return reel_merge_define_module(copy, &item->record);
}

static bool is_in_time(const struct reel_merge_copy *copy, uint64_t time)
{
	return time >= copy->from && time <= copy->to;
}

static struct reel_error *copy_unknown(struct reel_merge_copy *copy,
				       const struct reel_record_frame *frame)
{
	copy->merge->side_written += copy->block_type == REEL_BLOCK_SIDE;
	return reel_writer_copy(copy->merge->writer, copy->block_type, frame, NULL);
}

static void note_clock(struct reel_merge *merge, const struct reel_record_mark *mark)
{
	struct reel_clock_state state;

	if (mark->kind == REEL_MARK_CLOCK && reel_clock_text_parse(mark->text, &state) &&
	    state.error * 1000 > merge->counts.clock_error)
		merge->counts.clock_error = state.error * 1000;
}

static struct reel_error *copy_item(void *context, struct reel_block_item *item)
{
	struct reel_merge_copy *copy = context;

	switch (item->kind) {
	case REEL_ITEM_RECORD:
		copy->merge->counts.unknown += item->record.has_more;
		if (item->record.id == REEL_RECORD_MARK)
			note_clock(copy->merge, &item->record.mark);
		if ((item->record.id == REEL_RECORD_LOSS &&
		     !is_in_time(copy, item->record.loss.time)) ||
		    (item->record.id == REEL_RECORD_MARK &&
		     !is_in_time(copy, item->record.mark.time)))
			return NULL;
		return reel_merge_copy_record(copy, &item->record);
	case REEL_ITEM_SAMPLE:
		return is_in_time(copy, item->sample.time)
			       ? reel_merge_copy_sample(copy, &item->sample)
			       : NULL;
	case REEL_ITEM_UNKNOWN:
		if (reel_record_is_safe_to_copy(item->frame.id))
			return copy_unknown(copy, &item->frame);
		copy->merge->counts.unknown++;
		return NULL;
	default:
		return NULL;
	}
}

/* The first two passes, over side blocks; the last pass reports their damage. */
static struct reel_error *walk_side_blocks(struct reel_merge_copy *copy, visit_item *visit)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(copy->reader, &n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_error_ struct reel_error *damage = NULL;

		if (blocks[i].header.type == REEL_BLOCK_SIDE)
			TRY(walk_block(copy->block_reader, &blocks[i], visit, copy, &damage));
	}
	return NULL;
}

static struct reel_error *copy_blocks(struct reel_merge_copy *copy)
{
	size_t n, n_problems;
	const struct reel_block *blocks = reel_reader_blocks(copy->reader, &n);

	for (size_t i = 0; i < n; i++) {
		const struct reel_problem *problems;
		struct reel_error *damage = NULL, *error;

		if (blocks[i].header.type == REEL_BLOCK_INDEX ||
		    blocks[i].header.type == REEL_BLOCK_KEYS ||
		    (blocks[i].header.type == REEL_BLOCK_SAMPLES &&
		     !reel_block_overlaps(&blocks[i].header, copy->from, copy->to)))
			continue;
		copy->merge->counts.unknown += !reel_block_is_known(&blocks[i].header);
		copy->block_type = blocks[i].header.type;
		TRY(walk_block(copy->block_reader, &blocks[i], copy_item, copy, &damage));
		reel_end_counts_add_items(&copy->end_counts, copy->block_reader);
		problems = reel_block_reader_problems(copy->block_reader, &n_problems);
		error = report_all(copy, problems, n_problems);
		if (error) {
			reel_error_destroy(damage);
			return error;
		}
		TRY(report(copy, damage));
	}
	return NULL;
}

/* Records and samples missing according to its END count as missing in the new capture. */
static struct reel_error *check_end(struct reel_merge_copy *copy)
{
	struct reel_merge *merge = copy->merge;
	struct reel_end_counts *end_counts = &copy->end_counts;
	uint64_t time;

	reel_end_counts_add_blocks(end_counts, copy->reader);
	if (!end_counts->has_end) {
		merge->lacks_end = true;
		return reel_reader_has_trailer(copy->reader)
			       ? report(copy, reel_error_create(
						      REEL_ERROR_TRUNCATED,
						      "%s: file has a trailer, but no END record",
						      copy->path))
			       : NULL;
	}
	time = end_counts->end.time + copy->shift;
	if (time > merge->end_time)
		merge->end_time = time;
	TRY(report(copy, reel_end_counts_check_side(end_counts, copy->reader)));
	if (end_counts->end.blocks)
		merge->side_missing += end_counts->end.side_records - end_counts->side_records;
	/* Some blocks of samples were not read. */
	if (merge->options.from || merge->options.to)
		return NULL;
	TRY(report(copy, reel_end_counts_check_samples(end_counts, copy->reader)));
	if (end_counts->end.blocks)
		merge->samples_missing += end_counts->end.samples - end_counts->samples;
	return NULL;
}

static void set_times(struct reel_merge_copy *copy)
{
	uint64_t from = copy->merge->options.from, to = copy->merge->options.to;

	copy->from = from > copy->shift ? from - copy->shift : 0;
	copy->to = UINT64_MAX;
	if (to)
		copy->to = to > copy->shift ? to - copy->shift : 0;
}

static struct reel_error *copy_open(struct reel_merge_copy *copy)
{
	size_t n_problems;
	const struct reel_problem *problems = reel_reader_problems(copy->reader, &n_problems);

	TRY(report_all(copy, problems, n_problems));
	TRY(walk_side_blocks(copy, define));
	set_times(copy);
	TRY(walk_side_blocks(copy, define_origin));
	TRY(copy_blocks(copy));
	TRY(check_end(copy));
	return reel_merge_end_copy(copy);
}

static void copy_free(struct reel_merge_copy *copy)
{
	reel_block_reader_destroy(copy->block_reader);
	reel_reader_close(copy->reader);
	reel_id_map_free(&copy->events);
	reel_id_map_free(&copy->modules);
	reel_id_map_free(&copy->steps);
	reel_id_map_free(&copy->images);
	reel_id_map_free(&copy->image_sizes);
}
#define _cleanup_copy_ __attribute__((cleanup(copy_free)))

static struct reel_error *copy_input(struct reel_merge *merge, const struct inputs *inputs,
				     const struct input *input)
{
	_cleanup_copy_ struct reel_merge_copy copy = {
		.merge = merge,
		.path = input->path,
		.shift = UINT64_MAX,
		.first_origin_sample = UINT64_MAX,
	};

	TRY(open_input(inputs, input->path, &copy.reader));
	/* If a file was replaced meanwhile, do not mix the two. */
	if (memcmp(reel_reader_header(copy.reader)->id, input->file_id, sizeof(input->file_id)) !=
	    0)
		return reel_error_create(REEL_ERROR_INVALID, "%s: replaced while reading it",
					 input->path);
	TRY(reel_block_reader_create(copy.reader, &copy.block_reader));
	return copy_open(&copy);
}

static struct reel_error *copy_all(struct reel_merge *merge, struct inputs *inputs)
{
	const struct reel_rewrite_options *options = &merge->options;
	const struct reel_record capture = { .id = REEL_RECORD_CAPTURE,
					     .capture = inputs->capture };

	merge->side_written++;
	TRY(reel_writer_record(merge->writer, &capture));
	for (size_t i = 0; i < inputs->n; i++) {
		if (options->progress)
			options->progress(options->context, inputs->done, inputs->size);
		TRY(copy_input(merge, inputs, &inputs->all[i]));
		inputs->done += inputs->all[i].size;
	}
	return NULL;
}

static struct reel_error *write_end(struct reel_merge *merge)
{
	struct reel_record end = {
		.id = REEL_RECORD_END,
		.end = { .time = merge->end_time,
			 .reason = REEL_END_CONVERTED,
			 .samples = merge->counts.samples + merge->samples_missing,
			 .side_records = merge->side_written + 1 + merge->side_missing },
	};

	return merge->lacks_end ? NULL : reel_writer_record(merge->writer, &end);
}

static void count_all(struct reel_merge *merge)
{
	struct reel_writer_counts written = reel_writer_counts(merge->writer);
	size_t n;
	const struct reel_host_info *hosts = reel_origins_hosts(merge->hosts, &n);

	merge->counts.hosts = n;
	merge->counts.modules = merge->n_modules;
	merge->counts.captures = merge->n_files;
	for (size_t i = 0; i < n; i++)
		if (hosts[i].clock_change > merge->counts.clock_change)
			merge->counts.clock_change = hosts[i].clock_change;
	merge->counts.bytes_written = written.file_bytes;
	merge->counts.stack_bytes = written.stack_bytes;
}

static struct reel_error *write_merged(struct reel_merge *merge, struct inputs *inputs, int fd,
				       const char *output)
{
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };
	const struct reel_writer_options options = {
		.digest = true,
		.recipients = &recipients,
		.block_expanded = BLOCK_EXPANDED,
		.target = { .word_bits = (unsigned int)inputs->capture.word_bits,
			    .big_endian = inputs->capture.byte_order == REEL_BYTE_ORDER_BIG },
	};

	TRY(reel_public_keys_add_list(&recipients, merge->options.recipients));
	TRY(reel_writer_create(fd, output, &options, NULL, &merge->writer));
	TRY(copy_all(merge, inputs));
	TRY(write_end(merge));
	TRY(reel_writer_finish(merge->writer));
	TRY(reel_origins_seal(merge->hosts));
	count_all(merge);
	return NULL;
}

static struct reel_error *merge_into(struct reel_merge *merge, struct inputs *inputs,
				     const char *const *paths, int fd, const char *name)
{
	TRY(find_captures(inputs, paths));
	inputs->capture.start_time = inputs->capture.start_wall_time;
	return write_merged(merge, inputs, fd, name);
}

/* `fd` -1: creates the file `output`. */
static struct reel_error *merge_to(struct reel_merge *merge, struct inputs *inputs,
				   const char *const *paths, int fd, const char *output)
{
	const char *const *identities = merge->options.identities;
	struct reel_output_file file;

	for (size_t i = 0; identities && identities[i]; i++)
		TRY(reel_identities_load(&inputs->identities, identities[i]));
	if (fd >= 0)
		return merge_into(merge, inputs, paths, fd, output);
	TRY(reel_output_file_open(output, REEL_PLACE_PRIVATE, -1, &file));
	inputs->output = &file;
	return reel_output_file_close(&file, merge_into(merge, inputs, paths, file.fd, output));
}

static void merge_free(struct reel_merge *merge)
{
	reel_writer_destroy(merge->writer);
	reel_origins_destroy(merge->hosts);
	reel_contents_free(&merge->contents);
	reel_contents_free(&merge->files);
}
#define _cleanup_merge_ __attribute__((cleanup(merge_free)))

struct reel_error *reel_captures_merge_fd(const char *const *paths, int fd, const char *output,
					  const struct reel_rewrite_options *options,
					  struct reel_rewrite_counts *counts)
{
	_cleanup_merge_ struct reel_merge merge = { 0 };
	_cleanup_inputs_ struct inputs inputs = { .options = &merge.options };

	reel_sized_take(&merge.options, sizeof(merge.options), options);
	reel_contents_init(&merge.contents);
	reel_contents_init(&merge.files);
	TRY(reel_origins_create(&merge.hosts));
	TRY(merge_to(&merge, &inputs, paths, fd, output));
	merge.counts.bytes_read = inputs.size;
	reel_sized_give(counts, sizeof(*counts), &merge.counts);
	return NULL;
}

struct reel_error *reel_captures_merge(const char *const *paths, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts)
{
	return reel_captures_merge_fd(paths, -1, output, options, counts);
}
