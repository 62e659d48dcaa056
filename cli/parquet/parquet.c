/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet files: docs/parquet.md. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash_index.h"
#include "cli/export/formats.h"
#include "cli/export/stack_tree.h"
#include "cli/export/trace_facts.h"
#include "cli/parquet/writer.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* Whoever sees the samples sees the files that they refer to. */
enum { MODULES, CAPTURES, STACKS, SAMPLES, FILES };

static const char *const file_names[] = {
	[MODULES] = "modules.parquet",
	[CAPTURES] = "captures.parquet",
	[STACKS] = "stacks.parquet",
	[SAMPLES] = "samples.parquet",
	[FILES] = NULL,
};

/* ---- columns ---------------------------------------------------------------------------------- */

#define FLAG(number, name)	    [number] = { name, PARQUET_BOOLEAN, false, PARQUET_FLAT, NULL }
#define INT32(number, name)	    [number] = { name, PARQUET_INT32, false, PARQUET_FLAT, NULL }
#define INT64(number, name)	    [number] = { name, PARQUET_INT64, false, PARQUET_FLAT, NULL }
#define INT64_OR_NULL(number, name) [number] = { name, PARQUET_INT64, true, PARQUET_FLAT, NULL }
#define TIME_OR_NULL(number, name)  [number] = { name, PARQUET_TIME, true, PARQUET_FLAT, NULL }
#define TEXT(number, name)	    [number] = { name, PARQUET_TEXT, false, PARQUET_FLAT, NULL }
#define TEXT_OR_NULL(number, name)  [number] = { name, PARQUET_TEXT, true, PARQUET_FLAT, NULL }
#define ID(number, name)	    [number] = { name, PARQUET_ID, false, PARQUET_FLAT, NULL }
#define KEY(number, map)	    [number] = { "key", PARQUET_TEXT, false, PARQUET_MAP, map }
#define MEMBER(number, list, name, type, optional)                                                 \
	[number] = { name, type, optional, PARQUET_STRUCTS, list }

static const char labels[] = "labels", frames[] = "frames", losses[] = "losses",
		  events[] = "events";

enum {
	SAMPLE_FILE,
	SAMPLE_HOST,
	SAMPLE_NUMBER,
	SAMPLE_TIME,
	SAMPLE_WALL_TIME,
	SAMPLE_EVENT,
	SAMPLE_UNIT,
	SAMPLE_WEIGHT,
	SAMPLE_SAMPLES,
	SAMPLE_CPU,
	SAMPLE_PID,
	SAMPLE_TID,
	SAMPLE_COMM,
	SAMPLE_PROCESS,
	SAMPLE_RAN_IN,
	SAMPLE_STATE,
	SAMPLE_STOP,
	SAMPLE_IS_WHOLE,
	SAMPLE_FUNCTION,
	SAMPLE_MODULE,
	SAMPLE_STACK,
	SAMPLE_WAKER,
	SAMPLE_SERVICE,
	SAMPLE_CONTAINER,
	SAMPLE_POD,
	SAMPLE_SYSTEMD_UNIT,
	SAMPLE_TRACE,
	SAMPLE_LABEL_KEY,
	SAMPLE_LABEL_VALUE,
	SAMPLE_COLUMNS,
};

