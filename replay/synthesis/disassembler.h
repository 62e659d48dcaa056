/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as text, and the flow after them. */
#ifndef REPLAY_SYNTHESIS_DISASSEMBLER_H
#define REPLAY_SYNTHESIS_DISASSEMBLER_H

#include "replay/synthesis/instruction.h"

/* For one CPU; for one thread at a time. */
struct reel_disassembler;

/* Longer texts are cut: capstone's have at most 192 characters. */
#define REEL_DISASSEMBLED_MAX 256

struct reel_disassembled {
	uint8_t size; /* bytes; never 0 */
	/* The instruction as text, or "" if it is unknown. */
	char text[REEL_DISASSEMBLED_MAX];
	uint8_t flow; /* enum reel_flow */
	bool has_target;
	uint64_t target;
};

/* `intel`: x86 in Intel's syntax. */
struct reel_error *reel_disassembler_create(const struct reel_arch *arch, bool intel,
					    struct reel_disassembler **ret) REEL_MUST_CHECK;
void reel_disassembler_destroy(struct reel_disassembler *disassembler);
/* "capstone 4.0.2"; "" for an unknown CPU, which has no text. */
const char *reel_disassembler_name(const struct reel_disassembler *disassembler);
/* Disassembles at least one byte at `address`.  Invalid instructions get the minimum size. */
void reel_disassemble(struct reel_disassembler *disassembler, const uint8_t *bytes, size_t size,
		      uint64_t address, struct reel_disassembled *ret);

#endif
