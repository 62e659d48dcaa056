/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/quantity.h"
#include "base/regular_file.h"
#include "format/perf/jitdump.h"
#include "format/perf/perf_map.h"
#include "record/proc/jit_files.h"
#include "record/proc/process_file.h"

/* Processes whose files are kept open, with four descriptors each. */
#define PROCESSES_MAX 64
/* Piece of a file to read at a time: each takes some milliseconds at most. */
#define MAP_PIECE  (256u << 10)
#define DUMP_PIECE REEL_JITDUMP_ROOM
/* Bytes before a position whose checksum shows that a file was written anew. */
#define CHECKED_BYTES 256

struct process {
	uint64_t space; /* 0: none */
	uint64_t used;
	uint32_t namespace_pid, user;
	uint64_t started; /* ns since 1970; 0 if unknown */
	int proc;	  /* /proc/PID, a place (O_PATH) */
	int folder;	  /* /tmp as the process sees it, a place */
	int files[REEL_JIT_FILES];
};

static struct process processes[PROCESSES_MAX];

/* ---- open files ------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void forget(struct process *process)
{
	close_fd(&process->proc);
	close_fd(&process->folder);
	for (size_t i = 0; i < REEL_JIT_FILES; i++)
		close_fd(&process->files[i]);
	*process = (struct process){ 0 };
}

/* /tmp in a process's root directory; links cannot lead outside. */
static int open_folder(int proc)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_fd_ int root = openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
}

/* The 22nd field of /proc/PID/stat, ticks since boot, as ns since 1970; 0 if unknown. */
static uint64_t start_of(uint32_t pid)
{
	_cleanup_buffer_ struct reel_buffer stat = { 0 };
	uint64_t ticks = 0, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	if (!reel_proc_read(path, &stat))
		return 0;
	/* The second field is a name, which may contain anything. */
	at = strrchr((char *)stat.bytes, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ticks = strtoull(at + 1, NULL, 10);
	return ticks ? reel_clock_now(CLOCK_REALTIME) - reel_clock_now(CLOCK_BOOTTIME) +
			       ticks * (REEL_NS_PER_SECOND / hz)
		     : 0;
}

/* The process of the space, or a new one in the least recently used slot; NULL if it is gone. */
static struct process *find_process(uint32_t pid, uint64_t space, bool *is_new_ret)
{
	struct process *oldest = &processes[0];
	struct reel_proc_thread thread;
	char path[32];
	int proc;

	*is_new_ret = false;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &processes[i];

		if (process->space == space) {
			process->used = reel_now();
			return process;
		}
		if (process->used < oldest->used)
			oldest = process;
	}
	if (!reel_proc_thread(pid, &thread))
		return NULL;
	if (oldest->space)
		forget(oldest);
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*oldest = (struct process){
		.space = space,
		.used = reel_now(),
		.namespace_pid = thread.namespace_pid,
		.user = thread.user,
		.started = start_of(pid),
		.proc = proc,
		.folder = open_folder(proc),
		.files = { -1, -1 },
	};
	*is_new_ret = true;
	return oldest;
}

/*
 * Opens a place, if it is a file of the process's user or of root: no other user may name a
 * process's functions.  (perf checks for the user that it runs as: dso__load of
 * tools/perf/util/symbol.c.)  The process itself has to be able to read it: in a namespace of its
 * own, it can mount any file over the one that we look for.  -1 for a file older than the process:
 * it belongs to an earlier process with the same pid, as is common in containers.
 */
static int open_place(const struct process *process, int place, bool *is_refused_ret)
{
	struct reel_error *error;
	struct stat status;
	int fd = -1;

	error = reel_regular_file_reopen(place, "", &fd, &status);
	if (!error && ((status.st_uid && status.st_uid != process->user) ||
		       reel_rights_of(process->proc, fd) != R_OK))
		close_fd(&fd);
	reel_error_destroy(error);
	*is_refused_ret = fd < 0;
	if (fd >= 0 && (uint64_t)status.st_mtim.tv_sec + 1 < process->started / REEL_NS_PER_SECOND)
		close_fd(&fd);
	return fd;
}

static int open_map(const struct process *process, bool *is_refused_ret)
{
	/* NO_XDEV: nothing is mounted there. */
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	_cleanup_fd_ int place = -1;
	char name[32];

	if (process->folder < 0 || !process->namespace_pid)
		return -1;
	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", process->namespace_pid);
	place = (int)syscall(SYS_openat2, process->folder, name, &how, sizeof(how));
	if (place < 0) {
		*is_refused_ret = errno == ELOOP || errno == EXDEV;
		return -1;
	}
	return open_place(process, place, is_refused_ret);
}

