/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of HotSpot's attach protocol (src/hotspot/os/linux/attachListener_linux.cpp) that makes
 * a JVM write its perf map.
 */
#ifndef RECORD_JIT_JAVA_ATTACH_H
#define RECORD_JIT_JAVA_ATTACH_H

#include <stdint.h>

enum reel_java_answer {
	REEL_JAVA_TOLD,
	REEL_JAVA_NO_JVM,
	REEL_JAVA_DEAF,	     /* SIGQUIT would end it */
	REEL_JAVA_NO_ACCESS, /* cannot become its user, or enter its root */
	REEL_JAVA_REFUSED,
	REEL_JAVA_SILENT,
	REEL_JAVA_ANSWERS,
};

/*
 * Call in a process of its own, which can do nothing else afterwards: it enters the target's root,
 * becomes the target's user without any privilege, and is killed after some seconds.  A process
 * that poses as a JVM can thus only make it do things that its user may do anyway.
 */
enum reel_java_answer reel_java_attach(uint32_t pid);

#endif
