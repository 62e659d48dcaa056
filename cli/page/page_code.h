/* SPDX-License-Identifier: Apache-2.0 */
/* Source code around the lines with samples, from this host's files: cli/page/web/code.js reads it. */
#ifndef CLI_PAGE_PAGE_CODE_H
#define CLI_PAGE_PAGE_CODE_H

#include "cli/annotate/source_files.h"
#include "cli/flamegraph/flame_profile.h"
#include "cli/page/columns.h"
#include "cli/page/page_strings.h"

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

void page_code_add(const struct page_code *code, struct page_strings *strings,
		   struct columns *columns);
/* "code":{…}, with a comma at the end. */
void page_code_print(const struct page_code *code, FILE *file);

#endif
