/* SPDX-License-Identifier: Apache-2.0 */
/* Merges samples that differ only in time: same event, stack and thread. */
#ifndef CLI_PROTOBUF_SAMPLE_SUMS_H
#define CLI_PROTOBUF_SAMPLE_SUMS_H

#include "cli/protobuf/profile_tables.h"

struct sample_event {
	uint32_t name, unit; /* texts */
	uint64_t frequency, period;
};

/* A sample's properties besides its stack. */
struct sample_labels {
	uint64_t thread;
	uint32_t pid, tid;
	uint32_t comm, host; /* texts */
	uint32_t state;	     /* a text: why the thread was not on a CPU */
	uint32_t stop;	     /* a text: why the trace ended too early */
	uint32_t guessed;    /* a frame was guessed */
	uint32_t labels;     /* the capture's own: the last one's number; 0: none */
};

/* A label of a sample, in a list of them from the last to the first. */
struct sample_label {
	uint64_t number;    /* if `text` is 0 */
	uint32_t key, text; /* texts */
	uint32_t previous;  /* 0: none */
	uint32_t padding;
};

struct sample_key {
	uint32_t event, stack, labels; /* numbers */
};

struct sample_sum {
	uint64_t count, weight;
};

struct sample_sums {
	struct profile_tables tables;
	struct numbers events, labels, samples, label_lists;
	struct sample_sum *sums; /* by number of the sample */
	size_t sums_capacity;
	struct sample_sum *event_sums;
	size_t event_sums_capacity;
	/* ns, of the first and the last sample; wall times are 0 if captures do not state them. */
	uint64_t first_wall_time, last_wall_time, first_time, last_time;
	bool any;
};

void sample_sums_init(struct sample_sums *sums);
void sample_sums_free(struct sample_sums *sums);
void sample_sums_begin_capture(struct sample_sums *sums, struct session *session);
void sample_sums_add(struct sample_sums *sums, const struct reel_trace *trace,
		     const struct reel_event_info *event);

const struct sample_event *sample_event_of(const struct sample_sums *sums, uint32_t number);
const struct sample_labels *sample_labels_of(const struct sample_sums *sums, uint32_t number);
const struct sample_label *sample_label_of(const struct sample_sums *sums, uint32_t number);
const struct sample_key *sample_key_of(const struct sample_sums *sums, uint32_t number);

/* The event's weights differ from its sample count: they are times, or more than one each. */
bool sample_event_has_weight(const struct sample_sums *sums, uint32_t event);
bool sample_event_is_time(const struct sample_sums *sums, uint32_t event);
/*
 * Texts. The main event's samples are called "samples", and its weights "cpu" if it is a clock:
 * these are the names that Go and profile servers use. Other weights have the event's name, and
 * samples the name with "-samples"; of an event without weights, the name alone.
 */
uint32_t sample_event_count_name(struct sample_sums *sums, uint32_t event);
uint32_t sample_event_weight_name(struct sample_sums *sums, uint32_t event);
/* The period between two samples, in the weight's unit: never 0. */
uint64_t sample_event_period(const struct sample_sums *sums, uint32_t event);
/* The first clock, else the first event that measures time, else the first; 0: none. */
uint32_t sample_sums_main_event(const struct sample_sums *sums);
/* ns from the first to the last sample. */
uint64_t sample_sums_duration(const struct sample_sums *sums);

#endif
