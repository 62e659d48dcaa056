/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains MODE [SECONDS [ARGUMENT...]]: see chains.h; the modes are in the files of their subjects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chains.h"

volatile uint64_t sink;

static const struct {
	const char *name;
	mode_function *run;
} modes[] = {
	{ "leaf", mode_leaf },
	{ "tiny", mode_tiny },
	{ "realign", mode_realign },
	{ "deep", mode_deep },
	{ "inline", mode_inline },
	{ "handler", mode_handler },
	{ "alternate", mode_alternate },
	{ "nested", mode_nested },
	{ "alternate-thread", mode_alternate_thread },
	{ "jump", mode_jump },
	{ "noreturn", mode_noreturn },
#ifdef __OPTIMIZE__
	{ "tail", mode_tail },
#endif
#ifdef __GLIBC__
	{ "coroutine", mode_coroutine },
#endif
#ifdef __cpp_exceptions
	{ "exception", mode_exception },
#endif
#ifndef STATIC
	{ "plt", mode_plt },
	{ "lazy", mode_lazy },
	{ "reload", mode_reload },
#endif
	{ "vdso", mode_vdso },
	{ "threads", mode_threads },
	{ "fork", mode_fork },
	{ "spawn", mode_spawn },
	{ "exec", mode_exec },
	{ "thread-exec", mode_thread_exec },
#ifdef BARE
	{ "bare-framed", mode_bare_framed },
	{ "bare", mode_bare },
#endif
};

static double cpu_at_start;

double cpu_seconds()
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - cpu_at_start;
}

int main(int argc, char **argv)
{
	static char *none[] = { nullptr };
	double seconds = argc > 2 ? atof(argv[2]) : 1;

	/* An emulated CPU may take longer to start than the mode runs. */
	cpu_at_start = cpu_seconds();
	for (const auto &mode : modes) {
		if (argc < 2 || strcmp(mode.name, argv[1]) != 0)
			continue;
		int status = mode.run(seconds, argc > 3 ? argv + 3 : none);
		sink = sink + 1;
		return status;
	}
	for (const auto &mode : modes)
		puts(mode.name);
	return argc < 2 ? 0 : 2;
}