static const struct parquet_column sample_columns[] = {
	TEXT(SAMPLE_FILE, "file_id"),
	TEXT(SAMPLE_HOST, "host"),
	INT64(SAMPLE_NUMBER, "sample"),
	INT64(SAMPLE_TIME, "time"),
	TIME_OR_NULL(SAMPLE_WALL_TIME, "wall_time"),
	TEXT(SAMPLE_EVENT, "event"),
	TEXT(SAMPLE_UNIT, "unit"),
	INT64(SAMPLE_WEIGHT, "weight"),
	INT64(SAMPLE_SAMPLES, "samples"),
	INT32(SAMPLE_CPU, "cpu"),
	INT32(SAMPLE_PID, "pid"),
	INT32(SAMPLE_TID, "tid"),
	TEXT(SAMPLE_COMM, "comm"),
	TEXT_OR_NULL(SAMPLE_PROCESS, "process"),
	TEXT(SAMPLE_RAN_IN, "ran_in"),
	TEXT(SAMPLE_STATE, "state"),
	TEXT(SAMPLE_STOP, "stop"),
	FLAG(SAMPLE_IS_WHOLE, "is_whole"),
	TEXT_OR_NULL(SAMPLE_FUNCTION, "function"),
	TEXT_OR_NULL(SAMPLE_MODULE, "module"),
	ID(SAMPLE_STACK, "stack_id"),
	INT64_OR_NULL(SAMPLE_WAKER, "waker_sample"),
	TEXT_OR_NULL(SAMPLE_SERVICE, "service"),
	TEXT_OR_NULL(SAMPLE_CONTAINER, "container"),
	TEXT_OR_NULL(SAMPLE_POD, "pod"),
	TEXT_OR_NULL(SAMPLE_SYSTEMD_UNIT, "systemd_unit"),
	TEXT_OR_NULL(SAMPLE_TRACE, "trace"),
	KEY(SAMPLE_LABEL_KEY, labels),
	[SAMPLE_LABEL_VALUE] = { "value", PARQUET_TEXT, false, PARQUET_MAP, labels },
};

/* Columns that repeat a label. */
static const struct {
	const char *key;
	size_t column;
} label_columns[] = {
	{ "service", SAMPLE_SERVICE },	 { "container", SAMPLE_CONTAINER }, { "pod", SAMPLE_POD },
	{ "unit", SAMPLE_SYSTEMD_UNIT }, { "trace", SAMPLE_TRACE },
};

enum {
	STACK_ID,
	STACK_FUNCTIONS,
	FRAME_FUNCTION,
	FRAME_LINKAGE_NAME,
	FRAME_MODULE,
	FRAME_BUILD_ID,
	FRAME_ADDRESS,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_INLINED,
	FRAME_KIND,
	FRAME_GUESSED,
	STACK_COLUMNS,
};

static const struct parquet_column stack_columns[] = {
	ID(STACK_ID, "stack_id"),
	[STACK_FUNCTIONS] = { "element", PARQUET_TEXT, false, PARQUET_LIST, "functions" },
	MEMBER(FRAME_FUNCTION, frames, "function", PARQUET_TEXT, false),
	MEMBER(FRAME_LINKAGE_NAME, frames, "linkage_name", PARQUET_TEXT, true),
	MEMBER(FRAME_MODULE, frames, "module", PARQUET_TEXT, true),
	MEMBER(FRAME_BUILD_ID, frames, "build_id", PARQUET_TEXT, true),
	MEMBER(FRAME_ADDRESS, frames, "address", PARQUET_INT64, false),
	MEMBER(FRAME_FILE, frames, "file", PARQUET_TEXT, true),
	MEMBER(FRAME_LINE, frames, "line", PARQUET_INT32, false),
	MEMBER(FRAME_INLINED, frames, "inlined", PARQUET_BOOLEAN, false),
	MEMBER(FRAME_KIND, frames, "kind", PARQUET_TEXT, false),
	MEMBER(FRAME_GUESSED, frames, "guessed", PARQUET_BOOLEAN, false),
};

enum {
	MODULE_CAPTURE,
	MODULE_KIND,
	MODULE_PATH,
	MODULE_BUILD_ID,
	MODULE_STATE,
	MODULE_PROBLEM,
	MODULE_HAS_DEBUG_INFO,
	MODULE_COLUMNS,
};

static const struct parquet_column module_columns[] = {
	TEXT(MODULE_CAPTURE, "file_id"),
	TEXT_OR_NULL(MODULE_KIND, "kind"),
	TEXT_OR_NULL(MODULE_PATH, "path"),
	TEXT_OR_NULL(MODULE_BUILD_ID, "build_id"),
	TEXT(MODULE_STATE, "state"),
	TEXT_OR_NULL(MODULE_PROBLEM, "problem"),
	FLAG(MODULE_HAS_DEBUG_INFO, "has_debug_info"),
};

