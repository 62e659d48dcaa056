/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a capture: reads all side blocks, so that samples can be placed at any time. */
#include <stdlib.h>

#include "base/array.h"
#include "format/schema.h"
#include "base/sized.h"
#include "replay/capture/capture.h"
#include "replay/capture/sampled.h"
#include "format/timeline/space.h"

/* A path and a build-id take more bytes than this. */
#define MODULES_FREE	65536
#define MODULE_SIZE_MIN 16
/* Equal code in many processes takes few bytes of the file, but is kept for each. */
#define CODE_FREE  ((uint64_t)64 << 20)
#define CODE_RATIO 16
/* Likewise for kernel modules and BPF programs loaded during the recording. */
#define SYMBOL_TIMES_FREE 65536
#define SYMBOL_TIME_SIZE  16
/* With samples_max: blocks with this many bytes take a tenth of a second.  BLOCKS_MIN are read in
 * any case. */
#define BLOCKS_COST_MAX ((uint64_t)64 << 20)
#define BLOCKS_MIN	4
#define BLOCKS_MAX	16

/* Call with the lock held; returns NO_MEMORY or NULL. */
static struct reel_error *add_problem(struct reel_capture *capture, enum reel_error_code code,
				      const char *message)
{
	if (capture->n_problems == REEL_PROBLEMS_MAX)
		message = "further problems are not listed";
	message = reel_texts_add_string(capture->texts, message);
	if (!message)
		return reel_error_no_memory();
	/* Reading a block again gives the same problems. */
	for (size_t i = 0; i < capture->n_problems; i++)
		if (capture->problems[i].message == message)
			return NULL;
	if (capture->n_problems <= REEL_PROBLEMS_MAX)
		capture->problems[capture->n_problems++] =
			(struct reel_capture_problem){ code, message };
	return NULL;
}

struct reel_error *reel_capture_add_problem(struct reel_capture *capture,
					    struct reel_error *problem)
{
	struct reel_error *error;

	if (reel_error_code(problem) == REEL_ERROR_NO_MEMORY)
		return problem;
	pthread_mutex_lock(&capture->lock);
	error = add_problem(capture, reel_error_code(problem), reel_error_message(problem));
	pthread_mutex_unlock(&capture->lock);
	reel_error_destroy(problem);
	return error;
}

static struct reel_error *add_problems(struct reel_capture *capture,
				       const struct reel_problem *problems, size_t n)
{
	for (size_t i = 0; i < n; i++)
		TRY(reel_capture_add_problem(
			capture, reel_error_create(problems[i].code, "%s", problems[i].message)));
	return NULL;
}

struct reel_error *reel_capture_end_block(struct reel_capture *capture,
					  const struct reel_block_reader *block_reader,
					  struct reel_error *error)
{
	size_t n;
	const struct reel_problem *problems = reel_block_reader_problems(block_reader, &n);
	struct reel_error *problem = add_problems(capture, problems, n);

	if (problem) {
		reel_error_destroy(error);
		return problem;
	}
	return error ? reel_capture_add_problem(capture, error) : NULL;
}

struct reel_error *reel_capture_check_samples(struct reel_capture *capture, uint64_t samples)
{
	struct reel_end_counts end_counts = capture->end_counts;
	struct reel_error *problem;

	end_counts.samples = samples;
	problem = reel_end_counts_check_samples(&end_counts, capture->reader);
	return problem ? reel_capture_add_problem(capture, problem) : NULL;
}

static struct reel_error *intern(struct reel_capture *capture, struct reel_bytes bytes,
				 const char **ret)
{
	*ret = reel_texts_add(capture->texts, bytes.data, bytes.size);
	return *ret ? NULL : reel_error_no_memory();
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("_-./=:,+@%", c);
}

/* Quotes NUL-terminated arguments for a shell. */
static struct reel_error *command_line_text(struct reel_capture *capture, struct reel_bytes bytes,
					    const char **ret)
{
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	const char *at = (const char *)bytes.data, *end = at + bytes.size;

	while (at < end) {
		size_t size = strnlen(at, (size_t)(end - at));
		bool plain = size > 0;

		for (size_t i = 0; i < size; i++)
			plain = plain && is_plain(at[i]);
		if (text.size)
			reel_buffer_u8(&text, ' ');
		if (!plain)
			reel_buffer_u8(&text, '\'');
		for (size_t i = 0; i < size; i++) {
			if (at[i] == '\'')
				reel_buffer_append(&text, "'\\''", 4);
			else
				reel_buffer_u8(&text, (uint8_t)at[i]);
		}
		if (!plain)
			reel_buffer_u8(&text, '\'');
		at += size + 1;
	}
	if (text.failed)
		return reel_error_no_memory();
	return intern(capture, (struct reel_bytes){ text.bytes, text.size }, ret);
}

