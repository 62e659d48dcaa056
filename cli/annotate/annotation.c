/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/annotate/annotation.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/session/summary.h"

/* ---- skid -------------------------------------------------------------------------------- */

/*
 * How far a sample's address may be from its instruction.  A capture stores its event's perf type
 * and its name, whose modifiers show whether it was precise (perf_event_attr.precise_ip).
 */

/* From Linux's enum perf_type_id; the CPU counts the other types; SPEC.md, EVENT. */
enum {
	TYPE_SOFTWARE = 1,
	TYPE_TRACEPOINT = 2,
	TYPE_BREAKPOINT = 5,
	TYPE_NONE = UINT32_MAX,
};

struct search {
	uint32_t id;
	uint64_t type;
	bool found;
};

static bool is_number(const struct reel_field *field, const char *name)
{
	return field->kind == REEL_FIELD_UNSIGNED && !strcmp(field->name, name);
}

static bool record_type(void *context, const struct reel_record_view *record)
{
	struct search *search = context;
	uint64_t id = 0, type = 0;

	if (strcmp(record->name, "EVENT") != 0)
		return true;
	for (size_t i = 0; i < record->n_fields; i++) {
		if (is_number(&record->fields[i], "id"))
			id = record->fields[i].value;
		else if (is_number(&record->fields[i], "perf_type"))
			type = record->fields[i].value;
	}
	search->found = id == search->id;
	search->type = type;
	return !search->found;
}

/* "cycles:ppp" is 3; perf's P is the highest possible precision. */
static unsigned int precision_of(const char *name)
{
	const char *colon = strrchr(name, ':');
	unsigned int n = 0;

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "ukpPhHGSDWIeb")])
		return 0;
	for (const char *at = colon + 1; *at; at++)
		n += *at == 'p' ? 1 : *at == 'P' ? 3 : 0;
	return n;
}

static bool is_clock(const char *name)
{
	return !strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10);
}

static const char *describe(uint64_t type, const char *name, const char *arch)
{
	bool is_x86 = !strcmp(arch, "x86_64") || !strcmp(arch, "i386");

	if (type == TYPE_SOFTWARE && is_clock(name))
		return "sampled by a timer: time is attributed to the instruction after the slow "
		       "one";
	if (type == TYPE_SOFTWARE || type == TYPE_TRACEPOINT || type == TYPE_NONE)
		return "none: sampled where the kernel counts the event, or at the preceding "
		       "system call";
	if (type == TYPE_BREAKPOINT)
		return "at most one instruction: sampled at a breakpoint";
	switch (precision_of(name)) {
	case 0:
		return is_x86 ? "sampled without precise events (such as cycles:pp): "
				"addresses may be some instructions late"
			      : "sampled without precise events: addresses may be some "
				"instructions late";
	case 1:
		return "sampled with a precise event (:p): addresses are late by a constant, "
		       "usually one instruction";
	default:
		return "sampled with a precise event: addresses are exact";
	}
}

/* One sentence; a constant.  False after a reported error: the capture could not be read. */
static bool skid_describe(const struct session *session, const struct reel_event_info *event,
			  const char **ret)
{
	struct search search = { 0 };

	*ret = "unknown, since the type of event was not recorded";
	if (!event)
		return true;
	search.id = event->id;
	if (!no_error(reel_capture_visit_side_records(session->capture, record_type, &search)))
		return false;
	if (search.found)
		*ret = describe(search.type, event->name, session->info->arch);
	return true;
}

/* ---- making ------------------------------------------------------------------------------ */

bool annotation_make(struct annotation *annotation, struct session *session,
		     const struct functions *functions, const struct function *function,
		     const struct annotation_look *look)
{
	*annotation = (struct annotation){
		.look = look,
		.session = session,
		.sources = { .session = session, .folders = look->folders },
	};
	annotation->view = (struct view){
		.listing = &annotation->listing,
		.name = function->name,
		.sources =
			look->no_source && !function->frame->runtime ? NULL : &annotation->sources,
		.shows_bytes = look->bytes,
		.shows_all = look->all,
		.event = functions->event,
	};
	return skid_describe(session, functions->event, &annotation->view.skid) &&
	       listing_make(&annotation->listing, session, functions, function, look->intel);
}

void annotation_free(struct annotation *annotation)
{
	listing_free(&annotation->listing);
	source_files_free(&annotation->sources);
}

/* ---- the header ------------------------------------------------------------------------- */

static struct short_text weight_text(const struct listing *listing, uint64_t weight)
{
	return listing->is_time ? format_nanoseconds(weight) : format_count(weight);
}

