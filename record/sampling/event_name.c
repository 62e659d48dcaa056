/* SPDX-License-Identifier: Apache-2.0 */
/* Event names, as in perf (tools/perf/Documentation/perf-list.txt). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/record.h"
#include "record/sampling/functions.h"
#include "record/host/kernel.h"
#include "record/sampling/sampler.h"

#define PMUS "/sys/bus/event_source/devices"

/* Newer than some headers. */
#define SW_CGROUP_SWITCHES 11

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} fixed_events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cgroup-switches", PERF_TYPE_SOFTWARE, SW_CGROUP_SWITCHES },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
};

/* CACHE-OPERATION, config = cache | operation << 8 | result << 16 (perf_event_open(2)). */
static const char *const cache_names[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
					   "iTLB",	"branch",    "node" };
static const struct {
	const char *name;
	uint8_t operation, result;
} cache_operations[] = {
	{ "loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS },
	{ "stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS },
	{ "prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct reel_error *not_found(void)
{
	char list[1024];
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; i < COUNT(fixed_events) && used < sizeof(list) - 32; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s, ",
					 fixed_events[i].name);
	return reel_error_create(
		REEL_ERROR_NOT_FOUND,
		"unknown event\n"
		"expected %sL1-dcache-load-misses etc., rNNN (raw, hexadecimal), "
		"PMU/term=value,…/ (see " PMUS
		"), a tracepoint such as sched:sched_switch, a kernel function "
		"such as fentry:vfs_read, a function of a program or library such as "
		"uprobe:libc.so.6:malloc, or off-cpu",
		list);
}

static bool fixed_resolve(const char *name, struct reel_sampler_event *event)
{
	for (size_t i = 0; i < COUNT(fixed_events); i++) {
		if (strcmp(fixed_events[i].name, name) == 0) {
			event->type = fixed_events[i].type;
			event->config = fixed_events[i].config;
			event->weight_is_time = event->type == PERF_TYPE_SOFTWARE &&
						event->config <= PERF_COUNT_SW_TASK_CLOCK;
			return true;
		}
	}
	return false;
}

static bool cache_resolve(const char *name, struct reel_sampler_event *event)
{
	for (size_t cache = 0; cache < COUNT(cache_names); cache++) {
		size_t length = strlen(cache_names[cache]);

		if (strncmp(name, cache_names[cache], length) != 0 || name[length] != '-')
			continue;
		for (size_t i = 0; i < COUNT(cache_operations); i++) {
			if (strcmp(name + length + 1, cache_operations[i].name) == 0) {
				event->type = PERF_TYPE_HW_CACHE;
				event->config = cache |
						(uint64_t)cache_operations[i].operation << 8 |
						(uint64_t)cache_operations[i].result << 16;
				return true;
			}
		}
	}
	return false;
}

static bool raw_resolve(const char *name, struct reel_sampler_event *event)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
		return false;
	event->type = PERF_TYPE_RAW;
	event->config = strtoull(name + 1, &end, 16);
	return *end == '\0';
}

/* ---- tracepoints ------------------------------------------------------------ */

static struct reel_error *tracepoint_resolve(const char *name, struct reel_sampler_event *event)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	const char *colon = strchr(name, ':');
	int errnum = ENOENT;
	bool mounted = false;

	if (strchr(name, '/') || name[0] == '.' || colon[1] == '.')
		return not_found();
	for (size_t i = 0; i < COUNT(roots); i++) {
		char path[512];
		long id;

		snprintf(path, sizeof(path), "%s/events", roots[i]);
		mounted |= access(path, F_OK) == 0;
		snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", roots[i], (int)(colon - name),
			 name, colon + 1);
		id = reel_number_read(path, -1);
		if (id >= 0) {
			event->type = PERF_TYPE_TRACEPOINT;
			event->config = (uint64_t)id;
			*strrchr(path, '/') = '\0';
			event->folder = strdup(path);
			return event->folder ? NULL : reel_error_no_memory();
		}
		if (access(path, R_OK) && errno == EACCES)
			errnum = EACCES;
	}
	if (errnum == EACCES)
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "tracepoint %s: only root may read %s; run as root, or "
					 "mount tracefs with one of your groups (gid=)",
					 name, roots[0]);
	if (!mounted)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "tracepoint %s: tracefs is not mounted, or this kernel "
					 "has no tracepoints; try: mount -t tracefs tracefs %s",
					 name, roots[0]);
	return reel_error_create(REEL_ERROR_NOT_FOUND,
				 "unknown tracepoint %s; see %s/available_events", name, roots[0]);
}

