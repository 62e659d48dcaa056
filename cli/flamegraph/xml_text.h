/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FLAMEGRAPH_XML_TEXT_H
#define CLI_FLAMEGRAPH_XML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Prints at most `max` characters of an escaped text (text_escape); if cut, the last one marks the
 * cut. */
void xml_text(const char *text, size_t max, FILE *file);

#endif
