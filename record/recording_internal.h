/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement recording.h. */
#ifndef RECORD_RECORDING_INTERNAL_H
#define RECORD_RECORDING_INTERNAL_H

#include <signal.h>

#include "record/command.h"
#include "record/budget/governor.h"
#include "record/host/cpus.h"
#include "record/host/wall_clock.h"
#include "record/processes/kernel_symbols.h"
#include "record/embedding/embedding.h"
#include "record/jit/java_asker.h"
#include "record/jit/jit_code.h"
#include "record/jit/jit_names.h"
#include "record/sampling/held_samples.h"
#include "record/output/losses.h"
#include "record/options/options.h"
#include "record/output/output.h"
#include "record/output/status.h"
#include "record/processes/process_events.h"
#include "record/output/progress.h"
#include "record/jit/function_table.h"
#include "record/output/ring_users.h"
#include "record/sampling/sample_labels.h"
#include "record/sampling/sample_translator.h"
#include "record/sampling/sampler.h"
#include "record/processes/tracker.h"
#include "record/triggers/triggers.h"
#include "format/scrub/scrub.h"

struct recording_signals {
	sigset_t old;
	int fd;	      /* signalfd */
	bool child;   /* SIGCHLD */
	bool protect; /* SIGUSR2 */
	/* When it was taken first, and the process that sent it; 0: unknown. */
	uint64_t protect_time;
	uint32_t protect_sender;
};

/* State between the kernel and the file (recording_stream.c). */
struct recording_stream {
	uint64_t last_sample; /* id */
	/* Process events up to this time were taken from the kernel. */
	uint64_t taken;
	uint64_t part_begin;
	/* While a part ends: later samples and events wait for the next part. */
	uint64_t cut;
	struct reel_buffer deferred;
	/* Samples of threads that wait. */
	struct reel_held_samples held;
	struct reel_ring_users ring_users;
	/* Start of the previous cycle. */
	uint64_t previous_cycle;
	uint64_t above_rate;  /* hits dropped because of --max-rate */
	uint64_t lost_events; /* lost process events at the last check */
	/* Until then, this turn may read names; and the turn was too short for all. */
	uint64_t names_until;
	bool has_more;
	/* Refused samples were reported once. */
	bool said_refused;
};

/* Costs of a slow file (recording_backlog.c). */
struct recording_backlog {
	uint32_t stack_limit; /* current limit of a stack, in bytes */
	/* The last time in which it was below the requested one; to: UINT64_MAX while it is. */
	uint64_t limited_from, limited_to;
	uint64_t n_cut, n_dropped;
};

/* What was measured and done for the governor (recording_governor.c). */
struct recording_governing {
	uint64_t due;	    /* the next step's time */
	uint64_t processes; /* their CPU time at the last step */
	uint64_t cost;	    /* of all processes and programs */
	double frequency;   /* as applied */
};

/* Of --memory-limit (recording_memory.c). */
enum memory_level {
	MEMORY_ENOUGH,
	MEMORY_CACHES,
	MEMORY_STACKS,
	MEMORY_PLACES,
	MEMORY_SAMPLES,
};

struct recording_memory {
	enum memory_level level;
	uint64_t fixed; /* bytes of the kernel for the recorder */
	uint64_t due, trim_due;
	bool was_over; /* the limit, at the last look */
};

/* Of --overwrite. */
struct recording_flight {
	/* When the file being written ends; 0: none is. */
	uint64_t end;
	uint64_t n_files;
	bool said_limit; /* of files in an hour */
};

/* Of --activate. */
struct recording_activation {
	bool rests;    /* no samples are taken now */
	uint64_t next; /* when that changes */
	/* ns of this file in which samples were taken, up to `since`. */
	uint64_t active, since;
};

/* For --status; texts "" and NULL: none. */
struct recording_last {
	uint64_t n, time; /* Unix time */
	char text[REEL_MARK_TEXT_MAX + 1];
	char *file;
};

struct recording_end {
	bool asked;
	enum reel_end_reason reason;
	bool helper_died, over_memory;
	uint64_t deadline; /* 0: none */
	uint64_t time;	   /* when the end was requested */
	bool hurries;	   /* a signal has requested the end again */
};

