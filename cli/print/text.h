/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people.  Names, paths and comms of a capture are untrusted: they may contain control
 * characters that take over a terminal, bidirectional overrides, invisible characters, or invalid
 * UTF-8.
 */
#ifndef CLI_PRINT_TEXT_H
#define CLI_PRINT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/print/memory.h"

/*
 * Decodes the UTF-8 character at bytes[0] of `size` bytes, at least one: returns its code point,
 * and its length in bytes. Invalid UTF-8 (including overlong forms, surrogates and code points
 * above U+10FFFF) is -1 and one byte long.
 */
int32_t text_decode(const uint8_t *bytes, size_t size, size_t *length_ret);

/* Of a value of a pointer, the text after its address: equal texts may be at any. */
const char *text_at_pointer(const char *value);

/*
 * Returns a reversible copy without hidden characters or characters that act on a terminal.
 * Control, format and bidirectional characters, line separators, invisible characters and invalid
 * UTF-8 become \xNN, byte by byte, and so do the ASCII characters in `also`; a backslash is
 * doubled. The caller frees it.
 */
char *text_escape(const char *text, const char *also);
char *text_escape_bytes(const uint8_t *bytes, size_t size, const char *also);
/* The same for text made from escaped texts: backslashes are not doubled. */
char *text_escape_again(const uint8_t *bytes, size_t size, const char *also);

/* For a URL, or a name in a path: keeps RFC 3986's unreserved characters, and writes others as %NN. The
 * caller frees it. */
char *text_percent_encode(const char *text);
/* In lower case; the caller frees it. */
char *text_hex(const uint8_t *bytes, size_t size);

/* Reverses text_escape in place; false if text_escape cannot have returned the text, or the result
 * would contain a NUL. */
bool text_unescape(char *text);

/* The edit distance of two short texts: letters to change, add, remove or swap with the next one.
 * SIZE_MAX if a text has more than TEXT_DISTANCE_MAX letters. */
#define TEXT_DISTANCE_MAX 31
size_t text_distance(const char *a, const char *b);

/* Width in columns, one per code point. */
size_t text_width(const char *text);

/* A short text by value. */
struct short_text {
	char text[48];
};

/* 1234567 as "1,234,567". */
struct short_text format_count(uint64_t value);
/* "1 frame", "1,234 frames"; `noun` is short and takes an s. */
struct short_text format_plural(uint64_t count, const char *noun);
/* "12.3 MB", decimal units. */
struct short_text format_bytes(uint64_t value);
/* "1.234 s", "56.7 ms", "890 ns". */
struct short_text format_nanoseconds(uint64_t value);
/* A share in percent, two digits after the point: "12.34 %"; "-" if `whole` is 0. */
struct short_text format_share(uint64_t part, uint64_t whole);
/* The same, at most one digit after the point and no blank: "80%", "12.5%". */
struct short_text format_share_short(uint64_t part, uint64_t whole);
/* format_share without the unit: "12.34"; "0.00" if `whole` is 0. */
struct short_text format_percent(uint64_t part, uint64_t whole);
/* part / whole, two digits after the point; "0.00" if `whole` is 0. */
struct short_text format_ratio(uint64_t part, uint64_t whole);
/* A limit as it was given, in PERCENT: "0.5". */
struct short_text format_limit(uint64_t limit);
/* "2026-01-31 12:00:00 UTC" of ns since 1970. */
struct short_text format_wall_time(uint64_t nanoseconds);

/* Percentages to compare are in millionths of a percent. */
#define PERCENT UINT64_C(1000000)
/*
 * In PERCENT, rounded down, so that it is below a limit if the exact share is. 0 if `whole` is 0.
 */
uint64_t percent_of(uint64_t part, uint64_t whole);

/* A field of CSV (RFC 4180), of a text that is safe to print: quoted if necessary. */
void csv_print(const char *text, FILE *file);
/* Prints the text between the quotes. */
void csv_print_quoted(const char *text, FILE *file);

#endif