/* Reports the file that has the code, and how to get it. */
static bool print_missing_code(const struct listing *listing, const struct session *session,
			       FILE *file)
{
	REEL_SIZED(reel_module_info, module);
	_cleanup_free_ char *build_id = NULL, *problem = NULL;

	if (!no_error(reel_capture_module(session->capture, listing->info->module_id, &module)))
		return false;
	fprintf(file, "# code is missing: %s of the function",
		format_plural(listing->bytes_missing, "byte").text);
	if (!module.id) {
		fputs(", and the file with this code is unknown\n", file);
		return true;
	}
	if (module.kind == REEL_MODULE_ANONYMOUS) {
		fputs(", which is not in a file and was not recorded\n", file);
		return true;
	}
	build_id = text_escape(module.build_id, "");
	problem = text_escape(module.problem, "");
	if (*problem)
		fprintf(file, ": %s\n", problem);
	else
		fprintf(file,
			"; use --module, --symfs or --debuginfod to add the %s\n"
			"# its build-id: %s\n",
			module.kind == REEL_MODULE_KERNEL ? "kernel (vmlinux)" : "file",
			*build_id ? build_id : "not recorded");
	return true;
}

static void print_code(const struct listing *listing, FILE *file)
{
	const struct reel_function_info *info = listing->info;
	_cleanup_free_ char *path = text_escape(info->code_path, "");

	if (info->embedded && *path)
		fprintf(file, "# code: %s, the parts in the capture\n", path);
	else if (info->embedded)
		fputs("# code: as recorded\n", file);
	else if (*path)
		fprintf(file, "# code: %s\n", path);
	if (!*info->arch)
		fputs("# instructions: not disassembled, unknown CPU\n", file);
	else if (!*info->disassembler)
		fprintf(file,
			"# instructions: not disassembled, capstone does not support %s; capstone "
			"5 supports all CPUs of captures\n",
			info->arch);
	else if (listing->unknown)
		fprintf(file, "# instructions: %s not disassembled, unknown to %s\n",
			format_count(listing->unknown).text, info->disassembler);
}

static bool print_header(const struct view *view, const struct session *session, FILE *file)
{
	const struct listing *listing = view->listing;
	_cleanup_free_ char *name = text_escape(view->name, "");
	_cleanup_free_ char *module = text_escape(module_name(listing->info->module_path), "");
	_cleanup_free_ char *event = text_escape(event_name(view->event), "");
	const char *unit = listing->is_time ? ", " : "";

	fputs("# ", file);
	summary_print_origin(session, file);
	if (listing->is_source)
		fprintf(file, "\n# %s %s\n", name, module);
	else
		fprintf(file, "\n# %s (%s+0x%" PRIx64 "), %s\n", name,
			*module ? module : "[unknown]", listing->info->begin,
			*listing->info->arch ? listing->info->arch : "unknown CPU");
	fprintf(file, "# self: %s of %s%s%s, %s samples of %s",
		format_share(listing->self.weight, listing->whole.weight).text, event, unit,
		listing->is_time ? weight_text(listing, listing->self.weight).text : "",
		format_count(listing->self.samples).text,
		format_count(listing->whole.samples).text);
	if (listing->inlined.samples)
		fprintf(file, "; %s of that in functions inlined into it",
			format_share(listing->inlined.weight, listing->self.weight).text);
	fprintf(file, "\n# skid: %s\n", view->skid);
	if (!listing->is_source)
		print_code(listing, file);
	return !listing->bytes_missing || print_missing_code(listing, session, file);
}

/* Printed last, when all wanted files are known. */
static void print_sources(const struct source_files *sources, FILE *file)
{
	for (size_t i = 0; i < sources->n; i++) {
		const struct source_file *source = sources->all[i];
		_cleanup_free_ char *path = text_escape(source->path, "");
		_cleanup_free_ char *why = text_escape(source->why ? source->why : "", "");

		if (!source->local)
			fprintf(file, "# source not found: %s%s%s%s\n", path, *why ? " (" : "", why,
				*why ? ")" : "");
		else if (source->is_newer)
			fprintf(file, "# source is newer than the recording: %s\n", path);
	}
}

/* ---- all of it -------------------------------------------------------------------------- */

bool annotation_print(const struct annotation *annotation, const struct output *output)
{
	bool ok;

	if (annotation->look->json) {
		annotate_print_json(&annotation->view, output);
		return true;
	}
	ok = print_header(&annotation->view, annotation->session, output->file);
	if (annotation->look->by_source || annotation->listing.is_source)
		source_print(&annotation->view, output);
	else
		assembly_print(&annotation->view, output);
	if (annotation->view.values)
		line_values_print(annotation->view.values, &annotation->listing,
				  annotation->view.sources, output);
	if (annotation->view.sources)
		print_sources(annotation->view.sources, output->file);
	return ok;
}
