/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/flamegraph/flame_profile.h"
#include "cli/print/text.h"

/* ---- rare calls ---------------------------------------------------------------------- */

/* Of a node: those with fewer samples are left out first, and of equal ones, the deepest.  No node
 * ranks before its caller. */
struct rank {
	uint64_t samples;
	size_t depth;
};

static int compare_node_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static size_t count_nodes(const struct flame_profile *profile)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_events; i++)
		n += profile->events[i].tree.n_nodes;
	return n;
}

static struct rank *rank_nodes(const struct call_tree *tree, struct rank *ranks)
{
	/* Callers have smaller numbers. */
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		const struct call_tree_node *node = &tree->nodes[i];

		ranks[i].samples = node->total.samples;
		ranks[i].depth = i == CALL_TREE_ROOT ? 0 : ranks[node->parent].depth + 1;
	}
	return ranks + tree->n_nodes;
}

/* At most `max` nodes rank before it. */
static struct rank threshold(const struct flame_profile *profile, size_t max)
{
	_cleanup_free_ struct rank *ranks = NULL;
	size_t all = count_nodes(profile);
	struct rank *end;

	if (all <= max)
		return (struct rank){ 0, SIZE_MAX };
	ranks = end = memory_resize(NULL, all, sizeof(*ranks));
	for (size_t i = 0; i < profile->n_events; i++)
		end = rank_nodes(&profile->events[i].tree, end);
	qsort(ranks, all, sizeof(*ranks), compare_node_ranks);
	return ranks[max];
}

struct pruning {
	const struct call_tree *tree;
	struct rank limit; /* nodes that rank before it are kept */
	bool join_lines;
	const struct flame_frame *rare;
	struct call_tree pruned;
	uint32_t *mapped; /* by node: its new number */
};

static int prune_node(void *context, uint32_t number, size_t depth)
{
	struct pruning *pruning = context;
	const struct call_tree_node *node = &pruning->tree->nodes[number];
	const struct flame_frame *frame = node->key;
	const struct rank rank = { node->total.samples, depth };
	const void *key = compare_node_ranks(&rank, &pruning->limit) >= 0 ? pruning->rare
			  : pruning->join_lines				  ? frame->function
									  : frame;
	uint32_t at = pruning->mapped[node->parent];

	if (key != pruning->rare || pruning->pruned.nodes[at].key != key)
		at = call_tree_child(&pruning->pruned, at, key);
	pruning->mapped[number] = at;
	amount_add(&pruning->pruned.nodes[at].self, node->self);
	return 1;
}

/* Numbers nodes from the root down, heaviest first. Returns the new numbers; the caller frees them.
 */
static uint32_t *prune_tree(struct call_tree *tree, struct pruning pruning)
{
	pruning.tree = tree;

	call_tree_init(&pruning.pruned);
	pruning.pruned.compare = tree->compare;
	pruning.pruned.nodes[CALL_TREE_ROOT].self = tree->nodes[CALL_TREE_ROOT].self;
	pruning.mapped = memory_resize(NULL, tree->n_nodes, sizeof(*pruning.mapped));
	pruning.mapped[CALL_TREE_ROOT] = CALL_TREE_ROOT;
	call_tree_walk(tree, prune_node, NULL, &pruning);
	call_tree_finish(&pruning.pruned);
	call_tree_free(tree);
	*tree = pruning.pruned;
	return pruning.mapped;
}

static uint64_t samples_of(const struct call_tree *tree, const struct flame_frame *frame)
{
	uint64_t samples = 0;

	for (uint32_t i = 1; i < tree->n_nodes; i++) {
		if (tree->nodes[i].key == frame)
			samples += tree->nodes[i].self.samples;
	}
	return samples;
}

/* Makes new trees, for spans as well. */
static void rebuild_trees(struct flame_profile *profile, struct pruning pruning)
{
	pruning.rare = flame_frame_get(
		&profile->frames,
		symbol_of_group(&profile->frames.symbols, "[rare calls, left out]"), false);
	profile->pruned = 0;
	for (size_t i = 0; i < profile->n_events; i++) {
		struct call_tree *tree = &profile->events[i].tree;
		_cleanup_free_ uint32_t *mapped = prune_tree(tree, pruning);

		profile->pruned += samples_of(tree, pruning.rare);
		for (size_t j = 0; j < profile->spans.n; j++) {
			struct flame_span *span = &profile->spans.items[j];

			if (span->event == i)
				span->node = mapped[span->node];
		}
	}
	flame_spans_merge(&profile->spans);
}

/* Leaves at most `max` nodes, plus one for each that lost some. */
static void prune(struct flame_profile *profile, size_t max)
{
	rebuild_trees(profile, (struct pruning){ .limit = threshold(profile, max) });
}

/* Lines go first: no number of a function changes. */
static void join_lines(struct flame_profile *profile)
{
	flame_frames_join_lines(&profile->frames);
	rebuild_trees(profile, (struct pruning){ .join_lines = true, .limit = { 0, SIZE_MAX } });
}

/* ---- rare threads ---------------------------------------------------------------------- */

/* Of threads by number. */
struct merging {
	struct flame_profile *profile;
	uint64_t *samples;
	bool *is_kept;
	uint32_t *mapped;
	struct flame_thread *threads; /* new */
	size_t n;
};

