/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What instructions do to registers and the stack, as data, for CPUs whose instructions have fixed
 * formats.  It is told as far as code has to be followed where there is no CFI (replay/code/): how
 * it goes on, every register that is written, and of memory what is read or written at a register
 * plus a constant.
 *
 * A table is searched from its start: the first entry that matches counts, so that what an opcode's
 * whole group may write stands behind its members.  What matches none is not known.
 */
#ifndef ARCH_INSTRUCTION_H
#define ARCH_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How code goes on. */
enum reel_flow {
	REEL_FLOW_NEXT = 0,
	REEL_FLOW_BRANCH, /* to the target, or on */
	REEL_FLOW_JUMP,
	REEL_FLOW_CALL, /* and on, once it has returned */
	REEL_FLOW_RETURN,
	REEL_FLOW_RETURN_OR_NEXT, /* by a condition */
	REEL_FLOW_END,		  /* it does not go on */
};

/* `bits` bits of an instruction, from bit `at` on (0: the last one's lowest). */
struct reel_arch_field {
	uint8_t at, bits;
	uint8_t to; /* the bit of the number that its lowest becomes */
};

/* A number that an instruction holds, in pieces. */
#define REEL_ARCH_FIELDS_MAX 8
struct reel_arch_immediate {
	struct reel_arch_field fields[REEL_ARCH_FIELDS_MAX]; /* ends with one of no bits */
	uint8_t width; /* bits, of which the highest is a sign; 0: there is none */
	bool negative; /* it is subtracted */
	uint8_t add;   /* to be added to it */
};

/* A register: the number in these bits, plus `add`.  Named by where it stands among the CPU's
 * operands, of which the first is none. */
struct reel_arch_operand {
	uint8_t at, bits; /* no bits: always `add` */
	uint8_t add;
	uint8_t set; /* which registers these numbers are: one of the CPU's register_sets */
};

enum reel_arch_effect_kind {
	REEL_ARCH_NOTHING = 0, /* there are no more */
	REEL_ARCH_CLOBBER,     /* `to` becomes something unknown */
	REEL_ARCH_SUM,	       /* `to` becomes base + displacement */
	REEL_ARCH_LOAD,	       /* `to` becomes the word there */
	REEL_ARCH_STORE,       /* `size` bytes there are written: `to`, if they are a word */
	/* The same of all registers from `to` to the instruction's `last`, which lie one behind the
	 * other there, each in `size` bytes. */
	REEL_ARCH_CLOBBER_RANGE,
	REEL_ARCH_LOAD_RANGE,
	REEL_ARCH_STORE_RANGE,
	REEL_ARCH_STORE_LENGTH, /* the number in `last`, plus 1, is how many bytes are written there
				 */
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
	/* Of the instruction as a number of `size` bytes, in the byte order of the CPU's code. */
	uint64_t mask, match;
	uint8_t size; /* bytes */
	uint8_t flow; /* enum reel_flow */
	bool unknown; /* as if nothing matched */
	/* Jumps, calls and returns lead to the immediate, from the instruction on; without one, to
	 * where the register `through` says, which is none if memory or more than a register does.
	 */
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
	/* The DWARF numbers of the registers 0 to 31, by set; NO_REGISTER: none that is tracked. */
	const uint8_t (*register_sets)[32];
};

#define REEL_ARCH_NO_REGISTER 0xff

#endif
