/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's properties, and the names of the API's enums. */
#include <stdlib.h>

#include "base/sized.h"
#include "replay/capture/capture.h"

const char *reel_version(void)
{
	return REEL_VERSION_STRING;
}

const struct reel_capture_info *reel_capture_info(const struct reel_capture *capture)
{
	return &capture->info;
}

const char *reel_capture_locked(const struct reel_capture *capture)
{
	return capture->locked;
}

uint32_t reel_capture_owner(const struct reel_capture *capture)
{
	return reel_reader_owner(capture->reader);
}

const struct reel_capture_problem *reel_capture_problems(struct reel_capture *capture,
							 size_t *count_ret)
{
	pthread_mutex_lock(&capture->lock);
	*count_ret = capture->n_problems;
	pthread_mutex_unlock(&capture->lock);
	return capture->problems;
}

const struct reel_mark_info *reel_capture_marks(const struct reel_capture *capture,
						size_t *count_ret)
{
	*count_ret = capture->n_marks;
	return capture->marks;
}

const struct reel_loss_info *reel_capture_losses(const struct reel_capture *capture,
						 size_t *count_ret)
{
	*count_ret = capture->n_losses;
	return capture->losses;
}

const struct reel_host_info *reel_capture_hosts(const struct reel_capture *capture,
						size_t *count_ret)
{
	return reel_origins_hosts(capture->origins, count_ret);
}

const struct reel_event_info *reel_capture_events(const struct reel_capture *capture,
						  size_t *count_ret)
{
	*count_ret = capture->n_events;
	return capture->events;
}

const struct reel_event_info *reel_capture_event(const struct reel_capture *capture, uint32_t id)
{
	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].id == id)
			return &capture->events[i];
	return NULL;
}

const char *const *reel_capture_value_keys(const struct reel_capture *capture, uint32_t event)
{
	const struct reel_value_keys *keys =
		(const struct reel_value_keys *)reel_id_table_find(&capture->value_keys, event);

	return keys ? keys->keys : NULL;
}

static const char *path_of(const struct reel_elf_file *file)
{
	return file ? reel_elf_file_path(file) : "";
}

/* The reason why the module or its debug information is unusable; NULL: no memory. */
static const char *problem_of(struct reel_capture *capture, const struct reel_module *module)
{
	const struct reel_arch *mismatch = reel_module_mismatch(module);
	const struct reel_elf_file *file = module->files.file;
	_cleanup_free_ char *text = NULL;
	const char *problem = module->files.problem;

	if (mismatch) {
		text = reel_text_print("%s: ELF machine %u of %u bits, the process is %s",
				       reel_elf_file_path(file), reel_elf_file_machine(file),
				       reel_elf_file_word_bits(file), mismatch->name);
		return text ? reel_texts_add_string(capture->texts, text) : NULL;
	}
	if (!problem && module->symbolizer)
		problem = reel_symbolizer_problem(module->symbolizer);
	return problem ? problem : "";
}

static enum reel_module_state state_of(const struct reel_module *module)
{
	if (!module->opened)
		return REEL_MODULE_UNUSED;
	return reel_module_mismatch(module) ? REEL_MODULE_BROKEN : module->files.state;
}

static bool has_symbols(const struct reel_capture *capture, uint64_t module)
{
	size_t n;
	const struct reel_kernel_symbol *all =
		reel_kernel_symbol_map_all(capture->kernel_symbols, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i].module_id == module && *all[i].name)
			return true;
	return false;
}

/* Whether the capture has its names or code; searched only if that matters. */
static bool is_recorded(const struct reel_capture *capture, const struct reel_module *module)
{
	const struct reel_record_module *record = module->record;

	if (!module->opened || module->files.file || module->files.debug)
		return false;
	if (record->kind == REEL_MODULE_ANONYMOUS)
		return reel_timeline_has_code(capture->timeline, record->id);
	return (record->kind == REEL_MODULE_KERNEL || record->kind == REEL_MODULE_KERNEL_MODULE) &&
	       has_symbols(capture, record->id);
}

static bool is_embedded(const struct reel_module *module)
{
	return module->files.file && reel_elf_file_is_embedded(module->files.file);
}

/* For reel_modules_visit. */
struct module_list {
	struct reel_capture *capture;
	struct reel_module_info *next; /* to fill in */
	bool lacks_memory;
};

static bool has_debug_info(const struct reel_elf_file *file)
{
	return file && !reel_elf_file_is_embedded(file) && reel_elf_file_has_debug_info(file);
}

static void add_module_info(void *context, const struct reel_module *module)
{
	struct module_list *list = context;
	struct reel_capture *capture = list->capture;
	const struct reel_record_module *record = module->record;
	const struct reel_module_info info = {
		.size = sizeof(info),
		.id = record->id,
		.kind = record->kind && record->kind < REEL_MODULE_SPECIAL
				? (enum reel_module_kind)record->kind
				: REEL_MODULE_SPECIAL,
		.state = state_of(module),
		.path = reel_texts_add(capture->texts, record->path.data, record->path.size),
		.build_id = reel_texts_add_hex(capture->texts, record->build_id),
		.local_path = module->is_shared	    ? module->local_path
			      : is_embedded(module) ? ""
						    : path_of(module->files.file),
		.debug_path = module->is_shared ? module->debug_path : path_of(module->files.debug),
		.problem = problem_of(capture, module),
		.frames = capture->module_frames[module->index],
		.unchecked = module->opened && module->files.unchecked,
		.embedded = module->opened && is_embedded(module),
		.has_debug_info =
			has_debug_info(module->files.file) || has_debug_info(module->files.debug),
		.recorded = is_recorded(capture, module),
	};

	list->lacks_memory |= !info.path || !info.build_id || !info.problem;
	*list->next++ = info;
}

