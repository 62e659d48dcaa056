/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that make code while they run: how to recognise them by their files, and how to make
 * them name that code. */
#ifndef CLI_DOCTOR_RUNTIMES_H
#define CLI_DOCTOR_RUNTIMES_H

#include <stddef.h>

struct runtime {
	const char *name;
	/* Prefixes of a path's last component, each not followed by a letter. */
	const char *files[3];
	const char *remedy;
};

extern const struct runtime runtimes[];
#define RUNTIMES 8

/* The runtime of a module's path, below RUNTIMES; RUNTIMES if none. */
size_t runtime_of_path(const char *path);

#endif
