/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sequence of Perfetto's packets says once: texts, mappings, frames, stacks.  Those that are
 * new are gathered for the packet that first needs them.  An id is the number in the tables; of a
 * frame, the place of a line among those of all locations.
 */
#ifndef CLI_PROTOBUF_INTERNED_H
#define CLI_PROTOBUF_INTERNED_H

#include "cli/protobuf/perfetto.pb-c.h"
#include "cli/protobuf/profile_tables.h"

/* Messages of one kind, and pointers to them. */
struct interned_list {
	void *items;
	void *pointers;
	size_t n, capacity;
};

struct interned {
	struct profile_tables tables;
	/* What was said: of a sequence, a kind, and an id. */
	struct numbers said;
	struct numbers frames;
	uint32_t sequence; /* that is written to now */
	/* For the next packet. */
	struct interned_list texts[4], mappings, new_frames, stacks;
	Perfetto__Protos__InternedData data;
	bool any;
};

void interned_init(struct interned *interned);
void interned_free(struct interned *interned);

/* What a sequence says but once; true: now. */
bool interned_is_new(struct interned *interned, uint32_t kind, uint64_t id);
/* The stack's id; what it needs is in interned_data then. */
uint64_t interned_stack(struct interned *interned, uint32_t stack);
/* What is new, NULL if nothing is; until interned_forget. */
Perfetto__Protos__InternedData *interned_data(struct interned *interned);
void interned_forget(struct interned *interned);

/* The first number that is no kind of interned data. */
#define INTERNED_KINDS 16

#endif
