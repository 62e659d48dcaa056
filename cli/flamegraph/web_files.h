/* SPDX-License-Identifier: Apache-2.0 */
/* The pages built into this program by the Makefile; their size is 0 if npm's packages were
 * missing. */
#ifndef CLI_FLAMEGRAPH_WEB_FILES_H
#define CLI_FLAMEGRAPH_WEB_FILES_H

#include <stdint.h>

extern const char web_flame_page[], web_diff_page[];
extern const uint32_t web_flame_page_size, web_diff_page_size;

#endif
