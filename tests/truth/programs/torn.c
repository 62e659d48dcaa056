/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that constantly rewrite their own stacks, so that the registers of a sample
 * taken at any instruction determine every word of the stack, which torn_check.c
 * verifies.
 *
 *   torn SECONDS MODE:WORDS...     a thread for each, the first in the main thread
 *
 *   up      stores word after word; rcx shows how far it got
 *   rep     rep stosq; rdi shows how far (SDM, "REP": an interrupt leaves the state of
 *           the iterations that were done)
 *   push    pushes that many words, and pops them: sp itself moves
 *   sys     the kernel writes them, by pread
 *   hole    as `up`, but one page of them was dropped by madvise before each pass
 *   alt     as `up`, and signals whose handler does the same on an alternate stack
 *   other   does nothing while another thread writes to its stack as `up` does:
 *           no sampler can read that at once, so torn_check --control must see it
 *
 * A word holds its generation (the number of the pass) and its index, so it is wrong at
 * any other place or time.  First line of the output: addresses in the code; then a line
 * for each thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "torn.h"

#ifndef __x86_64__
#error "only x86-64 has these loops yet"
#endif

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define PAGE 4096u

/* unused: rcx is the loop's index, r8 nothing; `context` stays in r9 for the checker. */
void torn_up(uint64_t *base, uint64_t generation, uint64_t words, uint64_t unused1,
	     uint64_t unused2, const void *context);
void torn_rep(uint64_t *base, uint64_t generation, uint64_t words);
void torn_push(uint64_t unused, uint64_t generation, uint64_t words);
long torn_pread(int fd, void *base, uint64_t size, uint64_t offset);
long torn_madvise(void *page, size_t size, int advice);
void torn_wait(volatile int *until);
extern const char torn_begin[], torn_up_stored[], torn_up_next[], torn_up_end[], torn_rep_end[],
	torn_push_mark[], torn_push_pop[], torn_push_end[], torn_pread_done[], torn_madvise_done[];

__asm__(".text\n"
	".globl torn_begin, torn_up, torn_up_stored, torn_up_next, torn_rep, torn_rep_end\n"
	".globl torn_push, torn_push_mark, torn_push_pop, torn_push_end\n"
	".globl torn_pread, torn_pread_done, torn_madvise, torn_madvise_done\n"
	".globl torn_wait, torn_up_end\n"
	"torn_begin:\n"
	".type torn_up, @function\n"
	"torn_up: .cfi_startproc\n"
	"	xor %ecx, %ecx\n"
	"1:	lea (%rsi,%rcx), %rax\n"
	"	mov %rax, (%rdi,%rcx,8)\n"
	"torn_up_stored: inc %rcx\n"
	"torn_up_next: cmp %rdx, %rcx\n"
	"	jb 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size torn_up, . - torn_up\n"
	"torn_up_end:\n"
	".type torn_rep, @function\n"
	"torn_rep: .cfi_startproc\n"
	"	mov %rsi, %rax\n"
	"	mov %rdx, %rcx\n"
	"	rep stosq\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size torn_rep, . - torn_rep\n"
	"torn_rep_end:\n"
	/* The CFA is in rdi, since rsp moves. */
	".type torn_push, @function\n"
	"torn_push: .cfi_startproc\n"
	"	mov %rsp, %rdi\n"
	"torn_push_mark:\n"
	"	.cfi_def_cfa %rdi, 8\n"
	"	xor %ecx, %ecx\n"
	"1:	lea (%rsi,%rcx), %rax\n"
	"	push %rax\n"
	"	inc %rcx\n"
	"	cmp %rdx, %rcx\n"
	"	jb 1b\n"
	"torn_push_pop:\n"
	"	pop %rax\n"
	"	dec %rcx\n"
	"	jnz torn_push_pop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size torn_push, . - torn_push\n"
	"torn_push_end:\n"
	".type torn_pread, @function\n"
	"torn_pread: .cfi_startproc\n"
	"	mov %rcx, %r10\n"
	"	mov $17, %eax\n"
	"	syscall\n"
	"torn_pread_done: ret\n"
	"	.cfi_endproc\n"
	".size torn_pread, . - torn_pread\n"
	".type torn_madvise, @function\n"
	"torn_madvise: .cfi_startproc\n"
	"	mov $28, %eax\n"
	"	syscall\n"
	"torn_madvise_done: ret\n"
	"	.cfi_endproc\n"
	".size torn_madvise, . - torn_madvise\n"
	".type torn_wait, @function\n"
	"torn_wait: .cfi_startproc\n"
	"1:	cmpl $0, (%rdi)\n"
	"	je 1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size torn_wait, . - torn_wait\n");

