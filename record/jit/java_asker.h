/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has JVMs write their perf maps (--java-perfmap).  A helper is forked before the recorder gives up
 * its rights, and starts a process for each JVM.  That process first becomes the JVM's user,
 * since a JVM answers its own user and root only, and speaks the part of HotSpot's attach protocol
 * (src/hotspot/os/linux/attachListener_linux.cpp) that makes a JVM write its perf map.
 */
#ifndef RECORD_JIT_JAVA_ASKER_H
#define RECORD_JIT_JAVA_ASKER_H

#include <stdint.h>

#include "base/error.h"

struct reel_java_asker;

/* Call before the recorder has files and memory of its own, and before it gives up rights. */
struct reel_error *reel_java_asker_create(struct reel_java_asker **ret) REEL_MUST_CHECK;
void reel_java_asker_destroy(struct reel_java_asker *asker);

/* Asks the process, if it is a JVM; returns NULL, or a static text with the reason for failure. */
const char *reel_java_asker_ask(struct reel_java_asker *asker, uint32_t pid);
/* Waits some seconds until all JVMs asked have written their perf maps; calls `fail` for each that
 * did not, with the reason. */
void reel_java_asker_wait(struct reel_java_asker *asker,
			  void (*fail)(void *context, uint32_t pid, const char *why),
			  void *context);

#endif
