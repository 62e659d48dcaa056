/* SPDX-License-Identifier: Apache-2.0 */
/* Texts made once for each frame, thread name or event, and printed often. */
#ifndef CLI_EXPORT_RENDERED_H
#define CLI_EXPORT_RENDERED_H

#include <stdio.h>

#include "cli/profile/pointer_map.h"

struct rendered {
	/* Writes the text for `key`. */
	void (*render)(const void *key, FILE *file);
	struct pointer_map texts;
};

/* Borrowed until rendered_clear. */
const char *rendered_text(struct rendered *rendered, const void *key);
/* The following keys are from another capture. */
void rendered_clear(struct rendered *rendered);

#endif
