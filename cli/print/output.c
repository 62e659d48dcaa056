/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/quantity.h"
#include "cli/print/output.h"
#include "cli/print/text.h"

/* ---- messages -------------------------------------------------------------------------------- */

/* Messages follow what was written to it before them; NULL: none. */
static FILE *earlier;

void complain(const char *format, ...)
{
	_cleanup_free_ char *message = NULL, *escaped = NULL;
	va_list args;

	va_start(args, format);
	message = memory_vprint(format, args);
	va_end(args);
	escaped = text_escape(message, "");
	if (earlier)
		fflush(earlier);
	fprintf(stderr, "stackreel: %s\n", escaped);
}

bool no_error(struct reel_error *error)
{
	if (!error)
		return true;
	if (reel_error_code(error) == REEL_ERROR_NO_MEMORY) {
		_cleanup_free_ char *what = text_escape(reel_error_message(error), "");

		memory_complain(what);
	} else {
		complain("%s", reel_error_message(error));
	}
	reel_error_destroy(error);
	return false;
}

/* ---- the pager ------------------------------------------------------------------------------- */

#define DEFAULT_PAGER "less"
/* A shell's exit status if a command was not found or could not be run. */
#define CANNOT_RUN 126

static struct {
	pid_t process; /* 0: none */
	int pipe;
	int output, messages; /* original standard output and error; -1: not replaced */
	const char *command;
} pager = { .output = -1, .messages = -1 };

