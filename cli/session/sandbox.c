/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "cli/print/output.h"
#include "cli/session/sandbox.h"
#include "cli/print/text.h"

bool sandbox_is_wanted(const struct options *options)
{
	if (options->sandbox == SANDBOX_BY_INPUT)
		return !strcmp(options->file, "-");
	return options->sandbox == SANDBOX_ON;
}

/* ---- files ------------------------------------------------------------------------------ */

/* include/uapi/linux/landlock.h of Linux 6.12; older headers miss some fields. */
struct ruleset {
	uint64_t files, network, scopes;
};

/*
 * The file rights that each Landlock version added: a ruleset may only name rights the kernel
 * knows.
 */
static const struct {
	int version;
	struct ruleset added;
} versions[] = {
	{ 1, { .files = (UINT64_C(1) << 13) - 1 } },
	{ 2, { .files = UINT64_C(1) << 13 } }, /* links and renames between folders */
	{ 3, { .files = UINT64_C(1) << 14 } }, /* truncate */
	{ 4, { .network = 3 } },	       /* TCP: bind, connect */
	{ 5, { .files = UINT64_C(1) << 15 } }, /* ioctl of devices */
	{ 6, { .scopes = 3 } },		       /* abstract sockets, signals */
};

/* Reduces *handled to the rights this kernel knows. Returns -1 if it has no Landlock, or Landlock
 * is disabled. */
static int create_ruleset(struct ruleset *handled)
{
	int version =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset ruleset = { 0 };

	if (version < 1)
		return -1;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (versions[i].version > version)
			break;
		ruleset.files |= versions[i].added.files & handled->files;
		ruleset.network |= versions[i].added.network & handled->network;
		ruleset.scopes |= versions[i].added.scopes & handled->scopes;
	}
	*handled = ruleset;
	/* The kernel accepts a longer structure than it knows if the rest is 0. */
	return (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
}

/* A path that does not exist now is not needed later. */
static void allow_path(int ruleset, const char *path)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	struct stat status;

	if (rule.parent_fd < 0)
		return;
	if (!fstat(rule.parent_fd, &status)) {
		if (S_ISDIR(status.st_mode))
			rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
		if (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode))
			syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
				0);
	}
	close(rule.parent_fd);
}

static void allow_list(int ruleset, const struct string_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		allow_path(ruleset, list->items[i]);
}

/* A module may be anywhere, except among devices, processes, settings and passwords. */
static void allow_host(int ruleset)
{
	static const char *const never[] = { ".", "..", "dev", "etc", "proc", "run", "sys" };
	DIR *root = opendir("/");
	struct dirent *entry;

	while (root && (entry = readdir(root))) {
		_cleanup_free_ char *path = memory_print("/%s", entry->d_name);
		bool allowed = true;

		for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
			allowed &= strcmp(entry->d_name, never[i]) != 0;
		if (allowed)
			allow_path(ruleset, path);
	}
	if (root)
		closedir(root);
}

static bool restrict_files(const struct options *options)
{
	struct ruleset handled = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	int ruleset = create_ruleset(&handled);
	bool done;

	if (ruleset < 0)
		return false;
	if (strcmp(options->file, "-") != 0)
		allow_path(ruleset, options->file);
	allow_list(ruleset, &options->symfs);
	allow_list(ruleset, &options->debug_dirs);
	allow_list(ruleset, &options->module_files);
	if (!options->debug_dirs.count)
		allow_path(ruleset, "/usr/lib/debug");
	if (options->debuginfod_cache)
		allow_path(ruleset, options->debuginfod_cache);
	if (!options->no_host_files)
		allow_host(ruleset);
	done = !syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
	return done;
}

void sandbox_enter_to_fetch(const char *folder)
{
	struct ruleset handled = {
		.files = ~(uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR),
		.scopes = UINT64_MAX,
	};
	int ruleset = create_ruleset(&handled);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = handled.files & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE,
		.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (ruleset >= 0) {
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
		syscall(SYS_landlock_restrict_self, ruleset, 0);
		close(ruleset);
	}
	if (rule.parent_fd >= 0)
		close(rule.parent_fd);
}

/* ---- system calls ------------------------------------------------------------------------- */

