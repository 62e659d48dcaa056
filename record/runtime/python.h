/* SPDX-License-Identifier: Apache-2.0 */
/* CPython, as the interface of runtime.h asks for it. */
#ifndef RECORD_RUNTIME_PYTHON_H
#define RECORD_RUNTIME_PYTHON_H

#include "record/runtime/runtime.h"

extern const struct reel_runtime python_runtime;

enum reel_runtime_answer python_locate(uint32_t pid, const struct reel_runtime_place *place,
				       struct reel_bpf_interpreter *ret);
bool python_is_valid(const struct reel_bpf_interpreter *interpreter);

#endif