struct recording {
	const struct reel_options *options;
	struct reel_target target;
	const char *unreadable; /* why processes cannot be read; NULL: they can */
	double cpu_limit;	/* CPUs; 0: no limit */
	struct reel_sampler_event *events;
	uint64_t ring_size; /* bytes */
	struct reel_budget *budget;
	struct reel_inspector *inspector;
	struct reel_module_table *modules;
	struct reel_process_events *process_events;
	struct reel_sampler *sampler;
	struct reel_tracker *tracker;
	struct reel_kernel_symbols *symbols; /* NULL: no names */
	struct reel_output *output;
	struct reel_status_file status; /* what --status prints */
	struct reel_losses *losses;
	struct reel_cpu_watch *cpu_watch;
	struct reel_cpus unwatched; /* came online, but could not be watched */
	struct reel_command command;
	struct reel_progress progress;
	struct reel_sample_translator translator;
	struct reel_sample_labels labels;      /* of its sample */
	struct reel_jit_code *jit_code;	       /* NULL: keep no code and no names */
	struct reel_jit_names *jit_names;      /* NULL: keep no names */
	struct reel_function_table *functions; /* NULL: keep no interpreter frames */
	struct reel_image_asker *image_asker;
	struct reel_java_asker *java_asker; /* NULL: do not ask JVMs */
	struct reel_embedding *embedding;   /* NULL: embed nothing */
	struct reel_scrubber *scrubber;	    /* NULL: keep stacks unchanged */
	struct reel_record_sink sink;	    /* to `output` */
	char *cgroup;			    /* the directory */
	uint32_t *pids;			    /* requested processes, and children with --children */
	size_t n_pids;
	bool said_publishers, said_interpreters; /* that there are too many */
	uint64_t said_dropped;			 /* parts deleted on a full disk */

	struct recording_signals signals;
	struct recording_stream stream;
	struct recording_backlog backlog;
	struct reel_governor governor; /* n_ticks 0: no limit and no target */
	struct recording_governing governing;
	struct recording_activation activation;
	struct recording_memory memory;
	struct recording_flight flight;
	struct recording_last last_trigger, last_step; /* steps have no file */
	struct reel_triggers *triggers;		       /* NULL: none */
	struct reel_wall_clock wall_clock;	       /* at the last jump, or the start */
	struct recording_end end;
};

/* ---- recording_messages.c ---- */

