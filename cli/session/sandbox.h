/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restricts this process, which then reads untrusted input: an attacker who takes over the parser
 * with a capture or an ELF file gets a process that can only read modules and write its output.
 *
 * - Landlock (Linux 5.13): opens files to read only, where modules are looked for.
 * - seccomp: no network, no programs, no signals to others, no files to write to.
 *
 * Open files stay open: the capture, the output. Threads that start later are sandboxed as well.
 */
#ifndef CLI_SESSION_SANDBOX_H
#define CLI_SESSION_SANDBOX_H

#include <stdbool.h>

#include "cli/session/options.h"

/* As --sandbox or --no-sandbox asks; by default for standard input. */
bool sandbox_is_wanted(const struct options *options);
/*
 * Applies all restrictions the kernel supports. With --sandbox, reports a missing one and returns
 * false. `options->file` can still be opened by name later.
 */
bool sandbox_enter(const struct options *options);
/*
 * For a process that fetches files from the network into `folder`: as far as the kernel supports
 * it, the process cannot change other files, start programs or send signals.
 */
void sandbox_enter_to_fetch(const char *folder);

#endif
