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

/* Whether the signal would be taken as a request: it ends other processes. */
static bool takes_signal(pid_t pid)
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
	/* A helper of the recorder has its name and ignores the signal. */
	return !strncmp(name, "stackreel-record", 15) && blocked & ~ignored & 1ULL << (SIGUSR2 - 1);
}

struct reel_error *reel_recording_ask_dump(pid_t pid)
{
	/* The number may soon be another process's. */
	_cleanup_fd_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return reel_error_os(errno, "--dump %d", (int)pid);
	if (!takes_signal(pid))
		return reel_error_create(REEL_ERROR_INVALID,
					 "--dump %d: not a recorder (stackreel-record)", (int)pid);
	if (syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0))
		return reel_error_os(errno, "--dump %d", (int)pid);
	return NULL;
}
