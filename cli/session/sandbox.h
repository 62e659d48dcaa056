/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process can't do any more once it reads what a stranger wrote: whoever takes the parser
 * over by a capture or by an ELF file finds a process that reads modules and writes its output.
 *
 * - Landlock (Linux 5.13): opens files to read only, where modules are looked for.
 * - seccomp: no network, no programs, no signals to others, no files to write to.
 *
 * What is open stays so: the capture, the output.  Threads that start later are in it, too.
 */
#ifndef CLI_SESSION_SANDBOX_H
#define CLI_SESSION_SANDBOX_H

#include <stdbool.h>

#include "cli/session/options.h"

/* --sandbox, or --no-sandbox, or by itself for standard input. */
bool sandbox_is_wanted(const struct options *options);
/*
 * Does what the kernel can; false, and says why, if --sandbox was given and it can't do it all.
 * Files that are opened later by the name `options->file` can be.
 */
bool sandbox_enter(const struct options *options);
/*
 * Of a process that fetches files from the network into `folder`: as far as the kernel can it
 * changes no file elsewhere, starts no program, and sends no signals.
 */
void sandbox_enter_to_fetch(const char *folder);

#endif
