/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a capture in which of stacks only those bytes are kept that unwinding reads, and proves
 * that they are enough. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/cipher.h"
#include "base/files.h"
#include "base/output_file.h"
#include "base/sized.h"
#include "replay/rewrite/rewrite.h"
#include "replay/rewrite/sample_scrub.h"
#include "replay/rewrite/sample_walk.h"

/* What is for archives may take some time. */
#define LEVEL	       9
#define BLOCK_EXPANDED ((uint64_t)192 << 20)

/* The user's half of a trace. */
struct path {
	uint64_t *addresses, *lookups;
	uint8_t *steps;
	size_t n, capacity;
	enum reel_stop stop;
};

struct shrink {
	struct reel_capture *capture;
	struct reel_public_keys recipients;
	struct reel_sample_unwinder *unwinder;
	struct reel_scrubber *scrubber;
	struct path path;
	/* A byte for each of the sample's regions, one behind the other: whether it was read. */
	uint8_t *read;
	size_t capacity;
	size_t starts[REEL_REGIONS_MAX];
	struct reel_shrink_counts counts;
};

/* ---- paths -------------------------------------------------------------------- */

static struct reel_error *path_reserve(struct path *path, size_t n)
{
	if (n <= path->capacity)
		return NULL;
	free(path->addresses);
	free(path->lookups);
	free(path->steps);
	path->capacity = 0;
	path->addresses = reallocarray(NULL, n, sizeof(*path->addresses));
	path->lookups = reallocarray(NULL, n, sizeof(*path->lookups));
	path->steps = malloc(n);
	if (!path->addresses || !path->lookups || !path->steps)
		return reel_error_no_memory();
	path->capacity = n;
	return NULL;
}

static void path_free(struct path *path)
{
	free(path->addresses);
	free(path->lookups);
	free(path->steps);
}

static struct reel_error *path_set(struct path *path, const struct reel_unwind_frames *frames,
				   enum reel_stop stop)
{
	struct reel_error *error = path_reserve(path, frames->n);

	if (error)
		return error;
	path->n = frames->n;
	path->stop = stop;
	for (size_t i = 0; i < frames->n; i++) {
		path->addresses[i] = frames->addresses[i];
		path->lookups[i] = frames->lookups[i];
		path->steps[i] = frames->steps[i];
	}
	return NULL;
}

static bool path_is(const struct path *path, const struct reel_unwind_frames *frames,
		    enum reel_stop stop)
{
	if (path->n != frames->n || path->stop != stop)
		return false;
	for (size_t i = 0; i < path->n; i++)
		if (path->addresses[i] != frames->addresses[i] ||
		    path->lookups[i] != frames->lookups[i] || path->steps[i] != frames->steps[i])
			return false;
	return true;
}

/* ---- what is read ---------------------------------------------------------------- */

static void note_read(void *context, size_t region, uint64_t offset, unsigned size)
{
	struct shrink *shrink = context;

	memset(shrink->read + shrink->starts[region] + offset, 1, size);
}

/* Nothing of the sample is read so far. */
static struct reel_error *forget_reads(struct shrink *shrink, const struct reel_sample *sample)
{
	size_t size = 0;

	for (size_t i = 0; i < sample->n_regions; i++) {
		shrink->starts[i] = size;
		size += sample->regions[i].size;
	}
	if (!shrink->read || size > shrink->capacity) {
		free(shrink->read);
		shrink->capacity = 0;
		shrink->read = malloc(size + 1); /* NULL is no place, not even for no bytes */
		if (!shrink->read)
			return reel_error_no_memory();
		shrink->capacity = size;
	}
	if (size)
		memset(shrink->read, 0, size);
	return NULL;
}

static void clear_unread(struct shrink *shrink, struct reel_rewrite_sample *rewritten)
{
	const struct reel_sample *sample = &rewritten->sample;

	for (size_t i = 0; i < sample->n_regions; i++) {
		const uint8_t *read = shrink->read + shrink->starts[i];

		for (size_t j = 0; j < sample->regions[i].size; j++) {
			if (!read[j])
				rewritten->bytes[i][j] = 0;
			shrink->counts.bytes_kept += read[j];
		}
	}
}

/*
 * Drops the registers that seldom lead to a caller, if the trace is the same without them.  Reads
 * of registers cannot be traced as those of memory are: a frame may hand a register on to its
 * caller unread.
 */
static struct reel_error *drop_registers(struct shrink *shrink,
					 struct reel_rewrite_sample *rewritten,
					 const struct reel_space_state *space)
{
	struct reel_sample *sample = &rewritten->sample;
	const struct reel_arch *arch = reel_sample_unwinder_code_map(shrink->unwinder)->arch;
	const struct reel_unwind_frames *frames;
	uint64_t values[REEL_REGISTERS_MAX];
	uint8_t known[REEL_REGISTERS_MAX / 8];
	size_t n = sample->layout->n_slots;
	struct reel_error *error;
	enum reel_stop stop;

	memcpy(values, rewritten->values, n * sizeof(*values));
	memcpy(known, rewritten->known, (n + 7) / 8);
	for (size_t i = 0; i < n; i++) {
		uint16_t dwarf = sample->layout->slots[i].dwarf;

		if (dwarf == arch->sp || dwarf == arch->fp || dwarf == arch->pc ||
		    dwarf == arch->return_column)
			continue;
		rewritten->values[i] = 0;
		rewritten->known[i / 8] &= (uint8_t) ~(1u << i % 8);
	}
	error = reel_sample_unwind(shrink->unwinder, sample, space, &frames, &stop);
	if (error || path_is(&shrink->path, frames, stop))
		return error;
	memcpy(rewritten->values, values, n * sizeof(*values));
	memcpy(rewritten->known, known, (n + 7) / 8);
	return NULL;
}

