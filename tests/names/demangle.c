/* SPDX-License-Identifier: Apache-2.0 */
/* Prints each line of standard input demangled, or unchanged: `c++filt -i' as stackreel does it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *text;

		line[strcspn(line, "\n")] = '\0';
		text = reel_demangle(line);
		puts(text ? text : line);
		free(text);
	}
	free(line);
	return 0;
}
