/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/helper_limits.h"
#include "record/proc/compat_vdso.h"
#include "record/proc/maps_reader.h"

#define VDSO_SIZE_MAX (1u << 20)

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

static void find_vdso(void *context, const struct reel_proc_map *map)
{
	if (!strcmp(map->path, "[vdso]"))
		*(struct reel_proc_map *)context = *map;
}

/* Reads from our child, which is stopped. */
static uint8_t *read_image(pid_t child, size_t *size_ret)
{
	const struct reel_maps_limits all = { SIZE_MAX, SIZE_MAX, UINT64_MAX };
	struct reel_proc_map map = { 0 };
	struct reel_elf_kind kind;
	_cleanup_fd_ int memory = -1;
	uint8_t *image;
	char path[32];

	if (reel_proc_maps((uint32_t)child, &all, find_vdso, &map) != REEL_ANSWER_WHOLE ||
	    map.size < sizeof(Elf64_Ehdr) || map.size > VDSO_SIZE_MAX)
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

uint8_t *reel_compat_vdso(const struct reel_elf_kind *native, uint16_t machine, size_t *size_ret)
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
