/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PAGE_PAGE_SOURCE_H
#define CLI_PAGE_PAGE_SOURCE_H

#include "cli/flamegraph/flame_profile.h"
#include "cli/page/page_code.h"
#include "cli/page/page_diff.h"
#include "cli/page/page_instructions.h"

struct page_source {
	struct flame_source of;
	/* NULL for a profile that `stackreel aggregate' made. */
	struct reel_capture *capture;
	const struct page_diff *diff; /* NULL: no comparison */
	const struct page_code *code; /* NULL: no source code, and no instructions */
	const struct page_instructions *instructions;
};

#endif
