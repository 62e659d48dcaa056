/* SPDX-License-Identifier: Apache-2.0 */
/* stackreel gdb: shows a sample in gdb. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/core/core_command.h"
#include "cli/print/text.h"

/* A shell's statuses for a command that was not found, and for one ended by a signal. */
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL	 128

static const char doc[] =
	"Open a sample of a capture with raw stacks in gdb: its backtrace, arguments and local "
	"variables.\v"
	"FILE defaults to " DEFAULT_CAPTURE
	"; '-' is standard input. Arguments following '--' are passed to gdb, for example '-- "
	"-batch -ex \"bt full\"'. gdb or, for another CPU's captures, gdb-multiarch is needed. The "
	"files are made in a temporary folder, by $TMPDIR, and removed when gdb ends. The exit "
	"status is that of gdb.";

/* ---- the temporary folder ------------------------------------------------------------------- */

static char *make_folder(void)
{
	const char *parent = getenv("TMPDIR");
	char *folder = memory_print("%s/stackreel-gdb-XXXXXX", parent && *parent ? parent : "/tmp");

	if (mkdtemp(folder))
		return folder;
	complain("cannot create %s: %s", folder, strerror(errno));
	free(folder);
	return NULL;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void remove_folder(const char *folder)
{
	if (nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		complain("cannot remove %s: %s", folder, strerror(errno));
}

/* ---- gdb ------------------------------------------------------------------------------------ */

/* A gdb for this host's CPU is tried first only for programs that run here. */
static bool is_of_host(const char *arch)
{
	struct utsname host;

	return !uname(&host) && (!strcmp(host.machine, arch) ||
				 (!strcmp(host.machine, "x86_64") && !strcmp(arch, "i386")));
}

static volatile sig_atomic_t ended_by;

static void record_end(int signal)
{
	ended_by = signal;
}

/* As a shell's: the terminal's signals are for gdb, which handles them. */
static int wait_for(pid_t process)
{
	const struct sigaction end = { .sa_handler = record_end };
	int status;

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	while (waitpid(process, &status, 0) < 0) {
		if (errno != EINTR)
			return STATUS_ERROR;
		kill(process, ended_by);
	}
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_gdb(const struct core_command *command, const char *arch, const char *script)
{
	static const char *const programs[] = { "gdb", "gdb-multiarch" };
	bool is_native = is_of_host(arch);
	size_t n = command->arguments.count;
	_cleanup_free_ const char **arguments = memory_get((n + 5) * sizeof(*arguments));
	int status = STATUS_NOT_FOUND;
	pid_t process;

	arguments[1] = "-q";
	arguments[2] = "-x";
	arguments[3] = script;
	for (size_t i = 0; i < n; i++)
		arguments[4 + i] = command->arguments.items[i];
	process = fork();
	if (!process) {
		for (size_t i = 0; i < 2; i++) {
			arguments[0] = programs[is_native ? i : 1 - i];
			execvp(arguments[0], (char **)arguments);
		}
		_exit(STATUS_NOT_FOUND);
	}
	if (process > 0)
		status = wait_for(process);
	else
		complain("cannot start gdb: %s", strerror(errno));
	if (process > 0 && status == STATUS_NOT_FOUND)
		complain("cannot run gdb%s; install it, or write the files with 'stackreel core'",
			 is_native ? "" : "-multiarch");
	return status;
}

static int show(const struct core_command *command, struct session *session,
		const struct reel_core *core, const char *folder)
{
	_cleanup_free_ char *core_path = memory_print("%s/core", folder);
	_cleanup_free_ char *script = memory_print("%s/core.gdb", folder);

	if (!core_command_write(command, session, core, core_path))
		return STATUS_ERROR;
	return run_gdb(command, reel_core_get_info(core)->arch, script);
}

int command_gdb(int argc, char **argv)
{
	struct core_command command = { .takes_arguments = true };
	struct session session;
	struct reel_core *core;
	int status = STATUS_ERROR;

	core_command_parse(&command, "[FILE] [-- GDB_ARGUMENT...]", doc, argc, argv);
	if (core_command_open(&command, &session, &core)) {
		_cleanup_free_ char *folder = make_folder();

		if (folder) {
			status = show(&command, &session, core, folder);
			remove_folder(folder);
		}
	}
	reel_core_close(core);
	session_close(&session);
	core_command_free(&command);
	return status;
}
