/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "record/host/privileges.h"

#define BIT(number) (UINT64_C(1) << (number))

#define MAIN	REEL_ROLE_MAIN
#define READER	REEL_ROLE_READER
#define WRITER	REEL_ROLE_WRITER
#define IMAGER	REEL_ROLE_IMAGER
#define SCANNER REEL_ROLE_SCANNER
#define COPIER	REEL_ROLE_COPIER
#define SPAWNER REEL_ROLE_SPAWNER
#define ALL	(MAIN | READER | WRITER | IMAGER | SCANNER)

/* ---- capabilities ----------------------------------------------------------------------- */

static const struct {
	unsigned int roles;
	int number;
} capabilities[] = {
	/* Events of CPUs that come online. */
	{ MAIN, CAP_PERFMON },
	/* BPF maps; before 5.19 even open ones (kernel.unprivileged_bpf_disabled). */
	{ MAIN | SCANNER, CAP_BPF },
	/* Events' buffers, above perf_event_mlock_kb. */
	{ MAIN, CAP_IPC_LOCK },
	/* Addresses in /proc/kallsyms and /proc/modules. */
	{ MAIN, CAP_SYSLOG },
	/* /proc/PID/maps, mem, root of other users. */
	{ READER | COPIER, CAP_SYS_PTRACE },
	/* Programs in other users' folders. */
	{ READER, CAP_DAC_READ_SEARCH },
	/* /proc/PID/map_files */
	{ READER, CAP_CHECKPOINT_RESTORE },
};

static uint64_t capabilities_of(unsigned int roles)
{
	uint64_t set = 0;

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		if (capabilities[i].roles & roles)
			set |= BIT(capabilities[i].number);
	}
	return set;
}

static uint64_t permitted(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

bool reel_privileges_reads_others(void)
{
	return permitted() & BIT(CAP_SYS_PTRACE);
}

/* Reducing capabilities never fails. */
static void set_capabilities(uint64_t effective, uint64_t permitted_set)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].effective = (uint32_t)(effective >> 32 * i);
		data[i].permitted = (uint32_t)(permitted_set >> 32 * i);
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &header, data);
}

/*
 * Debian's and Ubuntu's kernels require CAP_SYS_ADMIN, not CAP_PERFMON, for an event of a whole CPU
 * if kernel.perf_event_paranoid is above 2: try to open one.
 */
static bool events_want_admin(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1,
			      PERF_FLAG_FD_CLOEXEC);
	bool refused = fd < 0 && (errno == EACCES || errno == EPERM);

	if (fd >= 0)
		close(fd);
	return refused;
}

/* Root without CAP_DAC_OVERRIDE can't create files in another user's folder. */
static bool folder_wants_override(const struct reel_output_place *place)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_error_ struct reel_error *error = NULL;
	_cleanup_fd_ int fd = -1;

	error = reel_output_place_create_temporary(place, &name, &fd);
	if (!error)
		unlinkat(place->folder, name, 0);
	return error && reel_error_code(error) == REEL_ERROR_PERMISSION;
}

/* Called with no more than the roles' capabilities; returns others that must be kept. */
static uint64_t wanted_beside(const struct reel_privileges *privileges)
{
	uint64_t set = 0;
	uid_t user;
	gid_t group;

	if (privileges->roles & MAIN && events_want_admin())
		set |= BIT(CAP_SYS_ADMIN);
	if (privileges->parts && folder_wants_override(privileges->parts))
		set |= BIT(CAP_DAC_OVERRIDE);
	if (privileges->parts && reel_output_place_is_of_caller(privileges->parts, &user, &group))
		set |= BIT(CAP_CHOWN);
	/* To end a command that has become another user's. */
	if (privileges->command)
		set |= BIT(CAP_KILL);
	return set;
}

static void drop_capabilities(const struct reel_privileges *privileges)
{
	uint64_t had = permitted(), kept = had & capabilities_of(privileges->roles);

	/* This needs CAP_SETPCAP; without it, no_new_privs has to do. */
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	set_capabilities(kept, had);
	kept |= had & wanted_beside(privileges);
	set_capabilities(kept, kept);
}

