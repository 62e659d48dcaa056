/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in OpenTelemetry's protocol: docs/exports.md. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/protobuf/message_writer.h"
#include "cli/protobuf/otlp.pb-c.h"
#include "cli/protobuf/sample_sums.h"

#define INIT(name) OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__##name##__INIT

typedef Opentelemetry__Proto__Profiles__V1development__AnyValue AnyValue;
typedef Opentelemetry__Proto__Profiles__V1development__Function Function;
typedef Opentelemetry__Proto__Profiles__V1development__InstrumentationScope Scope;
typedef Opentelemetry__Proto__Profiles__V1development__KeyValueAndUnit Attribute;
typedef Opentelemetry__Proto__Profiles__V1development__Line Line;
typedef Opentelemetry__Proto__Profiles__V1development__Link Link;
typedef Opentelemetry__Proto__Profiles__V1development__Location Location;
typedef Opentelemetry__Proto__Profiles__V1development__Mapping Mapping;
typedef Opentelemetry__Proto__Profiles__V1development__Profile Profile;
typedef Opentelemetry__Proto__Profiles__V1development__ProfilesData ProfilesData;
typedef Opentelemetry__Proto__Profiles__V1development__ProfilesDictionary Dictionary;
typedef Opentelemetry__Proto__Profiles__V1development__ResourceProfiles ResourceProfiles;
typedef Opentelemetry__Proto__Profiles__V1development__Sample Sample;
typedef Opentelemetry__Proto__Profiles__V1development__ScopeProfiles ScopeProfiles;
typedef Opentelemetry__Proto__Profiles__V1development__Stack Stack;
typedef Opentelemetry__Proto__Profiles__V1development__ValueType ValueType;

/* Samples in memory at a time: an event with more becomes several profiles. */
#define SAMPLES_MAX 20000

/* The fixed ones, and more than a trace has labels: at most 36. */
#define ATTRIBUTES_MAX 64

/* Of a distributed trace, as its headers name it. */
#define TRACE_ID_SIZE 16
#define SPAN_ID_SIZE  8

struct attribute {
	uint32_t key, text; /* texts */
	uint64_t number;    /* if there is no text */
};

struct otlp {
	struct sample_sums sums;
	struct message_writer writer;
	struct numbers attributes;
	/* Those of all stacks that samples refer to. */
	struct numbers stacks;
	struct numbers links; /* of struct link_ids */
};

struct link_ids {
	uint8_t trace[TRACE_ID_SIZE], span[SPAN_ID_SIZE];
};

struct attribute_list {
	int32_t items[ATTRIBUTES_MAX];
	size_t n;
};

static void *otlp_open(const struct export_target *target)
{
	struct otlp *otlp = memory_get(sizeof(*otlp));

	sample_sums_init(&otlp->sums);
	numbers_init(&otlp->attributes);
	numbers_init(&otlp->stacks);
	numbers_init(&otlp->links);
	message_writer_init(&otlp->writer, target->file, false);
	return otlp;
}

static bool begin_capture(void *state, struct session *session, const char *path)
{
	struct otlp *otlp = state;

	(void)path;
	sample_sums_begin_capture(&otlp->sums, session);
	return true;
}

static bool otlp_add(void *state, const struct reel_trace *trace,
		     const struct reel_event_info *event)
{
	struct otlp *otlp = state;

	sample_sums_add(&otlp->sums, trace, event);
	return true;
}

/* ---- attributes -------------------------------------------------------------------------- */

static void add_attribute(struct otlp *otlp, struct attribute_list *list, const char *key,
			  uint32_t text, uint64_t number)
{
	const struct attribute attribute = {
		.key = profile_text(&otlp->sums.tables, key),
		.text = text,
		.number = number,
	};

	list->items[list->n++] =
		(int32_t)numbers_put(&otlp->attributes, &attribute, sizeof(attribute));
}

static void add_text(struct otlp *otlp, struct attribute_list *list, const char *key, uint32_t text)
{
	if (text)
		add_attribute(otlp, list, key, text, 0);
}

