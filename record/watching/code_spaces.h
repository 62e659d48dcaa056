/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code is mapped in each process, for who looks at the words of samples: the executable
 * mappings of modules of one kind.  They are listed anew when mappings have changed, but not more
 * often than listing takes time.
 */
#ifndef RECORD_WATCHING_CODE_SPACES_H
#define RECORD_WATCHING_CODE_SPACES_H

#include "base/id_table.h"
#include "record/watching/module_table.h"
#include "target/space.h"

struct reel_code_range {
	uint64_t first, last;
	uint64_t delta; /* from its addresses to offsets in the file */
	uint64_t module;
	bool has_stack; /* for who lists them: somebody's stack lies in it */
};

struct reel_code_space {
	struct reel_id_entry entry; /* its id */
	uint64_t generation;	    /* of the ranges; 0: there are none */
	uint64_t list;		    /* the ranges' number, of all that were ever listed */
	uint64_t listed;	    /* when they were found, sample's time */
	size_t n_mappings;
	struct reel_code_range *ranges; /* ascending */
	size_t n_ranges, capacity;
	bool failed; /* no memory for them */
	struct reel_elf_kind kind;
	unsigned word_size;
	uint64_t code_mask;
};

/* All but `table` and `last_list`, which are 0 at first, is the owner's. */
struct reel_code_spaces {
	const struct reel_module_table *modules; /* of the mappings */
	/* What processes are of which it is not known yet. */
	struct reel_elf_kind native;
	bool (*is_wanted)(const struct reel_record_module *module);
	/* Spaces have so many bytes: the owner's own are behind those of struct reel_code_space. */
	size_t space_size;
	/* What these hold is to be freed; may be NULL. */
	void (*forget)(void *context, struct reel_code_space *space);
	void *context;
	struct reel_id_table table;
	uint64_t last_list;
};

/* That of the view, with its ranges as they are; NULL where nothing is mapped. */
struct reel_error *reel_code_spaces_find(struct reel_code_spaces *spaces,
					 const struct reel_space_view *view, uint64_t time,
					 struct reel_code_space **ret) REEL_MUST_CHECK;
/* Forgets processes that have ended. */
void reel_code_spaces_forget_ended(struct reel_code_spaces *spaces,
				   const struct reel_timeline *timeline);
void reel_code_spaces_free(struct reel_code_spaces *spaces);

/* The space while its process has it. */
const struct reel_space_state *reel_living_space(const struct reel_timeline *timeline, uint64_t id);

/* NULL: none holds the address. */
struct reel_code_range *reel_code_range_of(const struct reel_code_space *space, uint64_t address);

#endif
