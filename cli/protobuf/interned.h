/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that a sequence of Perfetto packets defines once: texts, mappings, frames, stacks. New ones
 * are gathered for the packet that first needs them. An id is the number in the tables; a frame's
 * id is the position of its line among the lines of all locations.
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
	/* Defined data: a sequence, a kind, and an id. */
	struct numbers said;
	struct numbers frames;
	uint32_t sequence; /* current */
	/* For the next packet. */
	struct interned_list texts[4], mappings, new_frames, stacks;
	Perfetto__Protos__InternedData data;
	bool any;
};

void interned_init(struct interned *interned);
void interned_free(struct interned *interned);

/* True the first time a sequence needs this kind and id. */
bool interned_is_new(struct interned *interned, uint32_t kind, uint64_t id);
/* Returns the stack's id; interned_data then has everything it refers to. */
uint64_t interned_stack(struct interned *interned, uint32_t stack);
/* The new data, or NULL; valid until interned_forget. */
Perfetto__Protos__InternedData *interned_data(struct interned *interned);
void interned_forget(struct interned *interned);

/* The first number that is not a kind of interned data. */
#define INTERNED_KINDS 16

#endif
