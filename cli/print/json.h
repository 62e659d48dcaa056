/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written as Python's json.dumps does, so that a text comparison with tests/reel_reader.py is
 * enough: in ASCII, and valid for parsers that refuse surrogates without their other half. */
#ifndef CLI_PRINT_JSON_H
#define CLI_PRINT_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A string with its quotes.  Its value is the text, but that a byte which is not UTF-8 is \xNN
 * (four characters), and a backslash is two: so the bytes can be told from it.
 */
void json_string(const uint8_t *bytes, size_t size, FILE *file);
/* The same of what was made of escaped texts (text_escape): a backslash of the value stays one. */
void json_escaped(const uint8_t *bytes, size_t size, FILE *file);
/* The same, up to its NUL. */
void json_escaped_text(const char *text, FILE *file);

#endif
