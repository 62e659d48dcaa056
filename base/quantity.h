/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as a user types them: sizes, durations, lists. All errors are INVALID and name the text.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REEL_NS_PER_SECOND UINT64_C(1000000000)
#define REEL_NS_PER_MS	   UINT64_C(1000000)

/* A whole number from `min` to `max`. */
struct reel_error *reel_quantity_number(const char *text, uint64_t min, uint64_t max,
					uint64_t *ret) REEL_MUST_CHECK;
/* Bytes: 65536, 64K, 16M, 1G (powers of 1024). Not 0. */
struct reel_error *reel_quantity_size(const char *text, uint64_t *ret) REEL_MUST_CHECK;
/* Nanoseconds: 10, 10s, 1.5s, 500ms, 2m, 1h. Not 0. */
struct reel_error *reel_quantity_duration(const char *text, uint64_t *ret) REEL_MUST_CHECK;
/*
 * Numbers separated by commas; with `ranges` also 0-3.  Ascending, without duplicates.  Added to
 * the items already in the array.
 */
struct reel_error *reel_quantity_list(const char *text, bool ranges, uint32_t max, uint32_t **list,
				      size_t *count) REEL_MUST_CHECK;

/* CLOCK_MONOTONIC in nanoseconds: the capture clock. */
uint64_t reel_now(void);

#endif
