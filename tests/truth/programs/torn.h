/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by programs/torn.c and torn_check.c. */
#ifndef TESTS_TRUTH_TORN_H
#define TESTS_TRUTH_TORN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TORN_THREADS_MAX    16
#define TORN_HANDLER_WORDS  150
#define TORN_ALTERNATE_SIZE 65536

/* The value of word `index` in a generation; an index has 24 bits. */
#define TORN_WORD(generation, index) ((uint64_t)(generation) << 24 | (uint64_t)(index))

enum torn_mode {
	TORN_UP,
	TORN_REP,
	TORN_PUSH,
	TORN_SYS,
	TORN_HOLE,
	TORN_ALT,
	TORN_OTHER,
	TORN_MODES,
};

static const char *const torn_mode_names[TORN_MODES] = { "up",	 "rep", "push", "sys",
							 "hole", "alt", "other" };

static inline enum torn_mode torn_mode(const char *name)
{
	enum torn_mode mode;

	for (mode = 0; mode < TORN_MODES && strcmp(name, torn_mode_names[mode]) != 0; mode++)
		;
	return mode;
}

#endif
