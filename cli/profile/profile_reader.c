/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/print/text.h"
#include "cli/profile/profile_file.h"
#include "host/system.h"

struct function {
	struct symbol *symbol;
	bool is_mark;
};

struct reading {
	const char *path;
	FILE *file;
	char *line;
	size_t capacity;
	uint64_t number; /* of the line, from 1 on */
	bool ended;

	struct profiles *profiles;
	struct profile_totals *totals;
	struct function *functions;
	size_t n_functions, functions_capacity;
	/* The current profile; NULL before the first. */
	struct profile *profile;
	/* Counts of the event's traces, by their ends and by their stacks. */
	uint64_t n_stops, n_samples;
	/* By depth; [0] is the root. */
	uint32_t *nodes;
	size_t depth, nodes_capacity;
};

/* Reports the problem and returns false. */
static bool blame(const struct reading *reading, const char *what)
{
	complain("%s: line %llu: %s", reading->path, (unsigned long long)reading->number, what);
	return false;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Parses a number at *text, and moves *text past it and the following blank or tab. */
static bool parse_number(char **text, uint64_t *ret)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*ret = strtoull(*text, &end, 10);
	if (errno || (*end && *end != ' ' && *end != '\t'))
		return false;
	*text = *end ? end + 1 : end;
	return true;
}

/* Returns the next field and moves *text past it; NULL after the last one. */
static char *next_field(char **text)
{
	return strsep(text, "\t");
}

