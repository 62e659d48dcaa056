/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps through functions of a library, instruction by instruction, and unwinds each of them with
 * the library's own interface (stackreel.h): the chain must be the caller's, which was unwound by
 * CFI right before the call.
 *
 *   stepped gmp          __gmpn_divrem_1 of libgmp.so.10, whose CFI is missing
 *   stepped throw        the jumps of libgcc to landing pads: their chain must be the pad's
 *
 * Exits with 77 if this host cannot step through it, and prints the reason.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "include/stackreel.h"
#include "tests/support/or_exit.h"

#define SKIPPED	   77
#define STACK_SIZE 16384
#define STEPS_MAX  200000
#define FRAMES_MAX 64

#ifdef __x86_64__
#include <sys/user.h>

/* The child's work: `call` calls a function in the range [begin, begin + size). */
struct subject {
	void (*call)(void);
	uint64_t begin, size;
};

/* ---- GMP ---------------------------------------------------------------------------------- */

typedef uint64_t (*divrem_1)(uint64_t *quotient, long fraction_limbs, const uint64_t *limbs, long n,
			     uint64_t divisor);
static divrem_1 divide;

/* With alloca its CFA is based on rbp. */
__attribute__((noinline)) static uint64_t divide_by(uint64_t by)
{
	uint64_t limbs[6] = { 1, 2, 3, 4, 5, 0x7000000000000000 }, quotient[8];
	volatile char *room = __builtin_alloca(by % 64 + 16);

	room[0] = 1;
	return divide(quotient, 2, limbs, 6, by) + divide(quotient, 0, limbs, 1, by) + room[0];
}

static void call_gmp(void)
{
	/* Divisors with and without their top bit, and one that ends early. */
	if (divide_by(7) + divide_by(0x8000000000000003) + divide_by(0x7fffffffffffffff) == 1)
		abort();
}

static const char *find_gmp(struct subject *ret)
{
	void *library = dlopen("libgmp.so.10", RTLD_NOW);
	ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!library)
		return "libgmp.so.10 is not installed";
	divide = (divrem_1)dlsym(library, "__gmpn_divrem_1");
	if (!divide || !dladdr1((void *)divide, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || !symbol->st_size)
		return "libgmp.so.10 has no __gmpn_divrem_1 with a size";
	*ret = (struct subject){ call_gmp, (uint64_t)divide, symbol->st_size };
	return NULL;
}

/* ---- unwinding ---------------------------------------------------------------------------- */

struct chain {
	uint64_t pcs[FRAMES_MAX];
	size_t n;
	enum reel_stop stop;
};

static void map_files(struct reel_unwinder *unwinder, pid_t pid)
{
	char name[32], line[4096], rights[8], path[4096];
	unsigned long begin, end, offset;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &begin, &end, rights, &offset,
			   path) == 5 &&
		    rights[2] == 'x' && *path == '/')
			check(reel_unwinder_map(unwinder, begin, end - begin, offset, path));
	}
	if (file)
		fclose(file);
}

static void unwind(struct reel_unwinder *unwinder, pid_t pid, const struct user_regs_struct *regs,
		   struct chain *ret)
{
	static uint8_t bytes[STACK_SIZE];
	const struct reel_register registers[] = {
		{ 0, regs->rax },  { 1, regs->rdx },  { 2, regs->rcx },	 { 3, regs->rbx },
		{ 4, regs->rsi },  { 5, regs->rdi },  { 6, regs->rbp },	 { 7, regs->rsp },
		{ 8, regs->r8 },   { 9, regs->r9 },   { 10, regs->r10 }, { 11, regs->r11 },
		{ 12, regs->r12 }, { 13, regs->r13 }, { 14, regs->r14 }, { 15, regs->r15 },
		{ 16, regs->rip },
	};
	struct iovec here = { bytes, sizeof(bytes) },
		     there = { (void *)(regs->rsp - 128), sizeof(bytes) };
	ssize_t size = process_vm_readv(pid, &here, 1, &there, 1, 0);
	const struct reel_memory memory = { regs->rsp - 128, size > 0 ? (size_t)size : 0, bytes };
	const REEL_SIZED(reel_stack, stack, .registers = registers,
			 .n_registers = sizeof(registers) / sizeof(registers[0]), .memory = &memory,
			 .n_memory = 1, .max_frames = FRAMES_MAX);
	const struct reel_unwound *unwound;

	check(reel_unwind(unwinder, &stack, &unwound));
	ret->n = unwound->n_frames;
	ret->stop = unwound->stop;
	for (size_t i = 0; i < unwound->n_frames; i++)
		ret->pcs[i] = unwound->addresses[i];
}

/* ---- stepping ----------------------------------------------------------------------------- */

/* `chain` ends with the caller's return address and with all frames of `before` but its first. */
static bool is_right(const struct chain *chain, const struct chain *before, uint64_t returns_to)
{
	size_t n = before->n - 1;

	return chain->stop == before->stop && chain->n > n + 1 &&
	       chain->pcs[chain->n - n - 1] == returns_to &&
	       !memcmp(chain->pcs + chain->n - n, before->pcs + 1, n * sizeof(before->pcs[0]));
}

