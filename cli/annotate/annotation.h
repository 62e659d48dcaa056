/* SPDX-License-Identifier: Apache-2.0 */
/* A function with the shares of its instructions or lines, under a head that describes it. */
#ifndef CLI_ANNOTATE_ANNOTATION_H
#define CLI_ANNOTATE_ANNOTATION_H

#include "cli/annotate/views.h"

/* The parts to show; the caller keeps the strings. */
struct annotation_look {
	struct string_list folders; /* of source files */
	bool by_source;		    /* lines of source, instead of instructions */
	bool no_source;
	bool bytes; /* of instructions */
	bool all;   /* instructions, also far from samples in long functions */
	bool intel; /* x86 in Intel's syntax */
	bool json;
};

struct annotation {
	const struct annotation_look *look;
	struct session *session;
	struct source_files sources;
	struct listing listing;
	struct view view;
};

/* False after an error, which was reported; free it in any case. The arguments must outlive it. */
bool annotation_make(struct annotation *annotation, struct session *session,
		     const struct functions *functions, const struct function *function,
		     const struct annotation_look *look);
void annotation_free(struct annotation *annotation);
/* False after an error, which was reported. */
bool annotation_print(const struct annotation *annotation, const struct output *output);

#endif
