/* SPDX-License-Identifier: Apache-2.0 */
/* PERF_RECORD_SAMPLE, and the sample_id at the end of the kernel's other records. */
#ifndef REPLAY_IMPORT_PERF_SAMPLE_H
#define REPLAY_IMPORT_PERF_SAMPLE_H

#include "replay/import/perf_events.h"

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