/* Named as in torn_check.c. */
extern const char __executable_start[], etext[];
static const struct {
	const char *name;
	const char *address;
} places[] = {
	{ "text", __executable_start },
	{ "text_end", etext },
	{ "up", torn_begin },
	{ "up_stored", torn_up_stored },
	{ "up_next", torn_up_next },
	{ "rep", torn_up_end },
	{ "push", torn_rep_end },
	{ "push_mark", torn_push_mark },
	{ "push_pop", torn_push_pop },
	{ "push_end", torn_push_end },
	{ "pread_done", torn_pread_done },
	{ "madvise_done", torn_madvise_done },
};

struct worker {
	enum torn_mode mode;
	uint64_t words;
	const void *frame; /* nothing changes above it */
	pthread_t thread;
	/* For `alt`. */
	uint64_t handler_generation;
};

static volatile int stop;
static double seconds;
static __thread struct worker *current;

/* ---- data for the checker --------------------------------------------------------------- */

/* mm->start_stack: proc_pid_stat(5), field 28. */
static uint64_t start_stack(void)
{
	char line[1024] = "", *at;
	FILE *file = fopen("/proc/self/stat", "re");
	size_t size;

	if (!file)
		exit(1);
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = '\0';
	at = strrchr(line, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* From this time on all words belong to a generation. */
static void tell(const struct worker *worker, const uint64_t *base)
{
	bool is_main = syscall(SYS_gettid) == getpid();
	uint64_t top = is_main ? start_stack() : (uint64_t)(uintptr_t)__builtin_thread_pointer();

	printf("thread %ld %s %lu %lu %lu %lu %lu\n", syscall(SYS_gettid),
	       torn_mode_names[worker->mode], now(), (unsigned long)(uintptr_t)base, worker->words,
	       (unsigned long)(uintptr_t)worker->frame, top);
	fflush(stdout);
}

/* ---- the loops ----------------------------------------------------------------------------- */

static void fill(uint64_t *base, uint64_t words, uint64_t generation)
{
	for (uint64_t i = 0; i < words; i++)
		((volatile uint64_t *)base)[i] = TORN_WORD(generation, i);
}

static __attribute__((noinline)) void run_up(uint64_t *base, uint64_t words)
{
	for (uint64_t generation = 1; !stop; generation++)
		torn_up(base, TORN_WORD(generation, 0), words, 0, 0, NULL);
}

static __attribute__((noinline)) void run_rep(uint64_t *base, uint64_t words)
{
	for (uint64_t generation = 1; !stop; generation++)
		torn_rep(base, TORN_WORD(generation, 0), words);
}

static __attribute__((noinline)) void run_push(uint64_t words)
{
	for (uint64_t generation = 1; !stop; generation++)
		torn_push(0, TORN_WORD(generation, 0), words);
}

/* Generations 0 and 1 are in a file. */
static __attribute__((noinline)) void run_sys(const struct worker *worker, uint64_t *base,
					      uint64_t words)
{
	int fd = memfd_create("torn", MFD_CLOEXEC);

	for (uint64_t generation = 0; generation < 2; generation++) {
		fill(base, words, generation);
		if (write(fd, base, words * 8) != (ssize_t)(words * 8))
			abort();
	}
	tell(worker, base);
	for (uint64_t generation = 2; !stop; generation++)
		torn_pread(fd, base, words * 8, generation % 2 * words * 8);
}

static __attribute__((noinline)) void run_hole(uint64_t *base, uint64_t words)
{
	uint64_t pages = words * 8 / PAGE;

	for (uint64_t generation = 1; !stop; generation++) {
		torn_madvise((char *)base + generation % pages * PAGE, PAGE, MADV_DONTNEED);
		torn_up(base, TORN_WORD(generation, 0), words, 0, 0, NULL);
	}
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	uint64_t words[TORN_HANDLER_WORDS];
	struct worker *worker = current;

	(void)number;
	(void)info;
	if (!worker->handler_generation) {
		fill(words, TORN_HANDLER_WORDS, 0);
		printf("handler %ld %lu %lu\n", syscall(SYS_gettid), now(),
		       (unsigned long)(uintptr_t)words);
		fflush(stdout);
	}
	for (int i = 0; i < 1500; i++)
		torn_up(words, TORN_WORD(++worker->handler_generation, 0), TORN_HANDLER_WORDS, 0, 0,
			context);
}

static void alternate_stack_set(void)
{
	stack_t stack = { .ss_size = TORN_ALTERNATE_SIZE };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec interval = { { 0, 400000 }, { 0, 400000 } };
	timer_t timer;

	stack.ss_sp = malloc(stack.ss_size);
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	memset(stack.ss_sp, 0, stack.ss_size);
	printf("alternate %ld %lu\n", syscall(SYS_gettid),
	       (unsigned long)((uintptr_t)stack.ss_sp + stack.ss_size));
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &interval, NULL))
		abort();
}

