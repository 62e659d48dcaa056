/* SPDX-License-Identifier: Apache-2.0 */
/* Selected samples. */
#include <inttypes.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

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

static void put_chain(struct perf_data *data, const struct reel_field *chain, uint64_t context,
		      size_t n)
{
	if (!n)
		return;
	perf_put_u64(data, context);
	for (size_t i = 0; i < n; i++)
		perf_put_u64(data, chain->items[i].value);
}

static size_t n_that_fit(const struct reel_field *chain)
{
	const size_t most = 1000;

	return chain->n_items < most ? chain->n_items : most;
}

static void put_registers(struct perf_data *data, const struct reel_field *registers,
			  const struct perf_space *space)
{
	uint64_t values[64] = { 0 };

	if (!registers->n_items) {
		perf_put_u64(data, PERF_REGS_ABI_NONE);
		return;
	}
	perf_put_u64(data, space->word_bits == 32 ? PERF_REGS_ABI_32 : PERF_REGS_ABI_64);
	for (size_t i = 0; i < registers->n_items; i++) {
		const struct reel_field *slot = registers->items[i].items;
		int perf = reel_register_perf_number(space->machine, space->word_bits,
						     (uint16_t)slot[0].value);

		if (perf >= 0 && perf < 64)
			values[perf] = slot[2].value;
	}
	for (int i = 0; i < 64; i++) {
		if (data->regs_mask >> i & 1)
			perf_put_u64(data, values[i]);
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
static void put_stack(struct perf_data *data, const struct reel_record_view *record,
		      const struct perf_space *space)
{
	const struct reel_field *registers =
		perf_field_of(record->fields, record->n_fields, "registers");
	const struct reel_field *regions =
		perf_field_of(record->fields, record->n_fields, "regions");
	uint64_t sp = stack_pointer(registers, space), room = MAX_RECORD - 16 - data->size;

	for (size_t i = 0; i < regions->n_items; i++) {
		const struct reel_field *region = &regions->items[i];
		const struct reel_field *bytes =
			perf_field_of(region->items, region->n_items, "bytes");
		uint64_t below =
			sp - perf_field_of(region->items, region->n_items, "address")->value;
		uint64_t size = bytes->n_bytes - below;

		if (perf_field_of(region->items, region->n_items, "kind")->value ||
		    below >= bytes->n_bytes)
			continue;
		if (size > room) {
			data->cut++;
			size = room;
		}
		size &= ~7ull;
		perf_put_u64(data, size);
		perf_put_bytes(data, bytes->bytes + below, size);
		if (size)
			perf_put_u64(data, size);
		return;
	}
	perf_put_u64(data, 0);
}

void perf_take_sample(struct perf_data *data, const struct reel_record_view *record)
{
	const struct perf_thread *thread = perf_thread_of(data, perf_number_of(record, "thread"));
	const struct perf_space *space = perf_space_of(data, thread->space);
	const struct reel_field *kernel =
		perf_field_of(record->fields, record->n_fields, "kernel_chain");
	const struct reel_field *user =
		perf_field_of(record->fields, record->n_fields, "frame_chain");
	const struct reel_field *registers =
		perf_field_of(record->fields, record->n_fields, "registers");
	size_t n_kernel = n_that_fit(kernel), n_user = registers->n_items ? 0 : n_that_fit(user);

	if (!is_selected(data, perf_number_of(record, "id")))
		return;
	if (n_kernel < kernel->n_items)
		data->cut++;
	/* Without registers, the sample was somewhere in the kernel. */
	perf_begin_record(data, PERF_RECORD_SAMPLE,
			  n_kernel || !registers->n_items ? PERF_MISC_KERNEL : PERF_MISC_USER);
	perf_put_u64(data, perf_number_of(record, "event") + 1);
	perf_put_u64(data, n_kernel ? kernel->items[0].value : perf_number_of(record, "pc"));
	perf_put_u32(data, space->pid);
	perf_put_u32(data, thread->tid);
	perf_put_u64(data, perf_number_of(record, "time"));
	perf_put_u32(data, (uint32_t)perf_number_of(record, "cpu"));
	perf_put_u32(data, 0);
	perf_put_u64(data, perf_number_of(record, "weight"));
	perf_put_u64(data, (n_kernel ? n_kernel + 1 : 0) + (n_user ? n_user + 1 : 0));
	put_chain(data, kernel, (uint64_t)PERF_CONTEXT_KERNEL, n_kernel);
	put_chain(data, user, (uint64_t)PERF_CONTEXT_USER, n_user);
	put_registers(data, registers, space);
	put_stack(data, record, space);
	perf_end_record(data);
}
