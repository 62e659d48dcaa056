/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a perf.data (struct perf_event_attr), and which event a record belongs to. */
#ifndef REPLAY_IMPORT_PERF_EVENTS_H
#define REPLAY_IMPORT_PERF_EVENTS_H

#include "format/perf/perf_cursor.h"
#include "base/id_table.h"

struct perf_event {
	uint32_t type;
	uint64_t config;
	uint64_t period_or_frequency;
	uint64_t sample_type, read_format, branch_sample_type;
	uint64_t flags; /* bit n is enum perf_attr_flag n, whatever the file's byte order */
	uint64_t user_registers; /* mask of perf's register numbers */
	uint32_t stack_size;	 /* requested bytes */
	int32_t clock;
	uint32_t max_chain; /* limit for addresses in a call chain */
	char *name;	    /* NULL: unknown */
};

struct perf_events {
	struct perf_event *events;
	size_t n_events, capacity;
	struct reel_id_table by_id;
	/* How to find the event of a record. */
	enum { PERF_ONE_EVENT, PERF_BY_ID } by;
	/* Position of the id: in a sample after the header, in others back from the end. */
	size_t id_offset, id_back;
};

void reel_perf_events_free(struct perf_events *events);
/*
 * Adds an attribute and its ids: `attr` is a struct perf_event_attr, of its first `size` bytes,
 * `ids` contains numbers of 8 bytes up to its end.
 */
struct reel_error *reel_perf_events_add(struct perf_events *events, struct perf_cursor *attr,
					struct perf_cursor *ids) REEL_MUST_CHECK;
/* Names an event, by one of its ids. */
struct reel_error *reel_perf_events_name(struct perf_events *events, uint64_t id,
					 struct reel_bytes name) REEL_MUST_CHECK;
/* After the last one: UNSUPPORTED if records name no event, CORRUPT without any event. */
struct reel_error *reel_perf_events_seal(struct perf_events *events) REEL_MUST_CHECK;

/* The event of a sample, or of another record from the kernel; NULL if unknown. */
const struct perf_event *reel_perf_events_of_sample(const struct perf_events *events,
						    struct perf_cursor payload);
const struct perf_event *reel_perf_events_of_record(const struct perf_events *events,
						    struct perf_cursor payload);

/* ---- PERF_RECORD_SAMPLE, and the sample_id at the end of the kernel's other records ----------- */

/* Words in the file's byte order, in place. */
struct perf_words {
	const uint8_t *bytes;
	uint64_t count;
};

uint64_t reel_perf_word(struct perf_words words, uint64_t index, bool big_endian);

struct perf_sample {
	const struct perf_event *event;
	uint64_t ip;
	uint32_t pid, tid;
	uint32_t cpu; /* UINT32_MAX: not recorded */
	uint64_t period;
	struct perf_words chain;
	/* As struct perf_branch_entry (from, to, flags), newest first. */
	struct perf_words branches;
	/* enum perf_regs_abi, and the values of the registers in the event's mask, ascending. */
	uint64_t registers_abi;
	struct perf_words registers;
	/* From the user's sp on; `stack_room` bytes were requested. */
	const uint8_t *stack;
	uint64_t stack_size, stack_room;
	/* The user's part of its chain follows later, with this cookie. */
	bool is_deferred;
	uint64_t cookie;
};

/* Returns a text that describes the error, or NULL; pointers in *ret point into `payload`. */
const char *reel_perf_sample_decode(const struct perf_event *event, struct perf_cursor payload,
				    struct perf_sample *ret);
/* Only its time; 0 if it has none. */
uint64_t reel_perf_sample_time(const struct perf_event *event, struct perf_cursor payload);

struct perf_sample_id {
	uint64_t time; /* 0: perf made it up, or recorded none */
	uint32_t cpu;  /* UINT32_MAX: not recorded */
	uint32_t tid;  /* the same */
};

/* All fields except times and CPUs may be missing: *ret does not show which. */
void reel_perf_sample_id_decode(const struct perf_event *event, struct perf_cursor payload,
				struct perf_sample_id *ret);

#endif
