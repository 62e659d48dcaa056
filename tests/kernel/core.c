/* SPDX-License-Identifier: Apache-2.0 */
/* A miniature kernel, for tests/kernel/test-kernel-symbols.sh: inlined functions, two static
 * functions of the same name (the other is in more.c), one at the very start. */
volatile int sink;

__asm__(".section .head.text,\"ax\"\n"
	".globl _text\n"
	"_text: nop\n"
	"nop\n"
	".previous\n");

static inline __attribute__((always_inline)) int read_lock(int lock)
{
	sink += lock;
	return sink;
}

static inline __attribute__((always_inline)) int rcu_lock(int lock)
{
	return read_lock(lock) + sink * 3;
}

static __attribute__((noinline)) int helper(int n)
{
	sink = n;
	return rcu_lock(n) ^ sink;
}

int more(int n);

__attribute__((noinline)) int vfs_read(int n)
{
	int got = helper(n);

	got += more(got);
	return got + rcu_lock(got);
}

static inline __attribute__((always_inline)) int do_read(int n)
{
	return vfs_read(n) + 1;
}

int sys_read(int n)
{
	return do_read(n) * 2 + do_read(n + 1);
}

/* A call ends it: its return address belongs to the next function. */
__attribute__((noreturn, noinline)) void panic(int n)
{
	for (;;)
		sink = n;
}

__attribute__((noinline)) void die(int n)
{
	sink = n;
	panic(n + 1);
}

int after_die(int n)
{
	return read_lock(n);
}
