/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/quantity.h"
#include "cli/print/output.h"
#include "cli/print/pager.h"
#include "cli/print/text.h"

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
#define PROGRESS_DELAY (1000 * REEL_NS_PER_MS)

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
