/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/files.h"
#include "base/quantity.h"
#include "base/text.h"
#include "record/triggers/triggers.h"

#define HOUR	     (3600 * REEL_NS_PER_SECOND)
#define CPU_INTERVAL REEL_NS_PER_SECOND
#define CPU_TIME     (10 * REEL_NS_PER_SECOND)
/* Also when it is touched. */
#define FILE_EVENTS (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB)

/* ---- conditions --------------------------------------------------------------------------- */

static bool skip(const char **text, const char *prefix)
{
	size_t size = strlen(prefix);

	if (strncmp(*text, prefix, size) != 0)
		return false;
	*text += size;
	return true;
}

/* "90%", "90%:10s" */
static struct reel_error *parse_cpu(const char *text, struct reel_trigger *ret)
{
	const char *percent = strchrnul(text, '%');
	_cleanup_free_ char *number = strndup(text, (size_t)(percent - text));

	if (!number)
		return reel_error_no_memory();
	ret->kind = REEL_TRIGGER_CPU;
	ret->time = CPU_TIME;
	TRY(reel_quantity_number(number, 1, 99, &ret->more_than));
	if (*percent && percent[1] == ':')
		return reel_quantity_duration(percent + 2, &ret->time);
	return *percent && !percent[1]
		       ? NULL
		       : reel_error_create(REEL_ERROR_INVALID, "expected e.g. cpu>90%%:10s");
}

/* "memory some 150ms/1s" */
static struct reel_error *parse_pressure(const char *text, struct reel_trigger *ret)
{
	static const char expected[] = "expected e.g. psi:memory some 150ms/1s; also cpu, io; full";
	char resource[8], share[8], stall[24], window[24];
	uint64_t stall_time, window_time;
	int end = 0;

	ret->kind = REEL_TRIGGER_PRESSURE;
	if (sscanf(text, "%7[a-z] %7[a-z] %23[^/ ]/%23[^ ]%n", resource, share, stall, window,
		   &end) != 4 ||
	    text[end] ||
	    (strcmp(resource, "cpu") && strcmp(resource, "memory") && strcmp(resource, "io")) ||
	    (strcmp(share, "some") && strcmp(share, "full")))
		return reel_error_create(REEL_ERROR_INVALID, "%s", expected);
	TRY(reel_quantity_duration(stall, &stall_time));
	TRY(reel_quantity_duration(window, &window_time));
	snprintf(ret->request, sizeof(ret->request), "%s %" PRIu64 " %" PRIu64, share,
		 stall_time / 1000, window_time / 1000);
	ret->path = reel_text_print("/proc/pressure/%s", resource);
	return ret->path ? NULL : reel_error_no_memory();
}

/* Threads' names have at most 15 bytes (TASK_COMM_LEN). */
static struct reel_error *parse_comm(const char *text, struct reel_trigger *ret)
{
	if (!*text || (strlen(text) > 15 && !strpbrk(text, "*?[")))
		return reel_error_create(REEL_ERROR_INVALID,
					 "a thread's name has 1 to 15 bytes, e.g. "
					 "off-cpu:nginx>2s or 'off-cpu:worker-*>2s'");
	ret->comm = strdup(text);
	return ret->comm ? NULL : reel_error_no_memory();
}

/* "latency:FILE:FUNCTION>100ms"; a C++ function's name may have a ">", too. */
static struct reel_error *parse_event(const char *text, struct reel_trigger *ret)
{
	const char *more = strrchr(text, '>');
	struct reel_error *error = more ? reel_quantity_duration(more + 1, &ret->more_than) : NULL;

	if (error)
		more = NULL;
	reel_error_destroy(error);
	ret->kind = REEL_TRIGGER_EVENT;
	ret->event = strndup(text, more ? (size_t)(more - text) : strlen(text));
	if (!ret->event)
		return reel_error_no_memory();
	if (!strncmp(ret->event, "off-cpu:", 8)) {
		ret->event[7] = '\0';
		return parse_comm(ret->event + 8, ret);
	}
	return *ret->event ? NULL : reel_error_create(REEL_ERROR_INVALID, "no event is named");
}

