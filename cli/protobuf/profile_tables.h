/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that profiles refer to by number: texts, functions, mappings, locations, stacks. Numbers
 * start at 1; 0 is none, or the empty text. Processes that map a file share its locations:
 * addresses are in the ELF file's address space.
 */
#ifndef CLI_PROTOBUF_PROFILE_TABLES_H
#define CLI_PROTOBUF_PROFILE_TABLES_H

#include "cli/profile/pointer_map.h"
#include "cli/protobuf/numbers.h"
#include "cli/session/session.h"

struct profile_function {
	uint32_t name, system_name, file; /* texts */
	uint32_t line;			  /* of its definition; 0: unknown */
};

/* A part of a file; `limit` 0: unknown, since the file is missing. */
struct profile_mapping {
	uint64_t start, limit, offset;
	uint32_t path, build_id; /* texts */
	bool kernel, is_file;
	enum reel_runtime_kind runtime;
};

/* Facts about a mapping, derived from its locations. */
struct mapping_use {
	uint64_t low, high; /* their addresses */
	uint64_t count;
	bool has_files, has_lines, has_inlines;
};

struct profile_line {
	uint32_t function, line, column;
};

/* The functions at an address, innermost inlined first. */
struct profile_location {
	uint64_t address;
	uint32_t mapping, n_lines;
	struct profile_line lines[];
};

/* A stack is a location and its caller. */
struct profile_stack {
	uint32_t caller; /* 0: outermost */
	uint32_t location;
};

struct profile_tables {
	struct numbers texts, functions, mappings, locations, stacks;
	struct mapping_use *mapping_uses; /* by number */
	size_t mapping_uses_capacity;
	/* Of this capture. */
	struct session *session;
	struct pointer_map frames; /* to locations */
	struct pointer_map known_texts;
	/* The previous trace, from the root on: traces share their roots. */
	struct stack_part {
		uint32_t location, stack;
	} * path;
	size_t path_length, path_capacity;
	struct profile_location *scratch;
	size_t scratch_capacity;
};

void profile_tables_init(struct profile_tables *tables);
void profile_tables_free(struct profile_tables *tables);
/* The following traces are from another capture. */
void profile_tables_begin_capture(struct profile_tables *tables, struct session *session);

/* For untrusted text: escapes it, so that it is UTF-8. */
uint32_t profile_text(struct profile_tables *tables, const char *text);
/* The same for a text that stays at its address while the capture is open. */
uint32_t profile_known_text(struct profile_tables *tables, const char *text);
/* The stack of a trace. An extra root marks an incomplete trace, as in `stackreel folded'. */
uint32_t profile_stack(struct profile_tables *tables, const struct reel_trace *trace);

const char *profile_text_of(const struct profile_tables *tables, uint32_t number);
const struct profile_location *profile_location_of(const struct profile_tables *tables,
						   uint32_t number);
/* Always has an end, derived from its locations if necessary. */
struct profile_mapping profile_mapping_of(const struct profile_tables *tables, uint32_t number);

#endif
