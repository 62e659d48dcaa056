/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "timeline/module_kind.h"

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

enum reel_module_kind reel_module_kind_of_name(const char *name)
{
	static const char *const anonymous[] = {
		"//anon",  "[heap",	"[stack", "[anon:",	    "[anon_shmem:",
		"/memfd:", "/dev/zero", "/SYSV",  "/anon_hugepage", "/dev/shm/",
	};

	if (!strcmp(name, "[vdso]"))
		return REEL_MODULE_VDSO;
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++) {
		if (starts_with(name, anonymous[i]))
			return REEL_MODULE_ANONYMOUS;
	}
	return name[0] == '/' ? REEL_MODULE_FILE : REEL_MODULE_SPECIAL;
}
