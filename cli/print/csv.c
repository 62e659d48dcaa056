/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/print/csv.h"

void csv_print_quoted(const char *text, FILE *file)
{
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
}

void csv_print(const char *text, FILE *file)
{
	const char *quote = text[strcspn(text, "\",")] ? "\"" : "";

	fputs(quote, file);
	csv_print_quoted(text, file);
	fputs(quote, file);
}
