/* SPDX-License-Identifier: Apache-2.0 */
/* record/budget/governor.c, with simulated loads: what recording costs follows from what it decides. */
#include <stdlib.h>

#include "record/budget/governor.h"
#include "tests/support/test.h"

#define SECOND	  UINT64_C(1000000000)
#define MAX_STACK (512u << 10)
/* A turn of the recorder, in ns. */
#define TURN   (REEL_GOVERNOR_TICK / 10)
#define WINDOW (REEL_GOVERNOR_WINDOW / TURN)

/* A host: what recording costs there. */
struct load {
	double fixed;	     /* CPUs, unless it is paused */
	double while_paused; /* CPUs */
	double per_sample;   /* s, with the longest stacks; half of it for the stack */
	double busy;	     /* CPUs */
	double noise;	     /* of fixed costs and of samples: up to this share more or less */
};

struct host {
	struct reel_governor governor;
	uint64_t now, cost, samples;
	uint64_t step_time, step_cost;
	double rest;  /* of a sample */
	double worst; /* ns in a window, as we count it */
	uint64_t history[WINDOW + 1];
	size_t n;
	unsigned int n_changes, n_pauses;
	uint64_t paused; /* ns */
};

static void begin(struct host *host, double cpu_limit, double target, double frequency)
{
	const struct reel_governor_options options = {
		.cpu_limit = cpu_limit,
		.target = target,
		.frequency = frequency,
		.max_stack = MAX_STACK,
		.n_cpus = 2,
	};

	srand(1);
	*host = (struct host){ .now = 5000 * SECOND, .step_time = 5000 * SECOND };
	reel_governor_begin(&host->governor, &options, host->now, host->cost, host->samples);
}

static double noisy(double value, double noise)
{
	return value * (1 + noise * (2.0 * rand() / RAND_MAX - 1));
}

/* When the recorder asks the governor: in time, and early when much was spent. */
static bool is_due(const struct host *host)
{
	return host->now - host->step_time >= REEL_GOVERNOR_TICK ||
	       (double)(host->cost - host->step_cost) >
		       host->governor.options.cpu_limit * (double)REEL_GOVERNOR_WINDOW / 20;
}

static void step(struct host *host)
{
	enum reel_governor_reason reason =
		reel_governor_step(&host->governor, host->now, host->cost, host->samples);

	host->step_time = host->now;
	host->step_cost = host->cost;
	host->n_changes += reason == REEL_GOVERNOR_COST || reason == REEL_GOVERNOR_ROOM ||
			   reason == REEL_GOVERNOR_RATE;
	host->n_pauses += reason == REEL_GOVERNOR_EXHAUSTED;
}

static void run(struct host *host, const struct load *load, double seconds)
{
	const double turn = (double)TURN / (double)SECOND;

	for (double time = 0; time < seconds; time += turn) {
		const struct reel_governor *governor = &host->governor;
		double samples = governor->paused ? 0
						  : noisy(governor->frequency * load->busy * turn,
							  load->noise);
		double cost = governor->paused ? load->while_paused * turn
					       : noisy(load->fixed * turn, load->noise);
		uint64_t before;

		cost += samples * load->per_sample * (0.5 + 0.5 * governor->max_stack / MAX_STACK);
		host->rest += samples;
		host->samples += (uint64_t)host->rest;
		host->rest -= (uint64_t)host->rest;
		host->cost += (uint64_t)(cost * (double)SECOND);
		host->now += TURN;
		host->paused += governor->paused ? TURN : 0;
		/* Of a window ago, or 0. */
		before = host->history[host->n % (WINDOW + 1)];
		host->history[(host->n++ + WINDOW) % (WINDOW + 1)] = host->cost;
		if ((double)(host->cost - before) > host->worst)
			host->worst = (double)(host->cost - before);
		if (is_due(host))
			step(host);
	}
}

#define ALLOWED (0.01 * (double)REEL_GOVERNOR_WINDOW)

TEST(test_cheap)
{
	struct host host;

	begin(&host, 0.01, 0, 49);
	run(&host, &(struct load){ .fixed = 0.001, .per_sample = 20e-6, .busy = 2 }, 600);
	assert_true(host.governor.frequency == 49);
	assert_int_equal(host.governor.max_stack, MAX_STACK);
	assert_int_equal(host.governor.n_steps, 0);
}

