/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/helper_limits.h"
#include "record/proc/maps_reader.h"
#include "record/proc/proc.h"
#include "record/proc/target.h"

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif
#define VDSO_SIZE_MAX (1u << 20)

static void find_vdso_map(void *context, const struct reel_proc_map *map)
{
	if (!strcmp(map->path, "[vdso]"))
		*(struct reel_proc_map *)context = *map;
}

/* Of a process of ours; false if it has none. */
static bool find_vdso_of(pid_t pid, struct reel_proc_map *ret)
{
	const struct reel_maps_limits all = { SIZE_MAX, SIZE_MAX, UINT64_MAX };

	*ret = (struct reel_proc_map){ 0 };
	return reel_proc_is_ours() &&
	       reel_proc_maps((uint32_t)pid, &all, find_vdso_map, ret) == REEL_ANSWER_WHOLE &&
	       ret->size;
}

static void find_vdso(struct reel_target *target)
{
	/* Kept in a register-sized integer: AT_SYSINFO_EHDR is an address. */
	uintptr_t address = getauxval(AT_SYSINFO_EHDR);
	struct reel_proc_map map;
	size_t size;

	if (!address)
		return;
	target->vdso = (const uint8_t *)address;
	target->vdso_size =
		find_vdso_of(getpid(), &map) ? (size_t)map.size : (size_t)sysconf(_SC_PAGESIZE);
	/* Without /proc, one page is known to exist, and headers determine the rest. */
	size = reel_elf_image_size(target->vdso, sizeof(Elf64_Ehdr), target->vdso_size);
	if (size)
		target->vdso_size = size;
}

/* ---- the vDSO of 32-bit programs --------------------------------------------------------- */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* Linux 6.3 */
#endif

/* A program of the size that the kernel requires: it never reaches its first instruction. */
#define LOAD_ADDRESS 0x10000000u
#define ALIGNMENT    0x10000u /* the largest page */

struct program {
	Elf32_Ehdr header;
	Elf32_Phdr segment;
};

/* Uses this program's own byte order. */
static struct program make_program(const struct reel_elf_kind *native, uint16_t machine)
{
	return (struct program){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
				     native->byte_order, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = machine,
			.e_version = EV_CURRENT,
			/* If it should ever run, it ends there. */
			.e_entry = 0,
			.e_phoff = offsetof(struct program, segment),
			/* arch/arm64/include/asm/elf.h, compat_elf_check_arch */
			.e_flags = machine == EM_ARM ? EF_ARM_EABI_VER5 : 0,
			.e_ehsize = sizeof(Elf32_Ehdr),
			.e_phentsize = sizeof(Elf32_Phdr),
			.e_phnum = 1,
		},
		.segment = {
			.p_type = PT_LOAD,
			.p_vaddr = LOAD_ADDRESS,
			.p_paddr = LOAD_ADDRESS,
			.p_filesz = sizeof(struct program),
			.p_memsz = sizeof(struct program),
			.p_flags = PF_R | PF_X,
			.p_align = ALIGNMENT,
		},
	};
}

/* A file of the program, in memory; -1 on failure. */
static int make_file(const struct program *program)
{
	/* With vm.memfd_noexec, only files made with MFD_EXEC are executable. */
	int fd = memfd_create("stackreel-vdso", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("stackreel-vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, program, sizeof(*program)) != sizeof(*program)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void become(int file) __attribute__((noreturn));

static void become(int file)
{
	/* It stops at once, and is killed. */
	static const struct reel_helper_limits limits = { .memory = 64 << 20, .cpu_seconds = 1 };
	char *nothing[] = { NULL }, *name[] = { "stackreel-vdso", NULL };

	reel_helper_limits_set(&limits);
	/* It stops once it has become the program, before any of it runs (ptrace(2)). */
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		fexecve(file, name, nothing);
	_exit(1);
}

/* Reads from our child, which is stopped. */
static uint8_t *read_image(pid_t child, size_t *size_ret)
{
	struct reel_proc_map map;
	struct reel_elf_kind kind;
	_cleanup_fd_ int memory = -1;
	uint8_t *image;
	char path[32];

	if (!find_vdso_of(child, &map) || map.size < sizeof(Elf64_Ehdr) || map.size > VDSO_SIZE_MAX)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	image = memory >= 0 ? malloc((size_t)map.size) : NULL;
	if (!image)
		return NULL;
	/* An emulator of another CPU runs its program as a native one (binfmt_misc). */
	if (pread(memory, image, (size_t)map.size, (off_t)map.address) != (ssize_t)map.size ||
	    !reel_elf_kind_of(image, (size_t)map.size, &kind) || kind.word_bits != 32) {
		free(image);
		return NULL;
	}
	*size_ret = reel_elf_image_size(image, (size_t)map.size, (size_t)map.size);
	if (!*size_ret)
		*size_ret = (size_t)map.size;
	return image;
}

/*
 * Reads the image from a program of our own, since other processes can change their copy.  NULL if
 * the vDSO is missing, or such a program cannot be run or inspected.
 */
static uint8_t *find_compat_vdso(const struct reel_elf_kind *native, uint16_t machine,
				 size_t *size_ret)
{
	struct program program = make_program(native, machine);
	_cleanup_fd_ int file = -1;
	uint8_t *image = NULL;
	int status;
	pid_t child;

	if (!reel_proc_is_ours())
		return NULL;
	file = make_file(&program);
	child = file < 0 ? -1 : fork();
	if (!child)
		become(file);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return NULL;
	image = read_image(child, size_ret);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return image;
}

/* ---- the rest ----------------------------------------------------------------------------- */

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
	uint64_t n = 0;
	char *end;

	if (!reel_proc_read("/sys/devices/system/cpu/possible", &buffer))
		return 0;
	for (char *at = (char *)buffer.bytes; *at; at = end + (*end != '\0'))
		n = strtoull(at, &end, 10) + 1;
	return n;
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
			find_compat_vdso(&ret->elf, ret->compat_machine, &ret->compat_vdso_size);
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
