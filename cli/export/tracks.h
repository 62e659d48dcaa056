/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples by thread and event, in order of time, for formats in this order. They are stored in an
 * unnamed temporary file: memory grows with the threads, a kilobyte each.
 */
#ifndef CLI_EXPORT_TRACKS_H
#define CLI_EXPORT_TRACKS_H

#include "base/hash_index.h"
#include "cli/session/session.h"

struct track_sample {
	uint64_t time; /* ns since 1970, or of the capture's clock if that is unknown */
	uint64_t weight;
	uint32_t stack;
	uint8_t state; /* enum reel_state */
};

/* Samples written to the file at a time. */
#define TRACK_BATCH 40

struct track {
	struct track_key {
		uint64_t thread;
		uint32_t capture, host, pid, tid, event;
	} key;
	const char *seen_comm; /* the capture's */
	char *comm, *host;     /* escaped; the last comm */
	char *event, *unit;    /* escaped */
	bool has_weights, is_sorted;
	uint64_t count, last_time;
	uint64_t first_batch, next_batch; /* places in the file */
	struct track_sample waiting[TRACK_BATCH];
};

struct tracks {
	int fd;
	uint64_t n_batches;
	struct track **items;
	size_t count, capacity;
	struct reel_hash_index by_key;
	const struct reel_capture_info *info;
	uint32_t n_captures;
	uint64_t first_time, last_time; /* of all samples */
	bool has_wall_times;
	bool several_events;
};

/* All functions return false after an error, which was reported. */
bool tracks_open(struct tracks *tracks);
void tracks_close(struct tracks *tracks);
void tracks_begin_capture(struct tracks *tracks, const struct session *session);
bool tracks_add(struct tracks *tracks, const struct reel_trace *trace,
		const struct reel_event_info *event, uint32_t stack);
/* The samples of a track, in order of time. */
bool tracks_visit(const struct tracks *tracks, const struct track *track,
		  void (*visit)(void *context, const struct track_sample *sample), void *context);
/* A sample's count: its weight, or 1 if no sample of the track has a weight. */
uint64_t track_weight(const struct track *track, const struct track_sample *sample);
/* Weights are ns. */
bool track_is_time(const struct track *track);

#endif
