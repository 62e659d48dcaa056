/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "record/recording.h"

#define BIT(signal) (1ULL << ((signal) - 1))
/* While a process forks or starts a thread, glibc blocks all signals: look again after this time. */
#define LOOK_AGAIN_US 10000
#define LOOKS	      100

/* Whether the signal would be taken as a request: it ends other processes.  No recorder blocks
 * SIGUSR1, except for a moment (`*for_a_moment_ret'). */
static bool takes_signal(pid_t pid, bool *for_a_moment_ret)
{
	unsigned long long blocked = 0, ignored = 0;
	char path[32], line[256], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "Name: %31s", name);
		sscanf(line, "SigBlk: %llx", &blocked);
		sscanf(line, "SigIgn: %llx", &ignored);
	}
	if (file)
		fclose(file);
	*for_a_moment_ret = blocked & BIT(SIGUSR1);
	/* A helper of the recorder has its name and ignores the signal. */
	return !strncmp(name, "stackreel-record", 15) && blocked & ~ignored & BIT(SIGUSR2);
}

struct reel_error *reel_recording_ask_dump(pid_t pid)
{
	/* The number may soon be another process's. */
	_cleanup_fd_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool is_recorder, for_a_moment = false;

	if (fd < 0)
		return reel_error_os(errno, "--dump %d", (int)pid);
	is_recorder = takes_signal(pid, &for_a_moment);
	for (int i = 0; is_recorder && for_a_moment && i < LOOKS; i++) {
		usleep(LOOK_AGAIN_US);
		is_recorder = takes_signal(pid, &for_a_moment);
	}
	if (!is_recorder || for_a_moment)
		return reel_error_create(REEL_ERROR_INVALID,
					 "--dump %d: not a recorder (stackreel-record)", (int)pid);
	if (syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0))
		return reel_error_os(errno, "--dump %d", (int)pid);
	return NULL;
}
