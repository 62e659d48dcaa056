/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that read the memory of their own process as the recorder's helper reads others'. */
#ifndef TESTS_SUPPORT_OWN_MEMORY_H
#define TESTS_SUPPORT_OWN_MEMORY_H

#include <sys/uio.h>

#include "tests/support/test.h"

/* An emulator's process has other addresses. */
static inline void needs_own_memory(void)
{
	uint64_t value = 0x1122, found = 0;
	const struct iovec local = { &found, sizeof(found) }, remote = { &value, sizeof(value) };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof(value) ||
	    found != value) {
		print_message("skip: process_vm_readv does not read this process\n");
		skip();
	}
}

#endif
