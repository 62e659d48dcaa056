/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that make code while they run: how they are told by their files, and how they can be
 * made to name that code. */
#ifndef CLI_DOCTOR_RUNTIMES_H
#define CLI_DOCTOR_RUNTIMES_H

#include <stddef.h>

struct runtime {
	const char *name;
	/* What the last part of a file's path begins with, each followed by no letter. */
	const char *files[3];
	const char *cure;
};

extern const struct runtime runtimes[];
#define RUNTIMES 8

/* Of a module's path: a number below RUNTIMES; RUNTIMES if it is none's. */
size_t runtime_of_path(const char *path);

#endif
