/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how often and how much is sampled, from what recording costs and how many samples arrive
 * (--cpu-limit, --target-samples).  It measures nothing and changes nothing itself.
 */
#ifndef RECORD_BUDGET_GOVERNOR_H
#define RECORD_BUDGET_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

/* The limit holds over this time, in ns. */
#define REEL_GOVERNOR_WINDOW UINT64_C(10000000000)
/* Steps are decided this often. */
#define REEL_GOVERNOR_TICK  (REEL_GOVERNOR_WINDOW / REEL_GOVERNOR_TICKS)
#define REEL_GOVERNOR_TICKS 20

/* The lowest frequency and the shortest stacks, unless fewer are requested. */
#define REEL_GOVERNOR_FREQUENCY_MIN 10
#define REEL_GOVERNOR_STACK_MIN	    (16u << 10)

struct reel_governor_options {
	double cpu_limit; /* CPUs, 0.01: 1 % of one; 0: none */
	double target;	  /* samples per second; 0: none */
	double frequency; /* Hz, the highest */
	uint32_t max_stack;
	uint32_t n_cpus;
};

enum reel_governor_reason {
	REEL_GOVERNOR_NO_STEP,
	REEL_GOVERNOR_COST,	 /* lower: recording costs too much */
	REEL_GOVERNOR_ROOM,	 /* higher: it costs less */
	REEL_GOVERNOR_RATE,	 /* samples arrive at another rate than wanted */
	REEL_GOVERNOR_EXHAUSTED, /* the window's time is used up: pause */
	REEL_GOVERNOR_RESUMED,
};

/* What the caller reads: the state, and what it costs. */
struct reel_governor {
	struct reel_governor_options options;
	double frequency; /* Hz */
	uint32_t max_stack;
	bool paused;
	double cpu;	    /* CPUs, over the window */
	double sample_rate; /* samples per second when it was last known */
	uint64_t n_steps;

	/* Private. */
	double cost_frequency, rate_frequency; /* what each allows */
	struct {
		uint64_t time, cost;
	} ticks[REEL_GOVERNOR_TICKS + 2];
	uint64_t n_ticks;
	uint64_t step_time, lower_time, raise_delay;
	uint64_t paused_time, pause_began; /* of ended pauses; of the last one */
	bool raised;			   /* the last step because of the cost was up */
	uint64_t rate_time, rate_samples;
};

/* Samples are taken from `now` on; `cost` in ns and `samples` count from any start. */
void reel_governor_begin(struct reel_governor *governor,
			 const struct reel_governor_options *options, uint64_t now, uint64_t cost,
			 uint64_t samples);
/* ns of all pauses. */
uint64_t reel_governor_paused_time(const struct reel_governor *governor, uint64_t now);
/* Call about each REEL_GOVERNOR_TICK, or earlier when much was spent. */
enum reel_governor_reason reel_governor_step(struct reel_governor *governor, uint64_t now,
					     uint64_t cost, uint64_t samples);

#endif