static struct reel_error *set_capture(struct reel_capture *capture,
				      const struct reel_record_capture *record)
{
	struct reel_capture_info *info = &capture->info;
	const struct reel_arch *arch;

	if (capture->has_capture_record)
		return NULL;
	capture->has_capture_record = true;
	capture->machine = (uint16_t)record->machine;
	capture->word_bits = (unsigned)record->word_bits;
	arch = reel_arch_by_machine(capture->machine, capture->word_bits);
	info->arch = arch ? arch->name : "unknown";
	info->big_endian = record->byte_order == REEL_BYTE_ORDER_BIG;
	info->page_size = (uint32_t)record->page_size;
	info->cpus = (uint32_t)record->cpus_online;
	info->start_time = record->start_time;
	info->start_wall_time = record->start_wall_time;
	info->max_stack = record->max_stack;
	TRY(intern(capture, record->hostname, &info->hostname));
	TRY(intern(capture, record->kernel_release, &info->kernel_release));
	TRY(intern(capture, record->tool_version, &info->tool_version));
	TRY(command_line_text(capture, record->command_line, &info->command_line));
	info->kernel_build_id = reel_texts_add_hex(capture->texts, record->kernel_build_id);
	return info->kernel_build_id ? NULL : reel_error_no_memory();
}

static const char *waits_found_at(const struct reel_record_event *record)
{
	uint64_t waits = record->waits;

	if (!waits && record->perf_type == UINT32_MAX &&
	    reel_bytes_are_equal(record->name, reel_bytes_of_string("off-cpu")))
		waits = record->perf_config;
	switch (waits) {
	case REEL_WAITS_SCHED_EXIT:
		return "sched_exit_tp";
	case REEL_WAITS_FINISH_TASK_SWITCH:
		return "finish_task_switch";
	case REEL_WAITS_PROCESS_VM_READV:
		return "process_vm_readv";
	default:
		return NULL;
	}
}

static struct reel_error *add_value_keys(struct reel_capture *capture,
					 const struct reel_record_event *record)
{
	struct reel_value_keys *keys;

	/* The first record of an id is used. */
	if (!record->value_names.size || reel_id_table_find(&capture->value_keys, record->id))
		return NULL;
	keys = reel_id_table_add(&capture->value_keys, record->id, sizeof(*keys));
	if (!keys)
		return reel_error_no_memory();
	return reel_value_keys_make(capture->texts, record->value_names, keys);
}

static struct reel_error *add_event(struct reel_capture *capture,
				    const struct reel_record_event *record)
{
	struct reel_event_info event = {
		.size = sizeof(event),
		.id = (uint32_t)record->id,
		.weight_unit = record->weight_unit == REEL_WEIGHT_NANOSECONDS ? "ns" : "",
		.frequency = record->frequency,
		.period = record->period,
		.waits_found_at = waits_found_at(record),
	};

	TRY(intern(capture, record->name, &event.name));
	TRY(add_value_keys(capture, record));
	return REEL_APPEND(capture->events, capture->n_events, capture->events_capacity, event);
}

static struct reel_error *add_loss(struct reel_capture *capture,
				   const struct reel_record_loss *record)
{
	return REEL_APPEND(capture->losses, capture->n_losses, capture->losses_capacity,
			   (struct reel_loss_info){
				   .cpu = (uint32_t)record->cpu,
				   .cause = reel_loss_of(record->cause),
				   .count = record->count,
			   });
}

static struct reel_error *add_mark(struct reel_capture *capture,
				   const struct reel_record_mark *record)
{
	struct reel_mark_info mark = { .time = record->time, .kind = record->kind };

	TRY(intern(capture, record->text, &mark.text));
	return REEL_APPEND(capture->marks, capture->n_marks, capture->marks_capacity, mark);
}

/* The problem of a limit, when it is reached first. */
static struct reel_error *exceed(bool *lacks, const char *what)
{
	if (*lacks)
		return NULL;
	*lacks = true;
	return reel_error_create(REEL_ERROR_CORRUPT,
				 "%s for a file of this size: ignoring the rest", what);
}

static struct reel_error *add_module(struct reel_capture *capture, const struct reel_record *record)
{
	if (capture->modules_left) {
		capture->modules_left--;
		return reel_timeline_add(capture->timeline, record);
	}
	return exceed(&capture->lacks_modules, "too many MODULE records");
}

