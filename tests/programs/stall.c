/* SPDX-License-Identifier: Apache-2.0 */
/* For each line of its input, stalls for half a second, then writes when that began and ended to the file that the
 * line names. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static void stall(void)
{
	usleep(500000);
	__asm__ volatile("");
}

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin = now();
		FILE *file;

		stall();
		line[strcspn(line, "\n")] = 0;
		file = fopen(line, "w");
		if (!file)
			return 1;
		fprintf(file, "%llu %llu\n", (unsigned long long)begin, (unsigned long long)now());
		fclose(file);
	}
	return 0;
}
