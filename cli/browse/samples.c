/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/browse/parts.h"
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"

const char samples_stops[REEL_STOP_COUNT], samples_no_frames;

void samples_init(struct samples *samples, const struct grouping *kept)
{
	*samples = (struct samples){ .labels.by_name = true };
	symbol_table_init(&samples->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&samples->threads, (struct group_key){ GROUP_THREAD, "thread", 0 });
	call_tree_init(&samples->lane_paths);
	if (kept)
		samples_keep_more(&samples->kept, kept);
	for (size_t i = 0; i < samples->kept.n; i++)
		groups_init(&samples->groups[i], samples->kept.keys[i]);
}

static void free_lane(struct lane *lane)
{
	for (size_t i = 0; i < lane->who.n_labels; i++)
		free((char *)lane->labels[i].text);
	free(lane->labels);
	for (size_t i = 0; i < lane->who.n_values; i++)
		free((char *)lane->values[i].text);
	free(lane->values);
	free(lane);
}

void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->n_events; i++) {
		call_tree_free(&samples->events[i].tree);
		course_log_free(&samples->events[i].log);
	}
	for (size_t i = 0; i < samples->n_lanes; i++)
		free_lane(samples->lanes[i]);
	for (size_t i = 0; i < samples->kept.n; i++)
		groups_free(&samples->groups[i]);
	free(samples->events);
	free(samples->lanes);
	free(samples->by_path);
	free(samples->path);
	sample_counts_free(&samples->labels);
	call_tree_free(&samples->lane_paths);
	groups_free(&samples->threads);
	symbol_table_free(&samples->symbols);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static bool is_always_kept(const struct group_key *key)
{
	return !group_may_be_numbers(key) && key->kind != GROUP_CPU;
}

static bool has_key(const struct grouping *grouping, const struct group_key *key)
{
	for (size_t i = 0; i < grouping->n; i++) {
		if (!strcmp(grouping->keys[i].name, key->name))
			return true;
	}
	return false;
}

bool samples_suffice(const struct grouping *kept, const struct grouping *grouping)
{
	for (size_t i = 0; i < grouping->n; i++) {
		if (!is_always_kept(&grouping->keys[i]) && !has_key(kept, &grouping->keys[i]))
			return false;
	}
	return true;
}

/* There are at most as many keys as a grouping has room for. */
void samples_keep_more(struct grouping *kept, const struct grouping *more)
{
	for (size_t i = 0; i < more->n && kept->n < GROUP_KEYS_MAX; i++) {
		if (!is_always_kept(&more->keys[i]) && !has_key(kept, &more->keys[i]))
			kept->keys[kept->n++] = more->keys[i];
	}
}

static void see_labels(struct samples *samples, const struct reel_trace *trace)
{
	for (size_t i = 0; i < trace->n_labels; i++)
		sample_counts_add(&samples->labels, 0, trace->labels[i].key);
}

/* ---- adding ------------------------------------------------------------------------------- */

static struct lane *lane_make(const struct samples *samples, const struct reel_trace *trace)
{
	struct lane *lane = memory_get(sizeof(*lane));

	*lane = (struct lane){
		.who = { .pid = trace->pid,
			 .tid = trace->tid,
			 .thread = trace->thread,
			 .comm = trace->comm,
			 .host = trace->host,
			 .host_id = trace->host_id,
			 .cpu = trace->cpu,
			 .state = trace->state },
		.labels = memory_get((samples->kept.n + 1) * sizeof(*lane->labels)),
		.values = memory_get((samples->kept.n + 1) * sizeof(*lane->values)),
	};
	lane->who.labels = lane->labels;
	lane->who.values = lane->values;
	for (size_t i = 0; i < samples->kept.n; i++) {
		const struct group_key *key = &samples->kept.keys[i];
		const struct reel_label *label =
			key->kind == GROUP_LABEL ? reel_trace_label(trace, key->name) : NULL;
		const struct reel_frame_value *value =
			key->kind == GROUP_VARIABLE ? value_of_trace(trace, key->request) : NULL;

		if (value) {
			lane->values[lane->who.n_values] = *value;
			lane->values[lane->who.n_values].name = key->name;
			lane->values[lane->who.n_values++].text = memory_print("%s", value->text);
		}
		if (!label)
			continue;
		lane->labels[lane->who.n_labels] = *label;
		lane->labels[lane->who.n_labels++].text = memory_print("%s", label->text);
	}
	return lane;
}

static uint32_t path_of_lane(struct samples *samples, const struct reel_trace *trace)
{
	struct call_tree *paths = &samples->lane_paths;
	struct symbol_table *symbols = &samples->symbols;
	uint32_t node;

	node = call_tree_child(paths, CALL_TREE_ROOT,
			       groups_find(&samples->threads, symbols, trace, NULL));
	node = call_tree_child(paths, node, trace->comm);
	node = call_tree_child(paths, node, reel_state_name(trace->state));
	for (size_t i = 0; i < samples->kept.n; i++)
		node = call_tree_child(paths, node,
				       groups_find(&samples->groups[i], symbols, trace, NULL));
	return node;
}

struct lane *samples_lane(struct samples *samples, const struct reel_trace *trace)
{
	uint32_t path = path_of_lane(samples, trace);
	struct lane *lane;

	samples->by_path = memory_reserve_zeroed(samples->by_path, &samples->n_by_path, path,
						 sizeof(struct lane *));
	if (samples->by_path[path])
		return samples->by_path[path];
	lane = lane_make(samples, trace);
	samples->by_path[path] = lane;
	samples->lanes = memory_reserve(samples->lanes, &samples->capacity, samples->n_lanes,
					sizeof(struct lane *));
	samples->lanes[samples->n_lanes++] = lane;
	return lane;
}

static struct sampled_event *event_of(struct samples *samples, const struct reel_event_info *event)
{
	struct sampled_event *added;

	for (size_t i = 0; i < samples->n_events; i++) {
		if (profile_is_same_event(samples->events[i].event, event))
			return &samples->events[i];
	}
	samples->events =
		memory_resize(samples->events, samples->n_events + 1, sizeof(*samples->events));
	added = &samples->events[samples->n_events++];
	*added = (struct sampled_event){ .event = event };
	call_tree_init(&added->tree);
	return added;
}

/* Frames as keys: their addresses are even, which leaves a bit free. */
static const struct reel_frame *const *path_of(struct samples *samples,
					       const struct reel_trace *trace)
{
	samples->path = memory_reserve(samples->path, &samples->path_capacity, trace->n_frames,
				       sizeof(*samples->path));
	for (size_t i = 0; i < trace->n_frames; i++)
		samples->path[i] = (const void *)((const char *)trace->frames[i] +
						  step_is_guess(trace->steps[i]));
	return samples->path;
}

bool samples_add(void *context, const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct samples *samples = context;
	struct sampled_event *sampled = event_of(samples, event);
	struct call_tree *tree = &sampled->tree;
	uint32_t start = call_tree_child(tree, CALL_TREE_ROOT, samples_lane(samples, trace));

	see_labels(samples, trace);
	if (trace_is_cut(trace))
		start = call_tree_child(tree, start, &samples_stops[trace->stop]);
	else if (!trace->n_frames)
		start = call_tree_child(tree, start, &samples_no_frames);
	course_log_add(&sampled->log, trace,
		       call_tree_add(tree, start, path_of(samples, trace), trace->n_frames,
				     (struct amount){ trace->weight, 1 }));
	return true;
}
