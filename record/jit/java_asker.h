/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has JVMs write down what they named (--java-perfmap).  A process that is forked before the
 * recorder gives up its rights starts another for each JVM, which becomes the JVM's user first
 * (java_attach.h): a JVM answers its own user and root only.
 */
#ifndef RECORD_JIT_JAVA_ASKER_H
#define RECORD_JIT_JAVA_ASKER_H

#include <stdint.h>

#include "base/error.h"

struct reel_java_asker;

/* Before the recorder has files and memory of its own, and before it gives up rights. */
struct reel_error *reel_java_asker_create(struct reel_java_asker **ret) REEL_MUST_CHECK;
void reel_java_asker_destroy(struct reel_java_asker *asker);

/* Asks the process, if it is a JVM; NULL, or why not, a static text. */
const char *reel_java_asker_ask(struct reel_java_asker *asker, uint32_t pid);
/* Waits some seconds until all that were asked have written their perf maps; `fail` is told who did
 * not, and why. */
void reel_java_asker_wait(struct reel_java_asker *asker,
			  void (*fail)(void *context, uint32_t pid, const char *why),
			  void *context);

#endif