enum {
	CAPTURE_FILE,
	CAPTURE_PATH,
	CAPTURE_HOST,
	CAPTURE_KERNEL,
	CAPTURE_ARCH,
	CAPTURE_CPUS,
	CAPTURE_RECORDED_BY,
	CAPTURE_COMMAND_LINE,
	CAPTURE_START,
	CAPTURE_SAMPLES,
	CAPTURE_EXPORTED,
	CAPTURE_UNWOUND,
	CAPTURE_WHOLE,
	CAPTURE_IS_COMPLETE,
	CAPTURE_IS_TRUNCATED,
	CAPTURE_EVENT_NAME,
	CAPTURE_EVENT_UNIT,
	CAPTURE_EVENT_FREQUENCY,
	CAPTURE_EVENT_PERIOD,
	CAPTURE_LOSS_CAUSE,
	CAPTURE_LOSS_COUNT,
	CAPTURE_PROBLEMS,
	CAPTURE_COLUMNS,
};

static const struct parquet_column capture_columns[] = {
	TEXT(CAPTURE_FILE, "file_id"),
	TEXT(CAPTURE_PATH, "path"),
	TEXT_OR_NULL(CAPTURE_HOST, "host"),
	TEXT_OR_NULL(CAPTURE_KERNEL, "kernel_release"),
	TEXT(CAPTURE_ARCH, "arch"),
	INT32(CAPTURE_CPUS, "cpus"),
	TEXT_OR_NULL(CAPTURE_RECORDED_BY, "recorded_by"),
	TEXT_OR_NULL(CAPTURE_COMMAND_LINE, "command_line"),
	TIME_OR_NULL(CAPTURE_START, "start"),
	INT64(CAPTURE_SAMPLES, "samples"),
	INT64(CAPTURE_EXPORTED, "exported"),
	INT64(CAPTURE_UNWOUND, "unwound"),
	INT64(CAPTURE_WHOLE, "whole"),
	FLAG(CAPTURE_IS_COMPLETE, "is_complete"),
	FLAG(CAPTURE_IS_TRUNCATED, "is_truncated"),
	MEMBER(CAPTURE_EVENT_NAME, events, "name", PARQUET_TEXT, false),
	MEMBER(CAPTURE_EVENT_UNIT, events, "unit", PARQUET_TEXT, false),
	MEMBER(CAPTURE_EVENT_FREQUENCY, events, "frequency", PARQUET_INT64, false),
	MEMBER(CAPTURE_EVENT_PERIOD, events, "period", PARQUET_INT64, false),
	KEY(CAPTURE_LOSS_CAUSE, losses),
	[CAPTURE_LOSS_COUNT] = { "value", PARQUET_INT64, false, PARQUET_MAP, losses },
	[CAPTURE_PROBLEMS] = { "element", PARQUET_TEXT, false, PARQUET_LIST, "problems" },
};

static const struct {
	const struct parquet_column *columns;
	size_t n;
} tables[] = {
	[MODULES] = { module_columns, MODULE_COLUMNS },
	[CAPTURES] = { capture_columns, CAPTURE_COLUMNS },
	[STACKS] = { stack_columns, STACK_COLUMNS },
	[SAMPLES] = { sample_columns, SAMPLE_COLUMNS },
};

/* ---- the state --------------------------------------------------------------------------------- */

struct stack_id {
	uint8_t bytes[PARQUET_ID_SIZE];
};

/* A frame as it is hashed: its members as text, each followed by a NUL. */
struct frame_text {
	char *text;
	size_t size;
	uint64_t address;
	uint32_t line;
	bool inlined, guessed;
};

