/* SPDX-License-Identifier: Apache-2.0 */
/* Both passes over a perf.data. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/quantity.h"
#include "base/sized.h"
#include "replay/import/importer.h"
#include "base/elf_identity.h"

static struct reel_error *write_end(struct importer *importer)
{
	struct reel_record record = { .id = REEL_RECORD_END };

	record.end = (struct reel_record_end){
		.time = importer->queue.n ? importer->queue.entries[importer->queue.n - 1].time : 0,
		.reason = importer->report.damaged ? REEL_END_ERROR : REEL_END_CONVERTED,
		.samples = importer->report.counts.samples,
	};
	return reel_writer_record(importer->writer, &record);
}

/* ---- the second pass ---------------------------------------------------------------------- */

/* Unless the user wants raw stacks. */
static struct reel_error *start_scrubbing(struct importer *importer,
					  const struct reel_elf_kind *native)
{
	if (importer->options.raw_stacks)
		return NULL;
	TRY(reel_timeline_create(false, &importer->timeline));
	return reel_scrubber_create(native, &importer->scrubber);
}

static struct reel_error *prepare(struct importer *importer)
{
	const struct reel_elf_kind native = {
		.machine = importer->arch->elf_machine,
		.word_bits = (uint8_t)(importer->arch->word_size * 8),
		.byte_order =
			importer->stream.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
	};
	struct reel_processes_options options = {
		.writer = importer->writer,
		.programs = { .native = native,
			      .compat_machine = reel_elf_compat_machine(native.machine) },
	};

	TRY(start_scrubbing(importer, &native));
	options.timeline = importer->timeline;
	TRY(reel_importer_write_origin(importer));
	TRY(reel_processes_create(&options, &importer->processes));
	return reel_kernel_names_create(importer->options.kallsyms, &importer->kernel,
					importer->writer, importer->modules,
					&importer->kernel_names);
}

static struct reel_error *translate(struct importer *importer)
{
	_cleanup_free_ uint8_t *buffer = malloc(PERF_RECORD_SIZE_MAX);
	uint64_t total = importer->stream.file.size;

	if (!buffer)
		return reel_error_no_memory();
	for (size_t i = 0; i < importer->queue.n; i++) {
		const struct perf_entry *entry = &importer->queue.entries[i];
		struct perf_record record;

		TRY(reel_perf_stream_read(&importer->stream, entry->position, buffer, &record));
		if (importer->options.progress && i % 1024 == 0)
			importer->options.progress(importer->options.context,
						   total / 2 + total / 2 * i / importer->queue.n,
						   total);
		TRY(record.type == PERF_RECORD_SAMPLE
			    ? reel_importer_sample(importer, &record, entry->time)
			    : reel_importer_record(importer, &record, entry->time));
	}
	return NULL;
}

/* ---- information from JITs ---------------------------------------------------------------- */

static void report_jit_problem(void *context, struct reel_error *problem)
{
	reel_importer_problem(context, problem);
}

/* perf.data was finished at the end of the recording. */
static void find_times(const struct importer *importer, struct reel_jit_files_options *options)
{
	const struct import_queue *queue = &importer->queue;
	struct stat status;
	size_t first = 0;

	while (first < queue->n && !queue->entries[first].time)
		first++;
	if (fstat(importer->stream.file.fd, &status) || first == queue->n)
		return;
	options->end = status.st_mtime;
	options->start =
		options->end -
		(int64_t)((queue->entries[queue->n - 1].time - queue->entries[first].time) /
			  REEL_NS_PER_SECOND);
}

static struct reel_error *write_jit(struct importer *importer)
{
	const char *where = importer->options.jit;
	const struct perf_event *event = &importer->events.events[0];
	struct reel_jit_files_options options = {
		.directory = where,
		.writer = importer->writer,
		.has_same_clock = event->flags >> PERF_ATTR_USE_CLOCKID & 1 &&
				  event->clock == PERF_CLOCK_MONOTONIC,
		.problem = report_jit_problem,
		.context = importer,
	};
	struct reel_record loss = {
		.id = REEL_RECORD_LOSS,
		.loss = { .cpu = UINT32_MAX, .cause = REEL_LOSS_JIT },
	};
	struct reel_error *error;

	if (where ? !strcmp(where, "none") : !importer->is_this_host)
		return NULL;
	find_times(importer, &options);
	error = reel_jit_files_write(&importer->jit_processes, &options, &loss.loss.count);
	return error || !loss.loss.count ? error : reel_writer_record(importer->writer, &loss);
}

