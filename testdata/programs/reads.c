/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads 64 bytes of a file, ROUNDS times, always by the same functions: the callers of the kernel
 * functions that this enters are known.
 *   reads FILE ROUNDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sum;

/* Each continues after its call: none is a tail call. */
__attribute__((noinline)) static void innermost(int fd)
{
	char bytes[64];

	sum += read(fd, bytes, sizeof(bytes));
}

__attribute__((noinline)) static void middle(int fd)
{
	innermost(fd);
	sum++;
}

__attribute__((noinline)) static void outermost(int fd)
{
	middle(fd);
	sum++;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0) {
		perror(argc == 3 ? argv[1] : "reads FILE ROUNDS");
		return 1;
	}
	for (long i = atol(argv[2]); i > 0; i--)
		outermost(fd);
	return 0;
}
