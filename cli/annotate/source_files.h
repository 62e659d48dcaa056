/* SPDX-License-Identifier: Apache-2.0 */
/* Source files, as far as they are found here. */
#ifndef CLI_ANNOTATE_SOURCE_FILES_H
#define CLI_ANNOTATE_SOURCE_FILES_H

#include "cli/report/pointer_map.h"
#include "cli/session/session.h"

struct source_file {
	const char *path; /* as the debug information has it */
	char *local;	  /* NULL: it is not found here */
	char *why;	  /* not; NULL: no file has the name */
	char *bytes;
	/* Of each line, from 0 on: where it begins; and one more. */
	size_t *lines;
	size_t n_lines;
	/* It was changed after the recording began: lines may be others. */
	bool is_newer;
};

struct source_files {
	const struct session *session;
	/* Folders, the first one that has the file counts. */
	struct string_list folders;
	struct pointer_map by_path; /* struct source_file, by the library's string */
	struct source_file **all;
	size_t n;
};

void source_files_free(struct source_files *files);
/* Never NULL, but for the path "". */
const struct source_file *source_file_get(struct source_files *files, const char *path);
/* The text of a line, from 1 on, escaped, its tabs expanded; NULL: it is not there. To be freed. */
char *source_line(const struct source_file *file, uint32_t line);

#endif
