/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/session/summary.h"

/* List at most this many files, and count the rest. */
#define MISSING_MAX 5

void summary_print_origin(const struct session *session, FILE *file)
{
	const struct reel_capture_info *info = session->info;
	_cleanup_free_ char *path = text_escape(session->options->file, "");
	_cleanup_free_ char *host = text_escape(info->hostname, "");
	_cleanup_free_ char *kernel = text_escape(info->kernel_release, "");

	fprintf(file, "%s: %s, Linux %s %s", path, *host ? host : "unknown host",
		*kernel ? kernel : "unknown release", info->arch);
	if (info->start_wall_time)
		fprintf(file, ", %s", format_wall_time(info->start_wall_time).text);
}

static void print_rate(const struct reel_event_info *event, FILE *file)
{
	if (event->frequency && event->waits_found_at)
		fprintf(file, " (%s Hz, stacks read by %s)", format_count(event->frequency).text,
			event->waits_found_at);
	else if (event->frequency)
		fprintf(file, " (%s Hz)", format_count(event->frequency).text);
	else if (event->waits_found_at)
		fprintf(file, " (every wait, found at %s)", event->waits_found_at);
	else if (event->period)
		fprintf(file, " (every %s)", format_count(event->period).text);
}

void summary_print_events(const struct session *session, FILE *file)
{
	for (size_t i = 0; i < session->n_events; i++) {
		const struct reel_event_info *event = &session->events[i];
		_cleanup_free_ char *name = text_escape(event_name(event), "");

		fprintf(file, "%s%s", i ? ", " : "", name);
		print_rate(event, file);
	}
	if (!session->n_events)
		fputs("none", file);
}

bool loss_is_of_samples(enum reel_loss cause)
{
	return cause == REEL_LOSS_RING_FULL || cause == REEL_LOSS_RING_BUSY ||
	       cause == REEL_LOSS_RECORDER || cause == REEL_LOSS_THROTTLED ||
	       cause == REEL_LOSS_MISSED || cause == REEL_LOSS_CPU_NOT_WATCHED;
}

/* For a loss of bytes instead of samples, only the traces that needed these bytes are affected. */
static uint64_t count_that_matters(const struct quality *quality, int cause, uint64_t count)
{
	const uint64_t *stops = quality->stops;
	uint64_t needed = count;

	if (cause == REEL_LOSS_COPY_FAILED)
		needed = stops[REEL_STOP_STACK_END];
	else if (cause == REEL_LOSS_STACK_CUT)
		needed = stops[REEL_STOP_STACK_CUT];
	return needed < count ? needed : count;
}

struct short_text loss_amount(int cause, uint64_t count)
{
	return cause == REEL_LOSS_WAITING ? format_nanoseconds(count) : format_count(count);
}

void losses_print(const uint64_t *counts, const struct quality *quality, FILE *file)
{
	const char *separator = "";

	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++) {
		uint64_t count = count_that_matters(quality, cause, counts[cause]);

		if (!count)
			continue;
		fprintf(file, "%s%s %s", separator, reel_loss_name(cause),
			loss_amount(cause, count).text);
		separator = ", ";
	}
	if (!*separator)
		fputs("none", file);
}

void losses_count(const struct reel_capture *capture, uint64_t *counts)
{
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(capture, &n);

	for (size_t i = 0; i < n; i++) {
		if ((unsigned int)losses[i].cause < REEL_LOSS_COUNT)
			counts[losses[i].cause] += losses[i].count;
	}
}

static bool any_matters(const uint64_t *counts, const struct quality *quality)
{
	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++)
		if (count_that_matters(quality, cause, counts[cause]))
			return true;
	return false;
}

void losses_print_all(const struct session *session, const struct quality *quality, FILE *file)
{
	const struct reel_capture_info *info = session->info;
	uint64_t counts[REEL_LOSS_COUNT] = { 0 };

	losses_count(session->capture, counts);
	if (!info->truncated || any_matters(counts, quality))
		losses_print(counts, quality, file);
	if (info->truncated)
		fprintf(file, "%san unknown number of samples after %s: the file is truncated",
			any_matters(counts, quality) ? ", " : "",
			format_nanoseconds(info->last_sample_time - info->first_sample_time).text);
}

