/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs functions on a stack in the heap that call others on the thread's stack, and so on, with the
 * instructions, data and CFI of OCaml 5.3's runtime/amd64.S: caml_start_program (start_program),
 * caml_c_call (c_call), and calls of C functions that allocate nothing (quiet_call).
 */
#include <pthread.h>
#include <stdlib.h>

#define HEAP_STACK 65536
#define ROUNDS	   700

struct link;

struct info {
	char *sp, *exception, *handler;
	long rest[4];
};

struct state {
	long young[5];
	struct info *current_stack;
	long exception_handler, action_pending;
	struct link *c_stack;
};

__thread struct state *caml_state;

void start_program(struct state *state, void (*function)(int), int n);
void c_call(void (*function)(int), int n);
void quiet_call(void (*function)(int), int n);

__asm__(".text\n"
	".type start_program, @function\n"
	"start_program:\n"
	".cfi_startproc\n"
	"push %rbx; .cfi_adjust_cfa_offset 8; .cfi_offset %rbx, -16\n"
	"push %rbp; .cfi_adjust_cfa_offset 8; .cfi_offset %rbp, -24\n"
	"push %r12; .cfi_adjust_cfa_offset 8; .cfi_offset %r12, -32\n"
	"push %r13; .cfi_adjust_cfa_offset 8; .cfi_offset %r13, -40\n"
	"push %r14; .cfi_adjust_cfa_offset 8; .cfi_offset %r14, -48\n"
	"push %r15; .cfi_adjust_cfa_offset 8; .cfi_offset %r15, -56\n"
	"mov %rdi, %r14\n"
	"sub $24, %rsp; .cfi_adjust_cfa_offset 24\n"
	"movq $0, (%rsp)\n"
	"movq $0, 8(%rsp)\n"
	"mov 0x40(%r14), %r10\n"
	"mov %r10, 16(%rsp)\n"
	"mov %rsp, 0x40(%r14)\n"
	"mov 0x28(%r14), %r11\n"
	"mov (%r11), %r11\n"
	"lea -16(%r11), %r10\n"
	"and $-16, %r10\n"
	"mov %rsp, (%r10)\n"
	"mov %r11, 8(%r10)\n"
	"mov %r10, %rsp\n"
	".cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 80\n" /* CFA = *rsp + 80 */
	"mov %edx, %edi\n"
	"call *%rsi\n"
	"mov 8(%rsp), %r10\n"
	"mov 0x28(%r14), %r11\n"
	"mov %r10, (%r11)\n"
	"mov 0x40(%r14), %rsp\n"
	".cfi_def_cfa %rsp, 80\n"
	"mov 16(%rsp), %r10\n"
	"mov %r10, 0x40(%r14)\n"
	"add $24, %rsp; .cfi_adjust_cfa_offset -24\n"
	"pop %r15; .cfi_adjust_cfa_offset -8; .cfi_same_value %r15\n"
	"pop %r14; .cfi_adjust_cfa_offset -8; .cfi_same_value %r14\n"
	"pop %r13; .cfi_adjust_cfa_offset -8; .cfi_same_value %r13\n"
	"pop %r12; .cfi_adjust_cfa_offset -8; .cfi_same_value %r12\n"
	"pop %rbp; .cfi_adjust_cfa_offset -8; .cfi_same_value %rbp\n"
	"pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_same_value %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size start_program, . - start_program\n"
	".type c_call, @function\n"
	"c_call:\n"
	".cfi_startproc\n"
	"mov caml_state@gottpoff(%rip), %rax\n"
	"mov %fs:(%rax), %r9\n"
	"mov 0x28(%r9), %r10\n"
	"mov %rsp, (%r10)\n"
	"mov 0x40(%r9), %r11\n"
	"mov %rsp, 8(%r11)\n"
	"mov %r10, (%r11)\n"
	"mov %r11, %rsp\n"
	".cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n" /* CFA = *(rsp + 8) + 8 */
	"mov %rdi, %rax\n"
	"mov %esi, %edi\n"
	"call *%rax\n"
	"mov 8(%rsp), %rsp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size c_call, . - c_call\n"
	".type quiet_call, @function\n"
	"quiet_call:\n"
	".cfi_startproc\n"
	"push %rbx; .cfi_adjust_cfa_offset 8; .cfi_offset %rbx, -16\n"
	"mov %rsp, %rbx; .cfi_def_cfa_register %rbx\n"
	"mov caml_state@gottpoff(%rip), %rax\n"
	"mov %fs:(%rax), %r9\n"
	"mov 0x40(%r9), %rsp\n"
	"mov %rdi, %rax\n"
	"mov %esi, %edi\n"
	"call *%rax\n"
	"mov %rbx, %rsp; .cfi_def_cfa_register %rsp\n"
	"pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_same_value %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size quiet_call, . - quiet_call\n");

static __thread volatile long sink;

__attribute__((noinline)) static void spin_heap(void)
{
	for (int i = 0; i < 40000; i++)
		sink += i;
}

/* Its own stack hides the register that has the other one. */
__attribute__((noinline)) static void spin_c(int n)
{
	volatile long room[256];

	room[n] = n;
	for (int i = 0; i < 40000; i++)
		sink += i;
	__asm__ volatile("" : : "r"(room[n]) : "rbx");
}

static void via_c(int n);

__attribute__((noinline)) static void level(int n)
{
	spin_heap();
	quiet_call(spin_c, n);
	c_call(via_c, n);
	__asm__ volatile("");
}

__attribute__((noinline)) static void via_c(int n)
{
	if (n)
		start_program(caml_state, level, n - 1);
	else
		spin_c(n);
	__asm__ volatile("");
}

__attribute__((noinline)) static void *run(void *unused)
{
	char *memory = aligned_alloc(16, HEAP_STACK);
	struct info *stack = (struct info *)memory;
	struct state state = { .current_stack = stack };

	*stack = (struct info){ .sp = memory + HEAP_STACK - 64,
				.handler = memory + HEAP_STACK - 64 };
	caml_state = &state;
	for (int i = 0; i < ROUNDS; i++)
		start_program(&state, level, 2);
	free(memory);
	return unused;
}

int main(void)
{
	pthread_t thread;

	run(NULL);
	if (!pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, NULL);
	return 0;
}