/* ---- PMUs --------------------------------------------------------------------- */

struct pmu_event {
	const char *name; /* as the user wrote it */
	char pmu[64];
	uint64_t config;
	unsigned depth; /* of names within names */
	struct reel_sampler_event *event;
};

/* A short text file without its last newline. */
static bool line_read(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		return false;
	ok = fgets(line, (int)size, file);
	fclose(file);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

/* Stores `value` in the bits listed by a format such as config:0-7,32-35, lowest first. */
static struct reel_error *pmu_bits_set(struct pmu_event *event, const char *term,
				       const char *format, uint64_t value)
{
	const char *at;

	if (strncmp(format, "config:", strlen("config:")) != 0)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: unsupported term %s: it is in %s, not in config",
					 event->name, term, format);
	at = format + strlen("config:");
	while (isdigit((unsigned char)*at)) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last > 63 || first > last)
			break;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			event->config = (event->config & ~(UINT64_C(1) << bit)) | (value & 1)
											  << bit;
		at = *end == ',' ? end + 1 : end;
	}
	if (value)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: the value of %s does not fit into %s", event->name,
					 term, format);
	return NULL;
}

/* perf's terms period=N and freq=N, of any event; false if it is another one. */
static bool interval_set(const char *term, uint64_t value, struct reel_sampler_event *event)
{
	if (strcmp(term, "period") == 0) {
		event->period = value;
		event->frequency = 0;
	} else if (strcmp(term, "freq") == 0) {
		event->frequency = value;
		event->period = 0;
	} else {
		return false;
	}
	return true;
}

/* TERM=N,... of an event without a PMU. */
static struct reel_error *intervals_set(char *terms, struct reel_sampler_event *event)
{
	char *rest, *term;

	for (term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(term, '='), *end;
		uint64_t value;

		if (equals)
			*equals = '\0';
		value = equals ? strtoull(equals + 1, &end, 0) : 0;
		if (!value || *end || equals[1] == '-' || value > INT64_MAX ||
		    !interval_set(term, value, event))
			return reel_error_create(REEL_ERROR_INVALID,
						 "invalid term '%s' (expected period=N or freq=N)",
						 term);
	}
	return NULL;
}

static struct reel_error *pmu_terms_set(struct pmu_event *event, char *terms);

static struct reel_error *pmu_term_set(struct pmu_event *event, char *term)
{
	char *equals = strchr(term, '='), *end;
	char path[512], line[256];
	uint64_t value = 1;

	if (equals) {
		*equals = '\0';
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1 || *end)
			return reel_error_create(REEL_ERROR_INVALID, "%s: %s=%s: not a number",
						 event->name, term, equals + 1);
	}
	if (strchr(term, '/') || *term == '.' || !*term)
		return reel_error_create(REEL_ERROR_INVALID, "%s: missing term", event->name);
	if (strcmp(term, "config") == 0 && equals) {
		event->config = value;
		return NULL;
	}
	if (equals && value && interval_set(term, value, event->event))
		return NULL;
	snprintf(path, sizeof(path), PMUS "/%s/format/%s", event->pmu, term);
	if (line_read(path, line, sizeof(line)))
		return pmu_bits_set(event, term, line, value);
	/* The kernel's name for several terms. */
	snprintf(path, sizeof(path), PMUS "/%s/events/%s", event->pmu, term);
	if (!equals && event->depth == 0 && line_read(path, line, sizeof(line))) {
		struct reel_error *error;

		event->depth++;
		error = pmu_terms_set(event, line);
		event->depth--;
		return error;
	}
	return reel_error_create(REEL_ERROR_NOT_FOUND,
				 "%s: PMU %s has no term or event %s; see %s/%s/format and events",
				 event->name, event->pmu, term, PMUS, event->pmu);
}

