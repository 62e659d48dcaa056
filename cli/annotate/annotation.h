/* SPDX-License-Identifier: Apache-2.0 */
/* A function with the shares of its instructions or lines, under a head that describes it. */
#ifndef CLI_ANNOTATE_ANNOTATION_H
#define CLI_ANNOTATE_ANNOTATION_H

#include "cli/annotate/line_values.h"

/* A listing as it is printed. */
struct view {
	const struct listing *listing;
	const char *name;	      /* of the function, as report shows it, not escaped */
	struct source_files *sources; /* NULL: without lines of source */
	bool shows_bytes;
	bool shows_all; /* else long runs of instructions without samples are folded */
	const struct reel_event_info *event;
	const char *skid;
	const struct line_values *values; /* NULL: not wanted */
};

/* Instructions, with their jumps and the lines and inlined functions that they are of; after the last
 * line of the head. */
void assembly_print(const struct view *view, const struct output *output);
/* Lines of source, with all samples of their instructions. */
void source_print(const struct view *view, const struct output *output);
void annotate_print_json(const struct view *view, const struct output *output);

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
