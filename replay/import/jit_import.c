/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "replay/import/jit_import.h"
#include "format/perf/jitdump.h"
#include "format/perf/perf_map.h"
#include "format/timeline/module_set.h"
#include "host/system.h"

/* SPEC.md 5, MAP. */
#define PROTECTION_EXECUTE 4

/* The limit for bytes of records, as in the recorder. */
#define BYTES_MAX (64u << 20)
/* perf finishes its file after the recording, which takes it some time. */
#define SLACK 60 /* seconds */

struct process {
	struct reel_id_entry entry; /* its pid */
	uint64_t space;		    /* the last space with such code */
	bool was_there;		    /* existed before the recording */
	bool has_code;		    /* code that is not in a file */
	char *dump;		    /* the path of its jitdump, or NULL */
};

static void process_free(void *context, struct reel_id_entry *entry)
{
	struct process *process = (struct process *)entry;

	(void)context;
	free(process->dump);
	free(process);
}

void reel_jit_processes_free(struct reel_jit_processes *processes)
{
	reel_id_table_visit(&processes->table, process_free, NULL);
	reel_id_table_free(&processes->table);
}

/* "…/jit-NUMBER.dump", as perf names it (jit_detect of tools/perf/util/jitdump.c). */
static bool is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits && !strcmp(name + 5 + digits, ".dump");
}

