/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/sample.h"
#include "include/commands.h"
#include "record/options/config.h"
#include "record/options/options.h"
#include "record/options/perf_options.h"
#include "base/decimal.h"
#include "base/quantity.h"

/* Frames of some programs take 300 kB (lame's); a sample of that size costs the CPU some 35 us. */
#define MAX_STACK_DEFAULT  (512u << 10)
#define MAX_STACK_MIN	   4096
#define JIT_CODE_DEFAULT   (64u << 20)
#define JIT_CODE_MIN	   (64u << 10)
#define JIT_CODE_MAX	   (1u << 30)
#define SIDE_LIMIT_DEFAULT (64u << 20)
#define SIDE_LIMIT_MIN	   (1u << 20)
#define SIDE_LIMIT_MAX	   (1u << 30)
/* A reader takes 64 MiB of images, including vDSOs (replay/names/module.c). */
#define EMBED_DEFAULT	   (32u << 20)
#define EMBED_MIN	   (64u << 10)
#define EMBED_MAX	   (60u << 20)
#define FLUSH_INTERVAL_MIN (10 * REEL_NS_PER_MS)
#define FLUSH_INTERVAL_MAX (500 * REEL_NS_PER_MS)
#define OVERWRITE_DEFAULT  (64u << 20)
#define OVERWRITE_MIN	   (4u << 20)
#define AFTER_DEFAULT	   (10 * REEL_NS_PER_SECOND)
#define RING_SIZE_MIN	   (64u << 10)
#define RING_SIZE_MAX	   (1u << 30)
#define RINGS_MAX	   256
#define CPU_MAX		   65535
#define MAX_RATE_DEFAULT   10000
#define CPU_LIMIT_MIN	   100 /* millionths */
#define MEMORY_LIMIT_MIN   (UINT64_C(8) << 20)
#define MEMORY_LIMIT_MAX   (UINT64_C(1) << 40)
#define OFF_CPU_DEFAULT	   99
#define OFF_CPU_MAX	   10000
#define MIN_BLOCK_DEFAULT  10000 /* ns */
#define ROTATE_TOTAL_MIN   (1u << 20)
#define PID_MAX_LIMIT	   (1u << 22) /* include/linux/threads.h */

enum long_option {
	OPTION_DURATION = 0x100,
	OPTION_CHILDREN,
	OPTION_FP,
	OPTION_MAX_STACK,
	OPTION_RING_SIZE,
	OPTION_RINGS,
	OPTION_BTF,
	OPTION_OTEL_MAP,
	OPTION_BUILD_ID_EVENTS,
	OPTION_NO_BUILD_ID_EVENTS,
	OPTION_NO_SANDBOX,
	OPTION_FLUSH_INTERVAL,
	OPTION_ROTATE,
	OPTION_KALLSYMS,
	OPTION_ENCRYPT_TO,
	OPTION_RAW_STACKS,
	OPTION_SCRUB,
	OPTION_NO_COMMAND_LINE,
	OPTION_JIT_CODE,
	OPTION_SIDE_LIMIT,
	OPTION_EMBED,
	OPTION_EMBED_LIMIT,
	OPTION_MEMORY_LIMIT,
	OPTION_NO_SYMBOLS,
	OPTION_NO_JIT_NAMES,
	OPTION_NO_INTERPRETERS,
	OPTION_JAVA_PERFMAP,
	OPTION_CALL_GRAPH,
	OPTION_ACTIVATE,
	OPTION_CPU_LIMIT,
	OPTION_TARGET_SAMPLES,
	OPTION_OFF_CPU,
	OPTION_MIN_BLOCK,
	OPTION_WAKERS,
	OPTION_MAX_RATE,
	OPTION_ARG,
	OPTION_LIST,
	OPTION_FILTER,
	OPTION_VIEW,
	OPTION_MIN_FREE,
	OPTION_CONFIG,
	OPTION_STATUS,
	OPTION_OVERWRITE,
	OPTION_AFTER,
	OPTION_DUMP,
	OPTION_TRIGGER,
};

