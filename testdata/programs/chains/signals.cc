/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer's signal interrupts functions that are little else than prologue and epilogue
 * (interruptible), at any of their instructions.
 *
 *   handler           … interruptible … -> [signal] -> on_timer -> handler_work
 *   alternate         the same, with the handler on its own stack
 *   nested            that handler is interrupted by a second one, on the same alternate stack:
 *                     … -> [signal] -> on_outer -> raise … -> [signal] -> on_inner -> inner_work
 *   alternate-thread  as alternate, in a thread:  clone … -> thread_main -> interruptible …
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "chains.h"

enum { ALTERNATE_SIZE = 256 << 10, PERIOD_NS = 1000000 };

NOINLINE uint64_t handler_work(uint64_t value)
{
	return spin(100000, value);
}

static NOINLINE void on_timer(int)
{
	sink = handler_work(sink);
	sink = sink + 1;
}

NOINLINE uint64_t inner_work(uint64_t value)
{
	return spin(100000, value);
}

static NOINLINE void on_inner(int)
{
	sink = inner_work(sink);
	sink = sink + 1;
}

static NOINLINE void on_outer(int)
{
	raise(SIGUSR2);
	sink = sink + 1;
}

static bool on_signal(int number, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags | SA_RESTART;
	return sigaction(number, &action, nullptr) == 0;
}

static bool use_alternate_stack()
{
	stack_t stack;

	memset(&stack, 0, sizeof(stack));
	stack.ss_size = ALTERNATE_SIZE;
	stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return stack.ss_sp != MAP_FAILED && sigaltstack(&stack, nullptr) == 0;
}

/* SIGUSR1 to this thread, repeatedly: often, but so that the handler only takes part of the
 * time. */
static bool start_timer()
{
	double start = cpu_seconds();
	long period;

	sink = handler_work(sink);
	period = (long)(4e9 * (cpu_seconds() - start));
	if (period < PERIOD_NS)
		period = PERIOD_NS;
	if (period > 500000000)
		period = 500000000;

	struct itimerspec times = { { 0, period }, { 0, period } };
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGUSR1;
#ifndef sigev_notify_thread_id
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#else
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#endif
	return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
	       timer_settime(timer, 0, &times, nullptr) == 0;
}

/* Must be inlined into the mode, so that the mode is in the chain. */
static INLINE int interrupt(double seconds)
{
	if (!start_timer())
		return 1;
	while (cpu_seconds() < seconds)
		sink = interruptible(sink);
	/* The following code must not be interrupted. */
	return signal(SIGUSR1, SIG_IGN) == SIG_ERR;
}

NOINLINE int mode_handler(double seconds, char **)
{
	return on_signal(SIGUSR1, on_timer, 0) ? interrupt(seconds) : 1;
}

NOINLINE int mode_alternate(double seconds, char **)
{
	return use_alternate_stack() && on_signal(SIGUSR1, on_timer, SA_ONSTACK)
		       ? interrupt(seconds)
		       : 1;
}

NOINLINE int mode_nested(double seconds, char **)
{
	return use_alternate_stack() && on_signal(SIGUSR1, on_outer, SA_ONSTACK) &&
			       on_signal(SIGUSR2, on_inner, SA_ONSTACK)
		       ? interrupt(seconds)
		       : 1;
}

static NOINLINE void *thread_main(void *seconds)
{
	/* i386's kernel makes other frames for handlers with SA_SIGINFO. */
	return use_alternate_stack() && on_signal(SIGUSR1, on_timer, SA_ONSTACK | SA_SIGINFO) &&
			       interrupt(*static_cast<double *>(seconds)) == 0
		       ? seconds
		       : nullptr;
}

int mode_alternate_thread(double seconds, char **)
{
	void *result = nullptr;
	pthread_t thread;

	if (pthread_create(&thread, nullptr, thread_main, &seconds) ||
	    pthread_join(thread, &result))
		return 1;
	return result ? 0 : 1;
}
