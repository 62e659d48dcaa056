/* SPDX-License-Identifier: Apache-2.0 */
/* A function with the shares of its instructions or lines, under a head that tells what it is of. */
#ifndef CLI_ANNOTATE_ANNOTATION_H
#define CLI_ANNOTATE_ANNOTATION_H

#include "cli/annotate/views.h"

/* What is shown; the strings stay the caller's. */
struct annotation_look {
	struct string_list folders; /* of source files */
	bool by_source;		    /* lines of source, instead of instructions */
	bool no_source;
	bool bytes; /* of instructions */
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

/* False after a complaint; it is to be freed in any case. All that is given has to stay. */
bool annotation_make(struct annotation *annotation, struct session *session,
		     const struct functions *functions, const struct function *function,
		     const struct annotation_look *look);
void annotation_free(struct annotation *annotation);
/* False after a complaint. */
bool annotation_print(const struct annotation *annotation, const struct output *output);

#endif
