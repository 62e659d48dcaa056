/* SPDX-License-Identifier: Apache-2.0 */
/* memfd PROGRAM ARGUMENT...: runs a copy of the program that is in no file system. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv, char **environment)
{
	int from = open(argc > 1 ? argv[1] : "", O_RDONLY),
	    to = memfd_create("program", MFD_CLOEXEC);
	struct stat file;

	if (from < 0 || to < 0 || fstat(from, &file) ||
	    sendfile(to, from, NULL, (size_t)file.st_size) != file.st_size ||
	    fexecve(to, argv + 1, environment))
		perror("memfd");
	return 1;
}
