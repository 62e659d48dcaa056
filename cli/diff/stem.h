/* SPDX-License-Identifier: Apache-2.0 */
/* A function's name without what differs from build to build, so that it is the same in two of
 * them. */
#ifndef CLI_DIFF_STEM_H
#define CLI_DIFF_STEM_H

/*
 * A copy, to be freed, without what compilers append to clones and parts of a function (GCC's
 * `.constprop.1', `.part.0', `.cold', c++filt's ` [clone .isra.0]' for these; LLVM's `.llvm.123'),
 * Rust's hash (`::h0123456789abcdef'), and the numbers of lambdas and of Go's closures (`func1').
 */
char *stem_of(const char *name);
/* Of a module's path: its last part, without a library's version or what the kernel appends. */
char *stem_of_module(const char *path);

#endif