static void tell(const struct chain *chain, const struct subject *subject)
{
	printf("+0x%llx: %s:", (unsigned long long)(chain->pcs[0] - subject->begin),
	       reel_stop_name(chain->stop));
	for (size_t i = 0; i < chain->n && i < 6; i++)
		printf(" %llx", (unsigned long long)chain->pcs[i]);
	putchar('\n');
}

static bool step(pid_t pid, struct user_regs_struct *ret)
{
	int status;

	return !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status) && !ptrace(PTRACE_GETREGS, pid, NULL, ret);
}

/* Everything from a call to the subject until its return is checked. */
static int run(const struct subject *subject)
{
	unsigned long checked = 0, wrong = 0, calls = 0;
	struct chain chain, before = { 0 };
	struct reel_unwinder *unwinder;
	struct user_regs_struct regs;
	uint64_t last_sp = 0, last_pc = 0, returns_to = 0, inside = 0;
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		subject->call();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	check(reel_unwinder_create("x86_64", &unwinder));
	map_files(unwinder, pid);
	for (unsigned i = 0; i < STEPS_MAX && step(pid, &regs); i++) {
		if (inside && regs.rsp > inside)
			inside = 0;
		if (!inside && regs.rip - subject->begin < subject->size) {
			inside = regs.rsp;
			calls++;
			returns_to = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, regs.rsp, NULL);
			/* One back, at the call: the caller has CFI. */
			regs.rip = last_pc;
			regs.rsp = last_sp;
			unwind(unwinder, pid, &regs, &before);
			ptrace(PTRACE_GETREGS, pid, NULL, &regs);
		}
		if (inside) {
			unwind(unwinder, pid, &regs, &chain);
			checked++;
			if (!is_right(&chain, &before, returns_to) && wrong++ < 20)
				tell(&chain, subject);
		}
		last_pc = regs.rip;
		last_sp = regs.rsp;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	reel_unwinder_destroy(unwinder);
	printf("%lu instructions in %lu calls, %lu wrong\n", checked, calls, wrong);
	return wrong || !calls;
}

/* ---- landing pads ------------------------------------------------------------------------- */

static jmp_buf thrown_to;
static volatile int cleanups;

static void clean_up(volatile int *value)
{
	cleanups += *value;
}

static _Unwind_Reason_Code stop_at_end(int version, _Unwind_Action actions,
				       _Unwind_Exception_Class class,
				       struct _Unwind_Exception *exception,
				       struct _Unwind_Context *context, void *last)
{
	(void)version, (void)class, (void)exception, (void)context, (void)last;
	if (actions & _UA_END_OF_STACK || cleanups == 2)
		longjmp(thrown_to, 1);
	return _URC_NO_REASON;
}

__attribute__((noinline)) static void throw_through(int depth)
{
	static struct _Unwind_Exception exception;
	__attribute__((cleanup(clean_up))) volatile int one = 1;

	if (depth)
		throw_through(depth - 1);
	else
		_Unwind_ForcedUnwind(&exception, stop_at_end, NULL);
	cleanups += one;
}

static void call_throw(void)
{
	if (!setjmp(thrown_to))
		throw_through(1);
}

/* `chain` has one frame more than `after`, and the same otherwise. */
static bool leads_to(const struct chain *chain, const struct chain *after)
{
	return chain->stop == after->stop && chain->n == after->n + 1 &&
	       !memcmp(chain->pcs + 1, after->pcs, after->n * sizeof(after->pcs[0]));
}

/* mov %rcx,%rsp; pop %rcx; jmp *%rcx: libgcc's __builtin_eh_return. */
#define JUMP 0xe1ff59cc8948

static bool is_jump(pid_t pid, uint64_t pc)
{
	uint64_t code = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, pc, NULL);

	return (code & 0xffffffffffff) == JUMP;
}

static int run_throw(void)
{
	unsigned long jumps = 0, wrong = 0;
	struct chain chains[3], after;
	struct reel_unwinder *unwinder;
	struct user_regs_struct regs;
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		call_throw();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	check(reel_unwinder_create("x86_64", &unwinder));
	map_files(unwinder, pid);
	for (unsigned i = 0; i < STEPS_MAX && step(pid, &regs); i++) {
		bool more = is_jump(pid, regs.rip);

		for (unsigned j = 0; more && j < 3; j++) {
			unwind(unwinder, pid, &regs, &chains[j]);
			more = step(pid, &regs);
		}
		if (!more)
			continue;
		unwind(unwinder, pid, &regs, &after);
		jumps++;
		for (unsigned j = 0; j < 3; j++)
			wrong += !leads_to(&chains[j], &after) || after.stop != REEL_STOP_ROOT;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	reel_unwinder_destroy(unwinder);
	printf("%lu jumps to landing pads, %lu wrong instructions\n", jumps, wrong);
	return wrong ? 1 : jumps ? 0 : SKIPPED;
}

int main(int argc, char **argv)
{
	struct subject subject = { 0 };
	const char *why = argc == 2 && !strcmp(argv[1], "gmp") ? find_gmp(&subject) : "no subject";

	if (argc == 2 && !strcmp(argv[1], "throw"))
		return run_throw();
	if (why) {
		puts(why);
		return SKIPPED;
	}
	return run(&subject);
}
#else
int main(void)
{
	puts("only x86_64 is supported");
	return SKIPPED;
}
#endif
