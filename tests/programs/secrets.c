/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps secrets wherever a program may have them, and spends time there, so that samples have
 * them.
 *
 *     secrets [ROUNDS [PASSWORD]]
 *
 * First prints the secrets, one per line: the place, and the bytes in hexadecimal.
 *
 *     stack-NAME      the bytes are adjacent on a stack
 *     number-NAME     each four are, apart from each other
 *     word-NAME       each eight are a register's value, or on the stack
 *     small-NAME      these eight are a register's value
 *
 * The kinds are random bytes (a key), and random ones of 64 characters (a password).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define KEY_SIZE 32
#define WORDS	 12
#define LETTERS	 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"

static char stack_key[KEY_SIZE], unaligned_key[KEY_SIZE], thread_key[KEY_SIZE];
static char password[KEY_SIZE], handler_key[KEY_SIZE], interrupted_key[KEY_SIZE],
	dead_key[KEY_SIZE], beside_keys[2][KEY_SIZE];
static uint32_t numbers[8];
static uint64_t kept_words[4], spinning_words[6], spilled_words[WORDS];
static uint64_t small_number;
static unsigned long rounds = 40000000;

static void make(const char *name, void *bytes, size_t size, int is_text)
{
	unsigned char *at = bytes;

	if (getrandom(bytes, size, 0) != (ssize_t)size)
		exit(1);
	printf("%s ", name);
	for (size_t i = 0; i < size; i++) {
		if (is_text)
			at[i] = (unsigned char)(LETTERS[at[i] % 64]);
		printf("%02x", at[i]);
	}
	putchar('\n');
}

/* The compiler must assume that all memory is read here. */
static void use(const void *bytes)
{
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static __attribute__((noinline)) void spin(void)
{
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("");
}

static __attribute__((noinline)) void in_buffers(void)
{
	_Alignas(16) char aligned[KEY_SIZE], text[64], unaligned[64], lone[8 * 8] = { 0 };

	memcpy(aligned, stack_key, KEY_SIZE);
	memcpy(unaligned + 3, unaligned_key, KEY_SIZE);
	memcpy(text + 5, password, KEY_SIZE);
	/* 32-bit numbers, in 64-bit words that are otherwise 0, and alone at odd addresses. */
	for (size_t i = 0; i < 8; i++)
		memcpy(lone + 8 * i + (i < 5 ? 0 : i - 4), &numbers[i], 4);
	use(aligned);
	use(unaligned);
	use(text);
	use(lone);
	spin();
	use(aligned);
	use(unaligned);
	use(text);
	use(lone);
}

/* A number that scrubbing may be told to keep, between secrets that it must not keep. */
struct message {
	char before[KEY_SIZE];
	int length;
	char after[KEY_SIZE];
};

static __attribute__((noinline)) void send_message(struct message *message)
{
	use(message);
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(message));
	use(message);
}

static __attribute__((noinline)) void in_structure(void)
{
	struct message message = { .length = 4711 }, *sent = &message;

	memcpy(message.before, beside_keys[0], KEY_SIZE);
	memcpy(message.after, beside_keys[1], KEY_SIZE);
	/* The compiler makes no special copy of the function for what it knows nothing of. */
	__asm__ volatile("" : "+r"(sent) : : "memory");
	send_message(sent);
	use(sent);
}

/* In registers that functions preserve for their callers. */
static __attribute__((noinline)) void in_kept_registers(void)
{
	uint64_t a = kept_words[0], b = kept_words[1], c = kept_words[2], d = kept_words[3];

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	spin();
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
}

/* In any available registers. */
static __attribute__((noinline)) void in_registers(void)
{
	uint64_t a = spinning_words[0], b = spinning_words[1], c = spinning_words[2];
	uint64_t d = spinning_words[3], e = spinning_words[4], f = spinning_words[5];

	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
}

