/* SPDX-License-Identifier: Apache-2.0 */
/* Error objects; the public half is in include/stackreel.h. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "include/commands.h"

#define REEL_MUST_CHECK __attribute__((warn_unused_result))

/*
 * Makes an error.  Never returns NULL: when memory is short it returns a static NO_MEMORY error,
 * which reel_error_destroy ignores.
 */
struct reel_error *reel_error_create(enum reel_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));
/* As above, followed by ": " and errno's text; the code is OS (or PERMISSION for EPERM and
 * EACCES). */
struct reel_error *reel_error_os(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));
struct reel_error *reel_error_no_memory(void) __attribute__((returns_nonnull));
/* Puts "format: " before the error's message and returns it; takes ownership. */
struct reel_error *reel_error_prefix(struct reel_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns the error of `call` from the enclosing function, if there is one.  What that function
 * holds must be freed by _cleanup_.
 */
#define TRY(call)                                                                                  \
	do {                                                                                       \
		struct reel_error *try_error = (call);                                             \
		if (try_error)                                                                     \
			return try_error;                                                          \
	} while (0)

void reel_error_destroy_pointer(struct reel_error **error);
#define _cleanup_error_ __attribute__((cleanup(reel_error_destroy_pointer)))

/* free() as a cleanup. */
void reel_free_pointer(void *pointer);
#define _cleanup_free_ __attribute__((cleanup(reel_free_pointer)))
void reel_fd_close_pointer(int *fd);
#define _cleanup_fd_ __attribute__((cleanup(reel_fd_close_pointer)))

#endif