/* ---- system calls ------------------------------------------------------------------------- */

/* By name: each CPU, and each version of libseccomp, has a different subset. */
static const struct {
	unsigned int roles;
	const char *name;
} calls[] = {
	/* memory */
	{ ALL, "brk" },
	{ ALL, "madvise" },
	{ ALL, "membarrier" },
	{ ALL, "mremap" },
	{ ALL, "munmap" },
	/* The state of the wall clock; setting it takes CAP_SYS_TIME. */
	{ MAIN, "adjtimex" },
	{ MAIN, "clock_adjtime" },
	{ MAIN, "clock_adjtime64" },
	/* threads, time, random numbers */
	{ ALL, "clock_getres" },
	{ ALL, "clock_getres_time64" },
	{ ALL, "clock_gettime" },
	{ ALL, "clock_gettime64" },
	{ ALL, "clock_nanosleep" },
	{ ALL, "clock_nanosleep_time64" },
	{ ALL, "exit" },
	{ ALL, "exit_group" },
	{ ALL, "futex" },
	{ ALL, "futex_time64" },
	{ ALL, "getcpu" },
	{ ALL, "getpid" },
	{ ALL, "getrandom" },
	{ ALL, "gettid" },
	{ ALL, "gettimeofday" },
	{ ALL, "nanosleep" },
	{ ALL, "rseq" },
	{ ALL, "sched_getaffinity" },
	{ ALL, "sched_yield" },
	{ ALL, "set_robust_list" },
	{ ALL, "sysinfo" },
	{ ALL, "uname" },
	/* signals */
	{ ALL, "restart_syscall" },
	{ ALL, "rt_sigaction" },
	{ ALL, "rt_sigprocmask" },
	{ ALL, "rt_sigreturn" },
	{ ALL, "sigaltstack" },
	{ ALL, "sigreturn" },
	/* open files */
	{ ALL, "close" },
	{ ALL, "fstat" },
	{ ALL, "fstat64" },
	{ ALL, "lseek" },
	{ ALL, "_llseek" },
	{ ALL, "poll" },
	{ ALL, "ppoll" },
	{ ALL, "ppoll_time64" },
	{ ALL, "read" },
	{ ALL, "readv" },
	{ ALL, "write" },
	{ ALL, "writev" },
	{ WRITER, "fsync" },
	{ WRITER, "ftruncate" },
	{ WRITER, "ftruncate64" },
	{ WRITER, "pwrite64" },
	/* The folder of parts, once another recorder has ended. */
	{ MAIN, "flock" },
	{ MAIN, "epoll_pwait" },
	{ MAIN, "epoll_wait" },
	{ MAIN | READER | IMAGER, "pread64" },
	{ MAIN | READER | IMAGER, "recvfrom" },
	{ MAIN | READER | IMAGER, "recvmsg" },
	{ MAIN | READER | IMAGER, "sendmsg" },
	{ MAIN | READER | IMAGER, "sendto" },
	/* files; openat is below */
	{ MAIN | READER, "access" },
	{ MAIN | READER, "faccessat" },
	{ MAIN | READER, "faccessat2" },
	{ MAIN | READER | WRITER | IMAGER, "fstatat64" },
	{ MAIN | READER | WRITER, "fstatfs" },
	{ MAIN | READER | WRITER, "fstatfs64" },
	{ MAIN | READER, "getdents64" },
	{ READER, "getxattr" },
	{ MAIN | READER, "lstat" },
	{ MAIN | READER | WRITER | IMAGER, "newfstatat" },
	{ MAIN | READER, "readlink" },
	{ MAIN | READER, "readlinkat" },
	{ MAIN | READER, "stat" },
	{ MAIN | READER | WRITER | IMAGER, "statx" },
	{ READER, "openat2" },
	{ READER | COPIER, "process_vm_readv" },
	/* processes: the command's end, and our own IDs */
	{ MAIN, "getegid" },
	{ MAIN, "geteuid" },
	{ MAIN, "getgid" },
	{ MAIN, "getuid" },
	{ MAIN | SPAWNER, "wait4" },
	{ MAIN | SPAWNER, "waitid" },
	/* helpers, and what they do before they take their role */
	{ SPAWNER, "capget" },
	{ SPAWNER, "capset" },
	{ SPAWNER, "clone" },
	{ SPAWNER, "fork" },
	{ SPAWNER, "getppid" },
	{ SPAWNER, "getrlimit" },
	{ SPAWNER, "prctl" },
	{ SPAWNER, "prlimit64" },
	{ SPAWNER, "seccomp" },
	{ SPAWNER, "setrlimit" },
	{ SPAWNER, "ugetrlimit" },
};