/* Prints a line to standard error, over the live line; `note` only with -v. */
void recording_say(struct recording *recording, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void recording_note(void *recording, const char *line);

/* ---- recording_signals.c: requests to end, or to keep parts ---- */

/* From now on, signals only arrive at the descriptor in `signals`. */
struct reel_error *recording_block_signals(struct recording *recording) REEL_MUST_CHECK;
/* Handles signals: stores requests in `end` and `signals`. */
void recording_read_signals(struct recording *recording);
/* The first reason counts. */
void recording_ask_end(struct recording *recording, enum reel_end_reason reason);

/* ---- recording_setup.c: up to the first sample ---- */

struct reel_error *recording_open(struct recording *recording) REEL_MUST_CHECK;
void recording_close(struct recording *recording);

/* ---- recording_stream.c: from the kernel into the file ---- */

/* CAPTURE and EVENT records of the current part, and a MARK if data will be missing. */
struct reel_error *recording_write_head(struct recording *recording) REEL_MUST_CHECK;
/* For struct reel_process_events_options. */
struct reel_error *recording_process_event(void *context,
					   const struct reel_process_event *event) REEL_MUST_CHECK;
struct reel_error *recording_process_details(void *context, const struct reel_bpf_process *details)
	REEL_MUST_CHECK;
/* Takes the kernel's data once. */
struct reel_error *recording_cycle(struct recording *recording) REEL_MUST_CHECK;
/* Gives back what earlier samples and processes needed. */
void recording_free_unused(struct recording *recording);
/* Writes losses and ends the blocks. */
struct reel_error *recording_flush(struct recording *recording) REEL_MUST_CHECK;
/* Ends the part and begins the next one; with --overwrite, ends the file being written, if any, and
 * begins a round. */
struct reel_error *recording_rotate(struct recording *recording) REEL_MUST_CHECK;
/* Writes a MARK of a trigger. */
struct reel_error *recording_mark_trigger(struct recording *recording, uint64_t time,
					  const char *text) REEL_MUST_CHECK;
/* The same of a step, and a line with -v. */
struct reel_error *recording_mark_step(struct recording *recording,
				       const char *text) REEL_MUST_CHECK;
/* The last trigger is the reason for the file being written. */
void recording_note_trigger_file(struct recording *recording);
/* END, index and trailer. */
struct reel_error *recording_finish(struct recording *recording) REEL_MUST_CHECK;

/* ---- recording_flight.c: files of --overwrite ---- */

/* Begins a file, unless one is being written, and marks the moment. */
struct reel_error *recording_flight_dump(struct recording *recording, uint64_t time,
					 const char *text) REEL_MUST_CHECK;
/* Ends the file and begins a round, if one or the other is due. */
struct reel_error *recording_flight_turn(struct recording *recording) REEL_MUST_CHECK;
/* The recording ends: ends the file that is being written. */
struct reel_error *recording_flight_finish(struct recording *recording) REEL_MUST_CHECK;

/* ---- recording_cpus.c: CPUs that come and go ---- */

struct reel_error *recording_follow_cpus(struct recording *recording) REEL_MUST_CHECK;

/* ---- recording_activation.c: --activate ---- */

/* Call it before the sampler is enabled. */
void recording_begin_activation(struct recording *recording);
/* Begins or ends to take samples if it is time. */
void recording_watch_activation(struct recording *recording);
/* How much of a file's time was sampled; the next file begins. */
void recording_describe_activation(struct recording *recording, char text[128]);

/* ---- recording_clock.c: the wall clock ---- */

/* A MARK of how far it may be off. */
struct reel_error *recording_mark_clock(struct recording *recording) REEL_MUST_CHECK;
/* Marks a jump; *jumped_ret: from here on, times of this part would be wrong. */
struct reel_error *recording_watch_clock(struct recording *recording,
					 bool *jumped_ret) REEL_MUST_CHECK;

/* ---- recording_governor.c: --cpu-limit and --target-samples ---- */

/* Call it before the first sample. */
struct reel_error *recording_begin_governor(struct recording *recording) REEL_MUST_CHECK;
/* Takes a step if one is due. */
struct reel_error *recording_govern(struct recording *recording) REEL_MUST_CHECK;
/* While the governor pauses, nothing is read: what the rings have no room for counts as lost. */
void recording_wait_paused(struct recording *recording);

/* ---- recording_memory.c: --memory-limit ---- */

/* The part of the limit for mappings, images, the ring of --overwrite and data that waits, each; and for
 * code of JITs, its names, buffers of process events, and stacks on all CPUs.  A helper may have three
 * of the latter: the image of a compiler (cc1) takes 18 MB. */
#define RECORDING_MEMORY_SHARE 4
#define RECORDING_MEMORY_SMALL 8

/* Lowers other limits to these parts. */
void recording_fit_memory(struct reel_options *options);
/* Fails if the limit is too low for what is open.  Call it before the file is made. */
struct reel_error *recording_begin_memory(struct recording *recording) REEL_MUST_CHECK;
/* Gives way if that is due. */
struct reel_error *recording_watch_memory(struct recording *recording) REEL_MUST_CHECK;

/* ---- recording_backlog.c: data waiting for the file ---- */

/* Limits stacks according to the waiting data. */
void recording_relieve(struct recording *recording);
/* Whether stacks were limited when a sample was taken. */
bool recording_limited_at(const struct recording *recording, uint64_t time);
/* Whether a sample has to be dropped because of waiting data; counted in n_dropped. */
bool recording_drops(struct recording *recording);
/* Whether the recording has to end because of waiting data. */
bool recording_is_overrun(const struct recording *recording);
/* Has samples taken, or not, and stacks up to a size, as all limits together allow. */
void recording_set_pause(struct recording *recording);
void recording_cap_stacks(struct recording *recording);

#endif
