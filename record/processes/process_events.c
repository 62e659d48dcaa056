/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "include/commands.h"
#include "base/array.h"
#include "record/host/cpus.h"
#include "record/processes/families.h"
#include "record/processes/process_events.h"
#include "format/perf/perf_records.h"

/*
 * Size of a buffer in whole pages (a power of two): 512 KiB with 4 KiB pages, the maximum that
 * perf_event_mlock_kb (516) allows without CAP_IPC_LOCK.
 */
#define BUFFER_BYTES	 (512u << 10)
#define BUFFER_BYTES_MIN (32u << 10)

/* Bytes of records whose memory is used again. */
#define REUSED_MAX (256u << 10)

/* Bytes of records that may wait for the samples of their programs. */
#define KEPT_MAX (2u << 20)
/* Details that are kept: two of each program. */
#define DETAILS_MAX (2 * FAMILY_MEMBERS_MAX)

/* linux/perf_event.h of 6.0 */
#define FORMAT_LOST (1u << 4)

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* The fields of sample_type, at the end of each record (REEL_PROCESS_SAMPLE_TYPE). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct buffer {
	struct perf_event_mmap_page *control;
	const uint8_t *data;
	size_t size;	      /* of the data */
	uint64_t lost_told;   /* from LOST records */
	uint64_t lost_before; /* until it went offline, before it returned */
};

/* A record that was taken and not applied yet. */
struct pending {
	uint64_t time;
	uint64_t sequence; /* order of arrival, to sort equal times by */
	size_t offset;	   /* in `records` */
	size_t family;	   /* that keeps it; 0: none */
	size_t next;	   /* of the family */
};

/* Details of a program of a family. */
struct kept_details {
	size_t family, next; /* as above, but numbers begin with 1 */
	struct reel_bpf_process details;
};

/* Features of this kernel's events. */
struct abilities {
	bool lost;     /* reading an event returns its number of dropped records: 6.0 */
	bool build_id; /* 5.12 */
	bool ksymbol;  /* 5.1; only if requested */
};

struct reel_process_events {
	struct reel_process_events_options options;
	struct reel_process_cpu *cpus;
	struct buffer *buffers; /* of each */
	size_t n_cpus;
	struct abilities abilities;
	size_t buffer_bytes; /* allowed size */
	/* Records as the kernel wrote them, each at a multiple of 8. */
	struct reel_buffer records;
	struct pending *pending;
	size_t n_pending, capacity, applied;
	uint64_t sequence;
	struct families families; /* of records before `applied` */
	struct kept_details *details;
	size_t n_details, details_capacity;
	bool has_lost; /* records, since the families began */
};

/* ---- opening ------------------------------------------------------------------------ */

static int open_event(uint32_t cpu, const struct abilities *abilities, size_t watermark)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = REEL_PROCESS_SAMPLE_TYPE,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.build_id = abilities->build_id,
		.ksymbol = abilities->ksymbol,
		.read_format = abilities->lost ? FORMAT_LOST : 0,
		.sample_id_all = 1,
		.use_clockid = 1,
		/* The clock of bpf_ktime_get_ns, since samples and events are ordered by time. */
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)watermark,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct reel_error *open_error(int errnum, uint32_t cpu)
{
	if (errnum == EACCES || errnum == EPERM)
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "not permitted to watch processes (perf_event_open: %s); "
					 "run as root, or with CAP_PERFMON and CAP_BPF",
					 strerror(errnum));
	if (errnum == ENOENT || errnum == ENOSYS || errnum == EINVAL)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"this kernel has no suitable perf events (perf_event_open: %s): Linux 5.10 "
			"or later with CONFIG_PERF_EVENTS is required",
			strerror(errnum));
	if (errnum == EMFILE)
		return reel_error_create(
			REEL_ERROR_OS,
			"too many open files for one event per CPU; raise the limit (ulimit -n)");
	return reel_error_os(errnum, "opening the process event of CPU %u", cpu);
}

