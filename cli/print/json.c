/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/print/json.h"
#include "cli/print/text.h"

static void json_unit(unsigned int unit, FILE *file)
{
	fprintf(file, "\\u%04x", unit);
}

static void json_character(int32_t point, FILE *file)
{
	static const char escaped[] = "\"\b\f\n\r\t", names[] = "\"bfnrt";

	for (size_t i = 0; escaped[i]; i++) {
		if (point == escaped[i]) {
			fputc('\\', file);
			fputc(names[i], file);
			return;
		}
	}
	if (point >= ' ' && point <= '~') {
		fputc(point, file);
	} else if (point >= 0x10000) {
		json_unit(0xd800 + ((unsigned int)(point - 0x10000) >> 10), file);
		json_unit(0xdc00 + ((unsigned int)point & 0x3ff), file);
	} else {
		json_unit((unsigned int)point, file);
	}
}

/* Each backslash of the value becomes two in JSON. */
static void print_string(const uint8_t *bytes, size_t size, const char *backslash, FILE *file)
{
	fputc('"', file);
	for (size_t i = 0; i < size;) {
		size_t length;
		int32_t point = text_decode(bytes + i, size - i, &length);

		if (point < 0)
			fprintf(file, "\\\\x%02x", bytes[i]);
		else if (point == '\\')
			fputs(backslash, file);
		else
			json_character(point, file);
		i += length;
	}
	fputc('"', file);
}

void json_string(const uint8_t *bytes, size_t size, FILE *file)
{
	print_string(bytes, size, "\\\\\\\\", file);
}

void json_escaped(const uint8_t *bytes, size_t size, FILE *file)
{
	print_string(bytes, size, "\\\\", file);
}

void json_escaped_text(const char *text, FILE *file)
{
	json_escaped((const uint8_t *)text, strlen(text), file);
}
