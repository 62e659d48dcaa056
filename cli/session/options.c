/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/quantity.h"
#include "cli/print/text.h"
#include "cli/session/debuginfod_cache.h"
#include "cli/session/options.h"
#include "cli/session/wall_time.h"

enum {
	KEY_PID = 0x100,
	KEY_TID,
	KEY_COMM,
	KEY_CPU,
	KEY_LABEL,
	KEY_CONTAINER,
	KEY_POD,
	KEY_SYSTEMD_UNIT,
	KEY_CGROUP,
	KEY_TRACE,
	KEY_TIME,
	KEY_OFF_CPU,
	KEY_WAKERS,
	KEY_WHERE,
	KEY_SHARD,
	KEY_RUNTIME,
	KEY_MAX_FRAMES,
	KEY_MIN_COMPLETE,
	KEY_MEMORY_LIMIT,
	KEY_TIME_LIMIT,
	KEY_SANDBOX,
	KEY_NO_SANDBOX,
	KEY_DEBUGINFOD,
	KEY_NO_DEBUGINFOD,
	KEY_AT,
	KEY_FOR,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_DEBUGINFOD_TIMEOUT,
	KEY_DEBUGINFOD_MAX_SIZE,
};

#define LENGTH_AT	    (60 * REEL_NS_PER_SECOND)
#define DEBUGINFOD_TIMEOUT  (300 * REEL_NS_PER_SECOND)
#define DEBUGINFOD_MAX_SIZE (UINT64_C(2) << 30)

/* ---- values --------------------------------------------------------------------- */

void string_list_add(struct string_list *list, const char *item)
{
	list->items = memory_resize(list->items, list->count + 2, sizeof(*list->items));
	list->items[list->count++] = item;
	list->items[list->count] = NULL;
}

/* The value is valid; otherwise the caller reports it with better examples. */
static bool is_valid(struct reel_error *error)
{
	bool ok = !error;

	reel_error_destroy(error);
	return ok;
}

bool time_range_parse(const char *text, uint64_t *from_ret, uint64_t *to_ret)
{
	const char *dots = strstr(text, "..");
	_cleanup_free_ char *from = NULL;

	if (!dots)
		return false;
	from = memory_print("%.*s", (int)(dots - text), text);
	*from_ret = *to_ret = 0;
	if (*from && !is_valid(reel_quantity_time(from, from_ret)))
		return false;
	if (!dots[2])
		return *from != '\0';
	/* An end of 0 would mean an open end. */
	return is_valid(reel_quantity_time(dots + 2, to_ret)) && *to_ret > *from_ret;
}

bool percent_parse(const char *text, uint64_t *ret)
{
	const char *end;

	if (!reel_decimal_parse(text, PERCENT, &end, ret))
		return false;
	if (*end == '%')
		end++;
	return *end == '\0' && *ret <= 100 * PERCENT;
}

void options_error(struct argp_state *state, const char *format, ...)
{
	_cleanup_free_ char *message = NULL, *escaped = NULL;
	va_list args;

	va_start(args, format);
	message = memory_vprint(format, args);
	va_end(args);
	escaped = text_escape(message, "");
	argp_error(state, "%s", escaped);
}

void options_check(struct argp_state *state, const char *name, struct reel_error *error)
{
	if (!error)
		return;
	options_error(state, "%s: %s", name, reel_error_message(error));
	reel_error_destroy(error);
}

static void parse_names(struct argp_state *state, const char *arg, struct options *options)
{
	options->short_names = !strcmp(arg, "short");
	options->no_demangle |= !strcmp(arg, "mangled");
	if (!options->short_names && strcmp(arg, "full") != 0 && strcmp(arg, "mangled") != 0)
		options_error(state,
			      "--names: invalid style '%s' (expected short, full or mangled)", arg);
}

void options_add_values(struct argp_state *state, const char *arg, struct options *options)
{
	struct reel_value_request request;
	_cleanup_free_ char *problem = value_request_parse(arg, true, &request);

	if (problem)
		options_error(state, "--values: %s", problem);
	if (options->shown_values.count == VALUE_LABELS_MAX)
		options_error(state, "--values: more than %d", VALUE_LABELS_MAX);
	value_list_add(&options->shown_values, request);
}

