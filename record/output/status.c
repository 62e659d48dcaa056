/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/quantity.h"
#include "base/text.h"
#include "record/output/status.h"

#define FILE_SIZE_MAX (32u << 10)
#define INTERVAL      (2 * REEL_NS_PER_SECOND)

#define FIELD(name) #name, offsetof(struct reel_status, name)

const struct reel_status_field reel_status_fields[] = {
	{ FIELD(pid), REEL_STATUS_INTERNAL, NULL },
	{ FIELD(process_start), REEL_STATUS_INTERNAL, NULL },
	{ FIELD(started), REEL_STATUS_TIME, "Unix time at which the recording began" },
	{ FIELD(updated), REEL_STATUS_TIME, "Unix time of these numbers" },
	{ FIELD(samples), REEL_STATUS_COUNTER, "Samples taken" },
	{ FIELD(samples_lost), REEL_STATUS_COUNTER, "Samples missing from the files" },
	{ FIELD(samples_per_second), REEL_STATUS_GAUGE, "Samples per second, lately" },
	{ FIELD(stacks_cut), REEL_STATUS_COUNTER, "Samples whose stack is incomplete" },
	{ FIELD(bytes_written), REEL_STATUS_COUNTER, "Bytes written to files" },
	{ FIELD(bytes_waiting), REEL_STATUS_GAUGE, "Bytes in memory that wait to be written" },
	{ FIELD(parts), REEL_STATUS_COUNTER, "Parts begun" },
	{ FIELD(parts_dropped), REEL_STATUS_COUNTER, "Parts deleted because the disk was full" },
	{ FIELD(parts_bytes), REEL_STATUS_GAUGE, "Bytes of all parts on the disk" },
	{ FIELD(limit_steps), REEL_STATUS_COUNTER,
	  "Steps of --cpu-limit, --memory-limit and --target-samples" },
	{ FIELD(triggers), REEL_STATUS_COUNTER, "Triggers and requests to write or keep files" },
	{ FIELD(last_triggered), REEL_STATUS_TIME, "Unix time of the last trigger; 0: none" },
	{ FIELD(cpu_ms), REEL_STATUS_MS, "CPU time of the recorder and its helpers" },
	{ FIELD(memory_bytes), REEL_STATUS_GAUGE, "Memory of the recorder and its helpers (PSS)" },
};
const size_t reel_status_n_fields = sizeof(reel_status_fields) / sizeof(*reel_status_fields);

const char *const reel_status_text_names[] = {
	[REEL_STATUS_LAST_PART] = "last_part",
	[REEL_STATUS_LAST_STEP] = "last_step",
	[REEL_STATUS_LAST_TRIGGER] = "last_trigger",
	[REEL_STATUS_LAST_TRIGGER_FILE] = "last_trigger_file",
};

static uint64_t *number(struct reel_status *status, const struct reel_status_field *field)
{
	return (uint64_t *)((char *)status + field->offset);
}

char *reel_status_folder(void)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	if (!geteuid())
		return strdup("/run/stackreel");
	return runtime && *runtime == '/' ? reel_text_print("%s/stackreel", runtime) : NULL;
}

bool reel_status_process(uint64_t pid, uint64_t *start_ret, uint64_t *cpu_ms_ret)
{
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK), fields[23] = { 0 };
	char path[64], text[1024];
	_cleanup_fd_ int fd = -1;
	char *at, *rest = NULL;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	/* The name may have spaces and parentheses; the state, field 3, follows it. */
	at = strrchr(text, ')');
	at = at ? strtok_r(at + 1, " ", &rest) : NULL;
	for (size_t i = 3; i < 23 && at; i++, at = strtok_r(NULL, " ", &rest))
		fields[i] = strtoull(at, NULL, 10);
	*start_ret = fields[22];
	*cpu_ms_ret = (fields[14] + fields[15] + fields[16] + fields[17]) * 1000 / per_second;
	return true;
}

/* ---- publishing ----------------------------------------------------------------------- */

struct reel_error *reel_status_file_open(uint32_t pid, struct reel_status_file *ret)
{
	_cleanup_free_ char *folder = reel_status_folder();
	uint64_t cpu_ms;