struct reel_error *reel_jit_processes_add(struct reel_jit_processes *processes, uint32_t pid,
					  const struct reel_record_map *map, struct reel_bytes path)
{
	struct process *process = (struct process *)reel_id_table_find(&processes->table, pid);
	_cleanup_free_ char *name = strndup((const char *)path.data, path.size);
	bool is_code = map->protection & PROTECTION_EXECUTE;

	if (!name)
		return reel_error_no_memory();
	if (!process) {
		process = reel_id_table_add(&processes->table, pid, sizeof(*process));
		if (!process)
			return reel_error_no_memory();
	}
	/* perf's records of existing processes have no time. */
	process->was_there |= !map->time;
	if (!is_code || (reel_module_kind_of_name(name) != REEL_MODULE_ANONYMOUS && !is_dump(name)))
		return NULL;
	if (process->space != map->space) {
		free(process->dump);
		process->dump = NULL;
	}
	process->space = map->space;
	process->has_code = true;
	if (is_dump(name)) {
		free(process->dump);
		process->dump = name;
		name = NULL;
	}
	return NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

struct writing {
	const struct reel_jit_files_options *options;
	uint64_t space;
	/* Times for records without one: in the file's order, and before all samples. */
	uint64_t last_time;
	uint64_t bytes_left, left_out;
	struct reel_jitdump dump; /* the one being read */
	bool is_full;
	struct reel_error *error;
};

static struct reel_error *write_record(struct writing *writing, const struct reel_record *record,
				       size_t size)
{
	/* A record's other fields take less. */
	size += 64;
	if (writing->bytes_left < size) {
		writing->left_out += record->id == REEL_RECORD_JIT_SYMBOL;
		writing->is_full = true;
		return NULL;
	}
	writing->bytes_left -= size;
	return reel_writer_record(writing->options->writer, record);
}

static struct reel_error *write_symbol(struct writing *writing, uint64_t time, uint64_t address,
				       uint64_t size, enum reel_jit_source source,
				       struct reel_bytes name)
{
	const struct reel_record record = {
		.id = REEL_RECORD_JIT_SYMBOL,
		.jit_symbol = { time, writing->space, address, size, source, name },
	};

	if (name.size <= REEL_TEXT_MAX && !memchr(name.data, 0, name.size))
		return write_record(writing, &record, name.size);
	writing->left_out++;
	return NULL;
}

static struct reel_error *write_line(void *context, const struct reel_perf_map_line *line)
{
	struct writing *writing = context;

	return write_symbol(writing, ++writing->last_time, line->address, line->size,
			    REEL_JIT_PERF_MAP, line->name);
}

static struct reel_error *write_lines(struct writing *writing, uint64_t time,
				      const struct reel_jitdump_function *function)
{
	struct reel_jitdump_lines lines = function->lines;
	struct reel_jitdump_line line;
	struct reel_error *error = NULL;

	while (!error && !writing->is_full && reel_jitdump_next_line(&lines, &line)) {
		const struct reel_record record = {
			.id = REEL_RECORD_JIT_LINE,
			.jit_line = { time, writing->space, function->address, line.address,
				      line.line, line.file },
		};

		if (line.file.size <= REEL_TEXT_MAX)
			error = write_record(writing, &record, line.file.size);
	}
	return error;
}

static struct reel_error *write_function(void *context,
					 const struct reel_jitdump_function *function)
{
	struct writing *writing = context;
	bool has_time = writing->options->has_same_clock && !writing->dump.has_cpu_times;
	uint64_t time = has_time && function->time ? function->time : ++writing->last_time;
	const struct reel_record unwind = {
		.id = REEL_RECORD_JIT_UNWIND,
		.jit_unwind = { time, writing->space, function->address, function->size,
				function->frame_address, function->eh_frame },
	};
	struct reel_error *error = write_symbol(writing, time, function->address, function->size,
						REEL_JIT_JITDUMP, function->name);

	if (!error && function->eh_frame.size)
		error = write_record(writing, &unwind, function->eh_frame.size);
	return error ? error : write_lines(writing, time, function);
}

/* Moved code keeps its name only at the old address (no known JIT moves code). */
static struct reel_error *count_move(void *context, const struct reel_jitdump_move *move)
{
	struct writing *writing = context;

	(void)move;
	writing->left_out++;
	return NULL;
}

/* ---- files -------------------------------------------------------------------------------- */

struct jit_file {
	int fd;
	const char *path;
	uint64_t size;
	uint8_t *bytes; /* its own window */
};

static void report(const struct writing *writing, struct reel_error *problem)
{
	writing->options->problem(writing->options->context, problem);
}

/*
 * Why the file cannot be this process's; NULL if it can.  Anyone can make a file of that name, and
 * pids are reused.
 */
static const char *find_fault(const struct writing *writing, const struct process *process, int fd,
			      const struct stat *status)
{
	const struct reel_jit_files_options *options = writing->options;
	int64_t made;

	if (!S_ISREG(status->st_mode))
		return "not a regular file";
	if (options->directory)
		return NULL;
	if (status->st_uid && status->st_uid != geteuid())
		return "belongs to a different user";
	if (!process->was_there && status->st_mtime < options->start - SLACK)
		return "older than the process";
	if (reel_system_birth_time(fd, &made) && made > options->end)
		return "created after the recording";
	return NULL;
}

/* False if the file is missing or must not be used. */
static bool open_file(const struct writing *writing, const struct process *process,
		      const char *path, struct jit_file *ret)
{
	int follow = writing->options->directory ? 0 : O_NOFOLLOW;
	_cleanup_fd_ int place = open(path, O_PATH | O_CLOEXEC | follow);
	_cleanup_error_ struct reel_error *error = NULL;
	const char *fault;
	struct stat status;

	*ret = (struct jit_file){ .fd = -1, .path = path };
	if (place < 0 && errno == ENOENT)
		return false;
	/* Before it is opened: it may be a FIFO, or a device. */
	fault = place < 0 || fstat(place, &status) ? strerror(errno)
						   : find_fault(writing, process, place, &status);
	if (!fault) {
		error = reel_regular_file_reopen(place, "the file", &ret->fd, &status);
		ret->size = (uint64_t)status.st_size;
		if (!error)
			return true;
		fault = reel_error_message(error);
	}
	report(writing,
	       reel_error_create(REEL_ERROR_NOT_FOUND,
				 "%s: ignoring JIT names: %s; --jit=DIR accepts all files in DIR",
				 path, fault));
	return false;
}

/* Reads the next bytes of the file, at most `room`; *size_ret is the number available. */
static bool read_window(struct jit_file *file, uint64_t offset, size_t room, size_t *size_ret)
{
	*size_ret = 0;
	if (offset >= file->size)
		return false;
	*size_ret = file->size - offset < room ? (size_t)(file->size - offset) : room;
	if (!file->bytes)
		file->bytes = malloc(room + 1);
	return file->bytes && reel_read_at(file->fd, file->bytes, *size_ret, offset);
}

#define MAP_WINDOW (16u * REEL_PERF_MAP_LINE_MAX)

static struct reel_error *read_map(struct writing *writing, struct jit_file *file,
				   uint64_t *n_bad_ret)
{
	struct reel_perf_map map = { 0 };
	struct reel_error *error = NULL;
	uint64_t offset = 0;
	size_t size, taken;

	while (!error && read_window(file, offset, MAP_WINDOW, &size)) {
		/* The last line may have no newline. */
		if (offset + size == file->size && file->bytes[size - 1] != '\n')
			file->bytes[size++] = '\n';
		error = reel_perf_map_parse(&map, file->bytes, size, write_line, writing, &taken);
		if (!taken)
			break;
		offset += taken;
	}
	*n_bad_ret = map.n_bad;
	return error;
}

static struct reel_error *read_dump(struct writing *writing, struct jit_file *file,
				    uint64_t *n_bad_ret)
{
	const struct reel_jitdump_visitor visitor = { write_function, count_move, writing };
	struct reel_error *error = NULL;
	uint64_t offset = 0, taken;
	size_t size;

	writing->dump = (struct reel_jitdump){ 0 };
	while (!error && read_window(file, offset, REEL_JITDUMP_ROOM, &size)) {
		error = reel_jitdump_parse(&writing->dump, file->bytes, size, &visitor, &taken);
		if (!taken)
			break;
		offset += taken;
	}
	*n_bad_ret = writing->dump.n_bad;
	return error;
}

static void read_file(struct writing *writing, const struct process *process, const char *path,
		      struct reel_error *(*parse)(struct writing *writing, struct jit_file *file,
						  uint64_t *n_bad_ret))
{
	struct jit_file file;
	struct reel_error *error;
	uint64_t n_bad = 0;

	if (writing->error || !open_file(writing, process, path, &file))
		return;
	writing->space = process->space;
	error = parse(writing, &file, &n_bad);
	if (error && (reel_error_code(error) == REEL_ERROR_CORRUPT ||
		      reel_error_code(error) == REEL_ERROR_UNSUPPORTED))
		report(writing, reel_error_create(REEL_ERROR_NOT_FOUND, "%s: %s", path,
						  reel_error_message(error)));
	else
		writing->error = error;
	if (error && !writing->error)
		reel_error_destroy(error);
	if (n_bad)
		report(writing, reel_error_create(REEL_ERROR_NOT_FOUND,
						  "%s: ignoring %llu invalid lines or records",
						  path, (unsigned long long)n_bad));
	free(file.bytes);
	close(file.fd);
}

static void read_process(struct writing *writing, const struct process *process)
{
	const char *directory = writing->options->directory, *name = NULL;
	_cleanup_free_ char *map =
		reel_text_print("%s/perf-%llu.map", directory ? directory : "/tmp",
				(unsigned long long)process->entry.id);
	_cleanup_free_ char *dump = NULL;

	if (process->dump)
		name = directory ? strrchr(process->dump, '/') + 1 : process->dump;
	if (name)
		dump = directory ? reel_text_print("%s/%s", directory, name)
				 : reel_text_print("%s", name);
	if (!map || (name && !dump)) {
		writing->error = reel_error_no_memory();
		return;
	}
	read_file(writing, process, map, read_map);
	if (dump)
		read_file(writing, process, dump, read_dump);
}

struct reel_error *reel_jit_files_write(const struct reel_jit_processes *processes,
					const struct reel_jit_files_options *options,
					uint64_t *left_out_ret)
{
	struct reel_id_entry **all = reel_id_table_sorted(&processes->table);
	struct writing writing = { .options = options, .bytes_left = BYTES_MAX };

	if (processes->table.count && !all)
		return reel_error_no_memory();
	for (size_t i = 0; i < processes->table.count && !writing.error; i++) {
		const struct process *process = (const struct process *)all[i];

		if (process->has_code)
			read_process(&writing, process);
	}
	free(all);
	*left_out_ret = writing.left_out;
	return writing.error;
}