error_t options_store(int key, char *arg, struct argp_state *state)
{
	void *member = (char *)state->input + (key & ((1 << 20) - 1));

	switch (key >> 20) {
	case 1:
		*(bool *)member = true;
		return 0;
	case 2:
		*(const char **)member = arg;
		return 0;
	case 3:
		string_list_add(member, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- groups ---------------------------------------------------------------------- */

static error_t parse_file(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
	case 'i':
		if (options->file)
			options_error(state, "only one file is allowed: %s and %s", options->file,
				      arg);
		options->file = arg;
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case ARGP_KEY_END:
		if (!options->file)
			options->file =
				options->default_file ? options->default_file : DEFAULT_CAPTURE;
		limits_apply(&options->limits, options->file);
		return 0;
	case KEY_MEMORY_LIMIT:
		if (!limits_parse_memory(arg, &options->limits.memory))
			argp_error(state,
				   "--memory-limit: invalid size '%s' (expected e.g. 512M, 8G, "
				   "50%% of this host's memory, or none; at least 16M)",
				   arg);
		return 0;
	case KEY_TIME_LIMIT:
		options_check(state, "--time-limit",
			      reel_quantity_duration(arg, &options->limits.time));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option file_options[] = {
	{ "input", 'i', "FILE", 0, "Read FILE; '-' is standard input", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0 },
	{ "quiet", 'q', NULL, 0, "Do not print progress or warnings", 0 },
	{ "memory-limit", KEY_MEMORY_LIMIT, "SIZE", 0,
	  "Limit memory to SIZE, e.g. 512M, 8G, 50% of this host's memory, or 'none' (75%)", 0 },
	{ "time-limit", KEY_TIME_LIMIT, "TIME", 0, "Give up after TIME, e.g. 30s, 500ms, 10m", 0 },
	{ 0 }
};

const struct argp options_file = { .options = file_options, .parser = parse_file };

static void parse_list(struct number_list *list, const char *arg, const char *name,
		       struct argp_state *state)
{
	options_check(state, name,
		      reel_quantity_list(arg, true, UINT32_MAX, &list->items, &list->count));
}

bool label_match_parse(const char *text, struct reel_label_match *ret)
{
	const char *const *keys = reel_label_keys();
	const char *end = strchr(text, '=');
	size_t length = end ? (size_t)(end - text) : 0;

	for (; *keys; keys++) {
		if (length && strlen(*keys) == length && !strncmp(*keys, text, length)) {
			*ret = (struct reel_label_match){ *keys, end + 1, REEL_MATCH_VALUE };
			return true;
		}
	}
	return false;
}

bool field_key_is(const char *name)
{
	if (strncmp(name, "arg-", 4) == 0)
		name += 4;
	for (size_t i = 0; name[i]; i++) {
		if (!isalpha((unsigned char)name[i]) && name[i] != '_' &&
		    !(i && isdigit((unsigned char)name[i])))
			return false;
	}
	return *name;
}

const char *options_add_field(struct options *options, const char *name, const char *complaint)
{
	struct field_list *list = &options->fields;

	list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count].name = memory_print("%s", name);
	list->items[list->count].complaint = memory_print("%s", complaint);
	return list->items[list->count++].name;
}

static void add_label(struct label_list *list, struct reel_label_match match)
{
	list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = match;
}

static void parse_label(struct options *options, const char *arg, struct argp_state *state)
{
	_cleanup_free_ char *keys = memory_print("%s", ""), *complaint = NULL;
	_cleanup_free_ char *name = memory_print("%.*s", (int)strcspn(arg, "="), arg);
	struct reel_label_match match;

	if (label_match_parse(arg, &match)) {
		add_label(&options->labels, match);
		return;
	}
	for (const char *const *key = reel_label_keys(); *key; key++) {
		_cleanup_free_ char *before = keys;

		keys = memory_print("%s%s%s", before, *before ? ", " : "", *key);
	}
	complaint = memory_print("--label: invalid label '%s' (expected KEY=VALUE with one of %s)",
				 arg, keys);
	if (!arg[strlen(name)] || !field_key_is(name))
		options_error(state, "%s", complaint);
	match = (struct reel_label_match){ options_add_field(options, name, complaint),
					   arg + strlen(name) + 1, REEL_MATCH_VALUE };
	add_label(&options->labels, match);
}

static void add_short_label(struct label_list *list, int option, const char *arg,
			    struct argp_state *state)
{
	struct reel_label_match match = { .value = arg };

	if (!*arg)
		argp_error(state, "an option that selects a label has no value");
	if (option == KEY_CONTAINER || option == KEY_POD) {
		match.key = option == KEY_POD ? "pod" : "container";
		match.kind = REEL_MATCH_ID;
	} else if (option == KEY_CGROUP) {
		match.key = "cgroup";
		match.kind = REEL_MATCH_BELOW;
	} else {
		match.key = option == KEY_TRACE ? "trace" : "unit";
	}
	add_label(list, match);
}

/* Names between commas; ends each. */
static void add_names(struct string_list *list, char *names)
{
	for (char *rest = names, *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
		string_list_add(list, name);
}

bool shard_parse(const char *text, struct shard *ret)
{
	const char *slash = strchr(text, '/');
	_cleanup_free_ char *part = NULL;
	uint64_t number, count;

	if (!slash || !is_valid(reel_quantity_number(slash + 1, 1, UINT32_MAX, &count)))
		return false;
	part = memory_print("%.*s", (int)(slash - text), text);
	if (!is_valid(reel_quantity_number(part, 1, count, &number)))
		return false;
	*ret = (struct shard){ (uint32_t)number - 1, (uint32_t)count };
	return true;
}

static void parse_wall_time(const char *name, const char *arg, struct argp_state *state,
			    uint64_t *ret)
{
	if (!wall_time_parse(arg, reel_clock_now(CLOCK_REALTIME), ret))
		options_error(state,
			      "%s: invalid time '%s' (expected e.g. '2026-11-27 03:17', 03:17:30, "
			      "2026-11-27T03:17Z, '2026-11-27 03:17 +02:00')",
			      name, arg);
}

static void end_wall_times(struct options *options, struct argp_state *state)
{
	struct wall_range *wall = &options->wall;

	if (wall->length && !wall->from)
		argp_error(state, "--for needs --at or --since");
	if (wall->length && !wall->to)
		wall->to = wall->from + wall->length;
	wall->length = 0;
	if (wall->to && wall->to <= wall->from)
		argp_error(state, "the selected time ends before it begins");
	if ((wall->from || wall->to) && (options->from || options->to))
		argp_error(state, "--time since the first sample does not go with --at, --since "
				  "and --until");
}

static bool parse_runtime(const char *text, enum reel_runtimes_shown *ret)
{
	static const char *const names[] = {
		[REEL_RUNTIMES_INTERLEAVED] = "interleaved",
		[REEL_RUNTIMES_ONLY] = "only",
		[REEL_RUNTIMES_NATIVE] = "native",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum reel_runtimes_shown)i;
			return true;
		}
	}
	return false;
}

static uint32_t parse_number(const char *arg, uint64_t least, const char *name,
			     struct argp_state *state)
{
	uint64_t number;

	options_check(state, name, reel_quantity_number(arg, least, UINT32_MAX, &number));
	return (uint32_t)number;
}

static void parse_where(struct where_list *wheres, const char *arg, struct argp_state *state)
{
	_cleanup_free_ char *problem = where_add(wheres, arg);

	if (problem)
		options_error(state, "--where: %s", problem);
}

/* Options of several groups: how samples are selected, unwound and judged. */
static error_t parse_value(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_PID:
		parse_list(&options->pids, arg, "--pid", state);
		return 0;
	case KEY_TID:
		parse_list(&options->tids, arg, "--tid", state);
		return 0;
	case KEY_CPU:
		parse_list(&options->cpus, arg, "--cpu", state);
		return 0;
	case KEY_COMM:
		add_names(&options->comms, arg);
		return 0;
	case KEY_LABEL:
		parse_label(options, arg, state);
		return 0;
	case KEY_CONTAINER:
	case KEY_POD:
	case KEY_SYSTEMD_UNIT:
	case KEY_CGROUP:
	case KEY_TRACE:
		add_short_label(&options->labels, key, arg, state);
		return 0;
	case KEY_TIME:
		if (!time_range_parse(arg, &options->from, &options->to) &&
		    !wall_range_parse(arg, &options->wall.from, &options->wall.to))
			options_error(state,
				      "--time: invalid range '%s' (expected e.g. 1.5..3, 200ms.., "
				      "'2026-11-27 03:17..03:19')",
				      arg);
		return 0;
	case KEY_AT:
	case KEY_SINCE:
		parse_wall_time(key == KEY_AT ? "--at" : "--since", arg, state,
				&options->wall.from);
		if (key == KEY_AT && !options->wall.length)
			options->wall.length = LENGTH_AT;
		return 0;
	case KEY_UNTIL:
		parse_wall_time("--until", arg, state, &options->wall.to);
		return 0;
	case KEY_FOR:
		options_check(state, "--for", reel_quantity_duration(arg, &options->wall.length));
		return 0;
	case ARGP_KEY_END:
		end_wall_times(options, state);
		return 0;
	case KEY_OFF_CPU:
	case KEY_WAKERS:
		options->event = "off-cpu";
		options->wakers |= key == KEY_WAKERS;
		return 0;
	case KEY_WHERE:
		parse_where(&options->wheres, arg, state);
		return 0;
	case KEY_SHARD:
		if (!shard_parse(arg, &options->shard))
			options_error(state,
				      "--shard: invalid part '%s' (expected e.g. 1/4, the first of "
				      "four)",
				      arg);
		return 0;
	case KEY_RUNTIME:
		if (!parse_runtime(arg, &options->runtimes))
			options_error(state,
				      "--runtime: invalid way '%s' (expected interleaved, only or "
				      "native)",
				      arg);
		return 0;
	case KEY_MAX_FRAMES:
		options->max_frames = parse_number(arg, 1, "--max-frames", state);
		return 0;
	case KEY_MIN_COMPLETE:
		if (!percent_parse(arg, &options->min_complete))
			options_error(state,
				      "--min-complete: invalid percentage '%s' (expected 0 to 100)",
				      arg);
		return 0;
	case 'j':
		options->threads = parse_number(arg, 0, "--jobs", state);
		return 0;
	default:
		return options_store(key, arg, state);
	}
}

static const struct argp_option filter_options[] = {
	{ "pid", KEY_PID, "PID,...", 0, "Select only these processes", 0 },
	{ "tid", KEY_TID, "TID,...", 0, "Select only these threads", 0 },
	{ "comm", KEY_COMM, "NAME,...", 0,
	  "Select only threads with this name, e.g. 'pool*' (repeatable)", 0 },
	{ "cpu", KEY_CPU, "CPU,...", 0, "Select only samples on these CPUs, e.g. 0-3,8", 0 },
	{ "label", KEY_LABEL, "KEY=VALUE", 0,
	  "Select only samples with this label, e.g. arg1=4096; without a VALUE, samples without "
	  "the label (repeatable: several values of a key are alternatives)",
	  0 },
	{ "container", KEY_CONTAINER, "NAME|ID", 0,
	  "Select only this container; 8 or more first characters of its id are enough "
	  "(repeatable)",
	  0 },
	{ "pod", KEY_POD, "NAME|UID", 0, "Select only this pod (repeatable)", 0 },
	{ "systemd-unit", KEY_SYSTEMD_UNIT, "UNIT", 0,
	  "Select only this unit of systemd (repeatable)", 0 },
	{ "cgroup", KEY_CGROUP, "PATH", 0,
	  "Select only this cgroup and those below it (repeatable)", 0 },
	{ "trace", KEY_TRACE, "ID", 0, "Select only work for this distributed trace (repeatable)",
	  0 },
	{ "time", KEY_TIME, "A..B", 0,
	  "Select only this time since the first sample, in seconds or with a unit (ns us ms s m "
	  "h), or by the wall clock, e.g. '2026-11-27 03:17..03:19'; either end may be omitted",
	  0 },
	{ "at", KEY_AT, "TIME", 0,
	  "Select only a minute, or --for, from this time on, e.g. '2026-11-27 03:17', 03:17:30, "
	  "2026-11-27T02:17Z (local time, unless it ends in Z, UTC or an offset such as +02:00)",
	  0 },
	{ "for", KEY_FOR, "DURATION", 0, "Length of --at or --since, e.g. 30s, 2m", 0 },
	{ "since", KEY_SINCE, "TIME", 0, "Select only samples from this time on, as in --at", 0 },
	{ "until", KEY_UNTIL, "TIME", 0, "Select only samples up to this time, as in --at", 0 },
	{ "event", OPTION_TEXT(struct options, event), "NAME", 0,
	  "Select only samples of this event, e.g. 'latency:*'", 0 },
	{ "off-cpu", KEY_OFF_CPU, NULL, 0,
	  "Select only samples of threads that wait: --event=off-cpu", 0 },
	{ "wakers", KEY_WAKERS, NULL, 0,
	  "The same, with the stack of the thread that ended the wait on top, if recorded with "
	  "--wakers",
	  0 },
	{ "where", KEY_WHERE, "CONDITION", 0,
	  "Select only samples by the value of a function's variable, e.g. "
	  "'parse:request->length > 4096'; also by == != < <= >= or is (repeatable: all must hold)",
	  0 },
	{ 0 }
};

const struct argp options_filter = { .options = filter_options, .parser = parse_value };

static const struct argp_option shard_options[] = {
	{ "shard", KEY_SHARD, "I/N", 0,
	  "Select only part I of N: every Nth block of samples of one capture, or every Nth of "
	  "several captures",
	  0 },
	{ 0 }
};

const struct argp options_shard = { .options = shard_options, .parser = parse_value };

/* With a missing folder, a search would find fewer files and only report them module by module. */
static void must_be_folders(const struct string_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		int fd = open(list->items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0) {
			complain("--%s %s: %s", name, list->items[i], strerror(errno));
			exit(STATUS_ERROR);
		}
		close(fd);
	}
}