/* The semantic conventions' names for labels; NULL: stackreel.KEY. */
static const char *convention_of(const char *key)
{
	static const char *const names[][2] = {
		{ "container", "container.id" },
		{ "container-name", "container.name" },
		{ "pod", "k8s.pod.uid" },
		{ "pod-name", "k8s.pod.name" },
		{ "namespace", "k8s.namespace.name" },
		{ "service", "service.name" },
		{ "environment", "deployment.environment.name" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(names[i][0], key))
			return names[i][1];
	}
	return NULL;
}

static void add_labels(struct otlp *otlp, struct attribute_list *list, uint32_t labels)
{
	while (labels && list->n < ATTRIBUTES_MAX) {
		/* The tables may move. */
		const struct sample_label label = *sample_label_of(&otlp->sums, labels);
		const char *key = profile_text_of(&otlp->sums.tables, label.key);
		_cleanup_free_ char *own = memory_print("stackreel.%s", key);
		const char *name = convention_of(key);

		add_attribute(otlp, list, name ? name : own, label.text, label.number);
		labels = label.previous;
	}
}

/* False unless the text is as many bytes in hexadecimal. */
static bool parse_id(const char *text, uint8_t *bytes, size_t n)
{
	if (strlen(text) != 2 * n || strspn(text, "0123456789abcdefABCDEF") != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char pair[] = { text[2 * i], text[2 * i + 1], '\0' };

		bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return true;
}

/* The span that the sample worked for; 0: unknown. */
static uint32_t link_of(struct otlp *otlp, uint32_t labels)
{
	const struct sample_label *label = sample_label_of(&otlp->sums, labels);
	struct link_ids ids = { 0 };
	bool has_trace = false;

	for (; label; label = sample_label_of(&otlp->sums, label->previous)) {
		const char *key = profile_text_of(&otlp->sums.tables, label->key);
		const char *text = profile_text_of(&otlp->sums.tables, label->text);

		if (!strcmp(key, "trace"))
			has_trace = parse_id(text, ids.trace, sizeof(ids.trace));
		else if (!strcmp(key, "span"))
			parse_id(text, ids.span, sizeof(ids.span));
	}
	return has_trace ? numbers_put(&otlp->links, &ids, sizeof(ids)) : 0;
}

static struct attribute_list attributes_of_sample(struct otlp *otlp,
						  const struct sample_labels *labels)
{
	struct attribute_list list = { .n = 0 };

	add_attribute(otlp, &list, "process.pid", 0, labels->pid);
	add_attribute(otlp, &list, "thread.id", 0, labels->tid);
	add_text(otlp, &list, "thread.name", labels->comm);
	add_attribute(otlp, &list, "stackreel.thread", 0, labels->thread);
	add_text(otlp, &list, "host.name", labels->host);
	add_text(otlp, &list, "stackreel.state", labels->state);
	add_text(otlp, &list, "stackreel.stop", labels->stop);
	if (labels->guessed)
		add_text(otlp, &list, "stackreel.guessed", profile_text(&otlp->sums.tables, "yes"));
	add_labels(otlp, &list, labels->labels);
	return list;
}

/* ---- profiles ---------------------------------------------------------------------------- */

/* A profile's values: an event's samples, or their weights. */
struct measure {
	uint32_t event;
	bool is_weight;
	ValueType type;
	int64_t period;
};

static struct measure measure_of(struct otlp *otlp, uint32_t event, bool is_weight)
{
	struct sample_sums *sums = &otlp->sums;
	bool is_time = is_weight && sample_event_is_time(sums, event);
	struct measure measure = { .event = event, .is_weight = is_weight, .period = 1 };

	measure.type = (ValueType)INIT(VALUE_TYPE);
	measure.type.type_strindex = (int32_t)(is_weight ? sample_event_weight_name(sums, event)
							 : sample_event_count_name(sums, event));
	measure.type.unit_strindex =
		(int32_t)profile_text(&sums->tables, is_time ? "nanoseconds" : "count");
	if (is_weight)
		measure.period = (int64_t)sample_event_period(sums, event);
	return measure;
}

static void write_profile(struct otlp *otlp, struct measure *measure, Sample **samples, size_t n)
{
	Profile profile = INIT(PROFILE), *profiles = &profile;
	Scope scope = INIT(INSTRUMENTATION_SCOPE);
	ScopeProfiles scope_profiles = INIT(SCOPE_PROFILES), *scopes = &scope_profiles;
	ResourceProfiles resource_profiles = INIT(RESOURCE_PROFILES),
			 *resources = &resource_profiles;
	ProfilesData data = INIT(PROFILES_DATA);

	profile.sample_type = profile.period_type = &measure->type;
	profile.period = measure->period;
	profile.time_unix_nano = otlp->sums.first_wall_time;
	profile.duration_nano = sample_sums_duration(&otlp->sums);
	profile.n_samples = n;
	profile.samples = samples;
	scope.name = (char *)"stackreel";
	scope.version = (char *)REEL_VERSION_STRING;
	scope_profiles.scope = &scope;
	scope_profiles.n_profiles = 1;
	scope_profiles.profiles = &profiles;
	resource_profiles.n_scope_profiles = 1;
	resource_profiles.scope_profiles = &scopes;
	data.n_resource_profiles = 1;
	data.resource_profiles = &resources;
	message_write(&otlp->writer, &data.base);
}

/* Samples of one profile, and the messages they point to. */
struct sample_room {
	Sample samples[SAMPLES_MAX];
	Sample *pointers[SAMPLES_MAX];
	struct attribute_list attributes[SAMPLES_MAX];
	int64_t values[SAMPLES_MAX];
};

static void set_sample(struct otlp *otlp, const struct measure *measure, uint32_t number,
		       struct sample_room *room, size_t at)
{
	const struct sample_key key = *sample_key_of(&otlp->sums, number);
	const struct sample_sum *sum = &otlp->sums.sums[number];
	const struct sample_labels labels = *sample_labels_of(&otlp->sums, key.labels);
	Sample *sample = &room->samples[at];

	*sample = (Sample)INIT(SAMPLE);
	room->pointers[at] = sample;
	room->attributes[at] = attributes_of_sample(otlp, &labels);
	sample->link_index = (int32_t)link_of(otlp, labels.labels);
	room->values[at] = (int64_t)(measure->is_weight ? sum->weight : sum->count);
	sample->stack_index = (int32_t)numbers_put(&otlp->stacks, &key.stack, sizeof(key.stack));
	sample->n_attribute_indices = room->attributes[at].n;
	sample->attribute_indices = room->attributes[at].items;
	sample->n_values = 1;
	sample->values = &room->values[at];
}

static void write_measure(struct otlp *otlp, struct measure measure, struct sample_room *room)
{
	size_t n = 0;

	for (uint32_t i = 1; i <= otlp->sums.samples.count; i++) {
		if (sample_key_of(&otlp->sums, i)->event != measure.event)
			continue;
		set_sample(otlp, &measure, i, room, n++);
		if (n < SAMPLES_MAX)
			continue;
		write_profile(otlp, &measure, room->pointers, n);
		n = 0;
	}
	if (n)
		write_profile(otlp, &measure, room->pointers, n);
}

/* The main one first: viewers show it by default. */
static void write_profiles(struct otlp *otlp)
{
	struct sample_sums *sums = &otlp->sums;
	struct sample_room *room = memory_get(sizeof(*room));
	uint32_t first = sample_sums_main_event(sums);

	for (uint32_t i = 0; i <= sums->events.count; i++) {
		uint32_t event = i ? i : first;

		if (!event || (i && i == first))
			continue;
		if (sample_event_has_weight(sums, event))
			write_measure(otlp, measure_of(otlp, event, true), room);
		write_measure(otlp, measure_of(otlp, event, false), room);
	}
	free(room);
}

/* ---- the dictionary ---------------------------------------------------------------------- */

/* Written in parts, which readers join. The first entry of each table is empty and means none. */
static void write_dictionary(struct otlp *otlp, Dictionary *dictionary)
{
	ProfilesData data = INIT(PROFILES_DATA);

	data.dictionary = dictionary;
	message_write(&otlp->writer, &data.base);
}

/* Writes a part with one entry of a table. */
#define WRITE_ENTRY(otlp, table, entry)                                                            \
	do {                                                                                       \
		Dictionary part_ = INIT(PROFILES_DICTIONARY);                                      \
		__typeof__(*part_.table) item_ = &(entry);                                         \
                                                                                                   \
		part_.n_##table = 1;                                                               \
		part_.table = &item_;                                                              \
		write_dictionary(otlp, &part_);                                                    \
	} while (0)

static void write_empty(struct otlp *otlp)
{
	Mapping mapping = INIT(MAPPING), *mappings = &mapping;
	Location location = INIT(LOCATION), *locations = &location;
	Function function = INIT(FUNCTION), *functions = &function;
	Link link = INIT(LINK), *links = &link;
	Attribute attribute = INIT(KEY_VALUE_AND_UNIT), *attributes = &attribute;
	Stack stack = INIT(STACK), *stacks = &stack;
	Dictionary dictionary = INIT(PROFILES_DICTIONARY);

	dictionary.n_mapping_table = dictionary.n_location_table = dictionary.n_function_table = 1;
	dictionary.n_link_table = dictionary.n_attribute_table = dictionary.n_stack_table = 1;
	dictionary.mapping_table = &mappings;
	dictionary.location_table = &locations;
	dictionary.function_table = &functions;
	dictionary.link_table = &links;
	dictionary.attribute_table = &attributes;
	dictionary.stack_table = &stacks;
	write_dictionary(otlp, &dictionary);
}

static void write_mappings(struct otlp *otlp)
{
	const struct profile_tables *tables = &otlp->sums.tables;

	for (uint32_t i = 1; i <= tables->mappings.count; i++) {
		const struct profile_mapping from = profile_mapping_of(tables, i);
		struct attribute_list attributes = { .n = 0 };
		Mapping mapping = INIT(MAPPING);

		add_text(otlp, &attributes, "process.executable.build_id.gnu", from.build_id);
		mapping.memory_start = from.start;
		mapping.memory_limit = from.limit;
		mapping.file_offset = from.offset;
		mapping.filename_strindex = (int32_t)from.path;
		mapping.n_attribute_indices = attributes.n;
		mapping.attribute_indices = attributes.items;
		WRITE_ENTRY(otlp, mapping_table, mapping);
	}
}

/* As OpenTelemetry's semantic conventions name it. */
static const char *frame_type(const struct profile_tables *tables, uint32_t number)
{
	struct profile_mapping mapping = { 0 };

	if (number)
		mapping = profile_mapping_of(tables, number);
	return mapping.kernel				? "kernel"
	       : mapping.runtime == REEL_RUNTIME_PYTHON ? "cpython"
	       : mapping.runtime == REEL_RUNTIME_RUBY	? "ruby"
							: "native";
}

static void write_location(struct otlp *otlp, uint32_t number)
{
	struct profile_tables *tables = &otlp->sums.tables;
	const struct profile_location *from = profile_location_of(tables, number);
	const char *type = frame_type(tables, from->mapping);
	Line *lines = memory_get(from->n_lines * sizeof(*lines));
	Line **items = memory_get(from->n_lines * sizeof(*items));
	struct attribute_list attributes = { .n = 0 };
	Location location = INIT(LOCATION);

	for (uint32_t i = 0; i < from->n_lines; i++) {
		lines[i] = (Line)INIT(LINE);
		lines[i].function_index = (int32_t)from->lines[i].function;
		lines[i].line = from->lines[i].line;
		lines[i].column = from->lines[i].column;
		items[i] = &lines[i];
	}
	if (from->mapping)
		add_text(otlp, &attributes, "profile.frame.type", profile_text(tables, type));
	location.mapping_index = (int32_t)from->mapping;
	location.address = from->address;
	location.n_lines = from->n_lines;
	location.lines = items;
	location.n_attribute_indices = attributes.n;
	location.attribute_indices = attributes.items;
	WRITE_ENTRY(otlp, location_table, location);
	free(items);
	free(lines);
}

static void write_locations(struct otlp *otlp)
{

	for (uint32_t i = 1; i <= otlp->sums.tables.locations.count; i++)
		write_location(otlp, i);
}

static void write_functions(struct otlp *otlp)
{
	const struct numbers *functions = &otlp->sums.tables.functions;

	for (uint32_t i = 1; i <= functions->count; i++) {
		const struct profile_function *from = numbers_get(functions, i);
		Function function = INIT(FUNCTION);

		function.name_strindex = (int32_t)from->name;
		function.system_name_strindex = (int32_t)from->system_name;
		function.filename_strindex = (int32_t)from->file;
		function.start_line = from->line;
		WRITE_ENTRY(otlp, function_table, function);
	}
}

static void write_stacks(struct otlp *otlp)
{
	const struct numbers *all = &otlp->sums.tables.stacks;
	int32_t *locations = NULL;
	size_t capacity = 0;

	for (uint32_t i = 1; i <= otlp->stacks.count; i++) {
		uint32_t at = *(const uint32_t *)numbers_get(&otlp->stacks, i);
		Stack stack = INIT(STACK);
		size_t n = 0;

		while (at) {
			const struct profile_stack *part = numbers_get(all, at);

			locations = memory_reserve(locations, &capacity, n, sizeof(*locations));
			locations[n++] = (int32_t)part->location;
			at = part->caller;
		}
		stack.n_location_indices = n;
		stack.location_indices = locations;
		WRITE_ENTRY(otlp, stack_table, stack);
	}
	free(locations);
}

static void write_links(struct otlp *otlp)
{

	for (uint32_t i = 1; i <= otlp->links.count; i++) {
		struct link_ids ids = *(const struct link_ids *)numbers_get(&otlp->links, i);
		Link link = INIT(LINK);

		link.trace_id = (ProtobufCBinaryData){ sizeof(ids.trace), ids.trace };
		link.span_id = (ProtobufCBinaryData){ sizeof(ids.span), ids.span };
		WRITE_ENTRY(otlp, link_table, link);
	}
}

static void write_attributes(struct otlp *otlp)
{

	for (uint32_t i = 1; i <= otlp->attributes.count; i++) {
		const struct attribute *from = numbers_get(&otlp->attributes, i);
		AnyValue value = INIT(ANY_VALUE);
		Attribute attribute = INIT(KEY_VALUE_AND_UNIT);

		if (from->text) {
			value.value_case =
				OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__ANY_VALUE__VALUE_STRING_VALUE;
			value.string_value =
				(char *)profile_text_of(&otlp->sums.tables, from->text);
		} else {
			value.value_case =
				OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__ANY_VALUE__VALUE_INT_VALUE;
			value.int_value = (int64_t)from->number;
		}
		attribute.key_strindex = (int32_t)from->key;
		attribute.value = &value;
		WRITE_ENTRY(otlp, attribute_table, attribute);
	}
}

static void write_texts(struct otlp *otlp)
{
	const struct profile_tables *tables = &otlp->sums.tables;

	for (uint32_t i = 0; i <= tables->texts.count; i++) {
		char *text = (char *)profile_text_of(tables, i);
		Dictionary dictionary = INIT(PROFILES_DICTIONARY);

		dictionary.n_string_table = 1;
		dictionary.string_table = &text;
		write_dictionary(otlp, &dictionary);
	}
}

static bool otlp_close(void *state, bool ok)
{
	struct otlp *otlp = state;

	/* Write tables after the data that refers to them, since they grow until then. */
	if (ok) {
		write_profiles(otlp);
		write_empty(otlp);
		write_mappings(otlp);
		write_locations(otlp);
		write_functions(otlp);
		write_stacks(otlp);
		write_links(otlp);
		write_attributes(otlp);
		write_texts(otlp);
		ok = message_writer_finish(&otlp->writer);
	}
	message_writer_free(&otlp->writer);
	sample_sums_free(&otlp->sums);
	numbers_free(&otlp->attributes);
	numbers_free(&otlp->stacks);
	numbers_free(&otlp->links);
	free(otlp);
	return ok;
}

const struct export_format export_otlp = {
	.name = "otlp",
	.summary = "profiles in OpenTelemetry's protocol (v1development, of 1.10.0)",
	.is_binary = true,
	.open = otlp_open,
	.begin_capture = begin_capture,
	.add = otlp_add,
	.close = otlp_close,
};