static const struct argp_option argp_options[] = {
	{ NULL, 0, NULL, 0, "Target:", 1 },
	{ "pid", 'p', "PID,...", 0,
	  "Record these processes and the processes they fork from now on", 0 },
	{ "children", OPTION_CHILDREN, NULL, 0, "With -p: also record existing child processes",
	  0 },
	{ "tid", 't', "TID,...", 0, "Record only these threads", 0 },
	{ "all-cpus", 'a', NULL, 0, "Record everything on this host", 0 },
	{ "cgroup", 'G', "CGROUP", 0,
	  "Record this cgroup (v2) and the cgroups below it: a path, a systemd unit such as "
	  "nginx.service, or a container or pod: its name ([NAMESPACE/]POD), its id or the first 8 "
	  "digits of that",
	  0 },
	{ "cpu", 'C', "CPUS", 0, "Record only on these CPUs, e.g. 0,2-5", 0 },
	{ NULL, 0, NULL, 0, "Sampling:", 2 },
	{ "event", 'e', "EVENT,...", 0,
	  "Sample these events (cpu-clock): cycles, page-faults, sched:sched_switch, "
	  "fentry:FUNCTION, uprobe:FILE:FUNCTION, ...; repeatable",
	  0 },
	{ "list", OPTION_LIST, "GLOB", OPTION_ARG_OPTIONAL,
	  "Print names for -e and exit: events and tracepoints, or those that match GLOB, such as "
	  "'sched:*', 'kprobe:tcp_*', 'uprobe:FILE:*', 'usdt:FILE'",
	  0 },
	{ "freq", 'F', "HZ", 0, "Sample HZ times per second and CPU (999), or max", 0 },
	{ "count", 'c', "PERIOD", 0, "Take a sample every PERIOD events instead", 0 },
	{ "arg", OPTION_ARG, "N[:TYPE]", 0,
	  "Record argument N of the functions or static probes of the last -e, with 1 a "
	  "uretprobe's or kretprobe's result, or a tracepoint's field N, a number or name: as a "
	  "number (u8 to u64, s8 to s64) or string; repeatable",
	  0 },
	{ "filter", OPTION_FILTER, "EXPR", 0,
	  "Sample only hits of the last -e, a tracepoint or a probe, that match: 'prev_comm ~ "
	  "\"nginx*\"', 'arg1 > 4096 && arg2:s32 < 0'",
	  0 },
	{ "max-rate", OPTION_MAX_RATE, "N|none", 0,
	  "Take at most N samples per second and CPU of each probe (10000), tracepoint or function "
	  "(none); further hits are counted as lost",
	  0 },
	{ "off-cpu", OPTION_OFF_CPU, "HZ|all", OPTION_ARG_OPTIONAL,
	  "Also sample threads that wait, HZ times per second (99), or all waits with their exact "
	  "times: the event off-cpu",
	  0 },
	{ "min-block", OPTION_MIN_BLOCK, "TIME", 0,
	  "With --off-cpu=all: ignore waits shorter than TIME (10us)", 0 },
	{ "wakers", OPTION_WAKERS, NULL, 0,
	  "With --off-cpu, which it implies: also sample who ends these waits: the event waker",
	  0 },
	{ NULL, 'g', NULL, 0, "Record kernel call chains", 0 },
	{ "call-graph", OPTION_CALL_GRAPH, "MODE", 0,
	  "Same as -g, for users of perf: dwarf or fp. User stacks are always recorded whole", 0 },
	{ "fp", OPTION_FP, NULL, 0,
	  "Record frame-pointer call chains, for stackreel report --compare-fp", 0 },
	{ "kallsyms", OPTION_KALLSYMS, "WHICH", 0,
	  "Store names of kernel functions: 'needed' by call chains (default), 'all' or 'none'",
	  0 },
	{ "max-stack", OPTION_MAX_STACK, "BYTES", 0,
	  "Record up to BYTES of each stack (512K, at most 1M)", 0 },
	{ "activate", OPTION_ACTIVATE, "TIME/PERIOD", 0,
	  "Take samples only for TIME at the start of each PERIOD of the wall clock, such as "
	  "10s/5m: on all hosts at the same time",
	  0 },
	{ "cpu-limit", OPTION_CPU_LIMIT, "PERCENT", 0,
	  "Use at most PERCENT of each CPU for recording, such as 0.5, over each 10 s: lower the "
	  "frequency, then cut stacks, then pause (no limit)",
	  0 },
	{ "memory-limit", OPTION_MEMORY_LIMIT, "SIZE", 0,
	  "Use at most SIZE of memory for recording (8M or more; no limit): free caches, then cut "
	  "stacks, then leave out mappings, names and code, then pause",
	  0 },
	{ "target-samples", OPTION_TARGET_SAMPLES, "N/UNIT", 0,
	  "Lower the frequency so that about N samples are taken per s, m, h or d, such as 40000/h",
	  0 },
	{ "duration", OPTION_DURATION, "TIME", 0, "Stop after TIME, e.g. 10s, 2m, 1h", 0 },
	{ NULL, 0, NULL, 0, "Content:", 3 },
	{ "scrub", OPTION_SCRUB, NULL, 0,
	  "Keep only stack and code addresses from stacks and registers (default)", 0 },
	{ "raw-stacks", OPTION_RAW_STACKS, NULL, 0,
	  "Keep stacks and registers unchanged, including program data", 0 },
	{ "jit-code", OPTION_JIT_CODE, "BYTES|no", 0,
	  "Keep up to BYTES of JIT-generated code (64M), or no code; without it, its callers are "
	  "not found",
	  0 },
	{ "side-limit", OPTION_SIDE_LIMIT, "BYTES", 0,
	  "Limit mappings, names and code of processes to BYTES at once and 0.7 times BYTES per "
	  "minute (64M), shared fairly by users and processes",
	  0 },
	{ "embed", OPTION_EMBED, "WHAT", 0,
	  "Embed unwind information and symbols, so that the capture alone gives traces and names "
	  "on any host: those that samples need ('hits', default), all of the sampled files "
	  "('modules'), or 'none'",
	  0 },
	{ "embed-limit", OPTION_EMBED_LIMIT, "BYTES", 0,
	  "Limit embedded data to BYTES (32M, at most 60M)", 0 },
	{ "no-symbols", OPTION_NO_SYMBOLS, NULL, 0,
	  "Do not record function names, including JIT names", 0 },
	{ "no-jit-names", OPTION_NO_JIT_NAMES, NULL, 0,
	  "Do not read JIT names and tables from /tmp/perf-PID.map and jitdump files", 0 },
	{ "no-interpreters", OPTION_NO_INTERPRETERS, NULL, 0,
	  "Do not record the functions of Python and Ruby programs, only the interpreters' own",
	  0 },
	{ "java-perfmap", OPTION_JAVA_PERFMAP, NULL, 0,
	  "At the end, have sampled JVMs (JDK 17 or later) write the names of their code, as 'jcmd "
	  "PID Compiler.perfmap' does",
	  0 },
	{ "otel-map", OPTION_OTEL_MAP, "FILE|none", 0,
	  "Read trace and span ids also from this map of OpenTelemetry's eBPF instrumentation "
	  "(/sys/fs/bpf/otel/traces_ctx_v1, if it exists)",
	  0 },
	{ "no-cmdline", OPTION_NO_COMMAND_LINE, NULL, 0, "Do not store this command line", 0 },
	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "output", 'o', "FILE", 0,
	  "Write to FILE (stackreel.reel), or - for standard output. An existing FILE is renamed "
	  "to FILE.old. With --rotate, DIR/ makes files DIR/HOST-UTCTIME.reel",
	  0 },
	{ NULL, 'z', "LEVEL", 0, "Compress with zstd level LEVEL, 1 to 19 (1)", 0 },
	{ "flush-interval", OPTION_FLUSH_INTERVAL, "TIME", 0,
	  "Write samples at the latest TIME after they were taken (500ms, at least 10ms)", 0 },
	{ "min-free", OPTION_MIN_FREE, "SIZE|PERCENT%", 0,
	  "With --rotate: keep this much of the disk free (10G, 5%); delete the oldest files "
	  "first, then lose samples",
	  0 },
	{ "rotate", OPTION_ROTATE, "TIME|SIZE[,KEEP]", 0,
	  "Start a new file every TIME (10s, 5m, 1h) or SIZE (64M): FILE.0001.reel, ...; each can "
	  "be replayed alone. An unfinished file's name ends in .partial. Keep at most that many "
	  "old files, or bytes of all (KEEP: 10, 2G or 10,2G), and delete the oldest if the disk "
	  "is full. SIGUSR2 protects existing files",
	  0 },
	{ "overwrite", OPTION_OVERWRITE, "TIME[,SIZE]", 0,
	  "Flight recorder: keep the last TIME (10s, 5m), at most SIZE (64M), in memory, and write "
	  "it to FILE.0001.reel, ... only on SIGUSR2 or --dump",
	  0 },
	{ "after", OPTION_AFTER, "TIME", 0,
	  "With --overwrite: also write the TIME that follows (10s)", 0 },
	{ "dump", OPTION_DUMP, "PID", 0,
	  "Have the recorder with this PID write its --overwrite file, and exit", 0 },
	{ "trigger", OPTION_TRIGGER, "CONDITION", 0,
	  "With --overwrite: write the file also when this happens, e.g. 'off-cpu>2s', "
	  "'off-cpu:THREAD>2s', 'latency:FILE:FUNCTION>100ms', uprobe:FILE:FUNCTION, exit-signal, "
	  "oom, 'cpu>90%:10s', "
	  "'psi:memory some 150ms/1s', file:PATH; repeatable",
	  0 },
	{ "view", OPTION_VIEW, NULL, 0,
	  "Then show the capture in a browser, as 'stackreel view FILE' does", 0 },
	{ "encrypt-to", OPTION_ENCRYPT_TO, "PUBLIC_KEY", 0,
	  "Encrypt to this key, or to the keys in this file, made by 'stackreel keygen'; any of "
	  "their secret keys can read the capture; repeatable",
	  0 },
	{ NULL, 0, NULL, 0, "Other:", 5 },
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Read options from FILE, one per line: 'rotate = 1m,10', # comments; SIGHUP starts again "
	  "with the changed file",
	  0 },
	{ "ring-size", OPTION_RING_SIZE, "BYTES", 0,
	  "Set the size of each ring buffer between kernel and recorder (16M; 4M for at most 100 "
	  "samples per second on all CPUs)",
	  0 },
	{ "rings", OPTION_RINGS, "N", 0,
	  "Use N ring buffers (1); a CPU uses the ring buffer of its number modulo N", 0 },
	{ "status", OPTION_STATUS, "FORMAT", OPTION_ARG_OPTIONAL,
	  "Print what running recorders have done and cost, or the one named by its process ID or "
	  "status file, and exit: as text (default), json or prometheus",
	  0 },
	{ "btf", OPTION_BTF, "FILE", 0,
	  "Read the kernel's BTF from FILE, if /sys/kernel/btf/vmlinux is missing", 0 },
	{ "build-id-events", OPTION_BUILD_ID_EVENTS, NULL, 0,
	  "Get build-ids from the kernel, for short-lived containers; may abort a concurrent perf "
	  "record",
	  0 },
	{ "no-build-id-events", OPTION_NO_BUILD_ID_EVENTS, NULL, 0,
	  "Read build-ids only from the mapped files (default)", 0 },
	{ "no-sandbox", OPTION_NO_SANDBOX, NULL, 0,
	  "Keep all privileges while recording, if recording fails without them", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ "verbose", 'v', NULL, 0, "Print diagnostics to standard error", 0 },
	{ 0 },
};