/* Most of what is read is registers that callees have saved: scrubs their values too, if the trace
 * is the same without them. */
static struct reel_error *scrub_read(struct shrink *shrink, struct reel_rewrite_sample *rewritten,
				     const struct reel_space_state *space)
{
	struct reel_sample *sample = &rewritten->sample, scrubbed = *sample;
	const struct reel_unwind_frames *frames;
	struct reel_error *error;
	enum reel_stop stop;

	if (sample->flags & REEL_SAMPLE_SCRUBBED)
		return NULL;
	error = reel_capture_scrub_sample(shrink->capture, shrink->scrubber, &scrubbed);
	if (!error)
		error = reel_sample_unwind(shrink->unwinder, &scrubbed, space, &frames, &stop);
	if (!error && path_is(&shrink->path, frames, stop))
		*sample = scrubbed;
	return error;
}

/* A sample that has a call chain but no registers: it is scrubbed if the trace stays the same.  It
 * does not where the chain holds addresses of no code. */
static struct reel_error *scrub_chain(struct shrink *shrink, struct reel_rewrite_sample *rewritten,
				      const struct reel_space_state *space)
{
	const struct reel_unwind_frames *frames;
	struct reel_error *error;
	enum reel_stop stop;

	error = reel_sample_unwind(shrink->unwinder, &rewritten->sample, space, &frames, &stop);
	if (!error)
		error = path_set(&shrink->path, frames, stop);
	return error ? error : scrub_read(shrink, rewritten, space);
}

static struct reel_error *shrink_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct shrink *shrink = context;
	struct reel_sample *sample = &rewritten->sample;
	const struct reel_space_state *space = reel_sample_unwinder_space(shrink->unwinder, sample);
	const struct reel_unwind_frames *frames;
	struct reel_error *error;
	enum reel_stop stop;

	if (!sample->layout)
		return scrub_chain(shrink, rewritten, space);
	error = forget_reads(shrink, sample);
	if (error)
		return error;
	reel_sample_unwinder_tell(shrink->unwinder, note_read, shrink);
	error = reel_sample_unwind(shrink->unwinder, sample, space, &frames, &stop);
	reel_sample_unwinder_tell(shrink->unwinder, NULL, NULL);
	if (error)
		return error;
	if (stop == REEL_STOP_UNKNOWN_CPU || reel_sample_unwinder_lacks_module(shrink->unwinder)) {
		shrink->counts.whole++;
		return NULL;
	}
	error = path_set(&shrink->path, frames, stop);
	if (error)
		return error;
	clear_unread(shrink, rewritten);
	error = drop_registers(shrink, rewritten, space);
	return error ? error : scrub_read(shrink, rewritten, space);
}

/* ---- the proof --------------------------------------------------------------------- */

static struct reel_error *compare_samples(struct shrink *shrink, struct reel_sample_walk *from,
					  const struct reel_sample *sample,
					  struct reel_sample_walk *to,
					  const struct reel_sample *shrunk)
{
	const struct reel_unwind_frames *frames;
	struct reel_error *error;
	enum reel_stop stop;

	error = reel_sample_walk_unwind(from, sample, &frames, &stop);
	if (!error)
		error = path_set(&shrink->path, frames, stop);
	if (!error)
		error = reel_sample_walk_unwind(to, shrunk, &frames, &stop);
	if (error)
		return error;
	if (sample->id == shrunk->id && sample->time == shrunk->time &&
	    sample->thread == shrunk->thread && path_is(&shrink->path, frames, stop))
		return NULL;
	return reel_error_create(
		REEL_ERROR_MISMATCH,
		"sample %llu has another trace in the new capture, which is not kept: this must "
		"not happen, please report it",
		(unsigned long long)sample->id);
}

static struct reel_error *compare_walks(struct shrink *shrink, struct reel_sample_walk *from,
					struct reel_sample_walk *to)
{
	for (;;) {
		struct reel_block_item sample, shrunk;
		bool found, found_shrunk = false;
		struct reel_error *error = reel_sample_walk_next(from, &sample, &found);

		if (!error)
			error = reel_sample_walk_next(to, &shrunk, &found_shrunk);
		if (error)
			return error;
		if (found != found_shrunk)
			return reel_error_create(
				REEL_ERROR_MISMATCH,
				"the new capture has more or fewer samples than the "
				"one it was made of, and is not kept: this must not "
				"happen, please report it");
		if (!found)
			return NULL;
		error = compare_samples(shrink, from, &sample.sample, to, &shrunk.sample);
		if (error)
			return error;
	}
}

