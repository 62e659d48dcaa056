/* SPDX-License-Identifier: Apache-2.0 */
/* Ruby (CRuby), as the interface of runtime.h asks for it. */
#ifndef RECORD_RUNTIME_RUBY_H
#define RECORD_RUNTIME_RUBY_H

#include <stddef.h>
#include <stdint.h>

#include "record/runtime/runtime.h"

/* Where Ruby has the fields that are read of its state (ruby_offsets.c), by version and, of ractors, by
 * size of mutexes. */
enum ruby_field {
	RUBY_VM_RACTORS, /* ractor.set */
	RUBY_VM_MAIN_RACTOR,
	RUBY_VM_MAIN_THREAD,
	RUBY_RACTOR_NODE,
	RUBY_RACTOR_THREADS, /* threads.set */
	RUBY_THREAD_NODE,
	RUBY_THREAD_RACTOR,
	RUBY_THREAD_VM,
	RUBY_THREAD_CONTEXT, /* ec */
	RUBY_THREAD_NATIVE,  /* nt */
	RUBY_THREAD_ID,	     /* thread_id, of the thread or of its nt */
	RUBY_CONTEXT_STACK,  /* vm_stack; its size, cfp and tag follow */
	RUBY_CONTEXT_THREAD,
	RUBY_TAG_BUFFER,
	RUBY_FRAME_PC,
	RUBY_FRAME_CODE, /* iseq */
	RUBY_FRAME_ENVIRONMENT,
	RUBY_FRAME_SIZE,
	RUBY_CODE_BODY, /* rb_iseq_t.body */
	RUBY_BODY_SIZE, /* iseq_size */
	RUBY_BODY_INSTRUCTIONS,
	RUBY_BODY_FILE, /* location.pathobj; base_label, label and first_lineno follow */
	RUBY_BODY_NAME,
	RUBY_BODY_FIRST_LINE,
	RUBY_BODY_LINES, /* insns_info.body */
	RUBY_BODY_LINES_COUNT,
	RUBY_BODY_LINES_INDEX, /* insns_info.succ_index_table */
	RUBY_LINE_SIZE,	       /* sizeof(struct iseq_insn_info_entry) */
	RUBY_METHOD_CLASS,     /* defined_class; def, called_id and owner follow */
	RUBY_METHOD_DEFINITION,
	RUBY_DEFINITION_ID, /* original_id */
	RUBY_LAST_OPERATOR, /* tLAST_OP_ID */
	RUBY_STRING_LENGTH,
	RUBY_STRING_POINTER,
	RUBY_STRING_EMBEDDED,
	RUBY_FIELDS,
};

#define RUBY_NO_FIELD 0xffff

struct ruby_version {
	uint32_t version;
	uint16_t fields[RUBY_FIELDS]; /* offsets, or sizes */
};

extern const struct ruby_version ruby_versions[];
extern const size_t n_ruby_versions;

extern const struct reel_runtime ruby_runtime;

enum reel_runtime_answer ruby_locate(uint32_t pid, const struct reel_runtime_place *place,
				     struct reel_bpf_interpreter *ret);
bool ruby_is_valid(const struct reel_bpf_interpreter *interpreter);

/* NULL: an unknown version. */
const uint16_t *ruby_fields_of(uint32_t version);

#endif
