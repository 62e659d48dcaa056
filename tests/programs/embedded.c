/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a Python function and computes by itself, in turns, for some ms each: the thread's state has frames only at times. */
#include <Python.h>
#include <time.h>

#define TURNS 100
#define TURN  5000000 /* ns */

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

__attribute__((noinline)) void compute(void);

volatile unsigned long sink;

void compute(void)
{
	long long end = now() + TURN;

	while (now() < end) {
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i;
	}
}

int main(void)
{
	Py_Initialize();
	PyRun_SimpleString("import time\n"
			   "def called(ms):\n"
			   "    end = time.thread_time() + ms / 1000\n"
			   "    while time.thread_time() < end: pass\n"
			   "called(300)\n");
	for (int i = 0; i < TURNS; i++) {
		compute();
		PyRun_SimpleString("called(5)");
	}
	return Py_FinalizeEx();
}
