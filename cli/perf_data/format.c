/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

/* ---- selected samples ------------------------------------------------------------------------ */

/* Whether the sample was selected; samples arrive in the same order as traces. */
static bool is_selected(struct perf_data *data, uint64_t id)
{
	const struct id_run *run = &data->runs[data->run];

	if (data->run == data->n_runs || id != run->first + data->run_done)
		return false;
	if (++data->run_done == run->count) {
		data->run++;
		data->run_done = 0;
	}
	return true;
}

static void append_chain(struct perf_data *data, const struct reel_field *chain, uint64_t context,
			 size_t n)
{
	if (!n)
		return;
	perf_append_u64(data, context);
	for (size_t i = 0; i < n; i++)
		perf_append_u64(data, chain->items[i].value);
}

static size_t n_that_fit(const struct reel_field *chain)
{
	const size_t most = 1000;

	return chain->n_items < most ? chain->n_items : most;
}

static void append_registers(struct perf_data *data, const struct reel_field *registers,
			     const struct perf_space *space)
{
	uint64_t values[64] = { 0 };

	if (!registers->n_items) {
		perf_append_u64(data, PERF_REGS_ABI_NONE);
		return;
	}
	perf_append_u64(data, space->word_bits == 32 ? PERF_REGS_ABI_32 : PERF_REGS_ABI_64);
	for (size_t i = 0; i < registers->n_items; i++) {
		const struct reel_field *slot = registers->items[i].items;
		int perf = reel_register_perf_number(space->machine, space->word_bits,
						     (uint16_t)slot[0].value);

		if (perf >= 0 && perf < 64)
			values[perf] = slot[2].value;
	}
	for (int i = 0; i < 64; i++) {
		if (data->regs_mask >> i & 1)
			perf_append_u64(data, values[i]);
	}
}

static uint64_t stack_pointer(const struct reel_field *registers, const struct perf_space *space)
{
	static const struct {
		uint16_t machine, dwarf;
	} known[] = { { 62, 7 }, { 3, 4 }, { 183, 31 }, { 243, 2 }, { 22, 15 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (size_t j = 0; known[i].machine == space->machine && j < registers->n_items;
		     j++) {
			if (registers->items[j].items[0].value == known[i].dwarf)
				return registers->items[j].items[2].value;
		}
	}
	return 0;
}

/* perf's copy begins at sp; ours may begin below. */
static void append_stack(struct perf_data *data, const struct reel_record_view *record,
			 const struct perf_space *space)
{
	const struct reel_field *registers = perf_field_of(record, "registers");
	const struct reel_field *regions = perf_field_of(record, "regions");
	uint64_t sp = stack_pointer(registers, space), room = MAX_RECORD - 16 - data->size;

	for (size_t i = 0; i < regions->n_items; i++) {
		const struct reel_field *region = &regions->items[i];
		const struct reel_field *bytes = perf_subfield_of(region, "bytes");
		uint64_t below = sp - perf_subfield_of(region, "address")->value;
		uint64_t size = bytes->n_bytes - below;

		if (perf_subfield_of(region, "kind")->value || below >= bytes->n_bytes)
			continue;
		if (size > room) {
			data->cut++;
			size = room;
		}
		size &= ~7ull;
		perf_append_u64(data, size);
		perf_append_bytes(data, bytes->bytes + below, size);
		if (size)
			perf_append_u64(data, size);
		return;
	}
	perf_append_u64(data, 0);
}

static void write_sample(struct perf_data *data, const struct reel_record_view *record)
{
	const struct perf_thread *thread = perf_thread_of(data, perf_number_of(record, "thread"));
	const struct perf_space *space = perf_space_of(data, thread->space);
	const struct reel_field *kernel = perf_field_of(record, "kernel_chain");
	const struct reel_field *user = perf_field_of(record, "frame_chain");
	const struct reel_field *registers = perf_field_of(record, "registers");
	size_t n_kernel = n_that_fit(kernel), n_user = registers->n_items ? 0 : n_that_fit(user);

	if (!is_selected(data, perf_number_of(record, "id")))
		return;
	if (n_kernel < kernel->n_items)
		data->cut++;
	/* Without registers, the sample was somewhere in the kernel. */
	perf_begin_record(data, PERF_RECORD_SAMPLE,
			  n_kernel || !registers->n_items ? PERF_MISC_KERNEL : PERF_MISC_USER);
	perf_append_u64(data, perf_number_of(record, "event") + 1);
	perf_append_u64(data, n_kernel ? kernel->items[0].value : perf_number_of(record, "pc"));
	perf_append_u32(data, space->pid);
	perf_append_u32(data, thread->tid);
	perf_append_u64(data, perf_number_of(record, "time"));
	perf_append_u32(data, (uint32_t)perf_number_of(record, "cpu"));
	perf_append_u32(data, 0);
	perf_append_u64(data, perf_number_of(record, "weight"));
	perf_append_u64(data, (n_kernel ? n_kernel + 1 : 0) + (n_user ? n_user + 1 : 0));
	append_chain(data, kernel, (uint64_t)PERF_CONTEXT_KERNEL, n_kernel);
	append_chain(data, user, (uint64_t)PERF_CONTEXT_USER, n_user);
	append_registers(data, registers, space);
	append_stack(data, record, space);
	perf_end_record(data);
}

/* ---- the format ------------------------------------------------------------------------------ */

static bool write_record(void *context, const struct reel_record_view *record)
{
	static const struct {
		const char *name;
		void (*write)(struct perf_data *data, const struct reel_record_view *record);
	} writers[] = { { "SAMPLE", write_sample },	    { "MAP", perf_write_map },
			{ "MODULE", perf_keep_module },	    { "SPACE", perf_keep_space },
			{ "THREAD", perf_write_thread },    { "THREAD_COMM", perf_write_comm },
			{ "THREAD_EXEC", perf_write_exec }, { "THREAD_EXIT", perf_write_exit } };
	struct perf_data *data = context;

	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		if (!strcmp(record->name, writers[i].name))
			writers[i].write(data, record);
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
	if (!perf_write_head(data, session) ||
	    !no_error(reel_capture_visit_records(session->capture, write_record, data)))
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
