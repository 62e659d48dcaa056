/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/quantity.h"
#include "record/jit/jit_code_internal.h"

/*
 * A page is read again after a quarter of the time since its last change, within these limits: code
 * that is made anew every so often is then seen in each of its forms.
 */
#define CHECK_LEAST   (10 * REEL_NS_PER_MS)
#define CHECK_MOST    REEL_NS_PER_SECOND
#define CHECK_QUARTER 4
/* Bytes that change with that many readings, one soon after the other, are not written until so many
 * find the same ones: others may have been there in between. */
#define CHANGES_MAX 3
#define SETTLED	    3
/* The first reading's bytes are taken to have been there since the first sample, unless they change
 * within so many times as long. */
#define FIRST_KEPT 4
/* While samples lead to new pages, they are taken from the rings every CHECK_LEAST. */
#define NEWS_LAST REEL_NS_PER_SECOND
/* So many samples that lead to new pages, within so long: a JIT makes code.  When it has made what the
 * program needs, samples still find pages that no sample had hit. */
#define NEWS_MANY 10
#define NEWS_SPAN (10 * REEL_NS_PER_SECOND)
/* Before a page is read again that no call has led to so far. */
#define RETRY_INTERVAL (100 * REEL_NS_PER_MS)

/* ---- known pages --------------------------------------------------------------------- */

static void forget_pages(struct reel_jit_code *jit, struct space *space)
{
	reel_jit_watch_end(jit, space);
	jit->n_pages -= space->pages.count;
	reel_id_table_free_all(&space->pages);
}

static void forget_space(void *context, struct reel_code_space *space)
{
	forget_pages(context, (struct space *)space);
}

void reel_jit_code_destroy(struct reel_jit_code *jit)
{
	if (!jit)
		return;
	reel_code_spaces_free(&jit->spaces);
	free(jit->read);
	free(jit);
}

static void restart_space(void *context, struct reel_id_entry *entry)
{
	forget_pages(context, (struct space *)entry);
}

void reel_jit_code_restart(struct reel_jit_code *jit)
{
	jit->n_wants = jit->n_asked = 0;
	jit->is_last = false;
	jit->bytes_left = jit->options.limit;
	reel_id_table_visit(&jit->spaces.table, restart_space, jit);
}

uint64_t reel_jit_code_left_out(const struct reel_jit_code *jit)
{
	return jit->left_out;
}

static struct space *space_find(const struct reel_jit_code *jit, uint64_t id)
{
	return (struct space *)reel_id_table_find(&jit->spaces.table, id);
}

static void leave_out(struct reel_jit_code *jit, struct page *page)
{
	/* Count each page once, even if it is wanted again. */
	if (!page || !page->is_left_out)
		jit->left_out++;
	if (page)
		page->is_left_out = true;
}

void reel_jit_code_forget_ended(struct reel_jit_code *jit)
{
	reel_code_spaces_forget_ended(&jit->spaces, jit->timeline);
}

/* ---- where such code can be ------------------------------------------------------------ */

static bool starts_with(struct reel_bytes text, const char *start)
{
	size_t size = strlen(start);

	return text.size >= size && !memcmp(text.data, start, size);
}

/* A file's memory that the program can write may hold other code than the file.  Code on a stack, and
 * the data around it, change too often to be read. */
static bool is_without_file(const struct reel_record_module *module,
			    const struct reel_mapping *mapping)
{
	if (module->kind == REEL_MODULE_ANONYMOUS)
		return !starts_with(module->path, "[stack");
	return module->kind == REEL_MODULE_FILE &&
	       (mapping->protection & PROT_WRITE || reel_path_is_deleted(module->path));
}

struct reel_error *reel_jit_code_create(const struct reel_jit_code_options *options,
					struct reel_jit_code **ret)
{
	struct reel_jit_code *jit = calloc(1, sizeof(*jit));

