/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FLAMEGRAPH_XML_TEXT_H
#define CLI_FLAMEGRAPH_XML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* An escaped text (text_escape), of which no more than `max` characters: then the last one tells
 * that something is missing. */
void xml_text(const char *text, size_t max, FILE *file);

#endif
