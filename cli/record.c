/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel record: runs the recorder. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print/output.h"
#include "cli/print/text.h"

#define RECORDER "stackreel-record"

/* The recorder next to this program, since both are installed together; NULL if missing. */
static char *recorder_nearby(void)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (size < 0)
		return NULL;
	path[size] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	return memory_print("%s" RECORDER, path);
}

int command_record(int argc, char **argv)
{
	_cleanup_free_ char *nearby = recorder_nearby();

	(void)argc;
	argv[0] = RECORDER;
	if (nearby) {
		execv(nearby, argv);
		if (errno != ENOENT) {
			complain("%s: %s", nearby, strerror(errno));
			return STATUS_ERROR;
		}
	}
	execvp(RECORDER, argv);
	if (errno == ENOENT)
		complain(RECORDER
			 " is not installed: not found in the folder of this program or in PATH "
			 "(building it needs clang and libbpf; 'make static' builds one to copy)");
	else
		complain(RECORDER ": %s", strerror(errno));
	return STATUS_ERROR;
}
