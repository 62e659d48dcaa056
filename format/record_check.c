/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that a record can hold but that have no meaning: SPEC.md, section 10, "Values out of
 * range".
 */
#include "format/schema.h"

static bool is_range(uint64_t address, uint64_t size)
{
	/* address + size <= 2^64, without the sum. */
	return size && address <= UINT64_MAX - (size - 1);
}

static const char *check_capture(const struct reel_record_capture *capture)
{
	if (capture->word_bits != 32 && capture->word_bits != 64)
		return "word_bits is not 32 or 64";
	if (capture->byte_order != REEL_BYTE_ORDER_LITTLE &&
	    capture->byte_order != REEL_BYTE_ORDER_BIG)
		return "unknown byte_order";
	if (capture->recording.size && capture->recording.size != REEL_FILE_ID_SIZE)
		return "recording is not 16 bytes";
	return NULL;
}

static const char *check_event(const struct reel_record_event *event)
{
	return event->weight_unit > REEL_WEIGHT_NANOSECONDS ? "unknown weight_unit" : NULL;
}

static const char *check_module(const struct reel_record_module *module)
{
	if (!module->id)
		return "id is 0";
	if (module->kind < REEL_MODULE_FILE || module->kind > REEL_MODULE_SPECIAL)
		return "unknown kind";
	return NULL;
}

static const char *check_image(const struct reel_record_image *image)
{
	if (image->total_size > REEL_IMAGE_MAX)
		return "total_size exceeds 16 MiB";
	if (image->offset > image->total_size ||
	    image->bytes.size > image->total_size - image->offset)
		return "bytes exceed the image";
	if (image->base > image->number)
		return "base is not an earlier image";
	return NULL;
}

static const char *check_space(const struct reel_record_space *space)
{
	if (!space->id)
		return "id is 0";
	if (space->origin > REEL_ORIGIN_SNAPSHOT)
		return "unknown origin";
	if (space->word_bits && space->word_bits != 32 && space->word_bits != 64)
		return "word_bits is not 32 or 64";
	if (space->byte_order > REEL_BYTE_ORDER_BIG)
		return "unknown byte_order";
	return NULL;
}

static const char *check_thread(const struct reel_record_thread *thread)
{
	if (!thread->id)
		return "id is 0";
	if (thread->origin > REEL_ORIGIN_SNAPSHOT || thread->origin == REEL_ORIGIN_EXEC)
		return "unknown origin";
	return NULL;
}

static const char *check_map(const struct reel_record_map *map)
{
	return is_range(map->address, map->size) ? NULL : "size is 0 or the end exceeds 2^64";
}

static const char *check_unmap(const struct reel_record_unmap *unmap)
{
	if (!is_range(unmap->address, unmap->size))
		return "size is 0 or the end exceeds 2^64";
	return unmap->how > REEL_UNMAP_INFERRED_ABSENT ? "unknown how" : NULL;
}

static const char *check_code(const struct reel_record_code *code)
{
	return is_range(code->address, code->bytes.size) ? NULL
							 : "no bytes, or their end exceeds 2^64";
}

static const char *check_code_end(const struct reel_record_code_end *end)
{
	return is_range(end->address, end->size) ? NULL : "size is 0 or the end exceeds 2^64";
}

static const char *check_jit_symbol(const struct reel_record_jit_symbol *symbol)
{
	if (!is_range(symbol->address, symbol->size))
		return "size is 0 or the end exceeds 2^64";
	if (symbol->source < REEL_JIT_PERF_MAP || symbol->source > REEL_JIT_ELF)
		return "unknown source";
	return NULL;
}

static const char *check_jit_unwind(const struct reel_record_jit_unwind *unwind)
{
	if (!is_range(unwind->address, unwind->size))
		return "size is 0 or the end exceeds 2^64";
	return unwind->section <= REEL_JIT_DEBUG_FRAME ? NULL : "unknown section";
}

static const char *check_trace_steps(const struct reel_record_trace_steps *record)
{
	struct reel_cursor steps = reel_cursor(record->steps.data, record->steps.size);
	uint64_t n = 0;

	if (!record->id || record->id > REEL_TRACE_STEPS_MAX)
		return "id is 0 or exceeds 2^20";
	if (record->stop >= REEL_STOP_COUNT)
		return "unknown stop";
	while (reel_cursor_left(&steps)) {
		uint64_t kind = reel_cursor_uleb(&steps), count = reel_cursor_uleb(&steps);

		if (steps.failed || kind >> 1 > REEL_STEP_OTHER_STACK)
			return "unknown steps";
		if (count > REEL_CHAIN_MAX - n || (!count && reel_cursor_left(&steps)))
			return "steps for more frames than a chain can have";
		n += count;
	}
	return NULL;
}

