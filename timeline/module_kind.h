/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMELINE_MODULE_KIND_H
#define TIMELINE_MODULE_KIND_H

#include "include/stackreel.h"

/*
 * The kind of a process's executable memory, by its name in /proc/PID/maps and the kernel's mmap
 * records (mm/, fs/proc/task_mmu.c, kernel/events/core.c).
 */
enum reel_module_kind reel_module_kind_of_name(const char *name);

#endif
