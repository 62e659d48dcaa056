/* SPDX-License-Identifier: Apache-2.0 */
/* The names of events that exist here: --list. */
#ifndef RECORD_PROBES_EVENT_LIST_H
#define RECORD_PROBES_EVENT_LIST_H

#include <stdio.h>

#include "record/probes/probes.h"

/*
 * Prints the names that match a pattern (fnmatch), one per line and sorted, as -e takes them.
 * Functions, of the kernel or a file, are listed only for a pattern with their prefix, such as
 * kprobe:tcp_* or uprobe:FILE:*; NULL: all others.  NOT_FOUND if none matches.  `note` reports
 * names that could not be listed.
 */
struct reel_error *reel_event_list_print(const char *pattern,
					 const struct reel_probe_targets *targets, FILE *to,
					 void (*note)(const char *text)) REEL_MUST_CHECK;

#endif
