/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/proc/compat_vdso.h"
#include "record/proc/maps_reader.h"
#include "record/proc/proc.h"
#include "record/proc/target.h"

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif
#define VDSO_SIZE_MAX (1u << 20)

static void find_vdso_map(void *context, const struct reel_proc_map *map)
{
	struct reel_target *target = context;

	if (!strcmp(map->path, "[vdso]"))
		target->vdso_size = (size_t)map->size;
}

static void find_vdso(struct reel_target *target)
{
	/* Kept in a register-sized integer: AT_SYSINFO_EHDR is an address. */
	uintptr_t address = getauxval(AT_SYSINFO_EHDR);
	const struct reel_maps_limits all = { SIZE_MAX, SIZE_MAX, UINT64_MAX };
	size_t size;

	if (!address)
		return;
	target->vdso = (const uint8_t *)address;
	if (!reel_proc_is_ours() ||
	    reel_proc_maps((uint32_t)getpid(), &all, find_vdso_map, target) != REEL_ANSWER_WHOLE ||
	    !target->vdso_size)
		target->vdso_size = (size_t)sysconf(_SC_PAGESIZE);
	/* Without /proc, one page is known to exist, and headers determine the rest. */
	size = reel_elf_image_size(target->vdso, sizeof(Elf64_Ehdr),
				   target->vdso_size ? target->vdso_size : VDSO_SIZE_MAX);
	if (size)
		target->vdso_size = size;
}

static void find_elf_kind(struct reel_target *target)
{
	uint8_t header[20];
	_cleanup_fd_ int fd = -1;

	if (target->vdso && reel_elf_kind_of(target->vdso, sizeof(header), &target->elf))
		return;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header))
		reel_elf_kind_of(header, sizeof(header), &target->elf);
}

/*
 * The masks depend only on the kernel's address size (arch/arm64/kernel/ptrace.c, pac_mask_get),
 * but the kernel reports them only through ptrace, so ask for a child's.
 */
static void find_pointer_masks(struct reel_target *target)
{
	struct {
		uint64_t data, code; /* struct user_pac_mask */
	} masks = { 0 };
	struct iovec vector = { &masks, sizeof(masks) };
	pid_t child = fork();
	int status;

	if (child < 0)
		return;
	if (!child) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		if (!ptrace(PTRACE_GETREGSET, child, (void *)(uintptr_t)NT_ARM_PAC_MASK, &vector) &&
		    vector.iov_len == sizeof(masks)) {
			target->data_mask = masks.data;
			target->code_mask = masks.code;
		}
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
}

static void find_kernel_build_id(struct reel_target *target)
{
	_cleanup_buffer_ struct reel_buffer notes = { 0 };

	if (reel_proc_read("/sys/kernel/notes", &notes))
		reel_build_id_of_notes(notes.bytes, notes.size, target->elf.byte_order,
				       &target->kernel_build_id);
}

/* Parses "0-3,8-11": one more than the largest number; 0 if the file cannot be read. */
static uint64_t possible_cpus(void)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	uint64_t last = 0;
	bool any = false;

	if (!reel_proc_read("/sys/devices/system/cpu/possible", &buffer))
		return 0;
	for (size_t i = 0; i < buffer.size; i++) {
		uint8_t c = buffer.bytes[i];

		if (c >= '0' && c <= '9') {
			last = (i && buffer.bytes[i - 1] >= '0' && buffer.bytes[i - 1] <= '9')
				       ? last * 10 + (c - '0')
				       : (uint64_t)(c - '0');
			any = true;
		}
	}
	return any ? last + 1 : 0;
}

struct reel_error *reel_target_find(struct reel_target *ret)
{
	struct utsname name;

	*ret = (struct reel_target){ 0 };
	find_vdso(ret);
	find_elf_kind(ret);
	if (!ret->elf.word_bits)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"cannot determine this machine's CPU architecture: no vDSO, and "
			"/proc/self/exe cannot be read (is /proc mounted?)");
	if (ret->elf.word_bits == 64)
		ret->compat_machine = reel_elf_compat_machine(ret->elf.machine);
	if (ret->compat_machine)
		ret->compat_vdso =
			reel_compat_vdso(&ret->elf, ret->compat_machine, &ret->compat_vdso_size);
	if (ret->elf.machine == EM_AARCH64)
		find_pointer_masks(ret);
	find_kernel_build_id(ret);
	ret->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	ret->cpus_online = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	ret->cpus_possible = possible_cpus();
	if (ret->cpus_possible < ret->cpus_online)
		ret->cpus_possible = ret->cpus_online;
	if (uname(&name))
		return reel_error_os(errno, "uname");
	snprintf(ret->hostname, sizeof(ret->hostname), "%s", name.nodename);
	snprintf(ret->kernel_release, sizeof(ret->kernel_release), "%s", name.release);
	snprintf(ret->kernel_version, sizeof(ret->kernel_version), "%s", name.version);
	return NULL;
}

void reel_target_free(struct reel_target *target)
{
	free(target->compat_vdso);
	target->compat_vdso = NULL;
}