static struct reel_error *add_code(struct reel_capture *capture, const struct reel_record *record)
{
	if (record->code.bytes.size <= capture->code_left) {
		capture->code_left -= record->code.bytes.size;
		return reel_timeline_add(capture->timeline, record);
	}
	return exceed(&capture->lacks_code, "too many bytes in CODE records");
}

/* A loss and its number in the file. */
struct numbered_loss {
	struct reel_loss_info loss;
	size_t number;
};

static int compare_losses(const void *a, const void *b)
{
	const struct numbered_loss *x = a, *y = b;

	if (x->loss.cpu != y->loss.cpu)
		return x->loss.cpu < y->loss.cpu ? -1 : 1;
	if (x->loss.cause != y->loss.cause)
		return x->loss.cause < y->loss.cause ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct numbered_loss *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Sums losses by CPU and cause into the first one of each. */
static struct reel_error *sum_losses(struct reel_capture *capture)
{
	_cleanup_free_ struct numbered_loss *all = calloc(capture->n_losses + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return reel_error_no_memory();
	for (size_t i = 0; i < capture->n_losses; i++)
		all[i] = (struct numbered_loss){ capture->losses[i], i };
	qsort(all, capture->n_losses, sizeof(*all), compare_losses);
	for (size_t i = 0; i < capture->n_losses; i++) {
		if (n && all[n - 1].loss.cpu == all[i].loss.cpu &&
		    all[n - 1].loss.cause == all[i].loss.cause)
			all[n - 1].loss.count += all[i].loss.count;
		else
			all[n++] = all[i];
	}
	qsort(all, n, sizeof(*all), compare_numbers);
	for (size_t i = 0; i < n; i++)
		capture->losses[i] = all[i].loss;
	capture->n_losses = n;
	return NULL;
}

/* The first pass over the side blocks. */
static struct reel_error *read_record(struct reel_capture *capture,
				      const struct reel_record *record)
{
	switch (record->id) {
	case REEL_RECORD_CAPTURE:
		return set_capture(capture, &record->capture);
	case REEL_RECORD_EVENT:
		return add_event(capture, &record->event);
	case REEL_RECORD_LOSS:
		return add_loss(capture, &record->loss);
	case REEL_RECORD_MARK:
		return add_mark(capture, &record->mark);
	case REEL_RECORD_MODULE:
		return add_module(capture, record);
	case REEL_RECORD_CODE:
		return add_code(capture, record);
	case REEL_RECORD_TRACE_STEPS:
		return reel_resolved_add(&capture->resolved, &record->trace_steps);
	case REEL_RECORD_FUNCTION:
		return reel_runtime_functions_add(&capture->functions, &record->function);
	case REEL_RECORD_ORIGIN:
		return reel_origins_add(capture->origins, &record->origin);
	case REEL_RECORD_END:
		capture->info.samples = record->end.samples;
		return NULL;
	default:
		return reel_timeline_add(capture->timeline, record);
	}
}

/* The module's path as a string, made once: any number of symbols may name the module. */
static struct reel_error *module_path(struct reel_capture *capture, uint64_t id, const char **ret)
{
	size_t low, n;
	const struct reel_record_module *const *modules =
		reel_timeline_modules(capture->timeline, &n);

	*ret = "";
	low = REEL_PARTITION_POINT(n, i, modules[i]->id < id);
	if (low == n || modules[low]->id != id)
		return NULL;
	if (!capture->module_paths)
		capture->module_paths = calloc(n, sizeof(*capture->module_paths));
	if (!capture->module_paths)
		return reel_error_no_memory();
	if (!capture->module_paths[low])
		TRY(intern(capture, modules[low]->path, &capture->module_paths[low]));
	*ret = capture->module_paths[low];
	return NULL;
}

/*
 * All symbols of one time share the state of the address space at that time: a module or a BPF
 * program was loaded then.  False if the records have too many different times.
 */
static bool may_change(struct reel_capture *capture, uint64_t time)
{
	if (time == capture->last_symbol_time)
		return true;
	if (!capture->symbol_times_left)
		return false;
	capture->symbol_times_left--;
	capture->last_symbol_time = time;
	return true;
}

/* Finds the module that is the kernel of an origin. */
static void set_kernel(struct reel_capture *capture, const struct reel_record_kernel_symbol *symbol)
{
	struct reel_origin_capture *origin = reel_origins_find(capture->origins, symbol->origin);
	const struct reel_record_module *module;

	if (!origin || origin->kernel)
		return;
	module = reel_timeline_module(capture->timeline, symbol->module);
	if (module && module->kind == REEL_MODULE_KERNEL)
		origin->kernel = module->id;
}

/* The second pass: records that need the modules. */
static struct reel_error *read_late_record(struct reel_capture *capture,
					   const struct reel_record *record)
{
	const struct reel_record_kernel_symbol *from = &record->kernel_symbol;
	struct reel_kernel_symbol symbol;

	if (record->id == REEL_RECORD_IMAGE)
		return reel_modules_add_image(capture->modules, &record->image);
	if (record->id != REEL_RECORD_KERNEL_SYMBOL)
		return NULL;
	if (!may_change(capture, from->since))
		return exceed(&capture->lacks_symbols, "KERNEL_SYMBOL records for too many times");
	symbol = (struct reel_kernel_symbol){
		.address = from->address,
		.size = from->size,
		.since = from->since,
		.module_id = from->module,
		.origin = from->origin,
	};
	set_kernel(capture, from);
	TRY(intern(capture, from->name, &symbol.name));
	TRY(module_path(capture, from->module, &symbol.module));
	return reel_kernel_symbol_map_add(capture->kernel_symbols, &symbol);
}

static void count_jit(struct reel_capture *capture)
{
	const struct reel_jit_counts counts = reel_timeline_jit_counts(capture->timeline);

	capture->info.jit_symbols = counts.symbols;
	capture->info.jit_lines = counts.lines;
	capture->info.jit_unwinds = counts.unwinds;
}

typedef struct reel_error *read_record_function(struct reel_capture *capture,
						const struct reel_record *record);

/* If `read` refuses a record, that becomes a problem of the capture, and reading continues. */
static struct reel_error *read_item(struct reel_capture *capture, const struct reel_block *block,
				    const struct reel_record *record, read_record_function *read)
{
	struct reel_error *problem = read(capture, record);

	if (!problem)
		return NULL;
	problem = reel_error_prefix(problem, "block %u at offset %llu", block->header.sequence,
				    (unsigned long long)block->offset);
	return reel_capture_add_problem(capture, problem);
}

/* Was damage reported that may have hidden a record before the block's first one? */
static bool is_damaged_before(const struct reel_capture *capture,
			      const struct reel_block_reader *block_reader,
			      const struct reel_block *block)
{
	size_t n;
	const struct reel_problem *problems = reel_reader_problems(capture->reader, &n);

	for (size_t i = 0; i < n; i++)
		if (problems[i].offset <= block->offset)
			return true;
	(void)reel_block_reader_problems(block_reader, &n);
	return n > 0;
}

/* The first record of the side blocks must be CAPTURE (SPEC.md, section 5). */
static struct reel_error *check_first_record(struct reel_capture *capture,
					     const struct reel_block_reader *block_reader,
					     const struct reel_block *block,
					     const struct reel_block_item *item)
{
	if (capture->has_first_record)
		return NULL;
	capture->has_first_record = true;
	if ((item->kind == REEL_ITEM_RECORD && item->record.id == REEL_RECORD_CAPTURE) ||
	    is_damaged_before(capture, block_reader, block))
		return NULL;
	return reel_capture_add_problem(
		capture,
		reel_error_create(REEL_ERROR_CORRUPT,
				  "%s: block %u at offset %llu: first record is %s, not CAPTURE",
				  reel_reader_name(capture->reader), block->header.sequence,
				  (unsigned long long)block->offset,
				  item->kind == REEL_ITEM_RECORD ? reel_record_name(item->frame.id)
								 : "unknown"));
}

static bool is_late(const void *context, const struct reel_record_frame *frame)
{
	(void)context;
	return frame->id == REEL_RECORD_IMAGE || frame->id == REEL_RECORD_KERNEL_SYMBOL;
}

/* Passes the block's records to `read`; *late_ret: some are for the second pass. */
static struct reel_error *read_side_block(struct reel_capture *capture,
					  struct reel_block_reader *block_reader,
					  const struct reel_block *block,
					  read_record_function *read, bool *late_ret)
{
	struct reel_error *error = reel_block_reader_load(block_reader, block);
	size_t n_passed_over;

	while (!error) {
		struct reel_block_item item;

		error = reel_block_reader_next(block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		error = check_first_record(capture, block_reader, block, &item);
		*late_ret = *late_ret || is_late(NULL, &item.frame);
		if (!error && item.kind == REEL_ITEM_RECORD)
			error = read_item(capture, block, &item.record, read);
	}
	(void)reel_block_reader_problems(block_reader, &n_passed_over);
	capture->has_first_record |= error || n_passed_over;
	/* Only in the first of the two passes. */
	if (read == read_record)
		reel_end_counts_add_items(&capture->end_counts, block_reader);
	return reel_capture_end_block(capture, block_reader, error);
}

static bool is_side(const struct reel_block_header *header)
{
	return header->type != REEL_BLOCK_SAMPLES && header->type != REEL_BLOCK_INDEX &&
	       header->type != REEL_BLOCK_KEYS;
}

/* Passes the records of all side blocks to read_record, and records which blocks are `late`; or
 * those of the late blocks to read_late_record. */
static struct reel_error *read_side_blocks(struct reel_capture *capture,
					   struct reel_block_reader *block_reader,
					   read_record_function *read, bool *late)
{
	size_t n;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n);

	for (size_t i = 0; i < n; i++)
		if (read == read_record ? is_side(&blocks[i].header) : late[i])
			TRY(read_side_block(capture, block_reader, &blocks[i], read, &late[i]));
	return NULL;
}

/* With samples_max: fewer if the blocks are large. */
static size_t blocks_to_read(const struct reel_block **list, size_t n)
{
	size_t max = n < BLOCKS_MAX ? n : BLOCKS_MAX;
	size_t min = max < BLOCKS_MIN ? max : BLOCKS_MIN;
	/* Sums of damaged headers may exceed 64 bits. */
	double cost = 1, affordable;

	for (size_t i = 0; i < n; i++)
		cost += (double)list[i]->header.expanded_size;
	affordable = (double)n * (double)BLOCKS_COST_MAX / cost;
	if (affordable >= (double)max)
		return max;
	return affordable <= (double)min ? min : (size_t)affordable;
}

/* Keeps every n / max-th block. */
static size_t spread(const struct reel_block **list, size_t n, size_t max)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if ((i + 1) * max / n > i * max / n)
			list[kept++] = list[i];
	return kept;
}

struct reel_error *reel_capture_sample_blocks(const struct reel_capture *capture, uint64_t from,
					      uint64_t to, const struct reel_block ***ret,
					      size_t *count_ret)
{
	size_t n_blocks, n = 0;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);
	const struct reel_block **list = reallocarray(NULL, n_blocks + 1, sizeof(*list));

	if (!list)
		return reel_error_no_memory();
	for (size_t i = 0; i < n_blocks; i++)
		if (blocks[i].header.type == REEL_BLOCK_SAMPLES &&
		    reel_block_overlaps(&blocks[i].header, from, to))
			list[n++] = &blocks[i];
	if (capture->samples_max)
		n = spread(list, n, blocks_to_read(list, n));
	*ret = list;
	*count_ret = n;
	return NULL;
}