/* Opens the event of a CPU with a buffer as large as allowed; clears missing abilities. */
static struct reel_error *open_buffer(uint32_t cpu, struct abilities *abilities, size_t *bytes,
				      int *fd_ret, struct buffer *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;;) {
		int fd = open_event(cpu, abilities, *bytes / 4);
		void *memory;

		/* EINVAL for features unknown to the kernel: try the features of older ones. */
		if (fd < 0 && errno == EINVAL && (abilities->lost || abilities->build_id)) {
			if (abilities->lost)
				abilities->lost = false;
			else
				abilities->build_id = false;
			continue;
		}
		/* A CPU that was online has gone. */
		if (fd < 0 && errno == ENODEV)
			return NULL;
		if (fd < 0)
			return open_error(errno, cpu);
		memory = mmap(NULL, page + *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory != MAP_FAILED) {
			ret->control = memory;
			ret->data = (const uint8_t *)memory + page;
			ret->size = *bytes;
			*fd_ret = fd;
			return NULL;
		}
		close(fd);
		if (errno != EPERM && errno != ENOMEM)
			return reel_error_os(errno, "mapping the buffer of process events");
		if (*bytes / 2 < BUFFER_BYTES_MIN || *bytes / 2 < page)
			return reel_error_create(
				REEL_ERROR_PERMISSION,
				"cannot lock memory for process events (%s); run as root, or raise "
				"/proc/sys/kernel/perf_event_mlock_kb",
				strerror(errno));
		*bytes /= 2;
	}
}

/* The slot of a CPU, a new one for a new CPU. */
static struct reel_error *find_slot(struct reel_process_events *events, uint32_t cpu,
				    size_t *index_ret)
{
	size_t n = events->n_cpus;
	struct reel_process_cpu *cpus;
	struct buffer *buffers;

	for (*index_ret = 0; *index_ret < n; ++*index_ret) {
		if (events->cpus[*index_ret].cpu == cpu)
			return NULL;
	}
	cpus = reallocarray(events->cpus, n + 1, sizeof(*cpus));
	if (!cpus)
		return reel_error_no_memory();
	events->cpus = cpus;
	buffers = reallocarray(events->buffers, n + 1, sizeof(*buffers));
	if (!buffers)
		return reel_error_no_memory();
	events->buffers = buffers;
	cpus[n] = (struct reel_process_cpu){ .cpu = cpu, .fd = -1 };
	buffers[n] = (struct buffer){ 0 };
	events->n_cpus++;
	return NULL;
}

struct reel_error *reel_process_events_add_cpu(struct reel_process_events *events, uint32_t cpu)
{
	size_t index;
	struct reel_error *error = find_slot(events, cpu, &index);

	if (error || events->cpus[index].fd >= 0)
		return error;
	events->cpus[index].openings++;
	return open_buffer(cpu, &events->abilities, &events->buffer_bytes, &events->cpus[index].fd,
			   &events->buffers[index]);
}

static struct reel_error *open_all(struct reel_process_events *events)
{
	const struct reel_process_events_options *options = &events->options;
	bool wants_build_ids = events->abilities.build_id;
	size_t wanted = events->buffer_bytes;
	struct reel_cpus cpus;
	struct reel_error *error = reel_cpus_create(NULL, 0, &cpus);
	char line[128];

	if (error)
		return error;
	for (size_t i = 0; i < cpus.n && !error; i++)
		error = reel_process_events_add_cpu(events, cpus.numbers[i]);
	reel_cpus_destroy(&cpus);
	if (error)
		return error;
	if (wants_build_ids && !events->abilities.build_id)
		options->note(options->context,
			      "this kernel's mmap events have no build-ids (Linux 5.12 has): "
			      "reading them from files");
	if (events->buffer_bytes < wanted) {
		snprintf(line, sizeof(line),
			 "only %zu KiB per CPU may be locked for process events "
			 "(perf_event_mlock_kb)",
			 events->buffer_bytes >> 10);
		options->note(options->context, line);
	}
	return NULL;
}

struct reel_error *reel_process_events_open(const struct reel_process_events_options *options,
					    struct reel_process_events **ret)
{
	uint64_t n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct reel_process_events *events = calloc(1, sizeof(*events));
	struct reel_error *error;

	if (!events)
		return reel_error_no_memory();
	events->options = *options;
	events->abilities = (struct abilities){ true, options->build_ids, options->kernel_symbols };
	events->buffer_bytes = BUFFER_BYTES;
	while (options->memory && events->buffer_bytes > BUFFER_BYTES_MIN &&
	       events->buffer_bytes * n_cpus > options->memory)
		events->buffer_bytes /= 2;
	error = open_all(events);
	if (error) {
		reel_process_events_close(events);
		return error;
	}
	*ret = events;
	return NULL;
}

