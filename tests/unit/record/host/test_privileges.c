/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of the recorder cannot do, tried as an attacker who controls it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/bytes.h"
#include "record/host/privileges.h"
#include "tests/support/capture.h"
#include "tests/support/confined.h"
#include "tests/support/test.h"

#define BIT(number) (UINT64_C(1) << (number))

static char folder[] = "/tmp/stackreel-privileges-XXXXXX";
static struct reel_output_place place;
static int old_file; /* opened for writing */

static uint64_t status_number(const char *key, int base)
{
	char text[4096];
	int fd = open("/proc/thread-self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *at;

	close(fd);
	check(n > 0);
	text[n] = '\0';
	at = strstr(text, key);
	check(at);
	return strtoull(at + strlen(key), NULL, base);
}

/* No role may do this. */
static void try_everything(void)
{
	char *arguments[] = { (char *)"/bin/true", NULL };
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event) };
	union bpf_attr program = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER };
	char path[64];
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED);
	snprintf(path, sizeof(path), "%s/old", folder);
	refused(open(path, O_WRONLY));
	refused(open(path, O_RDWR));
	refused(open(path, O_RDONLY | O_TRUNC));
	refused(open(folder, O_TMPFILE | O_RDWR, 0600));
	refused(syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/core_pattern", O_WRONLY));
	refused(unlink(path));
	refused(rename(path, folder));
	refused(chmod(path, 0666));
	refused(truncate(path, 0));
	refused(symlink(path, "/tmp/x"));
	refused(mkdir("/tmp/stackreel-privileges", 0700));
	refused(execv(arguments[0], arguments));
	refused(fork());
	refused(socket(AF_INET, SOCK_STREAM, 0));
	refused(socket(AF_UNIX, SOCK_STREAM, 0));
	refused(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
	refused(mount("none", folder, "tmpfs", 0, NULL));
	refused(chroot(folder));
	refused(setuid(0));
	refused(syscall(SYS_setns, 0, 0));
	refused(unshare(0));
	refused(kill(parent, SIGTERM));
	/* The kernel would send the signal. */
	refused(fcntl(0, F_SETOWN, parent));
	refused(fcntl(0, F_SETSIG, SIGKILL));
	refused(fcntl(0, F_SETFL, O_ASYNC));
	refused(fcntl(0, F_NOTIFY, DN_ACCESS));
	refused(fcntl(0, F_SETLEASE, F_RDLCK));
	refused(ioctl(0, TIOCSTI, "x"));
	refused(syscall(SYS_bpf, BPF_PROG_LOAD, &program, sizeof(program)));
	refused(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
	refused(syscall(SYS_init_module, NULL, 0, ""));
	refused(mprotect(page, 1, PROT_READ | PROT_EXEC));
}

static void check_status(uint64_t capabilities)
{
	check(status_number("NoNewPrivs:\t", 10) == 1);
	check(status_number("Seccomp:\t", 10) == 2);
	check(status_number("CapAmb:\t", 16) == 0);
	check(status_number("CapInh:\t", 16) == 0);
	if (!geteuid()) {
		check(status_number("CapBnd:\t", 16) == 0);
		/* Debian's kernels require it for events of whole CPUs. */
		check((status_number("CapEff:\t", 16) & ~BIT(CAP_SYS_ADMIN)) == capabilities);
		check((status_number("CapPrm:\t", 16) & ~BIT(CAP_SYS_ADMIN)) == capabilities);
	}
}

static const uint64_t of_main =
	BIT(CAP_PERFMON) | BIT(CAP_BPF) | BIT(CAP_IPC_LOCK) | BIT(CAP_SYSLOG);
static const uint64_t of_reader =
	BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE);

static void drop(const struct reel_privileges *privileges)
{
	const char *lacks;

	must(reel_privileges_drop(privileges, &lacks));
	if (lacks)
		_exit(CONFINED_SKIP);
}

static void as_main(void)
{
	char path[64];

	drop(&(struct reel_privileges){ .roles = REEL_ROLE_MAIN });
	check_status(of_main);
	try_everything();
	snprintf(path, sizeof(path), "%s/new", folder);
	refused(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
	/* The remaining capabilities. */
	check(open("/proc/kallsyms", O_RDONLY) >= 0);
	check(!kill(parent, 0));
	check(write(old_file, "more", 4) == 4);
}

static void as_reader(void)
{
	drop(&(struct reel_privileges){ .roles = REEL_ROLE_READER });
	check_status(of_reader);
	try_everything();
	refused(kill(parent, 0));
	check(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, NULL, 0) == -1 && errno == ENOSYS);
	check(open("/proc/self/maps", O_RDONLY) >= 0);
}

static void as_writer(void)
{
	int status = open("/proc/thread-self/status", O_RDONLY);
	char text[4096];
	ssize_t n;

	drop(&(struct reel_privileges){ .roles = REEL_ROLE_WRITER });
	n = read(status, text, sizeof(text) - 1);
	check(n > 0);
	text[n] = '\0';
	check(strstr(text, "CapPrm:\t0000000000000000"));
	check(strstr(text, "CapEff:\t0000000000000000"));
	check(strstr(text, "NoNewPrivs:\t1"));
	check(strstr(text, "Seccomp:\t2"));
	try_everything();
	refused(open("/proc/self/maps", O_RDONLY));
	refused(kill(parent, 0));
	check(write(old_file, "more", 4) == 4);
	check(!ftruncate(old_file, 1));
}

static void with_parts(void)
{
	char path[64];
	int fd;

	drop(&(struct reel_privileges){ .roles = REEL_ROLE_MAIN | REEL_ROLE_READER,
					.parts = &place });
	check_status(of_main | of_reader);
	try_everything();
	fd = reel_output_place_create(&place, "part");
	check(fd >= 0);
	check(reel_output_place_create(&place, "part") == -1 && errno == EEXIST);
	check(!unlinkat(place.folder, "part", 0));
	snprintf(path, sizeof(path), "%s/new", folder);
	refused(open(path, O_WRONLY | O_CREAT, 0600));
	refused(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
}

/* In a folder that only its owner can write to. */
static void with_parts_of_another(void)
{
	check(!fchownat(place.folder, "", 65534, 65534, AT_EMPTY_PATH));
	drop(&(struct reel_privileges){ .roles = REEL_ROLE_MAIN, .parts = &place });
	check_status(of_main | BIT(CAP_DAC_OVERRIDE));
	check(reel_output_place_create(&place, "part") >= 0);
	check(!unlinkat(place.folder, "part", 0));
}

static pid_t victim;

static void with_command(void)
{
	drop(&(struct reel_privileges){ .roles = REEL_ROLE_MAIN, .command = victim });
	check_status(of_main | BIT(CAP_KILL));
	refused(kill(parent, SIGTERM));
	check(!kill(victim, SIGTERM));
}

static const char lacks[] = "no seccomp filters here";

TEST(main_can_only_take)
{
	in_process(as_main, lacks);
}

TEST(reader_can_only_read)
{
	in_process(as_reader, lacks);
}

TEST(writer_can_only_write)
{
	in_process(as_writer, lacks);
}

TEST(parts_are_new_files)
{
	in_process(with_parts, lacks);
	if (geteuid()) {
		print_message("not root: cannot create another user's folder\n");
		skip();
	}
	in_process(with_parts_of_another, lacks);
}

/* It now belongs to another user. */
TEST(command_can_be_ended)
{
	int status, fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);
	victim = fork();
	if (!victim) {
		if (!geteuid() && setuid(65534))
			_exit(1);
		if (write(fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	in_process(with_command, lacks);
	assert_int_equal(waitpid(victim, &status, 0), victim);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static int make_folder(void **state)
{
	char path[64];

	if (!mkdtemp(folder) || chmod(folder, 0755))
		return -1;
	snprintf(path, sizeof(path), "%s/old", folder);
	old_file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	snprintf(path, sizeof(path), "%s/part", folder);
	must(reel_output_place_open_folder(path, &place));
	return old_file < 0;
}

static int remove_folder(void **state)
{
	unlinkat(place.folder, "old", 0);
	reel_output_place_close(&place);
	close(old_file);
	return rmdir(folder);
}

RUN_TESTS_WITH(make_folder, remove_folder)
