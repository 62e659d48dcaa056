/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much other processes may cost the recorder.  A process chooses how many mappings, functions
 * and files it has and how slowly these can be read, so all that the recorder learns about other
 * processes is paid for here, in time of the recorder and in bytes of the file:
 *
 * | data                                                | time   | bytes       |
 * |-----------------------------------------------------|--------|-------------|
 * | processes, threads, mappings (record/processes/)    | PLACES | PLACE_BYTES |
 * | mapped files: build-ids, what they hint at          | PLACES | PLACE_BYTES |
 * | build-ids of kernel modules                         | PLACES | -           |
 * | functions of Python and Ruby (jit/function_table.c) | NAMES  | NAME_BYTES  |
 * | where an interpreter has its frames                 | NAMES  | -           |
 * | code of JITs (jit/jit_code.c)                       | NAMES  | NAME_BYTES  |
 * | perf maps, jitdumps, listed ELF files of JITs       | NAMES  | NAME_BYTES  |
 * | services, names of containers                       | NAMES  | -           |
 * | threads, paths of cgroups                           | -      | -           |
 * | images of modules (record/embedding/)               | *      | *           |
 *
 * (*) A process of its own makes images, in 1 % of a CPU's time; --embed-limit limits their bytes.
 * Nobody pays for them, since most files are mapped by processes of many users.
 * Data without a limit of bytes is small and once for each process, or comes with samples.
 *
 * Expenses count half after a while (limits in budget.c), so what may be spent comes back with time.
 * A user's processes together may spend as much as they leave for others (of PLACES, four times as
 * much), and each of them as much as it leaves of that.  So one process alone gets a third, all of a
 * user half (of PLACES, two and four fifths); of several, all get the same; a newcomer finds
 * something left; and it does not help a user to have many processes.
 *
 * Waiting for an answer that does not come costs ten times as much as work.  A process or device
 * that made the recorder wait in vain twice is not asked for a while.
 */
#ifndef RECORD_BUDGET_BUDGET_H
#define RECORD_BUDGET_BUDGET_H

#include "base/error.h"

enum reel_budget_kind {
	/* ns of the recorder's time: for data without which samples cannot be placed, and other. */
	REEL_BUDGET_PLACES,
	REEL_BUDGET_NAMES,
	/* Bytes in the file for the same. */
	REEL_BUDGET_PLACE_BYTES,
	REEL_BUDGET_NAME_BYTES,
	REEL_BUDGET_KINDS,
};

/* What a record takes in the file besides its texts, about. */
#define REEL_BUDGET_RECORD 32

/* All functions accept NULL, a budget without limits, for `budget`; pid 0: not a process. */
struct reel_budget;

/* `side_limit`: bytes in the file that may be spent at once. */
struct reel_error *reel_budget_create(uint64_t side_limit,
				      struct reel_budget **ret) REEL_MUST_CHECK;
void reel_budget_destroy(struct reel_budget *budget);

/* Users of processes are unknown before this call. */
void reel_budget_set_users(struct reel_budget *budget,
			   uint32_t (*user_of)(const void *context, uint32_t pid),
			   const void *context);
/* Whether samples are waiting meanwhile: there is far more time before the first and after the last
 * one.  The caller then has a deadline. */
void reel_budget_hurry(struct reel_budget *budget, bool hurries);

/* Whether nobody may spend more now, but for bytes of places that are known. */
void reel_budget_stop(struct reel_budget *budget, bool stops);
/* Whether the process may spend more now. */
bool reel_budget_allows(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid);
void reel_budget_charge(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			uint64_t amount);
/* Charges bytes if they are allowed. */
bool reel_budget_charge_bytes(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			      uint64_t bytes);
/* The process has ended, so its number may be another's; what it spent stays its user's expense. */
void reel_budget_forget(struct reel_budget *budget, uint32_t pid);
/* Whether something was left out of the file because of its limit. */
bool reel_budget_has_refused(const struct reel_budget *budget);

/* ---- waiting ---- */

/* How long an answer may take, in ns; 0: do not ask now. */
uint64_t reel_budget_wait_limit(struct reel_budget *budget, enum reel_budget_kind kind,
				uint32_t pid);
/* Most answers take less, in ns; part of a longer time may be waiting. */
#define REEL_BUDGET_SHORT UINT64_C(1000000)
/* Charges for an answer that took `took` ns, `work` of them on a CPU, `busy` of them there or waiting
 * for one: for work and for other waits. */
void reel_budget_charge_answer(struct reel_budget *budget, enum reel_budget_kind kind, uint32_t pid,
			       uint64_t took, uint64_t work, uint64_t busy);

/* `who` is any number other than 0 of a process or device. A backoff starts with the second time;
 * each further one doubles the delay, until it is reset. */
void reel_budget_back_off(struct reel_budget *budget, uint64_t who, uint64_t now);
void reel_budget_reset_backoff(struct reel_budget *budget, uint64_t who);
bool reel_budget_is_backing_off(const struct reel_budget *budget, uint64_t who, uint64_t now);

/* For tests: another clock than reel_now(). */
void reel_budget_set_clock(struct reel_budget *budget, uint64_t (*clock)(void));

#endif