static void close_buffer(struct reel_process_events *events, size_t index)
{
	struct buffer *buffer = &events->buffers[index];

	if (events->cpus[index].fd < 0)
		return;
	munmap(buffer->control, (size_t)sysconf(_SC_PAGESIZE) + buffer->size);
	close(events->cpus[index].fd);
	events->cpus[index].fd = -1;
	buffer->lost_before = events->cpus[index].lost;
	buffer->lost_told = 0;
}

void reel_process_events_close(struct reel_process_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->n_cpus; i++)
		close_buffer(events, i);
	free(events->cpus);
	free(events->buffers);
	free(events->pending);
	free(events->details);
	families_clear(&events->families);
	reel_buffer_free(&events->records);
	free(events);
}

uint64_t reel_process_events_memory(const struct reel_process_events *events)
{
	return (uint64_t)events->n_cpus * events->buffer_bytes;
}

const struct reel_process_cpu *reel_process_events_cpus(const struct reel_process_events *events,
							size_t *count_ret)
{
	*count_ret = events->n_cpus;
	return events->cpus;
}

/* ---- taking ------------------------------------------------------------------------- */

static void copy_out(const struct buffer *buffer, uint64_t at, void *ret, size_t size)
{
	size_t offset = (size_t)(at & (buffer->size - 1));
	size_t first = buffer->size - offset < size ? buffer->size - offset : size;

	memcpy(ret, buffer->data + offset, first);
	memcpy((uint8_t *)ret + first, buffer->data, size - first);
}

static bool is_wanted(uint32_t type)
{
	return type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM || type == PERF_RECORD_FORK ||
	       type == PERF_RECORD_EXIT || type == PERF_RECORD_KSYMBOL;
}

/* Keeps a record of `size` bytes at `at`. */
static struct reel_error *keep(struct reel_process_events *events, const struct buffer *buffer,
			       uint64_t at, size_t size)
{
	struct trailer trailer;
	struct pending *pending;
	uint8_t *room;

	if (!reel_array_reserve(&events->pending, events->n_pending, &events->capacity,
				sizeof(*events->pending)))
		return reel_error_no_memory();
	/* Sizes of perf's records are multiples of 8. */
	room = reel_buffer_reserve(&events->records, size);
	if (!room)
		return reel_error_no_memory();
	copy_out(buffer, at, room, size);
	memcpy(&trailer, room + size - sizeof(trailer), sizeof(trailer));
	pending = &events->pending[events->n_pending++];
	pending->time = trailer.time;
	pending->sequence = events->sequence++;
	pending->offset = events->records.size;
	pending->family = 0;
	events->records.size += size;
	return NULL;
}

/* Sets the number lost since the CPU's event was opened. */
static void set_lost(struct reel_process_events *events, size_t index, uint64_t lost)
{
	lost += events->buffers[index].lost_before;
	if (lost <= events->cpus[index].lost)
		return;
	events->cpus[index].lost = lost;
	events->has_lost = true;
}

/*
 * A LOST record is written before the next record that finds room, which may be never: so read the
 * event's own count if the buffer was nearly full.
 */
static void read_lost(struct reel_process_events *events, size_t index)
{
	uint64_t fields[2]; /* value, lost */

	if (events->abilities.lost &&
	    read(events->cpus[index].fd, fields, sizeof(fields)) == sizeof(fields))
		set_lost(events, index, fields[1]);
}