struct order {
	uint64_t *base;
	uint64_t words;
};

static void *write_other(void *argument)
{
	const struct order *order = argument;

	run_up(order->base, order->words);
	return NULL;
}

static __attribute__((noinline)) void run_other(uint64_t *base, uint64_t words)
{
	struct order order = { base, words };
	pthread_t writer;

	if (pthread_create(&writer, NULL, write_other, &order))
		abort();
	torn_wait(&stop);
	pthread_join(writer, NULL);
}

/* The words are above the loops' frames, at a page's start; above this function's frame nothing
 * changes. */
static __attribute__((noinline)) void run(struct worker *worker)
{
	uint64_t size = worker->mode == TORN_PUSH ? 8 : worker->words * 8;
	char *room = __builtin_alloca(size + PAGE);
	uint64_t *base = (uint64_t *)(((uintptr_t)room + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	current = worker;
	if (worker->mode == TORN_REP)
		memset(base, 0, size);
	else
		fill(base, size / 8, 0);
	if (worker->mode == TORN_ALT)
		alternate_stack_set();
	worker->frame = __builtin_frame_address(0);
	if (worker->mode != TORN_SYS)
		tell(worker, base);
	switch (worker->mode) {
	case TORN_ALT:
	case TORN_UP:
		run_up(base, worker->words);
		break;
	case TORN_REP:
		run_rep(base, worker->words);
		break;
	case TORN_PUSH:
		run_push(worker->words);
		break;
	case TORN_SYS:
		run_sys(worker, base, worker->words);
		break;
	case TORN_HOLE:
		run_hole(base, worker->words);
		break;
	case TORN_OTHER:
		run_other(base, worker->words);
		break;
	default:
		abort();
	}
	/* From here on the thread does other work. */
	printf("end %ld %lu\n", syscall(SYS_gettid), now());
	fflush(stdout);
}

static void *worker_main(void *worker)
{
	run(worker);
	return NULL;
}

static void *keep_time(void *unused)
{
	struct timespec time = { (time_t)seconds, (long)((seconds - (double)(long)seconds) * 1e9) };

	(void)unused;
	nanosleep(&time, NULL);
	stop = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[TORN_THREADS_MAX];
	pthread_t timekeeper;
	int count = argc - 2;

	if (count < 1 || count > TORN_THREADS_MAX) {
		fprintf(stderr, "torn SECONDS MODE:WORDS...\n");
		return 2;
	}
	seconds = atof(argv[1]);
	for (int i = 0; i < count; i++) {
		char *colon = strchr(argv[i + 2], ':');

		if (!colon)
			return 2;
		*colon = '\0';
		workers[i].mode = torn_mode(argv[i + 2]);
		workers[i].words = strtoull(colon + 1, NULL, 10);
		if (workers[i].mode == TORN_MODES || !workers[i].words)
			return 2;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		printf("code %s %lu\n", places[i].name,
		       (unsigned long)(uintptr_t)places[i].address);
	if (pthread_create(&timekeeper, NULL, keep_time, NULL))
		return 1;
	for (int i = 1; i < count; i++) {
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]))
			return 1;
	}
	run(&workers[0]);
	for (int i = 1; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(timekeeper, NULL);
	return 0;
}
