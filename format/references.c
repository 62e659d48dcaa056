/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/id_table.h"
#include "format/references.h"
#include "format/schema.h"

struct definition {
	struct reel_id_entry by_id;
	bool is_defined;
	struct reel_reference_count wanted; /* by side records, or, for steps, by samples */
};

struct reel_references {
	struct reel_id_table ids[REEL_ID_KINDS];
	struct reel_reference_count counts[REEL_REFERENCE_COUNT];
	/* The last sample's id; every first id is in order. */
	uint64_t last_id;
	bool has_last_id;
	/* The block's times. */
	bool has_time;
	uint64_t time_first, time_last;
	enum reel_reference summing;
};

const char *reel_reference_name(enum reel_reference reference)
{
	static const char *const names[REEL_REFERENCE_COUNT] = {
		[REEL_REFERENCE_SAMPLE_THREAD] =
			"samples with a thread that no previous THREAD defines",
		[REEL_REFERENCE_SAMPLE_EVENT] =
			"samples with an event that no previous EVENT defines",
		[REEL_REFERENCE_SAMPLE_STEPS] =
			"resolved samples with steps that no TRACE_STEPS defines",
		[REEL_REFERENCE_SAMPLE_ORDER] =
			"samples with an id that is not above the previous sample's",
		[REEL_REFERENCE_SPACE] = "records with a space that no SPACE defines",
		[REEL_REFERENCE_THREAD] = "records with a thread that no THREAD defines",
		[REEL_REFERENCE_MODULE] = "records with a module that no MODULE defines",
		[REEL_REFERENCE_CGROUP] = "records with a cgroup that no CGROUP defines",
		[REEL_REFERENCE_TWICE] = "records with an id that is already defined",
		[REEL_REFERENCE_BLOCK_TIMES] =
			"blocks whose header times differ from their records' times",
	};

	return names[reference];
}

