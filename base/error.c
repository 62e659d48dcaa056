/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

struct reel_error {
	enum reel_error_code code;
	char *message;
};

static struct reel_error no_memory = { REEL_ERROR_NO_MEMORY, (char *)"out of memory" };

struct reel_error *reel_error_no_memory(void)
{
	return &no_memory;
}

/* Takes ownership of `message`. */
static struct reel_error *error_with(enum reel_error_code code, char *message)
{
	struct reel_error *error = malloc(sizeof(*error));

	if (!error || !message) {
		free(error);
		free(message);
		return &no_memory;
	}
	*error = (struct reel_error){ .code = code, .message = message };
	return error;
}

__attribute__((format(printf, 1, 0))) static char *format_message(const char *format, va_list args)
{
	char *message;

	return vasprintf(&message, format, args) < 0 ? NULL : message;
}

struct reel_error *reel_error_create(enum reel_error_code code, const char *format, ...)
{
	va_list args;
	char *message;

	va_start(args, format);
	message = format_message(format, args);
	va_end(args);
	return error_with(code, message);
}

struct reel_error *reel_error_os(int errnum, const char *format, ...)
{
	enum reel_error_code code = errnum == EPERM || errnum == EACCES ? REEL_ERROR_PERMISSION
				    : errnum == ENOMEM			? REEL_ERROR_NO_MEMORY
									: REEL_ERROR_OS;
	_cleanup_free_ char *what = NULL;
	va_list args;
	char *message;

	va_start(args, format);
	what = format_message(format, args);
	va_end(args);
	if (!what || asprintf(&message, "%s: %s", what, strerror(errnum)) < 0)
		return &no_memory;
	return error_with(code, message);
}

struct reel_error *reel_error_prefix(struct reel_error *error, const char *format, ...)
{
	_cleanup_free_ char *prefix = NULL;
	va_list args;
	char *message;

	if (!error)
		return error;
	va_start(args, format);
	prefix = format_message(format, args);
	va_end(args);
	if (!prefix || asprintf(&message, "%s: %s", prefix, error->message) < 0)
		return error;
	/* Usually the wanted memory is larger than a message. */
	if (error == &no_memory)
		return error_with(error->code, message);
	free(error->message);
	error->message = message;
	return error;
}

enum reel_error_code reel_error_code(const struct reel_error *error)
{
	return error->code;
}

const char *reel_error_message(const struct reel_error *error)
{
	return error->message;
}

void reel_error_destroy(struct reel_error *error)
{
	if (!error || error == &no_memory)
		return;
	free(error->message);
	free(error);
}

void reel_error_destroy_pointer(struct reel_error **error)
{
	reel_error_destroy(*error);
}

void reel_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

void reel_fd_close_pointer(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
