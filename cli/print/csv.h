/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of CSV (RFC 4180), of texts that are safe to print. */
#ifndef CLI_PRINT_CSV_H
#define CLI_PRINT_CSV_H

#include <stdio.h>

/* Quotes the field if necessary. */
void csv_print(const char *text, FILE *file);
/* Prints the text between the quotes. */
void csv_print_quoted(const char *text, FILE *file);

#endif
