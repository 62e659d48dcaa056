/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording.h"
#include "record/recording_internal.h"
#include "record/turns.h"

/* How long to wait at the end before checking for another signal. */
#define WRITE_TIMEOUT_MS 1000

/* ---- the loop ------------------------------------------------------------------------- */

/* Descriptors that the loop waits for: process events, including hung-up ones, and four more. */
struct poll_set {
	struct pollfd *fds;
	size_t count;
	/* Openings of the process events' descriptors: a hung-up one is ignored until it
	 * changes. */
	unsigned int *known;
	size_t n_known;
};

static struct reel_error *poll_set_grow(struct poll_set *set, size_t n_cpus)
{
	struct pollfd *fds = reallocarray(set->fds, n_cpus + 4, sizeof(*fds));
	unsigned int *known;

	if (!fds)
		return reel_error_no_memory();
	set->fds = fds;
	known = reallocarray(set->known, n_cpus + 1, sizeof(*known));
	if (!known)
		return reel_error_no_memory();
	set->known = known;
	while (set->n_known < n_cpus) {
		set->fds[set->n_known] = (struct pollfd){ .fd = -1, .events = POLLIN };
		set->known[set->n_known++] = 0;
	}
	return NULL;
}

/* Called each time, since CPUs come and go. */
static struct reel_error *poll_set_fill(const struct recording *recording, struct poll_set *set)
{
	size_t n_cpus;
	const struct reel_process_cpu *cpus =
		reel_process_events_cpus(recording->process_events, &n_cpus);

	if (set->n_known < n_cpus || !set->fds)
		TRY(poll_set_grow(set, n_cpus));
	for (size_t i = 0; i < n_cpus; i++) {
		if (set->known[i] != cpus[i].openings || cpus[i].fd < 0)
			set->fds[i] = (struct pollfd){ .fd = cpus[i].fd, .events = POLLIN };
		set->known[i] = cpus[i].openings;
	}
	set->count = n_cpus;
	set->fds[set->count++] = (struct pollfd){ reel_sampler_fd(recording->sampler), POLLIN, 0 };
	set->fds[set->count++] = (struct pollfd){ recording->signals.fd, POLLIN, 0 };
	set->fds[set->count++] =
		(struct pollfd){ reel_cpu_watch_fd(recording->cpu_watch), POLLIN, 0 };
	/* Last: it only saves time. */
	if (recording->embedding)
		set->fds[set->count++] =
			(struct pollfd){ reel_embedding_fd(recording->embedding), POLLIN, 0 };
	return NULL;
}

/* The kernel refuses to wait for more descriptors than may be open, and that limit may have been
 * lowered since they were opened. */
static int poll_all(const struct recording *recording, struct poll_set *set, int timeout)
{
	int n = poll(set->fds, set->count, timeout);

	if (n < 0 && errno == EINVAL && recording->embedding)
		n = poll(set->fds, --set->count, timeout);
	return n;
}

/* When something was found that can be read only while its process lives. */
static uint64_t news_time(const struct recording *recording)
{
	uint64_t time = reel_tracker_news(recording->tracker);
	uint64_t code = recording->jit_code ? reel_jit_code_news(recording->jit_code) : 0;

	return code > time ? code : time;
}

/* How long a turn of the loop waits for data. */
static int turn_ms(const struct recording *recording)
{
	const struct reel_options *options = recording->options;
	uint64_t now = reel_now(), news = news_time(recording);
	struct reel_turn_needs needs = {
		.is_prompt = recording->triggers || options->activate_time ||
			     (options->flush_interval &&
			      options->flush_interval < REEL_FLUSH_USUAL * REEL_NS_PER_MS),
		/* A reader may show samples at once. */
		.may_be_long = options->system_wide && !options->flush_interval &&
			       strcmp(options->output, "-") != 0,
		.without_news = now > news ? now - news : 0,
	};

	for (size_t i = 0; i < options->n_events; i++) {
		if (!recording->events[i].frequency)
			needs.is_prompt = true;
		if (recording->events[i].frequency > needs.frequency)
			needs.frequency = recording->events[i].frequency;
	}
	return reel_turn_length(&needs);
}