struct filter {
	scmp_filter_ctx context;
	int result; /* the first that failed */
};

static void allow_if(struct filter *filter, const char *name, unsigned int n,
		     const struct scmp_arg_cmp *conditions)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number != __NR_SCMP_ERROR && !filter->result)
		filter->result = seccomp_rule_add_array(filter->context, SCMP_ACT_ALLOW, number, n,
							conditions);
}

/* Allows the call if these bits of an argument have the value. */
static void allow_bits(struct filter *filter, const char *name, unsigned int argument,
		       uint64_t mask, uint64_t value)
{
	const struct scmp_arg_cmp condition = { argument, SCMP_CMP_MASKED_EQ, mask, value };

	allow_if(filter, name, 1, &condition);
}

/* Allows the call if an int has the value: the register's upper half is ignored. */
static void allow_int(struct filter *filter, const char *name, unsigned int argument, int value)
{
	allow_bits(filter, name, argument, UINT32_MAX, (uint32_t)value);
}

static void allow_memory(struct filter *filter)
{
	allow_bits(filter, "mprotect", 2, PROT_EXEC, 0);
	/* There, mmap's arguments are in memory, invisible to a filter (kernel's
	 * arch/s390/kernel/syscall.c). */
	if (seccomp_arch_native() == SCMP_ARCH_S390X)
		allow_if(filter, "mmap", 0, NULL);
	else
		allow_bits(filter, "mmap", 2, PROT_EXEC, 0);
}

/* Not F_SETOWN, F_SETSIG and O_ASYNC: by them the kernel would signal any process. */
static void allow_fcntl(struct filter *filter, const char *name)
{
	static const int commands[] = { F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL };
	const struct scmp_arg_cmp flags[] = {
		{ 1, SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETFL },
		{ 2, SCMP_CMP_MASKED_EQ, O_ASYNC, 0 },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		allow_int(filter, name, 1, commands[i]);
	allow_if(filter, name, 2, flags);
}

/* For reading only. Files that the roles write to are already open. */
static void allow_open(struct filter *filter)
{
	/* O_TMPFILE requires O_WRONLY or O_RDWR. */
	const uint64_t mask = O_ACCMODE | O_CREAT | O_TRUNC;

	allow_bits(filter, "openat", 2, mask, O_RDONLY);
	allow_bits(filter, "open", 1, mask, O_RDONLY);
}

/* Allows making and replacing files in a folder, but not opening an existing file. */
static void allow_parts(struct filter *filter, const struct reel_output_place *place)
{
	const uint64_t mask = O_ACCMODE | O_CREAT | O_EXCL | O_NOFOLLOW | O_TRUNC;
	const struct scmp_arg_cmp folder = { 0, SCMP_CMP_MASKED_EQ, UINT32_MAX,
					     (uint32_t)place->folder };
	const struct scmp_arg_cmp folders[] = {
		folder,
		{ 2, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)place->folder },
	};
	const struct scmp_arg_cmp both[] = {
		folder,
		{ 2, SCMP_CMP_MASKED_EQ, mask, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW },
	};

	allow_if(filter, "openat", 2, both);
	allow_if(filter, "unlinkat", 1, &folder);
	allow_if(filter, "renameat", 2, folders);
	allow_if(filter, "renameat2", 2, folders);
	allow_if(filter, "fchmod", 0, NULL);
	allow_if(filter, "fchown", 0, NULL);
}

