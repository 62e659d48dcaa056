/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/event_list.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/probes/probe_places.h"
#include "record/sampling/functions.h"

/* The largest browsers have fewer functions. */
#define NAMES_MAX 1000000
/* A hostile file may give them all a long one. */
#define BYTES_MAX (256u << 20)

struct list {
	const char *pattern; /* NULL: all */
	const char *prefix;  /* of the next names */
	size_t prefix_size;
	char **names;
	size_t n, capacity, bytes, n_unprintable;
	void (*note)(const char *text);
};

/* ---- names ----------------------------------------------------------------------------- */

/* A file's symbols may have any bytes, such as a terminal's commands. */
static bool is_printable(const char *text)
{
	while (*text >= ' ' && *text < 0x7f)
		text++;
	return !*text;
}

static struct reel_error *append_name(void *context, const char *text)
{
	struct list *list = context;

	if (!is_printable(text)) {
		list->n_unprintable++;
		return NULL;
	}
	list->bytes += list->prefix_size + strlen(text);
	if (list->n == NAMES_MAX || list->bytes > BYTES_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "more than %d names or %u MiB match; use a narrower "
					 "pattern",
					 NAMES_MAX, BYTES_MAX >> 20);
	if (!reel_array_reserve(&list->names, list->n, &list->capacity, sizeof(*list->names)) ||
	    asprintf(&list->names[list->n], "%.*s%s", (int)list->prefix_size, list->prefix, text) <
		    0)
		return reel_error_no_memory();
	list->n++;
	return NULL;
}

/* The same, if it matches the pattern. */
static struct reel_error *append_if(void *context, const char *text)
{
	const struct list *list = context;

	return !list->pattern || !fnmatch(list->pattern, text, 0) ? append_name(context, text)
								  : NULL;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* ---- of the kernel ---------------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* PMU/EVENT/ for each file of sysfs that is an event without parameters. */
static struct reel_error *list_pmus(struct list *list)
{
	struct reel_error *error = NULL;
	glob_t found;

	if (glob("/sys/bus/event_source/devices/*/events/*", 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc && !error; i++) {
		const char *path = found.gl_pathv[i], *event = strrchr(path, '/') + 1;
		const char *pmu = path + strlen("/sys/bus/event_source/devices/");
		_cleanup_free_ char *name = NULL;

		/* EVENT.scale and EVENT.unit describe EVENT. */
		if (strchr(event, '.'))
			continue;
		if (asprintf(&name, "%.*s/%s/", (int)strcspn(pmu, "/"), pmu, event) < 0)
			error = reel_error_no_memory();
		else
			error = append_if(list, name);
	}
	globfree(&found);
	return error;
}

/* As perf's names, or with the prefix tracepoint:. */
static struct reel_error *list_tracepoints(struct list *list)
{
	FILE *file = fopen("/sys/kernel/tracing/available_events", "re");
	_cleanup_free_ char *line = NULL;
	struct reel_error *error = NULL;
	size_t size = 0;

	if (!file)
		file = fopen("/sys/kernel/debug/tracing/available_events", "re");
	if (!file) {
		list->note("tracepoints are not listed: cannot read "
			   "/sys/kernel/tracing/available_events");
		return NULL;
	}
	while (!error && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		error = append_if(list, line);
	}
	fclose(file);
	return error;
}

static struct reel_error *list_symbols(struct list *list)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	struct reel_error *error = NULL;
	size_t size = 0;

	if (!file)
		return reel_error_os(errno, "cannot read /proc/kallsyms");
	while (!error && getline(&line, &size, file) > 0) {
		char name[512], type;

		if (sscanf(line, "%*s %c %511s", &type, name) == 2 && strchr("tTwW", type) &&
		    !has_prefix(name, "__pfx_") && !strstr(name, ".cold"))
			error = append_if(list, name);
	}
	fclose(file);
	return error;
}

/* The functions that fentry can have: those in the kernel's BTF. */
static struct reel_error *list_btf(struct list *list)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct reel_error *error = NULL;
	uint32_t n;