/* Otherwise a flush just missed would wait for the next turn.  A long turn need not end for it. */
static uint64_t flush_time(const struct recording *recording, int turn)
{
	uint64_t time = reel_output_flush_time(recording->output);

	return turn < REEL_TURN_CALM ? time
				     : time + (REEL_TURN_CALM - REEL_FLUSH_USUAL) * REEL_NS_PER_MS;
}

static struct reel_error *wait_for_data(const struct recording *recording, struct poll_set *set)
{
	uint64_t until = reel_tracker_work_time(recording->tracker), now = reel_now();
	uint64_t sample_time = reel_tracker_sample_time(recording->tracker);
	int timeout = turn_ms(recording);

	TRY(poll_set_fill(recording, set));
	if (recording->end.deadline && recording->end.deadline < until)
		until = recording->end.deadline;
	if (recording->functions && sample_time < until)
		until = sample_time;
	if (recording->jit_code && reel_jit_code_due(recording->jit_code) < until)
		until = reel_jit_code_due(recording->jit_code);
	if (recording->flight.end && recording->flight.end < until)
		until = recording->flight.end;
	if (recording->activation.next && recording->activation.next < until)
		until = recording->activation.next;
	if (flush_time(recording, timeout) < until)
		until = flush_time(recording, timeout);
	if (recording->stream.has_more)
		until = now;
	if (until < now + (uint64_t)timeout * REEL_NS_PER_MS)
		timeout = until <= now ? 0 : (int)((until - now) / REEL_NS_PER_MS) + 1;
	if (poll_all(recording, set, timeout) < 0 && errno != EINTR)
		return reel_error_os(errno, "poll");
	for (size_t i = 0; i < set->count; i++) {
		/* An event whose CPU went away hangs up for ever. */
		if (set->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL) &&
		    !(set->fds[i].revents & POLLIN))
			set->fds[i].fd = -1;
	}
	return NULL;
}

/* Without them nothing more can be read of new processes and files, and their samples would be
 * useless. The recorder has no rights to start others. */
static bool has_helpers(const struct recording *recording)
{
	return reel_inspector_lives(recording->inspector) &&
	       (!recording->image_asker || reel_image_asker_lives(recording->image_asker));
}

/* Checks all reasons to end the recording. */
static void check_end(struct recording *recording)
{
	const struct reel_options *options = recording->options;

	recording_read_signals(recording);
	if (recording->command.pid && reel_command_poll(&recording->command))
		recording_ask_end(recording, REEL_END_COMMAND_EXITED);
	if (recording->signals.child && !has_helpers(recording)) {
		recording->end.helper_died = true;
		recording_ask_end(recording, REEL_END_ERROR);
	}
	recording->signals.child = false;
	if (recording_is_overrun(recording))
		recording_ask_end(recording, REEL_END_ERROR);
	if (recording->end.deadline && reel_now() >= recording->end.deadline)
		recording_ask_end(recording, REEL_END_DURATION);
	if ((options->n_pids || options->n_tids) && !reel_tracker_living(recording->tracker))
		recording_ask_end(recording, REEL_END_TARGETS_EXITED);
}

static void say_kept(void *context, const char *path)
{
	struct recording *recording = context;

	if (!recording->options->quiet)
		recording_say(recording, "kept %s", path);
}

/* SIGUSR2 keeps everything recorded so far; with --overwrite, it writes that. */
static struct reel_error *protect(struct recording *recording)
{
	const struct recording_signals *signals = &recording->signals;
	char text[64] = "SIGUSR2";

