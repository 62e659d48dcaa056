/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests, with the headers that most need. Each TEST() registers itself, and RUN_TESTS() at the
 * end runs them in their order.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

static struct CMUnitTest unit_tests[128];
static size_t n_unit_tests;

static inline void unit_test_append(struct CMUnitTest test)
{
	if (n_unit_tests == sizeof(unit_tests) / sizeof(unit_tests[0]))
		abort();
	unit_tests[n_unit_tests++] = test;
}

/* `setup` and `teardown` run once, around all tests; each may be NULL. */
static inline int unit_tests_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, setup, teardown);
}

/* `setup` and `teardown` run before and after this test, which finds in *fixture what `setup` made. */
#define TEST_WITH(function, setup, teardown)                                                       \
	static void function(void **fixture);                                                      \
	static void __attribute__((constructor)) function##_append(void)                           \
	{                                                                                          \
		unit_test_append((struct CMUnitTest)cmocka_unit_test_setup_teardown(               \
			function, setup, teardown));                                               \
	}                                                                                          \
	static void function(void **fixture)

#define TEST(function) TEST_WITH(function, NULL, NULL)

/* The same with functions that run once, around all tests. */
#define RUN_TESTS_WITH(setup, teardown)                                                            \
	int main(void)                                                                             \
	{                                                                                          \
		return unit_tests_run(setup, teardown);                                            \
	}

#define RUN_TESTS() RUN_TESTS_WITH(NULL, NULL)

static inline void assert_success(struct reel_error *error)
{
	if (error)
		fail_msg("%s", reel_error_message(error));
}

/* The error has this code, and its message this part; frees it. */
static inline void assert_error_says(struct reel_error *error, enum reel_error_code code,
				     const char *part)
{
	assert_non_null(error);
	if (reel_error_code(error) != code || !strstr(reel_error_message(error), part))
		fail_msg("error %d, not %d with \"%s\": %s", reel_error_code(error), code, part,
			 reel_error_message(error));
	reel_error_destroy(error);
}

static inline void assert_error(struct reel_error *error, enum reel_error_code code)
{
	assert_error_says(error, code, "");
}

#endif
