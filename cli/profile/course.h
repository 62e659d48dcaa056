/* SPDX-License-Identifier: Apache-2.0 */
/* The weight of each symbol over the recording's time, in total, as a few characters. */
#ifndef CLI_PROFILE_COURSE_H
#define CLI_PROFILE_COURSE_H

#include <stdio.h>

#include "cli/profile/symbols.h"

#define COURSE_COLUMNS 10

struct courses {
	uint64_t start, last; /* ns; of the samples */
	uint64_t step;	      /* ns of each step; 0: no sample yet */
	uint32_t traces;
};

/* Adds the trace to the course of each of its symbols. */
void courses_add(struct courses *courses, struct symbol_table *symbols,
		 const struct reel_trace *trace);
/* A block of that height, from 0 to 1; 0 only is invisible. */
const char *course_block(double height);
/* COURSE_COLUMNS blocks, each row as high as its largest one. */
void course_print(const struct courses *courses, const struct symbol *symbol, FILE *file);

#endif
