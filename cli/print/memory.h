/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a command cannot do without: when it runs out, the program reports so and exits. */
#ifndef CLI_PRINT_MEMORY_H
#define CLI_PRINT_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

#include "base/error.h"

/* Exits if `memory`, from a function that allocates, is NULL. */
void memory_check(const void *memory);
void *memory_get(size_t size); /* zeroed */
void *memory_resize(void *memory, size_t count, size_t size);
/*
 * Makes room for one more item after `count` used ones: *capacity grows by a half and a little
 * more.
 */
void *memory_reserve(void *memory, size_t *capacity, size_t count, size_t size);
/* The new items are zeroed. */
void *memory_reserve_zeroed(void *memory, size_t *capacity, size_t count, size_t size);
char *memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *memory_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Reports on stderr what needed the memory (NULL: unknown), without allocating any.  `what` is
 * printed as is. */
void memory_complain(const char *what);
/* From now on these texts come before and after what such a report states; they are not copied. */
void memory_set_report(const char *before, const char *after);

#endif