	if (jit)
		jit->read = calloc(REEL_CODE_PAGES_MAX, sizeof(*jit->read));
	if (!jit || !jit->read) {
		free(jit);
		return reel_error_no_memory();
	}
	jit->options = *options;
	jit->spaces = (struct reel_code_spaces){
		.modules = options->modules,
		.native = options->native,
		.is_wanted = is_without_file,
		.space_size = sizeof(struct space),
		.forget = forget_space,
		.context = jit,
	};
	jit->bytes_left = options->limit;
	*ret = jit;
	return NULL;
}

/* ---- sampled pages ----------------------------------------------------------------------- */

static void drop_unwritten(void *context, struct reel_id_entry *entry)
{
	struct reel_id_entry ***at = context;
	struct page *page = (struct page *)entry;

	if (!page->is_written && !page->want)
		*(*at)++ = entry;
}

/* Drops pages that words led to and that turned out to hold no code. */
static void make_room(struct reel_jit_code *jit, struct space *space)
{
	struct reel_id_entry **entries = calloc(space->pages.count + 1, sizeof(*entries));
	struct reel_id_entry **end = entries;

	if (!entries)
		return;
	reel_id_table_visit(&space->pages, drop_unwritten, &end);
	for (struct reel_id_entry **entry = entries; entry < end; entry++) {
		free(reel_id_table_remove(&space->pages, (*entry)->id));
		jit->n_pages--;
	}
	free(entries);
}

/* Known pages of all processes: as many as fill a file, and some without code. */
static size_t pages_max(const struct reel_jit_code *jit)
{
	return (size_t)(jit->options.limit / PAGE) + WANTS_MAX;
}

static void note_news(struct reel_jit_code *jit, uint64_t time)
{
	if (time == jit->news)
		return;
	jit->news = time;
	if (time - jit->news_began > NEWS_SPAN) {
		jit->news_began = time;
		jit->n_news = 0;
	}
	if (++jit->n_news >= NEWS_MANY)
		jit->many_news = time;
}

/* NULL without room. */
static struct page *page_add(struct reel_jit_code *jit, struct space *space, uint64_t address,
			     uint64_t time)
{
	struct page *page;

	if (jit->n_pages >= pages_max(jit))
		make_room(jit, space);
	if (jit->n_pages >= pages_max(jit))
		return NULL;
	page = reel_id_table_add(&space->pages, address, sizeof(*page));
	if (!page)
		return NULL;
	page->noted = time;
	jit->n_pages++;
	note_news(jit, time);
	return page;
}

static void extend_range(struct want *it, uint64_t into)
{
	if (!it->is_code || into < it->least)
		it->least = (uint16_t)into;
	if (!it->is_code || into > it->most)
		it->most = (uint16_t)into;
	it->is_code = true;
}

static void append_word(struct want *it, uint64_t word)
{
	for (size_t i = 0; i < it->n_words; i++) {
		if (it->words[i] == word)
			return;
	}
	if (it->n_words < WORDS_MAX && !it->is_code)
		it->words[it->n_words++] = word;
}

/* Wants the page of `address` if `word` is after a call, or in any case if `word` is 0. */
static void want_page(struct reel_jit_code *jit, struct space *space, uint64_t time,
		      uint64_t address, uint64_t word)
{
	const struct reel_code_range *range = reel_code_range_of(&space->code, address);
	uint64_t page_address = address & ~(uint64_t)(PAGE - 1), due = 0;
	struct page *page;
	struct want *it;

	if (!range || range->has_stack || !jit->options.limit)
		return;
	page = reel_jit_page_find(space, page_address);
	if (page && page->is_written && jit->is_last)
		return;
	if (page)
		reel_jit_watch_page(jit, space, page, address, time);
	/* A word that led to no code does not rule out a pc. */
	if (page && !page->want && time < page->check_after && (word || page->is_written)) {
		if (!page->is_written || jit->n_wants >= WANTS_LATE)
			return;
		due = page->check_after;
	}
	if (!page)
		page = page_add(jit, space, page_address, time);
	if (!page || (!page->want && jit->n_wants == WANTS_MAX)) {
		leave_out(jit, page);
		return;
	}
	if (!page->want) {
		jit->wants[jit->n_wants] = (struct want){
			.space = space->code.entry.id,
			.address = page_address,
			.module = range->module,
			.time = time,
			.due = due,
		};
		page->want = (uint32_t)++jit->n_wants;
	}
	it = &jit->wants[page->want - 1];
	it->is_unchecked |= !jit->is_checked;
	/* Of known code, the neighbours have to be read whichever word leads there. */
	if (!word || page->is_written)
		extend_range(it, address - page_address);
	else
		append_word(it, word);
}