static struct reel_error *read_buffer(struct reel_process_events *events, size_t index)
{
	struct buffer *buffer = &events->buffers[index];
	uint64_t head = __atomic_load_n(&buffer->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = buffer->control->data_tail;
	struct reel_error *error = NULL;

	if (head - tail > buffer->size / 2)
		read_lost(events, index);
	while (tail < head && !error) {
		struct perf_event_header header;

		copy_out(buffer, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size % 8 || header.size > head - tail)
			break; /* invalid; skip the rest */
		if (header.type == PERF_RECORD_LOST) {
			uint64_t fields[2]; /* id, lost */

			copy_out(buffer, tail + sizeof(header), fields, sizeof(fields));
			buffer->lost_told += fields[1];
			set_lost(events, index, buffer->lost_told);
		} else if (header.type == PERF_RECORD_THROTTLE) {
			events->cpus[index].throttled++;
		} else if (is_wanted(header.type) &&
			   header.size >= sizeof(header) + sizeof(struct trailer)) {
			error = keep(events, buffer, tail, header.size);
		}
		tail += header.size;
	}
	__atomic_store_n(&buffer->control->data_tail, error ? tail : head, __ATOMIC_RELEASE);
	return error;
}

static int compare(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The number of records before the first one that is kept. */
static size_t count_done(const struct reel_process_events *events)
{
	const struct families *families = &events->families;

	for (size_t i = 0; i < families->n; i++)
		if (!families->items[i].is_gone)
			return families->items[i].first;
	return events->applied;
}

/* Drops records that are done, so that memory is bounded by waiting ones. */
static struct reel_error *compact(struct reel_process_events *events)
{
	size_t size = events->records.size, done = count_done(events);
	struct reel_buffer kept = { 0 };

	if (!done)
		return NULL;
	/* The next records will take about as much as the last ones. */
	if (done < events->n_pending)
		reel_buffer_reserve(&kept, size < REUSED_MAX ? size : REUSED_MAX);
	for (size_t i = done; i < events->n_pending; i++) {
		const uint8_t *record = events->records.bytes + events->pending[i].offset;
		struct perf_event_header header;

		memcpy(&header, record, sizeof(header));
		events->pending[i].offset = kept.size;
		events->pending[i].next -= done;
		reel_buffer_append(&kept, record, header.size);
	}
	if (kept.failed) {
		reel_buffer_free(&kept);
		return reel_error_no_memory();
	}
	events->n_pending -= done;
	memmove(events->pending, events->pending + done,
		events->n_pending * sizeof(*events->pending));
	events->applied -= done;
	for (size_t i = 0; i < events->families.n; i++) {
		events->families.items[i].first -= done;
		events->families.items[i].last -= done;
	}
	if (kept.size) {
		reel_buffer_free(&events->records);
		events->records = kept;
	} else if (events->n_pending || events->records.size <= REUSED_MAX) {
		/* The usual case: reuse the memory. */
		events->records.size = 0;
		reel_buffer_free(&kept);
	} else {
		/* A storm of events is over. */
		reel_buffer_free(&events->records);
		free(events->pending);
		events->pending = NULL;
		events->capacity = 0;
	}
	return NULL;
}

struct reel_error *reel_process_events_read(struct reel_process_events *events)
{
	struct reel_error *error = NULL;

	/* A busy time is not over before the samples are. */
	if (events->records.size > KEPT_MAX)
		error = reel_process_events_settle(events, 0);
	if (!error)
		error = compact(events);
	for (size_t i = 0; i < events->n_cpus && !error; i++) {
		if (events->cpus[i].fd >= 0)
			error = read_buffer(events, i);
	}
	if (!error && events->n_pending > events->applied)
		qsort(events->pending + events->applied, events->n_pending - events->applied,
		      sizeof(*events->pending), compare);
	return error;
}

struct reel_error *reel_process_events_drop_cpu(struct reel_process_events *events, uint32_t cpu)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; i < events->n_cpus && !error; i++) {
		if (events->cpus[i].cpu != cpu || events->cpus[i].fd < 0)
			continue;
		/* Its records wait together with other CPUs' records. */
		error = reel_process_events_read(events);
		read_lost(events, i);
		close_buffer(events, i);
	}
	return error;
}

/* ---- decoding ----------------------------------------------------------------------- */

static bool decode_mmap(struct perf_cursor body, bool has_build_id, struct reel_process_event *ret)
{
	struct perf_mmap mmap;

	if (!reel_perf_mmap2_read(body, has_build_id ? 0 : PERF_NO_BUILD_ID, &mmap))
		return false;
	ret->kind = REEL_PROCESS_MAP;
	ret->pid = mmap.pid;
	ret->tid = mmap.tid;
	ret->map = (struct reel_proc_map){
		.address = mmap.address,
		.size = mmap.size,
		.offset = mmap.offset,
		.protection = mmap.protection,
		/* /proc has only these two flags. */
		.flags = mmap.flags & (MAP_SHARED | MAP_PRIVATE),
		.device_major = mmap.device_major,
		.device_minor = mmap.device_minor,
		.inode = mmap.inode,
		.path = (const char *)mmap.path.data,
	};
	ret->inode_generation = mmap.inode_generation;
	ret->build_id.size = (uint8_t)mmap.build_id.size;
	if (mmap.build_id.size)
		memcpy(ret->build_id.bytes, mmap.build_id.data, mmap.build_id.size);
	return true;
}

