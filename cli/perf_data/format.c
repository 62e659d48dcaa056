/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

static bool take_record(void *context, const struct reel_record_view *record)
{
	static const struct {
		const char *name;
		void (*take)(struct perf_data *data, const struct reel_record_view *record);
	} takers[] = { { "SAMPLE", perf_take_sample },	  { "MAP", perf_take_map },
		       { "MODULE", perf_take_module },	  { "SPACE", perf_take_space },
		       { "THREAD", perf_take_thread },	  { "THREAD_COMM", perf_take_comm },
		       { "THREAD_EXEC", perf_take_exec }, { "THREAD_EXIT", perf_take_exit } };
	struct perf_data *data = context;

	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
		if (!strcmp(record->name, takers[i].name))
			takers[i].take(data, record);
	}
	return !ferror(data->file);
}

static void *perf_data_open(const struct export_target *target)
{
	struct perf_data *data = memory_get(sizeof(*data));

	data->file = target->file;
	data->record = memory_get(MAX_RECORD);
	return data;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct perf_data *data = state;
	size_t n_hosts;

	reel_capture_hosts(session->capture, &n_hosts);
	if (data->n_captures++ || n_hosts) {
		complain("%s: perf.data holds a single host and recording; export each capture by "
			 "itself",
			 path);
		return false;
	}
	data->regs_mask = perf_registers_of(session->info->arch);
	data->big_endian = session->info->big_endian;
	data->page_size = session->info->page_size;
	return true;
}

static bool perf_data_add(void *state, const struct reel_trace *trace,
			  const struct reel_event_info *event)
{
	struct perf_data *data = state;
	struct id_run *run = data->n_runs ? &data->runs[data->n_runs - 1] : NULL;

	(void)event;
	if (run && trace->id == run->first + run->count) {
		run->count++;
		return true;
	}
	data->runs =
		memory_reserve(data->runs, &data->runs_capacity, data->n_runs, sizeof(*data->runs));
	data->runs[data->n_runs++] = (struct id_run){ trace->id, 1 };
	return true;
}

static bool end_capture(void *state, struct session *session)
{
	struct perf_data *data = state;

	data->capture = session->capture;
	if (!perf_print_head(data, session) ||
	    !no_error(reel_capture_visit_records(session->capture, take_record, data)))
		return false;
	if (data->cut && !session->options->quiet)
		complain("%" PRIu64 " samples have more stack than a perf.data record can hold (64 "
			 "kB); perf will not reach their roots",
			 data->cut);
	return true;
}

static bool perf_data_close(void *state, bool ok)
{
	struct perf_data *data = state;

	for (size_t i = 0; i < data->modules.n_slots; i++) {
		struct perf_module *module = data->modules.slots[i].value;

		if (module) {
			free(module->path);
			free(module->segments);
		}
	}
	perf_free_items(&data->modules);
	perf_free_items(&data->spaces);
	perf_free_items(&data->threads);
	free(data->runs);
	free(data->record);
	free(data);
	return ok;
}

const struct export_format export_perf_data = {
	.name = "perf.data",
	.summary = "registers, stacks and mappings, for perf to unwind",
	.open = perf_data_open,
	.begin_capture = begin_capture,
	.add = perf_data_add,
	.end_capture = end_capture,
	.close = perf_data_close,
};
