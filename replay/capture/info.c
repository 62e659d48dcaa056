/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's properties, and the names of the API's enums. */
#include <stdlib.h>

#include "replay/capture/capture.h"

const char *reel_version(void)
{
	return REEL_VERSION_STRING;
}

const struct reel_capture_info *reel_capture_info(const struct reel_capture *capture)
{
	return &capture->info;
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
		.id = record->id,
		.kind = (enum reel_module_kind)record->kind,
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
	struct module_list list = { capture, ret, false };

	*ret = (struct reel_module_info){ 0 };
	pthread_mutex_lock(&capture->lock);
	reel_modules_visit_one(capture->modules, id, add_module_info, &list);
	pthread_mutex_unlock(&capture->lock);
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

const char *reel_mark_name(uint64_t kind)
{
	return kind == REEL_MARK_TRIGGER ? "trigger" : kind == REEL_MARK_NOTE ? "note" : "mark";
}

const char *reel_loss_name(enum reel_loss loss)
{
	switch (loss) {
	case REEL_LOSS_RING_FULL:
		return "ring buffer full";
	case REEL_LOSS_RING_BUSY:
		return "ring buffer busy";
	case REEL_LOSS_COPY_FAILED:
		return "stack bytes not readable";
	case REEL_LOSS_STACK_CUT:
		return "stack cut";
	case REEL_LOSS_PROCESS_EVENTS:
		return "process events lost";
	case REEL_LOSS_RECORDER:
		return "dropped by the recorder";
	case REEL_LOSS_THROTTLED:
		return "event throttled";
	case REEL_LOSS_MISSED:
		return "hits of functions and probes, or waits, missed";
	case REEL_LOSS_CPU_NOT_WATCHED:
		return "CPUs not recorded";
	case REEL_LOSS_LEFT_OUT:
		return "mappings and names left out";
	case REEL_LOSS_CODE:
		return "pages of JIT code left out";
	case REEL_LOSS_JIT:
		return "names of JIT or Python code left out";
	case REEL_LOSS_IMAGES:
		return "modules not embedded";
	case REEL_LOSS_WAITING:
		return "waits without samples";
	}
	return "unknown cause";
}

const char *reel_value_state_name(enum reel_value_state state)
{
	switch (state) {
	case REEL_VALUE_KNOWN:
		return "known";
	case REEL_VALUE_OPTIMIZED_OUT:
		return "optimized out";
	case REEL_VALUE_NOT_CAPTURED:
		break;
	}
	return "not captured";
}

const char *reel_state_name(enum reel_state state)
{
	switch (state) {
	case REEL_STATE_RUNNING:
		return "running";
	case REEL_STATE_BLOCKED:
		return "blocked";
	case REEL_STATE_PREEMPTED:
		return "preempted";
	case REEL_STATE_WOKEN:
		return "woken";
	}
	return "unknown";
}

const char *reel_stop_name(enum reel_stop stop)
{
	switch (stop) {
	case REEL_STOP_ROOT:
		return "root reached";
	case REEL_STOP_STACK_END:
		return "stack bytes ran out";
	case REEL_STOP_STACK_CUT:
		return "stack cut by the recorder";
	case REEL_STOP_NO_UNWIND_INFO:
		return "no unwind info";
	case REEL_STOP_BAD_UNWIND_INFO:
		return "bad unwind info";
	case REEL_STOP_NO_PROGRESS:
		return "no progress";
	case REEL_STOP_DEPTH_LIMIT:
		return "depth limit";
	case REEL_STOP_MODULE_MISSING:
		return "module missing";
	case REEL_STOP_NO_MAPPING:
		return "no mapping";
	case REEL_STOP_REGISTER_UNKNOWN:
		return "register unknown";
	case REEL_STOP_NO_USER_STATE:
		return "no user stack";
	case REEL_STOP_GUESSED_ROOT:
		return "root reached by a guess";
	case REEL_STOP_UNKNOWN_CPU:
		return "unknown CPU";
	case REEL_STOP_RECORDED_END:
		return "end of the recorded chain";
	case REEL_STOP_SCRUBBED:
		return "scrubbed away";
	case REEL_STOP_OTHER_STACK:
		return "on another stack";
	}
	return "unknown reason";
}
