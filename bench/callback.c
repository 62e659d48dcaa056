/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command, and reports the kernel's cost of samples of threads named NAME, by events of HZ,
 * from any recorder (see bench/callback.bpf.c):
 *
 *   callback OBJECT NAME HZ FILE COMMAND...
 *
 * writes a line to FILE: samples, the median and the mean of a timer callback in ns, and
 * the mean of callback and irq_work together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>

#include "bench/callback.h"

static void fail(const char *what)
{
	fprintf(stderr, "callback: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct bpf_object *load(const char *path, const char *name, const char *frequency)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct callback_target target = { .period = 1000000000 / strtoull(frequency, NULL, 10) };
	struct bpf_program *program;

	if (!object)
		fail(path);
	memcpy(target.name, name, strnlen(name, sizeof(target.name) - 1));
	if (bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata.target"),
				       &target, sizeof(target)) ||
	    bpf_object__load(object))
		fail("loading");
	bpf_object__for_each_program(program, object)
	{
		if (!bpf_program__attach(program))
			fail(bpf_program__name(program));
	}
	return object;
}

static int run(char **command)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		fail("fork");
	if (!pid) {
		execvp(command[0], command);
		fail(command[0]);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			fail("waitpid");
	}
	return status;
}

static struct callback_state total(struct bpf_object *object, size_t n_cpus)
{
	struct callback_state *states = calloc(n_cpus, sizeof(*states)), sum = { 0 };
	__u32 zero = 0;

	if (!states ||
	    bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "states"), &zero, states))
		fail("reading the states");
	for (size_t i = 0; i < n_cpus; i++) {
		sum.callbacks += states[i].callbacks;
		sum.callback_ns += states[i].callback_ns;
		sum.irq_work_ns += states[i].irq_work_ns;
	}
	free(states);
	return sum;
}

static double median(struct bpf_object *object, size_t n_cpus, __u64 callbacks)
{
	int map = bpf_object__find_map_fd_by_name(object, "durations");
	__u64 *counts = calloc(n_cpus, sizeof(*counts)), seen = 0;
	__u32 step = 0;

	for (; counts && step < CALLBACK_STEPS; step++) {
		if (bpf_map_lookup_elem(map, &step, counts))
			fail("reading the durations");
		for (size_t i = 0; i < n_cpus; i++)
			seen += counts[i];
		if (2 * seen >= callbacks)
			break;
	}
	free(counts);
	return (step + 0.5) * CALLBACK_STEP;
}

int main(int argc, char **argv)
{
	int n_cpus = libbpf_num_possible_cpus(), status;
	struct bpf_object *object;
	struct callback_state sum;
	FILE *file;

	if (argc < 6 || n_cpus < 1) {
		fputs("usage: callback OBJECT NAME HZ FILE COMMAND...\n", stderr);
		return 2;
	}
	object = load(argv[1], argv[2], argv[3]);
	status = run(argv + 5);
	sum = total(object, (size_t)n_cpus);
	file = fopen(argv[4], "w");
	if (!file)
		fail(argv[4]);
	fprintf(file, "%llu\t%.0f\t%.0f\t%.0f\n", sum.callbacks,
		sum.callbacks ? median(object, (size_t)n_cpus, sum.callbacks) : 0,
		sum.callbacks ? (double)sum.callback_ns / (double)sum.callbacks : 0,
		sum.callbacks ? (double)(sum.callback_ns + sum.irq_work_ns) / (double)sum.callbacks
			      : 0);
	fclose(file);
	bpf_object__close(object);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