/* The first pass: skips processes that no sample needs. */
static struct reel_error *read_needed(struct reel_capture *capture,
				      struct reel_block_reader *block_reader, bool *late)
{
	_cleanup_free_ const struct reel_block **blocks = NULL;
	struct reel_sampled *sampled = NULL;
	struct reel_error *error;
	size_t n;

	if (capture->locked)
		return NULL;
	error = reel_capture_sample_blocks(capture, capture->from, capture->to, &blocks, &n);
	if (!error)
		error = reel_sampled_create(block_reader, capture->reader, blocks, n, capture->to,
					    &sampled);
	if (sampled)
		reel_block_reader_choose(block_reader, reel_sampled_wants, sampled);
	if (!error)
		error = read_side_blocks(capture, block_reader, read_record, late);
	/* The second pass also skips them. */
	if (sampled)
		reel_block_reader_choose(block_reader, is_late, NULL);
	reel_sampled_destroy(sampled);
	return error;
}

/* The END record, which the recorder writes last, must exist if there is a trailer, and its counts
 * must agree with the records read. */
static struct reel_error *check_end_record(struct reel_capture *capture)
{
	struct reel_error *problem;

	if (capture->end_counts.has_end) {
		reel_end_counts_add_blocks(&capture->end_counts, capture->reader);
		problem = reel_end_counts_check_side(&capture->end_counts, capture->reader);
		return problem ? reel_capture_add_problem(capture, problem) : NULL;
	}
	if (!reel_reader_has_trailer(capture->reader))
		return NULL;
	return reel_capture_add_problem(
		capture,
		reel_error_create(REEL_ERROR_TRUNCATED, "%s: file has a trailer, but no END record",
				  reel_reader_name(capture->reader)));
}

