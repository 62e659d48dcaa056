/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces cli/push/ in builds without libcurl. */
#include <stddef.h>

#include "cli/print/output.h"
#include "cli/push/push.h"

bool push_is_possible(void)
{
	complain("stackreel was built without libcurl and cannot push profiles; export to a file "
		 "and send it");
	return false;
}

bool push_parse(const char *text, struct push *ret)
{
	(void)text;
	ret->server = NULL;
	return true;
}

bool push_profile(const struct push *push, int fd, uint64_t from, uint64_t until)
{
	(void)push;
	(void)fd;
	(void)from;
	(void)until;
	return push_is_possible();
}
