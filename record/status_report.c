/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "record/output/progress.h"
#include "record/output/status.h"
#include "record/status_report.h"

/* The parent of --config, the recorder, the spawner and its helpers. */
#define DEPTH_MAX 6

struct statuses {
	struct reel_status *list;
	size_t n;
};

/* ---- cost ------------------------------------------------------------------------------ */

static uint64_t memory_of(uint64_t pid)
{
	char path[64], line[256];
	uint64_t kb = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/smaps_rollup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Pss: %" SCNu64, &kb) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kb * 1024;
}

static bool runs(uint64_t pid, const struct stat *program)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/exe", pid);
	return !stat(path, &status) && status.st_ino == program->st_ino &&
	       status.st_dev == program->st_dev;
}

/* Adds the process and its children, except a recorded command. */
static void add_cost(struct reel_status *status, uint64_t pid, const struct stat *program,
		     unsigned int depth)
{
	uint64_t start, cpu_ms = 0, child;
	char path[64];
	FILE *file;

	if (!runs(pid, program) || depth > DEPTH_MAX)
		return;
	reel_status_process(pid, &start, &cpu_ms);
	status->cpu_ms += cpu_ms;
	status->memory_bytes += memory_of(pid);
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task/%" PRIu64 "/children", pid, pid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%" SCNu64, &child) == 1)
		add_cost(status, child, program, depth + 1);
	if (file)
		fclose(file);
}

/* False if the recorder has ended. */
static bool complete(struct reel_status *status)
{
	uint64_t start, cpu_ms;
	struct stat program;
	char path[64];

	if (!reel_status_process(status->pid, &start, &cpu_ms) || start != status->process_start)
		return false;
	status->cpu_ms = status->memory_bytes = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/exe", status->pid);
	if (!stat(path, &program))
		add_cost(status, status->pid, &program, 0);
	return true;
}

/* ---- formats --------------------------------------------------------------------------- */

static uint64_t value_of(const struct reel_status *status, const struct reel_status_field *field)
{
	return *(const uint64_t *)((const char *)status + field->offset);
}

/* cpu_ms is shown as cpu_seconds. */
static const char *name_of(const struct reel_status_field *field)
{
	return field->kind == REEL_STATUS_MS ? "cpu_seconds" : field->name;
}

static void print_number(const struct reel_status *status, const struct reel_status_field *field)
{
	uint64_t value = value_of(status, field);

	if (field->kind == REEL_STATUS_MS)
		printf("%.2f", (double)value / 1000);
	else
		printf("%" PRIu64, value);
}

