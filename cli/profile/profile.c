/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/profile/profile.h"
#include "cli/print/text.h"

void profiles_init(struct profiles *profiles, const struct by *by, bool mark_cut)
{
	*profiles = (struct profiles){
		.mark_cut = mark_cut,
		.n_groups = by->groups.n,
		.has_symbol_rows = by_has_symbol_rows(by),
	};
	symbol_table_init(&profiles->symbols, by->symbols);
	profiles->symbols.merges_parts = by->merges_parts;
	for (size_t i = 0; i < by->groups.n; i++)
		groups_init(&profiles->groups[i], by->groups.keys[i]);
}

struct reel_event_info *event_copy(const struct reel_event_info *event)
{
	struct reel_event_info *copy;

	if (!event)
		return NULL;
	copy = memory_get(sizeof(*copy));
	*copy = *event;
	copy->waits_found_at = NULL;
	copy->name = memory_print("%s", event->name);
	copy->weight_unit = memory_print("%s", event->weight_unit);
	return copy;
}

void event_free(struct reel_event_info *event)
{
	if (!event)
		return;
	free((char *)event->name);
	free((char *)event->weight_unit);
	free(event);
}

static void free_profile(struct profile *profile)
{
	call_tree_free(&profile->tree);
	if (profile->owns_event)
		event_free((struct reel_event_info *)profile->event);
}

void profiles_free(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->count; i++)
		free_profile(&profiles->items[i]);
	free(profiles->items);
	for (size_t i = 0; i < profiles->n_groups; i++)
		groups_free(&profiles->groups[i]);
	symbol_table_free(&profiles->symbols);
}

static const void *key_of_frame(void *context, const struct reel_frame *frame)
{
	return symbol_of_frame(context, frame);
}

bool profile_is_same_event(const struct reel_event_info *a, const struct reel_event_info *b)
{
	return a == b ||
	       (a && b && !strcmp(a->name, b->name) && !strcmp(a->weight_unit, b->weight_unit));
}

struct profile *profiles_get(struct profiles *profiles, const struct reel_event_info *event)
{
	struct profile *profile;

	for (size_t i = 0; i < profiles->count; i++) {
		if (profile_is_same_event(profiles->items[i].event, event))
			return &profiles->items[i];
	}
	profiles->items =
		memory_resize(profiles->items, profiles->count + 1, sizeof(*profiles->items));
	profile = &profiles->items[profiles->count];
	*profile = (struct profile){
		.event = event,
		.is_time = event && !strcmp(event->weight_unit, "ns"),
	};
	call_tree_init(&profile->tree);
	profile->tree.key_of = key_of_frame;
	profile->tree.context = &profiles->symbols;
	profile->tree.compare = symbol_compare;
	profiles->count++;
	return profile;
}

uint32_t profiles_enter_groups(struct profiles *profiles, struct call_tree *tree,
			       const struct reel_trace *trace, const struct reel_event_info *event)
{
	uint32_t node = CALL_TREE_ROOT;

	for (size_t i = 0; i < profiles->n_groups; i++)
		node = call_tree_child(
			tree, node,
			groups_find(&profiles->groups[i], &profiles->symbols, trace, event));
	return node;
}

bool profiles_add(void *context, const struct reel_trace *trace,
		  const struct reel_event_info *event)
{
	struct profiles *profiles = context;
	struct call_tree *tree = &profiles_get(profiles, event)->tree;
	struct symbol_table *symbols = &profiles->symbols;
	uint32_t start = profiles_enter_groups(profiles, tree, trace, event);

	if (profiles->mark_cut && trace_is_cut(trace))
		start = call_tree_child(tree, start, symbol_of_stop(symbols, trace->stop));
	else if (profiles->mark_cut && !trace->n_frames)
		start = call_tree_child(tree, start, symbol_of_group(symbols, "[no frames]"));
	call_tree_add(tree, start, trace->frames, trace->n_frames,
		      (struct amount){ trace->weight, 1 });
	if (profiles->courses)
		courses_add(profiles->courses, symbols, trace);
	return true;
}

