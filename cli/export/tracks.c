/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/export/tracks.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"

/* A batch in the file: samples, and the position of the track's next batch. */
struct batch {
	uint64_t next;
	struct track_sample samples[TRACK_BATCH];
};

bool tracks_open(struct tracks *tracks)
{
	*tracks = (struct tracks){ .fd = -1, .first_time = UINT64_MAX };
	return no_error(reel_temporary_file(&tracks->fd));
}

void tracks_close(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = tracks->items[i];

		free(track->comm);
		free(track->host);
		free(track->event);
		free(track->unit);
		free(track);
	}
	free(tracks->items);
	reel_hash_index_free(&tracks->by_key);
	if (tracks->fd >= 0)
		close(tracks->fd);
}

void tracks_begin_capture(struct tracks *tracks, const struct session *session)
{
	tracks->info = session->info;
	tracks->n_captures++;
	tracks->several_events |= session->n_events > 1;
}

/* ---- which track --------------------------------------------------------------------------- */

static bool is_same(const struct track_key *a, const struct track_key *b)
{
	return a->thread == b->thread && a->capture == b->capture && a->host == b->host &&
	       a->pid == b->pid && a->tid == b->tid && a->event == b->event;
}

static uint64_t hash_of(const struct track_key *key)
{
	return key->thread * 0x9e3779b97f4a7c15 ^
	       ((uint64_t)key->pid << 32 | key->tid) * 0xc2b2ae3d27d4eb4f ^
	       ((uint64_t)key->capture << 48 ^ (uint64_t)key->host << 32 ^ key->event) *
		       0x165667b19e3779f9;
}

static struct track *track_make(struct tracks *tracks, const struct track_key *key,
				const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct track *track = memory_get(sizeof(*track));

	track->key = *key;
	track->is_sorted = true;
	track->host = text_escape(trace->host, "");
	track->event = text_escape(event_name(event), "");
	track->unit = text_escape(event ? event->weight_unit : "", "");
	track->first_batch = track->next_batch = tracks->n_batches++;
	return track;
}

static struct track *track_of(struct tracks *tracks, const struct reel_trace *trace,
			      const struct reel_event_info *event)
{
	struct track_key key = { trace->thread, tracks->n_captures, trace->host_id,
				 trace->pid,	trace->tid,	    trace->event };
	uint64_t hash = hash_of(&key);
	uint32_t known =
		REEL_HASH_FIND(&tracks->by_key, hash, i, is_same(&tracks->items[i]->key, &key));

	if (known != REEL_HASH_NONE)
		return tracks->items[known];
	tracks->items = memory_reserve(tracks->items, &tracks->capacity, tracks->count,
				       sizeof(*tracks->items));
	if (!reel_hash_index_add(&tracks->by_key, hash, (uint32_t)tracks->count))
		memory_check(NULL);
	tracks->items[tracks->count] = track_make(tracks, &key, trace, event);
	return tracks->items[tracks->count++];
}

/* ---- samples ------------------------------------------------------------------------------- */

static bool write_batch(struct tracks *tracks, struct track *track)
{
	struct batch batch = { .next = tracks->n_batches };
	ssize_t n;

	memcpy(batch.samples, track->waiting, sizeof(batch.samples));
	n = pwrite(tracks->fd, &batch, sizeof(batch), (off_t)(track->next_batch * sizeof(batch)));
	if (n != sizeof(batch)) {
		complain("cannot write the temporary file for samples (TMPDIR): %s",
			 n < 0 ? strerror(errno) : "no space left");
		return false;
	}
	track->next_batch = tracks->n_batches++;
	return true;
}

bool tracks_add(struct tracks *tracks, const struct reel_trace *trace,
		const struct reel_event_info *event, uint32_t stack)
{
	struct track *track = track_of(tracks, trace, event);
	struct track_sample sample = { .weight = trace->weight,
				       .stack = stack,
				       .state = (uint8_t)trace->state };

	if (wall_time_of(tracks->info, trace->time, &sample.time))
		tracks->has_wall_times = true;
	else
		sample.time = trace->time;
	if (sample.time < tracks->first_time)
		tracks->first_time = sample.time;
	if (sample.time > tracks->last_time)
		tracks->last_time = sample.time;
	if (sample.time < track->last_time)
		track->is_sorted = false;
	track->last_time = sample.time;
	if (trace->weight)
		track->has_weights = true;
	if (trace->comm != track->seen_comm) {
		free(track->comm);
		track->comm = text_escape(trace->comm, "");
		track->seen_comm = trace->comm;
	}
	track->waiting[track->count++ % TRACK_BATCH] = sample;
	return track->count % TRACK_BATCH || write_batch(tracks, track);
}

static bool read_batch(const struct tracks *tracks, uint64_t place, struct batch *batch)
{
	ssize_t n = pread(tracks->fd, batch, sizeof(*batch), (off_t)(place * sizeof(*batch)));

	if (n == sizeof(*batch))
		return true;
	complain("cannot read the temporary file for samples: %s",
		 n < 0 ? strerror(errno) : "it is too short");
	return false;
}

static bool visit_in_file_order(const struct tracks *tracks, const struct track *track,
				void (*visit)(void *context, const struct track_sample *sample),
				void *context)
{
	uint64_t place = track->first_batch, left = track->count;

	for (; left >= TRACK_BATCH; left -= TRACK_BATCH) {
		struct batch batch;

		if (!read_batch(tracks, place, &batch))
			return false;
		for (size_t i = 0; i < TRACK_BATCH; i++)
			visit(context, &batch.samples[i]);
		place = batch.next;
	}
	for (size_t i = 0; i < left; i++)
		visit(context, &track->waiting[i]);
	return true;
}

struct sorted_sample {
	struct track_sample sample;
	size_t number;
};

struct sorter {
	struct sorted_sample *samples;
	size_t n;
};

static void append_sample(void *context, const struct track_sample *sample)
{
	struct sorter *sorter = context;

	sorter->samples[sorter->n] = (struct sorted_sample){ *sample, sorter->n };
	sorter->n++;
}

static int compare_times(const void *a, const void *b)
{
	const struct sorted_sample *x = a, *y = b;

	if (x->sample.time != y->sample.time)
		return x->sample.time < y->sample.time ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts in memory: recorders write a thread's samples in order of time, but files need not keep
 * this order.
 */
static bool visit_sorted(const struct tracks *tracks, const struct track *track,
			 void (*visit)(void *context, const struct track_sample *sample),
			 void *context)
{
	struct sorter sorter = { .samples = memory_resize(NULL, track->count,
							  sizeof(*sorter.samples)) };
	bool ok = visit_in_file_order(tracks, track, append_sample, &sorter);

	qsort(sorter.samples, sorter.n, sizeof(*sorter.samples), compare_times);
	for (size_t i = 0; ok && i < sorter.n; i++)
		visit(context, &sorter.samples[i].sample);
	free(sorter.samples);
	return ok;
}

bool tracks_visit(const struct tracks *tracks, const struct track *track,
		  void (*visit)(void *context, const struct track_sample *sample), void *context)
{
	return track->is_sorted ? visit_in_file_order(tracks, track, visit, context)
				: visit_sorted(tracks, track, visit, context);
}

uint64_t track_weight(const struct track *track, const struct track_sample *sample)
{
	return track->has_weights ? sample->weight : 1;
}

bool track_is_time(const struct track *track)
{
	return track->has_weights && !strcmp(track->unit, "ns");
}