static const char *check_origin(const struct reel_record_origin *origin)
{
	if (!origin->id)
		return "id is 0";
	if (origin->file.size != REEL_FILE_ID_SIZE)
		return "file is not 16 bytes";
	if (origin->recording.size && origin->recording.size != REEL_FILE_ID_SIZE)
		return "recording is not 16 bytes";
	return NULL;
}

static const char *check_cgroup(const struct reel_record_cgroup *cgroup)
{
	return cgroup->id ? NULL : "id is 0";
}

static const char *check_function(const struct reel_record_function *function)
{
	struct reel_cursor lines = reel_cursor(function->lines.data, function->lines.size);

	if (!function->id || function->id > REEL_FUNCTION_MAX)
		return "id is 0 or exceeds 2^62 - 1";
	if (!function->runtime)
		return "runtime is 0";
	while (reel_cursor_left(&lines)) {
		(void)reel_cursor_uleb(&lines);
		(void)reel_cursor_zigzag(&lines);
	}
	return lines.failed ? "lines end within a pair" : NULL;
}

static const char *check_texts(const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);

	for (size_t i = 0; schema && i < schema->n_fields; i++) {
		struct reel_bytes bytes;

		if (schema->fields[i].kind != REEL_SCHEMA_TEXT)
			continue;
		bytes = reel_schema_bytes(&schema->fields[i], record);
		if (bytes.size && memchr(bytes.data, 0, bytes.size))
			return "a text contains a NUL";
	}
	return NULL;
}

const char *reel_record_check(const struct reel_record *record)
{
	const char *problem = NULL;

	switch (record->id) {
	case REEL_RECORD_CAPTURE:
		problem = check_capture(&record->capture);
		break;
	case REEL_RECORD_EVENT:
		problem = check_event(&record->event);
		break;
	case REEL_RECORD_MODULE:
		problem = check_module(&record->module);
		break;
	case REEL_RECORD_IMAGE:
		problem = check_image(&record->image);
		break;
	case REEL_RECORD_SPACE:
		problem = check_space(&record->space);
		break;
	case REEL_RECORD_THREAD:
		problem = check_thread(&record->thread);
		break;
	case REEL_RECORD_MAP:
		problem = check_map(&record->map);
		break;
	case REEL_RECORD_UNMAP:
		problem = check_unmap(&record->unmap);
		break;
	case REEL_RECORD_CODE:
		problem = check_code(&record->code);
		break;
	case REEL_RECORD_CODE_END:
		problem = check_code_end(&record->code_end);
		break;
	case REEL_RECORD_JIT_SYMBOL:
		problem = check_jit_symbol(&record->jit_symbol);
		break;
	case REEL_RECORD_JIT_UNWIND:
		problem = check_jit_unwind(&record->jit_unwind);
		break;
	case REEL_RECORD_TRACE_STEPS:
		problem = check_trace_steps(&record->trace_steps);
		break;
	case REEL_RECORD_ORIGIN:
		problem = check_origin(&record->origin);
		break;
	case REEL_RECORD_CGROUP:
		problem = check_cgroup(&record->cgroup);
		break;
	case REEL_RECORD_FUNCTION:
		problem = check_function(&record->function);
		break;
	case REEL_RECORD_MARK:
		problem = record->mark.kind ? NULL : "kind is 0";
		break;
	case REEL_RECORD_LOSS:
		if (record->loss.cause < REEL_LOSS_RING_FULL ||
		    record->loss.cause >= REEL_LOSS_COUNT)
			problem = "unknown cause";
		break;
	case REEL_RECORD_END:
		if (record->end.reason > REEL_END_CONVERTED)
			problem = "unknown reason";
		break;
	default:
		break;
	}
	return problem ? problem : check_texts(record);
}

const char *reel_sample_check(const struct reel_sample *sample)
{
	if (sample->where > REEL_WHERE_KERNEL_THREAD)
		return "unknown where";
	if (!sample->layout && sample->pc)
		return "pc without registers";
	for (size_t i = 0; i < sample->n_regions; i++) {
		if (sample->regions[i].kind > REEL_REGION_GOROUTINE_STATE)
			return "unknown region kind";
	}
	return NULL;
}