/* As small as the counts that scrubbing may leave in x86-64's r9 (SPEC.md, B.1). */
static __attribute__((noinline)) void in_small_number(void)
{
#ifdef __x86_64__
	register uint64_t number __asm__("r9") = small_number;
#else
	uint64_t number = small_number;
#endif

	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(number));
}

/* From 700 on, 256 numbers; all eight bytes are printed. */
static void make_small(void)
{
	unsigned char byte;

	if (getrandom(&byte, 1, 0) != 1)
		exit(1);
	small_number = 700 + byte;
	printf("small-number ");
	for (size_t i = 0; i < sizeof(small_number); i++)
		printf("%02x", ((unsigned char *)&small_number)[i]);
	putchar('\n');
}

/* More than a function can keep: some are spilled. */
static __attribute__((noinline)) void in_spilled_registers(void)
{
	uint64_t w[WORDS];

#define TAKE(i)                                                                                    \
	w[i] = spilled_words[i];                                                                   \
	__asm__ volatile("" : "+r"(w[i]))
	TAKE(0);
	TAKE(1);
	TAKE(2);
	TAKE(3);
	TAKE(4);
	TAKE(5);
	TAKE(6);
	TAKE(7);
	TAKE(8);
	TAKE(9);
	TAKE(10);
	TAKE(11);
	spin();
#define GIVE(i) __asm__ volatile("" : : "r"(w[i]))
	GIVE(0);
	GIVE(1);
	GIVE(2);
	GIVE(3);
	GIVE(4);
	GIVE(5);
	GIVE(6);
	GIVE(7);
	GIVE(8);
	GIVE(9);
	GIVE(10);
	GIVE(11);
}

/* A function that returned left the secret below the stack pointer, within a red zone. */
static __attribute__((noinline)) void leave_behind(void)
{
	char left[KEY_SIZE];

	memcpy(left, dead_key, KEY_SIZE);
	use(left);
}

static __attribute__((noinline)) void in_dead_frame(void)
{
	leave_behind();
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("");
}

static void handler(int number)
{
	char copy[KEY_SIZE];

	(void)number;
	memcpy(copy, handler_key, KEY_SIZE);
	use(copy);
	spin();
	use(copy);
}

/* The handler has a separate stack; the interrupted code is sampled as well. */
static __attribute__((noinline)) void on_alternate_stack(void)
{
	size_t size = 65536;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	char copy[KEY_SIZE];

	memcpy(copy, interrupted_key, KEY_SIZE);
	use(copy);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		exit(1);
	raise(SIGUSR1);
	use(copy);
}

static void *in_thread(void *argument)
{
	char copy[KEY_SIZE + 1];

	memcpy(copy + 1, thread_key, KEY_SIZE);
	use(copy);
	spin();
	use(copy);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	make("stack-aligned", stack_key, KEY_SIZE, 0);
	make("stack-unaligned", unaligned_key, KEY_SIZE, 0);
	make("stack-password", password, KEY_SIZE, 1);
	make("stack-before", beside_keys[0], KEY_SIZE, 0);
	make("stack-after", beside_keys[1], KEY_SIZE, 1);
	make("number-number", numbers, sizeof(numbers), 0);
	make("word-kept", kept_words, sizeof(kept_words), 0);
	make("word-spinning", spinning_words, sizeof(spinning_words), 0);
	make("word-spilled", spilled_words, sizeof(spilled_words), 1);
	make_small();
	make("stack-dead", dead_key, KEY_SIZE, 0);
	make("stack-handler", handler_key, KEY_SIZE, 0);
	make("stack-interrupted", interrupted_key, KEY_SIZE, 1);
	make("stack-thread", thread_key, KEY_SIZE, 0);
	fflush(stdout);
	in_buffers();
	in_structure();
	in_kept_registers();
	in_registers();
	in_small_number();
	in_spilled_registers();
	in_dead_frame();
	on_alternate_stack();
	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	return 0;
}
