/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/export/rendered.h"
#include "cli/print/text.h"

const char *rendered_text(struct rendered *rendered, const void *key)
{
	char *text = pointer_map_get(&rendered->texts, key);
	FILE *file;
	size_t size;

	if (text)
		return text;
	file = open_memstream(&text, &size);
	memory_check(file);
	rendered->render(key, file);
	fclose(file);
	memory_check(text);
	pointer_map_put(&rendered->texts, key, text);
	return text;
}

void rendered_clear(struct rendered *rendered)
{
	for (size_t i = 0; i < rendered->texts.n_slots; i++)
		free(rendered->texts.slots[i].value);
	pointer_map_free(&rendered->texts);
}
