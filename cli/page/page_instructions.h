/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of the functions with the most samples of their own, with the samples at each:
 * the whole capture's, since a page's stacks have lines but no addresses.  As `stackreel
 * annotate` shows them; cli/page/web/code.js reads them.
 */
#ifndef CLI_PAGE_PAGE_INSTRUCTIONS_H
#define CLI_PAGE_PAGE_INSTRUCTIONS_H

#include "cli/annotate/listing.h"
#include "cli/page/columns.h"
#include "cli/page/page_strings.h"
#include "cli/profile/symbols.h"

struct page_instructions {
	struct functions functions; /* of the first event */
	struct listing *listings;
	const struct symbol **symbols; /* of the listings' functions */
	size_t n, capacity, symbols_capacity;
	size_t bytes;
	size_t omitted; /* functions, beyond the limit of bytes */
};

void page_instructions_init(struct page_instructions *instructions);
void page_instructions_free(struct page_instructions *instructions);
/* For each trace. */
void page_instructions_count(struct page_instructions *instructions, const struct reel_trace *trace,
			     const struct reel_event_info *event);
/* After all traces; `symbols` are those of the page. */
void page_instructions_find(struct page_instructions *instructions, const struct session *session,
			    struct symbol_table *symbols);

void page_instructions_add(const struct page_instructions *instructions,
			   struct page_strings *strings, struct columns *columns);
/* "instructions":{…}, with a comma at the end. */
void page_instructions_print(const struct page_instructions *instructions, FILE *file);

#endif
