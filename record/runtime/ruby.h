/* SPDX-License-Identifier: Apache-2.0 */
/* Ruby (CRuby), as the interface of runtime.h asks for it. */
#ifndef RECORD_RUNTIME_RUBY_H
#define RECORD_RUNTIME_RUBY_H

#include "record/runtime/ruby_offsets.h"
#include "record/runtime/runtime.h"

extern const struct reel_runtime ruby_runtime;

enum reel_runtime_answer ruby_locate(uint32_t pid, const struct reel_runtime_place *place,
				     struct reel_bpf_interpreter *ret);
bool ruby_is_valid(const struct reel_bpf_interpreter *interpreter);

/* NULL: an unknown version. */
const uint16_t *ruby_fields_of(uint32_t version);

#endif
