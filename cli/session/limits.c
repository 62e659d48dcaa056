/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: RLIMIT_DATA counts writable private memory (since Linux 4.7), so all allocations can
 * fail, ours and the libraries', and each failure is an error. RLIMIT_AS would
 * count address space, and no system call limits resident memory.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/quantity.h"
#include "cli/session/limits.h"
#include "cli/print/output.h"
#include "cli/print/text.h"

/* With less, reading fails and even an error message cannot be allocated. */
#define MEMORY_MIN (16u << 20)

/* The active limits; for messages and for the signal handler, which cannot allocate. */
static struct {
	char *memory_before, *memory_after;
	char out_of_time[512];
	size_t out_of_time_size;
} in_force;

static uint64_t host_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

struct limits limits_default(void)
{
	return (struct limits){ .memory = host_memory() / 4 * 3 };
}

bool limits_parse_size(const char *text, uint64_t *ret)
{
	_cleanup_error_ struct reel_error *error = NULL;

	*ret = 0;
	if (strcmp(text, "none") != 0)
		error = reel_quantity_size(text, ret);
	return !error;
}

bool limits_parse_memory(const char *text, uint64_t *ret)
{
	const char *end;

	if (limits_parse_size(text, ret))
		return !*ret || *ret >= MEMORY_MIN;
	if (!reel_decimal_parse(text, PERCENT, &end, ret) || strcmp(end, "%") != 0)
		return false;
	*ret = reel_decimal_ratio(host_memory(), *ret, 100 * PERCENT);
	return *ret >= MEMORY_MIN;
}

/* Memory already in use, as RLIMIT_DATA counts it. */
static uint64_t data_in_use(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!file)
		return 0;
	/* size, resident, shared, text, lib, data (proc(5)) */
	if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* True if the limit is in force. */
static bool limit_memory(uint64_t memory)
{
	struct rlimit limit;

	/* On a 32-bit host, a limit beyond the address space has no effect. */
	if (!memory || (rlim_t)memory != memory || getrlimit(RLIMIT_DATA, &limit))
		return false;
	/* Keep a lower existing limit. */
	if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= memory)
		return false;
	/* A sanitizer maps terabytes for its own use: every allocation would fail. */
	if (data_in_use() > memory)
		return false;
	limit.rlim_cur = memory;
	return !setrlimit(RLIMIT_DATA, &limit);
}

static void end_of_time(int signal_number)
{
	ssize_t written;

	(void)signal_number;
	written = write(STDERR_FILENO, in_force.out_of_time, in_force.out_of_time_size);
	(void)written;
	_exit(STATUS_ERROR);
}

static void limit_time(uint64_t time, const char *file)
{
	struct itimerval timer = { .it_value = { .tv_sec = (time_t)(time / 1000000000),
						 .tv_usec =
							 (suseconds_t)(time / 1000 % 1000000) } };

	if (!time)
		return;
	/* 0 would disarm the timer. */
	if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	snprintf(in_force.out_of_time, sizeof(in_force.out_of_time),
		 "stackreel: %.300s: not finished after %s; use a longer --time-limit\n", file,
		 format_nanoseconds(time).text);
	in_force.out_of_time_size = strlen(in_force.out_of_time);
	signal(SIGALRM, end_of_time);
	setitimer(ITIMER_REAL, &timer, NULL);
}

void limits_apply(const struct limits *limits, const char *file)
{
	_cleanup_free_ char *escaped = text_escape(file, "");

	free(in_force.memory_before);
	in_force.memory_before = memory_print("%s%s", escaped, *escaped ? ": " : "");
	if (limit_memory(limits->memory)) {
		free(in_force.memory_after);
		in_force.memory_after = memory_print(": --memory-limit is %s; use a larger one",
						     format_bytes(limits->memory).text);
	}
	memory_set_report(in_force.memory_before,
			  in_force.memory_after ? in_force.memory_after : "");
	limit_time(limits->time, escaped);
}
