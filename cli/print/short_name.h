/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of C++ and Rust functions. */
#ifndef CLI_PRINT_SHORT_NAME_H
#define CLI_PRINT_SHORT_NAME_H

/*
 * A demangled name for people: without its result, default template arguments, long template
 * arguments, function arguments ("(…)" takes their place), inline namespaces, ABI tags, and Rust's
 * hashes and paths of types. Names of other languages are returned unchanged. Never wider than
 * `full`, nor empty unless `full` is. Takes linear time; the caller frees it.
 */
char *short_name(const char *full);

#endif
