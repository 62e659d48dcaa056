/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "record/host/helper_limits.h"

/* A sanitizer's shadow memory takes terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Only lowers a limit: raising one would need rights, and is never useful. */
static void lower(int resource, uint64_t limit)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return;
	if (now.rlim_max == RLIM_INFINITY || now.rlim_max > limit)
		now.rlim_max = (rlim_t)limit;
	if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	setrlimit(resource, &now);
}

static uint64_t data_limit;

void reel_helper_limits_data(uint64_t bytes)
{
	data_limit = bytes;
}

void reel_helper_limits_set(const struct reel_helper_limits *limits)
{
	lower(RLIMIT_CORE, 0);
	if (!limits->writes)
		lower(RLIMIT_FSIZE, 0);
	if (limits->memory && !IS_SANITIZED)
		lower(RLIMIT_AS, limits->memory);
	if (data_limit && !IS_SANITIZED)
		lower(RLIMIT_DATA, data_limit);
	if (limits->cpu_seconds)
		lower(RLIMIT_CPU, limits->cpu_seconds);
	if (limits->files)
		lower(RLIMIT_NOFILE, limits->files);
}
