/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running recorder publishes: a small file, FOLDER/PID.status, one "name value" per line,
 * replaced every two seconds and deleted at the end of the process PID.  Readers treat it as hostile.
 */
#ifndef RECORD_OUTPUT_STATUS_H
#define RECORD_OUTPUT_STATUS_H

#include "base/output_place.h"

#define REEL_STATUS_TEXT_SIZE 4096

/* In the order of reports; "": none. */
enum reel_status_text {
	REEL_STATUS_LAST_PART, /* path of the newest finished part */
	REEL_STATUS_LAST_STEP, /* of --cpu-limit, --memory-limit, --target-samples */
	REEL_STATUS_LAST_TRIGGER,
	REEL_STATUS_LAST_TRIGGER_FILE, /* path of its file */
	REEL_STATUS_TEXTS,
};

extern const char *const reel_status_text_names[REEL_STATUS_TEXTS];

struct reel_status {
	uint64_t pid;
	uint64_t process_start;	   /* as in /proc/PID/stat, since numbers are used again */
	uint64_t started, updated; /* Unix time, seconds */
	uint64_t samples, samples_lost, samples_per_second, stacks_cut;
	uint64_t bytes_written, bytes_waiting;
	uint64_t parts, parts_dropped, parts_bytes;
	uint64_t limit_steps, triggers;
	uint64_t last_triggered; /* Unix time, 0: never */
	char texts[REEL_STATUS_TEXTS][REEL_STATUS_TEXT_SIZE];
	/* Not in the file: of the recorder and its helpers, when the file was read. */
	uint64_t cpu_ms, memory_bytes;
};

enum reel_status_kind {
	REEL_STATUS_INTERNAL, /* in the file only */
	REEL_STATUS_COUNTER,
	REEL_STATUS_GAUGE,
	REEL_STATUS_TIME, /* a gauge, in Unix time */
	REEL_STATUS_MS,	  /* a counter, shown in seconds */
};

/* The numbers, in the order of reports. */
struct reel_status_field {
	const char *name;
	size_t offset; /* of a uint64_t */
	enum reel_status_kind kind;
	const char *help;
};

extern const struct reel_status_field reel_status_fields[];
extern const size_t reel_status_n_fields;

/* The running user's folder; the caller frees it.  NULL: there is none. */
char *reel_status_folder(void);
/* A process's start and ms of CPU, its waited-for children's included; false if it has ended. */
bool reel_status_process(uint64_t pid, uint64_t *start_ret, uint64_t *cpu_ms_ret);

struct reel_status_file {
	struct reel_output_place place; /* its folder is -1 if nothing is published */
	uint32_t pid;
	uint64_t process_start, started;
	uint64_t last_time, last_samples; /* when it was published last */
};

/* Opens the folder.  `pid` names the file: this process or, in a service, its parent. */
struct reel_error *reel_status_file_open(uint32_t pid,
					 struct reel_status_file *ret) REEL_MUST_CHECK;
bool reel_status_file_is_due(const struct reel_status_file *file);
/* Sets the fields that the file knows, and replaces it.  A failure leaves the previous one. */
void reel_status_file_publish(struct reel_status_file *file, struct reel_status *status);
/* Deletes the file, if it is this process's. */
void reel_status_file_close(struct reel_status_file *file);

/* Reads a file that anybody may have written. */
struct reel_error *reel_status_read(const char *path, struct reel_status *ret) REEL_MUST_CHECK;

#endif