	recording->signals.protect = false;
	/* A sender in another PID namespace has no number here. */
	if (signals->protect_sender)
		snprintf(text, sizeof(text), "SIGUSR2 from process %" PRIu32,
			 signals->protect_sender);
	if (recording->options->overwrite_time)
		return recording_flight_dump(recording, signals->protect_time, text);
	if (!reel_options_rotates(recording->options)) {
		recording_note(recording, "SIGUSR2 ignored: it keeps the parts of --rotate");
		return NULL;
	}
	TRY(recording_mark_trigger(recording, signals->protect_time, text));
	recording_note_trigger_file(recording);
	TRY(recording_rotate(recording));
	reel_parts_protect(reel_output_parts(recording->output), say_kept, recording);
	return NULL;
}

static void say_dropped(struct recording *recording)
{
	const struct reel_parts *parts = reel_output_parts(recording->output);
	uint64_t n = parts ? reel_parts_dropped(parts) : 0;

	if (n == recording->said_dropped)
		return;
	recording->said_dropped = n;
	if (!recording->options->quiet)
		recording_say(recording, "disk full: deleted the oldest part, %" PRIu64 " so far",
			      n);
}

static void publish(struct recording *recording, const struct reel_output_counts *counts)
{
	struct reel_parts *parts = reel_output_parts(recording->output);
	const char *last = parts ? reel_parts_last(parts) : NULL;
	struct reel_status status = {
		.samples = counts->samples,
		.samples_lost = reel_losses_samples(recording->losses),
		.stacks_cut = reel_losses_sum(recording->losses, REEL_LOSS_STACK_CUT),
		.bytes_written = counts->safe_bytes,
		.bytes_waiting = reel_output_waiting(recording->output),
		.parts = reel_output_part(recording->output) + 1,
		.parts_dropped = parts ? reel_parts_dropped(parts) : 0,
		.parts_bytes = parts ? reel_parts_bytes(parts) : counts->safe_bytes,
		.limit_steps = recording->last_step.n,
		.triggers = recording->last_trigger.n,
		.last_triggered = recording->last_trigger.time,
	};

	const char *const texts[] = {
		[REEL_STATUS_LAST_PART] = last,
		[REEL_STATUS_LAST_STEP] = recording->last_step.text,
		[REEL_STATUS_LAST_TRIGGER] = recording->last_trigger.text,
		[REEL_STATUS_LAST_TRIGGER_FILE] = recording->last_trigger.file,
	};

	for (size_t i = 0; i < REEL_STATUS_TEXTS; i++)
		snprintf(status.texts[i], sizeof(status.texts[i]), "%s", texts[i] ? texts[i] : "");
	reel_status_file_publish(&recording->status, &status);
}

static struct reel_error *turn(struct recording *recording)
{
	struct reel_output_counts counts;
	bool jumped;

	TRY(recording_follow_cpus(recording));
	TRY(recording_cycle(recording));
	TRY(recording_watch_clock(recording, &jumped));
	if (recording->signals.protect)
		TRY(protect(recording));
	if (recording->options->overwrite_time)
		TRY(recording_flight_turn(recording));
	if ((jumped && reel_options_rotates(recording->options)) ||
	    reel_output_rotation_is_due(recording->output, reel_now()))
		TRY(recording_rotate(recording));
	if (reel_now() >= reel_output_flush_time(recording->output))
		TRY(recording_flush(recording));
	say_dropped(recording);
	counts = reel_output_counts(recording->output);
	reel_progress_update(&recording->progress, &counts, recording->losses);
	if (reel_status_file_is_due(&recording->status))
		publish(recording, &counts);
	return NULL;
}

/* The writing thread may still have much to do. Another signal ends the wait. */
static struct reel_error *wait_until_written(struct recording *recording)
{
	struct signalfd_siginfo signal;

