/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces cli/session/sandbox.c on systems other than Linux. */
#include "cli/print/text.h"
#include "cli/session/sandbox.h"

bool sandbox_is_wanted(const struct options *options)
{
	return options->sandbox == SANDBOX_ON;
}

bool sandbox_enter(const struct options *options)
{
	(void)options;
	complain("--sandbox: not in this build of stackreel; remove the option to continue without");
	return false;
}

void sandbox_enter_to_fetch(const char *folder)
{
	(void)folder;
}
