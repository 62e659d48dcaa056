/* SPDX-License-Identifier: Apache-2.0 */
/* Names of variables: reel_capture_variable of include/commands.h. */
#include "replay/capture/capture.h"

/* A module's data follows its code; there may be mappings of parts of the code between. */
#define MAPPINGS_MAX 8

/* The module of the mapping's file, if the address is in one of its segments. */
static struct reel_error *module_around(struct reel_capture *capture,
					const struct reel_mapping *mapping, uint64_t address,
					struct reel_module **ret, uint64_t *bias_ret)
{
	struct reel_module *module;

	*ret = NULL;
	/* Traces in the mapping have set the CPU. */
	TRY(reel_modules_open(capture->modules, mapping->module, NULL, &module));
	if (module && module->record->kind == REEL_MODULE_FILE &&
	    reel_module_bias(module, mapping, bias_ret) &&
	    reel_elf_file_holds(module->files.file, address - *bias_ret))
		*ret = module;
	return NULL;
}

static struct reel_error *find_module(struct reel_capture *capture,
				      const struct reel_space_view *view, uint64_t address,
				      struct reel_module **ret, uint64_t *bias_ret)
{
	struct reel_mapping mapping;
	uint64_t at = address;

	*ret = NULL;
	for (size_t i = 0; i < MAPPINGS_MAX && !*ret; i++) {
		if (!reel_space_view_below(view, at, &mapping))
			return NULL;
		TRY(module_around(capture, &mapping, address, ret, bias_ret));
		at = mapping.address;
	}
	return NULL;
}

struct reel_error *reel_capture_variable(struct reel_capture *capture, uint64_t thread,
					 uint64_t time, uint64_t address, struct reel_variable *ret)
{
	uint64_t space = reel_timeline_thread_space(capture->timeline, thread, time);
	struct reel_space_view view = reel_timeline_view(capture->timeline, space, time);
	REEL_SIZED(reel_module_info, info);
	struct reel_module *module;
	struct reel_error *error;
	uint64_t bias;

	*ret = (struct reel_variable){ .name = "", .module_path = "" };
	if (!view.generation)
		return NULL;
	TRY(find_module(capture, &view, address, &module, &bias));
	if (!module)
		return NULL;
	TRY(reel_capture_module(capture, module->record->id, &info));
	ret->offset = address - bias;
	pthread_mutex_lock(module->naming);
	error = reel_symbolizer_look_up_variable(module->symbolizer, address - bias, &ret->name,
						 &ret->offset);
	pthread_mutex_unlock(module->naming);
	ret->module_id = info.id;
	ret->module_path = info.path;
	return error;
}
