/* SPDX-License-Identifier: Apache-2.0 */
/* What an attacker who has taken over the parser cannot do: cli/session/sandbox.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "cli/session/sandbox.h"
#include "tests/support/confined.h"
#include "tests/support/test.h"

static char folder[] = "/var/tmp/stackreel-sandbox-XXXXXX";
static char inside[64], outside[64], capture[64];
static int output; /* opened before */

static void *in_thread(void *context)
{
	refused(open(outside, O_WRONLY));
	return context;
}

static void try_writing(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/symfs/new", folder);
	refused(open(path, O_WRONLY | O_CREAT, 0600));
	refused(open(inside, O_WRONLY));
	refused(open(inside, O_RDWR));
	refused(open(inside, O_RDONLY | O_TRUNC));
	refused(open(outside, O_WRONLY | O_APPEND));
	refused(open(folder, O_TMPFILE | O_RDWR, 0600));
	refused(mkdir(path, 0700));
	refused(symlink(inside, path));
	refused(link(inside, path));
	refused(rename(inside, path));
	refused(unlink(inside));
	refused(chmod(inside, 0666));
	refused(truncate(inside, 0));
}

static void try_everything(void)
{
	char *arguments[] = { (char *)"/bin/true", NULL };
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit limit = { 0 };
	int pair[2], memory = memfd_create("x", 0);

	try_writing();
	/* Kernel modules are copied to that folder; it must not be a way to run code. */
	check(memory >= 0);
	check(write(memory, "#!/bin/sh\n", 10) == 10);
	refused(fexecve(memory, arguments, arguments + 1));
	refused(execv(arguments[0], arguments));
	refused(fork());
	refused(socket(AF_INET, SOCK_STREAM, 0));
	refused(socket(AF_UNIX, SOCK_STREAM, 0));
	refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	refused(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
	refused(kill(parent, SIGTERM));
	refused(setrlimit(RLIMIT_CORE, &limit));
	refused(mount("none", folder, "tmpfs", 0, NULL));
	refused(chroot(folder));
	refused(unshare(CLONE_NEWUSER));
	refused(ioctl(0, TIOCSTI, "x"));
	check(page != MAP_FAILED);
	refused(mprotect(page, 1, PROT_READ | PROT_EXEC));
}

/* The work of the sandbox itself must still be possible. */
static void use_what_is_left(void)
{
	pthread_t thread;
	char byte;
	int fd = open(inside, O_RDONLY);

	check(fd >= 0);
	check(read(fd, &byte, 1) == 1);
	check(open(capture, O_RDONLY) >= 0);
	check(write(output, "x", 1) == 1);
	check(!pthread_create(&thread, NULL, in_thread, NULL));
	check(!pthread_join(thread, NULL));
}

static void enter(const struct options *options)
{
	if (!sandbox_enter(options))
		_exit(CONFINED_SKIP);
}

static void with_symfs_alone(void)
{
	char symfs[64];
	struct options options = {
		.file = capture,
		.sandbox = SANDBOX_ON,
		.no_host_files = true,
	};

	snprintf(symfs, sizeof(symfs), "%s/symfs", folder);
	string_list_add(&options.symfs, symfs);
	enter(&options);
	try_everything();
	use_what_is_left();
	refused(open(outside, O_RDONLY));
	refused(open("/etc/passwd", O_RDONLY));
	refused(open("/bin/sh", O_RDONLY));
}

static void with_host_files(void)
{
	struct options options = { .file = capture, .sandbox = SANDBOX_ON };

	enter(&options);
	try_everything();
	use_what_is_left();
	check(open("/bin/sh", O_RDONLY) >= 0);
	refused(open("/etc/passwd", O_RDONLY));
	refused(open("/proc/self/environ", O_RDONLY));
	refused(open("/dev/null", O_RDONLY));
	refused(open("/sys/kernel/notes", O_RDONLY));
}

static const char lacks[] = "this kernel has no Landlock or no seccomp filters";

TEST(only_symfs_is_read)
{
	in_process(with_symfs_alone, lacks);
}

TEST(host_files_are_read)
{
	in_process(with_host_files, lacks);
}

TEST(standard_input_is_a_strangers)
{
	struct options options = { .file = "-" };

	/* A command without such an option creates files. */
	assert_false(sandbox_is_wanted(&options));
	options.sandbox = SANDBOX_BY_INPUT;
	assert_true(sandbox_is_wanted(&options));
	options.file = "a.reel";
	assert_false(sandbox_is_wanted(&options));
	options.sandbox = SANDBOX_ON;
	assert_true(sandbox_is_wanted(&options));
	options_free(&options);
}

static bool make_file(char path[64], const char *name)
{
	int fd;

	snprintf(path, 64, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return fd >= 0 && write(fd, "x", 1) == 1 && !close(fd);
}

static int make_folder(void **state)
{
	char symfs[64];

	if (!mkdtemp(folder))
		return -1;
	snprintf(symfs, sizeof(symfs), "%s/symfs", folder);
	if (mkdir(symfs, 0700) || !make_file(inside, "symfs/inside") ||
	    !make_file(outside, "outside") || !make_file(capture, "capture"))
		return -1;
	output = open(outside, O_WRONLY);
	return output < 0;
}

static int remove_folder(void **state)
{
	char symfs[64];

	close(output);
	unlink(inside);
	unlink(outside);
	unlink(capture);
	snprintf(symfs, sizeof(symfs), "%s/symfs", folder);
	return rmdir(symfs) || rmdir(folder);
}

RUN_TESTS_WITH(make_folder, remove_folder)
