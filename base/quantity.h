/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as a user types them: sizes, durations, lists. All errors are INVALID and name the text.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

#define REEL_NS_PER_SECOND UINT64_C(1000000000)
#define REEL_NS_PER_MS	   UINT64_C(1000000)

/* A whole number from `min` to `max`. */
struct reel_error *reel_quantity_number(const char *text, uint64_t min, uint64_t max,
					uint64_t *ret) REEL_MUST_CHECK;
/* Bytes: 65536, 64K, 1.5MiB, 1GB (powers of 1024). Not 0. */
struct reel_error *reel_quantity_size(const char *text, uint64_t *ret) REEL_MUST_CHECK;
/* Nanoseconds: 10, 10s, 1.5s, 500ms, 3us, 7ns, 2m, 2min, 1h, 1d. */
struct reel_error *reel_quantity_time(const char *text, uint64_t *ret) REEL_MUST_CHECK;
/* The same, but not 0, and at most INT64_MAX. */
struct reel_error *reel_quantity_duration(const char *text, uint64_t *ret) REEL_MUST_CHECK;
/*
 * Numbers separated by commas; with `ranges` also 0-3.  Ascending, without duplicates.  Added to
 * the items already in the array; at most 65536 in all.
 */
struct reel_error *reel_quantity_list(const char *text, bool ranges, uint32_t max, uint32_t **list,
				      size_t *count) REEL_MUST_CHECK;

/* A clock's time in nanoseconds; of CLOCK_MONOTONIC, the capture clock. */
uint64_t reel_clock_now(clockid_t clock);
uint64_t reel_now(void);

#endif
