/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/cpu_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/quantity.h"

/* Between two checks without an event from the kernel: a check takes some 10 µs. */
#define INTERVAL (100 * REEL_NS_PER_MS)

/* include/linux/kobject.h, UEVENT_BUFFER_SIZE, and the headers around it */
#define UEVENT_MAX 4096
/* Multicast group of the kernel's own messages (lib/kobject_uevent.c). */
#define UEVENT_GROUP 1

struct reel_cpu_watch {
	int file; /* stays open: descriptors may run out */
	int socket;
	uint64_t last; /* last check */
	struct reel_cpus online, left;
};

struct reel_error *reel_cpu_watch_create(struct reel_cpu_watch **ret)
{
	struct reel_cpu_watch *watch = calloc(1, sizeof(*watch));
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP };
	struct reel_error *error;

	if (!watch)
		return reel_error_no_memory();
	error = reel_cpus_open_online(&watch->file);
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
static bool take_event(struct reel_cpu_watch *watch, const char *message)
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

static bool take_events(struct reel_cpu_watch *watch)
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
		found |= take_event(watch, message);
	}
	return found;
}

bool reel_cpu_watch_look(struct reel_cpu_watch *watch, uint64_t now,
			 const struct reel_cpus **online_ret, const struct reel_cpus **left_ret)
{
	struct reel_error *error;

	reel_cpus_destroy(&watch->left);
	if (!take_events(watch) && now - watch->last < INTERVAL)
		return false;
	watch->last = now;
	reel_cpus_destroy(&watch->online);
	error = reel_cpus_read_online(watch->file, &watch->online);
	*online_ret = &watch->online;
	*left_ret = &watch->left;
	if (!error)
		return true;
	/* It could be read when the recording began, so this is a lack of memory. */
	reel_error_destroy(error);
	return false;
}