/* The same, for an address that a sample leads to. */
static void want(struct reel_jit_code *jit, struct space *space, uint64_t time, uint64_t address,
		 uint64_t word)
{
	const struct reel_code_range *range = reel_code_range_of(&space->code, address);

	if (range && !range->has_stack && jit->options.hit)
		jit->options.hit(jit->options.hit_context, jit->timeline, space->code.entry.id,
				 time, address);
	want_page(jit, space, time, address, word);
}

static void want_word(struct reel_jit_code *jit, struct space *space, uint64_t time, uint64_t word)
{
	const uint64_t first = space->code.ranges[0].first,
		       last = space->code.ranges[space->code.n_ranges - 1].last;

	word &= ~space->code.code_mask;
	/* The address after a call may be the end of a page. */
	if (word - 1 - first <= last - first)
		want(jit, space, time, word - 1, word);
}

/* Whether the word below is a frame pointer that leads farther up this stack. Then this word is the
 * return address of a frame record, whether a call or a push stored it. */
static bool is_of_record(const struct reel_region *region, size_t at, uint64_t below)
{
	return below > region->address + at && below - region->address < region->size;
}

static void want_at(struct reel_jit_code *jit, struct space *space, uint64_t time,
		    const struct reel_region *region, size_t at, uint64_t word, uint64_t below)
{
	word &= ~space->code.code_mask;
	if (is_of_record(region, at, below))
		want(jit, space, time, word, 0);
	want_word(jit, space, time, word);
}

static void want_words(struct reel_jit_code *jit, struct space *space, uint64_t time,
		       const struct reel_region *region)
{
	const uint64_t first = space->code.ranges[0].first,
		       span = space->code.ranges[space->code.n_ranges - 1].last - first;
	const uint64_t mask = ~space->code.code_mask;
	unsigned size = space->code.word_size;
	size_t at = -region->address % size;
	uint64_t below = 0;

	/* Two loops, since a constant size makes them fast. */
	for (; size == 8 && at + 8 <= region->size; at += 8) {
		uint64_t word;

		memcpy(&word, region->bytes + at, 8);
		if ((word & mask) - 1 - first <= span)
			want_at(jit, space, time, region, at, word, below);
		below = word;
	}
	for (; size == 4 && at + 4 <= region->size; at += 4) {
		uint32_t word;

		memcpy(&word, region->bytes + at, 4);
		if ((word & mask) - 1 - first <= span)
			want_at(jit, space, time, region, at, word, below);
		below = word;
	}
}

