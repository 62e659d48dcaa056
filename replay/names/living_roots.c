/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "replay/names/living_roots.h"

#define SECOND INT64_C(1000000000)
/* NTP slews less between two looks at the clocks; a different boot is farther away. */
#define SAME_BOOT (2 * SECOND)

/* A view of the file system from "/". */
struct view {
	uint64_t device, inode;
	char mounts[64]; /* "mnt:[4026531841]" */
};

struct search {
	struct view *views; /* [0] is this process's own */
	size_t n, capacity;
	struct reel_strings *roots;
	struct reel_error *error;
};

static int64_t now(clockid_t clock)
{
	struct timespec time = { 0 };

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* The capture's clock and this host's were 0 at the same moment: no boot in between, and no
 * sleep, during which CLOCK_MONOTONIC stops. */
static bool is_of_this_boot(const struct reel_capture_info *info)
{
	int64_t then = (int64_t)(info->start_wall_time - info->start_time);
	int64_t here = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	struct utsname host;

	return info->start_wall_time && !uname(&host) && !strcmp(host.nodename, info->hostname) &&
	       !strcmp(host.release, info->kernel_release) && then - here < SAME_BOOT &&
	       here - then < SAME_BOOT;
}

/* On CLOCK_MONOTONIC; false if it does not exist. */
static bool start_of(uint64_t pid, int64_t *ret)
{
	char path[64], line[1024], *end;
	unsigned long long ticks;
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	/* Field 22, in ticks of CLOCK_BOOTTIME.  Field 2, in parentheses, may contain any
	 * characters (proc(5)). */
	end = ok ? strrchr(line, ')') : NULL;
	if (!end || sscanf(end + 1,
			   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %llu",
			   &ticks) != 1)
		return false;
	*ret = (int64_t)ticks * (SECOND / sysconf(_SC_CLK_TCK)) -
	       (now(CLOCK_BOOTTIME) - now(CLOCK_MONOTONIC));
	return true;
}

static bool view_of(const char *process, struct view *ret)
{
	char path[64];
	struct stat status;
	ssize_t size;

	*ret = (struct view){ 0 };
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	size = readlink(path, ret->mounts, sizeof(ret->mounts) - 1);
	snprintf(path, sizeof(path), "/proc/%s/root/", process);
	if (size <= 0 || stat(path, &status))
		return false;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	return true;
}

/* True if the view is new. */
static bool add_view(struct search *search, const struct view *view)
{
	for (size_t i = 0; i < search->n; i++) {
		const struct view *known = &search->views[i];

		if (known->device == view->device && known->inode == view->inode &&
		    !strcmp(known->mounts, view->mounts))
			return false;
	}
	if (!reel_array_reserve(&search->views, search->n, &search->capacity,
				sizeof(*search->views))) {
		search->error = reel_error_no_memory();
		return false;
	}
	search->views[search->n++] = *view;
	return true;
}

/* A process with this pid that had already started at that time is the recorded one. */
static void add_root(void *context, const struct reel_space_state *space)
{
	struct search *search = context;
	struct view view;
	char process[24];
	int64_t start;

	/* Most processes of a busy host end during the recording. */
	if (search->error || !space->pid || space->end != UINT64_MAX ||
	    !start_of(space->pid, &start) || start > (int64_t)space->start)
		return;
	snprintf(process, sizeof(process), "%llu", (unsigned long long)space->pid);
	if (view_of(process, &view) && add_view(search, &view))
		search->error =
			reel_strings_add(search->roots, reel_text_print("/proc/%s/root", process));
}

struct reel_error *reel_living_roots(const struct reel_timeline *timeline,
				     const struct reel_capture_info *info, struct reel_strings *ret)
{
	struct search search = { .roots = ret };
	struct view own;

	if (!is_of_this_boot(info) || !view_of("self", &own))
		return NULL;
	add_view(&search, &own);
	if (!search.error)
		search.error = reel_timeline_visit_spaces(timeline, add_root, &search);
	free(search.views);
	return search.error;
}