struct reel_error *reel_capture_modules(struct reel_capture *capture, struct reel_module_info **ret,
					size_t *count_ret)
{
	_cleanup_free_ struct reel_module_info *infos =
		calloc(reel_modules_count(capture->modules) + 1, sizeof(*infos));
	struct module_list list = { capture, infos, !infos };

	if (infos) {
		pthread_mutex_lock(&capture->lock);
		reel_modules_visit(capture->modules, add_module_info, &list);
		pthread_mutex_unlock(&capture->lock);
	}
	if (list.lacks_memory)
		return reel_error_no_memory();
	*count_ret = (size_t)(list.next - infos);
	*ret = infos;
	infos = NULL;
	return NULL;
}

struct reel_error *reel_capture_module(struct reel_capture *capture, uint64_t id,
				       struct reel_module_info *ret)
{
	struct reel_module_info info = { 0 };
	struct module_list list = { capture, &info, false };

	pthread_mutex_lock(&capture->lock);
	reel_modules_visit_one(capture->modules, id, add_module_info, &list);
	pthread_mutex_unlock(&capture->lock);
	reel_sized_give(ret, sizeof(info), &info);
	return list.lacks_memory ? reel_error_no_memory() : NULL;
}

bool reel_capture_has_module_file(struct reel_capture *capture, const char *path)
{
	return reel_modules_have_file(capture->modules, path);
}

bool reel_capture_segment(struct reel_capture *capture, uint64_t module_id, uint64_t address,
			  struct reel_segment *ret)
{
	const struct reel_module *module = reel_modules_opened(capture->modules, module_id);

	return module && module->files.file &&
	       reel_elf_file_code_segment(module->files.file, address, ret);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *name_of(const char *const *names, size_t n, size_t value, const char *unknown)
{
	return value < n && names[value] ? names[value] : unknown;
}
#define NAME_OF(names, value, unknown)                                                             \
	name_of(names, sizeof(names) / sizeof(*(names)), value, unknown)

const char *reel_mark_name(uint64_t kind)
{
	static const char *const names[] = {
		[REEL_MARK_TRIGGER] = "trigger",
		[REEL_MARK_NOTE] = "note",
		[REEL_MARK_STEP] = "step",
		[REEL_MARK_CLOCK] = "clock",
		[REEL_MARK_JUMP] = "jump",
	};

	return NAME_OF(names, kind, "mark");
}

const char *reel_loss_name(enum reel_loss loss)
{
	static const char *const names[] = {
		[REEL_LOSS_OTHER] = "lost for a reason that a newer version knows",
		[REEL_LOSS_RING_FULL] = "ring buffer full",
		[REEL_LOSS_RING_BUSY] = "ring buffer busy",
		[REEL_LOSS_COPY_FAILED] = "stack bytes not readable",
		[REEL_LOSS_STACK_CUT] = "stack cut",
		[REEL_LOSS_PROCESS_EVENTS] = "process events lost",
		[REEL_LOSS_RECORDER] = "dropped by the recorder",
		[REEL_LOSS_THROTTLED] = "event throttled",
		[REEL_LOSS_MISSED] = "hits of functions and probes, or waits, missed",
		[REEL_LOSS_CPU_NOT_WATCHED] = "CPUs not recorded",
		[REEL_LOSS_LEFT_OUT] = "mappings and names left out",
		[REEL_LOSS_CODE] = "pages of JIT code left out",
		[REEL_LOSS_JIT] = "names of JIT or Python code left out",
		[REEL_LOSS_IMAGES] = "modules not embedded",
		[REEL_LOSS_WAITING] = "waits without samples",
	};

	_Static_assert(sizeof(names) / sizeof(*names) == REEL_LOSS_COUNT, "a name for each loss");
	return NAME_OF(names, loss, "unknown cause");
}

const char *reel_value_state_name(enum reel_value_state state)
{
	static const char *const names[] = {
		[REEL_VALUE_KNOWN] = "known",
		[REEL_VALUE_OPTIMIZED_OUT] = "optimized out",
	};

	return NAME_OF(names, state, "not captured");
}

const char *reel_state_name(enum reel_state state)
{
	static const char *const names[] = {
		[REEL_STATE_RUNNING] = "running",
		[REEL_STATE_BLOCKED] = "blocked",
		[REEL_STATE_PREEMPTED] = "preempted",
		[REEL_STATE_WOKEN] = "woken",
	};

	return NAME_OF(names, state, "unknown");
}

const char *reel_stop_name(enum reel_stop stop)
{
	static const char *const names[] = {
		[REEL_STOP_ROOT] = "root reached",
		[REEL_STOP_STACK_END] = "stack bytes ran out",
		[REEL_STOP_STACK_CUT] = "stack cut by the recorder",
		[REEL_STOP_NO_UNWIND_INFO] = "no unwind info",
		[REEL_STOP_BAD_UNWIND_INFO] = "bad unwind info",
		[REEL_STOP_NO_PROGRESS] = "no progress",
		[REEL_STOP_DEPTH_LIMIT] = "depth limit",
		[REEL_STOP_MODULE_MISSING] = "module missing",
		[REEL_STOP_NO_MAPPING] = "no mapping",
		[REEL_STOP_REGISTER_UNKNOWN] = "register unknown",
		[REEL_STOP_NO_USER_STATE] = "no user stack",
		[REEL_STOP_GUESSED_ROOT] = "root reached by a guess",
		[REEL_STOP_UNKNOWN_CPU] = "unknown CPU",
		[REEL_STOP_RECORDED_END] = "end of the recorded chain",
		[REEL_STOP_SCRUBBED] = "scrubbed away",
		[REEL_STOP_OTHER_STACK] = "on another stack",
	};

	return NAME_OF(names, stop, "unknown reason");
}
