/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effects of instructions on registers and the stack, as data, for CPUs whose instructions have
 * fixed formats.  The data covers the needs of following code without CFI (replay/synthesis/): control
 * flow, every written register, and memory accesses at a register plus a constant.
 *
 * A table is searched from its start and the first match counts, so the entry for an opcode's whole
 * group follows its members.  An instruction without a match is unknown.
 */
#ifndef ARCH_INSTRUCTION_H
#define ARCH_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How control flow continues. */
enum reel_flow {
	REEL_FLOW_NEXT = 0,
	REEL_FLOW_BRANCH, /* to the target, or to the next */
	REEL_FLOW_JUMP,
	REEL_FLOW_CALL, /* and to the next, after the return */
	REEL_FLOW_RETURN,
	REEL_FLOW_RETURN_OR_NEXT, /* depends on a condition */
	REEL_FLOW_END,		  /* control flow ends */
};

/* `bits` bits of an instruction, from bit `at` on (0: its lowest bit). */
struct reel_arch_field {
	uint8_t at, bits;
	uint8_t to; /* position of its lowest bit in the number */
};

/* A number in an instruction, possibly in pieces. */
#define REEL_ARCH_FIELDS_MAX 8
struct reel_arch_immediate {
	struct reel_arch_field fields[REEL_ARCH_FIELDS_MAX]; /* ends with one of 0 bits */
	uint8_t width; /* bits, of which the highest is the sign; 0: unsigned */
	bool negative; /* it is subtracted */
	uint8_t add;   /* added to it */
};

/* A register: the number in these bits, plus `add`.  Identified by its index in the CPU's operands,
 * of which the first is none. */
struct reel_arch_operand {
	uint8_t at, bits; /* no bits: always `add` */
	uint8_t add;
	uint8_t set; /* index in register_sets, which maps these numbers */
};

enum reel_arch_effect_kind {
	REEL_ARCH_NOTHING = 0, /* end of the list */
	REEL_ARCH_CLOBBER,     /* `to` becomes unknown */
	REEL_ARCH_SUM,	       /* `to` becomes base + displacement */
	REEL_ARCH_LOAD,	       /* `to` becomes the word at that address */
	REEL_ARCH_STORE,       /* writes `size` bytes there: `to`, if that is a word */
	/* The same for all registers from `to` to the instruction's `last`, stored there in a row,
	 * each in `size` bytes. */
	REEL_ARCH_CLOBBER_RANGE,
	REEL_ARCH_LOAD_RANGE,
	REEL_ARCH_STORE_RANGE,
	REEL_ARCH_STORE_LENGTH, /* writes as many bytes there as the number in `last`, plus 1 */
};

struct reel_arch_effect {
	uint8_t kind;	  /* enum reel_arch_effect_kind */
	uint8_t to, base; /* operands */
	/* The displacement is `plus`, and the instruction's immediate if `by_immediate`. */
	bool by_immediate;
	uint8_t plus;
	uint8_t size; /* bytes */
};

#define REEL_ARCH_EFFECTS_MAX 4

struct reel_arch_instruction {
	/* For the instruction as a number of `size` bytes, in the byte order of the CPU's code. */
	uint64_t mask, match;
	uint8_t size; /* bytes */
	uint8_t flow; /* enum reel_flow */
	bool unknown; /* as without a match */
	/* Jumps, calls and returns go to the immediate, relative to the instruction; without one,
	 * to the address in the register `through`, which is none if the target also depends on
	 * memory or other registers. */
	uint8_t through;
	uint8_t last; /* of ranges */
	const struct reel_arch_immediate *immediate;
	struct reel_arch_effect effects[REEL_ARCH_EFFECTS_MAX];
};

struct reel_arch_instructions {
	const struct reel_arch_instruction *table;
	size_t n;
	bool big_endian;
	const struct reel_arch_operand *operands;
	/* The DWARF numbers of the registers 0 to 31, by set; NO_REGISTER: not tracked. */
	const uint8_t (*register_sets)[32];
};

#define REEL_ARCH_NO_REGISTER 0xff

#endif