struct reel_error *reel_trigger_parse(const char *text, struct reel_trigger *ret)
{
	*ret = (struct reel_trigger){ .text = text };
	/* It is the text of a MARK, which has at most 256 bytes (SPEC.md). */
	if (strlen(text) > 256)
		return reel_error_create(REEL_ERROR_INVALID, "longer than 256 bytes");
	if (skip(&text, "cpu>"))
		return parse_cpu(text, ret);
	if (skip(&text, "psi:"))
		return parse_pressure(text, ret);
	if (skip(&text, "file:")) {
		ret->kind = REEL_TRIGGER_FILE;
		ret->path = strdup(text);
		return ret->path ? NULL : reel_error_no_memory();
	}
	if (!strcmp(text, "oom"))
		return parse_event("oom:mark_victim", ret);
	if (!strcmp(text, "exit-signal")) {
		/* By default (no handler), all but SIGCHLD to SIGURG and SIGWINCH end a process. */
		ret->filter = "sa_handler == 0 && (sig < 17 || (sig > 23 && sig != 28))";
		return parse_event("signal:signal_deliver", ret);
	}
	return parse_event(text, ret);
}

void reel_trigger_free(struct reel_trigger *trigger)
{
	free(trigger->event);
	free(trigger->comm);
	free(trigger->path);
}

/* ---- watching ----------------------------------------------------------------------------- */

struct watch {
	const struct reel_trigger *trigger;
	int fd; /* -1: none */
	/* CPU: ticks at the last look, and since when it is busy; 0: it is not. */
	uint64_t busy, all, next_look, busy_since;
	bool has_fired;	 /* and still is busy */
	uint64_t pulled; /* when; 0: not, or it was reported */
	bool is_reported;
};

struct reel_triggers {
	struct watch watches[REEL_TRIGGERS_MAX];
	size_t n;
	/* Of the last files, in a ring. */
	uint64_t times[REEL_TRIGGER_FILES];
	uint64_t n_files;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct reel_error *open_file(const struct reel_trigger *trigger, int *ret)
{
	const char *name = base_name(trigger->path);
	_cleanup_free_ char *folder =
		reel_text_print("%.*s.", (int)(name - trigger->path), trigger->path);

	*ret = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (!folder || *ret < 0 || inotify_add_watch(*ret, folder, FILE_EVENTS) < 0)
		return reel_error_os(errno, "--trigger %s: watching %s", trigger->text, folder);
	return NULL;
}

static struct reel_error *open_pressure(const struct reel_trigger *trigger, int *ret)
{
	size_t size = strlen(trigger->request) + 1;

	*ret = open(trigger->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*ret < 0)
		return reel_error_os(errno, "--trigger %s: opening %s, which needs CONFIG_PSI",
				     trigger->text, trigger->path);
	if (write(*ret, trigger->request, size) != (ssize_t)size)
		return reel_error_os(errno,
				     "--trigger %s: %s refuses it (the window is from 500ms to "
				     "10s, without CAP_SYS_RESOURCE a multiple of 2s, and longer "
				     "than the stall)",
				     trigger->text, trigger->path);
	return NULL;
}

static struct reel_error *open_watch(struct watch *watch)
{
	switch (watch->trigger->kind) {
	case REEL_TRIGGER_EVENT:
		return NULL;
	case REEL_TRIGGER_CPU:
		watch->fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
		return watch->fd < 0 ? reel_error_os(errno, "opening /proc/stat") : NULL;
	case REEL_TRIGGER_PRESSURE:
		return open_pressure(watch->trigger, &watch->fd);
	case REEL_TRIGGER_FILE:
		return open_file(watch->trigger, &watch->fd);
	}
	return NULL;
}

struct reel_error *reel_triggers_create(const struct reel_trigger *list, size_t n,
					struct reel_triggers **ret)
{
	struct reel_triggers *triggers = calloc(1, sizeof(*triggers));
	struct reel_error *error = NULL;

