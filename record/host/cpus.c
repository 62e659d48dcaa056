/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/quantity.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* More than any kernel supports (NR_CPUS). */
#define CPUS_MAX 65536
/* sysfs returns up to a page of an attribute; this is enough even if pages are larger. */
#define ATTRIBUTE_MAX 4096
/* Between two checks without an event from the kernel, if it sends events, and if not. */
#define INTERVAL_WITH_EVENTS (REEL_NS_PER_SECOND)
#define INTERVAL	     (100 * REEL_NS_PER_MS)

/* include/linux/kobject.h, UEVENT_BUFFER_SIZE, and the headers around it */
#define UEVENT_MAX 4096
/* Multicast group of the kernel's own messages (lib/kobject_uevent.c). */
#define UEVENT_GROUP 1

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

static struct reel_error *open_online(int *fd_ret)
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

static struct reel_error *read_online(int fd, struct reel_cpus *ret)
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

	TRY(open_online(&fd));
	return read_online(fd, ret);
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

/* ---- CPUs that come online and go offline ---------------------------------------------------- */

struct reel_cpu_watch {
	int file; /* stays open: descriptors may run out */
	int socket;
	uint64_t last; /* last check */
	bool slept;    /* since then */
	struct reel_cpus online, left;
};

struct reel_error *reel_cpu_watch_create(struct reel_cpu_watch **ret)
{
	struct reel_cpu_watch *watch = calloc(1, sizeof(*watch));
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP };
	struct reel_error *error;

	if (!watch)
		return reel_error_no_memory();
	error = open_online(&watch->file);
	if (error) {
		free(watch);
		return error;
	}
	*ret = watch;
	watch->socket = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			       NETLINK_KOBJECT_UEVENT);
	/* Checks find the same, but later, and miss a CPU that went and came back in between. */
	if (watch->socket >= 0 &&
	    bind(watch->socket, (const struct sockaddr *)&address, sizeof(address))) {
		close(watch->socket);
		watch->socket = -1;
	}
	return NULL;
}

void reel_cpu_watch_destroy(struct reel_cpu_watch *watch)
{
	if (!watch)
		return;
	close(watch->file);
	if (watch->socket >= 0)
		close(watch->socket);
	reel_cpus_destroy(&watch->online);
	reel_cpus_destroy(&watch->left);
	free(watch);
}

int reel_cpu_watch_fd(const struct reel_cpu_watch *watch)
{
	return watch->socket;
}

/* True if the message is about a CPU. */
static bool read_event(struct reel_cpu_watch *watch, const char *message)
{
	uint32_t cpu;
	char rest;

	if (sscanf(message, "online@/devices/system/cpu/cpu%" SCNu32 "%c", &cpu, &rest) == 1)
		return true;
	if (sscanf(message, "offline@/devices/system/cpu/cpu%" SCNu32 "%c", &cpu, &rest) != 1)
		return false;
	/* Without memory, the CPU counts as one that did not come back. */
	reel_error_destroy(reel_cpus_add(&watch->left, cpu));
	return true;
}

static bool read_events(struct reel_cpu_watch *watch)
{
	bool found = false;

	while (watch->socket >= 0) {
		char message[UEVENT_MAX + 1];
		struct sockaddr_nl from = { 0 };
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(watch->socket, message, UEVENT_MAX, 0,
				     (struct sockaddr *)&from, &size);

		/* The socket overflowed: the lost messages are unknown, so check. */
		if (n < 0 && errno == ENOBUFS)
			found = true;
		else if (n < 0 && errno != EINTR)
			break;
		if (n < 0 || from.nl_pid)
			continue;
		message[n] = '\0';
		found |= read_event(watch, message);
	}
	return found;
}

void reel_cpu_watch_sleep(struct reel_cpu_watch *watch)
{
	watch->slept = true;
}

bool reel_cpu_watch_look(struct reel_cpu_watch *watch, uint64_t now,
			 const struct reel_cpus **online_ret, const struct reel_cpus **left_ret)
{
	uint64_t interval = watch->socket >= 0 ? INTERVAL_WITH_EVENTS : INTERVAL;
	struct reel_error *error;

	reel_cpus_destroy(&watch->left);
	if (!read_events(watch) && !watch->slept && now - watch->last < interval)
		return false;
	for (size_t i = 0; watch->slept && i < watch->online.n; i++)
		reel_error_destroy(reel_cpus_add(&watch->left, watch->online.numbers[i]));
	watch->slept = false;
	watch->last = now;
	reel_cpus_destroy(&watch->online);
	error = read_online(watch->file, &watch->online);
	*online_ret = &watch->online;
	*left_ret = &watch->left;
	if (!error)
		return true;
	/* It could be read when the recording began, so this is a lack of memory. */
	reel_error_destroy(error);
	return false;
}
