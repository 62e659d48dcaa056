/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that tests run: what must not fail.  Where it does, they say so and end. */
#ifndef TESTS_SUPPORT_OR_EXIT_H
#define TESTS_SUPPORT_OR_EXIT_H

#include <err.h>

#include "include/stackreel.h"

static inline void check(struct reel_error *error)
{
	if (error)
		errx(2, "%s", reel_error_message(error));
}

static inline void *must_have(void *memory)
{
	if (!memory)
		err(2, "memory");
	return memory;
}

#endif
