/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass: the recording's description of itself, and the time of each record. */
#include <stdlib.h>

#include "base/array.h"
#include "replay/import/importer.h"
#include "format/perf/kallsyms.h"
#include "format/perf/perf_records.h"

static struct reel_error *seal_events(struct importer *importer)
{
	struct reel_error *error =
		importer->events_sealed ? NULL : reel_perf_events_seal(&importer->events);

	importer->events_sealed = !error;
	return error ? reel_error_prefix(error, "%s", importer->stream.file.name) : NULL;
}

/* HEADER_EVENT_DESC: u32 count, u32 size of an attribute, then for each: attribute, u32 number of
 * ids, name, ids. */
static struct reel_error *name_events(struct importer *importer, struct perf_cursor cursor)
{
	uint32_t count = perf_cursor_u32(&cursor), size = perf_cursor_u32(&cursor);

	for (uint32_t i = 0; i < count && !cursor.bytes.failed; i++) {
		struct reel_bytes name;
		uint32_t ids;

		(void)perf_cursor_take(&cursor, size);
		ids = perf_cursor_u32(&cursor);
		name = perf_cursor_padded(&cursor);
		for (uint32_t j = 0; j < ids && !cursor.bytes.failed; j++)
			TRY(reel_perf_events_name(&importer->events, perf_cursor_u64(&cursor),
						  name));
		/* A single event may have no ids. */
		if (!ids && count == 1 && importer->events.n_events == 1 && name.size &&
		    !importer->events.events[0].name) {
			importer->events.events[0].name =
				strndup((const char *)name.data, name.size);
			if (!importer->events.events[0].name)
				return reel_error_no_memory();
		}
	}
	return NULL;
}

/* struct perf_record_header_build_id after its header: s32 pid, 20 bytes, u8 size, 3 more, name. */
static struct reel_error *read_build_id(struct importer *importer, uint16_t misc,
					struct perf_cursor cursor)
{
	struct reel_bytes build_id = { NULL, 20 }, name;

	(void)perf_cursor_u32(&cursor);
	build_id.data = perf_cursor_take(&cursor, 24);
	name = perf_cursor_string(&cursor);
	if (cursor.bytes.failed)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: a build-id with an unterminated name",
					 importer->stream.file.name);
	if (misc & PERF_MISC_BUILD_ID_SIZE && build_id.data[20] <= 20) {
		build_id.size = build_id.data[20];
	} else {
		/* If the size is missing, zeros at the end are not part of the build-id. */
		while (build_id.size && !build_id.data[build_id.size - 1])
			build_id.size--;
		build_id.size = (build_id.size + 3) & ~(size_t)3;
	}
	if (!build_id.size || !name.size)
		return NULL;
	return reel_import_modules_name(importer->modules, name, build_id);
}

/* HEADER_BUILD_ID: a sequence of such records. */
static struct reel_error *read_build_ids(struct importer *importer, struct perf_cursor cursor)
{
	while (perf_cursor_left(&cursor)) {
		struct perf_cursor payload;
		const uint8_t *bytes;
		uint16_t misc, size;

		(void)perf_cursor_u32(&cursor);
		misc = perf_cursor_u16(&cursor);
		size = perf_cursor_u16(&cursor);
		bytes = size < PERF_RECORD_HEADER
				? NULL
				: perf_cursor_take(&cursor, size - (uint64_t)PERF_RECORD_HEADER);
		if (!bytes)
			return reel_error_create(REEL_ERROR_CORRUPT,
						 "%s: damaged list of build-ids",
						 importer->stream.file.name);
		payload = perf_cursor(bytes, size - (size_t)PERF_RECORD_HEADER, cursor.big_endian);
		TRY(read_build_id(importer, misc, payload));
	}
	return NULL;
}

static struct reel_error *read_feature(struct importer *importer, unsigned int feature,
				       struct perf_cursor cursor)
{
	struct reel_error *error;

	if (feature == PERF_FEATURE_BUILD_ID)
		return read_build_ids(importer, cursor);
	if (feature == PERF_FEATURE_EVENT_DESC)
		return name_events(importer, cursor);
	error = reel_perf_host_feature(&importer->host, feature, cursor);
	return error ? reel_error_prefix(error, "%s", importer->stream.file.name) : NULL;
}

static bool is_of_use(unsigned int feature)
{
	return feature == PERF_FEATURE_BUILD_ID || feature == PERF_FEATURE_EVENT_DESC ||
	       reel_perf_host_wants(feature);
}

static struct reel_error *read_features(struct importer *importer)
{
	struct perf_stream *stream = &importer->stream;
	struct reel_error *error = NULL;

	for (unsigned int feature = 0; feature < PERF_FEATURES && !error; feature++) {
		const struct perf_section *section = &stream->features[feature];
		_cleanup_free_ uint8_t *bytes = NULL;

		if (!section->size || !is_of_use(feature))
			continue;
		error = reel_perf_stream_section(stream, section, &bytes);
		if (!error)
			error = read_feature(
				importer, feature,
				perf_cursor(bytes, (size_t)section->size, stream->big_endian));
		error = reel_importer_tolerate(importer, error);
	}
	return error;
}