/* Sums up sizes and times from the headers. */
static void sum_blocks(struct reel_capture *capture)
{
	struct reel_capture_info *info = &capture->info;
	size_t n_blocks, n_scrubbed = 0, n_raw = 0;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);

	info->file_size = reel_reader_file_size(capture->reader);
	info->blocks = n_blocks;
	for (size_t i = 0; i < n_blocks; i++) {
		const struct reel_block_header *header = &blocks[i].header;

		info->stored_bytes += header->stored_size;
		info->raw_bytes += header->raw_size;
		if (header->type != REEL_BLOCK_SAMPLES)
			continue;
		info->stack_bytes += header->expanded_size;
		n_scrubbed += header->flags & REEL_BLOCK_SCRUBBED ? 1 : 0;
		/* Blocks with only weights have no stacks. */
		n_raw += header->expanded_size && !(header->flags & REEL_BLOCK_SCRUBBED);
		/* No times: a modified encrypted block has none. */
		if (!header->records)
			continue;
		if (!info->first_sample_time || header->time_first < info->first_sample_time)
			info->first_sample_time = header->time_first;
		if (header->time_last > info->last_sample_time)
			info->last_sample_time = header->time_last;
	}
	info->scrubbed = n_scrubbed && !n_raw;
}

/* Without an END record, the number of samples is unknown: count them. */
static struct reel_error *count_samples(struct reel_capture *capture,
					struct reel_block_reader *block_reader)
{
	size_t n_blocks;
	const struct reel_block *blocks = reel_reader_blocks(capture->reader, &n_blocks);