static int open_dump(const struct process *process, uint32_t pid, const struct reel_proc_map *map,
		     bool *is_refused_ret)
{
	_cleanup_fd_ int place = -1;
	bool exact;

	if (!map->size)
		return -1;
	place = reel_proc_find_mapped(pid, map, &exact);
	return place >= 0 ? open_place(process, place, is_refused_ret) : -1;
}

/* ---- reading ---------------------------------------------------------------------------- */

struct reading {
	const struct reel_jit_listener *listener;
	struct reel_jit_file_state *state;
	bool has_cpu_times;
};

static void say(struct reading *reading, enum reel_jit_said what, const void *bytes, size_t size,
		struct reel_bytes more)
{
	reading->listener->say(reading->listener->context, what, bytes, size, more);
}

static struct reel_error *report_line(void *context, const struct reel_perf_map_line *line)
{
	const struct reel_jit_said_function function = {
		.address = line->address,
		.size = line->size,
		.file = REEL_JIT_FILE_MAP,
	};

	say(context, REEL_JIT_SAID_FUNCTION, &function, sizeof(function), line->name);
	return NULL;
}

static void report_lines(struct reading *reading, const struct reel_jitdump_function *function)
{
	struct reel_jitdump_lines lines = function->lines;
	struct reel_jitdump_line line;
	bool is_bad = false;

	while (reel_jitdump_next_line(&lines, &line)) {
		const struct reel_jit_said_line said = { line.address, line.line };

		if (line.address - function->address < function->size &&
		    line.file.size <= REEL_JIT_TEXT_MAX)
			say(reading, REEL_JIT_SAID_LINE, &said, sizeof(said), line.file);
		else
			is_bad = true;
	}
	/* V8 12 and older write file names from freed memory. */
	reading->state->n_bad += is_bad;
}

static struct reel_error *report_function(void *context,
					  const struct reel_jitdump_function *function)
{
	struct reading *reading = context;
	const struct reel_jit_said_function said = {
		.time = reading->has_cpu_times ? 0 : function->time,
		.address = function->address,
		.size = function->size,
		.index = function->index,
		.frame_address = function->frame_address,
		.file = REEL_JIT_FILE_DUMP,
	};

	if (function->name.size > REEL_JIT_TEXT_MAX) {
		reading->state->n_bad++;
		return NULL;
	}
	say(reading, REEL_JIT_SAID_FUNCTION, &said, sizeof(said), function->name);
	if (function->eh_frame.size > REEL_JIT_TEXT_MAX)
		reading->state->n_bad++;
	else if (function->eh_frame.size)
		say(reading, REEL_JIT_SAID_FRAMES, NULL, 0, function->eh_frame);
	report_lines(reading, function);
	return NULL;
}

static struct reel_error *report_move(void *context, const struct reel_jitdump_move *move)
{
	struct reading *reading = context;
	const struct reel_jit_said_move said = {
		.time = reading->has_cpu_times ? 0 : move->time,
		.from = move->from,
		.to = move->to,
		.size = move->size,
		.index = move->index,
	};

	say(reading, REEL_JIT_SAID_MOVE, &said, sizeof(said), (struct reel_bytes){ 0 });
	return NULL;
}

static size_t read_at(int fd, uint64_t offset, uint8_t *bytes, size_t size)
{
	ssize_t n = offset <= INT64_MAX ? pread(fd, bytes, size, (off_t)offset) : -1;

	return n > 0 ? (size_t)n : 0;
}

static struct reel_error *parse_map(struct reading *reading, int fd)
{
	struct reel_jit_position *position = &reading->state->position;
	struct reel_perf_map map = { .skips = position->skips };
	_cleanup_free_ uint8_t *bytes = malloc(MAP_PIECE);
	struct reel_error *error;
	size_t size, taken;

	if (!bytes)
		return reel_error_no_memory();
	size = read_at(fd, position->offset, bytes, MAP_PIECE);
	error = reel_perf_map_parse(&map, bytes, size, report_line, reading, &taken);
	position->offset += taken;
	position->skips = map.skips;
	reading->state->n_bad += map.n_bad;
	reading->state->has_more = size == MAP_PIECE;
	return error;
}

static struct reel_error *parse_dump(struct reading *reading, int fd)
{
	const struct reel_jitdump_visitor visitor = { report_function, report_move, reading };
	struct reel_jit_position *position = &reading->state->position;
	_cleanup_free_ uint8_t *bytes = malloc(DUMP_PIECE);
	struct reel_jitdump dump = { 0 };
	struct reel_error *error;
	uint64_t taken;
	size_t size;

