/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A static program has no plugins.  libdw.a would look for libdebuginfod with glibc's dlopen when
 * the program starts, if DEBUGINFOD_URLS is set (elfutils, libdwfl/debuginfod-client.c), which
 * would load the host's shared C library, possibly of a different version. The linker replaces
 * dlopen with this function (--wrap=dlopen).
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}