static void count_samples(struct merging *merging)
{
	const struct flame_spans *spans = &merging->profile->spans;

	for (size_t i = 0; i < spans->n; i++)
		merging->samples[spans->items[i].thread] += spans->items[i].amount.samples;
}

struct thread_rank {
	uint64_t samples;
	uint32_t thread;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct thread_rank *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Keeps the threads with the most samples; those that represent several then represent more. */
static void choose_kept(struct merging *merging, size_t max)
{
	size_t n = merging->profile->n_threads;
	_cleanup_free_ struct thread_rank *ranks = memory_resize(NULL, n, sizeof(*ranks));

	for (uint32_t i = 0; i < n; i++)
		ranks[i] = (struct thread_rank){ merging->samples[i], i };
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
	for (size_t i = 0, kept = 0; i < n && kept < max; i++) {
		if (merging->profile->threads[ranks[i].thread].count > 1)
			continue;
		merging->is_kept[ranks[i].thread] = true;
		kept++;
	}
}

static void keep_threads(struct merging *merging)
{
	const struct flame_profile *profile = merging->profile;

	for (size_t i = 0; i < profile->n_threads; i++)
		profile->threads[i].process->number = 0;
	for (size_t i = 0; i < profile->n_threads; i++) {
		if (!merging->is_kept[i])
			continue;
		merging->threads[merging->n] = profile->threads[i];
		profile->threads[i].process->number = 1;
		merging->mapped[i] = (uint32_t)merging->n++;
	}
}

/* The others become one for each process with kept threads, and one for all other processes. */
static void merge_others(struct merging *merging)
{
	struct flame_profile *profile = merging->profile;
	struct pointer_map merged = { 0 }; /* by process: numbers + 1 */

	for (size_t i = 0; i < profile->n_threads; i++) {
		const struct flame_thread *thread = &profile->threads[i];
		/* NULL is not a key: the profile is not a process's. */
		const void *key = thread->process->number ? (const void *)thread->process
							  : (const void *)profile;
		uintptr_t number;

		if (merging->is_kept[i])
			continue;
		number = (uintptr_t)pointer_map_get(&merged, key);
		if (!number) {
			merging->threads[merging->n] = *thread;
			merging->threads[merging->n].count = 0;
			if (key == profile)
				merging->threads[merging->n].process = NULL;
			number = ++merging->n;
			pointer_map_put(&merged, key, (void *)number);
		}
		merging->threads[number - 1].count += thread->count;
		merging->mapped[i] = (uint32_t)number - 1;
	}
	pointer_map_free(&merged);
}

static void name_merged(struct merging *merging)
{
	struct symbol_table *symbols = &merging->profile->frames.symbols;

	for (size_t i = 0; i < merging->n; i++) {
		struct flame_thread *thread = &merging->threads[i];
		_cleanup_free_ char *name = NULL;

		if (thread->process && thread->count == 1)
			continue;
		name = memory_print("[%s]", format_plural(thread->count, "more thread").text);
		thread->thread = symbol_of_group(symbols, name);
		thread->tid = 0;
		if (!thread->process) {
			thread->process = thread->thread;
			thread->pid = 0;
		}
	}
}

/* Keeps the `max` threads with the most samples, or fewer. */
static void merge_threads(struct flame_profile *profile, size_t max)
{
	size_t n = profile->n_threads;
	struct merging merging = {
		.profile = profile,
		.samples = memory_get(n * sizeof(*merging.samples)),
		.is_kept = memory_get(n * sizeof(*merging.is_kept)),
		.mapped = memory_get(n * sizeof(*merging.mapped)),
		.threads = memory_get(n * sizeof(*merging.threads)),
	};

	count_samples(&merging);
	choose_kept(&merging, max);
	keep_threads(&merging);
	merge_others(&merging);
	name_merged(&merging);
	for (size_t i = 0; i < profile->spans.n; i++)
		profile->spans.items[i].thread = merging.mapped[profile->spans.items[i].thread];
	flame_spans_merge(&profile->spans);
	free(profile->threads);
	profile->threads = merging.threads;
	profile->n_threads = merging.n;
	free(merging.samples);
	free(merging.is_kept);
	free(merging.mapped);
}

/* ---- rare labels ------------------------------------------------------------------------ */

static void merge_labels(struct flame_profile *profile, size_t max)
{
	_cleanup_free_ uint32_t *mapped = flame_labels_limit(&profile->labels, max);

	if (!mapped)
		return;
	for (size_t i = 0; i < profile->spans.n; i++)
		profile->spans.items[i].labels = mapped[profile->spans.items[i].labels];
	flame_spans_merge(&profile->spans);
}

/* ---- limits --------------------------------------------------------------------------------- */

void flame_profile_limit(struct flame_profile *profile, const struct flame_limits *limits)
{
	struct flame_spans *spans = &profile->spans;

	flame_spans_merge(spans);
	if (profile->frames.by_line && count_nodes(profile) > limits->nodes)
		join_lines(profile);
	prune(profile, limits->nodes);
	if (profile->n_threads > limits->threads)
		merge_threads(profile, limits->threads);
	merge_labels(profile, limits->values);
	while (spans->step < limits->step && flame_spans_widen(spans))
		;
}
