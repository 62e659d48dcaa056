/* SPDX-License-Identifier: Apache-2.0 */
/* C++, Rust, D and Fortran names as their source has them. */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

/* No more than 32,000 were needed for 800,000 names of LLVM, rustc, boost, VTK and others. */
#define REEL_DEMANGLE_STEPS 100000

/*
 * Demangles a C++, Rust or Fortran name (owned), or returns NULL if it is not mangled, is longer than
 * 1,024 bytes, or costs too much: it takes at most 100,000 steps (two milliseconds) and 192 KiB of
 * stack.
 */
char *reel_demangle(const char *name);
/* The same with at most *steps steps; *steps becomes the number left. */
char *reel_demangle_within(const char *name, long *steps);
/* A name of GNAT's as gdb shows it (owned); NULL if it is not encoded, or in a way that is unknown.
 * Only for Ada: names of other languages may contain `__'. */
char *reel_demangle_ada(const char *name);

#endif
