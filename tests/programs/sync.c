/* SPDX-License-Identifier: Apache-2.0 */
/* sync FILE SECONDS: writes 64 kB to the file and waits for the disk, again and again. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[65536] = "x";
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);

	while (fd >= 0 && time(NULL) < end) {
		if (pwrite(fd, block, sizeof(block), rand() % 256 * 65536L) < 0 || fdatasync(fd))
			return 1;
	}
	return fd < 0;
}