static bool decode_comm(struct perf_cursor body, bool is_exec, struct reel_process_event *ret)
{
	struct perf_comm comm;

	if (!reel_perf_comm_read(body, &comm))
		return false;
	ret->kind = is_exec ? REEL_PROCESS_EXEC : REEL_PROCESS_COMM;
	ret->pid = comm.pid;
	ret->tid = comm.tid;
	memcpy(ret->comm, comm.comm.data,
	       comm.comm.size < REEL_COMM_SIZE ? comm.comm.size : REEL_COMM_SIZE - 1);
	return true;
}

static bool decode_task(struct perf_cursor body, enum reel_process_event_kind kind,
			struct reel_process_event *ret)
{
	struct perf_task task;

	if (!reel_perf_task_read(body, &task))
		return false;
	ret->kind = kind;
	ret->pid = task.pid;
	ret->tid = task.tid;
	ret->parent_pid = task.parent_pid;
	ret->parent_tid = task.parent_tid;
	return true;
}

static bool decode_ksymbol(struct perf_cursor body, struct reel_process_event *ret)
{
	struct perf_ksymbol symbol;

	if (!reel_perf_ksymbol_read(body, &symbol))
		return false;
	ret->kind = REEL_PROCESS_KERNEL_SYMBOL;
	ret->map = (struct reel_proc_map){
		.address = symbol.address,
		.size = symbol.size,
		.path = (const char *)symbol.name.data,
	};
	ret->is_gone = symbol.is_gone;
	/* As in /proc/kallsyms (kernel/kallsyms.c, kernel/trace/ftrace.c, kernel/kprobes.c). */
	if (symbol.type == PERF_RECORD_KSYMBOL_TYPE_BPF)
		ret->module = "[bpf]";
	else if (!strncmp(ret->map.path, "kprobe", strlen("kprobe")))
		ret->module = "[__builtin__kprobes]";
	else
		ret->module = "[__builtin__ftrace]";
	return symbol.size != 0;
}

static bool decode(const struct reel_process_events *events, const struct perf_event_header *header,
		   const uint8_t *bytes, struct reel_process_event *ret)
{
	const struct perf_cursor body = perf_cursor(
		bytes, header->size - sizeof(*header) - sizeof(struct trailer), htons(1) == 1);
	bool good;

	if (header->type == PERF_RECORD_KSYMBOL)
		return decode_ksymbol(body, ret);
	if (header->type == PERF_RECORD_MMAP2)
		/* If another event requests build-ids, the bit is also set in records for events
		 * that do not (perf_event_mmap_output, kernel/events/core.c). */
		good = decode_mmap(body,
				   events->abilities.build_id &&
					   header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID,
				   ret);
	else if (header->type == PERF_RECORD_COMM)
		good = decode_comm(body, header->misc & PERF_RECORD_MISC_COMM_EXEC, ret);
	else
		good = decode_task(body,
				   header->type == PERF_RECORD_FORK ? REEL_PROCESS_FORK
								    : REEL_PROCESS_EXIT,
				   ret);
	/* 0 or -1: outside of our PID namespace, or the idle task (perf_event_pid_type). */
	return good && (int32_t)ret->pid > 0 && (int32_t)ret->tid > 0;
}

/* ---- handing over ------------------------------------------------------------------- */

static struct reel_error *hand_over(const struct reel_process_events *events,
				    const struct pending *pending)
{
	const uint8_t *record = events->records.bytes + pending->offset;
	struct reel_process_event event = { .time = pending->time };
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	return decode(events, &header, record + sizeof(header), &event)
		       ? events->options.handle(events->options.context, &event)
		       : NULL;
}

static struct reel_error *hand_over_details(const struct reel_process_events *events, size_t number)
{
	return events->options.handle_details(events->options.context,
					      &events->details[number - 1].details);
}

static struct reel_error *hand_over_family(struct reel_process_events *events, size_t number)
{
	struct family *family = &events->families.items[number - 1];
	size_t event = family->first, details = family->first_details;

	while (event != family->last) {
		TRY(hand_over(events, &events->pending[event]));
		event = events->pending[event].next;
	}
	TRY(hand_over(events, &events->pending[event]));
	for (; details; details = events->details[details - 1].next)
		TRY(hand_over_details(events, details));
	family->is_gone = true;
	return NULL;
}

/* In order of time. */
static struct reel_error *hand_over_families(struct reel_process_events *events)
{
	const struct family *families = events->families.items;

