/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written as Python's json.dumps does, so that a text comparison with
 * tests/reader/reel_reader.py is enough: in ASCII, and valid for parsers that reject unpaired
 * surrogates.
 */
#ifndef CLI_PRINT_JSON_H
#define CLI_PRINT_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A string with its quotes. Its value is the text, except that an invalid UTF-8 byte is \xNN (four
 * characters) and a backslash is doubled, so that the bytes can be recovered.
 */
void json_string(const uint8_t *bytes, size_t size, FILE *file);
/*
 * The same for text made from escaped texts (text_escape): backslashes are not doubled in the
 * value.
 */
void json_escaped(const uint8_t *bytes, size_t size, FILE *file);
/* The same, up to its NUL. */
void json_escaped_text(const char *text, FILE *file);

#endif