static error_t parse_search(int key, char *arg, struct argp_state *state)
{
	const struct options *options = state->input;

	if (key != ARGP_KEY_END)
		return parse_value(key, arg, state);
	must_be_folders(&options->symfs, "symfs");
	must_be_folders(&options->debug_dirs, "debug-dir");
	return 0;
}

static const struct argp_option search_options[] = {
	{ "symfs", OPTION_LIST(struct options, symfs), "DIR", 0,
	  "Look for modules in this copy of the target's file system (repeatable)", 0 },
	{ "debug-dir", OPTION_LIST(struct options, debug_dirs), "DIR", 0,
	  "Look for debug files in DIR instead of /usr/lib/debug (repeatable)", 0 },
	{ "module", OPTION_LIST(struct options, module_files), "FILE", 0,
	  "Use FILE for the module with the same build-id (repeatable)", 0 },
	{ "no-host-files", OPTION_FLAG(struct options, no_host_files), NULL, 0,
	  "Do not open files of this host by their recorded path", 0 },
	{ "no-inline", OPTION_FLAG(struct options, no_inlines), NULL, 0, "Hide inlined functions",
	  0 },
	{ "no-demangle", OPTION_FLAG(struct options, no_demangle), NULL, 0, "Do not demangle names",
	  0 },
	{ "no-frame-pointers", OPTION_FLAG(struct options, no_frame_pointers), NULL, 0,
	  "Stop where unwind information is missing, instead of trying the frame pointer", 0 },
	{ "runtime", KEY_RUNTIME, "HOW", 0,
	  "Show Python and Ruby functions among native ones (`interleaved`, the default), alone "
	  "(`only`), or not (`native`)",
	  0 },
	{ "python", KEY_RUNTIME, "HOW", OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "max-frames", KEY_MAX_FRAMES, "N", 0, "Limit traces to N frames (16384)", 0 },
	{ 0 }
};

