/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay/rewrite/rewrite.c: a rewritten fixture contains everything that could be read from the
 * original.
 */
#include <dirent.h>
#include <fcntl.h>

#include "replay/rewrite/rewrite.h"
#include "tests/support/example.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

#define DIRECTORY "testdata/format"

/* Side records in their order, and the contents of sample blocks in theirs. */
struct content {
	struct outcome side, samples;
};

static void read_content(struct reel_reader *reader, struct content *ret)
{
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	size_t n;

	*ret = (struct content){ 0 };
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		struct reel_error *error = reel_block_reader_load(block_reader, &blocks[i]);
		uint16_t type = blocks[i].header.type;

		while (!error && type != REEL_BLOCK_INDEX) {
			struct reel_block_item item;

			error = reel_block_reader_next(block_reader, &item);
			if (error || item.kind == REEL_ITEM_END)
				break;
			if (item.kind == REEL_ITEM_RECORD && item.record.id == REEL_RECORD_END)
				ret->side.has_end = true;
			/* Each writer has its own, as well as for END. */
			else if (item.kind != REEL_ITEM_LAYOUT)
				outcome_item(type == REEL_BLOCK_SIDE ? &ret->side : &ret->samples,
					     &item);
		}
		reel_error_destroy(error);
	}
	reel_block_reader_destroy(block_reader);
}

static void assert_equal(const struct outcome *a, const struct outcome *b, const char *name)
{
	if (a->records != b->records || a->samples != b->samples || a->unknown != b->unknown ||
	    a->has_end != b->has_end || a->checksum != b->checksum)
		fail_msg("%s: rewritten, it has other records", name);
}

static void assert_same_content(struct reel_reader *from, int fd, const char *name)
{
	struct content before, after;
	struct reel_reader *reader;

	must(reel_reader_open_fd(dup(fd), "rewritten.reel", NULL, &reader));
	assert_true(reel_reader_has_trailer(reader));
	read_content(from, &before);
	read_content(reader, &after);
	assert_equal(&before.side, &after.side, name);
	assert_equal(&before.samples, &after.samples, name);
	reel_reader_close(reader);
}

/* True if the file is a capture. */
static bool check_fixture(const char *name, const struct reel_rewrite_rules *rules)
{
	struct reel_rewrite_job job = { 0 };
	struct reel_error *error;
	char path[512];
	int fd = memory_file("", 0);

	snprintf(path, sizeof(path), DIRECTORY "/%s", name);
	error = reel_capture_open(path, NULL, &job.capture);
	if (error) {
		reel_error_destroy(error);
		close(fd);
		return false;
	}
	must(reel_rewrite(&job, fd, "rewritten.reel", rules));
	assert_same_content(job.capture->reader, fd, name);
	assert_int_equal(job.counts.unknown > 0, strstr(name, "optional-block") ||
							 strstr(name, "unsupported-block") ||
							 strstr(name, "unsupported-codec") ||
							 strstr(name, "unsupported-flag"));
	reel_capture_close(job.capture);
	close(fd);
	return true;
}

static void check_fixtures(const struct reel_rewrite_rules *rules)
{
	DIR *directory = opendir(DIRECTORY);
	const struct dirent *entry;
	size_t n = 0;

	if (!directory)
		fail_msg(DIRECTORY " is missing: run tests in the root of the tree");
	while ((entry = readdir(directory)))
		if (strstr(entry->d_name, ".reel"))
			n += check_fixture(entry->d_name, rules);
	closedir(directory);
	assert_true(n > 50);
}

TEST(test_copies)
{
	const struct reel_rewrite_rules rules = { 0 };

	check_fixtures(&rules);
}

static struct reel_error *keep_sample(void *context, struct reel_rewrite_sample *sample)
{
	size_t n = sample->sample.layout ? sample->sample.layout->n_slots : 0;

	++*(size_t *)context;
	/* All of it may be written to. */
	for (size_t i = 0; i < n; i++)
		sample->values[i] ^= 0;
	for (size_t i = 0; i < sample->sample.n_regions; i++)
		for (size_t j = 0; j < sample->sample.regions[i].size; j++)
			sample->bytes[i][j] ^= 0;
	return NULL;
}

static enum reel_rewrite_record keep_record(void *context, struct reel_record *record)
{
	return REEL_REWRITE_COPY;
}

TEST(test_copies_of_samples)
{
	size_t n = 0;
	const struct reel_rewrite_rules rules = {
		.sample = keep_sample,
		.record = keep_record,
		.context = &n,
	};

	check_fixtures(&rules);
	assert_true(n > 100);
}

/*
 * The lists in a capture's options may be freed before shrinking opens another capture with them.
 */
TEST(test_options_are_kept)
{
	const char *files[] = { "/proc/self/exe", NULL };
	const REEL_SIZED(reel_capture_options, options, .module_files = files);
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_capture *capture;
	char from[64], to[64];

	example_capture(&bytes, 3, 20, true);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", memory_file(bytes.bytes, bytes.size));
	snprintf(to, sizeof(to), "/proc/self/fd/%d", memory_file("", 0));
	must(reel_capture_open(from, &options, &capture));
	files[0] = "/nonexistent";
	must(reel_capture_shrink(capture, to, NULL, NULL));
	reel_capture_close(capture);
}

