/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people.  Names, paths and comms of a capture are hostile: they may
 * hold control characters that take over a terminal, bidirectional overrides,
 * characters that nobody sees, or bytes that are no UTF-8.
 */
#ifndef CLI_PRINT_TEXT_H
#define CLI_PRINT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/print/decimal.h"

/*
 * One character of UTF-8 at bytes[0], of `size` bytes, at least one: its code point, and
 * its length in bytes.  What is no UTF-8 (overlong forms, surrogates and code points behind
 * U+10FFFF too) is -1 and one byte long.
 */
int32_t text_decode(const uint8_t *bytes, size_t size, size_t *length_ret);

/*
 * A copy in which nothing acts on a terminal or hides, and from which the original can be told:
 * control, format and bidirectional characters, line separators, what is invisible, and bytes that
 * are no UTF-8 become \xNN, byte by byte, and so do the ASCII characters of `also`; a backslash
 * becomes two.  To be freed.
 */
char *text_escape(const char *text, const char *also);
char *text_escape_bytes(const uint8_t *bytes, size_t size, const char *also);
/* The same of what was made of escaped texts: a backslash stays one. */
char *text_escape_again(const uint8_t *bytes, size_t size, const char *also);

/* Makes of what text_escape gave what it was given, in place; false if it gave no such text, or
 * that had a NUL. */
bool text_unescape(char *text);

/* How many letters one of two short texts has to change, gain, lose or exchange with the next to
 * become the other; more than TEXT_DISTANCE_MAX letters are not compared: SIZE_MAX. */
#define TEXT_DISTANCE_MAX 31
size_t text_distance(const char *a, const char *b);

/* Columns that it takes, a code point each. */
size_t text_width(const char *text);

/* A short text by value. */
struct short_text {
	char text[48];
};

/* 1234567 as "1,234,567". */
struct short_text format_count(uint64_t value);
/* "12.3 MB", decimal units. */
struct short_text format_bytes(uint64_t value);
/* "1.234 s", "56.7 ms", "890 ns". */
struct short_text format_nanoseconds(uint64_t value);
/* A share in percent, two digits behind the point: "12.34 %"; "-" of nothing. */
struct short_text format_share(uint64_t part, uint64_t whole);
/* The same, one digit at most and no blank: "80%", "12.5%". */
struct short_text format_share_short(uint64_t part, uint64_t whole);
/* The first without the unit: "12.34"; "0.00" of nothing. */
struct short_text format_percent(uint64_t part, uint64_t whole);
/* part / whole, two digits behind the point; "0.00" of nothing. */
struct short_text format_ratio(uint64_t part, uint64_t whole);
/* A limit as it was given, in PERCENT: "0.5". */
struct short_text format_limit(uint64_t limit);
/* "2026-01-31 12:00:00 UTC" of ns since 1970. */
struct short_text format_wall_time(uint64_t nanoseconds);

/* In PERCENT, rounded down: it is below a limit where the exact share is. 0 of nothing. */
uint64_t percent_of(uint64_t part, uint64_t whole);

/* malloc and realloc that end the program with a message when memory is out, and what they ask of
 * the memory that others gave. */
void memory_check(const void *memory);
void *memory_get(size_t size);
void *memory_resize(void *memory, size_t count, size_t size);
/* Room for one more item where `count` of them are used: *capacity grows by half and some. */
void *memory_reserve(void *memory, size_t *capacity, size_t count, size_t size);
char *memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *memory_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* free() as a cleanup. */
void memory_free_pointer(void *pointer);
#define _cleanup_free_ __attribute__((cleanup(memory_free_pointer)))

#endif
