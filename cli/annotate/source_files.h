/* SPDX-License-Identifier: Apache-2.0 */
/* Source files found on this host. */
#ifndef CLI_ANNOTATE_SOURCE_FILES_H
#define CLI_ANNOTATE_SOURCE_FILES_H

#include "cli/profile/pointer_map.h"
#include "cli/session/session.h"

struct source_file {
	const char *path; /* as in the debug information */
	char *local;	  /* NULL: not found on this host */
	char *why;	  /* why it was not found; NULL: no file has the name */
	char *bytes;
	/* The start of each line, from 0 on; and a final end. */
	size_t *lines;
	size_t n_lines;
	/* The file changed after the recording began: lines may differ. */
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
