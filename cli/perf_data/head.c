/* SPDX-License-Identifier: Apache-2.0 */
/* The data before all records: attributes of events, and features. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf_data/perf_data.h"

#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |    \
	 PERF_SAMPLE_STACK_USER)

static const uint8_t attr_flags[] = {
	PERF_ATTR_MMAP,		 PERF_ATTR_COMM,	  PERF_ATTR_TASK,
	PERF_ATTR_SAMPLE_ID_ALL, PERF_ATTR_EXCLUDE_GUEST, PERF_ATTR_EXCLUDE_CALLCHAIN_USER,
	PERF_ATTR_MMAP2,	 PERF_ATTR_COMM_EXEC,	  PERF_ATTR_USE_CLOCKID,
	PERF_ATTR_BUILD_ID,
};

#define ATTR_SIZE 96

/* For a sample's registers and all other fields except its chain. */
#define SAMPLE_ROOM (4096 - 8)

static uint64_t flags_of(uint64_t frequency)
{
	uint64_t flags = frequency ? UINT64_C(1) << PERF_ATTR_FREQ : 0;

	for (size_t i = 0; i < sizeof(attr_flags); i++)
		flags |= UINT64_C(1) << attr_flags[i];
	return flags;
}

static void append_attr(struct perf_data *data, const struct reel_record_view *record)
{
	uint64_t frequency = perf_number_of(record, "frequency");

	perf_append_u32(data, (uint32_t)perf_number_of(record, "perf_type"));
	perf_append_u32(data, ATTR_SIZE);
	perf_append_u64(data, perf_number_of(record, "perf_config"));
	perf_append_u64(data, frequency ? frequency : perf_number_of(record, "period"));
	perf_append_u64(data, SAMPLE_TYPE);
	perf_append_u64(data, 0); /* read_format */
	perf_append_u64(data, flags_of(frequency));
	perf_append_u64(data, 0); /* wakeup_events, bp_type */
	perf_append_u64(data, 0); /* config1 */
	perf_append_u64(data, 0); /* config2 */
	perf_append_u64(data, 0); /* branch_sample_type */
	perf_append_u64(data, data->regs_mask);
	perf_append_u32(data, MAX_RECORD - SAMPLE_ROOM); /* sample_stack_user */
	perf_append_u32(data, PERF_CLOCK_MONOTONIC);
}

/* The id by which samples name the event: 0 would mean none. */
static uint64_t event_id(const struct reel_record_view *record)
{
	return perf_number_of(record, "id") + 1;
}

static bool write_attr(void *context, const struct reel_record_view *record)
{
	struct perf_data *data = context;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	perf_begin_record(data, PERF_RECORD_HEADER_ATTR, 0);
	append_attr(data, record);
	perf_append_u64(data, event_id(record));
	perf_end_record(data);
	data->n_events++;
	return true;
}

/* All registers that the CPU's samples can have. */
uint64_t perf_registers_of(const char *arch)
{
	static const struct {
		const char *name;
		uint16_t machine;
		uint32_t word_bits;
	} known[] = { { "x86_64", 62, 64 },
		      { "i386", 3, 32 },
		      { "aarch64", 183, 64 },
		      { "riscv64", 243, 64 },
		      { "s390x", 22, 64 } };
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (uint16_t dwarf = 0; !strcmp(known[i].name, arch) && dwarf < 128; dwarf++) {
			int perf = reel_register_perf_number(known[i].machine, known[i].word_bits,
							     dwarf);

			mask |= perf >= 0 && perf < 64 ? 1ull << perf : 0;
		}
	}
	return mask;
}

static void append_feature_text(struct perf_data *data, const char *value)
{
	size_t length = strlen(value) < MAX_TEXT ? strlen(value) : MAX_TEXT - 1;

	perf_append_u32(data, (uint32_t)(length / 8 * 8 + 8));
	perf_append_text(data, value);
}

static void begin_feature(struct perf_data *data, uint64_t feature)
{
	perf_begin_record(data, PERF_RECORD_FEATURE, 0);
	perf_append_u64(data, feature);
}

static void end_feature(struct perf_data *data)
{
	if (data->size % 8)
		perf_append_u32(data, 0);
	perf_end_record(data);
}

static void write_feature(struct perf_data *data, uint64_t feature, const char *value)
{
	if (!*value || strlen(value) >= MAX_TEXT)
		return;
	begin_feature(data, feature);
	/* A list of one. */
	if (feature == PERF_FEATURE_CMDLINE)
		perf_append_u32(data, 1);
	append_feature_text(data, value);
	end_feature(data);
}

static bool append_event(void *context, const struct reel_record_view *record)
{
	_cleanup_free_ char *name = NULL;
	struct perf_data *data = context;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	name = perf_text_of(record, "name");
	append_attr(data, record);
	perf_append_u32(data, 1);
	append_feature_text(data, name);
	perf_append_u64(data, event_id(record));
	return true;
}

/* If a record cannot hold all events, omit the names: perf derives them from the numbers. */
static bool write_events(struct perf_data *data, struct session *session)
{
	const size_t most = 12;

	if (data->n_events > most)
		return true;
	begin_feature(data, PERF_FEATURE_EVENT_DESC);
	perf_append_u32(data, data->n_events);
	perf_append_u32(data, ATTR_SIZE);
	if (!no_error(reel_capture_visit_side_records(session->capture, append_event, data)))
		return false;
	end_feature(data);
	return true;
}

static void write_kernel_build_id(struct perf_data *data, const char *digits)
{
	uint8_t id[24] = { 0 };
	size_t size = strlen(digits) / 2;

	size = size < 20 ? size : 20;
	for (size_t i = 0; i < size; i++) {
		char byte[3] = { digits[2 * i], digits[2 * i + 1] };

		id[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	if (!size)
		return;
	id[20] = (uint8_t)size;
	perf_begin_record(data, PERF_RECORD_BUILD_ID, PERF_MISC_KERNEL | PERF_MISC_BUILD_ID_SIZE);
	perf_append_u32(data, NOBODY);
	perf_append_bytes(data, id, sizeof(id));
	perf_append_text(data, "[kernel.kallsyms]");
	/* perf reads the name after its header, whose size is not a multiple of 8. */
	perf_append_u32(data, 0);
	perf_end_record(data);
}

bool perf_write_head(struct perf_data *data, struct session *session)
{
	const struct reel_capture_info *info = session->info;

	data->size = 0;
	perf_append_u64(data, PERF_MAGIC);
	perf_append_u64(data, PERF_PIPE_HEADER_SIZE);
	fwrite(data->record, 1, data->size, data->file);
	if (!no_error(reel_capture_visit_side_records(session->capture, write_attr, data)))
		return false;
	write_feature(data, PERF_FEATURE_HOSTNAME, info->hostname);
	write_feature(data, PERF_FEATURE_OSRELEASE, info->kernel_release);
	write_feature(data, PERF_FEATURE_ARCH,
		      strcmp(info->arch, "i386") != 0 ? info->arch : "i686");
	write_feature(data, PERF_FEATURE_CMDLINE, info->command_line);
	if (!write_events(data, session))
		return false;
	write_kernel_build_id(data, info->kernel_build_id);
	return true;
}