static struct reel_error *pmu_terms_set(struct pmu_event *event, char *terms)
{
	char *rest, *term;

	for (term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest))
		TRY(pmu_term_set(event, term));
	return NULL;
}

/* PMU/term,term=value/ */
static struct reel_error *pmu_resolve(const char *name, struct reel_sampler_event *ret)
{
	const char *slash = strchr(name, '/'), *end = strrchr(name, '/');
	struct pmu_event event = { .name = name, .event = ret };
	char path[512], terms[256];
	long type;

	if (slash == end || end[1] || (size_t)(slash - name) >= sizeof(event.pmu) ||
	    name[0] == '.' || (size_t)(end - slash) > sizeof(terms))
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event '%s' (expected PMU/term=value,term=value/)",
					 name);
	memcpy(event.pmu, name, (size_t)(slash - name));
	memcpy(terms, slash + 1, (size_t)(end - slash - 1));
	terms[end - slash - 1] = '\0';
	snprintf(path, sizeof(path), PMUS "/%s/type", event.pmu);
	type = reel_number_read(path, -1);
	if (type < 0)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "%s: no PMU %s in " PMUS, name,
					 event.pmu);
	TRY(pmu_terms_set(&event, terms));
	ret->type = (uint32_t)type;
	ret->config = event.config;
	return NULL;
}

/* ---- all names ------------------------------------------------------------------ */

/* Modifiers at the end: u, k and p; *length_ret is the name's length without them. */
static struct reel_error *modifiers_resolve(const char *name, struct reel_sampler_event *event,
					    size_t *length_ret)
{
	const char *colon = strrchr(name, ':'), *slash = strrchr(name, '/');
	bool user = false, kernel = false;

	*length_ret = strlen(name);
	/* cycles/period=1000/u */
	if (slash && slash > colon)
		colon = slash;
	/* In a tracepoint, the name follows the only colon. */
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "ukpPhHGSDW")])
		return NULL;
	for (const char *at = colon + 1; *at; at++) {
		if (*at == 'u')
			user = true;
		else if (*at == 'k')
			kernel = true;
		else if (*at == 'p' && event->precise < 3)
			event->precise++;
		else
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "%s: unknown modifier (expected u (user), k "
						 "(kernel), or p, pp, ppp (precise))",
						 name);
	}
	event->exclude_user = kernel && !user;
	event->exclude_kernel = user && !kernel;
	*length_ret = (size_t)(colon - name) + (colon == slash);
	return NULL;
}

static bool is_pmu(const char *name, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), PMUS "/%.*s/type", (int)size, name);
	return access(path, F_OK) == 0;
}

/* Cuts "/TERM=N,.../" off the name of an event that is not a PMU's. */
static struct reel_error *cut_terms(char *name, struct reel_sampler_event *event)
{
	char *slash = strchr(name, '/'), *end = strrchr(name, '/');

	if (!slash || is_pmu(name, (size_t)(slash - name)) || !strchr(slash, '=') || end == slash ||
	    end[1])
		return NULL;
	*slash = *end = '\0';
	return intervals_set(slash + 1, event);
}

/* Whether this machine has the counter, even if this user may not use it. */
static bool is_counted(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno != ENOENT && errno != EOPNOTSUPP && errno != ENODEV && errno != ENXIO;
	close(fd);
	return true;
}

