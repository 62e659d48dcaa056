/* SPDX-License-Identifier: Apache-2.0 */
#include "record/budget/governor.h"

#define SECOND UINT64_C(1000000000)

/*
 * Shares of the window's CPU time.  A step up multiplies the cost by RAISE at most, so that it
 * stays below LOWER: with the same load there is no further step.
 */
#define RAISE_BELOW 0.4
#define LOWER	    0.7
#define AIM	    0.55 /* of a step down */
#define EXHAUSTED   0.75
#define RESUME	    0.45
/* Of these, in the last seconds (SETTLE): a burst has short pauses instead of a long one. */
#define BURST	     0.25
#define BURST_RESUME 0.1
#define RAISE	     1.25
#define LOWER_MOST   8.0

/* A step's effect is seen after this time, in ns. */
#define SETTLE (2 * SECOND)
/* Between a step and the next one up; doubled if a step up had to be taken back. */
#define RAISE_DELAY	REEL_GOVERNOR_WINDOW
#define RAISE_DELAY_MAX (600 * SECOND)
/* A new frequency begins a new period, and the previous one's rest has no sample: this makes it 2.5 %
 * of the time at most. */
#define PERIODS_MIN 20

/* With this number of samples, the rate is known to about 10 %; it is changed from a quarter on. */
#define RATE_SAMPLES 100
#define RATE_OFF     1.25
#define RATE_RAISE   2.0
#define RATE_LEAST   1e-4

#define ROOM                                                                                       \
	(sizeof(((struct reel_governor *)0)->ticks) / sizeof(*((struct reel_governor *)0)->ticks))

