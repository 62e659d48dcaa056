/* SPDX-License-Identifier: Apache-2.0 */
#include "record/helper/family.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/quantity.h"

/* Time for one answer. */
#define ANSWER_NS (250 * REEL_NS_PER_MS)

struct numbers {
	uint32_t *items;
	size_t count, capacity;
	bool failed; /* out of memory */
};

static void numbers_add(struct numbers *numbers, uint32_t number)
{
	if (!reel_array_reserve(&numbers->items, numbers->count, &numbers->capacity,
				sizeof(*numbers->items))) {
		numbers->failed = true;
		return;
	}
	numbers->items[numbers->count++] = number;
}

static bool numbers_have(const uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] == number)
			return true;
	}
	return false;
}

/* ---- children ----------------------------------------------------------------------------- */

struct relation {
	uint32_t pid, parent;
};

struct relations {
	struct reel_inspector *inspector;
	struct relation *items;
	size_t count, capacity;
	bool failed;
};

static void visit_process(void *context, uint32_t pid)
{
	numbers_add(context, pid);
}

static void relations_add(struct relations *relations, uint32_t pid)
{
	struct reel_proc_thread process;

	if (!reel_inspector_thread(relations->inspector, pid, pid, &process))
		return;
	if (!reel_array_reserve(&relations->items, relations->count, &relations->capacity,
				sizeof(*relations->items))) {
		relations->failed = true;
		return;
	}
	relations->items[relations->count++] = (struct relation){ pid, process.parent };
}

/* Adds the children of the known processes, then their children, and so on. */
static void follow(const struct relations *relations, const uint32_t *known, size_t n_known,
		   struct numbers *found)
{
	size_t next = 0;

	for (size_t i = 0; i < n_known + found->count; i++) {
		uint32_t parent = i < n_known ? known[i] : found->items[next++];

		for (size_t j = 0; j < relations->count; j++) {
			uint32_t pid = relations->items[j].pid;

			if (relations->items[j].parent == parent &&
			    !numbers_have(known, n_known, pid) &&
			    !numbers_have(found->items, found->count, pid))
				numbers_add(found, pid);
		}
	}
}

struct reel_error *reel_family_children(struct reel_inspector *inspector, const uint32_t *pids,
					size_t n, uint32_t **ret, size_t *n_ret)
{
	struct relations relations = { .inspector = inspector };
	struct numbers all = { 0 }, found = { 0 };

	reel_inspector_processes(inspector, visit_process, &all);
	for (size_t i = 0; i < all.count; i++)
		relations_add(&relations, all.items[i]);
	follow(&relations, pids, n, &found);
	free(all.items);
	free(relations.items);
	*ret = found.items;
	*n_ret = found.count;
	if (!all.failed && !relations.failed && !found.failed)
		return NULL;
	free(found.items);
	*ret = NULL;
	*n_ret = 0;
	return reel_error_no_memory();
}

/* ---- threads ------------------------------------------------------------------------------ */

static void visit_thread(void *context, const struct reel_proc_thread *thread)
{
	numbers_add(context, thread->tid);
}

struct reel_error *reel_family_threads(struct reel_inspector *inspector, uint32_t pid,
				       uint32_t **ret, size_t *n_ret)
{
	struct numbers found = { 0 };
	enum reel_answer answer;
	size_t before;

	do {
		before = found.count;
		answer = reel_inspector_threads(inspector, pid, (uint32_t)found.count,
						reel_now() + ANSWER_NS, visit_thread, &found);
	} while (answer == REEL_ANSWER_PART && found.count > before && !found.failed);
	*ret = found.items;
	*n_ret = found.count;
	if (!found.failed)
		return NULL;
	free(found.items);
	*ret = NULL;
	*n_ret = 0;
	return reel_error_no_memory();
}
