/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge_vdso: writes into its own vDSO and runs there until it is killed.
 * forge_vdso FILE: maps the file in the vDSO's place and sleeps (32 bits only).
 *
 * Without libc, so that it can be built for 32 bits wherever the compiler can: cc [-m32] -static
 * -nostdlib. x86.
 */
#define PAGE	   4096
#define PAGES_MAX  8
#define VDSO_ENTRY 33 /* AT_SYSINFO_EHDR */
#define PROT_ALL   7  /* read, write, execute */

#ifdef __x86_64__
#define SYS_mprotect 10
#else
#define SYS_open      5
#define SYS_pause     29
#define SYS_mmap      90 /* its arguments are in memory (mm/mmap.c, sys_old_mmap) */
#define SYS_mprotect  125
#define MAP_FIXED     0x10
#define MAP_PRIVATE   2
#define PROT_READ     1
#define PROT_EXEC     4
#define ERROR_LARGEST -4095
#endif

static long call(long number, long first, long second, long third)
{
	long ret;

#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
#else
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(number), "b"(first), "c"(second), "d"(third)
			 : "memory");
#endif
	return ret;
}

/* The vDSO cannot be split (mm/mmap.c, special_mapping_split), so change all of it. */
static int make_writable(char *vdso)
{
	for (long pages = 1; pages <= PAGES_MAX; pages++) {
		if (!call(SYS_mprotect, (long)vdso, pages * PAGE, PROT_ALL))
			return 1;
	}
	return 0;
}

static void forge(char *vdso)
{
	static const char mark[] = "FORGED BY A STRANGER";
	volatile char *to = vdso + 1024;

	if (!make_writable(vdso))
		__builtin_trap();
	for (unsigned i = 0; i < sizeof(mark); i++)
		to[i] = mark[i];
	/* 1: jmp 1b */
	to[64] = (char)0xeb;
	to[65] = (char)0xfe;
	((void (*)(void))(vdso + 1024 + 64))();
}

#ifdef __i386__
static void replace(char *vdso, const char *path)
{
	long file = call(SYS_open, (long)path, 0, 0);
	long arguments[] = { (long)vdso, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			     file,	 0 };

	if (file < 0 ||
	    (unsigned long)call(SYS_mmap, (long)arguments, 0, 0) > (unsigned long)ERROR_LARGEST)
		__builtin_trap();
	call(SYS_pause, 0, 0, 0);
}
#endif

/* `words`: the stack as the kernel leaves it: argc, argv, NULL, environment, NULL, auxv. */
__attribute__((used, noreturn)) void begin(long *words)
{
	const char *path = words[0] > 1 ? (const char *)words[2] : 0;
	char *vdso = 0;

	for (words += words[0] + 2; *words; words++)
		;
	for (words++; *words; words += 2) {
		if (*words == VDSO_ENTRY)
			vdso = (char *)words[1];
	}
#ifdef __i386__
	if (vdso && path)
		replace(vdso, path);
#endif
	if (vdso && !path)
		forge(vdso);
	__builtin_trap();
}

#ifdef __x86_64__
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
#else
__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n"
	"\tpush %eax\n\tcall begin\n");
#endif