struct reel_error *reel_sampler_event_names_visit(reel_sampler_name_visitor *visit, void *context)
{
	for (size_t i = 0; i < COUNT(fixed_events); i++) {
		if (is_counted(fixed_events[i].type, fixed_events[i].config))
			TRY(visit(context, fixed_events[i].name));
	}
	for (size_t i = 0; i < COUNT(cache_names) * COUNT(cache_operations); i++) {
		struct reel_sampler_event event;
		char name[64];

		snprintf(name, sizeof(name), "%s-%s", cache_names[i / COUNT(cache_operations)],
			 cache_operations[i % COUNT(cache_operations)].name);
		if (cache_resolve(name, &event) && is_counted(event.type, event.config))
			TRY(visit(context, name));
	}
	TRY(visit(context, "off-cpu"));
	return visit(context, "waker");
}

bool reel_sampler_event_is_hit(const struct reel_sampler_event *event)
{
	return event->type == PERF_TYPE_TRACEPOINT || event->hook || event->probe ||
	       event->all_waits;
}

bool reel_sampler_event_is_in_kernel(const struct reel_sampler_event *event)
{
	return event->hook || event->probe == REEL_SAMPLER_KPROBE ||
	       event->probe == REEL_SAMPLER_KRETPROBE;
}

void reel_sampler_event_free(struct reel_sampler_event *event)
{
	for (size_t i = 0; i < event->n_files; i++)
		close(event->files[i]);
	for (size_t i = 0; i < event->n_places; i++)
		free(event->places[i].arguments);
	free(event->symbol);
	free(event->warning);
	free(event->folder);
	free(event->files);
	free(event->places);
	event->symbol = event->folder = event->warning = NULL;
	event->files = NULL;
	event->places = NULL;
	event->n_files = event->n_places = 0;
}

struct reel_error *reel_sampler_event_resolve(const char *name, struct reel_sampler_event *ret)
{
	_cleanup_free_ char *base = NULL;
	size_t length;
	bool off_cpu = strcmp(name, "off-cpu") == 0, waker = strcmp(name, "waker") == 0;

	if (off_cpu || waker) {
		*ret = (struct reel_sampler_event){
			.name = name,
			.type = REEL_EVENT_NOT_PERF,
			.weight_is_time = true,
			.off_cpu = off_cpu,
			.waker = waker,
		};
		if (off_cpu && !reel_scans_may_sleep())
			ret->waits = REEL_WAITS_PROCESS_VM_READV;
		return NULL;
	}
	/* Functions have no modifiers: one may be called "up". */
	if (reel_function_event_is(name))
		return reel_function_event_resolve(name, ret);
	*ret = (struct reel_sampler_event){ .name = name };
	TRY(modifiers_resolve(name, ret, &length));
	base = strndup(name, length);
	if (!base)
		return reel_error_no_memory();
	TRY(cut_terms(base, ret));
	if (strchr(base, '/'))
		return pmu_resolve(base, ret);
	if (strncmp(base, "tracepoint:", strlen("tracepoint:")) == 0 &&
	    strchr(strchr(base, ':') + 1, ':'))
		return tracepoint_resolve(strchr(base, ':') + 1, ret);
	if (strchr(base, ':')) {
		if (ret->exclude_user || ret->exclude_kernel || ret->precise)
			return reel_error_create(
				REEL_ERROR_INVALID,
				"%s: tracepoints take no modifiers: they are always in the kernel",
				name);
		return tracepoint_resolve(base, ret);
	}
	if (fixed_resolve(base, ret) || cache_resolve(base, ret) || raw_resolve(base, ret))
		return NULL;
	return not_found();
}

struct reel_error *reel_sampler_event_set_all_waits(struct reel_sampler_event *event,
						    uint64_t min_block)
{
	event->all_waits = true;
	event->min_block = min_block;
	event->period = 1;
	event->waits = REEL_WAITS_SCHED_EXIT;
	if (reel_kernel_has("btf_trace_sched_exit_tp"))
		return NULL;
	event->waits = REEL_WAITS_FINISH_TASK_SWITCH;
	event->symbol = reel_function_name("finish_task_switch");
	if (!event->symbol)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "this kernel has neither the tracepoint sched_exit_tp "
					 "(Linux 6.15) nor the function finish_task_switch");
	return NULL;
}
