/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stuck userfaultfd: a thread sleeps on a stack of which a page is gone: whoever reads it waits for
 * this process to provide the page, which it does not.  Prints a line when the thread sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_SIZE (1 << 20)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *sleeper(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	char *stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_attr_t attributes;
	pthread_t thread;

	if (argc != 2 || strcmp(argv[1], "userfaultfd") != 0 || stack == MAP_FAILED) {
		fprintf(stderr, "usage: stuck userfaultfd\n");
		return 2;
	}
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		die("userfaultfd");
	/* Enough for the thread to begin to sleep. */
	memset(stack + STACK_SIZE - 16384 * 2, 0, 16384 * 2);
	missing.range.start = (uintptr_t)stack;
	missing.range.len = STACK_SIZE;
	if (ioctl(fd, UFFDIO_REGISTER, &missing))
		die("UFFDIO_REGISTER");
	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, STACK_SIZE))
		die("pthread_attr_setstack");
	if (pthread_create(&thread, &attributes, sleeper, NULL))
		die("pthread_create");
	sleep(1);
	/* The page with the thread's root is missing from now on. */
	if (madvise(stack + STACK_SIZE - 4096, 4096, MADV_DONTNEED))
		die("madvise");
	printf("sleeps\n");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
