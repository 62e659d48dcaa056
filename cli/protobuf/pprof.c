/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for pprof and other readers of its format: docs/exports.md. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/protobuf/message_writer.h"
#include "cli/protobuf/pprof.pb-c.h"
#include "cli/protobuf/sample_sums.h"

typedef Perftools__Profiles__Profile Profile;

struct pprof {
	struct sample_sums sums;
	struct message_writer writer;
	struct export_span *span;
	/* The index of each event's count among the values; its weight, if it has one, is next. */
	size_t *columns;
	size_t n_columns;
	/* The texts of comments. */
	int64_t *comments;
	size_t n_comments;
};

static void *pprof_open(const struct export_target *target)
{
	struct pprof *pprof = memory_get(sizeof(*pprof));

	sample_sums_init(&pprof->sums);
	message_writer_init(&pprof->writer, target->file, true);
	pprof->span = target->span;
	return pprof;
}

static void add_comment(struct pprof *pprof, const char *what, const char *text)
{
	_cleanup_free_ char *comment = memory_print("%s%s", what, text);

	pprof->comments =
		memory_resize(pprof->comments, pprof->n_comments + 1, sizeof(*pprof->comments));
	pprof->comments[pprof->n_comments++] = profile_text(&pprof->sums.tables, comment);
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct pprof *pprof = state;
	const struct reel_capture_info *info = session->info;

	sample_sums_begin_capture(&pprof->sums, session);
	add_comment(pprof, "stackreel " REEL_VERSION_STRING ": ", path);
	if (*info->hostname)
		add_comment(pprof, "host: ", info->hostname);
	if (*info->kernel_release)
		add_comment(pprof, "kernel: ", info->kernel_release);
	if (*info->command_line)
		add_comment(pprof, "recorded by: ", info->command_line);
	return true;
}

static bool pprof_add(void *state, const struct reel_trace *trace,
		      const struct reel_event_info *event)
{
	struct pprof *pprof = state;

	sample_sums_add(&pprof->sums, trace, event);
	return true;
}

/* ---- data that samples refer to ------------------------------------------------------ */

static void write_profile(struct pprof *pprof, const Profile *profile)
{
	message_write(&pprof->writer, &profile->base);
}

/* Writes a profile with one item of a field: readers join the fields of all parts. */
#define WRITE_ITEM(pprof, field, item)                                                             \
	do {                                                                                       \
		Profile part_ = PERFTOOLS__PROFILES__PROFILE__INIT;                                \
		__typeof__(*part_.field) item_ = &(item);                                          \
                                                                                                   \
		part_.n_##field = 1;                                                               \
		part_.field = &item_;                                                              \
		write_profile(pprof, &part_);                                                      \
	} while (0)

static void write_texts(struct pprof *pprof)
{
	const struct profile_tables *tables = &pprof->sums.tables;

	for (uint32_t i = 0; i <= tables->texts.count; i++) {
		char *text = (char *)profile_text_of(tables, i);
		Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;

		profile.n_string_table = 1;
		profile.string_table = &text;
		write_profile(pprof, &profile);
	}
}

static void write_functions(struct pprof *pprof)
{
	const struct numbers *functions = &pprof->sums.tables.functions;

	for (uint32_t i = 1; i <= functions->count; i++) {
		const struct profile_function *from = numbers_get(functions, i);
		Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;

		function.id = i;
		function.name = from->name;
		function.system_name = from->system_name;
		function.filename = from->file;
		function.start_line = from->line;
		WRITE_ITEM(pprof, function, function);
	}
}

static void write_mapping(struct pprof *pprof, uint32_t number)
{
	const struct profile_tables *tables = &pprof->sums.tables;
	const struct profile_mapping from = profile_mapping_of(tables, number);
	const struct mapping_use *use = &tables->mapping_uses[number];
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;

	mapping.id = number;
	mapping.memory_start = from.start;
	mapping.memory_limit = from.limit;
	mapping.file_offset = from.offset;
	mapping.filename = from.path;
	mapping.build_id = from.build_id;
	mapping.has_functions = true;
	mapping.has_filenames = use->has_files;
	mapping.has_line_numbers = use->has_lines;
	mapping.has_inline_frames = use->has_inlines;
	WRITE_ITEM(pprof, mapping, mapping);
}

/* Whether the mapping may be a program: a file that is not a library. */
static bool is_program(const struct profile_tables *tables, uint32_t number)
{
	const struct profile_mapping mapping = profile_mapping_of(tables, number);
	const char *name = strrchr(profile_text_of(tables, mapping.path), '/');

	return mapping.is_file && !(name && strstr(name, ".so"));
}

/* The outermost program of a stack; 0: none. */
static uint32_t program_of(const struct profile_tables *tables, uint32_t stack)
{
	uint32_t program = 0;

	while (stack) {
		const struct profile_stack *at = numbers_get(&tables->stacks, stack);
		uint32_t mapping = profile_location_of(tables, at->location)->mapping;

		if (mapping && mapping != program && is_program(tables, mapping))
			program = mapping;
		stack = at->caller;
	}
	return program;
}

