/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/browse/parts.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

void part_free(struct part *part)
{
	samples_free(&part->samples);
	if (part->owns_session) {
		session_close(part->session);
		free(part->session);
	}
}

void parts_free(struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		part_free(&parts->items[i]);
	for (size_t i = 0; i < parts->n_events; i++)
		event_free(parts->events[i]);
	free(parts->items);
	free(parts->events);
	*parts = (struct parts){ 0 };
}

/* ---- adding --------------------------------------------------------------------------------- */

static void learn_event(struct parts *parts, const struct reel_event_info *event)
{
	for (size_t i = 0; i < parts->n_events; i++) {
		if (profile_is_same_event(parts->events[i], event))
			return;
	}
	parts->events = memory_resize(parts->events, parts->n_events + 1, sizeof(*parts->events));
	parts->events[parts->n_events++] = event_copy(event);
}

void parts_add(struct parts *parts, const struct part *part)
{
	struct part *last = parts->n ? &parts->items[parts->n - 1] : NULL;

	for (size_t i = 0; i < part->samples.n_events; i++)
		learn_event(parts, part->samples.events[i].event);
	if (last && last->first_block == part->first_block) {
		part_free(last);
		*last = *part;
		return;
	}
	parts->items =
		memory_reserve(parts->items, &parts->capacity, parts->n, sizeof(*parts->items));
	parts->items[parts->n++] = *part;
}

void parts_append(struct parts *parts, struct parts *from)
{
	for (size_t i = 0; i < from->n; i++)
		parts_add(parts, &from->items[i]);
	from->n = 0;
}

bool parts_drop_older(struct parts *parts, uint64_t time)
{
	size_t n = 0;

	while (n + 1 < parts->n && parts->items[n].end < time)
		part_free(&parts->items[n++]);
	if (n)
		memmove(parts->items, parts->items + n, (parts->n - n) * sizeof(*parts->items));
	parts->n -= n;
	return n;
}

/* ---- of all parts --------------------------------------------------------------------------- */

uint64_t parts_bytes_read(const struct parts *parts, uint64_t *all_ret)
{
	uint64_t read = 0;

	*all_ret = 0;
	for (size_t i = 0; i < parts->n; i++) {
		const struct reel_live_part *stream = &parts->items[i].stream;

		read += stream->size;
		*all_ret += stream->size + stream->skipped_size;
	}
	return read;
}

struct quality parts_quality(const struct parts *parts)
{
	struct quality sum = { 0 };

	for (size_t i = 0; i < parts->n; i++) {
		const struct quality *quality = &parts->items[i].session->quality;

		/* The parts of a stream have one clock. */
		if (quality->traces && (!sum.traces || quality->first_time < sum.first_time))
			sum.first_time = quality->first_time;
		if (quality->last_time > sum.last_time)
			sum.last_time = quality->last_time;
		quality_join(&sum, quality);
	}
	return sum;
}

struct sample_counts parts_missing(const struct parts *parts)
{
	struct sample_counts sum = { 0 };

	for (size_t i = 0; i < parts->n; i++)
		sample_counts_join(&sum, &parts->items[i].session->missing);
	return sum;
}

struct sample_counts parts_labels(const struct parts *parts)
{
	struct sample_counts sum = { .by_name = true };

	for (size_t i = 0; i < parts->n; i++)
		sample_counts_join(&sum, &parts->items[i].samples.labels);
	sample_counts_sort(&sum);
	return sum;
}

bool part_read_again(const struct part *part,
		     bool (*visit)(void *context, const struct reel_trace *trace,
				   const struct reel_event_info *event),
		     void *context)
{
	struct session *session = part->session;
	struct session before = *session;
	bool ok;

	session->quality = (struct quality){ 0 };
	session->missing = (struct sample_counts){ 0 };
	ok = session_visit(session, visit, context);
	sample_counts_free(&session->missing);
	session->quality = before.quality;
	session->missing = before.missing;
	session->is_idle = before.is_idle;
	return ok;
}

/* ---- summing up --------------------------------------------------------------------------- */

struct summing {
	struct sums *sums;
	const struct call_tree *from;
	struct call_tree *to;
	/* For each node of `from`, its node in `to`, and where its tails end; NONE: hidden. */
	uint32_t *places, *tail_places;
};

static struct symbol *symbol_of_key(const struct summing *summing, const void *key)
{
	struct symbol_table *symbols = &summing->sums->profiles.symbols;
	struct pointer_map *frames = &summing->sums->frames;
	const char *mark = key;
	const struct reel_frame *frame;
	struct symbol *symbol;
	bool guessed;