	while (!reel_output_wait(recording->output, WRITE_TIMEOUT_MS)) {
		while (read(recording->signals.fd, &signal, sizeof(signal)) == sizeof(signal)) {
			if (signal.ssi_signo == SIGUSR2 || signal.ssi_signo == SIGCHLD)
				continue;
			return reel_error_create(REEL_ERROR_OS,
						 "interrupted by a signal while writing %s",
						 reel_output_path(recording->output));
		}
	}
	return reel_output_check(recording->output);
}

static struct reel_error *finish(struct recording *recording)
{
	TRY(recording->options->overwrite_time ? recording_flight_finish(recording)
					       : recording_finish(recording));
	TRY(wait_until_written(recording));
	say_dropped(recording);
	if (recording->end.helper_died)
		return reel_error_create(REEL_ERROR_OS,
					 "a helper process was killed: recording stopped, "
					 "because it cannot start another");
	if (recording->end.over_memory)
		return reel_error_create(REEL_ERROR_OS,
					 "--memory-limit was exceeded: recording stopped, because "
					 "nothing more could be freed");
	if (recording->end.reason == REEL_END_ERROR)
		return reel_error_create(REEL_ERROR_OS,
					 "writing %s is too slow: recording stopped, because too "
					 "many process records are waiting",
					 reel_output_path(recording->output));
	return NULL;
}

static struct reel_error *record(struct recording *recording)
{
	struct poll_set set = { 0 };
	struct reel_error *error = NULL;

	while (!error && !recording->end.asked) {
		if (recording->governor.paused)
			recording_wait_paused(recording);
		else
			error = wait_for_data(recording, &set);
		check_end(recording);
		recording_watch_activation(recording);
		if (!error && !recording->end.asked && !recording->governor.paused)
			error = turn(recording);
		if (!error && !recording->end.asked)
			error = recording_govern(recording);
		if (!error && !recording->end.asked)
			error = recording_watch_memory(recording);
	}
	free(set.fds);
	free(set.known);
	return error ? error : finish(recording);
}

/* ---- from start to end ---------------------------------------------------------------- */

static struct reel_error *start(struct recording *recording, int *exit_status_ret)
{
	const struct reel_options *options = recording->options;
	struct reel_error *error = recording_begin_governor(recording);

	recording_begin_activation(recording);
	if (!error)
		error = reel_sampler_enable(recording->sampler);
	if (error)
		return error;
	if (recording->activation.rests)
		reel_sampler_rest(recording->sampler, true);
	reel_inspector_hurry(recording->inspector);
	if (options->takeover >= 0 && write(options->takeover, "", 1) != 1)
		recording_note(recording, "nobody waits for this recorder");
	if (options->duration)
		recording->end.deadline = reel_now() + options->duration;
	if (!recording->command.pid)
		return NULL;
	error = reel_command_start(&recording->command, options->command[0]);
	if (error)
		*exit_status_ret = reel_command_error_status(error);
	return error;
}

/* "x.0003.reel and the previous 2" */
static void name_parts(const struct recording *recording, char *text, size_t size)
{
	const char *path = reel_output_path(recording->output);
	const struct reel_parts *parts = reel_output_parts(recording->output);
	uint64_t kept = reel_output_part(recording->output);

	if (parts)
		kept -= reel_parts_deleted(parts);
	if (!path)
		path = recording->options->output;
	if (recording->options->overwrite_time)
		kept = recording->flight.n_files ? recording->flight.n_files - 1 : 0;
	if (kept)
		snprintf(text, size, "%s and the previous %llu", path, (unsigned long long)kept);
	else
		snprintf(text, size, "%s", path);
}

/* Adds the samples that are safe after an error: the file holds whole blocks up to there. */
static struct reel_error *add_safe(struct recording *recording, struct reel_error *error)
{
	char samples[REEL_COUNT_TEXT_SIZE], bytes[REEL_COUNT_TEXT_SIZE], where[512];
	struct reel_output_counts counts;
	struct reel_error *whole;