const char *argp_program_version = "stackreel-record " REEL_VERSION_STRING;

bool reel_options_has_target(const struct reel_options *options)
{
	return options->n_pids || options->n_tids || options->system_wide || options->cgroup;
}

struct reel_probe_targets reel_options_probe_targets(const struct reel_options *options)
{
	return (struct reel_probe_targets){
		.pids = options->n_tids ? options->tids : options->pids,
		.n_pids = options->n_tids ? options->n_tids : options->n_pids,
		.system_wide = options->system_wide,
		.confined = !options->no_sandbox,
	};
}

bool reel_options_is_service(const struct reel_options *options)
{
	return options->config && !options->command && !options->list && !options->status;
}

bool reel_options_rotates(const struct reel_options *options)
{
	return options->rotate_time || options->rotate_size;
}

bool reel_options_may_overlap(const struct reel_options *options)
{
	return reel_options_rotates(options) || options->overwrite_time;
}

/* Ends the program if there is an error. */
static void check(struct argp_state *state, const char *option, struct reel_error *error)
{
	char message[256];

	if (!error)
		return;
	snprintf(message, sizeof(message), "%s", reel_error_message(error));
	reel_error_destroy(error);
	argp_error(state, "%s: %s", option, message);
}

/* The same if there is no memory. */
static void *need(struct argp_state *state, void *memory)
{
	if (!memory)
		argp_failure(state, 1, 0, "out of memory");
	return memory;
}

