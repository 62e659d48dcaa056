/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often `stackreel diff` calls a change sure, with and without a true change. Uses seeded
 * random captures (tests/support/diff_runs.h), so that it is repeatable.
 *
 *   diff_power [COMPARISONS]    of each row (400)
 */
#include "tests/support/diff_runs.h"

static const double changes[] = { 0.03, 0.05, 0.10, 0.20, 0.30 };

static void print_row(struct runs_plan *plan, size_t n)
{
	struct runs_result result;

	runs_random = 1;
	plan->change = 0;
	runs_compare(plan, n, &result);
	printf("| %zu | %zu | %.1f%s | %.0f %% | %.1f %% | %.1f %% |", plan->n_captures[SIDE_NEW],
	       plan->n_functions, plan->dispersion, plan->mixed > 0 ? ", mixed" : "",
	       100 * plan->noise, 100.0 * (double)result.any / (double)n,
	       100.0 - 100.0 * (double)result.held / (double)n);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		plan->change = changes[i];
		runs_compare(plan, n, &result);
		printf(" %.0f %% |", 100.0 * (double)result.found / (double)n);
	}
	putchar('\n');
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		size_t functions;
		double dispersion, noise, mixed;
	} programs[] = {
		{ 40, 1, 0, 0 },    { 40, 1, 0.02, 0 }, { 40, 2, 0, 0 },
		{ 40, 3, 0.02, 1 }, { 5, 2, 0.02, 1 },	{ 200, 3, 0.02, 1 },
	};
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400;

	puts("| captures a side | functions | dispersion | noise of runs | false alarms | outside "
	     "the interval "
	     "| +3 % | +5 % | +10 % | +20 % | +30 % "
	     "|\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		for (size_t captures = 2; captures <= 5; captures++) {
			struct runs_plan plan = {
				.n_captures = { captures, captures },
				.n_functions = programs[i].functions,
				.samples = 3000,
				.dispersion = programs[i].dispersion,
				.noise = programs[i].noise,
				.mixed = programs[i].mixed,
			};

			if (captures != 4)
				print_row(&plan, n);
		}
	}
	return 0;
}