	*ret = (struct reel_status_file){
		.place = { .folder = -1, .mode = REEL_PLACE_SHARED },
		.pid = pid,
		.started = (uint64_t)time(NULL),
		.last_time = reel_now(),
	};
	if (!folder)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "XDG_RUNTIME_DIR is not set");
	reel_status_process(pid, &ret->process_start, &cpu_ms);
	return reel_output_folder_open(folder, &ret->place.folder);
}

bool reel_status_file_is_due(const struct reel_status_file *file)
{
	return file->place.folder >= 0 && reel_now() - file->last_time >= INTERVAL;
}

static void fill(struct reel_status_file *file, struct reel_status *status)
{
	uint64_t now = reel_now(), samples = status->samples - file->last_samples;

	status->pid = file->pid;
	status->process_start = file->process_start;
	status->started = file->started;
	status->updated = (uint64_t)time(NULL);
	status->samples_per_second = (uint64_t)((double)samples * (double)REEL_NS_PER_SECOND /
						(double)(now - file->last_time + 1));
	file->last_time = now;
	file->last_samples = status->samples;
}

void reel_status_file_publish(struct reel_status_file *file, struct reel_status *status)
{
	char text[FILE_SIZE_MAX], name[32], partial[48];
	_cleanup_fd_ int fd = -1;
	size_t size = 0;

	fill(file, status);
	for (size_t i = 0; i < reel_status_n_fields; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s %" PRIu64 "\n",
					 reel_status_fields[i].name,
					 *number(status, &reel_status_fields[i]));
	for (size_t i = 0; i < REEL_STATUS_TEXTS; i++) {
		/* A path with a newline would read as two lines. */
		if (!strchr(status->texts[i], '\n'))
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s %s\n",
						 reel_status_text_names[i], status->texts[i]);
	}
	snprintf(name, sizeof(name), "%" PRIu32 ".status", file->pid);
	snprintf(partial, sizeof(partial), "%s.partial", name);
	/* Of a killed recorder. */
	unlinkat(file->place.folder, partial, 0);
	fd = reel_output_place_create(&file->place, partial);
	if (fd >= 0 && write(fd, text, size) == (ssize_t)size)
		renameat(file->place.folder, partial, file->place.folder, name);
}

void reel_status_file_close(struct reel_status_file *file)
{
	char name[32];

	if (file->place.folder < 0)
		return;
	snprintf(name, sizeof(name), "%" PRIu32 ".status", file->pid);
	/* A parent's file goes on with its next recorder. */
	if (file->pid == (uint32_t)getpid())
		unlinkat(file->place.folder, name, 0);
	close(file->place.folder);
	file->place.folder = -1;
}

/* ---- reading -------------------------------------------------------------------------- */

static void read_line(const char *line, struct reel_status *status)
{
	size_t name = strcspn(line, " ");
	const char *value = line + name + (line[name] == ' ');

	for (size_t i = 0; i < REEL_STATUS_TEXTS; i++) {
		if (strlen(reel_status_text_names[i]) != name ||
		    strncmp(line, reel_status_text_names[i], name) != 0)
			continue;
		snprintf(status->texts[i], sizeof(status->texts[i]), "%s", value);
		/* It is printed on terminals and into JSON. */
		for (char *p = status->texts[i]; *p; p++) {
			if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
				*p = '?';
		}
	}
	for (size_t i = 0; i < reel_status_n_fields; i++) {
		const struct reel_status_field *field = &reel_status_fields[i];

		if (strlen(field->name) == name && !strncmp(line, field->name, name) &&
		    *value >= '0' && *value <= '9')
			*number(status, field) = strtoull(value, NULL, 10);
	}
}

struct reel_error *reel_status_read(const char *path, struct reel_status *ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char text[FILE_SIZE_MAX + 1], *rest = NULL;
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status))
		return reel_error_os(errno, "reading %s", path);
	if (!S_ISREG(status.st_mode))
		return reel_error_create(REEL_ERROR_INVALID, "%s: not a regular file", path);
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return reel_error_os(errno, "reading %s", path);
	text[size] = '\0';
	*ret = (struct reel_status){ 0 };
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		read_line(line, ret);
	if (!ret->pid || !ret->started)
		return reel_error_create(REEL_ERROR_INVALID, "%s: not a recorder's status", path);
	return NULL;
}
