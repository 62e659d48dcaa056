/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
/* More than any kernel is built for (NR_CPUS). */
#define CPUS_MAX 65536

static struct reel_error *cpus_add(struct reel_cpus *cpus, uint32_t number)
{
	/* The room doubles at each power of two. */
	if (!(cpus->n & (cpus->n - 1))) {
		size_t room = cpus->n ? 2 * cpus->n : 1;
		uint32_t *numbers = realloc(cpus->numbers, room * sizeof(*numbers));

		if (!numbers)
			return reel_error_no_memory();
		cpus->numbers = numbers;
	}
	cpus->numbers[cpus->n++] = number;
	if (number > cpus->highest)
		cpus->highest = number;
	return NULL;
}

/* Ranges such as 0-3,5,7-8 (kernel's Documentation/admin-guide/cputopology.rst). */
static struct reel_error *cpus_online(struct reel_cpus *cpus)
{
	FILE *file = fopen(ONLINE, "re");
	struct reel_error *error = NULL;
	uint32_t first, last;

	if (!file)
		return reel_error_os(errno, "cannot read which CPUs are online from %s", ONLINE);
	while (!error && fscanf(file, "%" SCNu32, &first) == 1) {
		int next = fgetc(file);

		last = first;
		if (next == '-' && fscanf(file, "%" SCNu32, &last) == 1)
			next = fgetc(file);
		if (last < first || last >= CPUS_MAX)
			break;
		for (uint32_t cpu = first; !error && cpu <= last; cpu++)
			error = cpus_add(cpus, cpu);
		if (next != ',')
			break;
	}
	fclose(file);
	if (!error && !cpus->n)
		error = reel_error_create(REEL_ERROR_OS, "%s does not say which CPUs are online",
					  ONLINE);
	return error;
}

struct reel_error *reel_cpus_create(const uint32_t *numbers, size_t n, struct reel_cpus *ret)
{
	struct reel_error *error = NULL;

	*ret = (struct reel_cpus){ 0 };
	if (numbers && !n)
		return reel_error_create(REEL_ERROR_INVALID, "the list of CPUs is empty");
	if (!numbers)
		error = cpus_online(ret);
	for (size_t i = 0; !error && numbers && i < n; i++) {
		long possible = sysconf(_SC_NPROCESSORS_CONF);

		if (numbers[i] >= CPUS_MAX ||
		    (possible > 0 && numbers[i] >= (unsigned long)possible))
			error = reel_error_create(REEL_ERROR_INVALID,
						  "there is no CPU %" PRIu32
						  ": this machine has %ld",
						  numbers[i], possible);
		else
			error = cpus_add(ret, numbers[i]);
	}
	if (error)
		reel_cpus_destroy(ret);
	return error;
}

void reel_cpus_destroy(struct reel_cpus *cpus)
{
	free(cpus->numbers);
	*cpus = (struct reel_cpus){ 0 };
}
