/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from JITs' unwind information for their code (JIT_UNWIND).  For one thread. */
#ifndef REPLAY_NAMES_JIT_ROWS_H
#define REPLAY_NAMES_JIT_ROWS_H

#include "cfi/row.h"
#include "format/timeline/space.h"

struct reel_jit_rows;

struct reel_error *reel_jit_rows_create(struct reel_jit_rows **ret) REEL_MUST_CHECK;
void reel_jit_rows_destroy(struct reel_jit_rows *rows);

/* The rows of the record's code, by runtime address, created if missing.  They live until
 * reel_jit_rows_trim. */
struct reel_error *reel_jit_rows_get(struct reel_jit_rows *rows,
				     const struct reel_record_jit_unwind *record,
				     const struct reel_arch *arch, bool big_endian,
				     struct reel_rows **ret) REEL_MUST_CHECK;
/* Drops all rows if there are too many. */
void reel_jit_rows_trim(struct reel_jit_rows *rows);
/* As reel_rows_problem, for any of the rows. */
struct reel_error *reel_jit_rows_problem(const struct reel_jit_rows *rows) REEL_MUST_CHECK;

#endif
