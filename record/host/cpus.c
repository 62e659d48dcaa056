/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "record/host/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
/* More than any kernel supports (NR_CPUS). */
#define CPUS_MAX 65536
/* sysfs returns up to a page of an attribute; this is enough even if pages are larger. */
#define ATTRIBUTE_MAX 4096

struct reel_error *reel_cpus_add(struct reel_cpus *cpus, uint32_t number)
{
	if (!reel_array_reserve(&cpus->numbers, cpus->n, &cpus->capacity, sizeof(*cpus->numbers)))
		return reel_error_no_memory();
	cpus->numbers[cpus->n++] = number;
	if (number > cpus->highest)
		cpus->highest = number;
	return NULL;
}

void reel_cpus_remove(struct reel_cpus *cpus, uint32_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->numbers[i] != number)
			cpus->numbers[kept++] = cpus->numbers[i];
	}
	cpus->n = kept;
}

bool reel_cpus_has(const struct reel_cpus *cpus, uint32_t number)
{
	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->numbers[i] == number)
			return true;
	}
	return false;
}

struct reel_error *reel_cpus_open_online(int *fd_ret)
{
	*fd_ret = open(ONLINE, O_RDONLY | O_CLOEXEC);
	return *fd_ret >= 0 ? NULL
			    : reel_error_os(errno, "cannot read the online CPUs from %s", ONLINE);
}

/* Ranges such as 0-3,5,7-8 (kernel's Documentation/admin-guide/cputopology.rst). */
static struct reel_error *add_ranges(struct reel_cpus *cpus, char *text)
{
	struct reel_error *error = NULL;

	for (char *range = strtok_r(text, ",\n", &text); range && !error;
	     range = strtok_r(NULL, ",\n", &text)) {
		uint32_t first, last;
		int n = sscanf(range, "%" SCNu32 "-%" SCNu32, &first, &last);

		if (n == 1)
			last = first;
		if (n < 1 || last < first || last >= CPUS_MAX)
			break;
		for (uint32_t cpu = first; !error && cpu <= last; cpu++)
			error = reel_cpus_add(cpus, cpu);
	}
	return error;
}

struct reel_error *reel_cpus_read_online(int fd, struct reel_cpus *ret)
{
	char text[ATTRIBUTE_MAX + 1];
	ssize_t n = pread(fd, text, ATTRIBUTE_MAX, 0);
	struct reel_error *error;

	*ret = (struct reel_cpus){ 0 };
	if (n < 0)
		return reel_error_os(errno, "reading %s", ONLINE);
	text[n] = '\0';
	error = add_ranges(ret, text);
	if (!error && !ret->n)
		error = reel_error_create(REEL_ERROR_OS, "%s: no list of online CPUs", ONLINE);
	if (error)
		reel_cpus_destroy(ret);
	return error;
}

static struct reel_error *cpus_online(struct reel_cpus *ret)
{
	_cleanup_fd_ int fd = -1;
	struct reel_error *error = reel_cpus_open_online(&fd);

	return error ? error : reel_cpus_read_online(fd, ret);
}

struct reel_error *reel_cpus_create(const uint32_t *numbers, size_t n, struct reel_cpus *ret)
{
	struct reel_error *error = NULL;

	*ret = (struct reel_cpus){ 0 };
	if (numbers && !n)
		return reel_error_create(REEL_ERROR_INVALID, "empty list of CPUs");
	if (!numbers)
		error = cpus_online(ret);
	for (size_t i = 0; !error && numbers && i < n; i++) {
		long possible = sysconf(_SC_NPROCESSORS_CONF);

		if (numbers[i] >= CPUS_MAX ||
		    (possible > 0 && numbers[i] >= (unsigned long)possible))
			error = reel_error_create(REEL_ERROR_INVALID,
						  "no CPU %" PRIu32
						  " on this machine: it has %ld CPUs",
						  numbers[i], possible);
		else
			error = reel_cpus_add(ret, numbers[i]);
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