struct reel_error *reel_references_create(struct reel_references **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

static void free_definition(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

void reel_references_destroy(struct reel_references *references)
{
	for (int i = 0; references && i < REEL_ID_KINDS; i++) {
		reel_id_table_visit(&references->ids[i], free_definition, NULL);
		reel_id_table_free(&references->ids[i]);
	}
	free(references);
}

static void count(struct reel_reference_count *counted, const struct reel_block *block, uint64_t id)
{
	if (counted->n++)
		return;
	counted->id = id;
	counted->first = *block;
}

static struct definition *find(const struct reel_references *references, enum reel_id_kind ids,
			       uint64_t id)
{
	return (struct definition *)reel_id_table_find(&references->ids[ids], id);
}

static struct reel_error *find_or_add(struct reel_references *references, enum reel_id_kind ids,
				      uint64_t id, struct definition **ret)
{
	*ret = find(references, ids, id);
	if (*ret)
		return NULL;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return reel_error_no_memory();
	(*ret)->by_id.id = id;
	if (reel_id_table_insert(&references->ids[ids], &(*ret)->by_id))
		return NULL;
	free(*ret);
	return reel_error_no_memory();
}

static struct reel_error *define(struct reel_references *references, const struct reel_block *block,
				 enum reel_id_kind ids, uint64_t id)
{
	struct definition *definition;

	TRY(find_or_add(references, ids, id, &definition));
	/* A second SPACE adds newly known properties of the space. */
	if (definition->is_defined && ids != REEL_ID_SPACE)
		count(&references->counts[REEL_REFERENCE_TWICE], block, id);
	definition->is_defined = true;
	return NULL;
}

static bool is_defined(const struct reel_references *references, enum reel_id_kind ids, uint64_t id)
{
	const struct definition *definition = find(references, ids, id);

	return definition && definition->is_defined;
}

/* The definition may follow later. */
static struct reel_error *want(struct reel_references *references, const struct reel_block *block,
			       enum reel_id_kind ids, uint64_t id)
{
	struct definition *definition;

	if (!id)
		return NULL;
	TRY(find_or_add(references, ids, id, &definition));
	if (!definition->is_defined)
		count(&definition->wanted, block, id);
	return NULL;
}

static struct reel_error *add_record(struct reel_references *references,
				     const struct reel_block *block,
				     const struct reel_record *record)
{
	const struct reel_schema *schema = reel_schema_of(record->id);
	/* Of a second SPACE, readers ignore the parent. */
	bool is_second = record->id == REEL_RECORD_SPACE &&
			 is_defined(references, REEL_ID_SPACE, record->space.id);

	for (size_t i = 0; schema && i < schema->n_fields; i++) {
		const struct reel_schema_field *field = &schema->fields[i];
		uint64_t id = field->ids ? reel_schema_number(field, record) : 0;

		/* Readers check origins, and ignore a CODE's module. */
		if (field->ids == REEL_ID_ORIGIN ||
		    (field->ids == REEL_ID_MODULE && record->id == REEL_RECORD_CODE))
			continue;
		if (field->role == REEL_ROLE_ID)
			TRY(define(references, block, field->ids, id));
		else if (field->role == REEL_ROLE_REFERENCE && !is_second)
			TRY(want(references, block, field->ids, id));
	}
	return NULL;
}

/* Definitions must precede the samples that use them, so only definitions are kept: few bytes of a
 * file can be many samples. */
static struct reel_error *add_sample(struct reel_references *references,
				     const struct reel_block *block,
				     const struct reel_sample *sample)
{
	struct reel_reference_count *counts = references->counts;

	if (sample->thread && !is_defined(references, REEL_ID_THREAD, sample->thread))
		count(&counts[REEL_REFERENCE_SAMPLE_THREAD], block, sample->thread);
	if (!is_defined(references, REEL_ID_EVENT, sample->event))
		count(&counts[REEL_REFERENCE_SAMPLE_EVENT], block, sample->event);
	if (references->has_last_id && sample->id <= references->last_id)
		count(&counts[REEL_REFERENCE_SAMPLE_ORDER], block, sample->id);
	references->has_last_id = true;
	references->last_id = sample->id;
	/* These may follow later; an invalid id cannot. */
	if (!(sample->flags & REEL_SAMPLE_RESOLVED))
		return NULL;
	if (sample->steps <= REEL_TRACE_STEPS_MAX)
		return want(references, block, REEL_ID_STEPS, sample->steps);
	count(&counts[REEL_REFERENCE_SAMPLE_STEPS], block, sample->steps);
	return NULL;
}

static void add_time(struct reel_references *references, uint64_t time)
{
	if (!references->has_time || time < references->time_first)
		references->time_first = time;
	if (!references->has_time || time > references->time_last)
		references->time_last = time;
	references->has_time = true;
}

struct reel_error *reel_references_add(struct reel_references *references,
				       const struct reel_block *block,
				       const struct reel_block_item *item)
{
	uint64_t time;

	if (item->kind == REEL_ITEM_SAMPLE) {
		add_time(references, item->sample.time);
		return add_sample(references, block, &item->sample);
	}
	if (item->kind != REEL_ITEM_RECORD)
		return NULL;
	if (reel_record_time(&item->record, &time))
		add_time(references, time);
	return add_record(references, block, &item->record);
}

void reel_references_end_block(struct reel_references *references, const struct reel_block *block,
			       bool is_whole)
{
	const struct reel_block_header *header = &block->header;

	if (is_whole && references->has_time &&
	    (header->time_first != references->time_first ||
	     header->time_last != references->time_last))
		count(&references->counts[REEL_REFERENCE_BLOCK_TIMES], block, header->sequence);
	references->has_time = false;
	references->time_first = references->time_last = 0;
}

/* Counts undefined ids of the current kind. */
static void sum_up(void *context, struct reel_id_entry *entry)
{
	struct reel_references *references = context;
	const struct definition *definition = (const struct definition *)entry;
	struct reel_reference_count *sum = &references->counts[references->summing];

	if (definition->is_defined || !definition->wanted.n)
		return;
	if (!sum->n || definition->wanted.first.offset < sum->first.offset ||
	    (definition->wanted.first.offset == sum->first.offset &&
	     definition->wanted.id < sum->id)) {
		sum->id = definition->wanted.id;
		sum->first = definition->wanted.first;
	}
	sum->n += definition->wanted.n;
}

struct reel_reference_count reel_references_count(struct reel_references *references,
						  enum reel_reference reference)
{
	/* Not functions: samples may name some without a record. */
	static const struct {
		enum reel_reference reference;
		enum reel_id_kind ids;
	} late[] = {
		{ REEL_REFERENCE_SPACE, REEL_ID_SPACE },
		{ REEL_REFERENCE_THREAD, REEL_ID_THREAD },
		{ REEL_REFERENCE_MODULE, REEL_ID_MODULE },
		{ REEL_REFERENCE_SAMPLE_STEPS, REEL_ID_STEPS },
		{ REEL_REFERENCE_CGROUP, REEL_ID_CGROUP },
	};
	struct reel_reference_count before = references->counts[reference], ret;

	references->summing = reference;
	for (size_t i = 0; i < sizeof(late) / sizeof(*late); i++)
		if (late[i].reference == reference)
			reel_id_table_visit(&references->ids[late[i].ids], sum_up, references);
	ret = references->counts[reference];
	/* Undo, so that a second call gives the same result. */
	references->counts[reference] = before;
	return ret;
}