/* pprof takes the first mapping as the program: the one with most samples.  The one with most code
 * may be the recorder's, whose samples before the program's start are in the capture. 0: none. */
static uint32_t main_mapping(const struct pprof *pprof)
{
	const struct profile_tables *tables = &pprof->sums.tables;
	_cleanup_free_ uint64_t *samples =
		memory_get((tables->mappings.count + 1) * sizeof(*samples));
	uint32_t best = 0;

	memset(samples, 0, (tables->mappings.count + 1) * sizeof(*samples));
	for (uint32_t i = 1; i <= pprof->sums.samples.count; i++) {
		uint32_t program = program_of(tables, sample_key_of(&pprof->sums, i)->stack);

		samples[program] += pprof->sums.sums[i].count;
		if (program && (!best || samples[program] > samples[best]))
			best = program;
	}
	return best;
}

static void write_mappings(struct pprof *pprof)
{
	const struct profile_tables *tables = &pprof->sums.tables;
	uint32_t first = main_mapping(pprof);

	if (first)
		write_mapping(pprof, first);
	for (uint32_t i = 1; i <= tables->mappings.count; i++) {
		if (i != first)
			write_mapping(pprof, i);
	}
}

static void write_location(struct pprof *pprof, uint32_t number)
{
	const struct profile_location *from = profile_location_of(&pprof->sums.tables, number);
	Perftools__Profiles__Line *lines = memory_get(from->n_lines * sizeof(*lines));
	Perftools__Profiles__Line **items = memory_get(from->n_lines * sizeof(*items));
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;

	for (uint32_t i = 0; i < from->n_lines; i++) {
		lines[i] = (Perftools__Profiles__Line)PERFTOOLS__PROFILES__LINE__INIT;
		lines[i].function_id = from->lines[i].function;
		lines[i].line = from->lines[i].line;
		items[i] = &lines[i];
	}
	location.id = number;
	location.mapping_id = from->mapping;
	location.address = from->address;
	location.n_line = from->n_lines;
	location.line = items;
	WRITE_ITEM(pprof, location, location);
	free(items);
	free(lines);
}

