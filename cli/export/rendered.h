/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are made once for each frame, thread's name or event, and printed often. */
#ifndef CLI_EXPORT_RENDERED_H
#define CLI_EXPORT_RENDERED_H

#include <stdio.h>

#include "cli/report/pointer_map.h"

struct rendered {
	/* Writes what `key` looks like. */
	void (*render)(const void *key, FILE *file);
	struct pointer_map texts;
};

/* Borrowed until rendered_clear. */
const char *rendered_text(struct rendered *rendered, const void *key);
/* Keys are another capture's from here on. */
void rendered_clear(struct rendered *rendered);

#endif
