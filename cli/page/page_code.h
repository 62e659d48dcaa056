/* SPDX-License-Identifier: Apache-2.0 */
/* Source code around the lines with samples, from this host's files, and instructions;
 * cli/page/web/code.js reads both. */
#ifndef CLI_PAGE_PAGE_CODE_H
#define CLI_PAGE_PAGE_CODE_H

#include "cli/annotate/listing.h"
#include "cli/annotate/source_files.h"
#include "cli/flamegraph/flame_profile.h"
#include "cli/page/columns.h"

struct page_code_file {
	const struct source_file *source;
	bool *is_shown; /* by line, from 1 on; NULL: not found */
};

struct page_code {
	struct source_files sources;
	struct page_code_file *files;
	size_t n_files, files_capacity;
	uint64_t bytes;
	size_t omitted; /* lines with samples, beyond the limit of bytes */
};

/* Finds the code of a finished profile by line, the most frequent lines first. `folders`: where
 * files may be, besides their own paths and --symfs. */
void page_code_find(struct page_code *code, const struct session *session,
		    const struct string_list *folders, const struct flame_profile *profile);
void page_code_free(struct page_code *code);

void page_code_add(const struct page_code *code, struct columns *columns);
/* "code":{…}, with a comma at the end. */
void page_code_print(const struct page_code *code, FILE *file);

/*
 * The instructions of the functions with the most samples of their own, with the samples at each:
 * the whole capture's, since a page's stacks have lines but no addresses.  As `stackreel
 * annotate` shows them.
 */
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

void page_instructions_add(const struct page_instructions *instructions, struct columns *columns);
/* "instructions":{…}, with a comma at the end. */
void page_instructions_print(const struct page_instructions *instructions, FILE *file);

#endif
