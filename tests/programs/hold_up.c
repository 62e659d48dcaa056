/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_up HOW FUSE FOLDER [PROGRAM]: attacks that an unprivileged user can make on a reader of his
 * processes: mounts a file system on FOLDER (in his own user namespace, except for `file') by the
 * device FUSE, whose server stops answering, and has processes wait for it.
 *
 *   flush  execs with an open file on it: the exec waits while it holds what /proc/PID/maps needs
 *          (fs/exec.c: exec_update_lock; fs/fuse/file.c: fuse_flush)
 *   write  maps over a page that has to be written back, and holds the lock of its mappings
 *   vdso   runs PROGRAM (forge_vdso, 32 bits) repeatedly, with a file on it in the vDSO's place
 *   stack  has a stack that is a mapping of a file on it, of which only the lower half was read
 *   file   root's file system, open to all: repeatedly maps a file on it, which nobody
 *          else can open
 *
 * Prints the pid of the waiting process, or its own; ends on SIGTERM or after 30 s, and ends all
 * waiting.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOBODY	  65534
#define FILE_NODE 2
#define FILE_SIZE 65536
#define REQUEST	  (128 << 10)
#define LIFE	  30 /* s */

static int device;
static uint32_t held;  /* the opcode to leave unanswered */
static bool to_others; /* ... of processes other than our own */
static bool as_root;
static volatile pid_t child; /* our process that asks */
static const char *program;

static void die(const char *what)
{
	fprintf(stderr, "hold_up: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the server ------------------------------------------------------------------------- */

static void answer(const struct fuse_in_header *request, int error, const void *bytes, size_t size)
{
	static uint8_t packet[sizeof(struct fuse_out_header) + FILE_SIZE];
	struct fuse_out_header header = { sizeof(header) + (uint32_t)size, error, request->unique };

	memcpy(packet, &header, sizeof(header));
	if (size)
		memcpy(packet + sizeof(header), bytes, size);
	/* The request may have been interrupted. */
	if (write(device, packet, header.len) < 0 && errno != ENOENT)
		die("writing to FUSE");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .blksize = 4096 };

	attr.mode = node == FILE_NODE ? S_IFREG | 0777 : S_IFDIR | 0777;
	attr.size = node == FILE_NODE ? FILE_SIZE : 4096;
	return attr;
}

static void serve(const struct fuse_in_header *request)
{
	static const uint8_t zeros[FILE_SIZE];
	const void *body = request + 1;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_readahead = 4096,
				      .max_write = 65536,
				      .max_background = 12,
				      .congestion_threshold = 9 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };
	struct fuse_attr_out attr = { .attr = attributes(request->nodeid) };
	struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_write_out written = { .size = ((const struct fuse_write_in *)body)->size };
	uint32_t wanted = ((const struct fuse_read_in *)body)->size;

	if (request->opcode == held &&
	    !(to_others && ((pid_t)request->pid == child || (pid_t)request->pid == getpid())))
		return;
	switch (request->opcode) {
	case FUSE_INIT:
		answer(request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(request, strcmp(body, "file") ? -ENOENT : 0, &entry,
		       strcmp(body, "file") ? 0 : sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(request, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		answer(request, 0, &fs, sizeof(fs));
		break;
	case FUSE_OPEN:
		answer(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer(request, 0, zeros, wanted < FILE_SIZE ? wanted : FILE_SIZE);
		break;
	case FUSE_WRITE:
		answer(request, 0, &written, sizeof(written));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(request, 0, NULL, 0);
		break;
	default:
		answer(request, -ENOSYS, NULL, 0);
	}
}

static void *run_server(void *unused)
{
	static uint64_t request[REQUEST / 8];

	for (;;) {
		ssize_t n = read(device, request, sizeof(request));

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			return NULL;
		serve((const struct fuse_in_header *)request);
	}
}

/* ---- the file system --------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* Drops the rights that not every user has. */
static void become_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		die("becoming nobody");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		die("unshare");
	/* Without it /proc/self belongs to root (fs/proc/base.c, task_dump_owner). */
	prctl(PR_SET_DUMPABLE, 1);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", "0 65534 1");
	write_file("/proc/self/gid_map", "0 65534 1");
}

static void mount_it(const char *fuse, const char *folder, const char *more)
{
	char options[128];

	device = open(fuse, O_RDWR | O_CLOEXEC);
	if (device < 0)
		die(fuse);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", device,
		 more);
	if (mount("hold_up", folder, "fuse.hold_up", MS_NOSUID | MS_NODEV, options))
		die("mount");
}

/* ---- processes that wait for it ---------------------------------------------------------- */

static int open_file(const char *folder)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/file", folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void flush(const char *folder)
{
	open_file(folder);
	execl("/proc/self/exe", "hold_up", "nothing", NULL);
	die("exec");
}

static void write_back(const char *folder)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open_file(folder), 0);

	if (page == MAP_FAILED)
		die("mmap");
	page[0] = 1;
	mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	wait_for_ever();
}

static void vdso(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/file", folder);
	execl(program, program, path, NULL);
	die(program);
}

static void stack(const char *folder)
{
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp =
		mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, open_file(folder), 0);
	context.uc_stack.ss_size = FILE_SIZE / 2;
	if (context.uc_stack.ss_sp == MAP_FAILED)
		die("mmap");
	makecontext(&context, wait_for_ever, 0);
	setcontext(&context);
	die("setcontext");
}

static void map_file(const char *folder)
{
	int fd = open_file(folder);

	for (int i = 0; i < 20; i++) {
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			die("mmap");
		/* Recorders only inspect sampled processes. */
		for (clock_t end = clock() + CLOCKS_PER_SEC / 100; clock() < end;)
			;
		usleep(40000);
	}
	exit(0);
}

static pid_t start(void (*run)(const char *folder), const char *folder)
{
	pid_t recorder = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		exit(1);
	/* When the server closes the device, all waiting processes get an error. */
	close(device);
	run(folder);
	exit(1);
}

static void end(int signal)
{
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *how;
		uint32_t held;
		void (*run)(const char *folder);
		bool again;
	} hows[] = {
		{ "flush", FUSE_FLUSH, flush, false }, { "write", FUSE_WRITE, write_back, false },
		{ "vdso", FUSE_READ, vdso, true },     { "stack", FUSE_READ, stack, false },
		{ "file", FUSE_OPEN, map_file, true },
	};
	pthread_t server;
	size_t i = 0;

	while (argc >= 4 && i < sizeof(hows) / sizeof(*hows) && strcmp(argv[1], hows[i].how))
		i++;
	if (argc < 4 || i == sizeof(hows) / sizeof(*hows)) {
		fprintf(stderr,
			"usage: hold_up flush|write|vdso|stack|file FUSE FOLDER [PROGRAM]\n");
		return 2;
	}
	program = argc > 4 ? argv[4] : "forge_vdso";
	held = hows[i].held;
	as_root = !strcmp(argv[1], "file");
	to_others = as_root || !strcmp(argv[1], "stack");
	if (!as_root)
		become_nobody();
	mount_it(argv[2], argv[3], as_root ? ",allow_other" : "");
	signal(SIGTERM, end);
	/* Since ps and others wait as well, this must not outlive a killed test. */
	signal(SIGALRM, end);
	alarm(LIFE);
	if (pthread_create(&server, NULL, run_server, NULL))
		die("pthread_create");
	for (bool is_first = true;; is_first = false) {
		pid_t pid = child = start(hows[i].run, argv[3]);

		if (is_first)
			printf("%d\n", hows[i].again ? (int)getpid() : (int)pid);
		fflush(stdout);
		if (!hows[i].again)
			break;
		usleep(50000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (as_root)
			waitpid(pid, NULL, 0);
	}
	wait_for_ever();
	return 0;
}
