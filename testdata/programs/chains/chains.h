/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows its chains: every function of a mode has one caller, or calls itself, so the
 * chain of each sample follows from the source. tests/chains/ lists the chains that a mode may
 * have, and the samples needed in each.
 */
#ifndef CHAINS_H
#define CHAINS_H

#include <stdint.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
/* No clones, no merging, no other arguments. */
#define NOINLINE __attribute__((noipa))
#endif
#define INLINE inline __attribute__((always_inline))

/*
 * Belongs after a call: without remaining work, compilers turn a function's last call into a jump,
 * and the caller is missing from the chain.
 */
extern volatile uint64_t sink;

/* The process's CPU time since main began. */
double cpu_seconds();

static INLINE uint64_t mix(uint64_t value)
{
	return value * 6364136223846793005u + 1442695040888963407u;
}

/* A loop for a leaf, some 4 cycles a round. */
static INLINE uint64_t spin(int rounds, uint64_t value)
{
	for (int i = 0; i < rounds; i++) {
		value = mix(value);
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

/* Two functions that interrupted modes run in: short ones, with prologues and epilogues. */
uint64_t interruptible(uint64_t value);

/* The modes: each runs for about that many seconds of CPU time; its result is main's. */
typedef int mode_function(double seconds, char **arguments);

/* frames.cc */
mode_function mode_leaf, mode_tiny, mode_realign, mode_deep, mode_inline;
/* signals.cc */
mode_function mode_handler, mode_alternate, mode_nested, mode_alternate_thread;
/* jumps.cc */
mode_function mode_jump, mode_noreturn, mode_coroutine;
/* tails.cc */
mode_function mode_tail;
/* exceptions.cc */
mode_function mode_exception;
/* libraries.cc */
mode_function mode_plt, mode_lazy, mode_vdso, mode_reload;
/* processes.cc */
mode_function mode_threads, mode_fork, mode_spawn, mode_exec, mode_thread_exec;
/* bare.cc */
mode_function mode_bare_framed, mode_bare;

#endif
