/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/quantity.h"
#include "record/host/privileges.h"

bool reel_kernel_at_least(unsigned major, unsigned minor)
{
	unsigned own_major, own_minor;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &own_major, &own_minor) == 2 &&
	       (own_major > major || (own_major == major && own_minor >= minor));
}

uint64_t reel_process_work(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : reel_clock_now(clock);
}

uint64_t reel_process_memory(pid_t pid)
{
	unsigned long resident, shared;
	char path[32], text[128];
	_cleanup_fd_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	/* Approximate until its counters are added up: shared may be ahead. */
	if (sscanf(text, "%*u %lu %lu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool contains(const char *bytes, size_t size, const char *name)
{
	const char *found = memmem(bytes, size, name, strlen(name) + 1);

	return found && found > bytes && found[-1] == '\0';
}

bool reel_kernel_has(const char *name)
{
	_cleanup_fd_ int fd = open(REEL_KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, room;
	struct stat status;
	ssize_t n;
	void *map;

	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0)
		return false;
	room = (size_t)status.st_size;
	/* From 6.16 on; sysfs returns only one page per read. */
	map = mmap(NULL, room, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		bool found = contains(map, room, name);

		munmap(map, room);
		return found;
	}
	bytes = malloc(room);
	if (!bytes)
		return false;
	while (size < room && (n = read(fd, bytes + size, room - size)) > 0)
		size += (size_t)n;
	return contains(bytes, size, name);
}

bool reel_scans_may_sleep(void)
{
	/* Or with the helper of 5.18, which some distributions' older kernels have. */
	return reel_kernel_at_least(5, 18) || reel_kernel_has("BPF_FUNC_copy_from_user_task");
}

long reel_number_read(const char *path, long otherwise)
{
	FILE *file = fopen(path, "re");
	long value;

	if (!file)
		return otherwise;
	if (fscanf(file, "%ld", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

/* The effective capabilities, or all if unknown. */
static uint64_t capabilities(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t set = ~UINT64_C(0);
	char line[256];

	if (!file)
		return set;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %" SCNx64, &set) == 1)
			break;
	}
	fclose(file);
	return set;
}

static bool is_locked_down(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strstr(line, "[confidentiality]");
}

struct reel_error *reel_refusal_permission(int errnum, enum reel_refusal_of of, const char *what)
{
	long paranoid = reel_number_read("/proc/sys/kernel/perf_event_paranoid", 2);
	uint64_t set = capabilities();
	bool admin = set >> CAP_SYS_ADMIN & 1;
	bool perfmon = set >> CAP_PERFMON & 1, bpf = set >> CAP_BPF & 1;

	if (!admin && !(perfmon && bpf))
		return reel_error_create(
			REEL_ERROR_PERMISSION,
			"%s: not permitted (%s%s%s missing; kernel.perf_event_paranoid is %ld); "
			"run as root, or: setcap cap_bpf,cap_perfmon+ep stackreel-record",
			what, bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			perfmon ? "" : "CAP_PERFMON", paranoid);
	/* Their patch of perf_event_open(2) does not check CAP_PERFMON. */
	if (of == REEL_REFUSAL_OF_EVENT && !admin && paranoid > 2)
		return reel_error_create(
			REEL_ERROR_PERMISSION,
			"%s: not permitted: kernel.perf_event_paranoid is %ld, and above 2 "
			"Debian's and Ubuntu's kernels require CAP_SYS_ADMIN; run as root, or: "
			"sysctl kernel.perf_event_paranoid=2",
			what, paranoid);
	if (is_locked_down())
		return reel_error_create(
			REEL_ERROR_PERMISSION,
			"%s: not permitted: the kernel is locked down (confidentiality), so BPF "
			"cannot read memory; boot with lockdown=integrity or none",
			what);
	if (of == REEL_REFUSAL_OF_BPF && !reel_kernel_at_least(5, 11) &&
	    !(set >> CAP_SYS_RESOURCE & 1))
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: not permitted: before Linux 5.11, BPF maps count as "
					 "locked memory; raise the limit (ulimit -l unlimited) or "
					 "give the program CAP_SYS_RESOURCE",
					 what);
	if (of == REEL_REFUSAL_OF_FUNCTION)
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: %s, despite the required capabilities: this kernel "
					 "does not let BPF trace its functions (configuration, "
					 "security module, or a container's seccomp profile)",
					 what, strerror(errnum));
	return reel_error_create(REEL_ERROR_PERMISSION,
				 "%s: %s, despite the required capabilities; in a container, its "
				 "seccomp profile or user namespace may forbid this: record on the "
				 "host, or run the container privileged",
				 what, strerror(errnum));
}

struct reel_error *reel_refusal_load(int errnum, const char *btf, const char *detail)
{
	struct utsname name;

	if (uname(&name))
		strcpy(name.release, "?");
	if (!reel_kernel_at_least(5, 10))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "Linux %s is too old: 5.10 or later is required (BPF ring "
					 "buffers in maps of maps)",
					 name.release);
	/* The verifier then does not know functions that read memory (EINVAL). */
	if (is_locked_down())
		return reel_refusal_permission(errnum, REEL_REFUSAL_OF_BPF,
					       "loading the BPF programs");
	if (errnum == EPERM || errnum == EACCES) {
		/* EACCES may also come from the verifier, despite all capabilities. */
		if (errnum == EPERM || geteuid() != 0)
			return reel_refusal_permission(errnum, REEL_REFUSAL_OF_BPF,
						       "loading the BPF programs");
	}
	if (btf && access(btf, R_OK))
		return reel_error_os(errno, "cannot read the kernel's BTF from %s", btf);
	if (!btf && access(REEL_KERNEL_BTF, R_OK))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"this kernel has no BTF (%s); use --btf FILE with BTF for Linux %s, from "
			"'pahole -J' or https://github.com/aquasecurity/btfhub",
			REEL_KERNEL_BTF, name.release);
	if (errnum == ENOSYS)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "Linux %s has no BPF (CONFIG_BPF_SYSCALL), or a "
					 "container's seccomp profile forbids it",
					 name.release);
	if (errnum == ENOMEM)
		return reel_error_create(
			REEL_ERROR_NO_MEMORY,
			"out of kernel memory for BPF maps; use smaller or fewer ring buffers "
			"(--ring-size, --rings), or a smaller --max-stack");
	return reel_error_create(REEL_ERROR_UNSUPPORTED,
				 "Linux %s rejects the BPF programs (%s)%s%s; --verbose shows why",
				 name.release, strerror(errnum), *detail ? ": " : "", detail);
}
