/* SPDX-License-Identifier: Apache-2.0 */
/* --config: options from a file, one per line. */
#ifndef RECORD_OPTIONS_CONFIG_H
#define RECORD_OPTIONS_CONFIG_H

#include <argp.h>

/*
 * Parses each line, "option", "option value" or "option = value", as that option of `argp`, whose
 * parser gets `input`.  Ends the program with a message of file and line if one is invalid.
 * `keep` takes over texts that the options may refer to.
 */
void reel_config_parse(const char *path, const struct argp *argp, void *input,
		       void (*keep)(void *input, char *text));

#endif
