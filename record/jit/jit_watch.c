/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of new code samples check (bpf/sample.h). */
#include <string.h>

#include "base/quantity.h"
#include "record/jit/jit_code_internal.h"

/* Pages are watched until they have not changed, or no sample has led there, for so long. */
#define WATCH_AGE  (4 * REEL_NS_PER_SECOND)
#define WATCH_IDLE REEL_NS_PER_SECOND
/* A page is not replaced by another one before. */
#define WATCH_KEPT (100 * REEL_NS_PER_MS)

void reel_jit_watch_end(struct reel_jit_code *jit, struct space *space)
{
	if (!space->watched_pid)
		return;
	jit->options.watch(jit->options.watch_context, space->watched_pid, NULL);
	jit->is_number_used[space->number] = false;
	space->watched_pid = 0;
	memset(space->watched, 0, sizeof(space->watched));
	memset(space->hits, 0, sizeof(space->hits));
}

static bool is_new(const struct page *page, uint64_t time)
{
	return page->is_written && time < page->changed + WATCH_AGE;
}

void reel_jit_watch_settle(const struct reel_jit_code *jit, const struct space *space,
			   struct page *page)
{
	uint64_t found = space->checked < jit->arrived ? space->checked : jit->arrived;

	if (page->is_watched && page->found < found)
		page->found = found;
}

/* Watches another page, or with 0 none, at this place. */
static void set_watch(struct reel_jit_code *jit, struct space *space, uint32_t place,
		      uint64_t address)
{
	struct page *page = reel_jit_page_find(space, space->watched[place]);

	if (page) {
		reel_jit_watch_settle(jit, space, page);
		page->is_watched = false;
	}
	space->watched[place] = address;
	space->begun[place] = reel_now();
	jit->options.watch_page(jit->options.watch_context, space->number, place,
				&(struct reel_bpf_watched){
					.space = space->code.entry.id,
					.address = address,
				});
}

/* False if there are too many. */
static bool begin_watches(struct reel_jit_code *jit, struct space *space)
{
	uint32_t pid = reel_jit_code_pid(jit, space->code.entry.id);

	for (uint32_t i = 0; !space->watched_pid && pid && i < REEL_WATCHES_MAX; i++) {
		if (jit->is_number_used[i])
			continue;
		jit->is_number_used[i] = true;
		space->watched_pid = pid;
		space->number = i;
		for (uint32_t place = 0; place < REEL_WATCH_PAGES; place++)
			set_watch(jit, space, place, 0);
		jit->options.watch(jit->options.watch_context, pid, &space->number);
	}
	return space->watched_pid;
}

/* Code near the ends of a page goes on in the next one. */
static bool is_near(uint64_t page, uint64_t address)
{
	return address + NEXT_PAGE_WITHIN >= page && address < page + PAGE + LAST_PAGE_WITHIN;
}

void reel_jit_watch_page(struct reel_jit_code *jit, struct space *space, const struct page *page,
			 uint64_t address, uint64_t time)
{
	uint32_t place = 0;
	bool found = false;

	for (uint32_t i = 0; i < REEL_WATCH_PAGES; i++) {
		if (space->watched[i] && is_near(space->watched[i], address))
			space->hits[i] = time;
		found |= space->watched[i] == page->entry.id;
		if (space->hits[i] < space->hits[place])
			place = i;
	}
	if (found || !is_new(page, time) || time < space->hits[place] + WATCH_KEPT ||
	    !begin_watches(jit, space))
		return;
	set_watch(jit, space, place, page->entry.id);
	space->hits[place] = time;
}

static void drop_watches(void *context, struct reel_id_entry *entry)
{
	struct reel_jit_code *jit = context;
	struct space *space = (struct space *)entry;
	bool any = false;

	for (uint32_t i = 0; i < REEL_WATCH_PAGES && space->watched_pid; i++) {
		const struct page *page = reel_jit_page_find(space, space->watched[i]);

		if (page && is_new(page, jit->arrived) &&
		    jit->arrived < space->hits[i] + WATCH_IDLE) {
			any = true;
		} else if (space->watched[i]) {
			set_watch(jit, space, i, 0);
			space->hits[i] = 0;
		}
	}
	if (!any)
		reel_jit_watch_end(jit, space);
}

void reel_jit_code_watch(struct reel_jit_code *jit, uint64_t arrived)
{
	jit->arrived = arrived;
	reel_id_table_visit(&jit->spaces.table, drop_watches, jit);
}

bool reel_jit_watch_is_present(const struct space *space, const struct reel_bpf_code *seen)
{
	for (uint32_t i = 0; i < REEL_WATCH_PAGES; i++) {
		if (space->watched[i] == seen->address)
			return seen->time >= space->begun[i];
	}
	return false;
}