struct reel_error *reel_jit_code_scan(struct reel_jit_code *jit, const struct reel_space_view *view,
				      const struct reel_sample *sample, bool is_checked)
{
	struct reel_code_space *code;
	struct reel_error *error = reel_code_spaces_find(&jit->spaces, view, sample->time, &code);
	struct space *space = (struct space *)code;

	jit->timeline = view->timeline;
	if (error || !space || !code->n_ranges)
		return error;
	jit->is_checked = is_checked;
	if (is_checked && space->checked < sample->time)
		space->checked = sample->time;
	for (size_t i = 0; i < sample->n_regions; i++) {
		struct reel_code_range *range =
			reel_code_range_of(&space->code, sample->regions[i].address);

		if (range)
			range->has_stack = true;
	}
	if (sample->layout)
		want(jit, space, sample->time, sample->pc & ~space->code.code_mask, 0);
	for (size_t i = 0; sample->layout && i < sample->layout->n_slots; i++)
		want_word(jit, space, sample->time, sample->values[i]);
	for (size_t i = 0; i < sample->n_frame_chain; i++)
		want_word(jit, space, sample->time, sample->frame_chain[i]);
	for (size_t i = 0; i < sample->n_regions; i++)
		want_words(jit, space, sample->time, &sample->regions[i]);
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------- */

/* Stores the want's place in its page. */
static void number_want(const struct reel_jit_code *jit, size_t i)
{
	const struct space *space = space_find(jit, jit->wants[i].space);
	struct page *page = space ? reel_jit_page_find(space, jit->wants[i].address) : NULL;

	if (page)
		page->want = (uint32_t)i + 1;
}

static bool is_due(const struct reel_jit_code *jit, const struct want *it, uint64_t now)
{
	return jit->is_last || it->due <= now || !reel_living_space(jit->timeline, it->space);
}

/* Moves the wants that are due, of the first process that may be asked, to the front; false if there
 * are none. */
static bool gather(struct reel_jit_code *jit, uint32_t *pid_ret)
{
	uint64_t now = reel_now(), space = 0, tried = 0;
	size_t n = 0;

	jit->was_refused = false;
	for (size_t i = 0; i < jit->n_wants && n < REEL_CODE_PAGES_MAX; i++) {
		struct want it = jit->wants[i];

		if (!is_due(jit, &it, now))
			continue;
		if (!space && it.space != tried) {
			tried = it.space;
			*pid_ret = reel_jit_code_pid(jit, tried);
			if (reel_budget_allows(jit->options.budget, REEL_BUDGET_NAMES, *pid_ret))
				space = tried;
			else
				jit->was_refused = true;
		}
		if (it.space != space)
			continue;
		jit->wants[i] = jit->wants[n];
		jit->wants[n] = it;
		number_want(jit, i);
		number_want(jit, n++);
	}
	jit->n_asked = n;
	return n;
}

uint64_t reel_jit_code_due(const struct reel_jit_code *jit)
{
	uint64_t soon = reel_now() + CHECK_LEAST, least = jit->was_refused ? soon : 0;
	uint64_t due = soon < jit->news + NEWS_LAST ? soon : UINT64_MAX;

	for (size_t i = 0; i < jit->n_wants; i++) {
		if (jit->wants[i].due < due)
			due = jit->wants[i].due;
	}
	return due < least ? least : due;
}

uint64_t reel_jit_code_news(const struct reel_jit_code *jit)
{
	return jit->many_news;
}

static void keep_page(void *context, const struct reel_code_page *page)
{
	struct reel_jit_code *jit = context;

	if (jit->n_read < REEL_CODE_PAGES_MAX)
		jit->read[jit->n_read++] = *page;
}

bool reel_jit_code_read(struct reel_jit_code *jit, bool is_last)
{
	uint64_t addresses[REEL_CODE_PAGES_MAX];
	uint32_t pid = 0;

	jit->is_last = is_last;
	if (!gather(jit, &pid))
		return false;
	jit->n_read = 0;
	for (size_t i = 0; i < jit->n_asked; i++)
		addresses[i] = jit->wants[i].address;
	jit->read_begin = reel_now();
	if (pid)
		reel_inspector_code(jit->options.inspector, pid, addresses, jit->n_asked, keep_page,
				    jit);
	jit->read_end = reel_now();
	return true;
}

/* ---- writing -------------------------------------------------------------------------- */

static bool is_behind_call(const struct reel_arch *arch, const struct reel_code_page *page,
			   uint64_t word)
{
	uint64_t into = word - page->address + page->before;

	for (size_t i = 0; arch && i < arch->n_calls; i++) {
		const struct reel_arch_call *call = &arch->calls[i];
		const uint8_t *end = page->bytes + REEL_CODE_BEFORE - page->before + into;
		bool matches = into >= call->size;

		for (size_t j = 0; matches && j < call->size; j++)
			matches = ((end - call->size)[j] & (call->mask ? call->mask[j] : 0xff)) ==
				  call->code[j];
		if (matches)
			return true;
	}
	return false;
}

/* Wants a page that a sample of `it` needs as well, unless it was read only just before: pages that
 * need each other would be read forever. */
static void want_near(struct reel_jit_code *jit, struct space *space, const struct want *it,
		      uint64_t address)
{
	const struct page *page = reel_jit_page_find(space, address & ~(uint64_t)(PAGE - 1));

	if (!page || !page->is_written || page->check_after <= jit->read_end)
		want_page(jit, space, it->time, address, 0);
}

/* The bytes next to code are code, wherever it ends. */
static void want_neighbours(struct reel_jit_code *jit, struct space *space, const struct want *it,
			    uint64_t least, uint64_t most)
{
	if (most >= PAGE - NEXT_PAGE_WITHIN)
		want_near(jit, space, it, it->address + PAGE);
	if (least < LAST_PAGE_WITHIN)
		want_near(jit, space, it, it->address - 1);
}

/* JITs begin their memory with the code that enters and leaves theirs (Guile's, LuaJIT's). */
static void want_first_page(struct reel_jit_code *jit, struct space *space, const struct want *it)
{
	const struct reel_code_range *range = reel_code_range_of(&space->code, it->address);

	if (range)
		want_near(jit, space, it, range->first);
}

static bool is_code(struct reel_jit_code *jit, struct space *space, const struct want *it,
		    const struct reel_code_page *page)
{
	const struct reel_arch *arch =
		reel_arch_by_machine(space->code.kind.machine, space->code.kind.word_bits);
	bool found = it->is_code;

	if (it->is_code)
		want_neighbours(jit, space, it, it->least, it->most);
	for (size_t i = 0; i < it->n_words; i++) {
		uint64_t into = it->words[i] - it->address;

		if (!is_behind_call(arch, page, it->words[i]))
			continue;
		found = true;
		want_neighbours(jit, space, it, into, into);
	}
	if (found)
		want_first_page(jit, space, it);
	return found;
}

/* Whether the memory is still the sampled memory, as far as is known. */
static bool is_same_memory(const struct reel_jit_code *jit, const struct want *it)
{
	struct reel_mapping mapping;

	return reel_timeline_find(jit->timeline, it->space, REEL_TIME_NOW, it->address, &mapping) &&
	       mapping.protection & PROT_EXEC && mapping.module == it->module;
}

static struct reel_error *write_end(struct reel_jit_code *jit, const struct want *it, uint64_t time,
				    size_t first, size_t end)
{
	struct reel_record record = { .id = REEL_RECORD_CODE_END };

	record.code_end = (struct reel_record_code_end){
		.time = time,
		.space = it->space,
		.address = it->address + first * PIECE,
		.size = (end - first) * PIECE,
	};
	return jit->options.sink.put(jit->options.sink.context, &record);
}

static struct reel_error *write_pieces(struct reel_jit_code *jit, const struct want *it,
				       const uint8_t *bytes, size_t first, size_t end,
				       uint64_t time, uint64_t since)
{
	struct reel_record record = { .id = REEL_RECORD_CODE };

	record.code = (struct reel_record_code){
		.time = time,
		.space = it->space,
		.address = it->address + first * PIECE,
		.bytes = { bytes + first * PIECE, (end - first) * PIECE },
		.since = since,
	};
	jit->bytes_left -= record.code.bytes.size;
	reel_budget_charge(jit->options.budget, REEL_BUDGET_NAME_BYTES,
			   reel_jit_code_pid(jit, it->space), record.code.bytes.size);
	return jit->options.sink.put(jit->options.sink.context, &record);
}

/* Writes these pieces, neighbours together; without bytes, that they are unknown since `since`. */
static struct reel_error *write_mask(struct reel_jit_code *jit, const struct want *it,
				     const uint8_t *bytes, uint16_t mask, uint64_t time,
				     uint64_t since)
{
	struct reel_error *error = NULL;
	size_t first = 0;

	for (size_t i = 0; i <= PIECES && !error; i++) {
		if (i < PIECES && mask >> i & 1)
			continue;
		if (first < i)
			error = bytes ? write_pieces(jit, it, bytes, first, i, time, since)
				      : write_end(jit, it, since, first, i);
		first = i + 1;
	}
	return error;
}

/* These pieces in the file were last found at `since`; the page is written again once it can be. */
static struct reel_error *give_up(struct reel_jit_code *jit, const struct want *it,
				  struct page *page, uint16_t pieces, uint64_t since)
{
	struct reel_error *error = NULL;

	leave_out(jit, page);
	if (page->is_written) {
		error = write_mask(jit, it, NULL, pieces, 0, since);
		page->is_ended = true;
	}
	page->is_written = false;
	page->ended = 0;
	return error;
}

/* Writes pieces that were found at `time`, and may have been there since then. */
static struct reel_error *write_page(struct reel_jit_code *jit, const struct want *it,
				     struct page *page, const uint8_t *bytes, uint16_t pieces,
				     uint64_t time, uint64_t since)
{
	if (jit->bytes_left < PAGE ||
	    !reel_budget_charge_bytes(jit->options.budget, REEL_BUDGET_NAME_BYTES,
				      reel_jit_code_pid(jit, it->space), 0))
		return give_up(jit, it, page, pieces, since);
	page->is_written = true;
	page->is_left_out = page->is_ended = false;
	return write_mask(jit, it, bytes, pieces, time, since);
}

/* The pieces that are not as the last reading found them. */
static uint16_t compare(struct page *page, const uint8_t *bytes)
{
	uint16_t changed = 0;

	for (size_t i = 0; i < PIECES; i++) {
		uint32_t checksum = (uint32_t)crc32_z(0, bytes + i * PIECE, PIECE);

		changed |= (uint16_t)((!page->is_written || checksum != page->checksums[i]) << i);
		page->checksums[i] = checksum;
	}
	return changed;
}

/*
 * Whether there can only have been one change since the last reading: the bytes that it found were
 * there for longer than it is ago, or it is as recent as can be, and the page does not change all
 * the time.
 */
static bool is_one_change(const struct page *page, uint64_t now)
{
	return now - page->found <= 2 * CHECK_LEAST
		       ? page->n_changes < CHANGES_MAX
		       : now - page->found + page->changed <= page->found;
}

static uint64_t interval_of(const struct page *page, uint64_t now)
{
	uint64_t quarter = (now - page->changed) / CHECK_QUARTER;

	return quarter < CHECK_LEAST ? CHECK_LEAST : quarter > CHECK_MOST ? CHECK_MOST : quarter;
}

/* Wants the page again although no sample has led there, until its bytes have settled. */
static void want_again(struct reel_jit_code *jit, const struct want *it, struct page *page)
{
	struct want *again = &jit->wants[jit->n_wants];

	if (jit->n_wants == WANTS_MAX)
		return;
	*again = *it;
	again->due = page->check_after;
	again->is_code = true;
	again->least = LAST_PAGE_WITHIN;
	again->most = LAST_PAGE_WITHIN;
	page->want = (uint32_t)++jit->n_wants;
}

/*
 * Puts the bytes of a written page, read from `begin` to `end`.  `is_one`: since page->found,
 * there were no other bytes; `is_seen`: the next change will be reported.
 */
static struct reel_error *write_again(struct reel_jit_code *jit, const struct want *it,
				      struct page *page, const uint8_t *bytes, uint64_t begin,
				      uint64_t end, bool is_one, bool is_seen)
{
	uint16_t changed = compare(page, bytes), ended = page->ended;
	uint64_t found = page->found;

	page->found = changed ? end : begin;
	page->n_equal = changed ? 0 : page->n_equal + (page->n_equal < SETTLED);
	if (changed) {
		page->changed = end;
		page->n_changes += page->n_changes < CHANGES_MAX;
	} else if (page->n_equal == SETTLED) {
		page->n_changes = 0;
	}
	if (changed && end - page->first < FIRST_KEPT * (page->first - page->noted))
		TRY(write_mask(jit, it, NULL, changed, 0, page->noted));
	if (changed && !ended && is_one)
		return write_page(jit, it, page, bytes, changed, end, found);
	page->ended |= changed;
	TRY(write_mask(jit, it, NULL, changed & (uint16_t)~ended, 0, found));
	if (!page->ended || (page->n_equal < SETTLED && !is_seen && !jit->is_last))
		return NULL;
	page->ended = 0;
	return write_page(jit, it, page, bytes, ended | changed, page->changed, page->changed);
}

/* Whether all samples that led to the page have checked it: the next one reports a change, and since
 * when it is there. */
static bool is_proved(const struct page *page, const struct want *it)
{
	return page->is_watched && !it->is_unchecked;
}

static struct reel_error *write_read(struct reel_jit_code *jit, struct space *space,
				     const struct want *it, struct page *page, const uint8_t *bytes)
{
	struct reel_error *error;

	if (page->is_written) {
		reel_jit_watch_settle(jit, space, page);
		error = is_proved(page, it)
				? NULL
				: write_again(jit, it, page, bytes, jit->read_begin, jit->read_end,
					      is_one_change(page, jit->read_end), false);
	} else {
		compare(page, bytes);
		page->found = page->changed = jit->read_end;
		page->n_equal = page->n_changes = 0;
		page->first = page->is_ended ? page->noted : page->changed;
		/* Nobody looked before the first sample that led there. */
		error = write_page(jit, it, page, bytes, UINT16_MAX, page->changed,
				   page->is_ended ? page->changed : page->noted);
		reel_jit_watch_page(jit, space, page, page->entry.id + it->least, it->time);
	}
	page->check_after = jit->read_end + interval_of(page, jit->read_end);
	if (page->ended)
		want_again(jit, it, page);
	return error;
}

static const struct reel_code_page *read_of(const struct reel_jit_code *jit, uint64_t address)
{
	for (size_t i = 0; i < jit->n_read; i++) {
		if (jit->read[i].address == address)
			return &jit->read[i];
	}
	return NULL;
}

static bool changed_since(const struct space *space, uint64_t address, uint64_t time)
{
	const struct page *page = reel_jit_page_find(space, address);

	return page && page->is_written && page->changed > time;
}

/* A page may be due for some time before it is read.  Its bytes are taken to stay for half of the time
 * that they are known to have, unless those next to it have changed. */
static bool may_be_stale(const struct reel_jit_code *jit, const struct space *space,
			 const struct page *page)
{
	uint64_t address = page->entry.id, found = page->found;

	return !page->is_written || jit->read_end - found > 2 * interval_of(page, found) ||
	       changed_since(space, address - PAGE, found) ||
	       changed_since(space, address + PAGE, found);
}

static struct reel_error *write_unread_page(struct reel_jit_code *jit, const struct space *space,
					    const struct want *it, struct page *page)
{
	return is_proved(page, it) || !may_be_stale(jit, space, page)
		       ? NULL
		       : give_up(jit, it, page, UINT16_MAX, page->found);
}

static struct reel_error *write_unread_near(struct reel_jit_code *jit, const struct space *space,
					    const struct want *it, uint64_t address)
{
	struct page *page = reel_jit_page_find(space, address);
	struct want near = *it;

	near.address = address;
	return page && page->is_written && !page->want
		       ? write_unread_page(jit, space, &near, page)
		       : NULL;
}

/* Samples in the page may have needed the pages next to it (want_neighbours), also if they proved its
 * own bytes. */
static struct reel_error *write_unread(struct reel_jit_code *jit, const struct space *space,
				       const struct want *it, struct page *page)
{
	TRY(write_unread_page(jit, space, it, page));
	if (it->is_code && it->most >= PAGE - NEXT_PAGE_WITHIN)
		TRY(write_unread_near(jit, space, it, it->address + PAGE));
	return it->is_code && it->least < LAST_PAGE_WITHIN
		       ? write_unread_near(jit, space, it, it->address - PAGE)
		       : NULL;
}

static struct reel_error *write_want(struct reel_jit_code *jit, const struct want *it)
{
	const struct reel_code_page *read = read_of(jit, it->address);
	struct space *space = space_find(jit, it->space);
	struct page *page = space ? reel_jit_page_find(space, it->address) : NULL;

	if (!page)
		return NULL;
	page->want = 0;
	jit->is_checked = !it->is_unchecked;
	page->check_after = jit->read_end + RETRY_INTERVAL;
	if (!read || !reel_living_space(jit->timeline, it->space) || !is_same_memory(jit, it))
		return write_unread(jit, space, it, page);
	if (!is_code(jit, space, it, read) && !page->is_written)
		return NULL;
	return write_read(jit, space, it, page, read->bytes + REEL_CODE_BEFORE);
}

struct reel_error *reel_jit_code_write(struct reel_jit_code *jit)
{
	struct reel_error *error = NULL;

	for (size_t i = 0; i < jit->n_asked && !error; i++)
		error = write_want(jit, &jit->wants[i]);
	jit->n_wants -= jit->n_asked;
	memmove(jit->wants, jit->wants + jit->n_asked, jit->n_wants * sizeof(*jit->wants));
	jit->n_asked = 0;
	for (size_t i = 0; i < jit->n_wants; i++)
		number_want(jit, i);
	return error;
}

struct reel_error *reel_jit_code_end(struct reel_jit_code *jit)
{
	struct reel_error *error = NULL;

	jit->read_end = reel_now();
	for (size_t i = 0; i < jit->n_wants && !error; i++) {
		const struct want *it = &jit->wants[i];
		struct space *space = space_find(jit, it->space);
		struct page *page = space ? reel_jit_page_find(space, it->address) : NULL;

		if (page)
			error = write_unread(jit, space, it, page);
	}
	return error;
}

/* ---- seen by samples -------------------------------------------------------------------- */

/* A sample on another CPU may be noted before an earlier one: that found what only it needs. */
static struct reel_error *write_late(struct reel_jit_code *jit, const struct want *it,
				     struct page *page, const struct reel_bpf_code *seen)
{
	const uint64_t since =
		seen->found && seen->found < seen->time ? seen->found + 1 : seen->time;

	return seen->size ? write_page(jit, it, page, seen->bytes, UINT16_MAX, seen->time, since)
			  : NULL;
}

struct reel_error *reel_jit_code_seen(struct reel_jit_code *jit, const struct reel_bpf_code *seen)
{
	struct space *space = space_find(jit, seen->space);
	struct page *page = space ? reel_jit_page_find(space, seen->address) : NULL;
	const struct reel_code_range *range =
		page ? reel_code_range_of(&space->code, seen->address) : NULL;
	struct want it = { .space = seen->space, .address = seen->address };
	bool is_present = space && reel_jit_watch_is_present(space, seen), is_exact;
	uint64_t time = seen->time;

	if (!range || !page->is_written || !reel_living_space(jit->timeline, seen->space))
		return NULL;
	it.module = range->module;
	if (!is_same_memory(jit, &it))
		return NULL;
	if (time < page->changed)
		return write_late(jit, &it, page, seen);
	if (page->is_watched && !is_present)
		return NULL;
	is_exact = page->is_watched && seen->found;
	reel_jit_watch_settle(jit, space, page);
	page->is_watched = is_present;
	if (is_exact)
		page->found = seen->found + 1;
	/* Two CPUs' samples at the same time, one with the old bytes and one with the new ones. */
	if (page->found > time) {
		time = page->found;
		page->found = seen->time;
	}
	if (!seen->size)
		return give_up(jit, &it, page, UINT16_MAX, page->found);
	return write_again(jit, &it, page, seen->bytes, time, time,
			   is_exact || is_one_change(page, time), true);
}
