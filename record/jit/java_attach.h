/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's attach protocol (src/hotspot/os/linux/attachListener_linux.cpp), as far as it takes to
 * have a JVM write its perf map.
 */
#ifndef RECORD_JIT_JAVA_ATTACH_H
#define RECORD_JIT_JAVA_ATTACH_H

#include <stdint.h>

enum reel_java_answer {
	REEL_JAVA_TOLD,
	REEL_JAVA_NO_JVM,
	REEL_JAVA_DEAF,	     /* SIGQUIT would end it */
	REEL_JAVA_NO_ACCESS, /* its user cannot be taken on, or its root not be entered */
	REEL_JAVA_REFUSED,
	REEL_JAVA_SILENT,
	REEL_JAVA_ANSWERS,
};

/*
 * For a process of its own, which can do nothing else afterwards: it enters the target's root,
 * becomes the target's user without any privilege, and is killed after some seconds.  Whoever poses
 * as a JVM can thus make it do only what he may do himself.
 */
enum reel_java_answer reel_java_attach(uint32_t pid);

#endif
