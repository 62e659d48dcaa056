/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come online and go offline while recording. */
#include <stdio.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording_internal.h"

/* Descriptor of the CPU's process events; -1 if the CPU is not watched. */
static int fd_of(const struct recording *recording, uint32_t cpu)
{
	size_t n;
	const struct reel_process_cpu *cpus =
		reel_process_events_cpus(recording->process_events, &n);

	for (size_t i = 0; i < n; i++) {
		if (cpus[i].cpu == cpu)
			return cpus[i].fd;
	}
	return -1;
}

static bool is_watched(const struct recording *recording, uint32_t cpu)
{
	return fd_of(recording, cpu) >= 0;
}

static struct reel_error *leave(struct recording *recording, uint32_t cpu)
{
	char line[64];

	reel_cpus_remove(&recording->unwatched, cpu);
	if (!is_watched(recording, cpu))
		return NULL;
	snprintf(line, sizeof(line), "CPU %u went offline", cpu);
	recording_note(recording, line);
	reel_sampler_drop_cpu(recording->sampler, cpu);
	return reel_process_events_drop_cpu(recording->process_events, cpu);
}

static struct reel_error *attach(struct recording *recording, uint32_t cpu)
{
	bool gone = false;

	TRY(reel_process_events_add_cpu(recording->process_events, cpu));
	TRY(reel_sampler_add_cpu(recording->sampler, cpu, fd_of(recording, cpu), &gone));
	/* Drop the CPU, so that it is checked again. */
	return gone ? reel_process_events_drop_cpu(recording->process_events, cpu) : NULL;
}

/* Samples on this CPU are missing, which is noted in the file. */
static struct reel_error *go_without(struct recording *recording, uint32_t cpu,
				     struct reel_error *cause)
{
	recording_say(recording, "CPU %u came online and is not recorded: %s", cpu,
		      reel_error_message(cause));
	reel_error_destroy(cause);
	TRY(reel_process_events_drop_cpu(recording->process_events, cpu));
	TRY(reel_cpus_add(&recording->unwatched, cpu));
	return reel_losses_add(recording->losses, cpu, REEL_LOSS_CPU_NOT_WATCHED, 1);
}

static struct reel_error *join(struct recording *recording, uint32_t cpu)
{
	struct reel_error *error;
	char line[64];

	if (is_watched(recording, cpu) || reel_cpus_has(&recording->unwatched, cpu))
		return NULL;
	error = attach(recording, cpu);
	if (error)
		return go_without(recording, cpu, error);
	/* The CPU may have gone again. */
	if (!is_watched(recording, cpu))
		return NULL;
	snprintf(line, sizeof(line), "CPU %u came online", cpu);
	recording_note(recording, line);
	/* No events were seen for mappings made there up to now. */
	reel_tracker_resync(recording->tracker);
	return NULL;
}

/* Drops offline CPUs that the kernel did not report. */
static struct reel_error *leave_missing(struct recording *recording, const struct reel_cpus *online)
{
	size_t n;
	const struct reel_process_cpu *cpus =
		reel_process_events_cpus(recording->process_events, &n);

	for (size_t i = 0; i < n; i++) {
		if (cpus[i].fd >= 0 && !reel_cpus_has(online, cpus[i].cpu))
			TRY(leave(recording, cpus[i].cpu));
	}
	for (size_t i = recording->unwatched.n; i > 0; i--) {
		if (!reel_cpus_has(online, recording->unwatched.numbers[i - 1]))
			TRY(leave(recording, recording->unwatched.numbers[i - 1]));
	}
	return NULL;
}

struct reel_error *recording_follow_cpus(struct recording *recording)
{
	const struct reel_cpus *online, *left;

	if (!reel_cpu_watch_look(recording->cpu_watch, reel_now(), &online, &left))
		return NULL;
	for (size_t i = 0; i < left->n; i++)
		TRY(leave(recording, left->numbers[i]));
	TRY(leave_missing(recording, online));
	for (size_t i = 0; i < online->n; i++)
		TRY(join(recording, online->numbers[i]));
	return NULL;
}
