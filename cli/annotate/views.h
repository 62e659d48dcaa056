/* SPDX-License-Identifier: Apache-2.0 */
/* A listing as it is printed. */
#ifndef CLI_ANNOTATE_VIEWS_H
#define CLI_ANNOTATE_VIEWS_H

#include "cli/annotate/jumps.h"
#include "cli/annotate/line_values.h"
#include "cli/annotate/source_files.h"

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

/* Instructions, with the lines and inlined functions that they are of. */
void assembly_print(const struct view *view, const struct jumps *jumps,
		    const struct output *output);
/* Lines of source, with all samples of their instructions. */
void source_print(const struct view *view, const struct output *output);
/* Values at the hottest lines, as text and as a member of an object. */
void line_values_print(const struct view *view, const struct output *output);
void line_values_print_json(const struct line_values *values, const struct output *output);
void annotate_print_json(const struct view *view, const struct output *output);

/* "  12.34 ", or blanks without samples: the share of what the function has itself. */
void share_print(const struct listing *listing, struct amount self, const struct output *output);

#endif
