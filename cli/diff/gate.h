/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a comparison may not exceed, as --fail-if gives them:
 *
 *	self(GLOB)>+5%   total(GLOB)>+5%   any>+2%   self(parse)<-10%
 *
 * A function exceeds one if it changed for sure, and by more than so much of its old value.
 */
#ifndef CLI_DIFF_GATE_H
#define CLI_DIFF_GATE_H

#include "cli/diff/change.h"

struct diff_gate {
	const char *text; /* as given */
	char *pattern;	  /* of names, as a shell's; NULL: any */
	bool parts[PARTS];
	bool falls;   /* what falls by more than the limit, else what rises */
	double limit; /* of the old value */
};

/* False if it is no such expression. */
bool diff_gate_parse(const char *text, struct diff_gate *ret);
void diff_gate_free(struct diff_gate *gate);
bool diff_gate_is_exceeded(const struct diff_gate *gate, const struct diff_change *change);
/* Not exceeded, but it may be: the interval reaches behind the limit. */
bool diff_gate_is_doubtful(const struct diff_gate *gate, const struct diff_change *change);

#endif