struct parquet_export {
	struct parquet *files[FILES];
	struct session *session;
	char *file_id, *path;
	struct stack_tree tree;
	struct frame_text *frames; /* by their numbers in the tree */
	size_t frames_capacity;
	/* Of the tree's nodes of this capture, by id - first_node. */
	struct stack_id *nodes;
	size_t nodes_capacity;
	/* Of all written stacks. */
	struct stack_id *written;
	size_t n_written, written_capacity;
	struct reel_hash_index by_id;
	/* Thread names, hosts and events, escaped, by their address; they live as long as the
	 * capture. */
	struct pointer_map texts;
};

static void put_escaped(struct parquet *file, size_t column, const char *text)
{
	_cleanup_free_ char *escaped = text && *text ? text_escape(text, "") : NULL;

	parquet_text(file, column, escaped);
}

/* For texts that may be empty, but not null. */
static void put_required(struct parquet *file, size_t column, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	parquet_text(file, column, escaped);
}

static const char *escaped_once(struct parquet_export *export, const char *text)
{
	char *escaped = pointer_map_get(&export->texts, text);

	if (!escaped) {
		escaped = text_escape(text, "");
		pointer_map_put(&export->texts, text, escaped);
	}
	return escaped;
}

static void forget_texts(struct parquet_export *export)
{
	for (size_t i = 0; i < export->texts.n_slots; i++)
		free(export->texts.slots[i].value);
	pointer_map_free(&export->texts);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

static const char *frame_kind(const struct reel_frame *frame, enum reel_step step)
{
	return step == REEL_STEP_GAP		       ? "gap"
	       : frame->runtime == REEL_RUNTIME_PYTHON ? "python"
	       : frame->runtime == REEL_RUNTIME_RUBY   ? "ruby"
	       : frame->kernel			       ? "kernel"
						       : "native";
}

static bool add_frame(void *context, const struct reel_frame *frame, enum reel_step step,
		      uint32_t id, uint32_t *function_ret)
{
	struct parquet_export *export = context;
	REEL_SIZED(reel_module_info, module, .build_id = "");
	_cleanup_free_ char *name = frame_name(frame), *function = text_escape(name, "");
	_cleanup_free_ char *linkage_name = text_escape(frame->linkage_name, "");
	_cleanup_free_ char *path = text_escape(frame->module_path, "");
	_cleanup_free_ char *source = text_escape(frame->file, "");
	struct frame_text *added;
	FILE *file;

	if (frame->module_id &&
	    !no_error(reel_capture_module(export->session->capture, frame->module_id, &module)))
		return false;
	export->frames = memory_reserve_zeroed(export->frames, &export->frames_capacity, id,
					       sizeof(*export->frames));
	added = &export->frames[id];
	added->address = frame->module_address;
	added->line = frame->line;
	added->inlined = frame->inlined;
	added->guessed = step_is_guess(step);
	file = open_memstream(&added->text, &added->size);
	memory_check(file);
	fprintf(file, "%s%c%s%c%s%c%s%c", function, 0, linkage_name, 0, path, 0,
		module.id ? module.build_id : "", 0);
	fprintf(file, "%s%c%s%c%" PRId64 "%c%" PRIu32 "%c%d%c%d%c", source, 0,
		frame_kind(frame, step), 0, (int64_t)added->address, 0, added->line, 0,
		added->inlined, 0, added->guessed, 0);
	fclose(file);
	memory_check(added->text);
	*function_ret = 0;
	return true;
}

static const struct stack_id *id_of(const struct parquet_export *export, uint32_t node)
{
	return &export->nodes[node - export->tree.first_node];
}

static bool add_node(void *context, const struct stack_node *node, const struct reel_trace *trace)
{
	struct parquet_export *export = context;
	const struct frame_text *frame = &export->frames[node->frame];
	size_t number = node->id - export->tree.first_node;
	struct stack_id caller = { 0 }, *id;
	crypto_generichash_state hash;

	(void)trace;
	export->nodes = memory_reserve(export->nodes, &export->nodes_capacity, number,
				       sizeof(*export->nodes));
	id = &export->nodes[number];
	*id = caller;
	if (!node->frame)
		return true;
	if (node->parent)
		caller = *id_of(export, node->parent);
	crypto_generichash_init(&hash, NULL, 0, sizeof(*id));
	crypto_generichash_update(&hash, caller.bytes, sizeof(caller));
	crypto_generichash_update(&hash, (const uint8_t *)frame->text, frame->size);
	crypto_generichash_final(&hash, id->bytes, sizeof(*id));
	return true;
}

static const char *next_text(const char **text)
{
	const char *this = *text;

	*text += strlen(this) + 1;
	return this;
}

static void put_frame(struct parquet *file, const struct frame_text *frame)
{
	static const struct {
		size_t column;
		bool is_optional;
	} texts[] = { { FRAME_FUNCTION, false }, { FRAME_LINKAGE_NAME, true },
		      { FRAME_MODULE, true },	 { FRAME_BUILD_ID, true },
		      { FRAME_FILE, true },	 { FRAME_KIND, false } };
	const char *at = frame->text;

	parquet_text(file, STACK_FUNCTIONS, at);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = next_text(&at);

		parquet_text(file, texts[i].column, *text || !texts[i].is_optional ? text : NULL);
	}
	parquet_number(file, FRAME_ADDRESS, frame->address);
	parquet_number(file, FRAME_LINE, frame->line);
	parquet_number(file, FRAME_INLINED, frame->inlined);
	parquet_number(file, FRAME_GUESSED, frame->guessed);
}