/* ---- events --------------------------------------------------------------------------- */

static void append_event(struct argp_state *state, struct reel_options *options, const char *name,
			 size_t size)
{
	if (!size)
		argp_error(state, "-e: empty event name");
	options->events = need(state, reallocarray(options->events, options->n_events + 1,
						   sizeof(*options->events)));
	options->events[options->n_events++] = need(state, strndup(name, size));
}

/* uprobe:/path/file:f(int, char): a path and parameters, not terms. */
static bool is_probe(const char *text)
{
	static const char *const prefixes[] = { "uprobe:", "uretprobe:", "usdt:", "latency:" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* Splits at commas, except in pmu/event=1,umask=2/ and in a function's parentheses. */
static void append_events(struct argp_state *state, struct reel_options *options, const char *text)
{
	const char *start = text;
	bool in_terms = false;
	int depth = 0;

	for (;; text++) {
		if (is_probe(start))
			depth += (*text && strchr("(<[", *text)) - (*text && strchr(")>]", *text));
		else if (*text == '/')
			in_terms = !in_terms;
		if (*text && (*text != ',' || in_terms || depth > 0))
			continue;
		append_event(state, options, start, (size_t)(text - start));
		if (!*text)
			return;
		start = text + 1;
		depth = 0;
	}
}

static void append_value(struct argp_state *state, struct reel_options *options, const char *text,
			 bool is_filter)
{
	if (!options->n_events)
		argp_error(state, "%s: must follow -e EVENT", is_filter ? "--filter" : "--arg");
	options->values = need(state, reallocarray(options->values, options->n_values + 1,
						   sizeof(*options->values)));
	options->values[options->n_values++] = (struct reel_option_value){
		.first_event = options->last_events,
		.n_events = options->n_events - options->last_events,
		.text = text,
		.is_filter = is_filter,
	};
}

/* ---- rotation ------------------------------------------------------------------------- */

/* Whether the text ends in a unit of bytes. */
static bool is_size(const char *text)
{
	return *text && strchr("KMGTB", text[strlen(text) - 1]);
}

/* TIME or SIZE, distinguished by the unit; then the number of old parts to keep, and the size of all
 * parts, either or both. */
static void parse_rotation(struct argp_state *state, struct reel_options *options, const char *text)
{
	const char *comma = strchrnul(text, ',');
	_cleanup_free_ char *limit = need(state, strndup(text, (size_t)(comma - text)));

	options->rotate_time = options->rotate_size = 0;
	options->rotate_keep = options->rotate_total = 0;
	if (is_size(limit))
		check(state, "--rotate", reel_quantity_size(limit, &options->rotate_size));
	else if (*limit && strchr("smhd", limit[strlen(limit) - 1]))
		check(state, "--rotate", reel_quantity_duration(limit, &options->rotate_time));
	else
		argp_error(state,
			   "--rotate: missing unit in '%s' (expected e.g. 10s, 5m, 1h, 64M, 1G)",
			   text);
	if (options->rotate_size && options->rotate_size < 64 << 10)
		argp_error(state, "--rotate: parts must be at least 64K");
	if (options->rotate_time && options->rotate_time < 100 * REEL_NS_PER_MS)
		argp_error(state, "--rotate: parts must be at least 100ms");
	while (*comma) {
		const char *next = strchrnul(comma + 1, ',');
		_cleanup_free_ char *word =
			need(state, strndup(comma + 1, (size_t)(next - comma - 1)));

		if (is_size(word))
			check(state, "--rotate", reel_quantity_size(word, &options->rotate_total));
		else
			check(state, "--rotate",
			      reel_quantity_number(word, 1, 1000000, &options->rotate_keep));
		comma = next;
	}
}

static void parse_min_free(struct argp_state *state, struct reel_options *options, const char *text)
{
	size_t size = strlen(text);
	_cleanup_free_ char *number = need(state, strdup(text));
	bool is_percent = size && text[size - 1] == '%';

	options->min_free = options->min_free_percent = 0;
	if (is_percent)
		number[size - 1] = '\0';
	check(state, "--min-free",
	      is_percent ? reel_quantity_number(number, 1, 99, &options->min_free_percent)
			 : reel_quantity_size(number, &options->min_free));
}

/* ---- limits --------------------------------------------------------------------------- */

static void parse_cpu_limit(struct argp_state *state, const char *text, uint64_t *ret)
{
	const char *end;

	if (!reel_decimal_parse(text, 10000, &end, ret) ||
	    strcmp(end, *end == '%' ? "%" : "") != 0 || *ret < CPU_LIMIT_MIN || *ret > 1000000)
		argp_error(state,
			   "--cpu-limit: invalid share '%s' (expected 0.01 to 100, in percent)",
			   text);
}

/* 10s/5m */
static void parse_activate(struct argp_state *state, const char *text, struct reel_options *options)
{
	const char *slash = strchrnul(text, '/');
	_cleanup_free_ char *time = need(state, strndup(text, (size_t)(slash - text)));

	check(state, "--activate", reel_quantity_duration(time, &options->activate_time));
	check(state, "--activate",
	      reel_quantity_duration(slash + (*slash == '/'), &options->activate_period));
	if (options->activate_time < 100 * REEL_NS_PER_MS ||
	    options->activate_period <= options->activate_time)
		argp_error(state,
			   "--activate: TIME must be at least 100ms, and PERIOD longer than it");
}

/* 40000/h */
static void parse_target(struct argp_state *state, const char *text, struct reel_options *options)
{
	const char *slash = strchrnul(text, '/');
	_cleanup_free_ char *number = need(state, strndup(text, (size_t)(slash - text)));
	char time[3] = { '1', *slash ? slash[1] : '\0' };

	if (!time[1] || slash[2] || !strchr("smhd", time[1]))
		argp_error(
			state,
			"--target-samples: invalid rate '%s' (expected e.g. 40000/h, 600/m, 10/s)",
			text);
	check(state, "--target-samples",
	      reel_quantity_number(number, 1, 1000000000, &options->target_samples));
	check(state, "--target-samples", reel_quantity_duration(time, &options->target_time));
}

/* ---- flight recorder ------------------------------------------------------------------ */

static void parse_overwrite(struct argp_state *state, struct reel_options *options,
			    const char *text)
{
	const char *comma = strchrnul(text, ',');
	_cleanup_free_ char *time = need(state, strndup(text, (size_t)(comma - text)));

	options->overwrite_size = OVERWRITE_DEFAULT;
	check(state, "--overwrite", reel_quantity_duration(time, &options->overwrite_time));
	if (*comma)
		check(state, "--overwrite",
		      reel_quantity_size(comma + 1, &options->overwrite_size));
	if (options->overwrite_time < REEL_NS_PER_SECOND)
		argp_error(state, "--overwrite: TIME must be at least 1s");
	if (options->overwrite_size < OVERWRITE_MIN)
		argp_error(state, "--overwrite: SIZE must be at least 4M");
}

static void parse_trigger(struct argp_state *state, struct reel_options *options, const char *text)
{
	struct reel_trigger *trigger;

	if (options->n_triggers == REEL_TRIGGERS_MAX)
		argp_error(state, "--trigger: at most %d", REEL_TRIGGERS_MAX);
	options->triggers = need(state, reallocarray(options->triggers, options->n_triggers + 1,
						     sizeof(*options->triggers)));
	trigger = &options->triggers[options->n_triggers];
	check(state, "--trigger", reel_trigger_parse(text, trigger));
	options->n_triggers++;
	if (trigger->kind == REEL_TRIGGER_EVENT && !strcmp(trigger->event, "off-cpu"))
		options->off_cpu = options->all_waits = true;
}

/* ---- settings --------------------------------------------------------------------------- */

enum setting_kind {
	YES,
	NO,
	TEXT,
	SIZE,
	DURATION,
	NUMBER,
};

#define FIELD(name) offsetof(struct reel_options, name)

/* Options that set a field and nothing else. */
static const struct setting {
	int key;
	enum setting_kind kind;
	size_t field; /* a bool, a text, or else a uint64_t */
	const char *name;
	uint64_t least, most;
	const char *range; /* as a message has it */
} settings[] = {
	{ OPTION_CHILDREN, YES, FIELD(children) },
	{ 'a', YES, FIELD(system_wide) },
	{ 'G', TEXT, FIELD(cgroup), "-G: empty cgroup name" },
	{ 'g', YES, FIELD(kernel_chain) },
	{ OPTION_FP, YES, FIELD(frame_chain) },
	{ OPTION_DURATION, DURATION, FIELD(duration), "--duration", 0, UINT64_MAX, "" },
	{ OPTION_MAX_STACK, SIZE, FIELD(max_stack), "--max-stack", MAX_STACK_MIN,
	  REEL_BPF_MAX_STACK_LIMIT, "4K to 1M" },
	{ OPTION_SCRUB, NO, FIELD(raw_stacks) },
	{ OPTION_RAW_STACKS, YES, FIELD(raw_stacks) },
	{ OPTION_JIT_CODE, SIZE, FIELD(jit_code), "--jit-code", JIT_CODE_MIN, JIT_CODE_MAX,
	  "64K to 1G, or no" },
	{ OPTION_SIDE_LIMIT, SIZE, FIELD(side_limit), "--side-limit", SIDE_LIMIT_MIN,
	  SIDE_LIMIT_MAX, "1M to 1G" },
	{ OPTION_EMBED_LIMIT, SIZE, FIELD(embed_limit), "--embed-limit", EMBED_MIN, EMBED_MAX,
	  "64K to 60M" },
	{ OPTION_MEMORY_LIMIT, SIZE, FIELD(memory_limit), "--memory-limit", MEMORY_LIMIT_MIN,
	  MEMORY_LIMIT_MAX, "8M to 1T" },
	{ OPTION_NO_JIT_NAMES, YES, FIELD(no_jit_names) },
	{ OPTION_NO_INTERPRETERS, YES, FIELD(no_interpreters) },
	{ OPTION_JAVA_PERFMAP, YES, FIELD(java_perfmap) },
	{ OPTION_OTEL_MAP, TEXT, FIELD(otel_map), "--otel-map: empty file name" },
	{ OPTION_NO_COMMAND_LINE, YES, FIELD(no_command_line) },
	{ 'o', TEXT, FIELD(output), "-o: empty file name" },
	{ 'z', NUMBER, FIELD(level), "-z", 1, 19 },
	{ OPTION_FLUSH_INTERVAL, DURATION, FIELD(flush_interval), "--flush-interval",
	  FLUSH_INTERVAL_MIN, FLUSH_INTERVAL_MAX, "10ms to 500ms" },
	{ OPTION_AFTER, DURATION, FIELD(after), "--after", 0, UINT64_MAX, "" },
	{ OPTION_DUMP, NUMBER, FIELD(dump), "--dump", 1, PID_MAX_LIMIT },
	{ OPTION_VIEW, YES, FIELD(view) },
	{ OPTION_RING_SIZE, SIZE, FIELD(ring_size), "--ring-size", RING_SIZE_MIN, RING_SIZE_MAX,
	  "64K to 1G" },
	{ OPTION_RINGS, NUMBER, FIELD(rings), "--rings", 1, RINGS_MAX },
	{ OPTION_BTF, TEXT, FIELD(btf), "--btf: empty file name" },
	{ OPTION_BUILD_ID_EVENTS, YES, FIELD(build_id_events) },
	{ OPTION_NO_BUILD_ID_EVENTS, NO, FIELD(build_id_events) },
	{ OPTION_NO_SANDBOX, YES, FIELD(no_sandbox) },
	{ 'q', YES, FIELD(quiet) },
	{ 'v', YES, FIELD(verbose) },
};

static void apply_setting(struct argp_state *state, const struct setting *setting, const char *text,
			  struct reel_options *options)
{
	char *field = (char *)options + setting->field;
	uint64_t *number = (uint64_t *)field;

	switch (setting->kind) {
	case YES:
	case NO:
		*(bool *)field = setting->kind == YES;
		return;
	case TEXT:
		if (!*text)
			argp_error(state, "%s", setting->name);
		*(const char **)field = text;
		return;
	case NUMBER:
		check(state, setting->name,
		      reel_quantity_number(text, setting->least, setting->most, number));
		return;
	case SIZE:
		check(state, setting->name, reel_quantity_size(text, number));
		break;
	case DURATION:
		check(state, setting->name, reel_quantity_duration(text, number));
		break;
	}
	if (*number < setting->least || *number > setting->most)
		argp_error(state, "%s: '%s' is out of range (%s)", setting->name, text,
			   setting->range);
}

/* The place of the text among `words`; ends the program if it is none of them. */
static unsigned int word_index(struct argp_state *state, const char *option, const char *text,
			       const char *const words[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(text, words[i]))
			return i;
	}
	argp_error(state, "%s: invalid value '%s' (expected %s, %s or %s)", option, text, words[0],
		   words[1], words[2]);
	return 0;
}

/* ---- checks ------------------------------------------------------------------------------ */

/* Its index; n_events: there is none. */
static size_t find_event(const struct reel_options *options, const char *name)
{
	size_t i = 0;

	while (i < options->n_events && strcmp(options->events[i], name) != 0)
		i++;
	return i;
}

static bool has_event(const struct reel_options *options, const char *name)
{
	return find_event(options, name) < options->n_events;
}

/* Events that are recorded for the triggers. */
static void append_triggers(struct argp_state *state, struct reel_options *options)
{
	for (size_t i = 0; i < options->n_triggers; i++) {
		struct reel_trigger *trigger = &options->triggers[i];

		if (trigger->kind != REEL_TRIGGER_EVENT)
			continue;
		trigger->index = find_event(options, trigger->event);
		/* With a filter, others' hits are not samples. */
		if (!trigger->filter && trigger->index < options->n_events)
			continue;
		trigger->index = options->last_events = options->n_events;
		append_event(state, options, trigger->event, strlen(trigger->event));
		if (trigger->filter)
			append_value(state, options, trigger->filter, true);
	}
}

/* Options that exclude or require each other. */
static void check_together(struct argp_state *state, struct reel_options *options)
{
	if (options->list || options->status || options->dump)
		return;
	if (!options->command && !reel_options_has_target(options))
		argp_error(state, "nothing to record; name a command, or use -p, -t, -a or -G");
	if (options->system_wide && (options->n_pids || options->n_tids))
		argp_error(state, "-a cannot be combined with -p or -t: it records every process");
	if (options->cgroup && (options->n_pids || options->n_tids))
		argp_error(state, "-G cannot be combined with -p or -t");
	if (options->n_pids && options->n_tids)
		argp_error(state, "-p and -t cannot be combined");
	if (options->children && !options->n_pids)
		argp_error(state, "--children requires -p");
	if (options->quiet && options->verbose)
		argp_error(state, "-q and -v cannot be combined");
	if (options->has_min_block && !options->all_waits)
		argp_error(state, "--min-block requires --off-cpu=all");
	if (options->cpu_limit && options->all_waits)
		argp_error(state,
			   "--cpu-limit cannot be combined with --off-cpu=all: each wait costs "
			   "time");
	if (options->activate_time && (options->off_cpu || has_event(options, "off-cpu") ||
				       options->target_samples || options->overwrite_time))
		argp_error(state, "--activate cannot be combined with --off-cpu, --target-samples "
				  "or --overwrite");
	if (options->java_perfmap && options->no_jit_names)
		argp_error(state,
			   "--java-perfmap cannot be combined with --no-jit-names or --no-symbols");
	if (reel_options_rotates(options) && !strcmp(options->output, "-"))
		argp_error(state, "--rotate cannot be combined with -o -: it writes several files");
	if ((options->min_free || options->min_free_percent) && !reel_options_rotates(options))
		argp_error(state, "--min-free requires --rotate");
	if (options->rotate_total && options->rotate_total < ROTATE_TOTAL_MIN)
		argp_error(state, "--rotate: all files together must be at least 1M");
	if (options->overwrite_time &&
	    (reel_options_rotates(options) || options->view || !strcmp(options->output, "-")))
		argp_error(state, "--overwrite cannot be combined with --rotate, --view or -o -");
	if (options->n_triggers && !options->overwrite_time)
		argp_error(state, "--trigger requires --overwrite");
	if (options->view && (reel_options_rotates(options) || !strcmp(options->output, "-")))
		argp_error(state, "--view cannot be combined with --rotate or -o -: it shows one "
				  "file");
	if (!strcmp(options->output, "-") && isatty(STDOUT_FILENO))
		argp_error(state, "-o -: not writing a binary capture to a terminal; redirect "
				  "standard output to a file or a pipe");
	if (!options->n_events)
		append_event(state, options, "cpu-clock", strlen("cpu-clock"));
	if (options->off_cpu && !has_event(options, "off-cpu"))
		append_event(state, options, "off-cpu", strlen("off-cpu"));
	if (options->wakers && !has_event(options, "waker"))
		append_event(state, options, "waker", strlen("waker"));
	append_triggers(state, options);
	if (has_event(options, "waker") && !has_event(options, "off-cpu"))
		argp_error(state, "-e waker requires off-cpu: it samples who ends the waits that "
				  "off-cpu finds");
}

/* `-g dwarf` would run a program called dwarf. */
static void check_command(struct argp_state *state, const char *name)
{
	const char *last = state->argv[state->next - 2];

	if (!strcmp(last, "-g") && reel_perf_is_call_graph(name))
		argp_error(state, "-g takes no mode; use --call-graph %s (or -- %s for a program)",
			   name, name);
}

/* ---- parsing ----------------------------------------------------------------------------- */

static const struct argp argp;
static const struct argp_child children[] = { { &reel_perf_options, 0, NULL, 0 }, { 0 } };

/* For reel_config_parse. */
static void keep_line(void *input, char *text)
{
	struct reel_options *options = input;
	char **grown =
		reallocarray(options->config_lines, options->n_config_lines + 1, sizeof(*grown));

	if (!grown)
		abort();
	options->config_lines = grown;
	grown[options->n_config_lines++] = text;
}

/* An option that is more than a setting. */
static error_t parse_other(int key, char *argument, struct argp_state *state,
			   struct reel_options *options)
{
	/* In the order of enum reel_kallsyms_wanted and enum reel_embed_wanted. */
	static const char *const kallsyms[] = { "needed", "all", "none" };
	static const char *const embeds[] = { "hits", "modules", "none" };
	/* From REEL_STATUS_TEXT on. */
	static const char *const formats[] = { "text", "json", "prometheus" };

	switch (key) {
	case 'p':
		check(state, "-p",
		      reel_quantity_list(argument, false, PID_MAX_LIMIT, &options->pids,
					 &options->n_pids));
		return 0;
	case 't':
		check(state, "-t",
		      reel_quantity_list(argument, false, PID_MAX_LIMIT, &options->tids,
					 &options->n_tids));
		return 0;
	case 'C':
		check(state, "-C",
		      reel_quantity_list(argument, true, CPU_MAX, &options->cpus,
					 &options->n_cpus));
		return 0;
	case 'e':
		options->last_events = options->n_events;
		append_events(state, options, argument);
		return 0;
	case OPTION_LIST:
		options->list = true;
		options->list_pattern = argument;
		return 0;
	case OPTION_ARG:
	case OPTION_FILTER:
		append_value(state, options, argument, key == OPTION_FILTER);
		return 0;
	case OPTION_MAX_RATE:
		options->has_max_rate = true;
		options->max_rate = 0;
		if (strcmp(argument, "none") != 0)
			check(state, "--max-rate",
			      reel_quantity_number(argument, 1, 10000000, &options->max_rate));
		return 0;
	case OPTION_ACTIVATE:
		parse_activate(state, argument, options);
		return 0;
	case OPTION_CPU_LIMIT:
		parse_cpu_limit(state, argument, &options->cpu_limit);
		return 0;
	case OPTION_TARGET_SAMPLES:
		parse_target(state, argument, options);
		return 0;
	case OPTION_OFF_CPU:
		options->off_cpu = true;
		options->all_waits = argument && !strcmp(argument, "all");
		if (argument && !options->all_waits)
			check(state, "--off-cpu",
			      reel_quantity_number(argument, 1, OFF_CPU_MAX,
						   &options->off_cpu_frequency));
		return 0;
	case OPTION_MIN_BLOCK:
		options->has_min_block = true;
		check(state, "--min-block", reel_quantity_time(argument, &options->min_block));
		return 0;
	case OPTION_WAKERS:
		options->off_cpu = options->wakers = true;
		return 0;
	case 'F':
		options->period = 0;
		options->frequency_max = !strcmp(argument, "max");
		if (!options->frequency_max)
			check(state, "-F",
			      reel_quantity_number(argument, 1, 1000000, &options->frequency));
		return 0;
	case 'c':
		check(state, "-c", reel_quantity_number(argument, 1, INT64_MAX, &options->period));
		options->frequency = 0;
		options->frequency_max = false;
		return 0;
	case OPTION_CALL_GRAPH:
		reel_perf_call_graph(state, argument, options->quiet);
		options->kernel_chain = true;
		return 0;
	case OPTION_KALLSYMS:
		options->kallsyms = word_index(state, "--kallsyms", argument, kallsyms);
		return 0;
	case OPTION_EMBED:
		options->embed = word_index(state, "--embed", argument, embeds);
		return 0;
	case OPTION_NO_SYMBOLS:
		options->no_symbols = options->no_jit_names = options->no_interpreters = true;
		return 0;
	case OPTION_ROTATE:
		parse_rotation(state, options, argument);
		return 0;
	case OPTION_STATUS:
		options->status = REEL_STATUS_TEXT;
		if (argument)
			options->status += word_index(state, "--status", argument, formats);
		return 0;
	case OPTION_CONFIG:
		options->config = argument;
		reel_config_parse(argument, &argp, options, keep_line);
		return 0;
	case OPTION_MIN_FREE:
		parse_min_free(state, options, argument);
		return 0;
	case OPTION_TRIGGER:
		parse_trigger(state, options, argument);
		return 0;
	case OPTION_OVERWRITE:
		parse_overwrite(state, options, argument);
		return 0;
	case OPTION_ENCRYPT_TO:
		check(state, "--encrypt-to", reel_public_keys_add(&options->recipients, argument));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A word that is not an option. */
static void parse_word(char *word, struct argp_state *state, struct reel_options *options)
{
	/* As with perf, also --list GLOB. */
	if (options->list && options->list_pattern)
		argp_error(state, "--list takes a single pattern; quote it, such as 'sched:*'");
	if (options->list) {
		options->list_pattern = word;
		return;
	}
	if (options->status && options->status_of)
		argp_error(state, "--status takes a single process ID or file");
	if (options->status) {
		options->status_of = word;
		return;
	}
	check_command(state, word);
	/* The command begins: the remaining arguments are its own. */
	options->command = &state->argv[state->next - 1];
	state->next = state->argc;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct reel_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->quiet;
		return 0;
	case ARGP_KEY_ARG:
		parse_word(argument, state, options);
		return 0;
	case ARGP_KEY_END:
		check_together(state, options);
		return 0;
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		if (settings[i].key != key)
			continue;
		/* `no`: the one setting that may be without a size. */
		if (key == OPTION_JIT_CODE && !strcmp(argument, "no"))
			options->jit_code = 0;
		else
			apply_setting(state, &settings[i], argument, options);
		return 0;
	}
	return parse_other(key, argument, state, options);
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.children = children,
	.args_doc = "[--] COMMAND [ARGUMENT...]",
	.doc = "Record registers and stack bytes of running programs with eBPF. 'stackreel report "
	       "FILE' turns them into stack traces on any host.\vBy default, COMMAND is recorded "
	       "with its threads and child processes. With -p, -t, -a or -G it only sets the "
	       "duration, as in 'stackreel-record -p 4711 -- sleep 10'.\n\nThe recording ends on "
	       "Ctrl-C, SIGTERM or --duration, or when the command or all recorded processes have "
	       "ended. The exit status is COMMAND's; 1 if recording failed, 2 for a wrong "
	       "command line, 126 or 127 if COMMAND cannot be started.",
};

static void keep_command_line(int argc, char **argv, struct reel_options *options)
{
	size_t size = 0, at = 0;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	options->command_line = malloc(size);
	if (!options->command_line)
		return;
	for (int i = 0; i < argc; i++) {
		memcpy(options->command_line + at, argv[i], strlen(argv[i]) + 1);
		at += strlen(argv[i]) + 1;
	}
	options->command_line_size = size;
}

void reel_options_parse(int argc, char **argv, struct reel_options *ret)
{
	*ret = (struct reel_options){
		.output = "stackreel.reel",
		.frequency = 999,
		.off_cpu_frequency = OFF_CPU_DEFAULT,
		.min_block = MIN_BLOCK_DEFAULT,
		.max_rate = MAX_RATE_DEFAULT,
		.max_stack = MAX_STACK_DEFAULT,
		.jit_code = JIT_CODE_DEFAULT,
		.side_limit = SIDE_LIMIT_DEFAULT,
		.embed_limit = EMBED_DEFAULT,
		.rings = 1,
		.level = 1,
		.after = AFTER_DEFAULT,
		.takeover = -1,
	};
	keep_command_line(argc, argv, ret);
	argp_err_exit_status = REEL_EXIT_USAGE;
	/* In order: options after the command's name belong to the command. */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, ret);
	if (ret->no_command_line)
		ret->command_line_size = 0;
}

void reel_options_free(struct reel_options *options)
{
	for (size_t i = 0; i < options->n_triggers; i++)
		reel_trigger_free(&options->triggers[i]);
	free(options->triggers);
	for (size_t i = 0; i < options->n_events; i++)
		free(options->events[i]);
	free(options->events);
	free(options->values);
	free(options->pids);
	free(options->tids);
	free(options->cpus);
	free(options->command_line);
	for (size_t i = 0; i < options->n_config_lines; i++)
		free(options->config_lines[i]);
	free(options->config_lines);
	reel_public_keys_free(&options->recipients);
}
