/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code mapped in each process, for users that check the words of samples: the executable
 * mappings of modules of one kind.  They are listed again when mappings have changed, but not more
 * often than listing takes time.
 */
#ifndef RECORD_PROCESSES_CODE_SPACES_H
#define RECORD_PROCESSES_CODE_SPACES_H

#include "base/id_table.h"
#include "record/processes/module_table.h"
#include "format/timeline/space.h"

struct reel_code_range {
	uint64_t first, last;
	uint64_t delta; /* from its addresses to offsets in the file */
	uint64_t module;
	bool has_stack; /* for the user of the list: a stack is in this range */
};

struct reel_code_space {
	struct reel_id_entry entry; /* its id */
	uint64_t generation;	    /* of the ranges; 0: no ranges yet */
	uint64_t list;		    /* number of this list, unique among all lists ever made */
	uint64_t listed;	    /* sample's time when they were listed */
	size_t n_mappings;
	struct reel_code_range *ranges; /* ascending */
	size_t n_ranges, capacity;
	bool failed; /* out of memory */
	struct reel_elf_kind kind;
	unsigned word_size;
	uint64_t code_mask;
};

/* The owner sets all fields but `table` and `last_list`, which start as 0. */
struct reel_code_spaces {
	const struct reel_module_table *modules; /* of the mappings */
	/* The ELF kind of processes whose kind is not known yet. */
	struct reel_elf_kind native;
	bool (*is_wanted)(const struct reel_record_module *module,
			  const struct reel_mapping *mapping);
	/* Whether copies of text belong to the file that is mapped next to them. */
	bool with_copies;
	/* Bytes of a space: the owner's data follows struct reel_code_space. */
	size_t space_size;
	/* Frees the owner's data; may be NULL. */
	void (*forget)(void *context, struct reel_code_space *space);
	void *context;
	struct reel_id_table table;
	uint64_t last_list;
};

/* The space of the view, with its current ranges; NULL if nothing is mapped. */
struct reel_error *reel_code_spaces_find(struct reel_code_spaces *spaces,
					 const struct reel_space_view *view, uint64_t time,
					 struct reel_code_space **ret) REEL_MUST_CHECK;
/* Forgets processes that have ended. */
void reel_code_spaces_forget_ended(struct reel_code_spaces *spaces,
				   const struct reel_timeline *timeline);
void reel_code_spaces_free(struct reel_code_spaces *spaces);

/* The space's state while a process has it. */
const struct reel_space_state *reel_living_space(const struct reel_timeline *timeline, uint64_t id);

/* NULL if no range holds the address. */
struct reel_code_range *reel_code_range_of(const struct reel_code_space *space, uint64_t address);

#endif