static void write_locations(struct pprof *pprof)
{

	for (uint32_t i = 1; i <= pprof->sums.tables.locations.count; i++)
		write_location(pprof, i);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Texts of labels' keys and values. */
struct label_texts {
	uint32_t pid, tid, thread, comm, host, state, stop, guessed, yes;
};

/* The texts above, and more than a trace has labels: at most 36. */
#define LABELS_MAX 64

static struct label_texts label_texts(struct pprof *pprof)
{
	struct profile_tables *tables = &pprof->sums.tables;

	return (struct label_texts){
		.pid = profile_text(tables, "pid"),
		.tid = profile_text(tables, "tid"),
		.thread = profile_text(tables, "thread"),
		.comm = profile_text(tables, "comm"),
		.host = profile_text(tables, "host"),
		.state = profile_text(tables, "state"),
		.stop = profile_text(tables, "stop"),
		.guessed = profile_text(tables, "guessed"),
		.yes = profile_text(tables, "yes"),
	};
}

struct sample_writer {
	struct pprof *pprof;
	struct label_texts texts;
	int64_t *values;
	uint64_t *locations;
	size_t locations_capacity;
	Perftools__Profiles__Label labels[LABELS_MAX];
	Perftools__Profiles__Label *label_items[LABELS_MAX];
	size_t n_labels;
};

static void append_label(struct sample_writer *writer, uint32_t key, uint32_t text, uint64_t number)
{
	Perftools__Profiles__Label *label = &writer->labels[writer->n_labels];

	*label = (Perftools__Profiles__Label)PERFTOOLS__PROFILES__LABEL__INIT;
	label->key = key;
	label->str = text;
	label->num = (int64_t)number;
	writer->label_items[writer->n_labels++] = label;
}

/* Skips an empty label. */
static void add_label(struct sample_writer *writer, uint32_t key, uint32_t text, uint64_t number)
{
	if (text || number)
		append_label(writer, key, text, number);
}

static void set_labels(struct sample_writer *writer, const struct sample_labels *labels)
{
	const struct sample_sums *sums = &writer->pprof->sums;
	const struct label_texts *texts = &writer->texts;
	const struct sample_label *label = sample_label_of(sums, labels->labels);

	writer->n_labels = 0;
	add_label(writer, texts->pid, 0, labels->pid);
	add_label(writer, texts->tid, 0, labels->tid);
	add_label(writer, texts->thread, 0, labels->thread);
	add_label(writer, texts->comm, labels->comm, 0);
	add_label(writer, texts->host, labels->host, 0);
	add_label(writer, texts->state, labels->state, 0);
	add_label(writer, texts->stop, labels->stop, 0);
	add_label(writer, texts->guessed, labels->guessed ? texts->yes : 0, 0);
	for (; label && writer->n_labels < LABELS_MAX;
	     label = sample_label_of(sums, label->previous))
		append_label(writer, label->key, label->text, label->number);
}

/* From the leaf to the root. */
static size_t set_locations(struct sample_writer *writer, uint32_t stack)
{
	const struct numbers *stacks = &writer->pprof->sums.tables.stacks;
	size_t n = 0;

	while (stack) {
		const struct profile_stack *at = numbers_get(stacks, stack);

		writer->locations = memory_reserve(writer->locations, &writer->locations_capacity,
						   n, sizeof(*writer->locations));
		writer->locations[n++] = at->location;
		stack = at->caller;
	}
	return n;
}

static void write_sample(struct sample_writer *writer, uint32_t number)
{
	struct pprof *pprof = writer->pprof;
	const struct sample_key *key = sample_key_of(&pprof->sums, number);
	const struct sample_sum *sum = &pprof->sums.sums[number];
	int64_t *value = &writer->values[pprof->columns[key->event]];
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;

	set_labels(writer, sample_labels_of(&pprof->sums, key->labels));
	memset(writer->values, 0, pprof->n_columns * sizeof(*writer->values));
	value[0] = (int64_t)sum->count;
	if (sample_event_has_weight(&pprof->sums, key->event))
		value[1] = (int64_t)sum->weight;
	sample.n_location_id = set_locations(writer, key->stack);
	sample.location_id = writer->locations;
	sample.n_value = pprof->n_columns;
	sample.value = writer->values;
	sample.n_label = writer->n_labels;
	sample.label = writer->label_items;
	WRITE_ITEM(pprof, sample, sample);
}

static void write_samples(struct pprof *pprof)
{
	struct sample_writer writer = {
		.pprof = pprof,
		.texts = label_texts(pprof),
		.values = memory_get((pprof->n_columns + 1) * sizeof(int64_t)),
	};

	for (uint32_t i = 1; i <= pprof->sums.samples.count; i++)
		write_sample(&writer, i);
	free(writer.values);
	free(writer.locations);
}

/* ---- measured values ----------------------------------------------------------------- */

static void write_sample_type(struct pprof *pprof, uint32_t name, const char *unit)
{
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	type.type = name;
	type.unit = profile_text(&pprof->sums.tables, unit);
	pprof->n_columns++;
	WRITE_ITEM(pprof, sample_type, type);
}

static const char *weight_unit(const struct pprof *pprof, uint32_t event)
{
	return sample_event_is_time(&pprof->sums, event) ? "nanoseconds" : "count";
}

static void write_types_of_event(struct pprof *pprof, uint32_t event)
{
	struct sample_sums *sums = &pprof->sums;

	pprof->columns[event] = pprof->n_columns;
	write_sample_type(pprof, sample_event_count_name(sums, event), "count");
	if (sample_event_has_weight(sums, event))
		write_sample_type(pprof, sample_event_weight_name(sums, event),
				  weight_unit(pprof, event));
}

/* Servers treat the first two types as samples and CPU time, as Go writes them. */
static void write_sample_types(struct pprof *pprof)
{
	struct sample_sums *sums = &pprof->sums;
	uint32_t first = sample_sums_main_event(sums);

	pprof->columns = memory_get((sums->events.count + 1) * sizeof(*pprof->columns));
	if (first)
		write_types_of_event(pprof, first);
	for (uint32_t i = 1; i <= sums->events.count; i++) {
		if (i != first)
			write_types_of_event(pprof, i);
	}
}

/* Times, the recording, and the type shown by default. */
static void write_summary(struct pprof *pprof)
{
	struct sample_sums *sums = &pprof->sums;
	uint32_t event = sample_sums_main_event(sums);
	bool has_weight = event && sample_event_has_weight(sums, event);
	Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;

	if (event) {
		type.type = has_weight ? sample_event_weight_name(sums, event)
				       : sample_event_count_name(sums, event);
		type.unit = profile_text(&sums->tables, weight_unit(pprof, event));
		profile.period_type = &type;
		profile.period = (int64_t)sample_event_period(sums, event);
		profile.default_sample_type = type.type;
	}
	profile.time_nanos = (int64_t)sums->first_wall_time;
	profile.duration_nanos = (int64_t)sample_sums_duration(sums);
	profile.n_comment = pprof->n_comments;
	profile.comment = pprof->comments;
	write_profile(pprof, &profile);
}

static bool pprof_close(void *state, bool ok)
{
	struct pprof *pprof = state;

	/* Texts come last, since their table grows until then. */
	if (ok) {
		write_sample_types(pprof);
		write_samples(pprof);
		write_mappings(pprof);
		write_locations(pprof);
		write_functions(pprof);
		write_summary(pprof);
		write_texts(pprof);
		ok = message_writer_finish(&pprof->writer);
	}
	if (pprof->span)
		*pprof->span = (struct export_span){ pprof->sums.first_wall_time,
						     pprof->sums.last_wall_time };
	message_writer_free(&pprof->writer);
	sample_sums_free(&pprof->sums);
	free(pprof->columns);
	free(pprof->comments);
	free(pprof);
	return ok;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.summary = "a profile for 'go tool pprof' and profile servers",
	.is_binary = true,
	.open = pprof_open,
	.begin_capture = begin_capture,
	.add = pprof_add,
	.close = pprof_close,
};