/* ---- shrinking ---------------------------------------------------------------- */

/* A frame-pointer walk treats anything as a return address; scrubbing would remove it. */
TEST(test_shrinks_chains)
{
	uint64_t chain[] = { 0x401100, 0x401200, 0x68736d6170617373 };
	struct reel_sample sample = {
		.id = 1,
		.time = EXAMPLE_START + 1,
		.thread = 1,
		.event = 1,
		.where = REEL_WHERE_USER,
		.frame_chain = chain,
		.n_frame_chain = 3,
	};
	int from = memory_file("", 0), to = memory_file("", 0);
	struct reel_record end = example_end_record(1);
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_writer *writer;
	struct reel_traces *traces;
	char path[64];

	must(reel_writer_create(from, "chain", NULL, example_id, &writer));
	example_side(writer);
	must(reel_writer_sample(writer, &sample));
	must(reel_writer_record(writer, &end));
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	must(reel_capture_open(path, NULL, &capture));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	must(reel_capture_shrink(capture, path, NULL, NULL));
	reel_capture_close(capture);
	must(reel_capture_open(path, NULL, &capture));
	must(reel_traces_create(capture, NULL, &traces));
	must(reel_traces_next(traces, &trace));
	assert_non_null(trace);
	assert_int_equal(trace->n_frames, 3);
	assert_int_equal(trace->addresses[2], chain[2]);
	reel_traces_destroy(traces);
	reel_capture_close(capture);
	close(from);
	close(to);
}

/* ---- changes ------------------------------------------------------------------- */

static struct reel_error *clear_sample(void *context, struct reel_rewrite_sample *sample)
{
	memset(sample->values, 0, sample->sample.layout->n_slots * sizeof(*sample->values));
	for (size_t i = 0; i < sample->sample.n_regions; i++)
		memset(sample->bytes[i], 0, sample->sample.regions[i].size);
	sample->sample.flags |= REEL_SAMPLE_SCRUBBED;
	return NULL;
}

static enum reel_rewrite_record change_record(void *context, struct reel_record *record)
{
	if (record->id == REEL_RECORD_EVENT)
		return REEL_REWRITE_DROP;
	if (record->id != REEL_RECORD_CAPTURE)
		return REEL_REWRITE_COPY;
	record->capture.hostname = (struct reel_bytes){ 0 };
	return REEL_REWRITE_CHANGED;
}

static bool check_item(const struct reel_block_item *item)
{
	static const uint8_t zeros[EXAMPLE_STACK_MAX];

	if (item->kind == REEL_ITEM_SAMPLE) {
		for (size_t i = 0; i < item->sample.layout->n_slots; i++)
			assert_int_equal(item->sample.values[i], 0);
		assert_memory_equal(item->sample.regions[0].bytes, zeros,
				    item->sample.regions[0].size);
		assert_int_equal(item->sample.flags, REEL_SAMPLE_SCRUBBED);
	} else if (item->kind == REEL_ITEM_RECORD) {
		assert_int_not_equal(item->record.id, REEL_RECORD_EVENT);
		if (item->record.id == REEL_RECORD_CAPTURE)
			assert_int_equal(item->record.capture.hostname.size, 0);
	}
	return item->kind == REEL_ITEM_SAMPLE;
}

TEST(test_changes)
{
	const struct reel_rewrite_rules rules = {
		.sample = clear_sample,
		.record = change_record,
	};
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_block_reader *block_reader;
	struct reel_rewrite_job job = { 0 };
	const struct reel_block *blocks;
	struct reel_reader *reader;
	size_t n, samples = 0;
	char path[64];
	int from, fd = memory_file("", 0);

	example_capture(&bytes, 3, 20, true);
	from = memory_file(bytes.bytes, bytes.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	must(reel_capture_open(path, NULL, &job.capture));
	must(reel_rewrite(&job, fd, "changed.reel", &rules));
	assert_int_equal(job.counts.samples, 60);
	reel_capture_close(job.capture);
	must(reel_reader_open_fd(fd, "changed.reel", NULL, &reader));
	assert_int_equal(job.counts.bytes_written, reel_reader_file_size(reader));
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++) {
		struct reel_block_item item = { .kind = REEL_ITEM_UNKNOWN };

		if (blocks[i].header.type == REEL_BLOCK_SAMPLES)
			assert_true(blocks[i].header.flags & REEL_BLOCK_SCRUBBED);
		must(reel_block_reader_load(block_reader, &blocks[i]));
		while (item.kind != REEL_ITEM_END) {
			must(reel_block_reader_next(block_reader, &item));
			samples += check_item(&item);
		}
	}
	assert_int_equal(samples, 60);
	reel_block_reader_destroy(block_reader);
	reel_reader_close(reader);
	close(from);
}

RUN_TESTS()