	for (size_t i = count_done(events); i < events->applied; i++) {
		size_t family = events->pending[i].family;

		if (family && !families[family - 1].is_gone)
			TRY(hand_over(events, &events->pending[i]));
	}
	for (size_t i = 0; i < events->n_details; i++)
		if (!families[events->details[i].family - 1].is_gone)
			TRY(hand_over_details(events, i + 1));
	return NULL;
}

static bool family_event_of(const struct reel_process_events *events, const struct pending *pending,
			    struct family_event *ret)
{
	const uint8_t *record = events->records.bytes + pending->offset;
	struct perf_event_header header;
	uint32_t ids[4] = { 0 };
	bool is_task;

	memcpy(&header, record, sizeof(header));
	is_task = header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT;
	if (header.type == PERF_RECORD_KSYMBOL ||
	    header.size < sizeof(header) + sizeof(struct trailer) + (is_task ? 16 : 8))
		return false;
	/* pid, parent's pid, tid; the others' second field is tid. */
	memcpy(ids, record + sizeof(header), is_task ? 16 : 8);
	*ret = (struct family_event){
		.kind = header.type == PERF_RECORD_FORK		   ? FAMILY_FORK
			: header.type == PERF_RECORD_EXIT	   ? FAMILY_EXIT
			: header.type == PERF_RECORD_MMAP2	   ? FAMILY_MAP
			: header.misc & PERF_RECORD_MISC_COMM_EXEC ? FAMILY_EXEC
								   : FAMILY_NAME,
		.time = pending->time,
		.pid = ids[0],
		.tid = is_task ? ids[2] : ids[1],
		.parent_pid = is_task ? ids[1] : 0,
	};
	return (int32_t)ret->pid > 0;
}

/* Keeps a record if it is of a program that began a moment ago. */
static struct reel_error *take(struct reel_process_events *events, size_t number)
{
	struct pending *pending = &events->pending[number];
	struct family_event event;
	struct family *family;
	size_t disturbed;

	if (!events->options.skips_unsampled || !family_event_of(events, pending, &event))
		return NULL;
	while ((disturbed = families_disturbed(&events->families, &event)) != 0)
		TRY(hand_over_family(events, disturbed));
	TRY(families_take(&events->families, &event, number, &pending->family));
	if (!pending->family)
		return NULL;
	family = &events->families.items[pending->family - 1];
	events->pending[family->last].next = number;
	family->last = number;
	return NULL;
}

struct reel_error *reel_process_events_advance(struct reel_process_events *events, uint64_t until)
{
	while (events->applied < events->n_pending &&
	       events->pending[events->applied].time <= until) {
		size_t number = events->applied;

		TRY(take(events, number));
		events->applied++;
		if (!events->pending[number].family)
			TRY(hand_over(events, &events->pending[number]));
	}
	return NULL;
}

struct reel_error *reel_process_events_sampled(struct reel_process_events *events, uint32_t pid)
{
	size_t family = families_find(&events->families, pid);

	return family ? hand_over_family(events, family) : NULL;
}

struct reel_error *reel_process_events_details(struct reel_process_events *events,
					       const struct reel_bpf_process *details)
{
	size_t number = families_find(&events->families, details->pid);
	struct family *family;

	if (number && events->n_details == DETAILS_MAX) {
		TRY(hand_over_family(events, number));
		number = 0;
	}
	if (!number)
		return events->options.handle_details(events->options.context, details);
	if (!reel_array_reserve(&events->details, events->n_details, &events->details_capacity,
				sizeof(*events->details)))
		return reel_error_no_memory();
	family = &events->families.items[number - 1];
	events->details[events->n_details++] =
		(struct kept_details){ .family = number, .details = *details };
	if (family->last_details)
		events->details[family->last_details - 1].next = events->n_details;
	else
		family->first_details = events->n_details;
	family->last_details = events->n_details;
	return NULL;
}

struct reel_error *reel_process_events_settle(struct reel_process_events *events, uint64_t horizon)
{
	struct families *families = &events->families;

	for (size_t i = 0; i < families->n; i++) {
		struct family *family = &families->items[i];

		/* Whatever was lost may have been a thread. */
		if (!family->n_threads && family->end <= horizon && !events->has_lost)
			family->is_gone = true;
	}
	TRY(hand_over_families(events));
	families_clear(families);
	events->n_details = 0;
	events->has_lost = false;
	return NULL;
}

struct reel_error *reel_process_events_apply(struct reel_process_events *events, uint64_t until)
{
	TRY(reel_process_events_advance(events, until));
	return reel_process_events_settle(events, 0);
}
