/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stackreel script: every sample as `perf script` writes it, for FlameGraph's stackcollapse-perf.pl
 * and other tools that read this format.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/pointer_map.h"
#include "cli/profile/profile.h"
#include "cli/profile/symbols.h"
#include "cli/session/selection.h"

/* With perf script -F's names, in the order of output. */
enum field {
	FIELD_COMM = 1 << 0,
	FIELD_PID = 1 << 1,
	FIELD_TID = 1 << 2,
	FIELD_CPU = 1 << 3,
	FIELD_TIME = 1 << 4,
	FIELD_PERIOD = 1 << 5,
	FIELD_EVENT = 1 << 6,
	FIELD_SAMPLE = 1 << 7,
	FIELD_LABELS = 1 << 8,
	FIELD_IP = 1 << 9,
	FIELD_SYM = 1 << 10,
	FIELD_SYMOFF = 1 << 11,
	FIELD_DSO = 1 << 12,
	FIELD_SRCLINE = 1 << 13,
	FIELD_ARGS = 1 << 14,
	FIELD_LOCALS = 1 << 15,
};

static const char *const field_names[] = { "comm",  "pid",     "tid",	 "cpu",	  "time", "period",
					   "event", "sample",  "labels", "ip",	  "sym",  "symoff",
					   "dso",   "srcline", "args",	 "locals" };

#define FIELDS_OF_VALUES (FIELD_ARGS | FIELD_LOCALS)
#define FIELDS_OF_FRAMES (FIELD_SYM | FIELD_SYMOFF | FIELD_DSO | FIELD_SRCLINE | FIELDS_OF_VALUES)
#define FIELDS_DEFAULT	 ((FIELD_SRCLINE - 1u) & ~(FIELD_SAMPLE | FIELD_LABELS))

struct script_options {
	struct options common;
	bool ns;
	bool full_source_path;
	unsigned int fields;
};

/* ---- options ---------------------------------------------------------------------------- */

static unsigned int field_find(const char *name, size_t size, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(field_names) / sizeof(*field_names); i++) {
		if (strlen(field_names[i]) == size && !memcmp(field_names[i], name, size))
			return 1u << i;
	}
	options_error(state,
		      "-F: unknown field '%.*s' (expected comm, pid, tid, cpu, time, period, "
		      "event, sample, labels, ip, sym, symoff, dso, srcline, args or locals)",
		      (int)size, name);
	return 0;
}

/* A list of fields, or of changes to the current fields: +FIELD and -FIELD. */
static void parse_fields(struct script_options *options, const char *arg, struct argp_state *state)
{
	bool changes = *arg == '+' || *arg == '-';

	if (!changes)
		options->fields = 0;
	for (const char *at = arg;; at++) {
		char sign = *at == '+' || *at == '-' ? *at++ : '\0';
		size_t size = strcspn(at, ",");
		unsigned int field;

		if (!sign == changes) {
			options_error(state,
				      "-F: invalid list '%s' (expected fields, or only +FIELD and "
				      "-FIELD to add and remove fields)",
				      arg);
			return;
		}
		field = field_find(at, size, state);
		options->fields = sign == '-' ? options->fields & ~field : options->fields | field;
		at += size;
		if (!*at)
			return;
	}
}

static void check_fields(const struct script_options *options, struct argp_state *state)
{
	unsigned int fields = options->fields;

	if (!fields)
		argp_error(state, "-F: no fields left to print");
	if (fields & FIELDS_OF_FRAMES && !(fields & FIELD_IP))
		argp_error(state, "-F: sym, symoff, dso, srcline, args and locals require ip");
	if (fields & FIELD_SYMOFF && !(fields & FIELD_SYM))
		argp_error(state, "-F: symoff requires sym");
}

