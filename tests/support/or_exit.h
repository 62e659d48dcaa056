/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that must not fail, for programs that tests run. On failure they report it and exit. */
#ifndef TESTS_SUPPORT_OR_EXIT_H
#define TESTS_SUPPORT_OR_EXIT_H

#include <err.h>

#include "include/commands.h"

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
