/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "cli/flamegraph/xml_text.h"
#include "cli/print/text.h"

static void print_character(int32_t point, const uint8_t *bytes, size_t length, FILE *file)
{
	switch (point) {
	case '&':
		fputs("&amp;", file);
		break;
	case '<':
		fputs("&lt;", file);
		break;
	case '>':
		fputs("&gt;", file);
		break;
	case '"':
		fputs("&quot;", file);
		break;
	/* XML 1.0 documents must not contain these two in any form (section 2.2, Char). */
	case 0xfffe:
	case 0xffff:
		for (size_t i = 0; i < length; i++)
			fprintf(file, "\\x%02x", bytes[i]);
		break;
	default:
		fwrite(bytes, 1, length, file);
	}
}

void xml_text(const char *text, size_t max, FILE *file)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t size = strlen(text), left = text_width(text) > max ? max - 1 : max;

	for (size_t i = 0; i < size && left; left--) {
		size_t length;
		int32_t point = text_decode(bytes + i, size - i, &length);

		print_character(point, bytes + i, length, file);
		i += length;
	}
	if (text_width(text) > max)
		fputs("…", file);
}
