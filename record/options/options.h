/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of stackreel-record. */
#ifndef RECORD_OPTIONS_OPTIONS_H
#define RECORD_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/keys.h"
#include "record/probes/probes.h"
#include "record/triggers/triggers.h"

/* Exit status for an invalid command line, as in git and coreutils' newer tools. */
#define REEL_EXIT_USAGE 2

/* Kernel symbols to write to a capture. */
enum reel_kallsyms_wanted {
	REEL_KALLSYMS_NEEDED, /* by kernel chains */
	REEL_KALLSYMS_ALL,
	REEL_KALLSYMS_NONE,
};

enum reel_status_format {
	REEL_STATUS_NONE, /* record */
	REEL_STATUS_TEXT,
	REEL_STATUS_JSON,
	REEL_STATUS_PROMETHEUS,
};

/* Parts of the sampled files to embed in a capture. */
enum reel_embed_wanted {
	REEL_EMBED_HITS,    /* parts that samples lead to */
	REEL_EMBED_MODULES, /* all parts of those files that unwinding and names may need */
	REEL_EMBED_NONE,
};

struct reel_options {
	const char *output; /* "-": standard output */
	uint64_t frequency; /* Hz; 0: period counts */
	bool frequency_max; /* -F max */
	uint64_t period;
	char **events; /* as typed; at least one */
	size_t n_events;

	/* The target: the command, unless another target is given. */
	char **command; /* NULL-terminated; NULL: none */
	uint32_t *pids;
	size_t n_pids;
	bool children; /* also existing children of `pids` */
	uint32_t *tids;
	size_t n_tids;
	bool system_wide;
	const char *cgroup;
	uint32_t *cpus;
	size_t n_cpus;

	bool list;		  /* only print names of events */
	const char *list_pattern; /* NULL: all */

	enum reel_status_format status; /* print it and exit */
	const char *status_of;		/* a process ID or a file; NULL: all */

	bool off_cpu;		    /* also the event off-cpu */
	bool wakers;		    /* and the event waker */
	uint64_t off_cpu_frequency; /* Hz, of the event off-cpu */
	bool all_waits;		    /* instead, each wait of at least min_block */
	bool has_min_block;
	uint64_t min_block; /* ns */

	/* --arg and --filter: of the events of the -e before them. */
	struct reel_option_value {
		size_t first_event, n_events;
		const char *text;
		bool is_filter;
	} * values;
	size_t n_values;
	size_t last_events; /* the first event of the last -e */

	bool has_max_rate;
	uint64_t max_rate; /* samples per second and CPU of an event whose hits are samples */

	bool kernel_chain;
	enum reel_kallsyms_wanted kallsyms;
	bool frame_chain;
	uint64_t duration; /* ns, 0: no end */
	/* ns; 0: always */
	uint64_t activate_time, activate_period;
	uint64_t cpu_limit;    /* millionths of each CPU; 0: none */
	uint64_t memory_limit; /* bytes; 0: none */
	/* Samples per time in ns; 0: as many as the frequency gives. */
	uint64_t target_samples, target_time;
	uint64_t max_stack;  /* bytes */
	bool raw_stacks;     /* do not scrub data in stacks and registers */
	uint64_t side_limit; /* bytes; record/budget/budget.h */
	uint64_t jit_code;   /* bytes of code that is in no file, per capture file; 0: none */
	enum reel_embed_wanted embed;
	uint64_t embed_limit; /* embedded bytes, in a capture file at most */
	bool no_symbols;      /* do not embed names */
	bool no_jit_names;
	bool no_interpreters;
	bool java_perfmap;
	uint64_t ring_size; /* 0: as the events need */
	uint64_t rings;
	const char *btf;
	const char *otel_map;	 /* NULL: the default, if it exists; "none" */
	bool build_id_events;	 /* also have the kernel report build-ids */
	uint64_t level;		 /* zstd's */
	uint64_t flush_interval; /* ns; 0: not given */

	/* One of the two is not 0: rotation. */
	uint64_t rotate_time;		     /* ns */
	uint64_t rotate_size;		     /* bytes */
	uint64_t rotate_keep;		     /* old parts to keep; 0: all */
	uint64_t rotate_total;		     /* bytes of all parts; 0: no limit */
	uint64_t min_free, min_free_percent; /* of the disk, beside the parts */

	/* Not 0: a flight recorder. */
	uint64_t overwrite_time; /* ns in memory */
	uint64_t overwrite_size; /* bytes in memory at most */
	uint64_t after;		 /* ns after a request that are in its file */
	struct reel_trigger *triggers;
	size_t n_triggers;
	uint64_t dump; /* only have this process write its file; 0: none */

	struct reel_public_keys recipients; /* encrypt to these; empty: do not encrypt */

	bool view;	 /* show the capture afterwards */
	bool no_sandbox; /* keep all privileges */
	bool quiet, verbose;

	/* Of a recorder that takes over from one that still runs: written to once samples are
	 * taken; -1: none does. */
	int takeover;

	const char *config;  /* the last one */
	char **config_lines; /* as arguments, which the other options refer to */
	size_t n_config_lines;

	bool no_command_line;
	/* The arguments as given, each ended by a NUL (CAPTURE.command_line). */
	char *command_line;
	size_t command_line_size;
};

/* Exits with REEL_EXIT_USAGE and a message if the command line is invalid; --help and --version
 * exit with 0. */
void reel_options_parse(int argc, char **argv, struct reel_options *ret);
void reel_options_free(struct reel_options *options);

/* Whether another target than the command is recorded; the command, if any, then only determines
 * the duration, as with perf. */
bool reel_options_has_target(const struct reel_options *options);
/* Whether a parent starts the recorder again on SIGHUP: a command would be run again. */
bool reel_options_is_service(const struct reel_options *options);
bool reel_options_rotates(const struct reel_options *options);
/* Whether two recorders can have these options at once, each with files of its own. */
bool reel_options_may_overlap(const struct reel_options *options);
/* Where events look up files. */
struct reel_probe_targets reel_options_probe_targets(const struct reel_options *options);

#endif
