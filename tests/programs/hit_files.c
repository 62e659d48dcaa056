/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_files FILE...: maps 16 executable pages of each, from the second on, and keeps changing
 * addresses in them on its stack until it is killed. It does not run code from the files.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define SIZE	  65536u
#define WORDS	  4096
#define FILES_MAX 64

static volatile uint64_t sink;

int main(int argc, char **argv)
{
	volatile uint64_t words[WORDS];
	uint64_t files[FILES_MAX];
	uint64_t n = 0, turn = 0;

	for (int i = 1; i < argc && n < FILES_MAX; i++) {
		int fd = open(argv[i], O_RDONLY);
		void *code = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);

		if (fd < 0 || code == MAP_FAILED) {
			perror(argv[i]);
			return 1;
		}
		files[n++] = (uint64_t)(uintptr_t)code;
	}
	if (!n)
		return 1;
	for (;; turn++) {
		for (uint64_t i = 0; i < WORDS; i++)
			words[i] = files[(turn + i) % n] + 2 * (turn * WORDS + i) / n % SIZE;
		for (unsigned j = 0; j < 100000; j++)
			sink += words[j % WORDS];
	}
}