/* By name: each CPU and each libseccomp version only has some of the calls. */
static const char *const calls[] = {
	/* memory */
	"brk",
	"madvise",
	"membarrier",
	"mremap",
	"munmap",
	/* threads, time, chance */
	"clock_getres",
	"clock_getres_time64",
	"clock_gettime",
	"clock_gettime64",
	"clock_nanosleep",
	"clock_nanosleep_time64",
	"exit",
	"exit_group",
	"futex",
	"futex_time64",
	"getcpu",
	"getpid",
	"getrandom",
	"gettid",
	"gettimeofday",
	"nanosleep",
	"rseq",
	"sched_getaffinity",
	"sched_yield",
	"set_robust_list",
	"sysinfo",
	"time",
	"uname",
	/* identity and limits */
	"getegid",
	"getegid32",
	"geteuid",
	"geteuid32",
	"getgid",
	"getgid32",
	"getuid",
	"getuid32",
	"getrlimit",
	"getrusage",
	"ugetrlimit",
	/* signals */
	"restart_syscall",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"sigreturn",
	/* open files */
	"close",
	"dup2",
	"dup3",
	"fadvise64",
	"fadvise64_64",
	"fchdir",
	"fcntl",
	"fcntl64",
	"fstat",
	"fstat64",
	"fstatfs",
	"fstatfs64",
	"ftruncate",
	"ftruncate64",
	"getdents64",
	"lseek",
	"_llseek",
	"poll",
	"ppoll",
	"ppoll_time64",
	"pread64",
	"preadv",
	"pwrite64",
	"read",
	"readahead",
	"readv",
	"write",
	"writev",
	/* copies of kernel modules in memory: safe, since nothing can be executed */
	"memfd_create",
	"sendfile",
	"sendfile64",
	/* the pager's end */
	"wait4",
	"waitid",
	"waitpid",
	/* files; openat is below */
	"access",
	"faccessat",
	"faccessat2",
	"fstatat64",
	"getcwd",
	"lstat",
	"lstat64",
	"newfstatat",
	"readlink",
	"readlinkat",
	"stat",
	"stat64",
	"statfs",
	"statfs64",
	"statx",
};

static void allow_if(scmp_filter_ctx filter, const char *name, unsigned int n,
		     const struct scmp_arg_cmp *conditions, int *result)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number != __NR_SCMP_ERROR && !*result)
		*result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n, conditions);
}

/* Allows the call if these bits of an argument match. */
static void allow_bits(scmp_filter_ctx filter, const char *name, unsigned int argument,
		       uint64_t mask, uint64_t value, int *result)
{
	const struct scmp_arg_cmp condition = { argument, SCMP_CMP_MASKED_EQ, mask, value };

	allow_if(filter, name, 1, &condition, result);
}

static void allow_some(scmp_filter_ctx filter, int *result)
{
	/* musl's O_ACCMODE contains O_PATH. */
	const uint64_t opening = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	bool is_s390x = seccomp_arch_native() == SCMP_ARCH_S390X;

	allow_bits(filter, "openat", 2, opening, O_RDONLY, result);
	allow_bits(filter, "open", 1, opening, O_RDONLY, result);
	allow_bits(filter, "mprotect", 2, PROT_EXEC, 0, result);
	/* On s390x its arguments are in memory (arch/s390/kernel/syscall.c), which a filter cannot
	 * see; i386 has mmap2. */
	if (is_s390x)
		allow_if(filter, "mmap", 0, NULL, result);
	else if (seccomp_arch_native() != SCMP_ARCH_X86)
		allow_bits(filter, "mmap", 2, PROT_EXEC, 0, result);
	allow_bits(filter, "mmap2", 2, PROT_EXEC, 0, result);
	/* Threads, not processes.  clone3 has its flags in memory: without it libc takes clone,
	 * whose flags are its second argument on s390x (CONFIG_CLONE_BACKWARDS2). */
	allow_bits(filter, "clone", is_s390x, CLONE_THREAD, CLONE_THREAD, result);
	/* The width of the terminal. */
	allow_bits(filter, "ioctl", 1, UINT32_MAX, TIOCGWINSZ, result);
	allow_bits(filter, "ioctl", 1, UINT32_MAX, TCGETS, result);
	/* abort() */
	allow_bits(filter, "tgkill", 0, UINT32_MAX, (uint32_t)getpid(), result);
}

/* Forbidden calls fail as on a kernel without them, so that libc falls back. */
static bool restrict_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int result = filter ? 0 : -ENOMEM;

	if (filter) {
		/* Before 5.16 the kernel slows down filtered processes, against Spectre v4. */
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			allow_if(filter, calls[i], 0, NULL, &result);
		allow_some(filter, &result);
	}
	if (!result)
		result = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return !result;
}

bool sandbox_enter(const struct options *options)
{
	bool must = options->sandbox == SANDBOX_ON;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!restrict_files(options) && must) {
		complain("--sandbox: this kernel has no Landlock (needs 5.13 or later, and "
			 "landlock in lsm= on its command line), so files would stay readable; "
			 "remove the option to continue without");
		return false;
	}
	if (!restrict_calls() && must) {
		complain("--sandbox: cannot set seccomp filters on this kernel; remove the option "
			 "to continue without");
		return false;
	}
	return true;
}