	if (!recording->output)
		return error;
	/* Whole blocks may still wait to be written. */
	if (!reel_output_wait(recording->output, WRITE_TIMEOUT_MS))
		reel_output_abandon(recording->output);
	counts = reel_output_counts(recording->output);
	name_parts(recording, where, sizeof(where));
	whole = reel_error_create(reel_error_code(error), "%s; %s samples (%s) are safe in %s",
				  reel_error_message(error),
				  reel_count_text(counts.safe_samples, samples),
				  reel_bytes_text(counts.safe_bytes, bytes), where);
	reel_error_destroy(error);
	return whole;
}

static void print_embedded(const struct recording *recording)
{
	struct reel_embedding_counts counts;
	char modules[REEL_COUNT_TEXT_SIZE], bytes[REEL_COUNT_TEXT_SIZE];
	char left_out[REEL_COUNT_TEXT_SIZE];

	if (!recording->embedding)
		return;
	counts = reel_embedding_counts(recording->embedding);
	if (counts.modules || counts.left_out)
		fprintf(stderr, "embedded %s module%s, %s",
			reel_count_text(counts.modules, modules), counts.modules == 1 ? "" : "s",
			reel_bytes_text(counts.bytes, bytes));
	if (counts.left_out)
		fprintf(stderr, "; %s left out (%s)", reel_count_text(counts.left_out, left_out),
			counts.reason);
	if (counts.modules || counts.left_out)
		fputc('\n', stderr);
}

static void print_summary(struct recording *recording)
{
	struct reel_output_counts counts = reel_output_counts(recording->output);
	char where[512];

	reel_progress_clear(&recording->progress);
	if (recording->options->quiet)
		return;
	if (recording->options->overwrite_time && !recording->flight.n_files) {
		recording_say(recording, "no request, so no file was written");
		return;
	}
	print_embedded(recording);
	name_parts(recording, where, sizeof(where));
	reel_progress_summary(
		&counts, recording->losses,
		&(struct reel_progress_shortage){
			.above_rate = recording->stream.above_rate,
			.dropped = recording->backlog.n_dropped,
			.cut = recording->backlog.n_cut,
			.left_out = reel_inspector_left_out(recording->inspector),
			.side_limit = reel_budget_has_refused(recording->budget),
			.paused = reel_governor_paused_time(&recording->governor, reel_now()),
		},
		where);
}

/* Ends the command if it still runs, and takes its exit status. */
static void end_command(struct recording *recording, bool succeeded, int *exit_status_ret)
{
	bool was_running = !reel_command_poll(&recording->command);

	/* The usual signals work again, so that a user can stop the wait. */
	sigprocmask(SIG_SETMASK, &recording->signals.old, NULL);
	reel_command_terminate(&recording->command);
	/* A command stopped at the end of the requested duration has not failed. */
	if (succeeded && !(was_running && recording->end.reason == REEL_END_DURATION))
		*exit_status_ret = reel_command_exit_status(&recording->command);
}

struct reel_error *reel_recording_run(const struct reel_options *options, int *exit_status_ret)
{
	struct reel_options fit = *options;
	struct recording recording = {
		.options = &fit,
		.signals.fd = -1,
		.status.place.folder = -1,
	};
	struct reel_error *error = NULL;

	*exit_status_ret = 0;
	if (options->command)
		error = reel_command_check(options->command[0]);
	if (error) {
		*exit_status_ret = reel_command_error_status(error);
		return error;
	}
	recording_fit_memory(&fit);
	error = recording_open(&recording);
	if (!error) {
		reel_progress_start(&recording.progress, options->quiet);
		error = start(&recording, exit_status_ret);
		if (!error)
			error = record(&recording);
		if (error)
			error = add_safe(&recording, error);
		else
			print_summary(&recording);
	}
	if (error && recording.sampler)
		reel_sampler_disable(recording.sampler);
	reel_progress_clear(&recording.progress);
	if (recording.command.pid)
		end_command(&recording, !error, exit_status_ret);
	recording_close(&recording);
	return error;
}
