/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_jvm MODE LIBJVM: poses as a JVM that runs code of its own making, and prints "SIGQUIT" when
 * it gets that.
 *
 *   silent      listens where a JVM does, and never answers
 *   deaf        does not listen
 *   uncaught    would be killed by SIGQUIT
 *   data        has its libjvm.so mapped, but not as code
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#if defined(__x86_64__)
static const unsigned char loop[] = { 0xeb, 0xfe };
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x00, 0x00, 0x14 };
#else
static const unsigned char loop[1];
#endif

static void told(int signal)
{
	if (write(1, "SIGQUIT\n", 8) < 0)
		_exit(1);
}

static int listen_as_jvm(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.java_pid%d", getpid());
	return fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 5);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	int library = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (library < 0 || sizeof(loop) == 1 || code == MAP_FAILED ||
	    mmap(NULL, 4096, strcmp(mode, "data") ? PROT_READ | PROT_EXEC : PROT_READ, MAP_PRIVATE,
		 library, 0) == MAP_FAILED)
		return 2;
	if (!strcmp(mode, "silent") && listen_as_jvm())
		return 2;
	if (strcmp(mode, "uncaught"))
		signal(SIGQUIT, told);
	memcpy(code, loop, sizeof(loop));
	__builtin___clear_cache(code, (char *)code + sizeof(loop));
	if (write(1, "ready\n", 6) < 0)
		return 1;
	alarm(300);
	((void (*)(void))code)();
	return 0;
}