/* Writes the stack that the tree got last, unless it was written before. */
static bool put_stack(struct parquet_export *export, const struct stack_id *id)
{
	struct parquet *file = export->files[STACKS];
	uint64_t hash = reel_load64(id->bytes);

	if (REEL_HASH_FIND(&export->by_id, hash, i,
			   !memcmp(&export->written[i], id, sizeof(*id))) != REEL_HASH_NONE)
		return true;
	export->written = memory_reserve(export->written, &export->written_capacity,
					 export->n_written, sizeof(*export->written));
	export->written[export->n_written] = *id;
	if (!reel_hash_index_add(&export->by_id, hash, (uint32_t) export->n_written++))
		memory_check(NULL);
	parquet_id(file, STACK_ID, id->bytes);
	for (size_t i = 0; i < export->tree.path_length; i++)
		put_frame(file, &export->frames[export->tree.path[i].frame]);
	return parquet_end_row(file);
}

/* ---- samples ----------------------------------------------------------------------------------- */

static void put_labels(struct parquet *file, const struct reel_trace *trace)
{
	const struct reel_label *waker = reel_trace_label(trace, "waker-sample");

	if (waker)
		parquet_number(file, SAMPLE_WAKER, waker->number);
	for (size_t i = 0; i < sizeof(label_columns) / sizeof(*label_columns); i++) {
		const struct reel_label *label = reel_trace_label(trace, label_columns[i].key);

		if (label)
			put_escaped(file, label_columns[i].column, label->text);
	}
	for (size_t i = 0; i < trace->n_labels; i++) {
		put_required(file, SAMPLE_LABEL_KEY, trace->labels[i].key);
		put_required(file, SAMPLE_LABEL_VALUE, trace->labels[i].text);
	}
}

static void put_thread(struct parquet_export *export, const struct reel_trace *trace)
{
	struct parquet *file = export->files[SAMPLES];
	const char *host = trace->host_id ? trace->host : export->session->info->hostname;
	size_t prefix = trace->host_id ? strlen(trace->host) + 1 : 0;

	parquet_text(file, SAMPLE_HOST, escaped_once(export, host));
	parquet_number(file, SAMPLE_CPU, trace->cpu);
	parquet_number(file, SAMPLE_PID, trace->pid);
	parquet_number(file, SAMPLE_TID, trace->tid);
	parquet_text(file, SAMPLE_COMM, escaped_once(export, trace->comm + prefix));
	if (trace->process_comm)
		parquet_text(file, SAMPLE_PROCESS,
			     escaped_once(export, trace->process_comm + prefix));
}

