/* SPDX-License-Identifier: Apache-2.0 */
/* reel_core_open and its relatives of include/stackreel.h. */
#include <stdlib.h>

#include "base/files.h"
#include "base/output_file.h"
#include "replay/core/core_state.h"

/* For a capture that does not state it. */
#define PAGE_SIZE_DEFAULT 4096

struct reel_error *reel_core_open(struct reel_capture *capture, uint64_t sample,
				  struct reel_core **ret)
{
	struct reel_core *core = calloc(1, sizeof(*core));
	struct reel_error *error;

	if (!core)
		return reel_error_no_memory();
	core->capture = capture;
	core->page_size = capture->info.page_size ? capture->info.page_size : PAGE_SIZE_DEFAULT;
	core->texts = reel_texts_create();
	error = core->texts ? reel_core_take_sample(core, sample) : reel_error_no_memory();
	if (error) {
		reel_core_close(core);
		return error;
	}
	*ret = core;
	return NULL;
}

void reel_core_close(struct reel_core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->n_pieces; i++)
		free(core->pieces[i].bytes);
	free(core->pieces);
	free(core->modules);
	free(core->files);
	reel_texts_destroy(core->texts);
	free(core);
}

const struct reel_core_info *reel_core_get_info(const struct reel_core *core)
{
	return &core->info;
}

const struct reel_core_module *reel_core_modules(const struct reel_core *core, size_t *count_ret)
{
	*count_ret = core->n_modules;
	return core->modules;
}

struct reel_error *reel_core_write(const struct reel_core *core, const char *path)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	struct reel_output_file file;
	struct reel_error *error = NULL;
	int failure;

	TRY(reel_core_make_file(core, &buffer));
	TRY(reel_output_file_open(path, REEL_PLACE_PRIVATE, reel_reader_fd(core->capture->reader),
				  &file));
	failure = reel_write_all(file.fd, buffer.bytes, buffer.size, NULL);
	if (failure)
		error = reel_error_os(failure, "cannot write %s", path);
	return reel_output_file_close(&file, error);
}
