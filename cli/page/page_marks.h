/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of a recording: losses, marks of the recorder, and when sampled threads started, ended, and became other programs. */
#ifndef CLI_PAGE_PAGE_MARKS_H
#define CLI_PAGE_PAGE_MARKS_H

#include <stdio.h>

#include "cli/flamegraph/flame_profile.h"

/*
 * With a comma at the end; times are ns since the profile's start:
 *
 *	"marks":[[time, "what", count, whether samples are missing],…], one for each cause and step
 *	"markStep":ns
 *	"execs":[[time, tid, "name of the thread from then on"],…], "execsLeftOut":number
 *	"lives":[[tid, start, end],…], "livesLeftOut":number; null: not within the recording
 *	"recorderMarks":[[time, "kind", "text"],…], "recorderMarksLeftOut":number
 */
void page_marks_print(struct reel_capture *capture, const struct flame_profile *profile,
		      FILE *file);

#endif