void summary_print_runtimes(const struct quality *quality, FILE *file)
{
	static const char *const names[] = {
		[1u << REEL_RUNTIME_PYTHON] = "Python",
		[1u << REEL_RUNTIME_RUBY] = "Ruby",
		[1u << REEL_RUNTIME_PYTHON | 1u << REEL_RUNTIME_RUBY] = "Python and Ruby",
	};
	const char *name = quality->runtimes < sizeof(names) / sizeof(*names)
				   ? names[quality->runtimes]
				   : NULL;

	if (!name)
		name = "Interpreted";
	fprintf(file, "%s functions in %s of the samples", name,
		format_share(quality->with_runtime, quality->traces).text);
	if (quality->runtime_nameless)
		fprintf(file, "; %s of their %s frames have no name",
			format_share(quality->runtime_nameless, quality->runtime_frames).text,
			name);
}

void summary_print_quality(const struct quality *quality, FILE *file)
{
	fputs("# ", file);
	quality_print(quality, file);
	if (quality->without_stack)
		fprintf(file, "; %s without a user stack",
			format_plural(quality->without_stack, "sample").text);
	fputc('\n', file);
	if (quality->by_code || quality->by_frame_pointer) {
		fputs("# ", file);
		quality_print_steps(quality, file);
		fputc('\n', file);
	}
	if (quality->with_runtime) {
		fputs("# ", file);
		summary_print_runtimes(quality, file);
		fputc('\n', file);
	}
	if (quality->by_calls)
		fprintf(file,
			"# not unwound: %s of the traces are the CPU's own record of calls (LBR), "
			"with the newest 8 to 32 calls\n",
			format_share(quality->by_calls, quality_unwound(quality)).text);
}

/* A JVM is mapped, and code without a file has run: it is named only if the JVM was asked for it.  No
 * trace need reach the JVM's own code. */
static bool has_jvm(const struct session *session)
{
	static const char file[] = "/libjvm.so";
	_cleanup_free_ struct reel_module_info *modules = NULL;
	bool is_mapped = false, has_run = false;
	size_t n;

	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(modules[i].path, '/');

		is_mapped |= slash && !strcmp(slash, file);
		has_run |= modules[i].kind == REEL_MODULE_ANONYMOUS && modules[i].frames;
	}
	return is_mapped && has_run;
}

static void print_nameless(const struct session *session, FILE *file)
{
	const struct quality *quality = &session->quality;

	if (percent_of(quality->nameless, quality->frames) <= PERCENT)
		return;
	fprintf(file, "# %s of the frames have no name (see 'stackreel doctor')%s\n",
		format_share(quality->nameless, quality->frames).text,
		has_jvm(session) ? "; for Java's, record with --java-perfmap" : "");
}

static void print_unchecked(const struct session *session, FILE *file)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n, n_unchecked = 0;

	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return;
	for (size_t i = 0; i < n; i++)
		n_unchecked += modules[i].unchecked;
	if (n_unchecked)
		fprintf(file,
			"# %s could not be verified: neither a build-id nor a digest was "
			"recorded (see 'stackreel info')\n",
			format_plural(n_unchecked, "module").text);
}

static void print_unread(const struct session *session, FILE *file)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n, n_unread = 0;

	if (!no_error(reel_capture_modules(session->capture, &modules, &n)))
		return;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *problem = NULL;

		if (modules[i].state != REEL_MODULE_FOUND || !modules[i].problem[0] ||
		    !modules[i].frames || ++n_unread > MISSING_MAX)
			continue;
		problem = text_escape(modules[i].problem, "");
		fprintf(file, "# names or lines may be missing: %s\n", problem);
	}
	if (n_unread > MISSING_MAX)
		fprintf(file, "# names or lines may be missing: %s more (see 'stackreel info')\n",
			format_count(n_unread - MISSING_MAX).text);
}

/* ---- missing files -------------------------------------------------------------------------- */

struct missing {
	const struct reel_module_info *module;
	uint64_t ended; /* traces */
};

