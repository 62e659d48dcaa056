/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stackreel script: every sample as `perf script` writes it, for FlameGraph's
 * stackcollapse-perf.pl and other tools that read that.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/report/pointer_map.h"
#include "cli/report/profile.h"
#include "cli/report/symbols.h"

enum {
	KEY_NS = OPTION_KEY_OWN,
};

struct script_options {
	struct options common;
	bool ns;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct script_options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		options_set_inputs(state, options_of_traces, &options->common);
		return 0;
	case KEY_NS:
		options->ns = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option own_options[] = {
	{ "ns", KEY_NS, NULL, 0, "Times with nine digits instead of six", 0 }, { 0 }
};

static const struct argp parser = {
	own_options,
	parse_option,
	"[FILE]",
	"Prints every sample with its stack, as perf script does.\v"
	"FILE is " DEFAULT_CAPTURE
	" if not given, `-' is standard input. A trace that could not be "
	"unwound to its root ends with a comment, `# stop: reason'.",
	options_of_traces,
	NULL,
	NULL,
};

/* ---- printing ---------------------------------------------------------------------------- */

struct script {
	const struct script_options *options;
	struct output output;
	/* What stands behind the address, of each frame. */
	struct pointer_map labels;
	/* Comms as printed, of each string of the library's. */
	struct pointer_map comms;
};

static void free_values(struct pointer_map *map)
{
	for (size_t i = 0; i < map->n_slots; i++)
		free(map->slots[i].value);
	pointer_map_free(map);
}

/*
 * stackcollapse-perf.pl takes `(` for the beginning of the arguments and drops what follows, so
 * the functions of unnamed namespaces would be lost: as GCC's messages do, write {anonymous}.
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

static char *make_label(const struct reel_frame *frame)
{
	_cleanup_free_ char *name = frame->is_fde ? frame_name(frame) : NULL;
	_cleanup_free_ char *plain = without_anonymous_namespace(name ? name : frame->function);
	_cleanup_free_ char *function = text_escape(plain, "");
	/* A blank would end the module's name. */
	_cleanup_free_ char *module = text_escape(frame->module_path, " ");
	const char *shown = module;

	if (!strcmp(module, "[kernel]"))
		shown = "[kernel.kallsyms]";
	else if (!*module)
		shown = "[unknown]";
	if (!*function)
		return memory_print("[unknown] (%s)\n", shown);
	/* A part of the stack was not kept: that is no function, and has no addresses. */
	if (!frame->module_address && !*module && !frame->kernel)
		return memory_print("%s (%s)\n", function, shown);
	if (frame->inlined)
		return memory_print("%s (inlined)\n", function);
	return memory_print("%s+0x%" PRIx64 " (%s)\n", function, frame->function_offset, shown);
}

static const char *label_of(struct script *script, const struct reel_frame *frame)
{
	char *label = pointer_map_get(&script->labels, frame);

	if (!label) {
		label = make_label(frame);
		pointer_map_put(&script->labels, frame, label);
	}
	return label;
}

/* Names of more than two words, or with blanks around them, are not understood by parsers. */
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

static void print_event(struct script *script, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	_cleanup_free_ char *name = text_escape(event_name(event), " ");
	const char *comm = comm_of(script, trace->comm);
	uint64_t second = 1000000000, part = trace->time % second;
	FILE *file = script->output.file;

	/* As perf names a thread without a name. */
	if (*comm)
		fputs(comm, file);
	else
		fprintf(file, ":%" PRIu32, trace->tid);
	fprintf(file, " %5" PRIu32 "/%-5" PRIu32 " [%03" PRIu32 "] %5" PRIu64 ".", trace->pid,
		trace->tid, trace->cpu, trace->time / second);
	if (script->options->ns)
		fprintf(file, "%09" PRIu64, part);
	else
		fprintf(file, "%06" PRIu64, part / 1000);
	fprintf(file, ": %10" PRIu64 " %s:\n", trace->weight, name);
}

/* "\t    7f0123456789 ", without printf: this is most of the output. */
static void print_address(uint64_t address, FILE *file)
{
	static const char hex[] = "0123456789abcdef";
	char text[18] = "\t               0 ";

	for (size_t i = 16; address; i--, address >>= 4)
		text[i] = hex[address & 15];
	fwrite_unlocked(text, 1, sizeof(text), file);
}

static bool print_trace(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct script *script = context;
	FILE *file = script->output.file;

	print_event(script, trace, event);
	for (size_t i = 0; i < trace->n_frames; i++) {
		print_address(trace->addresses[i], file);
		fputs_unlocked(label_of(script, trace->frames[i]), file);
	}
	if (trace_is_cut(trace))
		fprintf(file, "# stop: %s\n", reel_stop_name(trace->stop));
	fputc('\n', file);
	return !output_is_broken(&script->output);
}

static void script_free(struct script *script)
{
	free_values(&script->labels);
	free_values(&script->comms);
}

int command_script(int argc, char **argv)
{
	struct script_options options = { 0 };
	struct script script = { .options = &options };
	struct session session;
	int status = STATUS_ERROR;

	options_init(&options.common);
	argp_parse(&parser, argc, argv, 0, NULL, &options);
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
	static const struct script_options as_perf = { 0 };
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
	/* Frames and names were another capture's. */
	script_free(script);
	return true;
}

static bool export_end(void *state, struct session *session)
{
	(void)state;
	(void)session;
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
	.summary = "what script prints, for what reads perf script's text",
	.open = export_open,
	.begin_capture = export_begin,
	.add = print_trace,
	.end_capture = export_end,
	.close = export_close,
};