	for (size_t i = 0; i < n_blocks; i++) {
		struct reel_block_item item;
		struct reel_error *error;

		if (blocks[i].header.type != REEL_BLOCK_SAMPLES)
			continue;
		error = reel_block_reader_load_heads(block_reader, &blocks[i]);
		while (!error) {
			error = reel_block_reader_next(block_reader, &item);
			if (error || item.kind == REEL_ITEM_END)
				break;
			capture->info.samples += item.kind == REEL_ITEM_SAMPLE;
		}
		TRY(reel_capture_end_block(capture, block_reader, error));
	}
	return NULL;
}

/* A locked capture has nothing to read. */
static struct reel_error *check_lock(struct reel_capture *capture)
{
	const struct reel_error *lock = reel_reader_lock(capture->reader);

	if (!lock)
		return NULL;
	capture->locked =
		reel_texts_add_string(capture->texts, reel_reader_lock_keys(capture->reader));
	if (!capture->locked)
		return reel_error_no_memory();
	return reel_capture_add_problem(
		capture, reel_error_create(reel_error_code(lock), "%s", reel_error_message(lock)));
}

/* Ids of modules mean the same in the same recording only. */
static struct reel_modules *previous_modules(const struct reel_capture *capture)
{
	const struct reel_capture *previous = capture->options.previous;
	const struct reel_file_header *header = reel_reader_header(capture->reader);

	return previous && !memcmp(previous->info.file_id, header->id, sizeof(header->id))
		       ? previous->modules
		       : NULL;
}

static struct reel_error *read_capture(struct reel_capture *capture)
{
	_cleanup_block_reader_ struct reel_block_reader *block_reader = NULL;
	_cleanup_free_ bool *late = NULL;
	size_t n_blocks, n_problems;
	const struct reel_problem *problems = reel_reader_problems(capture->reader, &n_problems);

	TRY(reel_block_reader_create(capture->reader, &block_reader));
	(void)reel_reader_blocks(capture->reader, &n_blocks);
	late = calloc(n_blocks + 1, sizeof(*late));
	if (!late)
		return reel_error_no_memory();
	TRY(check_lock(capture));
	TRY(add_problems(capture, problems, n_problems));
	TRY(read_needed(capture, block_reader, late));
	TRY(sum_losses(capture));
	if (!capture->locked)
		TRY(check_end_record(capture));
	TRY(reel_origins_seal(capture->origins));
	TRY(reel_timeline_seal(capture->timeline));
	count_jit(capture);
	TRY(reel_modules_create(capture->timeline, &capture->options.common,
				capture->info.kernel_release, previous_modules(capture),
				&capture->modules));
	capture->options.previous = NULL;
	if (capture->options.samples_max)
		reel_modules_omit_names(capture->modules);
	reel_modules_set_host(capture->modules, &capture->info);
	TRY(read_side_blocks(capture, block_reader, read_late_record, late));
	TRY(reel_kernel_symbol_map_seal(capture->kernel_symbols));
	TRY(reel_kernel_code_create(capture->timeline, capture->modules, capture->kernel_symbols,
				    reel_arch_by_machine(capture->machine, capture->word_bits),
				    &capture->kernel_code));
	TRY(reel_frame_table_create(capture->kernel_symbols, capture->kernel_code,
				    reel_reader_file_size(capture->reader), &capture->frames));
	capture->module_frames =
		calloc(reel_modules_count(capture->modules) + 1, sizeof(*capture->module_frames));
	if (!capture->module_frames)
		return reel_error_no_memory();
	return capture->end_counts.has_end || capture->locked
		       ? NULL
		       : count_samples(capture, block_reader);
}

