/* SPDX-License-Identifier: Apache-2.0 */
/* What jit_names.c (processes and what samples hit), jit_names_read.c (what JITs say) and
 * jit_names_write.c (records) share. */
#ifndef RECORD_JIT_JIT_NAMES_PARTS_H
#define RECORD_JIT_JIT_NAMES_PARTS_H

#include "base/id_table.h"
#include "base/quantity.h"
#include "record/jit/jit_names.h"

#define READ_INTERVAL REEL_NS_PER_SECOND

struct function {
	uint64_t time, address, size, index, frame_address;
	uint64_t file; /* enum reel_jit_file */
	/* In the book's bytes, one behind the other: name, .eh_frame, lines. */
	size_t at;
	uint32_t name_size, frames_size, n_lines;
};

/* A line's; its file's name follows. */
struct line {
	uint64_t address;
	uint32_t line;
	uint32_t file_size; /* SAME_FILE: as that before */
};
#define SAME_FILE UINT32_MAX

/* Of a process, and of those that it forks until then. */
struct book {
	unsigned int n_users;
	struct function *functions; /* as they were said */
	size_t count, capacity;
	struct reel_buffer bytes;
};

/* What of a book the file has. */
struct shelf {
	struct book *book;
	uint64_t until; /* later functions are not this process's */
	uint8_t *written;
	size_t capacity;
	size_t count; /* functions that were looked at */
};

struct hit {
	struct reel_id_entry entry; /* its address */
	uint64_t time;		    /* the first sample's */
};

/* What is known of one of a process's files. */
struct file {
	struct reel_jit_position position;
	uint64_t base;	/* time of what it says, where it has none */
	uint64_t count; /* of these, since then: later ones have later times */
	uint64_t news;	/* when something new was read last */
	bool is_anew;	/* it is being read from its start again, and said those functions */
	size_t anew_from;
	bool was_open, is_given_up;
	bool has_more;
};

struct space {
	struct reel_id_entry entry; /* its id */
	uint64_t pid, namespace_pid, start;
	bool is_inherited; /* somebody forked from it, and may need its names */
	bool is_new;	   /* samples led to it since it was read */
	bool has_changed;  /* there are hits that nothing was put for yet */
	bool ended, was_read_last, was_read;
	unsigned int failures;
	uint64_t read_after, look_interval;
	struct file files[REEL_JIT_FILES];
	struct shelf own, inherited;
	struct reel_id_table hits;
};

struct reel_jit_names {
	struct reel_jit_names_options options;
	const struct reel_timeline *timeline;
	struct reel_id_table spaces;
	struct space *last; /* that was hit */
	size_t n_hits;
	uint64_t said_bytes, left_out;
	/* What may be read and put still: in the second that began then, and until then. */
	uint64_t second, reads_left, deadline;
	uint64_t bytes_left;
	uint64_t put_after;
	/* What is being read. */
	struct space *asked;
	size_t count_before, bytes_before;
	uint64_t left_out_before, said_before, move_steps;
	struct function *latest; /* that lines follow */
	size_t latest_file;	 /* the last line's that has one: where it lies in the book */
	uint32_t latest_file_size;
	uint64_t now;
	bool answered;
	struct reel_jit_state state;
};

/* Which is in the table no more. */
void reel_jit_names_free_space(struct reel_jit_names *names, struct space *space);

#endif
