/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of many captures in a text file, as `stackreel aggregate' makes it: each distinct stack
 * once, with names and amounts.  It is byte-identical for any order and number of steps of adding
 * captures.  Lines, their fields between tabs, texts as text_escape has them:
 *
 * *	stackreel profile 1
 * *	captures, unread, problems, recorded  NUMBER     struct profile_totals
 * *	lost      NUMBER  CAUSE
 * *	function  FLAGS  NAME  MODULE    numbered from 0 on; flags: kernel, inlined, without a name
 * *	                                 (its address represents it), pseudo; or -
 * *	event     UNIT  NAME             ns, or count; the following are its own:
 * *	stop      NUMBER  REASON         traces that ended so
 * *	kernel_alone, by_code, by_frame_pointer, by_calls, stack_cut, frames, nameless  NUMBER
 * *	DEPTH FUNCTION [SAMPLES WEIGHT]  between blanks: a node of the tree of stacks, after the
 * *one that called it, whose depth is smaller by one end
 *
 * The root of stacks that end too early is a pseudo function that says so.
 *
 * Or folded text, as `stackreel folded', other tools and SQL queries print it: "a;b;c 10", a line for
 * each stack.
 */
#ifndef CLI_PROFILE_PROFILE_FILE_H
#define CLI_PROFILE_PROFILE_FILE_H

#include "cli/profile/profile.h"

#define PROFILE_SIGNATURE "stackreel profile 1\n"

struct profile_totals {
	uint64_t captures;
	uint64_t unread;   /* captures skipped as unreadable */
	uint64_t problems; /* of all captures */
	uint64_t recorded; /* samples in the captures, selected or not */
	uint64_t lost[REEL_LOSS_COUNT];
	bool is_folded; /* which has no such counts */
};

/* Lines that are a name and a number: a uint64_t of struct profile_totals or struct quality. */
struct profile_number {
	const char *name; /* NULL: the end */
	size_t offset;
};

extern const struct profile_number profile_total_numbers[], profile_quality_numbers[];

/* False on 64-bit overflow. */
static inline bool profile_number_add(uint64_t *number, uint64_t more)
{
	return !__builtin_add_overflow(*number, more, number);
}

/* The file, or standard input, begins like a profile or like folded text. */
bool profile_file_is(const char *path);
/*
 * Adds the file's contents. Returns false after an error, which is reported on stderr: part of the
 * file may have been added.
 */
bool profile_file_read(const char *path, struct profiles *profiles, struct profile_totals *totals);
/* Bytes that show the kind of a file; enough for the first line of most folded texts. */
#define PROFILE_HEAD_SIZE 4096
/* `head`: the first bytes of a file. */
bool folded_text_is(const char *head, size_t size);
/* As profile_file_read, of a file that is open. */
bool folded_text_read(FILE *file, const char *path, struct profiles *profiles,
		      struct profile_totals *totals);
/* Of symbols by function, with marks of cut traces.  The trees are in the order of their names
 * then. */
void profile_file_write(struct profiles *profiles, const struct profile_totals *totals, FILE *file);

#endif
