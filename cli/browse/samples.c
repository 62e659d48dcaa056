/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/browse/samples.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"

/* Keys for marks: cut traces, and traces without a frame. */
static const char stops[REEL_STOP_COUNT], no_frames;

void samples_init(struct samples *samples)
{
	*samples = (struct samples){ 0 };
	symbol_table_init(&samples->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&samples->threads, GROUP_THREAD);
}

void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->n_events; i++)
		call_tree_free(&samples->events[i].tree);
	for (size_t i = 0; i < samples->n_lanes; i++)
		free(samples->lanes[i]);
	free(samples->events);
	free(samples->lanes);
	free(samples->path);
	pointer_map_free(&samples->by_thread);
	groups_free(&samples->threads);
	symbol_table_free(&samples->symbols);
}

/* ---- adding ------------------------------------------------------------------------------- */

struct lane *samples_lane(struct samples *samples, const struct reel_trace *trace)
{
	const void *thread = groups_find(&samples->threads, &samples->symbols, trace);
	struct lane *first = pointer_map_get(&samples->by_thread, thread), *lane = first;

	while (lane && lane->who.comm != trace->comm)
		lane = lane->next;
	if (lane)
		return lane;
	lane = memory_get(sizeof(*lane));
	*lane = (struct lane){
		.who = { .pid = trace->pid,
			 .tid = trace->tid,
			 .thread = trace->thread,
			 .comm = trace->comm,
			 .host = trace->host,
			 .host_id = trace->host_id },
	};
	if (first) {
		lane->next = first->next;
		first->next = lane;
	} else {
		pointer_map_put(&samples->by_thread, thread, lane);
	}
	samples->lanes = memory_reserve(samples->lanes, &samples->capacity, samples->n_lanes,
					sizeof(struct lane *));
	samples->lanes[samples->n_lanes++] = lane;
	return lane;
}

static struct call_tree *tree_of(struct samples *samples, const struct reel_event_info *event)
{
	struct sampled_event *added;

	for (size_t i = 0; i < samples->n_events; i++) {
		if (profile_is_same_event(samples->events[i].event, event))
			return &samples->events[i].tree;
	}
	samples->events =
		memory_resize(samples->events, samples->n_events + 1, sizeof(*samples->events));
	added = &samples->events[samples->n_events++];
	added->event = event;
	call_tree_init(&added->tree);
	return &added->tree;
}

/* Frames as keys: their addresses are even, which leaves a bit free. */
static const struct reel_frame *const *path_of(struct samples *samples,
					       const struct reel_trace *trace)
{
	if (trace->n_frames > samples->path_capacity) {
		samples->path_capacity = trace->n_frames * 2;
		samples->path = memory_resize(samples->path, samples->path_capacity,
					      sizeof(*samples->path));
	}
	for (size_t i = 0; i < trace->n_frames; i++)
		samples->path[i] = (const void *)((const char *)trace->frames[i] +
						  step_is_guess(trace->steps[i]));
	return samples->path;
}

bool samples_add(void *context, const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct samples *samples = context;
	struct call_tree *tree = tree_of(samples, event);
	uint32_t start = call_tree_child(tree, CALL_TREE_ROOT, samples_lane(samples, trace));

	if (trace_is_cut(trace))
		start = call_tree_child(tree, start, &stops[trace->stop]);
	else if (!trace->n_frames)
		start = call_tree_child(tree, start, &no_frames);
	call_tree_add(tree, start, path_of(samples, trace), trace->n_frames,
		      (struct amount){ trace->weight, 1 });
	return true;
}

/* ---- summing up --------------------------------------------------------------------------- */

struct summing {
	struct sums *sums;
	const struct call_tree *from;
	struct call_tree *to;
	uint32_t *places; /* for each node of `from`, its node in `to`; NONE: hidden */
};

static struct symbol *symbol_of_key(const struct summing *summing, const void *key)
{
	struct symbol_table *symbols = &summing->sums->profiles.symbols;
	struct pointer_map *frames = &summing->sums->frames;
	const char *mark = key;
	const struct reel_frame *frame;
	struct symbol *symbol;
	bool guessed;

	if (mark >= stops && mark < stops + REEL_STOP_COUNT)
		return symbol_of_stop(symbols, (enum reel_stop)(mark - stops));
	if (mark == &no_frames)
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
	if (profiles->groups.grouping == GROUP_NONE)
		return CALL_TREE_ROOT;
	return call_tree_child(summing->to, CALL_TREE_ROOT,
			       groups_find(&profiles->groups, &profiles->symbols, &lane->who));
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
}

void sums_make(struct sums *sums, const struct samples *samples, size_t event, enum symbols_by by,
	       enum grouping grouping)
{
	const struct sampled_event *from = &samples->events[event];
	struct summing summing = { sums, &from->tree, NULL, NULL };

	*sums = (struct sums){ 0 };
	profiles_init(&sums->profiles, grouping, by, true);
	sums->profile = profiles_get(&sums->profiles, from->event);
	summing.to = &sums->profile->tree;
	summing.places = memory_resize(NULL, from->tree.n_nodes, sizeof(*summing.places));
	summing.places[CALL_TREE_ROOT] = CALL_TREE_ROOT;
	for (uint32_t i = 1; i < from->tree.n_nodes; i++)
		sum_node(&summing, i);
	free(summing.places);
	profiles_finish(&sums->profiles);
}

void sums_free(struct sums *sums)
{
	pointer_map_free(&sums->frames);
	profiles_free(&sums->profiles);
}
