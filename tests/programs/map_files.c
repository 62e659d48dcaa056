/* SPDX-License-Identifier: Apache-2.0 */
/* map_files FILE...: maps an executable page of each, repeatedly, until it is killed. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fds[64];

	for (int i = 1; i < argc && i < 64; i++) {
		fds[i] = open(argv[i], O_RDONLY | O_NONBLOCK);
		if (fds[i] < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	for (;; usleep(50000)) {
		for (int i = 1; i < argc && i < 64; i++) {
			void *page =
				mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fds[i], 0);

			if (page == MAP_FAILED) {
				perror(argv[i]);
				return 1;
			}
			munmap(page, 4096);
			/* One mapping stays, for recorders that start later. */
			mmap((void *)(0x100000000L * i), 4096, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED, fds[i], 0);
		}
		printf(".");
		fflush(stdout);
	}
}