static bool is_missing(const struct reel_module_info *module)
{
	return module->kind == REEL_MODULE_FILE && module->frames &&
	       module->state != REEL_MODULE_FOUND && module->state != REEL_MODULE_UNUSED;
}

static int compare_missing(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;
	int order;

	if (x->ended != y->ended)
		return x->ended > y->ended ? -1 : 1;
	if (x->module->frames != y->module->frames)
		return x->module->frames > y->module->frames ? -1 : 1;
	order = strcmp(x->module->path, y->module->path);
	if (order)
		return order;
	return (x->module->id > y->module->id) - (x->module->id < y->module->id);
}

static void print_one(const struct session *session, const struct missing *missing, FILE *file)
{
	_cleanup_free_ char *path = text_escape(missing->module->path, "");

	fprintf(file, "%s", *path ? path : "a module without a path");
	if (missing->ended)
		fprintf(file, " (%s of the traces end there)",
			format_share(missing->ended, quality_unwound(&session->quality)).text);
	else
		fputs(" (no names)", file);
}

static void print_missing(const struct session *session, FILE *file)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;
	struct missing *all;
	size_t n_modules, n = 0;

	if (!no_error(reel_capture_modules(session->capture, &modules, &n_modules)))
		return;
	all = memory_resize(NULL, n_modules, sizeof(*all));
	for (size_t i = 0; i < n_modules; i++) {
		const struct sample_count *ended;

		if (!is_missing(&modules[i]))
			continue;
		ended = sample_counts_find(&session->missing, modules[i].id, NULL);
		all[n++] = (struct missing){ &modules[i], ended ? ended->samples : 0 };
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_missing);
	for (size_t i = 0; i < n && i < MISSING_MAX; i++) {
		fputs("# no file: ", file);
		print_one(session, &all[i], file);
		fputc('\n', file);
	}
	if (n > MISSING_MAX)
		fprintf(file, "# no file: %s more\n", format_count(n - MISSING_MAX).text);
	if (n)
		fputs("# see 'stackreel info' for the reason; use --symfs DIR or --module FILE to "
		      "add files (for a running container, --symfs /proc/PID/root)\n",
		      file);
	free(all);
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Of all parts of a rotated recording, each with the same. */
static void print_notes(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_mark_info *marks = reel_capture_marks(session->capture, &n);
	const char *last = "";

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = NULL;

		if (marks[i].kind != REEL_MARK_NOTE || !strcmp(marks[i].text, last))
			continue;
		last = marks[i].text;
		text = text_escape(last, "");
		fprintf(file, "# note: %s\n", text);
	}
}

void summary_print_head(const struct session *session, FILE *file)
{
	size_t n;
	const struct reel_capture_problem *problems = reel_capture_problems(session->capture, &n);
	uint64_t duration = session->quality.last_time - session->quality.first_time;

	fputs("# ", file);
	summary_print_origin(session, file);
	fprintf(file, "\n# %s of ", format_plural(session->quality.traces, "sample").text);
	summary_print_events(session, file);
	fprintf(file, " in %s\n", format_nanoseconds(duration).text);
	if (session->options->shard.count > 1)
		fprintf(file, "# only part %" PRIu32 " of %" PRIu32 " of the capture (--shard)\n",
			session->options->shard.number + 1, session->options->shard.count);
	summary_print_quality(&session->quality, file);
	print_missing(session, file);
	print_nameless(session, file);
	fputs("# lost: ", file);
	losses_print_all(session, &session->quality, file);
	fputc('\n', file);
	print_notes(session, file);
	print_unchecked(session, file);
	print_unread(session, file);
	for (size_t i = 0; i < session->options->wheres.count; i++) {
		_cleanup_free_ char *note =
			where_note(&session->options->wheres.items[i], &session->where_counts[i]);
		_cleanup_free_ char *escaped = note ? text_escape(note, "") : NULL;

		if (note)
			fprintf(file, "# %s\n", escaped);
	}
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = text_escape(problems[i].message, "");

		fprintf(file, "# problem: %s\n", escaped);
	}
}
