/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/print/memory.h"
#include "cli/session/debuginfod_cache.h"

static bool is_folder(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* As in elfutils' client (debuginfod_find_debuginfo(3), CACHE). */
char *debuginfod_cache_path(void)
{
	const char *named = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *xdg = getenv("XDG_CACHE_HOME");
	char *old;

	if (named && *named)
		return memory_print("%s", named);
	if (home && *home) {
		old = memory_print("%s/.debuginfod_client_cache", home);
		if (is_folder(old))
			return old;
		free(old);
	}
	if (xdg && *xdg)
		return memory_print("%s/debuginfod_client", xdg);
	return home && *home ? memory_print("%s/.cache/debuginfod_client", home) : NULL;
}

bool debuginfod_cache_make(const char *path)
{
	_cleanup_free_ char *part = memory_print("%s", path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0700);
		*slash = '/';
	}
	mkdir(part, 0700);
	return is_folder(path);
}