static error_t parse_script_option(int key, char *arg, struct argp_state *state)
{
	struct script_options *options = state->input;

	switch (key) {
	case 'F':
		parse_fields(options, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_fields(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "fields", 'F', "FIELD,...", 0,
	  "Print these fields: comm, pid, tid, cpu, time, period, event, labels, ip, sym, symoff, "
	  "dso, srcline, args, locals; +FIELD adds a field and -FIELD removes one (default: all "
	  "but "
	  "labels, srcline, args and locals)",
	  0 },
	{ "ns", OPTION_FLAG(struct script_options, ns), NULL, 0,
	  "Print times with nine digits instead of six", 0 },
	{ "full-source-path", OPTION_FLAG(struct script_options, full_source_path), NULL, 0,
	  "Print source files with their folders (srcline)", 0 },
	{ 0 }
};

static const struct argp parser = {
	.options = own_options,
	.parser = parse_script_option,
	.args_doc = "[FILE]",
	.doc = "Print every sample with its stack, in the format of perf script.\v"
	       "FILE defaults to " DEFAULT_CAPTURE
	       "; '-' is standard input. A trace that could not be unwound to its root ends with a "
	       "comment, '# stop: reason'; that of a thread that was not on a CPU with '# state: "
	       "blocked', 'preempted' or 'woken'.",
	.children = options_of_shards,
};

/* ---- printing ---------------------------------------------------------------------------- */

struct script {
	const struct script_options *options;
	struct output output;
	/* Each frame's text after the address. */
	struct pointer_map labels;
	/* The printed form of each of the library's comm strings. */
	struct pointer_map comms;
};

static void free_values(struct pointer_map *map)
{
	for (size_t i = 0; i < map->n_slots; i++)
		free(map->slots[i].value);
	pointer_map_free(map);
}

/*
 * stackcollapse-perf.pl treats `(` as the start of the arguments and drops the rest, which would
 * lose functions in unnamed namespaces. So write {anonymous}, as GCC's messages do.
 */
static char *without_anonymous_namespace(const char *function)
{
	static const char from[] = "(anonymous namespace)", to[] = "{anonymous}";
	char *text = memory_print("%s", function), *at = text;

	while ((at = strstr(at, from))) {
		memcpy(at, to, sizeof(to) - 1);
		memmove(at + sizeof(to) - 1, at + sizeof(from) - 1,
			strlen(at + sizeof(from) - 1) + 1);
	}
	return text;
}

static const char *shown_module(const char *escaped)
{
	if (!strcmp(escaped, "[kernel]"))
		return "[kernel.kallsyms]";
	return *escaped ? escaped : "[unknown]";
}

/*
 * "\n  file.c:12": perf prints it on a separate line. Without a line number, the code's location.
 */
static char *make_source_line(const struct script_options *options, const struct reel_frame *frame)
{
	_cleanup_free_ char *text = NULL;

	if (*frame->file)
		text = text_escape(options->full_source_path ? frame->file : path_base(frame->file),
				   "");
	if (text)
		return memory_print("\n  %s:%" PRIu32, text, frame->line);
	if (!*frame->module_path)
		return memory_print("%s", "");
	text = text_escape(path_base(frame->module_path), " ");
	return memory_print("\n  %s[%" PRIx64 "]", text, frame->module_address);
}

/* The text after the address: function, offset and module, as selected. */
static char *make_label(const struct script_options *options, const struct reel_frame *frame)
{
	_cleanup_free_ char *name = frame->is_fde ? frame_name(frame) : NULL;
	_cleanup_free_ char *plain = without_anonymous_namespace(name ? name : frame->function);
	_cleanup_free_ char *function = text_escape(plain, "");
	/* A blank would end the module's name. */
	_cleanup_free_ char *module =
		text_escape(frame->runtime && *frame->file ? frame->file : frame->module_path, " ");
	_cleanup_free_ char *line = NULL;
	/* A dropped part of the stack: not a function, and without addresses. */
	bool is_gap = *function && !frame->module_address && !*module && !frame->kernel;
	bool inlined = frame->inlined && *function;
	bool has_offset = *function && !is_gap && !inlined && !frame->runtime;
	unsigned int fields = options->fields;
	char offset[24] = "";

	if (fields & FIELD_SYMOFF && has_offset)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, frame->function_offset);
	if (fields & FIELD_SRCLINE && !is_gap)
		line = make_source_line(options, frame);
	return memory_print("%s%s%s%s%s%s%s%s\n", fields & FIELD_SYM ? " " : "",
			    !(fields & FIELD_SYM) ? ""
			    : *function		  ? function
						  : "[unknown]",
			    offset, fields & FIELD_DSO && !inlined ? " (" : "",
			    fields & FIELD_DSO && !inlined ? shown_module(module) : "",
			    fields & FIELD_DSO && !inlined ? ")" : "", line ? line : "",
			    inlined ? " (inlined)" : "");
}

/* The values of the frame, from `*at` on: "\n  name = value". */
static void print_values(const struct reel_trace *trace, size_t frame, size_t *at, FILE *file)
{
	for (; *at < trace->n_values && trace->values[*at].frame == frame; ++*at) {
		const struct reel_frame_value *value = &trace->values[*at];
		_cleanup_free_ char *name = text_escape(value->name, "");
		_cleanup_free_ char *text = text_escape(value->text, "");

		if (value->state == REEL_VALUE_KNOWN)
			fprintf(file, "  %s = %s\n", name, text);
		else
			fprintf(file, "  %s = <%s>\n", name, reel_value_state_name(value->state));
	}
}

static const char *label_of(struct script *script, const struct reel_frame *frame)
{
	char *label = pointer_map_get(&script->labels, frame);

	if (!label) {
		label = make_label(script->options, frame);
		pointer_map_put(&script->labels, frame, label);
	}
	return label;
}

/* Parsers do not understand names of more than two words or with blanks around them. */
static char *make_comm(const char *comm)
{
	char *text = text_escape(comm, "");
	size_t length = strlen(text), blanks = 0;

	for (size_t i = 0; i < length; i++)
		blanks += text[i] == ' ';
	if (blanks > 1 || (length && (text[0] == ' ' || text[length - 1] == ' '))) {
		for (size_t i = 0; i < length; i++) {
			if (text[i] == ' ')
				text[i] = '_';
		}
	}
	return text;
}

static const char *comm_of(struct script *script, const char *comm)
{
	char *text = pointer_map_get(&script->comms, comm);

	if (!text) {
		text = make_comm(comm);
		pointer_map_put(&script->comms, comm, text);
	}
	return text;
}

static void print_comm(struct script *script, const struct reel_trace *trace)
{
	const char *comm = comm_of(script, trace->comm);
	/* Lines without a stack are in columns, as perf's. */
	int width = script->options->fields & FIELD_IP ? 0 : 16;
	struct short_text tid;

	/* As perf names a thread without a name. */
	snprintf(tid.text, sizeof(tid.text), ":%" PRIu32, trace->tid);
	fprintf(script->output.file, "%*s", width, *comm ? comm : tid.text);
}

static void print_ids(const struct reel_trace *trace, unsigned int fields, FILE *file)
{
	if (fields & FIELD_PID && fields & FIELD_TID)
		fprintf(file, "%5" PRIu32 "/%-5" PRIu32, trace->pid, trace->tid);
	else
		fprintf(file, "%5" PRIu32, fields & FIELD_PID ? trace->pid : trace->tid);
}

static void print_time(uint64_t time, bool ns, FILE *file)
{
	uint64_t second = 1000000000, part = time % second;

	fprintf(file, "%5" PRIu64 ".%0*" PRIu64 ":", time / second, ns ? 9 : 6,
		ns ? part : part / 1000);
}

static void print_event_name(const struct reel_event_info *event, FILE *file)
{
	_cleanup_free_ char *name = text_escape(event_name(event), " ");

	fprintf(file, "%s:", name);
}

static void print_labels(const struct reel_trace *trace, FILE *file)
{
	_cleanup_free_ char *text = labels_text(trace);

	fputs(text, file);
}

/* Each field of the sample, separated by blanks. */
static void print_sample(struct script *script, const struct reel_trace *trace,
			 const struct reel_event_info *event)
{
	unsigned int fields = script->options->fields, left = fields & (FIELD_IP - 1);
	FILE *file = script->output.file;

	if (fields & FIELD_PID && fields & FIELD_TID)
		left &= ~(unsigned int)FIELD_TID;
	for (; left; left &= left - 1) {
		switch (left & -left) {
		case FIELD_COMM:
			print_comm(script, trace);
			break;
		case FIELD_PID:
		case FIELD_TID:
			print_ids(trace, fields, file);
			break;
		case FIELD_CPU:
			fprintf(file, "[%03" PRIu32 "]", trace->cpu);
			break;
		case FIELD_TIME:
			print_time(trace->time, script->options->ns, file);
			break;
		case FIELD_PERIOD:
			fprintf(file, "%10" PRIu64, trace->weight);
			break;
		case FIELD_EVENT:
			print_event_name(event, file);
			break;
		case FIELD_SAMPLE:
			fprintf(file, "sample=%" PRIu64, trace->id);
			break;
		case FIELD_LABELS:
			print_labels(trace, file);
			break;
		}
		if (left & (left - 1))
			fputc(' ', file);
	}
	fputc('\n', file);
}

/* "\t    7f0123456789", without printf: this is most of the output. */
static void print_address(uint64_t address, FILE *file)
{
	static const char hex[] = "0123456789abcdef";
	char text[17] = "\t               0";

	for (size_t i = 16; address; i--, address >>= 4)
		text[i] = hex[address & 15];
	fwrite_unlocked(text, 1, sizeof(text), file);
}

static void print_stack(struct script *script, const struct reel_trace *trace)
{
	FILE *file = script->output.file;
	size_t value = 0;

	for (size_t i = 0; i < trace->n_frames; i++) {
		print_address(trace->addresses[i], file);
		fputs_unlocked(label_of(script, trace->frames[i]), file);
		print_values(trace, i, &value, file);
	}
	if (trace->state)
		fprintf(file, "# state: %s\n", reel_state_name(trace->state));
	if (trace_is_cut(trace))
		fprintf(file, "# stop: %s\n", reel_stop_name(trace->stop));
	fputc('\n', file);
}

static bool print_trace(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct script *script = context;

	print_sample(script, trace, event);
	if (script->options->fields & FIELD_IP)
		print_stack(script, trace);
	return !output_is_broken(&script->output);
}

static void script_free(struct script *script)
{
	free_values(&script->labels);
	free_values(&script->comms);
}

int command_script(int argc, char **argv)
{
	struct script_options options = { .fields = FIELDS_DEFAULT };
	struct script script = { .options = &options };
	struct reel_value_request request = { .function = NULL };
	struct session session;
	int status = STATUS_ERROR;

	options_parse(&parser, argc, argv, 0, &options);
	request.locals = options.fields & FIELD_LOCALS;
	if (options.fields & FIELDS_OF_VALUES) {
		options.common.values = &request;
		options.common.n_values = 1;
	}
	if (session_open(&session, &options.common) &&
	    output_open(&script.output, options.common.output)) {
		bool ok;

		if (script.output.terminal)
			session.progress.on = false;
		ok = session_visit(&session, print_trace, &script);
		session_warn(&session);
		status = output_close(&script.output, ok ? session_status(&session) : STATUS_ERROR);
	}
	script_free(&script);
	session_close(&session);
	options_free(&options.common);
	return status;
}

/* ---- export --format=perf-script ---------------------------------------------------------- */

static void *export_open(const struct export_target *target)
{
	static const struct script_options as_perf = { .fields = FIELDS_DEFAULT };
	struct script *script = memory_get(sizeof(*script));

	script->options = &as_perf;
	script->output.file = target->file;
	return script;
}

static bool export_begin(void *state, struct session *session, const char *path)
{
	struct script *script = state;

	(void)session;
	(void)path;
	/* Frames and names belonged to the previous capture. */
	script_free(script);
	return true;
}

static bool export_close(void *state, bool ok)
{
	script_free(state);
	free(state);
	return ok;
}

const struct export_format export_perf_script = {
	.name = "perf-script",
	.summary = "the text of script, for programs that read perf script",
	.open = export_open,
	.begin_capture = export_begin,
	.add = print_trace,
	.close = export_close,
};
