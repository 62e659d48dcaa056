/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that cannot reach the root, since the code at their end does not show its caller. */
#ifndef TESTS_TRUTH_INCOMPLETE_H
#define TESTS_TRUTH_INCOMPLETE_H

#include "tests/truth/cfi_judge.h"

/*
 * Why no unwinder can continue, with the source; NULL: ours should have continued.  `one_stack`:
 * the recording only has the stack that sp points to.
 */
const char *truth_incomplete_reason(const struct truth_sample *sample,
				    const struct truth_verdict *verdict, bool one_stack);
/*
 * The index of a frame of libgcc's that has begun to overwrite its own saved registers and return
 * address; the number of frames if there is none.
 */
size_t truth_frame_being_replaced(const struct truth_sample *sample);

#endif
