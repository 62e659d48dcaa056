/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of stackreel-record. */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/keys.h"

/* Exit status for a command line that makes no sense, as git and coreutils' newer tools have it. */
#define REEL_EXIT_USAGE 2

/* Which of the kernel's symbols a capture gets. */
enum reel_kallsyms_wanted {
	REEL_KALLSYMS_NEEDED, /* by kernel chains */
	REEL_KALLSYMS_ALL,
	REEL_KALLSYMS_NONE,
};

/* What a capture gets of the files that its samples are of. */
enum reel_embed_wanted {
	REEL_EMBED_HITS,    /* what the samples lead to */
	REEL_EMBED_MODULES, /* all of those files that unwinding and names may need */
	REEL_EMBED_NONE,
};

struct reel_options {
	const char *output; /* "-": standard output */
	uint64_t frequency; /* Hz; 0: period counts */
	bool frequency_max; /* -F max */
	uint64_t period;
	char **events; /* as typed; at least one */
	size_t n_events;

	/* What is recorded: the command, unless one of the others is given. */
	char **command; /* NULL-terminated; NULL: none */
	uint32_t *pids;
	size_t n_pids;
	bool children; /* of `pids`, which are there already, too */
	uint32_t *tids;
	size_t n_tids;
	bool system_wide;
	const char *cgroup;
	uint32_t *cpus;
	size_t n_cpus;

	bool kernel_chain;
	enum reel_kallsyms_wanted kallsyms;
	bool frame_chain;
	uint64_t duration;  /* ns, 0: no end */
	uint64_t max_stack; /* bytes */
	bool raw_stacks;    /* what is on them, and in registers, stays as it is */
	uint64_t jit_code;  /* bytes of code that is in no file, of a file at most; 0: none */
	enum reel_embed_wanted embed;
	uint64_t embed_limit; /* bytes of it, of a file at most */
	bool no_symbols;      /* leave names out of it */
	bool no_jit_names;
	bool java_perfmap;
	uint64_t ring_size;
	uint64_t rings;
	const char *btf;
	bool build_id_events; /* have the kernel tell build-ids, too */
	int level;	      /* zstd's */

	/* One of the two is not 0: rotation. */
	uint64_t rotate_time; /* ns */
	uint64_t rotate_size; /* bytes */
	uint64_t rotate_keep; /* old parts to keep; 0: all */

	struct reel_public_keys recipients; /* encrypt to these; none: do not */

	bool no_sandbox; /* keep all privileges */
	bool quiet, verbose;

	bool no_command_line;
	/* The arguments as they were, each ended by a NUL (CAPTURE.command_line). */
	char *command_line;
	size_t command_line_size;
};

/* Exits with REEL_EXIT_USAGE and a message where the command line makes no sense; --help and
 * --version exit with 0. */
void reel_options_parse(int argc, char **argv, struct reel_options *ret);
void reel_options_free(struct reel_options *options);

/* Something besides the command is recorded; the command, if any, then only says for how long, as
 * with perf. */
bool reel_options_has_target(const struct reel_options *options);
bool reel_options_rotates(const struct reel_options *options);

#endif
