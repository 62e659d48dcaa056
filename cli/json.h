/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written as Python's json.dumps does, so that a text comparison with tests/reel_reader.py is
 * enough. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A string in ASCII, with its quotes; a byte that is not UTF-8 is a surrogate U+DC80 to U+DCFF. */
void json_string(const uint8_t *bytes, size_t size, FILE *file);

#endif