	if (mark >= samples_stops && mark < samples_stops + REEL_STOP_COUNT)
		return symbol_of_stop(symbols, (enum reel_stop)(mark - samples_stops));
	if (mark == &samples_no_frames)
		return symbol_of_group(symbols, "[no frames]");
	guessed = (uintptr_t)mark & 1;
	frame = (const void *)(mark - guessed);
	symbol = symbol_of_frame(symbols, frame);
	symbol->guessed |= guessed;
	if (!pointer_map_get(frames, symbol))
		pointer_map_put(frames, symbol, (void *)frame);
	return symbol;
}

static uint32_t place_of_lane(const struct summing *summing, const struct lane *lane)
{
	struct profiles *profiles = &summing->sums->profiles;

	if (lane->hidden)
		return CALL_TREE_NONE;
	return profiles_enter_groups(profiles, summing->to, &lane->who,
				     summing->sums->profile->event);
}

static uint32_t place_of_key(const struct summing *summing, uint32_t parent, const void *key)
{
	return call_tree_child(summing->to, parent, symbol_of_key(summing, key));
}

static void sum_node(const struct summing *summing, uint32_t index)
{
	const struct call_tree_node *node = &summing->from->nodes[index];
	uint32_t place = summing->places[node->parent];
	const struct call_tree_tail *tail;

	if (node->parent == CALL_TREE_ROOT)
		place = place_of_lane(summing, node->key);
	else if (place != CALL_TREE_NONE)
		place = place_of_key(summing, place, node->key);
	summing->places[index] = place;
	if (place == CALL_TREE_NONE)
		return;
	amount_add(&summing->to->nodes[place].self, node->self);
	if (!node->tail)
		return;
	tail = &summing->from->tails[node->tail];
	for (size_t i = 0; i < tail->n; i++)
		place = place_of_key(summing, place, summing->from->tail_keys[tail->first + i]);
	amount_add(&summing->to->nodes[place].self, tail->self);
	summing->tail_places[node->tail] = place;
}

static uint32_t place_of_end(const struct summing *summing, uint32_t end)
{
	const struct call_tree_tail *tail;

	if (!(end & CALL_TREE_TAIL))
		return summing->places[end];
	end &= ~CALL_TREE_TAIL;
	tail = &summing->from->tails[end];
	return tail->node ? summing->places[tail->node] : summing->tail_places[end];
}

/* Moves the times of stacks to the sums' nodes. */
static void place_log(const struct summing *summing, const struct course_log *log)
{
	for (size_t i = 0; i < log->n; i++) {
		uint32_t place = place_of_end(summing, log->parts[i].end);

		if (place != CALL_TREE_NONE)
			course_log_move(&summing->sums->log, log, &log->parts[i], place);
	}
}

static void sum_part(struct sums *sums, const struct sampled_event *from)
{
	struct summing summing = { sums, &from->tree, &sums->profile->tree, NULL, NULL };

	/* Each capture numbers its functions. */
	symbol_table_forget_frames(&sums->profiles.symbols);
	summing.places = memory_resize(NULL, from->tree.n_nodes, sizeof(*summing.places));
	summing.places[CALL_TREE_ROOT] = CALL_TREE_ROOT;
	summing.tail_places =
		memory_resize(NULL, from->tree.n_tails + 1, sizeof(*summing.tail_places));
	for (size_t i = 0; i < from->tree.n_tails; i++)
		summing.tail_places[i] = CALL_TREE_NONE;
	for (uint32_t i = 1; i < from->tree.n_nodes; i++)
		sum_node(&summing, i);
	place_log(&summing, &from->log);
	free(summing.places);
	free(summing.tail_places);
}

static const struct sampled_event *event_in(const struct part *part,
					    const struct reel_event_info *event)
{
	const struct samples *samples = &part->samples;

	for (size_t i = 0; i < samples->n_events; i++) {
		if (profile_is_same_event(samples->events[i].event, event))
			return &samples->events[i];
	}
	return NULL;
}

void sums_make(struct sums *sums, const struct parts *parts, size_t event, const struct by *by)
{
	*sums = (struct sums){ 0 };
	profiles_init(&sums->profiles, by, true);
	sums->profile = profiles_get(&sums->profiles, parts->events[event]);
	for (size_t i = 0; i < parts->n; i++) {
		const struct sampled_event *of = event_in(&parts->items[i], parts->events[event]);

		if (of)
			course_log_span(&sums->log, &of->log);
	}
	for (size_t i = 0; i < parts->n; i++) {
		const struct sampled_event *of = event_in(&parts->items[i], parts->events[event]);

		if (of)
			sum_part(sums, of);
	}
	profiles_finish(&sums->profiles);
}

const struct tree_courses *sums_courses(struct sums *sums)
{
	if (!sums->courses.columns)
		tree_courses_make(&sums->courses, &sums->profile->tree, &sums->log, sums->log.parts,
				  sums->log.n);
	return &sums->courses;
}

void sums_free(struct sums *sums)
{
	pointer_map_free(&sums->frames);
	course_log_free(&sums->log);
	tree_courses_free(&sums->courses);
	profiles_free(&sums->profiles);
}
