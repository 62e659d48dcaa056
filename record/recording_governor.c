/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what recording costs and how many samples arrive, and does what the governor decides. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/helper/spawner.h"
#include "record/recording_internal.h"

/* Of what the window allows: when processes have used this, a step is taken early. */
#define EARLY_SHARE 20

/* Without the process that scans. */
static uint64_t processes_now(void)
{
	return reel_clock_now(CLOCK_PROCESS_CPUTIME_ID) + reel_spawners_work();
}

/* ns of CPU time of the recorder's processes, and of its BPF programs on all CPUs.  Never falls:
 * a helper that was killed counts again once its spawner knows. */
static uint64_t cost_now(struct recording *recording)
{
	uint64_t cost = processes_now() + reel_sampler_work(recording->sampler);

	if (cost > recording->governing.cost)
		recording->governing.cost = cost;
	return recording->governing.cost;
}

static uint64_t samples_now(const struct recording *recording)
{
	return reel_output_counts(recording->output).samples +
	       reel_losses_samples(recording->losses);
}

static struct reel_error *apply(struct recording *recording, const char *why)
{
	const struct reel_governor *governor = &recording->governor;
	char text[160];

	if (governor->frequency != recording->governing.frequency) {
		recording->governing.frequency = governor->frequency;
		reel_sampler_slow_down(recording->sampler,
				       governor->options.frequency / governor->frequency);
	}
	recording_cap_stacks(recording);
	recording_set_pause(recording);
	if (governor->paused)
		snprintf(text, sizeof(text), "no samples for a while: %s", why);
	else
		snprintf(text, sizeof(text), "%.4g Hz, stacks up to %" PRIu32 " bytes: %s",
			 governor->frequency, governor->max_stack, why);
	return recording_mark_step(recording, text);
}

struct reel_error *recording_begin_governor(struct recording *recording)
{
	const struct reel_options *options = recording->options;
	struct reel_governor_options governor = {
		.cpu_limit = recording->cpu_limit,
		.max_stack = (uint32_t)options->max_stack,
		.n_cpus = (uint32_t)recording->target.cpus_online,
	};
	bool follows = false;

	if (!options->cpu_limit && !options->target_samples)
		return NULL;
	if (options->target_samples)
		governor.target = (double)options->target_samples /
				  ((double)options->target_time / (double)REEL_NS_PER_SECOND);
	for (size_t i = 0; i < options->n_events; i++) {
		if (!reel_sampler_can_slow_down(recording->sampler, i))
			continue;
		follows |= !recording->events[i].off_cpu;
		if ((double)recording->events[i].frequency > governor.frequency)
			governor.frequency = (double)recording->events[i].frequency;
	}
	if (options->target_samples && !follows)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"--target-samples: no event has a frequency that can follow; "
			"use -e cpu-clock, or -a");
	if (!governor.frequency)
		governor.frequency = 1;
	reel_governor_begin(&recording->governor, &governor, reel_now(), cost_now(recording),
			    samples_now(recording));
	recording->governing.frequency = governor.frequency;
	return recording->governor.frequency < governor.frequency
		       ? apply(recording, "--target-samples")
		       : NULL;
}

static bool is_due(const struct recording *recording, uint64_t now)
{
	const struct recording_governing *governing = &recording->governing;
	double early =
		recording->governor.options.cpu_limit * (double)REEL_GOVERNOR_WINDOW / EARLY_SHARE;

	if (!recording->governor.n_ticks)
		return false;
	return now >= governing->due ||
	       (early > 0 && (double)processes_now() > early + (double)governing->processes);
}

struct reel_error *recording_govern(struct recording *recording)
{
	static const char *const reasons[] = {
		[REEL_GOVERNOR_COST] = "recording costs more than --cpu-limit allows",
		[REEL_GOVERNOR_ROOM] = "recording costs less than --cpu-limit allows",
		[REEL_GOVERNOR_RATE] = "--target-samples",
		[REEL_GOVERNOR_EXHAUSTED] = "the CPU time of --cpu-limit is used up",
		[REEL_GOVERNOR_RESUMED] = "there is CPU time again",
	};
	uint64_t now = reel_now();
	enum reel_governor_reason reason;

	if (!is_due(recording, now))
		return NULL;
	recording->governing.due = now + REEL_GOVERNOR_TICK;
	recording->governing.processes = processes_now();
	reason = reel_governor_step(&recording->governor, now, cost_now(recording),
				    samples_now(recording));
	if (!reason)
		return NULL;
	TRY(apply(recording, reasons[reason]));
	/* Data in memory would wait for the pause's end. */
	return recording->governor.paused ? recording_flush(recording) : NULL;
}

void recording_wait_paused(struct recording *recording)
{
	struct pollfd signals = { .fd = recording->signals.fd, .events = POLLIN };
	uint64_t now = reel_now(), until = recording->governing.due;

	if (recording->end.deadline && recording->end.deadline < until)
		until = recording->end.deadline;
	if (until > now)
		poll(&signals, 1, (int)((until - now) / REEL_NS_PER_MS) + 1);
}