static void print_text(const struct reel_status *status)
{
	printf("recorder %" PRIu64 "\n", status->pid);
	for (size_t i = 0; i < reel_status_n_fields; i++) {
		const struct reel_status_field *field = &reel_status_fields[i];
		uint64_t value = value_of(status, field);
		time_t seconds = (time_t)value;
		char text[64];
		struct tm tm;

		if (field->kind == REEL_STATUS_INTERNAL)
			continue;
		printf("  %-20s", name_of(field));
		if (field->kind == REEL_STATUS_TIME && !value)
			printf("never\n");
		else if (field->kind == REEL_STATUS_TIME && localtime_r(&seconds, &tm) &&
			 strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
			printf("%s\n", text);
		else if (strstr(field->name, "bytes"))
			printf("%s\n", reel_bytes_text(value, text));
		else if (field->kind == REEL_STATUS_MS)
			printf("%.2f\n", (double)value / 1000);
		else
			printf("%s\n", reel_count_text(value, text));
	}
	for (size_t i = 0; i < REEL_STATUS_TEXTS; i++)
		printf("  %-20s%s\n", reel_status_text_names[i],
		       *status->texts[i] ? status->texts[i] : "none");
}

static void print_json(const struct reel_status *status)
{
	printf("{\"pid\":%" PRIu64, status->pid);
	for (size_t i = 0; i < reel_status_n_fields; i++) {
		if (reel_status_fields[i].kind == REEL_STATUS_INTERNAL)
			continue;
		printf(",\"%s\":", name_of(&reel_status_fields[i]));
		print_number(status, &reel_status_fields[i]);
	}
	for (size_t i = 0; i < REEL_STATUS_TEXTS; i++)
		printf(",\"%s\":\"%s\"", reel_status_text_names[i], status->texts[i]);
	puts("}");
}

/* The text format of Prometheus, for node_exporter's textfile collector. */
static void print_prometheus(const struct statuses *statuses)
{
	for (size_t i = 0; i < reel_status_n_fields; i++) {
		const struct reel_status_field *field = &reel_status_fields[i];
		bool is_gauge = field->kind == REEL_STATUS_GAUGE || field->kind == REEL_STATUS_TIME;
		const char *suffix = is_gauge ? "" : "_total";

		if (field->kind == REEL_STATUS_INTERNAL)
			continue;
		printf("# HELP stackreel_%s%s %s\n", name_of(field), suffix, field->help);
		printf("# TYPE stackreel_%s%s %s\n", name_of(field), suffix,
		       is_gauge ? "gauge" : "counter");
		for (size_t j = 0; j < statuses->n; j++) {
			const struct reel_status *status = &statuses->list[j];

			printf("stackreel_%s%s{pid=\"%" PRIu64 "\"", name_of(field), suffix,
			       status->pid);
			if (field->offset == offsetof(struct reel_status, last_triggered))
				printf(",trigger=\"%s\",file=\"%s\"",
				       status->texts[REEL_STATUS_LAST_TRIGGER],
				       status->texts[REEL_STATUS_LAST_TRIGGER_FILE]);
			printf("} ");
			print_number(status, field);
			putchar('\n');
		}
	}
}

/* ---- which ----------------------------------------------------------------------------- */

static struct reel_error *add(struct statuses *statuses, const char *path)
{
	struct reel_status *grown = reallocarray(statuses->list, statuses->n + 1, sizeof(*grown));

	if (!grown)
		return reel_error_no_memory();
	statuses->list = grown;
	TRY(reel_status_read(path, &grown[statuses->n]));
	if (!complete(&grown[statuses->n]))
		return reel_error_create(REEL_ERROR_NOT_FOUND, "%s: this recorder has ended", path);
	statuses->n++;
	return NULL;
}

static bool is_status(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits && !strcmp(name + digits, ".status");
}

static struct reel_error *add_all(struct statuses *statuses, const char *folder)
{
	DIR *directory = folder ? opendir(folder) : NULL;
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		_cleanup_free_ char *path = reel_text_print("%s/%s", folder, entry->d_name);

		/* Ended ones, killed, leave their files. */
		if (path && is_status(entry->d_name))
			reel_error_destroy(add(statuses, path));
	}
	if (directory)
		closedir(directory);
	if (!statuses->n)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "no running recorder has published its status in %s",
					 folder ? folder : "$XDG_RUNTIME_DIR");
	return NULL;
}

static struct reel_error *find(struct statuses *statuses, const char *which)
{
	_cleanup_free_ char *folder = reel_status_folder(), *path = NULL;

	if (!which)
		return add_all(statuses, folder);
	if (folder && *which && !which[strspn(which, "0123456789")]) {
		path = reel_text_print("%s/%s.status", folder, which);
		if (!path)
			return reel_error_no_memory();
	}
	return add(statuses, path ? path : which);
}

struct reel_error *reel_status_report(const char *which, enum reel_status_format format)
{
	struct statuses statuses = { 0 };
	struct reel_error *error = find(&statuses, which);

	if (!error && format == REEL_STATUS_PROMETHEUS)
		print_prometheus(&statuses);
	for (size_t i = 0; i < statuses.n && format != REEL_STATUS_PROMETHEUS; i++)
		(format == REEL_STATUS_JSON ? print_json : print_text)(&statuses.list[i]);
	free(statuses.list);
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = reel_error_os(errno, "writing to standard output");
	return error;
}
