/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge_vdso: writes into its own vDSO and runs there until it is killed. Without libc, so that it
 * can be built for 32 bits wherever the compiler can: cc [-m32] -static -nostdlib. x86.
 */
#define PAGE	   4096
#define PAGES_MAX  8
#define PROT_ALL   7  /* read, write, execute */
#define VDSO_ENTRY 33 /* AT_SYSINFO_EHDR */

#ifdef __x86_64__
#define SYS_mprotect 10
#else
#define SYS_mprotect 125
#endif

static long make_writable(char *page, long size)
{
	long ret;

#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_mprotect), "D"(page), "S"(size), "d"((long)PROT_ALL)
			 : "rcx", "r11", "memory");
#else
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(SYS_mprotect), "b"(page), "c"(size), "d"(PROT_ALL)
			 : "memory");
#endif
	return ret;
}

/* `words`: the stack as the kernel leaves it: argc, argv, NULL, environment, NULL, auxv. */
__attribute__((used, noreturn)) void begin(long *words)
{
	static const char mark[] = "FORGED BY A STRANGER";
	char *vdso = 0;
	long pages = 1;

	for (words += words[0] + 2; *words; words++)
		;
	for (words++; *words; words += 2) {
		if (*words == VDSO_ENTRY)
			vdso = (char *)words[1];
	}
	/* It cannot be split (mm/mmap.c, special_mapping_split), so all of it or nothing. */
	while (pages < PAGES_MAX && vdso && make_writable(vdso, pages * PAGE))
		pages++;
	if (vdso && pages < PAGES_MAX) {
		volatile char *to = vdso + 1024;

		for (unsigned i = 0; i < sizeof(mark); i++)
			to[i] = mark[i];
		/* 1: jmp 1b */
		to[64] = (char)0xeb;
		to[65] = (char)0xfe;
		((void (*)(void))(vdso + 1024 + 64))();
	}
	__builtin_trap();
}

#ifdef __x86_64__
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
#else
__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n"
	"\tpush %eax\n\tcall begin\n");
#endif
