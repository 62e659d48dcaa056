/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/privileges.h"
#include "record/host/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static void kernel_version(unsigned *major_ret, unsigned *minor_ret)
{
	struct utsname name;

	*major_ret = *minor_ret = 0;
	if (uname(&name) == 0 && sscanf(name.release, "%u.%u", major_ret, minor_ret) != 2)
		*major_ret = *minor_ret = 0;
}

bool reel_kernel_at_least(unsigned major, unsigned minor)
{
	unsigned own_major, own_minor;

	kernel_version(&own_major, &own_minor);
	return own_major > major || (own_major == major && own_minor >= minor);
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
			"%s: not permitted: run as root, or give the program CAP_BPF and "
			"CAP_PERFMON: "
			"setcap cap_bpf,cap_perfmon+ep stackreel-record (%s%s%s missing; "
			"kernel.perf_event_paranoid is %ld)",
			what, bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			perfmon ? "" : "CAP_PERFMON", paranoid);
	/* Their patch of perf_event_open(2) does not check CAP_PERFMON. */
	if (of == REEL_REFUSAL_OF_EVENT && !admin && paranoid > 2)
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: not permitted: kernel.perf_event_paranoid is %ld, "
					 "and above 2 the kernels "
					 "of Debian and Ubuntu want CAP_SYS_ADMIN: sysctl "
					 "kernel.perf_event_paranoid=2, "
					 "or run as root",
					 what, paranoid);
	if (is_locked_down())
		return reel_error_create(REEL_ERROR_PERMISSION,
					 "%s: not permitted: the kernel is locked down "
					 "(confidentiality), BPF may not "
					 "read memory: boot with lockdown=integrity or none",
					 what);
	if (of == REEL_REFUSAL_OF_BPF && !reel_kernel_at_least(5, 11) &&
	    !(set >> CAP_SYS_RESOURCE & 1))
		return reel_error_create(
			REEL_ERROR_PERMISSION,
			"%s: not permitted: before Linux 5.11, BPF maps count as locked memory: "
			"raise "
			"it (ulimit -l unlimited) or give the program CAP_SYS_RESOURCE",
			what);
	if (of == REEL_REFUSAL_OF_FUNCTION)
		return reel_error_create(
			REEL_ERROR_PERMISSION,
			"%s: %s, with the capabilities that it takes: this kernel forbids BPF to "
			"trace its functions (its configuration, a security module, or a "
			"container's seccomp profile)",
			what, strerror(errnum));
	return reel_error_create(
		REEL_ERROR_PERMISSION,
		"%s: %s, with the capabilities that it takes: in a container, its seccomp profile "
		"or its user namespace forbids it (record on the host, or run it privileged)",
		what, strerror(errnum));
}

struct reel_error *reel_refusal_load(int errnum, const char *btf, const char *detail)
{
	struct utsname name;

	if (uname(&name))
		strcpy(name.release, "?");
	if (!reel_kernel_at_least(5, 10))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"Linux %s is too old: 5.10 or newer is needed (BPF ring buffers in "
			"maps of maps)",
			name.release);
	if (errnum == EPERM || errnum == EACCES) {
		/* EACCES may also come from the verifier, despite all capabilities. */
		if (errnum == EPERM || geteuid() != 0)
			return reel_refusal_permission(errnum, REEL_REFUSAL_OF_BPF,
						       "loading the BPF programs");
	}
	if (btf && access(btf, R_OK))
		return reel_error_os(errno, "cannot read the kernel's BTF from %s", btf);
	if (!btf && access(KERNEL_BTF, R_OK))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"this kernel has no BTF (%s): give a file with --btf, of `pahole -J` or "
			"from "
			"https://github.com/aquasecurity/btfhub, that matches Linux %s",
			KERNEL_BTF, name.release);
	if (errnum == ENOMEM)
		return reel_error_create(
			REEL_ERROR_NO_MEMORY,
			"the kernel has no memory for the BPF maps: use smaller or fewer ring "
			"buffers, or a smaller stack limit");
	return reel_error_create(
		REEL_ERROR_UNSUPPORTED,
		"Linux %s does not load the BPF programs (%s)%s%s; --verbose shows why",
		name.release, strerror(errnum), *detail ? ": " : "", detail);
}