static void allow_kernel(struct filter *filter)
{
	static const int bpf_commands[] = { BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM,
					    BPF_MAP_DELETE_ELEM, BPF_OBJ_GET_INFO_BY_FD };
	static const unsigned long requests[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
						  PERF_EVENT_IOC_SET_BPF, PERF_EVENT_IOC_SET_OUTPUT,
						  /* the live line; not TIOCSTI */
						  TCGETS, TIOCGWINSZ };

	for (size_t i = 0; i < sizeof(bpf_commands) / sizeof(*bpf_commands); i++)
		allow_int(filter, "bpf", 0, bpf_commands[i]);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		allow_bits(filter, "ioctl", 1, UINT32_MAX, (uint32_t)requests[i]);
	/* For whole CPUs only. */
	allow_int(filter, "perf_event_open", 1, -1);
	/* For a new helper. */
	allow_int(filter, "socketpair", 0, AF_UNIX);
}

/* Allows checking whether a process lives, and ending the command. */
static void allow_signals(struct filter *filter, const struct reel_privileges *privileges)
{
	if (privileges->roles & SPAWNER)
		allow_int(filter, "kill", 1, SIGKILL);
	/* For abort(); a helper has another number. */
	if (!(privileges->roles & SPAWNER))
		allow_int(filter, "tgkill", 0, getpid());
	if (!(privileges->roles & MAIN))
		return;
	allow_int(filter, "tgkill", 2, 0);
	allow_int(filter, "kill", 1, 0);
	if (privileges->command)
		allow_int(filter, "kill", 0, privileges->command);
}

static void allow_all(struct filter *filter, const struct reel_privileges *privileges)
{
	unsigned int roles = privileges->roles;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].roles & roles)
			allow_if(filter, calls[i].name, 0, NULL);
	}
	allow_memory(filter);
	allow_fcntl(filter, "fcntl");
	allow_fcntl(filter, "fcntl64");
	allow_signals(filter, privileges);
	if (roles & (MAIN | READER | SPAWNER))
		allow_open(filter);
	if (roles & MAIN)
		allow_kernel(filter);
	if (roles & READER)
		allow_bits(filter, "ioctl", 1, UINT32_MAX, (uint32_t)FS_IOC_GETVERSION);
	if (roles & SCANNER)
		allow_int(filter, "bpf", 0, BPF_ITER_CREATE);
	allow_int(filter, "bpf", 0, BPF_PROG_TEST_RUN);
	if (privileges->parts)
		allow_parts(filter, privileges->parts);
	if (privileges->status)
		allow_parts(filter, privileges->status);
}

static struct reel_error *drop_calls(const struct reel_privileges *privileges,
				     const char **lacks_ret)
{
	struct filter filter = { .context = seccomp_init(SCMP_ACT_ERRNO(ENOSYS)) };
	bool is_loaded;

	if (!filter.context)
		return reel_error_no_memory();
	seccomp_attr_set(filter.context, SCMP_FLTATR_CTL_LOG, 1);
	/* Before 5.16 the kernel slows a filtered thread down against Spectre v4. That protects
	 * only programs that run untrusted code. */
	seccomp_attr_set(filter.context, SCMP_FLTATR_CTL_SSB, 1);
	allow_all(&filter, privileges);
	is_loaded = !filter.result && !seccomp_load(filter.context);
	seccomp_release(filter.context);
	if (filter.result == -ENOMEM)
		return reel_error_no_memory();
	if (filter.result)
		return reel_error_os(-filter.result, "making a seccomp filter");
	if (!is_loaded)
		*lacks_ret = "cannot set a seccomp filter on this kernel: the recorder may use all "
			     "system calls";
	return NULL;
}

struct reel_error *reel_privileges_drop(const struct reel_privileges *privileges,
					const char **lacks_ret)
{
	*lacks_ret = NULL;
	drop_capabilities(privileges);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return drop_calls(privileges, lacks_ret);
}
