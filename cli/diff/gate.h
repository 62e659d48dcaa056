/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a comparison may not exceed, as --fail-if gives them:
 *
 * *	self(GLOB)>+5%   total(GLOB)>+5%   any>+2%   self(parse)<-10%
 *
 * A function exceeds a limit if its change is sure and larger than that part of its old value.
 */
#ifndef CLI_DIFF_GATE_H
#define CLI_DIFF_GATE_H

#include "cli/diff/change.h"

struct diff_gate {
	const char *text; /* as given */
	char *pattern;	  /* of names, as a shell's; NULL: any */
	bool parts[PARTS];
	bool falls;   /* falls beyond the limit exceed it, else rises */
	double limit; /* of the old value */
};

/* False if the expression is invalid. */
bool diff_gate_parse(const char *text, struct diff_gate *ret);
void diff_gate_free(struct diff_gate *gate);
bool diff_gate_is_exceeded(const struct diff_gate *gate, const struct diff_change *change);
/* Not surely exceeded, but possibly: the interval extends beyond the limit. */
bool diff_gate_is_doubtful(const struct diff_gate *gate, const struct diff_change *change);

#endif
