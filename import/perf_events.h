/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a perf.data (struct perf_event_attr), and which of them a record is of. */
#ifndef IMPORT_PERF_EVENTS_H
#define IMPORT_PERF_EVENTS_H

#include "target/perf_cursor.h"
#include "base/id_table.h"

struct perf_event {
	uint32_t type;
	uint64_t config;
	uint64_t period_or_frequency;
	uint64_t sample_type, read_format, branch_sample_type;
	uint64_t flags; /* bit n is enum perf_attr_flag n, whatever the file's byte order */
	uint64_t user_registers; /* mask of perf's register numbers */
	uint32_t stack_size;	 /* bytes asked for */
	int32_t clock;
	uint32_t max_chain; /* addresses of a call chain at most */
	char *name;	    /* NULL: unknown */
};

struct perf_events {
	struct perf_event *events;
	size_t n_events, capacity;
	struct reel_id_table by_id;
	/* How a record says which event it is of. */
	enum { PERF_ONE_EVENT, PERF_BY_ID } by;
	/* Of the id: in a sample behind the header, and in other records back from the end. */
	size_t id_offset, id_back;
};

void reel_perf_events_free(struct perf_events *events);
/*
 * An attribute and its ids: `attr` holds a struct perf_event_attr of its first `size` bytes,
 * `ids` numbers of 8 bytes up to its end.
 */
struct reel_error *reel_perf_events_add(struct perf_events *events, struct perf_cursor *attr,
					struct perf_cursor *ids) REEL_MUST_CHECK;
/* An event's name, by one of its ids. */
struct reel_error *reel_perf_events_name(struct perf_events *events, uint64_t id,
					 struct reel_bytes name) REEL_MUST_CHECK;
/* All are there: UNSUPPORTED if nothing tells which event a record is of, CORRUPT without any. */
struct reel_error *reel_perf_events_seal(struct perf_events *events) REEL_MUST_CHECK;

/* The event of a sample, and of another record of the kernel's; NULL if it can't be told. */
const struct perf_event *reel_perf_events_of_sample(const struct perf_events *events,
						    struct perf_cursor payload);
const struct perf_event *reel_perf_events_of_record(const struct perf_events *events,
						    struct perf_cursor payload);

#endif
