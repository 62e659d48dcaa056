/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of one import.  An import reads the recording twice: first to learn its
 * events, features and build-ids and to sort the records by time (perf writes them by CPU), then to
 * translate them in that order.
 */
#ifndef REPLAY_IMPORT_IMPORTER_H
#define REPLAY_IMPORT_IMPORTER_H

#include "arch/arch.h"
#include "replay/import/jit_import.h"
#include "replay/import/deferred_chains.h"
#include "replay/import/kernel_names.h"
#include "replay/import/modules.h"
#include "replay/import/perf_events.h"
#include "replay/import/perf_stream.h"
#include "replay/import/processes.h"
#include "format/scrub/scrub.h"

/* A record has less than 64 KiB, so a chain has fewer words than this. */
#define PERF_CHAIN_MAX 8192

/* Data that single records may be missing: each kind is reported once, with a count. */
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
	uint64_t last_time; /* the previous record's, for records without a time */
};

/* The registers for the last sample's event and CPU (perf_samples.c). */
struct import_layout {
	const struct perf_event *event;
	const struct reel_arch *arch;
	struct reel_record_sample_layout record;
	struct reel_register_slot slots[64];
	uint8_t words[64]; /* each slot's index in the sample's registers */
	uint8_t known[8];  /* all set */
	size_t pc_slot, sp_slot;
};

/* For the current sample. */
struct import_scratch {
	uint64_t values[64];
	uint64_t kernel_chain[PERF_CHAIN_MAX], frame_chain[PERF_CHAIN_MAX];
};

/* The report at the end. */
struct import_report {
	struct reel_import_counts counts;
	uint64_t lacks[LACK_COUNT];
	char first_bad[256];
	bool damaged;
};

/* perf.data's features about the host and perf's command line. */
struct perf_host {
	/* NULL: unknown. */
	char *hostname, *release, *version, *arch;
	uint32_t cpus_possible, cpus_online; /* 0: unknown */
	struct reel_buffer command_line;     /* arguments, each ended by a NUL */
	/* Read together; 0 if perf was run without -k. */
	uint64_t wall_time, clock_time;
	bool is_directory; /* perf record --threads: the data is in other files */
};

struct importer {
	struct reel_import_options options;
	struct perf_stream stream;
	struct perf_events events;
	bool events_sealed;
	struct perf_host host;
	const struct reel_arch *arch;
	struct reel_recorded_kernel kernel;
	bool is_this_host; /* recorded on this host */
	struct reel_jit_processes jit_processes;
	struct import_queue queue;
	struct deferred_chains deferred;
	/* Losses reported by LOST records, minus those already seen again. */
	uint64_t told_losses;

	struct reel_writer *writer;
	struct reel_import_modules *modules;
	struct reel_processes *processes;
	struct reel_kernel_names *kernel_names;

	/* NULL: stacks are not scrubbed. */
	struct reel_scrubber *scrubber;
	struct reel_timeline *timeline; /* mappings at the sample's time */

	struct import_layout layout;
	struct import_scratch scratch;
	struct import_report report;
};

/* Reports damage that leaves the rest usable; takes ownership. */
void reel_importer_problem(struct importer *importer, struct reel_error *problem);
/* Reports damage and returns NULL; returns errors of this host. */
struct reel_error *reel_importer_tolerate(struct importer *importer,
					  struct reel_error *error) REEL_MUST_CHECK;

/* The first pass (perf_learn.c): events, features and the sorted list of records. */
struct reel_error *reel_importer_learn(struct importer *importer) REEL_MUST_CHECK;
/* The host (perf_host.c). */
void reel_perf_host_free(struct perf_host *host);
/* Whether the feature is about the host. */
bool reel_perf_host_wants(unsigned int feature);
/* Reads a feature; ignores those not about the host.  CORRUPT if it is too short. */
struct reel_error *reel_perf_host_feature(struct perf_host *host, unsigned int feature,
					  struct perf_cursor cursor) REEL_MUST_CHECK;
/* The start of the capture: CPU, host and events. */
struct reel_error *reel_importer_find_origin(struct importer *importer) REEL_MUST_CHECK;
struct reel_error *reel_importer_write_origin(struct importer *importer) REEL_MUST_CHECK;

/* Translates a record other than a sample (perf_records.c). */
struct reel_error *reel_importer_record(struct importer *importer, const struct perf_record *record,
					uint64_t time) REEL_MUST_CHECK;
/* Translates a sample (perf_samples.c). */
struct reel_error *reel_importer_sample(struct importer *importer, const struct perf_record *record,
					uint64_t time) REEL_MUST_CHECK;

/* Skips and counts a record whose fields do not fit; reports the first one. */
struct reel_error *reel_importer_bad_record(struct importer *importer,
					    const struct perf_record *record,
					    const char *problem) REEL_MUST_CHECK;

#endif