	if (!bytes)
		return reel_error_no_memory();
	/* The file's header is at its start. */
	size = read_at(fd, 0, bytes, REEL_JITDUMP_HEADER);
	error = reel_jitdump_parse(&dump, bytes, size, &visitor, &taken);
	if (error || !dump.has_header)
		return error;
	if (position->offset < taken)
		position->offset = taken;
	reading->has_cpu_times = dump.has_cpu_times;
	size = read_at(fd, position->offset, bytes, DUMP_PIECE);
	error = reel_jitdump_parse(&dump, bytes, size, &visitor, &taken);
	position->offset += taken;
	reading->state->n_bad += dump.n_bad;
	reading->state->has_more = taken && size == DUMP_PIECE;
	return error;
}

static uint32_t checksum_before(int fd, uint64_t offset)
{
	size_t size = offset < CHECKED_BYTES ? (size_t)offset : CHECKED_BYTES;
	uint8_t bytes[CHECKED_BYTES];

	return (uint32_t)crc32_z(0, bytes, read_at(fd, offset - size, bytes, size));
}

/* Continues at the last position, unless the file was replaced, shortened or rewritten. */
static void resume(int fd, const struct stat *status, struct reel_jit_file_state *state)
{
	struct reel_jit_position *position = &state->position;

	if (position->device == status->st_dev && position->inode == status->st_ino &&
	    position->checksum == checksum_before(fd, position->checked))
		return;
	state->is_anew = position->offset != 0;
	*position = (struct reel_jit_position){
		.device = status->st_dev,
		.inode = status->st_ino,
	};
}

static void read_file(int fd, enum reel_jit_file file, const struct reel_jit_listener *listener,
		      struct reel_jit_file_state *state)
{
	struct reading reading = { .listener = listener, .state = state };
	struct reel_jit_position *position = &state->position;
	struct reel_error *error;
	struct stat status;

	if (fstat(fd, &status))
		return;
	resume(fd, &status, state);
	error = file == REEL_JIT_FILE_MAP ? parse_map(&reading, fd) : parse_dump(&reading, fd);
	/* A skipped record's code may not be written yet. */
	position->checked = (uint64_t)status.st_size < position->offset ? (uint64_t)status.st_size
									: position->offset;
	position->checksum = checksum_before(fd, position->checked);
	state->is_refused = error != NULL;
	reel_error_destroy(error);
}

/* ---- ELF files in memory ------------------------------------------------------------------ */

static void report_entry(void *context, const struct reel_jit_entry *entry)
{
	say(context, REEL_JIT_SAID_ENTRY, entry, sizeof(*entry), (struct reel_bytes){ 0 });
}

static void report_wanted(void *context, const struct reel_jit_entry *entry)
{
	say(context, REEL_JIT_SAID_WANTED, entry, sizeof(*entry), (struct reel_bytes){ 0 });
}

static void report_part(void *context, const struct reel_jit_part *part)
{
	const struct reel_jit_said_function said = {
		.address = part->address,
		.size = part->size,
		.frame_address = part->frame_address,
		.file = REEL_JIT_LIST,
		.is_debug_frame = part->is_debug_frame,
	};
	struct reel_bytes left = part->frames;

	say(context, REEL_JIT_SAID_FUNCTION, &said, sizeof(said), part->name);
	while (left.size) {
		size_t size = left.size < REEL_JIT_TEXT_MAX ? left.size : REEL_JIT_TEXT_MAX;

		say(context, REEL_JIT_SAID_FRAMES, NULL, 0, (struct reel_bytes){ left.data, size });
		left.data += size;
		left.size -= size;
	}
}

void reel_jit_files_read(uint32_t pid, const struct reel_jit_question *question,
			 const struct reel_proc_map *dump, const struct reel_jit_listener *listener,
			 struct reel_jit_state *ret)
{
	struct process *process;
	bool is_new;

	*ret = (struct reel_jit_state){ 0 };
	for (size_t i = 0; i < REEL_JIT_FILES; i++)
		ret->files[i].position = question->positions[i];
	process = find_process(pid, question->space, &is_new);
	if (!process)
		return;
	ret->is_new = is_new;
	for (enum reel_jit_file i = 0; i < REEL_JIT_FILES; i++) {
		struct reel_jit_file_state *state = &ret->files[i];
		int *fd = &process->files[i];
		bool is_refused = false;

		if (question->is_given_up[i])
			continue;
		if (*fd < 0)
			*fd = i == REEL_JIT_FILE_MAP ? open_map(process, &is_refused)
						     : open_dump(process, pid, dump, &is_refused);
		state->is_open = *fd >= 0;
		state->is_refused = is_refused;
		if (state->is_open)
			read_file(*fd, i, listener, state);
	}
	reel_jit_list_read(pid, &question->list,
			   &(struct reel_jit_list_visitor){ report_entry, report_wanted,
							    report_part,
							    &(struct reading){ listener } },
			   &ret->list);
	if (question->is_last && !ret->files[0].has_more && !ret->files[1].has_more)
		forget(process);
}