/* Reports data missing in single records. */
static void report_lacks(struct importer *importer)
{
	static const char *const texts[LACK_COUNT] = {
		[LACK_COMPAT_REGISTERS] =
			"samples of programs whose word size differs from the kernel's: importing "
			"them without registers, since this version cannot unwind them",
		[LACK_REGISTERS] =
			"samples have registers without a pc: importing them without registers",
		[LACK_DEFERRED_CHAIN] =
			"samples have no user chain: it was deferred, and is not in the file",
		[LACK_GUEST] = "samples of virtual machines or hypervisors were skipped",
		[LACK_KERNEL_NAMES] =
			"samples have kernel frames without names; use --kallsyms with the "
			"recorded kernel's /proc/kallsyms, or replay with its vmlinux (--module)",
	};
	const char *file = importer->stream.file.name;

	for (int lack = 0; lack < LACK_COUNT; lack++)
		if (importer->report.lacks[lack] && texts[lack])
			reel_importer_problem(
				importer,
				reel_error_create(REEL_ERROR_NOT_FOUND, "%s: %llu %s", file,
						  (unsigned long long)importer->report.lacks[lack],
						  texts[lack]));
	if (importer->report.lacks[LACK_BAD_RECORD])
		reel_importer_problem(
			importer,
			reel_error_create(
				REEL_ERROR_CORRUPT, "%s; skipped %llu such records",
				importer->report.first_bad,
				(unsigned long long)importer->report.lacks[LACK_BAD_RECORD]));
}

/* The recorded system must be known. */
static struct reel_error *create_writer(struct importer *importer, int fd, const char *output,
					const struct reel_public_keys *recipients)
{
	const struct reel_writer_options options = {
		.recipients = recipients,
		.target = { .word_bits = importer->arch->word_size * 8u,
			    .big_endian = importer->stream.big_endian },
	};

	TRY(reel_writer_create(fd, output, &options, NULL, &importer->writer));
	reel_import_modules_write_to(importer->modules, importer->writer);
	return NULL;
}

static struct reel_error *import(struct importer *importer, int fd, const char *output,
				 const struct reel_public_keys *recipients)
{
	TRY(reel_import_modules_create(&importer->modules));
	TRY(reel_importer_learn(importer));
	TRY(reel_importer_find_origin(importer));
	TRY(create_writer(importer, fd, output, recipients));
	TRY(prepare(importer));
	TRY(translate(importer));
	TRY(write_jit(importer));
	report_lacks(importer);
	TRY(write_end(importer));
	return reel_writer_finish(importer->writer);
}

static void importer_free(struct importer *importer)
{
	reel_scrubber_destroy(importer->scrubber);
	reel_timeline_destroy(importer->timeline);
	reel_kernel_names_destroy(importer->kernel_names);
	reel_processes_destroy(importer->processes);
	reel_import_modules_destroy(importer->modules);
	reel_writer_destroy(importer->writer);
	reel_perf_events_free(&importer->events);
	reel_perf_host_free(&importer->host);
	reel_perf_stream_close(&importer->stream);
	reel_jit_processes_free(&importer->jit_processes);
	reel_deferred_chains_free(&importer->deferred);
	free(importer->queue.entries);
	free(importer);
}

struct reel_error *reel_import_perf(const char *path, const char *output,
				    const struct reel_import_options *options,
				    struct reel_import_counts *counts)
{
	struct importer *importer = calloc(1, sizeof(*importer));
	_cleanup_public_keys_ struct reel_public_keys recipients = { 0 };
	struct reel_error *error;
	struct reel_output_file file;
	int source;

	if (!importer)
		return reel_error_no_memory();
	reel_sized_take(&importer->options, sizeof(importer->options), options);
	error = reel_public_keys_add_list(&recipients, importer->options.recipients);
	if (!error)
		error = reel_perf_stream_open(path, &importer->stream);
	if (error) {
		free(importer);
		return error;
	}
	/* Standard input was copied to a temporary file. */
	source = strcmp(path, "-") ? importer->stream.file.fd : STDIN_FILENO;
	error = reel_output_file_open(output, REEL_PLACE_PRIVATE, source, &file);
	if (!error) {
		error = import(importer, file.fd, output, &recipients);
		importer->report.counts.bytes_read = importer->stream.file.size;
		if (importer->writer)
			importer->report.counts.bytes_written =
				reel_writer_counts(importer->writer).file_bytes;
		error = reel_output_file_close(&file, error);
	}
	if (!error)
		reel_sized_give(counts, sizeof(*counts), &importer->report.counts);
	importer_free(importer);
	return error;
}
