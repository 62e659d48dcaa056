/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the BTF of the running kernel. */
#ifndef RECORD_SAMPLING_KERNEL_NAMES_H
#define RECORD_SAMPLING_KERNEL_NAMES_H

#include <stdbool.h>

#define REEL_KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Whether it contains a name: reliable enough for a unique one. */
bool reel_kernel_has(const char *name);

/* Whether a BPF program that scans all threads may sleep: from 5.18 on. */
bool reel_scans_may_sleep(void);

#endif