static void put_leaf(struct parquet_export *export)
{
	size_t n = export->tree.path_length;
	const char *text = n ? export->frames[export->tree.path[n - 1].frame].text : NULL;

	if (!text)
		return;
	parquet_text(export->files[SAMPLES], SAMPLE_FUNCTION, next_text(&text));
	next_text(&text);
	parquet_text(export->files[SAMPLES], SAMPLE_MODULE, *text ? text : NULL);
}

static bool add_sample(void *state, const struct reel_trace *trace,
		       const struct reel_event_info *event)
{
	struct parquet_export *export = state;
	struct parquet *file = export->files[SAMPLES];
	uint64_t wall_time;
	uint32_t node;

	if (!stack_tree_add(&export->tree, trace, &node) || !put_stack(export, id_of(export, node)))
		return false;
	parquet_text(file, SAMPLE_FILE, export->file_id);
	parquet_number(file, SAMPLE_NUMBER, trace->id);
	parquet_number(file, SAMPLE_TIME, trace->time);
	if (wall_time_of(export->session->info, trace->time, &wall_time))
		parquet_number(file, SAMPLE_WALL_TIME, wall_time);
	parquet_text(file, SAMPLE_EVENT, escaped_once(export, event_name(event)));
	parquet_text(file, SAMPLE_UNIT, event ? escaped_once(export, event->weight_unit) : "");
	parquet_number(file, SAMPLE_WEIGHT, trace->weight);
	parquet_number(file, SAMPLE_SAMPLES, 1);
	put_thread(export, trace);
	parquet_text(file, SAMPLE_RAN_IN, where_name(trace->where));
	parquet_text(file, SAMPLE_STATE, reel_state_name(trace->state));
	parquet_text(file, SAMPLE_STOP, reel_stop_name(trace->stop));
	parquet_number(file, SAMPLE_IS_WHOLE, !trace_is_cut(trace));
	put_leaf(export);
	parquet_id(file, SAMPLE_STACK, id_of(export, node)->bytes);
	put_labels(file, trace);
	return parquet_end_row(file);
}

/* ---- captures and modules ---------------------------------------------------------------------- */

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct parquet_export *export = state;

	export->session = session;
	free(export->file_id);
	export->file_id = text_hex(session->info->file_id, sizeof(session->info->file_id));
	free(export->path);
	export->path = memory_print("%s", path);
	stack_tree_begin_capture(&export->tree);
	forget_texts(export);
	return true;
}

static void put_losses(struct parquet *file, struct reel_capture *capture)
{
	uint64_t sums[REEL_LOSS_COUNT] = { 0 };
	size_t n;
	const struct reel_loss_info *all = reel_capture_losses(capture, &n);

	for (size_t i = 0; i < n; i++)
		sums[all[i].cause < REEL_LOSS_COUNT ? all[i].cause : REEL_LOSS_OTHER] +=
			all[i].count;
	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++) {
		if (!sums[cause])
			continue;
		parquet_text(file, CAPTURE_LOSS_CAUSE, reel_loss_name(cause));
		parquet_number(file, CAPTURE_LOSS_COUNT, sums[cause]);
	}
}