static bool is_in_path(const char *name)
{
	_cleanup_free_ char *path = memory_print("%s", getenv("PATH") ? getenv("PATH") : "");
	char *rest;

	for (char *dir = strtok_r(path, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
		_cleanup_free_ char *file = memory_print("%s/%s", dir, name);

		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* NULL: none. */
static const char *wanted_pager(void)
{
	const char *command = getenv("STACKREEL_PAGER"), *term = getenv("TERM");

	if (!term || !strcmp(term, "dumb"))
		return NULL;
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = is_in_path(DEFAULT_PAGER) ? DEFAULT_PAGER : "";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/*
 * Waits for input: until then progress and messages use the terminal, and after an error there is
 * nothing to show.
 */
static _Noreturn void become_pager(int input)
{
	struct pollfd waiting = { .fd = input, .events = POLLIN };

	while (poll(&waiting, 1, -1) < 0 && errno == EINTR)
		;
	if (!(waiting.revents & POLLIN))
		_exit(0);
	dup2(input, STDIN_FILENO);
	close(input);
	/* As git: F exits at once if all fits on the screen, R shows colours, X leaves the text on
	 * the screen. */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", pager.command, (char *)NULL);
	_exit(CANNOT_RUN);
}

void pager_prepare(void)
{
	int ends[2];

	if (!isatty(STDOUT_FILENO))
		return;
	pager.command = wanted_pager();
	if (!pager.command || pipe2(ends, O_CLOEXEC))
		return;
	fflush(NULL);
	pager.process = fork();
	if (!pager.process) {
		close(ends[1]);
		become_pager(ends[0]);
	}
	close(ends[0]);
	pager.pipe = ends[1];
	if (pager.process < 0) {
		pager.process = 0;
		close(ends[1]);
	}
}

static void restore(int *saved, int fd)
{
	if (*saved < 0)
		return;
	dup2(*saved, fd);
	close(*saved);
	*saved = -1;
}

static bool pager_end(void)
{
	int status = 0;

	if (!pager.process)
		return true;
	fflush(stdout);
	earlier = NULL;
	restore(&pager.output, STDOUT_FILENO);
	restore(&pager.messages, STDERR_FILENO);
	close(pager.pipe);
	while (waitpid(pager.process, &status, 0) < 0 && errno == EINTR)
		;
	pager.process = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) < CANNOT_RUN)
		return true;
	complain("cannot run the pager '%s'; use --no-pager", pager.command);
	return false;
}

static void end_at_exit(void)
{
	pager_end();
}

static void pager_start(void)
{
	if (!pager.process)
		return;
	fflush(stdout);
	earlier = stdout;
	pager.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	dup2(pager.pipe, STDOUT_FILENO);
	if (isatty(STDERR_FILENO)) {
		pager.messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		dup2(pager.pipe, STDERR_FILENO);
	}
	/* The user may quit the pager early, which is not an error; the pager handles the keys, and
	 * a --time-limit does not limit reading. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	atexit(end_at_exit);
}

/* ---- output -------------------------------------------------------------------------------- */

#define BUFFER_SIZE (256 << 10)

static unsigned int terminal_width(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 0;
}

bool colors_wanted(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* Opened by output_reserve; -1: none. */
static int reserved = -1;
static bool keeps_old;
static mode_t mode_of_new = REEL_PLACE_SHARED;

void output_keep_old(void)
{
	keeps_old = true;
}

void output_make_private(void)
{
	mode_of_new = REEL_PLACE_PRIVATE;
}

static bool create(const char *path, int *fd_ret)
{
	return no_error(reel_output_file_create(path, mode_of_new, keeps_old, fd_ret));
}

bool output_reserve(const char *path)
{
	return !path || !strcmp(path, "-") || create(path, &reserved);
}

bool is_utf8_wanted(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool output_open(struct output *output, const char *path)
{
	*output = (struct output){ .file = stdout, .path = "standard output" };
	if (path && strcmp(path, "-") != 0) {
		int fd = reserved;

		reserved = -1;
		output->path = path;
		if (fd < 0 && !create(path, &fd))
			return false;
		output->file = fdopen(fd, "w");
		if (!output->file) {
			complain("%s: %s", path, strerror(errno));
			close(fd);
			return false;
		}
	}
	setvbuf(output->file, NULL, _IOFBF, BUFFER_SIZE);
	output->terminal = isatty(fileno(output->file));
	output->color = output->terminal && colors_wanted();
	output->utf8 = is_utf8_wanted();
	if (output->terminal)
		output->width = terminal_width(fileno(output->file));
	if (output->terminal && output->file == stdout)
		pager_start();
	return true;
}

bool output_is_broken(const struct output *output)
{
	return ferror(output->file);
}

int output_close(struct output *output, int status)
{
	bool failed = ferror(output->file);
	int error = EIO;

	/* The errno of an earlier failure is gone; flushing the rest fails again with the same
	 * errno. */
	if (fflush(output->file) != 0) {
		failed = true;
		error = errno;
	}
	if (output->file != stdout && fclose(output->file) != 0 && !failed) {
		failed = true;
		error = errno;
	}
	if (output->file == stdout && !pager_end())
		status = STATUS_ERROR;
	output->file = NULL;
	if (!failed || error == EPIPE)
		return status;
	complain("%s: cannot write: %s", output->path, strerror(error));
	return STATUS_ERROR;
}

const char *color_bold(const struct output *output)
{
	return output->color ? "\033[1m" : "";
}

const char *color_dim(const struct output *output)
{
	return output->color ? "\033[2m" : "";
}

const char *color_of_share(const struct output *output, uint64_t percent)
{
	if (!output->color || percent < PERCENT / 2)
		return "";
	return percent >= 5 * PERCENT ? "\033[31m" : "\033[32m";
}

const char *color_end(const struct output *output)
{
	return output->color ? "\033[0m" : "";
}

/* ---- progress --------------------------------------------------------------------- */

#define PROGRESS_INTERVAL (200 * REEL_NS_PER_MS)
/* Short work shows no progress. */
#define PROGRESS_DELAY (500 * REEL_NS_PER_MS)

void progress_start(struct progress *progress, bool wanted)
{
	*progress = (struct progress){ .on = wanted && isatty(STDERR_FILENO) };
	if (progress->on)
		progress->last = reel_now() + PROGRESS_DELAY - PROGRESS_INTERVAL;
}

/* Often enough, and not too often. */
static bool is_due(struct progress *progress)
{
	uint64_t now;

	if (!progress->on)
		return false;
	now = reel_now();
	if (now < progress->last + PROGRESS_INTERVAL)
		return false;
	progress->last = now;
	progress->shown = true;
	return true;
}

void progress_say(struct progress *progress, const char *text)
{
	if (!is_due(progress))
		return;
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total, uint64_t samples)
{
	if (!is_due(progress))
		return;
	fprintf(stderr, "\r\033[K%s of %s, %s samples (%u %%)", format_bytes(done).text,
		format_bytes(total).text, format_count(samples).text,
		(unsigned int)(percent_of(done, total) / PERCENT));
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (!progress->shown)
		return;
	fputs("\r\033[K", stderr);
	progress->shown = false;
}
