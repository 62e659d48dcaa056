/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by jit_code.c (pages, their readings and records) and jit_watch.c (pages that samples
 * check). */
#ifndef RECORD_JIT_JIT_CODE_INTERNAL_H
#define RECORD_JIT_JIT_CODE_INTERNAL_H

#include "base/id_table.h"
#include "record/jit/jit_code.h"
#include "record/processes/code_spaces.h"

#define PAGE REEL_CODE_PAGE
/* Changed parts of a page are written in pieces of this size. */
#define PIECE  256
#define PIECES (PAGE / PIECE)

/* Following code to its return also needs the neighbouring code. */
#define NEXT_PAGE_WITHIN 512
#define LAST_PAGE_WITHIN 64

/* Pages waiting to be read; those that are known, and not due yet, take only a part. */
#define WANTS_MAX  4096
#define WANTS_LATE (WANTS_MAX / 2)
/* Words to check for a page; mostly the first one is after a call. */
#define WORDS_MAX 4

/* A known page. */
struct page {
	struct reel_id_entry entry; /* its address */
	uint64_t check_after;
	uint64_t noted;	  /* the time of the first sample that led there */
	uint64_t first;	  /* when the first reading ended */
	uint64_t found;	  /* when the last reading began; if it found new bytes, ended */
	uint64_t changed; /* when the reading ended that found the present bytes first */
	uint32_t want;	  /* its place among the wants + 1; 0: none */
	bool is_written, is_left_out;
	bool is_ended;	 /* the file says that its bytes are unknown */
	bool is_watched; /* a sample has read it, and each later one that is checked */
	/* Readings without a change, and changes since there were SETTLED such. */
	uint8_t n_equal, n_changes;
	uint16_t ended; /* bits of pieces whose bytes are unknown until they settle */
	uint32_t checksums[PIECES];
};

struct space {
	struct reel_code_space code; /* executable memory that belongs to no file */
	struct reel_id_table pages;
	uint32_t watched_pid, number;	    /* 0: no pages are watched */
	uint64_t watched[REEL_WATCH_PAGES]; /* pages; 0: none */
	uint64_t begun[REEL_WATCH_PAGES];   /* when watching them began */
	uint64_t hits[REEL_WATCH_PAGES];    /* the last samples that led there */
	uint64_t checked; /* the time of the last sample that found them as they are known */
};

struct want {
	uint64_t space, address, module;
	uint64_t time; /* of the first sample that led there */
	uint64_t due;
	bool is_code;	      /* regardless of the words */
	bool is_unchecked;    /* by some sample that led there */
	uint16_t least, most; /* then: the lowest and highest address in the page that led there */
	uint8_t n_words;
	uint64_t words[WORDS_MAX];
};

struct reel_jit_code {
	struct reel_jit_code_options options;
	const struct reel_timeline *timeline;
	struct reel_code_spaces spaces;
	struct want wants[WANTS_MAX];
	size_t n_wants;
	size_t n_pages;
	uint64_t news; /* when a sample last led to a new page */
	/* The last `n_news` such samples began then; and when there last were many. */
	uint64_t news_began, many_news;
	uint32_t n_news;
	uint64_t left_out;
	uint64_t bytes_left; /* in the file */
	bool was_refused;    /* a page that is due, by the budget */
	/* Pages read for the first wants, in order, all of one space. */
	struct reel_code_page *read;
	size_t n_asked, n_read;
	uint64_t read_begin, read_end;
	bool is_last; /* the file ends */
	/* The present sample found the watched pages as they are known. */
	bool is_checked;
	uint64_t arrived; /* samples up to then have been noted */
	bool is_number_used[REEL_WATCHES_MAX];
};

/* The process of a space; 0: it has ended. */
static inline uint32_t reel_jit_code_pid(const struct reel_jit_code *jit, uint64_t space)
{
	const struct reel_space_state *state = reel_living_space(jit->timeline, space);

	return state ? (uint32_t)state->pid : 0;
}

static inline struct page *reel_jit_page_find(const struct space *space, uint64_t address)
{
	return (struct page *)reel_id_table_find(&space->pages, address);
}

/* ---- watched pages (jit_watch.c) ---- */

/* Checked samples found the bytes of a watched page as they are known; later ones may not have been
 * noted yet. */
void reel_jit_watch_settle(const struct reel_jit_code *jit, const struct space *space,
			   struct page *page);

/* A sample leads to an address in the page: watches it if it is new, in place of one that samples
 * have not led to for a while. */
void reel_jit_watch_page(struct reel_jit_code *jit, struct space *space, const struct page *page,
			 uint64_t address, uint64_t time);

/* Whether a sample saw the page while it is watched as it is now: what earlier ones saw may arrive
 * later. */
bool reel_jit_watch_is_present(const struct space *space, const struct reel_bpf_code *seen);

/* No page of the space is watched any more. */
void reel_jit_watch_end(struct reel_jit_code *jit, struct space *space);

#endif
