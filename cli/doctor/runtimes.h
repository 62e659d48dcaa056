/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that interpret others or make code while they run: how to recognise them by their files,
 * and what makes them name the functions they run. */
#ifndef CLI_DOCTOR_RUNTIMES_H
#define CLI_DOCTOR_RUNTIMES_H

#include <stddef.h>

struct runtime {
	const char *name;
	/* Prefixes of a path's last component, each not followed by a letter. */
	const char *files[3];
	/* What names the code that it makes; NULL if it makes none. */
	const char *remedy;
	/* Prefixes of functions that run the program's, and what shows these; NULL if nothing does. */
	const char *interpreters[2], *shown_by;
};

extern const struct runtime runtimes[];
#define RUNTIMES 8

/* The runtime of a module's path, below RUNTIMES; RUNTIMES if none. */
size_t runtime_of_path(const char *path);

#endif