const struct argp options_search = { .options = search_options, .parser = parse_search };

static const struct argp_option keys_options[] = {
	{ "identity", OPTION_LIST(struct options, identities), "KEYFILE", 0,
	  "Decrypt the capture with this secret key (repeatable)", 0 },
	{ 0 }
};

const struct argp options_keys = { .options = keys_options, .parser = options_store };

static const struct argp_option recipients_options[] = {
	{ "encrypt-to", OPTION_LIST(struct options, recipients), "PUBLIC_KEY", 0,
	  "Encrypt the new capture to this public key of 'stackreel keygen', or to the keys in "
	  "this file (repeatable)",
	  0 },
	{ 0 }
};

const struct argp options_recipients = { .options = recipients_options, .parser = options_store };

static error_t parse_rewrite(int key, char *arg, struct argp_state *state)
{
	const struct options *options = state->input;

	if (key != ARGP_KEY_END)
		return options_store(key, arg, state);
	if (!options->output)
		argp_error(state, "no output file; use -o FILE");
	if (options->decrypt && options->recipients.count)
		argp_error(state, "--decrypt and --encrypt-to exclude each other");
	return 0;
}

static const struct argp_option rewrite_options[] = {
	{ "decrypt", OPTION_FLAG(struct options, decrypt), NULL, 0,
	  "Write a plain capture although FILE is encrypted", 0 },
	{ 0 }
};

