/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile that LLVM's compilers read (-fprofile-sample-use, "AutoFDO"): counts by function and by
 * line in it, relative to the function's own line, so that edits elsewhere in the file do not
 * matter. Inlined functions are nested within the line that calls them, at any depth.
 */
#ifndef CLI_EXPORT_SAMPLE_PROFILE_H
#define CLI_EXPORT_SAMPLE_PROFILE_H

#include <stdio.h>

#include "cli/profile/pointer_map.h"
#include "include/commands.h"

struct sample_line;

/* An empty profile is all zero. */
struct sample_profile {
	void *functions; /* a tree by name */
	uint32_t part;
	struct pointer_map names; /* by the places' own */
};

void sample_profile_free(struct sample_profile *profile);

/* Whether a compiler can identify all functions at an instruction, including inlined ones. */
bool sample_profile_can_name(struct sample_profile *profile,
			     const struct reel_function_place *places, size_t n);
/*
 * An instruction, at the places that it has (as of struct reel_function_instruction), and its
 * number of samples, which may be 0.  A line counts what its most frequent instruction does, since
 * its instructions run together; a function counts all of them. Returns the line, which lives as
 * long as the profile; NULL: unknown, so that only the function counts the samples.
 */
const struct sample_line *sample_profile_add(struct sample_profile *profile,
					     const struct reel_function_place *places, size_t n,
					     uint64_t count);
/* A function is entered at this line (NULL: unknown), as often as the line runs. Call this after
 * all instructions of the function. */
void sample_profile_add_entry(struct sample_profile *profile, const struct sample_line *line);
/* A call's target at these places, by its linkage name. */
void sample_profile_add_target(struct sample_profile *profile,
			       const struct reel_function_place *places, size_t n,
			       const char *target, uint64_t count);
/* The following instructions are from another module or capture: a line's counts add to the
 * previous ones. Names of places must live until this call. */
void sample_profile_next_part(struct sample_profile *profile);

/* As text, as llvm-profdata merge --sample --text writes it; false: the profile has no function. */
bool sample_profile_print(const struct sample_profile *profile, FILE *file);

#endif