static struct reel_error *open_reader(const char *path, const struct reel_open_options *options,
				      struct reel_reader **ret)
{
	const char *const *files = options->common.identities;
	_cleanup_identities_ struct reel_identities identities = { 0 };
	const struct reel_reader_options reader = {
		.identities = &identities,
		.tolerance = (options->may_be_locked ? REEL_TOLERATE_LOCK : 0u) |
			     (options->may_lack_header ? REEL_TOLERATE_HEADER : 0u),
		.opened = options->opened,
		.context = options->opened_context,
	};

	for (size_t i = 0; files && files[i]; i++)
		TRY(reel_identities_load(&identities, files[i]));
	return reel_reader_open(path, &reader, ret);
}

struct reel_error *reel_capture_open(const char *path, const struct reel_capture_options *options,
				     struct reel_capture **ret)
{
	struct reel_open_options whole = { 0 };

	reel_sized_take(&whole.common, sizeof(whole.common), options);
	return reel_capture_open_with(path, &whole, ret);
}

struct reel_error *reel_capture_open_with(const char *path, const struct reel_open_options *options,
					  struct reel_capture **ret)
{
	const char *const *identities = options->common.identities;
	struct reel_reader *reader;

	TRY(open_reader(path, options, &reader));
	if (identities && identities[0] && !reel_reader_was_encrypted(reader)) {
		struct reel_error *error =
			reel_error_create(REEL_ERROR_INVALID,
					  "%s: not encrypted, so it may come from anyone; omit "
					  "--identity to read it anyway",
					  reel_reader_name(reader));

		reel_reader_close(reader);
		return error;
	}
	return reel_capture_open_reader(reader, options, ret);
}

/* A copy of a list that may be NULL. */
static struct reel_error *keep_list(struct reel_texts *texts, const char *const *list,
				    const char *const **ret)
{
	const char **copy;
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	*ret = copy;
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = reel_texts_add_string(texts, list[i]);
		if (!copy[i])
			return reel_error_no_memory();
	}
	return copy ? NULL : reel_error_no_memory();
}

/*
 * Copies the caller's lists: they need not live as long as the capture, but reel_capture_shrink
 * opens another capture with them.
 */
static struct reel_error *keep_options(struct reel_capture *capture,
				       const struct reel_open_options *options)
{
	const struct reel_capture_options given = options->common;
	struct reel_capture_options *kept = &capture->options.common;

	capture->options = *options;
	if (!kept->max_frames)
		kept->max_frames = 16384;
	kept->symfs = kept->debug_dirs = kept->module_files = kept->identities = NULL;
	TRY(keep_list(capture->texts, given.symfs, &kept->symfs));
	TRY(keep_list(capture->texts, given.debug_dirs, &kept->debug_dirs));
	TRY(keep_list(capture->texts, given.module_files, &kept->module_files));
	if (!given.debuginfod_cache)
		return NULL;
	kept->debuginfod_cache = reel_texts_add_string(capture->texts, given.debuginfod_cache);
	return kept->debuginfod_cache ? NULL : reel_error_no_memory();
}

static void free_options(struct reel_capture_options *options)
{
	free((void *)options->symfs);
	free((void *)options->debug_dirs);
	free((void *)options->module_files);
}

/* Not merely unfinished. */
static bool is_damaged(const struct reel_reader *reader)
{
	size_t n;
	const struct reel_problem *problems = reel_reader_problems(reader, &n);

	for (size_t i = 0; i < n; i++)
		if (problems[i].code != REEL_ERROR_TRUNCATED)
			return true;
	return false;
}

static struct reel_error *open_from(struct reel_reader *reader, bool borrows_reader,
				    const struct reel_open_options *options,
				    struct reel_capture **ret)
{
	struct reel_capture *capture = calloc(1, sizeof(*capture));
	const struct reel_file_header *header = reel_reader_header(reader);
	struct reel_error *error;

