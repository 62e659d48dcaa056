/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel: its features, and helpful messages if it refuses something. */
#ifndef RECORD_HOST_KERNEL_H
#define RECORD_HOST_KERNEL_H

#include <sys/types.h>

#include "base/error.h"

/* Whether the running kernel has at least this version. */
bool reel_kernel_at_least(unsigned major, unsigned minor);

#define REEL_KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Whether its BTF contains a name: reliable enough for a unique one. */
bool reel_kernel_has(const char *name);

/* Whether a BPF program that scans all threads may sleep: from 5.18 on. */
bool reel_scans_may_sleep(void);

/* A number in a file of /proc/sys or /sys, or `otherwise` if missing. */
long reel_number_read(const char *path, long otherwise);

/* ns of CPU time of a process; 0 once it has ended. */
uint64_t reel_process_work(pid_t pid);
/* Bytes of a process's memory that are not of files; 0 once it has ended. */
uint64_t reel_process_memory(pid_t pid);

enum reel_refusal_of {
	REEL_REFUSAL_OF_BPF,	  /* of bpf(2) */
	REEL_REFUSAL_OF_EVENT,	  /* of perf_event_open(2) */
	REEL_REFUSAL_OF_FUNCTION, /* of bpf(2), for a program that traces a kernel function */
};

/*
 * `what` failed with EPERM or EACCES: returns PERMISSION, and names the missing rights or settings
 * (capabilities, lockdown, perf_event_paranoid).
 */
struct reel_error *reel_refusal_permission(int errnum, enum reel_refusal_of of, const char *what)
	__attribute__((returns_nonnull));

/* Loading the BPF programs failed; `detail` is libbpf's last warning, or empty. */
struct reel_error *reel_refusal_load(int errnum, const char *btf, const char *detail)
	__attribute__((returns_nonnull));

#endif