static bool put_capture(struct parquet_export *export)
{
	struct parquet *file = export->files[CAPTURES];
	const struct session *session = export->session;
	const struct reel_capture_info *info = session->info;
	const struct reel_capture_problem *problems;
	size_t n;

	parquet_text(file, CAPTURE_FILE, export->file_id);
	put_required(file, CAPTURE_PATH, export->path);
	put_escaped(file, CAPTURE_HOST, info->hostname);
	put_escaped(file, CAPTURE_KERNEL, info->kernel_release);
	put_required(file, CAPTURE_ARCH, info->arch);
	parquet_number(file, CAPTURE_CPUS, info->cpus);
	put_escaped(file, CAPTURE_RECORDED_BY, info->tool_version);
	put_escaped(file, CAPTURE_COMMAND_LINE, info->command_line);
	if (info->start_wall_time)
		parquet_number(file, CAPTURE_START, info->start_wall_time);
	parquet_number(file, CAPTURE_SAMPLES, info->samples);
	parquet_number(file, CAPTURE_EXPORTED, session->quality.traces);
	parquet_number(file, CAPTURE_UNWOUND, quality_unwound(&session->quality));
	parquet_number(file, CAPTURE_WHOLE, session->quality.stops[REEL_STOP_ROOT]);
	parquet_number(file, CAPTURE_IS_COMPLETE, info->complete);
	parquet_number(file, CAPTURE_IS_TRUNCATED, info->truncated);
	for (size_t i = 0; i < session->n_events; i++) {
		put_required(file, CAPTURE_EVENT_NAME, event_name(&session->events[i]));
		put_required(file, CAPTURE_EVENT_UNIT, session->events[i].weight_unit);
		parquet_number(file, CAPTURE_EVENT_FREQUENCY, session->events[i].frequency);
		parquet_number(file, CAPTURE_EVENT_PERIOD, session->events[i].period);
	}
	put_losses(file, session->capture);
	problems = reel_capture_problems(session->capture, &n);
	for (size_t i = 0; i < n; i++)
		put_required(file, CAPTURE_PROBLEMS, problems[i].message);
	return parquet_end_row(file);
}

static bool put_modules(struct parquet_export *export)
{
	struct parquet *file = export->files[MODULES];
	_cleanup_free_ struct reel_module_info *modules = NULL;
	bool ok = true;
	size_t n;

	if (!no_error(reel_capture_modules(export->session->capture, &modules, &n)))
		return false;
	for (size_t i = 0; i < n && ok; i++) {
		const struct reel_module_info *module = &modules[i];

		parquet_text(file, MODULE_CAPTURE, export->file_id);
		parquet_text(file, MODULE_KIND, module_kind_name(module->kind));
		put_escaped(file, MODULE_PATH, module->path);
		put_escaped(file, MODULE_BUILD_ID, module->build_id);
		parquet_text(file, MODULE_STATE, module_state_name(module));
		put_escaped(file, MODULE_PROBLEM, module->problem);
		parquet_number(file, MODULE_HAS_DEBUG_INFO, module->has_debug_info);
		ok = parquet_end_row(file);
	}
	return ok;
}

static bool end_capture(void *state, struct session *session)
{
	(void)session;
	return put_capture(state) && put_modules(state);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void *export_open(const struct export_target *target)
{
	struct parquet_export *export = memory_get(sizeof(*export));

	stack_tree_init(&export->tree, (struct stack_visitor){ add_frame, add_node, export });
	/* Of the roots of traces without frames. */
	export->frames =
		memory_reserve_zeroed(NULL, &export->frames_capacity, 0, sizeof(*export->frames));
	for (size_t i = 0; i < FILES; i++)
		export->files[i] = parquet_create(target->fds[i], tables[i].columns, tables[i].n);
	return export;
}

static bool export_close(void *state, bool ok)
{
	struct parquet_export *export = state;
	int errnum = 0;

	for (size_t i = 0; i < FILES; i++) {
		/* Also after a failure, for its reason. */
		int one = parquet_finish(export->files[i]);

		errnum = errnum ? errnum : one;
		parquet_destroy(export->files[i]);
	}
	if (errnum)
		complain("cannot write: %s", strerror(errnum));
	for (size_t i = 0; i < export->frames_capacity; i++)
		free(export->frames[i].text);
	free(export->frames);
	free(export->nodes);
	free(export->written);
	reel_hash_index_free(&export->by_id);
	stack_tree_free(&export->tree);
	forget_texts(export);
	free(export->file_id);
	free(export->path);
	free(export);
	return ok && !errnum;
}

const struct export_format export_parquet = {
	.name = "parquet",
	.summary = "four Parquet files in a folder, for DuckDB, ClickHouse, Spark ...",
	.is_binary = true,
	.files = file_names,
	.open = export_open,
	.begin_capture = begin_capture,
	.add = add_sample,
	.end_capture = end_capture,
	.close = export_close,
};