	if (!btf)
		return reel_error_os(errno, "cannot read /sys/kernel/btf/vmlinux");
	n = btf__type_cnt(btf);
	for (uint32_t i = 1; i < n && !error; i++) {
		const struct btf_type *type = btf__type_by_id(btf, i);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_is_func(type) && name)
			error = append_if(list, name);
	}
	btf__free(btf);
	return error;
}

/* ---- all -------------------------------------------------------------------------------- */

static struct reel_error *list_events(struct list *list)
{
	TRY(reel_sampler_event_names_visit(append_if, list));
	TRY(list_pmus(list));
	return list_tracepoints(list);
}

/* Takes the prefix off the pattern: lists have names without it. */
static void prefix_cut(struct list *list, size_t size)
{
	list->prefix = list->pattern;
	list->prefix_size = size;
	list->pattern += size;
}

/* Lists a file.  uprobe:FILE means uprobe:FILE:*, and usdt:FILE:PROVIDER all its probes. */
static struct reel_error *list_file(struct list *list, enum reel_sampler_probe kind,
				    const struct reel_probe_targets *targets)
{
	int missing = kind == REEL_SAMPLER_USDT ? 3 : 2;
	_cleanup_free_ char *pattern = NULL;

	for (const char *at = list->pattern; *at; at++)
		missing -= *at == ':';
	if (asprintf(&pattern, "%s%s%s", list->pattern, missing > 0 ? ":*" : "",
		     missing > 1 ? ":*" : "") < 0)
		return reel_error_no_memory();
	list->prefix = pattern;
	list->prefix_size = (size_t)(strchr(strchr(pattern, ':') + 1, ':') - pattern) + 1;
	return reel_probe_names_visit(pattern, targets, append_name, list);
}

static struct reel_error *gather(struct list *list, const struct reel_probe_targets *targets)
{
	const char *pattern = list->pattern ? list->pattern : "";
	enum reel_sampler_probe kind = reel_probe_name_kind(pattern);

	if (kind && kind != REEL_SAMPLER_KPROBE && kind != REEL_SAMPLER_KRETPROBE)
		return list_file(list, kind, targets);
	if (kind || reel_function_event_is(pattern)) {
		prefix_cut(list, strcspn(pattern, ":") + 1);
		return kind ? list_symbols(list) : list_btf(list);
	}
	if (has_prefix(pattern, "tracepoint:")) {
		prefix_cut(list, strlen("tracepoint:"));
		return list_tracepoints(list);
	}
	return list_events(list);
}

static struct reel_error *print(struct list *list, FILE *to)
{
	if (list->n)
		qsort(list->names, list->n, sizeof(*list->names), compare);
	for (size_t i = 0; i < list->n; i++) {
		if (!i || strcmp(list->names[i], list->names[i - 1]) != 0)
			fprintf(to, "%s\n", list->names[i]);
	}
	if (fflush(to) || ferror(to))
		return reel_error_os(errno, "cannot write to standard output");
	return NULL;
}

struct reel_error *reel_event_list_print(const char *pattern,
					 const struct reel_probe_targets *targets, FILE *to,
					 void (*note)(const char *text))
{
	struct list list = { .pattern = pattern, .prefix = "", .note = note };
	struct reel_error *error = gather(&list, targets);
	char skipped[80];

	if (list.n_unprintable) {
		snprintf(skipped, sizeof(skipped),
			 "%zu names with special characters are not listed", list.n_unprintable);
		note(skipped);
	}
	if (!error && !list.n)
		error = reel_error_create(REEL_ERROR_NOT_FOUND, "no event matches '%s'", pattern);
	if (!error)
		error = print(&list, to);
	for (size_t i = 0; i < list.n; i++)
		free(list.names[i]);
	free(list.names);
	return error;
}