/* A file's attributes: each is followed by the section of its ids. */
static struct reel_error *read_attrs(struct importer *importer)
{
	struct perf_stream *stream = &importer->stream;
	struct perf_section section = stream->attrs;
	uint64_t size = stream->attr_size, ids_size = 0;
	_cleanup_free_ uint8_t *attrs = NULL;
	struct perf_cursor cursor;
	struct reel_error *error = NULL;

	if (size < PERF_ATTR_SIZE_MIN + 16 || section.size % size)
		return reel_error_create(REEL_ERROR_CORRUPT,
					 "%s: %llu bytes of attributes, of %llu bytes each",
					 stream->file.name, (unsigned long long)section.size,
					 (unsigned long long)size);
	if (section.offset > stream->file.size || section.size > stream->file.size - section.offset)
		return reel_error_create(REEL_ERROR_TRUNCATED,
					 "%s: file ends before its attributes", stream->file.name);
	TRY(reel_perf_stream_section(stream, &section, &attrs));
	cursor = perf_cursor(attrs, (size_t)section.size, stream->big_endian);
	while (!error && perf_cursor_left(&cursor) >= size) {
		const uint8_t *attr = perf_cursor_take(&cursor, size - 16);
		struct perf_cursor attr_cursor, ids_cursor;
		struct perf_section ids;
		_cleanup_free_ uint8_t *bytes = NULL;

		ids.offset = perf_cursor_u64(&cursor);
		ids.size = perf_cursor_u64(&cursor);
		if (ids.offset > stream->file.size || ids.size > stream->file.size - ids.offset)
			return reel_error_create(REEL_ERROR_TRUNCATED,
						 "%s: file ends before an event's ids",
						 stream->file.name);
		/* Each attribute has its own ids. */
		ids_size += ids.size;
		if (ids_size > stream->file.size)
			return reel_error_create(REEL_ERROR_CORRUPT, "%s: event ids overlap",
						 stream->file.name);
		TRY(reel_perf_stream_section(stream, &ids, &bytes));
		attr_cursor = perf_cursor(attr, (size_t)size - 16, stream->big_endian);
		ids_cursor = perf_cursor(bytes, (size_t)ids.size, stream->big_endian);
		error = reel_perf_events_add(&importer->events, &attr_cursor, &ids_cursor);
	}
	return error ? reel_error_prefix(error, "%s", stream->file.name) : seal_events(importer);
}

/* A pipe's attribute: struct perf_event_attr, whose second word is its size, then the ids. */
static struct reel_error *read_attr(struct importer *importer, const struct perf_record *record)
{
	struct perf_cursor cursor = reel_perf_record_payload(&importer->stream, record),
			   attr = cursor;
	struct reel_error *error;
	const uint8_t *bytes;
	uint32_t size;

	(void)perf_cursor_u32(&attr);
	size = perf_cursor_u32(&attr);
	bytes = perf_cursor_take(&cursor, size);
	if (!bytes)
		return reel_perf_record_error(&importer->stream, record,
					      "an attribute of %u bytes does not fit", size);
	attr = perf_cursor(bytes, size, cursor.big_endian);
	/* Attributes may arrive late, for the records that follow. */
	importer->events_sealed = false;
	error = reel_perf_events_add(&importer->events, &attr, &cursor);
	return error ? reel_error_prefix(error, "%s", importer->stream.file.name) : NULL;
}

static struct reel_error *add_entry(struct importer *importer, const struct perf_record *record,
				    uint64_t time)
{
	return REEL_APPEND(importer->queue.entries, importer->queue.n, importer->queue.capacity,
			   (struct perf_entry){ time, record->position });
}

/* Records without a time get the previous record's. */
static uint64_t time_of(struct importer *importer, const struct perf_record *record)
{
	struct perf_cursor payload = reel_perf_record_payload(&importer->stream, record);
	const struct perf_event *event;
	struct perf_sample_id id;

	if (record->type == PERF_RECORD_SAMPLE) {
		event = reel_perf_events_of_sample(&importer->events, payload);
		if (event && event->sample_type & PERF_SAMPLE_TIME)
			importer->queue.last_time = reel_perf_sample_time(event, payload);
		return importer->queue.last_time;
	}
	event = reel_perf_events_of_record(&importer->events, payload);
	if (event && event->flags >> PERF_ATTR_SAMPLE_ID_ALL & 1 &&
	    event->sample_type & PERF_SAMPLE_TIME) {
		reel_perf_sample_id_decode(event, payload, &id);
		if (id.time)
			importer->queue.last_time = id.time;
		return id.time;
	}
	if (record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT) {
		(void)perf_cursor_take(&payload, 16);
		importer->queue.last_time = perf_cursor_u64(&payload);
	}
	return importer->queue.last_time;
}

static bool is_translated(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_SAMPLE:
		return true;
	}
	return false;
}

