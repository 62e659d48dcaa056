/* SPDX-License-Identifier: Apache-2.0 */
/* A function's name without marks of its parts and clones, or of what differs between builds, so that
 * it matches across builds. */
#ifndef CLI_PROFILE_STEM_H
#define CLI_PROFILE_STEM_H

/*
 * A copy, which the caller frees, without compilers' suffixes of clones and parts of a function
 * (GCC's `.constprop.1', `.part.0', `.cold', c++filt's ` [clone .isra.0]' for these; LLVM's
 * `.llvm.123', `.__part.3', `.__uniq.123'; BOLT's `.warm'), Rust's hash (`::h0123456789abcdef'), and the numbers of lambdas and of Go's
 * closures (`func1').
 */
char *stem_of(const char *name);
/* The same without only the suffixes. */
char *whole_function_of(const char *name);
/* The last part of a module's name, without a library's version or the kernel's suffix. */
char *stem_of_module(const char *path);

#endif
