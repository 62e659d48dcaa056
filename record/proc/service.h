/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service a process belongs to, if it publishes that: OpenTelemetry's process context (OTEP
 * 4719), a mapping with a name of its own that leads to a protobuf message.
 */
#ifndef RECORD_PROC_SERVICE_H
#define RECORD_PROC_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Longer texts are ignored. */
#define REEL_SERVICE_TEXT 128

struct reel_proc_service {
	char name[REEL_SERVICE_TEXT];	     /* service.name; "": unknown */
	char environment[REEL_SERVICE_TEXT]; /* deployment.environment.name */
};

/* False if the process publishes nothing, or is just changing it. */
bool reel_proc_service(uint32_t pid, uint64_t deadline, struct reel_proc_service *ret);

#endif
