/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock times as a user types and reads them; in ns since 1970. */
#ifndef CLI_SESSION_WALL_TIME_H
#define CLI_SESSION_WALL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/print/text.h"

/*
 * "2026-11-27 03:17", "2026-11-27T03:17:00.5Z", "2026-11-27", "03:17": without a date on the day of
 * `day`, without a time at midnight, and without "Z", "UTC" or an offset such as "+02:00" in the
 * local time zone.  False for other texts, and for times that do not exist in the zone.
 */
bool wall_time_parse(const char *text, uint64_t day, uint64_t *ret);
/* "A..B", "A..", "..B"; an open end is 0.  A time without a date is of today, in B of A's day. */
bool wall_range_parse(const char *text, uint64_t *from_ret, uint64_t *to_ret);
/* "2026-11-27 03:17:00 CET (+0100)", in the local time zone. */
struct short_text format_local_time(uint64_t nanoseconds);

#endif
