/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a probe in a file: the functions that a name means. */
#ifndef RECORD_PROBES_PROBE_PLACES_H
#define RECORD_PROBES_PROBE_PLACES_H

#include "elf/elf_file.h"
#include "record/probes/probe_name.h"

struct reel_probe_places {
	struct reel_probe_place {
		uint64_t offset;       /* in the file, ascending */
		const char *arguments; /* USDT: of its note, in the file; NULL: another kind */
		uint64_t counter;      /* USDT: the file offset of its semaphore; 0: none */
	} * all;
	size_t n, capacity;
	bool is_full;	/* more than REEL_PROBE_PLACES_MAX */
	bool chooses;	/* the name is a resolver's (IFUNC) */
	bool is_beyond; /* the probe's offset is not in the function */
	bool is_out_of_memory;
};

/* Finds none if the file has no such function.  `debug`: may be NULL. */
struct reel_error *reel_probe_places_find(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  struct reel_probe_places *ret) REEL_MUST_CHECK;

/*
 * The names of all that the name means, as one after FILE: in an event: "shop::total(int)",
 * "provider:name".  Names may be visited several times.
 */
struct reel_error *reel_probe_places_name(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  void (*visit)(void *context, const char *text),
					  void *context) REEL_MUST_CHECK;

/* Whether a symbol, mangled or not, has the name, or matches the pattern. */
bool reel_probe_name_matches(const char *name, const char *symbol);

#endif