/* 999 Hz and two CPUs cost four times the limit. */
TEST(test_costly_samples)
{
	const struct load load = { .per_sample = 20e-6, .busy = 2, .noise = 0.2 };
	struct host host;
	unsigned int n_changes;

	begin(&host, 0.01, 0, 999);
	run(&host, &load, 120);
	assert_true(host.worst <= ALLOWED);
	assert_int_equal(host.governor.max_stack, MAX_STACK);
	n_changes = host.n_changes;
	run(&host, &load, 3600);
	assert_true(host.worst <= ALLOWED);
	/* It finds a frequency and keeps it. */
	assert_in_range(host.n_changes, n_changes, n_changes + 3);
	assert_true(host.governor.frequency > 60 && host.governor.frequency < 250);
	/* When the load ends, the frequency comes back. */
	run(&host, &(struct load){ .per_sample = 2e-6, .busy = 2 }, 1200);
	assert_true(host.governor.frequency == 999);
}

/* Lower frequencies do not help: after them stacks, then pauses. */
TEST(test_fork_storm)
{
	const struct load load = {
		.fixed = 0.05, .while_paused = 0.001, .per_sample = 20e-6, .busy = 2, .noise = 0.3
	};
	struct host host;

	begin(&host, 0.01, 0, 99);
	run(&host, &load, 3600);
	assert_true(host.worst <= ALLOWED);
	assert_true(host.governor.frequency == REEL_GOVERNOR_FREQUENCY_MIN);
	assert_int_equal(host.governor.max_stack, REEL_GOVERNOR_STACK_MIN);
	assert_true(host.n_pauses > 100);
	assert_int_equal(reel_governor_paused_time(&host.governor, host.now), host.paused);
	/* A pause that goes on counts, too. */
	while (!host.governor.paused)
		run(&host, &load, 0.1);
	run(&host, &load, 0.2);
	assert_int_equal(reel_governor_paused_time(&host.governor, host.now), host.paused);
	/* Samples are taken in between. */
	assert_true(host.samples > 3600 * 2);
	run(&host, &(struct load){ .fixed = 0.0005, .per_sample = 5e-6, .busy = 2 }, 1800);
	assert_true(host.governor.frequency == 99);
	assert_int_equal(host.governor.max_stack, MAX_STACK);
	assert_false(host.governor.paused);
}

/* A step up that is too costly is tried ever more rarely. */
TEST(test_no_oscillation)
{
	struct host host;

	begin(&host, 0.01, 0, 999);
	for (unsigned int i = 0; i < 60; i++) {
		run(&host, &(struct load){ .per_sample = 20e-6, .busy = 2 }, 30);
		run(&host, &(struct load){ .per_sample = 20e-6, .busy = 0.2 }, 30);
	}
	assert_true(host.worst <= ALLOWED);
	assert_true(host.n_changes < 120);
}

TEST(test_target)
{
	const struct load load = { .busy = 1.5, .noise = 0.1 };
	struct host host;
	uint64_t before;

	begin(&host, 0, 40000.0 / 3600, 99);
	assert_true(host.governor.frequency < 6);
	run(&host, &load, 600);
	before = host.samples;
	run(&host, &load, 3600);
	assert_in_range(host.samples - before, 32000, 50000);
	/* An idle host: up to the highest. */
	run(&host, &(struct load){ .busy = 0.01 }, 3600);
	assert_true(host.governor.frequency == 99);
	/* Busy again: soon back. */
	run(&host, &load, 60);
	before = host.samples;
	run(&host, &load, 3600);
	assert_in_range(host.samples - before, 32000, 50000);
}

/* Both: the lower frequency counts. */
TEST(test_target_and_limit)
{
	struct host host;

	begin(&host, 0.01, 1000, 999);
	run(&host, &(struct load){ .per_sample = 50e-6, .busy = 2, .noise = 0.1 }, 600);
	assert_true(host.worst <= ALLOWED);
	assert_true(host.governor.frequency < 100);
	begin(&host, 0.01, 10, 999);
	run(&host, &(struct load){ .per_sample = 50e-6, .busy = 2, .noise = 0.1 }, 600);
	assert_true(host.governor.frequency > 3.5 && host.governor.frequency < 7);
}

RUN_TESTS()