/* What was written to `fd`; takes ownership of its key, which may be NULL. */
static struct reel_error *open_written(const struct shrink *shrink, int fd,
				       struct reel_cipher *cipher, struct reel_capture **ret)
{
	struct reel_capture_options options = shrink->capture->options;
	struct reel_reader *reader;
	struct reel_error *error;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0) {
		error = reel_error_os(errno, "reading the new capture");
		reel_cipher_destroy(cipher);
		return error;
	}
	options.progress = NULL;
	error = reel_reader_open_cipher_fd(copy, "the new capture", cipher, &reader);
	return error ? error : reel_capture_open_reader(reader, &options, ret);
}

/* Unwinds the new capture, as any reader will, and the one that it was made of, and compares. */
static struct reel_error *prove(struct shrink *shrink, struct reel_capture *written)
{
	struct reel_sample_walk from = { 0 }, to = { 0 };
	struct reel_error *error;

	error = reel_sample_walk_create(shrink->capture, &from);
	if (!error)
		error = reel_sample_walk_create(written, &to);
	if (!error)
		error = compare_walks(shrink, &from, &to);
	reel_sample_walk_free(&from);
	reel_sample_walk_free(&to);
	return error;
}

/* ---- files ----------------------------------------------------------------------- */

static struct reel_error *write_and_prove(struct shrink *shrink, int fd, const char *output)
{
	struct reel_cipher *cipher = NULL;
	const struct reel_rewrite_options options = {
		.writer = { .level = LEVEL,
			    .block_expanded = BLOCK_EXPANDED,
			    .encoding = REEL_DENSE,
			    .recipients = &shrink->recipients },
		.sample = shrink_sample,
		.context = shrink,
		/* Whoever shrinks a capture need not be among the recipients of the new one, but
		 * has to read it once. */
		.cipher_ret = &cipher,
	};
	struct reel_rewrite_counts counts = { 0 };
	struct reel_capture *written;
	struct reel_error *error;

	error = reel_rewrite(shrink->capture, fd, output, &options, &counts);
	if (error) {
		reel_cipher_destroy(cipher);
		return error;
	}
	shrink->counts.samples = counts.samples;
	shrink->counts.bytes_written = counts.bytes;
	shrink->counts.stack_bytes = counts.stack_bytes;
	error = open_written(shrink, fd, cipher, &written);
	if (error)
		return error;
	error = prove(shrink, written);
	reel_capture_close(written);
	return error;
}

static struct reel_error *copy_file(int from, int to, const char *output)
{
	static const size_t size = 1 << 16;
	_cleanup_free_ char *bytes = malloc(size);
	struct reel_error *error = bytes ? NULL : reel_error_no_memory();
	off_t offset = 0;
	int errnum;

	while (!error) {
		ssize_t n = pread(from, bytes, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reel_error_os(errno, "reading what is to be written to %s", output);
		if (!n)
			break;
		errnum = reel_write_all(to, bytes, (size_t)n, NULL);
		if (errnum)
			return reel_error_os(errnum, "writing %s", output);
		offset += n;
	}
	return error;
}

/* Bytes written to a pipe cannot be taken back, so they are written only when all is proved. */
static struct reel_error *shrink_to(struct shrink *shrink, const struct reel_output_file *file,
				    const char *output)
{
	_cleanup_fd_ int spool = -1;
	struct reel_error *error;

	if (file->is_new)
		return write_and_prove(shrink, file->fd, output);
	error = reel_temporary_file(&spool);
	if (!error)
		error = write_and_prove(shrink, spool, output);
	return error ? error : copy_file(spool, file->fd, output);
}

static struct reel_error *shrink_to_output(struct shrink *shrink, const char *output)
{
	struct reel_output_file file;
	struct reel_error *error;

	error = reel_output_file_open(output, reel_reader_fd(shrink->capture->reader), &file);
	if (error)
		return error;
	error = reel_sample_unwinder_create(shrink->capture, &shrink->unwinder);
	if (!error)
		error = reel_capture_scrubber_create(shrink->capture, &shrink->scrubber);
	if (!error)
		error = shrink_to(shrink, &file, output);
	error = reel_output_file_close(&file, error);
	reel_sample_unwinder_destroy(shrink->unwinder);
	reel_scrubber_destroy(shrink->scrubber);
	path_free(&shrink->path);
	free(shrink->read);
	return error;
}

struct reel_error *reel_capture_shrink(struct reel_capture *capture, const char *output,
				       const struct reel_shrink_options *options,
				       struct reel_shrink_counts *counts)
{
	struct reel_shrink_options whole = { 0 };
	struct shrink shrink = { .capture = capture };
	struct reel_error *error;

	reel_sized_take(&whole, sizeof(whole), options);
	error = reel_rewrite_recipients(capture, whole.recipients, whole.decrypt,
					&shrink.recipients);
	if (!error)
		error = shrink_to_output(&shrink, output);
	reel_public_keys_free(&shrink.recipients);
	if (!error)
		reel_sized_give(counts, sizeof(*counts), &shrink.counts);
	return error;
}
