/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has JVMs write down what they named (--java-perfmap), with the JDK's jcmd, which knows how one is
 * asked, also in a container.  It is run by a process that is forked before the recorder gives up
 * its rights and keeps them, as a JVM answers its own user and root only.
 */
#ifndef RECORD_JIT_JAVA_ASKER_H
#define RECORD_JIT_JAVA_ASKER_H

#include <stdint.h>

#include "base/error.h"

struct reel_java_asker;

/* Before the recorder has files and memory of its own, and before it gives up rights. */
struct reel_error *reel_java_asker_create(struct reel_java_asker **ret) REEL_MUST_CHECK;
void reel_java_asker_destroy(struct reel_java_asker *asker);

/*
 * Waits until the process has written its perf map, some seconds for all that are asked.  NULL: it
 * did, or is no JVM; else why not, a static text.
 */
const char *reel_java_asker_ask(struct reel_java_asker *asker, uint32_t pid);

#endif