/* The name of the kernel's own mapping is followed by a function's name, whose address is the
 * offset: "[kernel.kallsyms]_text". */
static void learn_address(struct reel_recorded_kernel *kernel, struct reel_bytes name,
			  uint64_t offset)
{
	if (*kernel->symbol || !name.size || name.size >= sizeof(kernel->symbol))
		return;
	memcpy(kernel->symbol, name.data, name.size);
	kernel->address = offset;
}

/* The kernel's mapping gives its address, and its build-id if perf puts build-ids into mappings. */
static struct reel_error *learn_kernel(struct importer *importer, const struct perf_record *record)
{
	static const char kernel[] = REEL_KALLSYMS_KERNEL;
	const struct perf_cursor payload = reel_perf_record_payload(&importer->stream, record);
	const bool has_build_id = record->misc & PERF_MISC_MMAP_BUILD_ID;
	struct perf_mmap mmap;
	struct reel_bytes name;

	if ((record->misc & PERF_MISC_CPUMODE) != PERF_MISC_KERNEL ||
	    !(record->type == PERF_RECORD_MMAP ? reel_perf_mmap_read(payload, &mmap)
	      : record->type == PERF_RECORD_MMAP2
		      ? reel_perf_mmap2_read(payload, has_build_id ? 0 : PERF_NO_BUILD_ID, &mmap)
		      : false))
		return NULL;
	name = mmap.path;
	if (name.size < strlen(kernel) || memcmp(name.data, kernel, strlen(kernel)) != 0)
		return NULL;
	name.data += strlen(kernel);
	name.size -= strlen(kernel);
	learn_address(&importer->kernel, name, mmap.offset);
	return mmap.build_id.size
		       ? reel_import_modules_name(importer->modules, reel_bytes_of_string(kernel),
						  mmap.build_id)
		       : NULL;
}

/* A chain follows its samples, so it is found when a sample needs it. */
static struct reel_error *index_deferred(struct importer *importer,
					 const struct perf_record *record)
{
	const struct perf_cursor payload = reel_perf_record_payload(&importer->stream, record);
	bool ok = true;

	TRY(seal_events(importer));
	TRY(reel_deferred_chains_add(&importer->deferred,
				     reel_perf_events_of_record(&importer->events, payload),
				     payload, time_of(importer, record), record->position, &ok));
	return ok ? NULL
		  : reel_importer_bad_record(importer, record, "the call chain exceeds the record");
}

static struct reel_error *index_record(void *context, const struct perf_record *record)
{
	struct importer *importer = context;
	struct perf_cursor payload = reel_perf_record_payload(&importer->stream, record);

	switch (record->type) {
	case PERF_RECORD_HEADER_ATTR:
		return read_attr(importer, record);
	case PERF_RECORD_BUILD_ID:
		return reel_importer_tolerate(importer,
					      read_build_id(importer, record->misc, payload));
	case PERF_RECORD_FEATURE: {
		uint64_t feature = perf_cursor_u64(&payload);

		if (feature >= PERF_FEATURES)
			return NULL;
		return reel_importer_tolerate(
			importer, read_feature(importer, (unsigned int)feature, payload));
	}
	}
	if (record->type == PERF_RECORD_CALLCHAIN_DEFERRED)
		return index_deferred(importer, record);
	if (!is_translated(record->type))
		return NULL;
	TRY(seal_events(importer));
	if (record->type == PERF_RECORD_LOST) {
		(void)perf_cursor_u64(&payload); /* the event's id */
		importer->told_losses += perf_cursor_u64(&payload);
	}
	TRY(learn_kernel(importer, record));
	return add_entry(importer, record, time_of(importer, record));
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct importer *importer = context;

	/* The second pass reads everything again. */
	importer->options.progress(importer->options.context, done / 2, total);
}

static int by_time(const void *a, const void *b)
{
	const struct perf_entry *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return (left->position.order > right->position.order) -
	       (left->position.order < right->position.order);
}

struct reel_error *reel_importer_learn(struct importer *importer)
{
	struct reel_error *error;

	if (!importer->stream.is_pipe) {
		TRY(read_attrs(importer));
		TRY(read_features(importer));
	}
	if (importer->host.is_directory)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: made by 'perf record --threads', with data in "
					 "several files, which is not supported",
					 importer->stream.file.name);
	error = reel_perf_stream_visit(&importer->stream, index_record,
				       importer->options.progress ? show_progress : NULL, importer);
	TRY(reel_importer_tolerate(importer, error));
	TRY(seal_events(importer));
	if (importer->stream.unfinished)
		reel_importer_problem(importer,
				      reel_error_create(REEL_ERROR_TRUNCATED,
							"%s: unfinished by perf record: the end of "
							"the file (build-ids, host) is missing",
							importer->stream.file.name));
	reel_deferred_chains_seal(&importer->deferred, importer->stream.file.size);
	if (importer->queue.n)
		qsort(importer->queue.entries, importer->queue.n, sizeof(*importer->queue.entries),
		      by_time);
	return NULL;
}