bool profile_add_sum(struct profile *profile, struct amount amount)
{
	struct amount sum;

	if (__builtin_add_overflow(profile->sum.samples, amount.samples, &sum.samples) ||
	    __builtin_add_overflow(profile->sum.weight, amount.weight, &sum.weight))
		return false;
	profile->sum = sum;
	return true;
}

static void own_event(struct profile *profile)
{
	if (profile->owns_event || !profile->event)
		return;
	profile->event = event_copy(profile->event);
	profile->owns_event = true;
}

void profiles_leave_capture(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->count; i++) {
		own_event(&profiles->items[i]);
		call_tree_forget_frames(&profiles->items[i].tree);
	}
	symbol_table_forget_frames(&profiles->symbols);
}

void profiles_keep(struct profiles *profiles, const char *event)
{
	size_t kept = 0;

	for (size_t i = 0; i < profiles->count; i++) {
		if (reel_text_matches(event_name(profiles->items[i].event), event))
			profiles->items[kept++] = profiles->items[i];
		else
			free_profile(&profiles->items[i]);
	}
	profiles->count = kept;
}

struct quality profiles_quality(const struct profiles *profiles)
{
	struct quality sum = { 0 };

	for (size_t i = 0; i < profiles->count; i++)
		quality_join(&sum, &profiles->items[i].quality);
	return sum;
}

static const void *same_key(void *context, const void *key)
{
	(void)context;
	return key;
}

/* If no sample has a weight, all count the same. */
static void weigh_by_samples(struct profile *profile)
{
	struct call_tree *tree = &profile->tree;

	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		if (tree->nodes[i].self.weight)
			return;
	}
	for (size_t i = 1; i < tree->n_tails; i++) {
		if (tree->tails[i].self.weight)
			return;
	}
	profile->is_time = false;
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].self.weight = tree->nodes[i].self.samples;
	for (size_t i = 1; i < tree->n_tails; i++)
		tree->tails[i].self.weight = tree->tails[i].self.samples;
}

/* Inlined functions have the address of the function that contains them. */
static const void *key_of_address(void *context, const void *key)
{
	const struct symbol *symbol = key;

	(void)context;
	return symbol->inlined ? NULL : symbol;
}

static void sum_up(struct profiles *profiles, struct profile *profile)
{
	struct call_tree collapsed;

	weigh_by_samples(profile);
	switch (profiles->symbols.by) {
	case SYMBOLS_BY_NAME:
	case SYMBOLS_BY_NAME_ANNOTATED:
		call_tree_link(&profile->tree);
		return;
	case SYMBOLS_BY_MODULE:
		/* Calls within a module are not shown. */
		call_tree_map(&profile->tree, same_key, NULL, true, &collapsed);
		call_tree_free(&profile->tree);
		profile->tree = collapsed;
		break;
	case SYMBOLS_BY_ADDRESS:
		call_tree_map(&profile->tree, key_of_address, NULL, false, &collapsed);
		call_tree_free(&profile->tree);
		profile->tree = collapsed;
		break;
	case SYMBOLS_BY_FUNCTION:
	case SYMBOLS_BY_LINE:
	case SYMBOLS_BY_SOURCE:
		break;
	}
	call_tree_finish(&profile->tree);
}

void profiles_finish(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->n_groups; i++)
		groups_name(&profiles->groups[i], &profiles->symbols);
	for (size_t i = 0; i < profiles->count; i++)
		sum_up(profiles, &profiles->items[i]);
}

const char *profile_unit(const struct profile *profile)
{
	return profile->is_time ? "time" : "count";
}

struct short_text profile_format(const struct profile *profile, uint64_t weight)
{
	return profile->is_time ? format_nanoseconds(weight) : format_count(weight);
}
