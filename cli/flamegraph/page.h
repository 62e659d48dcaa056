/* SPDX-License-Identifier: Apache-2.0 */
/* A self-contained page for any browser. */
#ifndef CLI_FLAMEGRAPH_PAGE_H
#define CLI_FLAMEGRAPH_PAGE_H

#include "cli/flamegraph/flame_profile.h"

enum page {
	PAGE_FLAME,
	PAGE_DIFF,
};

/* Whether this program was built with the pages. */
bool page_is_there(void);
/* JSON as pages contain it: gzip in base64, so that it is small and inert. The caller frees it. */
char *page_pack(const char *text, size_t size, size_t *size_ret);
/* `packed` is from page_pack. */
void page_write(enum page page, const char *packed, FILE *file);

/* The JSON of a finished profile; the caller frees it. */
char *page_data_of(const struct flame_profile *profile, const struct flame_source *source,
		   size_t *size_ret);

#endif
