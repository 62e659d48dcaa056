/* SPDX-License-Identifier: Apache-2.0 */
#include "format/perf/perf_abi.h"
#include "replay/import/perf_sample.h"

uint64_t reel_perf_word(struct perf_words words, uint64_t index, bool big_endian)
{
	uint64_t word = reel_load64(words.bytes + 8 * index);

	return big_endian ? __builtin_bswap64(word) : word;
}

/* `count` words; fails if there are fewer. */
static struct perf_words take_words(struct perf_cursor *cursor, uint64_t count)
{
	struct perf_words words = { NULL, count };

	words.bytes = perf_cursor_take(cursor, count > UINT64_MAX / 8 ? UINT64_MAX : 8 * count);
	if (!words.bytes)
		words.count = 0;
	return words;
}

static void skip(struct perf_cursor *cursor, uint64_t size)
{
	(void)perf_cursor_take(cursor, size);
}

/* struct read_format. */
static void skip_read(struct perf_cursor *cursor, uint64_t format)
{
	uint64_t value = 8 * (1 + !!(format & PERF_READ_ID) + !!(format & PERF_READ_LOST));
	uint64_t times = 8 * (!!(format & PERF_READ_TOTAL_TIME_ENABLED) +
			      !!(format & PERF_READ_TOTAL_TIME_RUNNING));
	uint64_t count;

	if (!(format & PERF_READ_GROUP)) {
		skip(cursor, value + times);
		return;
	}
	count = perf_cursor_u64(cursor);
	skip(cursor, times);
	skip(cursor, count > UINT64_MAX / value ? UINT64_MAX : count * value);
}

static struct perf_words take_branches(struct perf_cursor *cursor, uint64_t branch_sample_type)
{
	uint64_t count = perf_cursor_u64(cursor);
	struct perf_words words;

	if (branch_sample_type & PERF_BRANCH_HW_INDEX)
		skip(cursor, 8);
	words = take_words(cursor, count > UINT64_MAX / PERF_BRANCH_WORDS
					   ? UINT64_MAX
					   : PERF_BRANCH_WORDS * count);
	if (branch_sample_type & PERF_BRANCH_COUNTERS)
		(void)take_words(cursor, count);
	return words;
}

static void take_registers(struct perf_cursor *cursor, const struct perf_event *event,
			   struct perf_sample *sample)
{
	sample->registers_abi = perf_cursor_u64(cursor);
	if (sample->registers_abi != PERF_REGS_ABI_NONE)
		sample->registers =
			take_words(cursor, (uint64_t)__builtin_popcountll(event->user_registers));
}

/* The kernel reserves `stack_room` bytes, followed by the number of bytes it could copy. */
static const char *take_stack(struct perf_cursor *cursor, struct perf_sample *sample)
{
	sample->stack_room = perf_cursor_u64(cursor);
	if (!sample->stack_room)
		return NULL;
	sample->stack = perf_cursor_take(cursor, sample->stack_room);
	sample->stack_size = perf_cursor_u64(cursor);
	if (sample->stack_size > sample->stack_room)
		return "stack exceeds the record";
	return NULL;
}

/* In the order of perf_output_sample (kernel/events/core.c). */
const char *reel_perf_sample_decode(const struct perf_event *event, struct perf_cursor cursor,
				    struct perf_sample *ret)
{
	uint64_t type = event->sample_type;
	const char *problem = NULL;

	*ret = (struct perf_sample){ .event = event, .cpu = UINT32_MAX, .pid = UINT32_MAX };
	ret->tid = UINT32_MAX;
	ret->period = event->flags >> PERF_ATTR_FREQ & 1 ? 1 : event->period_or_frequency;
	if (type & PERF_SAMPLE_IDENTIFIER)
		skip(&cursor, 8);
	if (type & PERF_SAMPLE_IP)
		ret->ip = perf_cursor_u64(&cursor);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = perf_cursor_u32(&cursor);
		ret->tid = perf_cursor_u32(&cursor);
	}
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR) +
				     !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU) {
		ret->cpu = perf_cursor_u32(&cursor);
		skip(&cursor, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		ret->period = perf_cursor_u64(&cursor);
	if (type & PERF_SAMPLE_READ)
		skip_read(&cursor, event->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		ret->chain = take_words(&cursor, perf_cursor_u64(&cursor));
	if (type & PERF_SAMPLE_RAW)
		skip(&cursor, perf_cursor_u32(&cursor));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		ret->branches = take_branches(&cursor, event->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(&cursor, event, ret);
	if (type & PERF_SAMPLE_STACK_USER)
		problem = take_stack(&cursor, ret);
	if (cursor.bytes.failed)
		return "sample is shorter than its event requires";
	return problem;
}

uint64_t reel_perf_sample_time(const struct perf_event *event, struct perf_cursor cursor)
{
	uint64_t type = event->sample_type;

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP) +
				     !!(type & PERF_SAMPLE_TID)));
	return perf_cursor_u64(&cursor);
}

/* perf_event__output_id_sample: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER. */
void reel_perf_sample_id_decode(const struct perf_event *event, struct perf_cursor cursor,
				struct perf_sample_id *ret)
{
	static const uint64_t parts = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				      PERF_SAMPLE_IDENTIFIER;
	uint64_t type = event->sample_type;
	size_t size = 8 * (size_t)__builtin_popcountll(type & parts);

	*ret = (struct perf_sample_id){ 0, UINT32_MAX, UINT32_MAX };
	if (!(event->flags >> PERF_ATTR_SAMPLE_ID_ALL & 1) || perf_cursor_left(&cursor) < size)
		return;
	skip(&cursor, perf_cursor_left(&cursor) - size);
	if (type & PERF_SAMPLE_TID) {
		skip(&cursor, 4);
		ret->tid = perf_cursor_u32(&cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time = perf_cursor_u64(&cursor);
	skip(&cursor, 8 * (uint64_t)(!!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU)
		ret->cpu = perf_cursor_u32(&cursor);
}