const struct argp options_rewrite = { .options = rewrite_options, .parser = parse_rewrite };

static error_t parse_sandbox(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options->sandbox = SANDBOX_BY_INPUT;
		return 0;
	case KEY_SANDBOX:
		options->sandbox = SANDBOX_ON;
		return 0;
	case KEY_NO_SANDBOX:
		options->sandbox = SANDBOX_OFF;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option sandbox_options[] = {
	{ "sandbox", KEY_SANDBOX, NULL, 0,
	  "Parse the capture in a sandbox (default for standard input, if the kernel supports it)",
	  0 },
	{ "no-sandbox", KEY_NO_SANDBOX, NULL, 0, "Never use the sandbox", 0 },
	{ 0 }
};

const struct argp options_sandbox = { .options = sandbox_options, .parser = parse_sandbox };

static bool is_url(const char *text)
{
	return strstr(text, "://") != NULL;
}

/* $STACKREEL_DEBUGINFOD (servers, or 1) replaces --debuginfod on every command line. */
static void read_debuginfod_environment(struct debuginfod_options *debuginfod)
{
	const char *wanted = getenv("STACKREEL_DEBUGINFOD");

	debuginfod->fetch = wanted && *wanted && strcmp(wanted, "0") != 0;
	debuginfod->urls = debuginfod->fetch && is_url(wanted) ? wanted : NULL;
}

static error_t parse_debuginfod(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct debuginfod_options *debuginfod = &options->debuginfod;
	const char *servers = getenv("DEBUGINFOD_URLS");

	switch (key) {
	case ARGP_KEY_INIT:
		read_debuginfod_environment(debuginfod);
		debuginfod->timeout = DEBUGINFOD_TIMEOUT;
		debuginfod->max_size = DEBUGINFOD_MAX_SIZE;
		return 0;
	case KEY_DEBUGINFOD:
		if (arg && !is_url(arg))
			options_error(state,
				      "--debuginfod: invalid server '%s' (expected e.g. "
				      "https://debuginfod.debian.net)",
				      arg);
		debuginfod->fetch = true;
		debuginfod->urls = arg;
		return 0;
	case KEY_NO_DEBUGINFOD:
		debuginfod->fetch = false;
		free(options->debuginfod_cache);
		options->debuginfod_cache = NULL;
		return 0;
	case KEY_DEBUGINFOD_TIMEOUT:
		options_check(state, "--debuginfod-timeout",
			      reel_quantity_duration(arg, &debuginfod->timeout));
		return 0;
	case KEY_DEBUGINFOD_MAX_SIZE:
		if (!limits_parse_size(arg, &debuginfod->max_size))
			options_error(state,
				      "--debuginfod-max-size: invalid size '%s' (expected e.g. "
				      "512M, 8G, or none)",
				      arg);
		return 0;
	case ARGP_KEY_END:
		if (debuginfod->fetch && !debuginfod->urls && !(servers && *servers))
			options_error(state, "--debuginfod: no servers; use e.g. "
					     "--debuginfod=https://debuginfod.debian.net, or set "
					     "DEBUGINFOD_URLS");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option debuginfod_options[] = {
	{ "debuginfod", KEY_DEBUGINFOD, "URLS", OPTION_ARG_OPTIONAL,
	  "Fetch missing files and debug information of modules with samples from these debuginfod "
	  "servers ($DEBUGINFOD_URLS)",
	  0 },
	{ "no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0,
	  "Do not fetch files, and ignore files fetched earlier", 0 },
	{ "debuginfod-timeout", KEY_DEBUGINFOD_TIMEOUT, "TIME", 0,
	  "Continue without files that take longer to fetch (300s)", 0 },
	{ "debuginfod-max-size", KEY_DEBUGINFOD_MAX_SIZE, "SIZE", 0,
	  "Do not fetch larger files; e.g. 512M, 8G, or 'none' (2G)", 0 },
	{ 0 }
};

const struct argp options_debuginfod = { .options = debuginfod_options,
					 .parser = parse_debuginfod };

static const struct argp_option quality_options[] = {
	{ "min-complete", KEY_MIN_COMPLETE, "PERCENT", 0,
	  "Exit with status 3 if fewer traces are complete", 0 },
	{ 0 }
};

const struct argp options_quality = { .options = quality_options, .parser = parse_value };

static const struct argp_option work_options[] = {
	{ "jobs", 'j', "N", 0,
	  "Unwind with N threads (default 0: one per CPU); does not change the output", 0 },
	{ 0 }
};

const struct argp options_work = { .options = work_options, .parser = parse_value };

/* ---- options for the library -------------------------------------------------------- */

#define UNWINDING                                                                                  \
	{ &options_search, 0, "Modules and symbols:", 2 },                                         \
		{ &options_debuginfod, 0, "Debuginfod servers:", 3 },                              \
		{ &options_quality, 0, "Quality:", 4 }, { &options_work, 0, "Speed:", 5 },         \
		{ &options_file, 0, "Input, output, limits:", 8 },                                 \
	{                                                                                          \
		&options_keys, 0, "Encrypted captures:", 7                                         \
	}

const struct argp_child options_of_traces[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	UNWINDING,
	{ &options_sandbox, 0, "Sandbox:", 6 },
	{ 0 },
};

const struct argp_child options_of_shards[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_shard, 0, NULL, 1 },
	UNWINDING,
	{ &options_sandbox, 0, "Sandbox:", 6 },
	{ 0 },
};

const struct argp_child options_of_fleets[] = {
	{ &options_filter, 0, "Sample selection:", 1 },
	{ &options_shard, 0, NULL, 1 },
	UNWINDING,
	{ 0 },
};

const struct argp_child options_of_rewriting[] = {
	{ &options_recipients, 0, NULL, 0 },
	{ &options_rewrite, 0, NULL, 0 },
	{ &options_search, 0, "Modules:", 1 },
	{ &options_keys, 0, "Encrypted captures:", 2 },
	{ &options_file, 0, "Input, output, limits:", 3 },
	{ 0 },
};

/* A command's parser and options. */
struct command_line {
	const struct argp *argp;
	void *options;
};

static error_t parse_command_line(int key, char *arg, struct argp_state *state)
{
	const struct command_line *line = state->input;
	const struct argp *argp = line->argp;
	error_t error;

	/* argp sets it anew for each call. */
	state->input = line->options;
	if (key == OPTION_KEY_NAMES) {
		parse_names(state, arg, line->options);
		return 0;
	}
	if (key == OPTION_KEY_VALUES) {
		options_add_values(state, arg, line->options);
		return 0;
	}
	if (key == ARGP_KEY_INIT) {
		for (size_t i = 0; argp->children && argp->children[i].argp; i++)
			state->child_inputs[i] = line->options;
	}
	error = options_store(key, arg, state);
	return error && argp->parser ? argp->parser(key, arg, state) : error;
}

void options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		   void *options)
{
	struct options *common = options;
	struct command_line line = { argp, options };
	struct argp whole = *argp;

	common->limits = limits_default();
	common->debuginfod_cache = debuginfod_cache_path();
	whole.parser = parse_command_line;
	argp_parse(&whole, argc, argv, flags, NULL, &line);
}

void options_free(struct options *options)
{
	free(options->symfs.items);
	free(options->debug_dirs.items);
	free(options->module_files.items);
	free(options->comms.items);
	free(options->identities.items);
	free(options->recipients.items);
	free(options->debuginfod_cache);
	free(options->pids.items);
	free(options->tids.items);
	free(options->cpus.items);
	free(options->labels.items);
	where_free(&options->wheres);
	free(options->shown_values.items);
	for (size_t i = 0; i < options->fields.count; i++) {
		free(options->fields.items[i].name);
		free(options->fields.items[i].complaint);
	}
	free(options->fields.items);
}

bool options_open_output(const struct options *options, struct output *ret)
{
	if (!output_open(ret, options->output))
		return false;
	ret->short_names = options->short_names;
	return true;
}

struct reel_open_options options_of_capture(const struct options *options)
{
	return (struct reel_open_options){
		.common = {
			.size = sizeof(struct reel_capture_options),
			.symfs = options->symfs.items,
			.debug_dirs = options->debug_dirs.items,
			.module_files = options->module_files.items,
			.no_host_files = options->no_host_files,
			.no_inlines = options->no_inlines,
			.no_demangle = options->no_demangle,
			.no_frame_pointers = options->no_frame_pointers,
			.max_frames = options->max_frames,
			.runtimes = options->runtimes,
			.identities = options->identities.items,
			.threads = options->threads,
			.debuginfod_cache = options->debuginfod_cache,
		},
		.may_be_locked = options->may_be_locked,
		.may_lack_header = options->may_lack_header,
		.from = options->from,
		.to = options->to,
		.samples_max = options->samples_max,
		.previous = options->previous,
	};
}

struct reel_walk_options options_of_walk(const struct options *options,
					 const struct reel_capture_info *info)
{
	uint64_t first = info->first_sample_time;

	return (struct reel_walk_options){
		.filter = {
			.size = sizeof(struct reel_filter),
			.pids = options->pids.items,
			.n_pids = options->pids.count,
			.tids = options->tids.items,
			.n_tids = options->tids.count,
			.comms = options->comms.items,
			.n_comms = options->comms.count,
			.cpus = options->cpus.items,
			.n_cpus = options->cpus.count,
			.from = options->from ? first + options->from : 0,
			.to = options->to ? first + options->to : 0,
			.labels = options->labels.items,
			.n_labels = options->labels.count,
			.stacks = options->stacks,
		},
		.shard = options->shard.number,
		.shards = options->shard.count,
		.wakers = options->wakers,
		.values = options->values,
		.n_values = options->n_values,
	};
}

bool options_are_of_part(const struct options *options)
{
	return options->may_be_idle || options->shard.count > 1;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

void inputs_select_shard(struct string_list *files, struct options *options)
{
	const struct shard *shard = &options->shard;
	size_t n = 0;

	if (!shard->count || files->count < 2)
		return;
	for (size_t i = shard->number; i < files->count; i += shard->count)
		files->items[n++] = files->items[i];
	files->count = n;
	options->may_be_idle = true;
	options->shard = (struct shard){ 0 };
}

void inputs_check(struct string_list *files, struct options *options, struct argp_state *state)
{
	if (!files->count)
		string_list_add(files, options->file);
	else if (strcmp(options->file, DEFAULT_CAPTURE) != 0)
		options_error(state,
			      "give captures either by -i or as arguments, not both: %s and %s",
			      options->file, files->items[0]);
	for (size_t i = 0; i + 1 < files->count; i++) {
		if (!strcmp(files->items[i], "-"))
			argp_error(state, "only the last capture can be standard input");
	}
	if (files->count > 1 && options->sandbox == SANDBOX_ON)
		argp_error(state, "--sandbox only works with a single capture");
	options->file = files->items[0];
	inputs_select_shard(files, options);
	limits_apply(&options->limits, options->file);
}
