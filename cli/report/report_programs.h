/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a capture's samples are of, by the names of their processes. */
#ifndef CLI_REPORT_REPORT_PROGRAMS_H
#define CLI_REPORT_REPORT_PROGRAMS_H

#include <stdio.h>

#include "cli/profile/call_tree.h"
#include "cli/profile/groups.h"

struct programs {
	struct symbol_table symbols;
	struct groups processes;
	struct call_tree tree; /* keys: events, and the symbols of their processes */
};

void programs_init(struct programs *programs);
void programs_free(struct programs *programs);
void programs_add(struct programs *programs, const struct reel_trace *trace,
		  const struct reel_event_info *event);
/* "# programs: a 60.00 %, b 40.00 %", the largest of an event's; nothing if it has only one. */
void programs_print(const struct programs *programs, const struct reel_event_info *event,
		    FILE *file);

#endif
