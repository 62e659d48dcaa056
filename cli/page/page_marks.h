/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of a recording: losses, with their times. */
#ifndef CLI_PAGE_PAGE_MARKS_H
#define CLI_PAGE_PAGE_MARKS_H

#include <stdint.h>
#include <stdio.h>

#include "include/stackreel.h"

/* "marks":[[ns since `start`, "what", count, whether samples are missing],…], with a comma at the end: one for each cause and
 * tenth of a second. */
void page_marks_print(struct reel_capture *capture, uint64_t start, FILE *file);

#endif