	if (!triggers)
		return reel_error_no_memory();
	for (; triggers->n < n && !error; triggers->n++) {
		struct watch *watch = &triggers->watches[triggers->n];

		*watch = (struct watch){ .trigger = &list[triggers->n], .fd = -1 };
		error = open_watch(watch);
	}
	if (error)
		reel_triggers_destroy(triggers);
	else
		*ret = triggers;
	return error;
}

void reel_triggers_destroy(struct reel_triggers *triggers)
{
	for (size_t i = 0; triggers && i < triggers->n; i++) {
		if (triggers->watches[i].fd >= 0)
			close(triggers->watches[i].fd);
	}
	free(triggers);
}

/* The share of all CPUs' time that was not idle since the last look (proc(5)), in percent. */
static double busy_share(struct watch *watch)
{
	uint64_t ticks[8] = { 0 }, busy, all = 0, idle;
	char text[512];
	ssize_t size = pread(watch->fd, text, sizeof(text) - 1, 0);
	double share;

	text[size > 0 ? size : 0] = '\0';
	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
		   &ticks[7]) < 5)
		return 0;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++)
		all += ticks[i];
	idle = ticks[3] + ticks[4];
	busy = all - idle;
	share = watch->all && all > watch->all
			? 100 * (double)(busy - watch->busy) / (double)(all - watch->all)
			: 0;
	watch->all = all;
	watch->busy = busy;
	return share;
}

static bool is_busy(struct watch *watch)
{
	uint64_t now = reel_now();

	if (now < watch->next_look)
		return false;
	watch->next_look = now + CPU_INTERVAL;
	if (busy_share(watch) <= (double)watch->trigger->more_than) {
		watch->busy_since = 0;
		watch->has_fired = false;
		return false;
	}
	if (!watch->busy_since)
		watch->busy_since = now - CPU_INTERVAL;
	if (watch->has_fired || now - watch->busy_since < watch->trigger->time)
		return false;
	watch->has_fired = true;
	return true;
}

static bool has_pressure(const struct watch *watch)
{
	struct pollfd poll_fd = { watch->fd, POLLPRI, 0 };

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLPRI;
}

static bool has_changed(const struct watch *watch)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const char *name = base_name(watch->trigger->path);
	ssize_t size = read(watch->fd, events, sizeof(events));
	bool found = false;

	/* More of them wait for the next look. */
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const struct inotify_event *)(events + at);

		found |= event->len && !strcmp(event->name, name);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	return found;
}

static bool is_met(struct watch *watch)
{
	switch (watch->trigger->kind) {
	case REEL_TRIGGER_EVENT:
		return false;
	case REEL_TRIGGER_CPU:
		return is_busy(watch);
	case REEL_TRIGGER_PRESSURE:
		return has_pressure(watch);
	case REEL_TRIGGER_FILE:
		return has_changed(watch);
	}
	return false;
}

static void pull(struct watch *watch, uint64_t time)
{
	if (!watch->pulled)
		watch->pulled = time;
}

void reel_triggers_look(struct reel_triggers *triggers)
{
	for (size_t i = 0; i < triggers->n; i++) {
		if (is_met(&triggers->watches[i]))
			pull(&triggers->watches[i], reel_now());
	}
}

void reel_triggers_sample(struct reel_triggers *triggers, uint64_t event, uint64_t weight,
			  uint64_t time, const char *comm)
{
	for (size_t i = 0; i < triggers->n; i++) {
		const struct reel_trigger *trigger = triggers->watches[i].trigger;

		if (trigger->kind == REEL_TRIGGER_EVENT && trigger->index == event &&
		    (!trigger->more_than || weight > trigger->more_than) &&
		    (!trigger->comm || !fnmatch(trigger->comm, comm, 0)))
			pull(&triggers->watches[i], time);
	}
}

const struct reel_trigger *reel_triggers_next(struct reel_triggers *triggers, uint64_t *time_ret)
{
	for (size_t i = 0; i < triggers->n; i++) {
		struct watch *watch = &triggers->watches[i];
		bool is_new = watch->pulled && !watch->is_reported;

		*time_ret = watch->pulled;
		watch->pulled = 0;
		watch->is_reported |= is_new;
		if (is_new)
			return watch->trigger;
	}
	return NULL;
}

void reel_triggers_restart(struct reel_triggers *triggers)
{
	for (size_t i = 0; i < triggers->n; i++)
		triggers->watches[i].is_reported = false;
}

bool reel_triggers_allow(struct reel_triggers *triggers)
{
	uint64_t *oldest = &triggers->times[triggers->n_files % REEL_TRIGGER_FILES];
	uint64_t now = reel_now();

	if (triggers->n_files >= REEL_TRIGGER_FILES && now - *oldest < HOUR)
		return false;
	*oldest = now;
	triggers->n_files++;
	return true;
}