	if (!capture) {
		if (!borrows_reader)
			reel_reader_close(reader);
		return reel_error_no_memory();
	}
	pthread_mutex_init(&capture->lock, NULL);
	capture->reader = reader;
	capture->borrows_reader = borrows_reader;
	capture->modules_left =
		MODULES_FREE + reel_reader_file_size(capture->reader) / MODULE_SIZE_MIN;
	capture->code_left = CODE_FREE + CODE_RATIO * reel_reader_file_size(capture->reader);
	capture->symbol_times_left =
		SYMBOL_TIMES_FREE + reel_reader_file_size(capture->reader) / SYMBOL_TIME_SIZE;
	capture->info = (struct reel_capture_info){
		.size = sizeof(capture->info),
		.tool_version = "",
		.hostname = "",
		.kernel_release = "",
		.kernel_build_id = "",
		.command_line = "",
		.arch = "unknown",
	};
	sum_blocks(capture);
	capture->from = options->from ? capture->info.first_sample_time + options->from : 0;
	capture->to = options->to ? capture->info.first_sample_time + options->to : UINT64_MAX;
	/* Encrypted captures, and those with damaged headers of blocks, are read completely to find
	 * all problems. */
	if (!reel_reader_was_encrypted(reader) && !is_damaged(reader))
		capture->samples_max = options->samples_max;
	capture->texts = reel_texts_create();
	error = capture->texts ? keep_options(capture, options) : reel_error_no_memory();
	if (!error)
		error = reel_timeline_create(true, &capture->timeline);
	if (!error)
		error = reel_origins_create(&capture->origins);
	if (!error)
		error = reel_kernel_symbol_map_create(&capture->kernel_symbols);
	if (!error)
		error = read_capture(capture);
	if (error) {
		reel_capture_close(capture);
		return error;
	}
	capture->info.path = reel_reader_name(capture->reader);
	capture->info.format_major = header->major;
	capture->info.format_minor = header->minor;
	memcpy(capture->info.file_id, header->id, sizeof(header->id));
	capture->info.encrypted = reel_reader_was_encrypted(capture->reader);
	capture->info.truncated = !capture->end_counts.has_end && !capture->locked;
	capture->info.complete =
		capture->end_counts.has_end && reel_reader_has_trailer(capture->reader);
	*ret = capture;
	return NULL;
}

struct reel_error *reel_capture_open_reader(struct reel_reader *reader,
					    const struct reel_open_options *options,
					    struct reel_capture **ret)
{
	return open_from(reader, false, options, ret);
}

static bool covers(const struct reel_capture *capture, uint64_t from, uint64_t to)
{
	if (capture->samples_max)
		return from == capture->from && to == capture->to;
	return from >= capture->from && to <= capture->to;
}

struct reel_error *reel_capture_covering(struct reel_capture *capture, uint64_t from, uint64_t to,
					 struct reel_capture **ret)
{
	struct reel_open_options options = capture->options;
	struct reel_error *error = NULL;

	*ret = capture;
	if (covers(capture, from, to))
		return NULL;
	options.from = options.to = options.samples_max = 0;
	pthread_mutex_lock(&capture->lock);
	if (!capture->whole)
		error = open_from(capture->reader, true, &options, &capture->whole);
	*ret = capture->whole;
	pthread_mutex_unlock(&capture->lock);
	return error;
}

struct reel_error *reel_capture_check_covers(const struct reel_capture *capture, uint64_t from,
					     uint64_t to)
{
	if (covers(capture, from, to))
		return NULL;
	return reel_error_create(REEL_ERROR_INVALID, "%s: opened for a different time range",
				 reel_reader_name(capture->reader));
}

void reel_capture_close(struct reel_capture *capture)
{
	if (!capture)
		return;
	reel_capture_close(capture->whole);
	reel_frame_table_destroy(capture->frames);
	reel_kernel_code_destroy(capture->kernel_code);
	reel_kernel_symbol_map_destroy(capture->kernel_symbols);
	reel_modules_destroy(capture->modules);
	reel_origins_destroy(capture->origins);
	reel_timeline_destroy(capture->timeline);
	if (!capture->borrows_reader)
		reel_reader_close(capture->reader);
	reel_texts_destroy(capture->texts);
	reel_id_table_free_all(&capture->value_keys);
	free(capture->events);
	free(capture->losses);
	free(capture->marks);
	free(capture->module_paths);
	free(capture->module_frames);
	reel_resolved_free(&capture->resolved);
	reel_runtime_functions_free(&capture->functions);
	free_options(&capture->options.common);
	pthread_mutex_destroy(&capture->lock);
	free(capture);
}
