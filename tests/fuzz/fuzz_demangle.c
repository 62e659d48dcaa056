/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the demangler:
 *   build/tests/fuzz/fuzz_demangle -timeout=5 -max_len=1030 DIR MORE...
 * with DIR for new inputs, MORE with a name in each file.  A name costs a number of steps: a limit
 * of one more gives the same text, a limit of half of them does not.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const long most = 100000;
	char *name = strndup((const char *)data, size), *text, *again;
	long left = most, steps;

	text = reel_demangle_ada(name);
	must_be(!text || (strlen(name) <= 1024 && strlen(text) <= 2 * strlen(name)), "Ada's sizes");
	free(text);
	text = reel_demangle_within(name, &left);
	must_be(left >= 0 && left <= most, "steps are counted down");
	if (!text) {
		free(name);
		return 0;
	}
	must_be(strlen(name) <= 1024 && strlen(text) <= 65536, "limits of sizes");
	steps = most - left;
	left = steps + 1;
	again = reel_demangle_within(name, &left);
	must_be(again && left == 1 && !strcmp(text, again), "the same name costs the same");
	free(again);
	left = steps / 2;
	must_be(!reel_demangle_within(name, &left) && !left, "half of them are not enough");
	free(text);
	free(name);
	return 0;
}