/* Adds the number in `text`, up to its end or first tab. */
static bool add_number(struct reading *reading, char **text, uint64_t *to)
{
	uint64_t number;

	if (!parse_number(text, &number))
		return blame(reading, "invalid number (expected at most 64 bits)");
	return profile_number_add(to, number) || blame(reading, "sum does not fit in 64 bits");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool read_lost(struct reading *reading, char *text)
{
	uint64_t number = 0;

	if (!add_number(reading, &text, &number))
		return false;
	for (int cause = 0; cause < REEL_LOSS_COUNT; cause++) {
		if (!strcmp(text, reel_loss_name(cause)))
			return profile_number_add(&reading->totals->lost[cause], number) ||
			       blame(reading, "number of losses does not fit in 64 bits");
	}
	return blame(reading, "unknown cause of a loss");
}

static bool read_function(struct reading *reading, char *text)
{
	char *flags = next_field(&text), *name = next_field(&text), *module = next_field(&text);
	struct symbol_table *symbols = &reading->profiles->symbols;
	struct function function;

	if (!module || text || strspn(flags, "kinp-") != strlen(flags) || reading->profile)
		return blame(
			reading,
			"invalid function (expected flags, name and module, before all events)");
	if (!text_unescape(name) || !text_unescape(module))
		return blame(reading, "invalid escape (\\)");
	function.is_mark = strchr(flags, 'p');
	if (function.is_mark)
		function.symbol = symbol_of_group(symbols, name);
	else
		function.symbol = symbol_of_parts(symbols, &(struct symbol_parts){
								   .name = name,
								   .module = module,
								   .kernel = strchr(flags, 'k'),
								   .inlined = strchr(flags, 'i'),
								   .function = !strchr(flags, 'n'),
							   });
	reading->functions = memory_reserve(reading->functions, &reading->functions_capacity,
					    reading->n_functions, sizeof(*reading->functions));
	reading->functions[reading->n_functions++] = function;
	return true;
}

/* The event ends: each trace has one end, and one stack. */
static bool end_event(struct reading *reading)
{
	if (reading->n_stops != reading->n_samples)
		return blame(reading,
			     "the previous event's numbers of stacks and of trace ends differ");
	reading->n_stops = reading->n_samples = 0;
	return true;
}

static bool read_event(struct reading *reading, char *text)
{
	char *unit = next_field(&text), *name = next_field(&text);
	bool is_time = unit && !strcmp(unit, "ns");
	struct reel_event_info event = { .weight_unit = is_time ? "ns" : "" };

	if (!name || !*name || text || (!is_time && strcmp(unit, "count") != 0) ||
	    !text_unescape(name))
		return blame(reading, "invalid event (expected 'ns' or 'count', and a name)");
	if (!end_event(reading))
		return false;
	event.name = name;
	reading->profile = profiles_get(reading->profiles, &event);
	/* The name is the line's. */
	profiles_leave_capture(reading->profiles);
	reading->depth = 0;
	return true;
}

static bool read_stop(struct reading *reading, char *text)
{
	struct quality *quality = &reading->profile->quality;
	uint64_t number = 0;

	if (!add_number(reading, &text, &number))
		return false;
	for (int stop = 0; stop < REEL_STOP_COUNT; stop++) {
		if (!strcmp(text, reel_stop_name(stop)))
			return (profile_number_add(&quality->stops[stop], number) &&
				profile_number_add(&quality->traces, number) &&
				profile_number_add(&reading->n_stops, number)) ||
			       blame(reading, "number of traces does not fit in 64 bits");
	}
	return blame(reading, "unknown end of a trace; a later version may have written this file");
}

static bool read_kernel_alone(struct reading *reading, char *text)
{
	struct quality *quality = &reading->profile->quality;
	uint64_t number = 0;

	return add_number(reading, &text, &number) &&
	       ((profile_number_add(&quality->without_stack, number) &&
		 profile_number_add(&quality->traces, number) &&
		 profile_number_add(&reading->n_stops, number)) ||
		blame(reading, "number of traces does not fit in 64 bits"));
}

static void set_node(struct reading *reading, uint64_t depth, uint32_t node)
{
	reading->nodes = memory_reserve(reading->nodes, &reading->nodes_capacity, depth,
					sizeof(*reading->nodes));
	reading->nodes[depth] = node;
	reading->depth = depth;
}

static bool add_amount(struct reading *reading, char *text, uint32_t node)
{
	struct profile *profile = reading->profile;
	struct amount amount;

	if (!*text)
		return true;
	if (!parse_number(&text, &amount.samples) || !parse_number(&text, &amount.weight) ||
	    *text || !amount.samples)
		return blame(reading, "invalid samples or weight (expected at most 64 bits)");
	if (!profile_add_sum(profile, amount) ||
	    !profile_number_add(&reading->n_samples, amount.samples))
		return blame(reading, "sum of weights or samples does not fit in 64 bits");
	amount_add(&profile->tree.nodes[node].self, amount);
	return true;
}

static bool read_node(struct reading *reading, char *text)
{
	uint64_t depth, number;
	struct function function;
	uint32_t node;

	if (!reading->profile)
		return blame(reading, "stack before the first event");
	if (!parse_number(&text, &depth) || !parse_number(&text, &number) || !depth ||
	    depth > reading->depth + 1)
		return blame(reading, "invalid depth or missing function");
	if (number >= reading->n_functions)
		return blame(reading, "undefined function number");
	function = reading->functions[number];
	if (function.is_mark && depth > 1)
		return blame(reading, "mark below the root");
	if (!reading->depth)
		set_node(reading, 0, CALL_TREE_ROOT);
	node = reading->nodes[depth - 1];
	/* A table has no marks. */
	if (!function.is_mark || reading->profiles->mark_cut)
		node = call_tree_child(&reading->profile->tree, node, function.symbol);
	set_node(reading, depth, node);
	return add_amount(reading, text, node);
}

static uint64_t *number_named(const struct profile_number *numbers, void *of, const char *name)
{
	for (; numbers->name; numbers++) {
		if (!strcmp(name, numbers->name))
			return (uint64_t *)((char *)of + numbers->offset);
	}
	return NULL;
}

static bool read_named(struct reading *reading, const char *name, char *text)
{
	struct profile *profile = reading->profile;
	uint64_t *number = number_named(profile_total_numbers, reading->totals, name);

	if (!strcmp(name, "function"))
		return read_function(reading, text);
	if (!strcmp(name, "event"))
		return read_event(reading, text);
	if (!strcmp(name, "lost"))
		return read_lost(reading, text);
	if (profile && !strcmp(name, "stop"))
		return read_stop(reading, text);
	if (profile && !strcmp(name, "kernel_alone"))
		return read_kernel_alone(reading, text);
	if (!number && profile)
		number = number_named(profile_quality_numbers, &profile->quality, name);
	if (!number)
		return blame(reading, "unknown or misplaced line");
	return add_number(reading, &text, number) &&
	       (!*text || blame(reading, "unexpected text after the number"));
}

static bool read_line(struct reading *reading)
{
	char *text = reading->line, *name;

	if (*text >= '0' && *text <= '9')
		return read_node(reading, text);
	reading->ended = !strcmp(text, "end");
	if (reading->ended)
		return end_event(reading);
	name = next_field(&text);
	return text ? read_named(reading, name, text) : blame(reading, "invalid line");
}

static bool read_lines(struct reading *reading)
{
	ssize_t size;

	while (!reading->ended) {
		size = getline(&reading->line, &reading->capacity, reading->file);
		reading->number++;
		if (size < 0)
			return blame(reading, "end is missing; the file was cut");
		if (memchr(reading->line, '\0', (size_t)size) || reading->line[size - 1] != '\n')
			return blame(reading, "not a line of text");
		reading->line[size - 1] = '\0';
		if (reading->number == 1)
			continue; /* profile_file_is */
		if (!read_line(reading))
			return false;
	}
	return getc(reading->file) == EOF || blame(reading, "unexpected text after the end");
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_input(const char *path)
{
	if (!strcmp(path, "-"))
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* What `fd` has, which stays unread. */
enum { NEITHER, PROFILE, FOLDED };

static int kind_of(int fd)
{
	char head[PROFILE_HEAD_SIZE];
	ssize_t size = reel_system_peek(fd, head, sizeof(head));
	size_t signature = strlen(PROFILE_SIGNATURE);

	if (size >= (ssize_t)signature && !memcmp(head, PROFILE_SIGNATURE, signature))
		return PROFILE;
	return size > 0 && folded_text_is(head, (size_t)size) ? FOLDED : NEITHER;
}

bool profile_file_is(const char *path)
{
	_cleanup_fd_ int fd = -1;
	struct stat status;

	/* A named pipe's writer would notice that it is opened twice. */
	if (strcmp(path, "-") != 0 && (stat(path, &status) || !S_ISREG(status.st_mode)))
		return false;
	fd = open_input(path);
	return fd >= 0 && kind_of(fd) != NEITHER;
}

bool profile_file_read(const char *path, struct profiles *profiles, struct profile_totals *totals)
{
	int fd = open_input(path);
	struct reading reading = {
		.path = path,
		.file = fd < 0 ? NULL : fdopen(fd, "r"),
		.profiles = profiles,
		.totals = totals,
	};
	bool ok;

	if (!reading.file) {
		complain("%s: %s", path, strerror(errno));
		return false;
	}
	ok = kind_of(fd) == FOLDED ? folded_text_read(reading.file, path, profiles, totals)
				   : read_lines(&reading);
	fclose(reading.file);
	free(reading.line);
	free(reading.functions);
	free(reading.nodes);
	return ok;
}
