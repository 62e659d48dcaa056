/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile that LLVM's compilers read (-fprofile-sample-use, "AutoFDO"): counts by function and by
 * line in it, counted from the function's own line, so that they outlive edits elsewhere in the
 * file; and functions that were inlined within the line that calls them, as deep as it goes.
 */
#ifndef CLI_EXPORT_SAMPLE_PROFILE_H
#define CLI_EXPORT_SAMPLE_PROFILE_H

#include <stdio.h>

#include "cli/report/pointer_map.h"
#include "include/stackreel.h"

struct sample_line;

/* All zero is an empty one. */
struct sample_profile {
	void *functions; /* a tree by name */
	uint32_t part;
	struct pointer_map names; /* by the places' own */
};

void sample_profile_free(struct sample_profile *profile);

/* Whether a compiler can tell which function this is, of what is inlined at an instruction. */
bool sample_profile_can_name(struct sample_profile *profile,
			     const struct reel_function_place *places, size_t n);
/*
 * An instruction, at the places that it has (as of struct reel_function_instruction), and how many
 * samples it got, none included.  A line counts what its most frequent instruction does, as all of
 * its instructions run together, and a function all of them.  Gives the line, which lives as long
 * as the profile; NULL: it is not known, so that the function has counted them alone.
 */
const struct sample_line *sample_profile_add(struct sample_profile *profile,
					     const struct reel_function_place *places, size_t n,
					     uint64_t count);
/* A function is entered at this line (NULL: at none that is known), as often as the line is run;
 * after all instructions of the function. */
void sample_profile_add_entry(struct sample_profile *profile, const struct sample_line *line);
/* What a call at these places led to, with its name as the linker knows it. */
void sample_profile_add_target(struct sample_profile *profile,
			       const struct reel_function_place *places, size_t n,
			       const char *target, uint64_t count);
/* What comes is of another module or another capture: counts of a line add up with those before.
 * Names of places need to live up to then. */
void sample_profile_next_part(struct sample_profile *profile);

/* As text, as llvm-profdata merge --sample --text writes it; false: there is no function in it. */
bool sample_profile_print(const struct sample_profile *profile, FILE *file);

#endif
