/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "include/commands.h"

const char *const *reel_label_keys(void)
{
	static const char *const keys[] = {
		"lock",	     "lock-owner",     "waker",	  "waker-tid",	 "waker-sample", "cgroup",
		"container", "container-name", "pod",	  "pod-name",	 "namespace",	 "unit",
		"arg1",	     "arg2",	       "arg3",	  "arg4",	 "arg5",	 "arg6",
		"trace",     "span",	       "service", "environment", NULL,
	};

	return keys;
}