static double between(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static double frequency_least(const struct reel_governor_options *options)
{
	return options->frequency < REEL_GOVERNOR_FREQUENCY_MIN ? options->frequency
								: REEL_GOVERNOR_FREQUENCY_MIN;
}

/* The last tick moves until it is late enough, so that all together cover the window. */
static void tick(struct reel_governor *governor, uint64_t now, uint64_t cost)
{
	uint64_t n = governor->n_ticks;

	if (n < 2 || now - governor->ticks[(n - 2) % ROOM].time >= REEL_GOVERNOR_TICK)
		n = ++governor->n_ticks;
	governor->ticks[(n - 1) % ROOM].time = now;
	governor->ticks[(n - 1) % ROOM].cost = cost;
}

/* ns spent since `time`, and at most since the oldest known tick. */
static uint64_t spent_since(const struct reel_governor *governor, uint64_t time, uint64_t *from_ret)
{
	uint64_t last = governor->n_ticks - 1, at = last;

	while (at && last - at < ROOM - 1 && governor->ticks[at % ROOM].time > time)
		at--;
	*from_ret = governor->ticks[at % ROOM].time;
	return governor->ticks[last % ROOM].cost - governor->ticks[at % ROOM].cost;
}

void reel_governor_begin(struct reel_governor *governor,
			 const struct reel_governor_options *options, uint64_t now, uint64_t cost,
			 uint64_t samples)
{
	*governor = (struct reel_governor){
		.options = *options,
		.cost_frequency = options->frequency,
		/* At most: all CPUs are busy. */
		.rate_frequency = options->target > 0 ? options->target / options->n_cpus
						      : options->frequency,
		.max_stack = options->max_stack,
		.raise_delay = RAISE_DELAY,
		.step_time = now,
		.rate_time = now,
		.rate_samples = samples,
	};
	governor->rate_frequency =
		between(governor->rate_frequency, RATE_LEAST, options->frequency);
	governor->frequency = governor->rate_frequency;
	tick(governor, now, cost);
}

/* ---- cost ----------------------------------------------------------------------------------- */

/* Whether there was something to lower. */
static bool lower(struct reel_governor *governor, double share)
{
	const struct reel_governor_options *options = &governor->options;
	double least = frequency_least(options);

	if (governor->frequency > least) {
		governor->cost_frequency =
			between(governor->frequency / between(share / AIM, RAISE, LOWER_MOST),
				least, options->frequency);
		return true;
	}
	if (governor->max_stack <= REEL_GOVERNOR_STACK_MIN)
		return false;
	governor->max_stack /= 2;
	if (governor->max_stack < REEL_GOVERNOR_STACK_MIN)
		governor->max_stack = REEL_GOVERNOR_STACK_MIN;
	return true;
}

/* In the opposite order. */
static bool raise(struct reel_governor *governor)
{
	const struct reel_governor_options *options = &governor->options;

	if (governor->max_stack < options->max_stack) {
		governor->max_stack = governor->max_stack < options->max_stack / RAISE
					      ? (uint32_t)(governor->max_stack * RAISE)
					      : options->max_stack;
		return true;
	}
	if (governor->cost_frequency >= governor->rate_frequency)
		return false;
	governor->cost_frequency = between(governor->cost_frequency * RAISE, 0, options->frequency);
	return true;
}

/* A step up that had to be taken back makes the next ones later. */
static void note_lower(struct reel_governor *governor, uint64_t now)
{
	if (governor->raised && governor->raise_delay < RAISE_DELAY_MAX)
		governor->raise_delay *= 2;
	governor->raised = false;
	governor->lower_time = now;
}

static enum reel_governor_reason pause_or_resume(struct reel_governor *governor, uint64_t now,
						 double share, double burst)
{
	if (governor->paused && share < RESUME && burst < BURST_RESUME) {
		governor->paused = false;
		governor->paused_time += now - governor->pause_began;
		/* Fewer samples than the rate promises came meanwhile. */
		governor->rate_time = 0;
		return REEL_GOVERNOR_RESUMED;
	}
	if (governor->paused || (share < EXHAUSTED && burst < BURST))
		return REEL_GOVERNOR_NO_STEP;
	governor->paused = true;
	governor->pause_began = now;
	return REEL_GOVERNOR_EXHAUSTED;
}

static enum reel_governor_reason cost_step(struct reel_governor *governor, uint64_t now)
{
	const uint64_t window = REEL_GOVERNOR_WINDOW;
	double allowed = governor->options.cpu_limit * (double)window, share, burst, recent;
	uint64_t since_step = now - governor->step_time, from;
	uint64_t spent = spent_since(governor, now - window, &from);
	enum reel_governor_reason reason;

	governor->cpu = now > from ? (double)spent / (double)(now - from) : 0;
	if (allowed <= 0)
		return REEL_GOVERNOR_NO_STEP;
	/* Up to now, not as a rate: what is spent at once may be saved afterwards. */
	share = (double)spent / allowed;
	spent = spent_since(governor, now - SETTLE, &from);
	burst = (double)spent / allowed;
	/* What the window will have cost if it goes on like this. */
	recent = now > from ? burst * (double)window / (double)(now - from) : 0;
	reason = pause_or_resume(governor, now, share, burst);
	if (reason == REEL_GOVERNOR_EXHAUSTED && lower(governor, recent))
		note_lower(governor, now);
	if (reason || governor->paused || since_step < SETTLE)
		return reason;
	if (recent > LOWER && share > AIM / 2 && lower(governor, recent)) {
		note_lower(governor, now);
		return REEL_GOVERNOR_COST;
	}
	if (now - governor->lower_time > RAISE_DELAY_MAX)
		governor->raise_delay = RAISE_DELAY;
	if (share >= RAISE_BELOW || recent >= RAISE_BELOW || since_step < governor->raise_delay ||
	    (double)since_step < PERIODS_MIN * (double)SECOND / governor->frequency ||
	    !raise(governor))
		return REEL_GOVERNOR_NO_STEP;
	governor->raised = true;
	return REEL_GOVERNOR_ROOM;
}

uint64_t reel_governor_paused_time(const struct reel_governor *governor, uint64_t now)
{
	return governor->paused_time + (governor->paused ? now - governor->pause_began : 0);
}

/* ---- rate ----------------------------------------------------------------------------------- */

/* How long RATE_SAMPLES take at the wanted rate, in ns. */
static double rate_window(const struct reel_governor *governor)
{
	double wanted = RATE_SAMPLES / governor->options.target * (double)SECOND;
	double periods = PERIODS_MIN * (double)SECOND / governor->frequency;

	wanted = wanted > periods ? wanted : periods;
	return wanted > (double)SETTLE ? wanted : (double)SETTLE;
}

static enum reel_governor_reason rate_step(struct reel_governor *governor, uint64_t now,
					   uint64_t samples)
{
	double time = (double)(now - governor->rate_time), off, before = governor->rate_frequency;
	uint64_t n = samples - governor->rate_samples;

	if (governor->options.target <= 0 || governor->paused)
		return REEL_GOVERNOR_NO_STEP;
	if (!governor->rate_time) {
		governor->rate_time = now;
		governor->rate_samples = samples;
		return REEL_GOVERNOR_NO_STEP;
	}
	if (n < RATE_SAMPLES * RATE_OFF && time < rate_window(governor))
		return REEL_GOVERNOR_NO_STEP;
	governor->sample_rate = (double)n * (double)SECOND / time;
	governor->rate_time = now;
	governor->rate_samples = samples;
	off = governor->sample_rate / governor->options.target;
	if (off > 1 / RATE_OFF && off < RATE_OFF)
		return REEL_GOVERNOR_NO_STEP;
	governor->rate_frequency =
		between(governor->frequency / (off > 1 / RATE_RAISE ? off : 1 / RATE_RAISE),
			RATE_LEAST, governor->options.frequency);
	return governor->rate_frequency == before ? REEL_GOVERNOR_NO_STEP : REEL_GOVERNOR_RATE;
}

/* ---- both ----------------------------------------------------------------------------------- */

enum reel_governor_reason reel_governor_step(struct reel_governor *governor, uint64_t now,
					     uint64_t cost, uint64_t samples)
{
	enum reel_governor_reason reason;

	tick(governor, now, cost);
	reason = cost_step(governor, now);
	if (!reason)
		reason = rate_step(governor, now, samples);
	governor->frequency = governor->cost_frequency < governor->rate_frequency
				      ? governor->cost_frequency
				      : governor->rate_frequency;
	if (reason) {
		governor->step_time = now;
		governor->n_steps++;
	}
	if (reason && reason != REEL_GOVERNOR_RESUMED) {
		governor->rate_time = now;
		governor->rate_samples = samples;
	}
	return reason;
}
