/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of one import share.  It goes through the recording twice:
 * first to learn its events, features and build-ids and to sort the records by
 * time (perf writes them by CPU), then to translate them in that order.
 */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include "arch/arch.h"
#include "import/jit_files.h"
#include "import/deferred_chains.h"
#include "import/kernel_names.h"
#include "import/modules.h"
#include "import/perf_events.h"
#include "import/perf_host.h"
#include "import/perf_sample.h"
#include "import/perf_stream.h"
#include "import/processes.h"
#include "scrub/scrub.h"

/* A record has less than 64 KiB, so a chain has less than so many words. */
#define PERF_CHAIN_MAX 8192

/* What can be missing of single records: each is told once, with a count. */
enum importer_lack {
	LACK_COMPAT_REGISTERS,
	LACK_REGISTERS,
	LACK_DEFERRED_CHAIN,
	LACK_GUEST,
	LACK_KERNEL_NAMES,
	LACK_BAD_RECORD,
	LACK_COUNT,
};

struct perf_entry {
	uint64_t time;
	struct perf_position position;
};

/* The records to translate, ascending by time once sorted. */
struct import_queue {
	struct perf_entry *entries;
	size_t n, capacity;
	uint64_t last_time; /* of the record before, for those that have none */
};

/* The registers of the event and the CPU that the last sample was of (perf_samples.c). */
struct import_layout {
	const struct perf_event *event;
	const struct reel_arch *arch;
	struct reel_record_sample_layout record;
	struct reel_register_slot slots[64];
	uint8_t words[64]; /* which of the sample's registers a slot is */
	uint8_t known[8];  /* all of them */
	size_t pc_slot, sp_slot;
};

/* Of the sample that is translated. */
struct import_scratch {
	uint64_t values[64];
	uint64_t kernel_chain[PERF_CHAIN_MAX], frame_chain[PERF_CHAIN_MAX];
};

/* What is told at the end. */
struct import_report {
	struct reel_import_counts counts;
	uint64_t lacks[LACK_COUNT];
	char first_bad[256];
	bool damaged;
};

struct importer {
	struct reel_import_options options;
	struct perf_stream stream;
	struct perf_events events;
	bool events_sealed;
	struct perf_host host;
	const struct reel_arch *arch;
	struct reel_recorded_kernel kernel;
	bool is_this_host; /* it was recorded here */
	struct reel_jit_processes jit_processes;
	struct import_queue queue;
	struct deferred_chains deferred;
	/* Lost records that LOST records tell of, less those that were met again. */
	uint64_t told_losses;

	struct reel_writer *writer;
	struct reel_import_modules *modules;
	struct reel_processes *processes;
	struct reel_kernel_names *kernel_names;

	/* NULL: stacks stay as they are. */
	struct reel_scrubber *scrubber;
	struct reel_timeline *timeline; /* what is mapped at the time of the sample */

	struct import_layout layout;
	struct import_scratch scratch;
	struct import_report report;
};

/* Tells of damage that leaves the rest usable; takes ownership. */
void reel_importer_problem(struct importer *importer, struct reel_error *problem);
/* Damage is told of, and is no error then; errors of this host stay. */
struct reel_error *reel_importer_tolerate(struct importer *importer,
					  struct reel_error *error) REEL_MUST_CHECK;

/* The first pass (perf_learn.c): events, features and the sorted list of records. */
struct reel_error *reel_importer_learn(struct importer *importer) REEL_MUST_CHECK;
/* What the capture begins with (perf_origin.c): CPU, host and events. */
struct reel_error *reel_importer_find_origin(struct importer *importer) REEL_MUST_CHECK;
struct reel_error *reel_importer_put_origin(struct importer *importer) REEL_MUST_CHECK;

/* Translates a record other than a sample (perf_records.c). */
struct reel_error *reel_importer_record(struct importer *importer, const struct perf_record *record,
					uint64_t time) REEL_MUST_CHECK;
/* Translates a sample (perf_samples.c). */
struct reel_error *reel_importer_sample(struct importer *importer, const struct perf_record *record,
					uint64_t time) REEL_MUST_CHECK;

/* A record whose fields do not fit is passed over, counted, and the first one told of. */
struct reel_error *reel_importer_bad_record(struct importer *importer,
					    const struct perf_record *record,
					    const char *problem) REEL_MUST_CHECK;

#endif
