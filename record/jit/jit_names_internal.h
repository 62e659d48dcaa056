/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by jit_names.c (processes and sampled addresses), jit_names_read.c (JITs' files),
 * jit_names_list.c (their ELF files in memory) and jit_names_write.c (records). */
#ifndef RECORD_JIT_JIT_NAMES_INTERNAL_H
#define RECORD_JIT_JIT_NAMES_INTERNAL_H

#include "base/id_table.h"
#include "base/quantity.h"
#include "record/jit/jit_names.h"

#define READ_INTERVAL REEL_NS_PER_SECOND
/* Memory for entries of all processes, at most. */
#define SAID_MAX (64u << 20)
/* The first time after a sample leads to a JIT's code: of a program that ends by then, all is read
 * at once, and the order of lines tells what replaced what. */
#define READ_FIRST (100 * REEL_NS_PER_MS)

struct function {
	uint64_t time, address, size, index, frame_address;
	uint32_t file; /* enum reel_jit_file */
	bool is_debug_frame;
	bool is_end; /* from its time on, nothing is there */
	/* Offset in the book's bytes of the name, followed by unwind information and lines. */
	size_t at;
	uint32_t name_size, frames_size, n_lines;
};

/* Followed by the name of the line's file. */
struct line {
	uint64_t address;
	uint32_t line;
	uint32_t file_size; /* SAME_FILE: as in the previous line */
};
#define SAME_FILE UINT32_MAX

/* Functions of a process; its forks share those made earlier. */
struct book {
	unsigned int n_users;
	struct function *functions; /* in the order read */
	size_t count, capacity;
	struct reel_buffer bytes;
};

/* The part of a book that is in the file. */
struct shelf {
	struct book *book;
	uint64_t until; /* later functions are not this process's */
	uint8_t *written;
	size_t capacity;
	size_t count; /* functions checked so far */
};

struct hit {
	struct reel_id_entry entry; /* its address */
	uint64_t time;		    /* the first sample's */
};

/* State of one of a process's files. */
struct file {
	struct reel_jit_position position;
	uint64_t base;	/* the previous read: entries without a time count from it */
	uint64_t count; /* such entries since `base`: each gets a later time */
	uint64_t news;	/* when new entries were last read */
	bool is_anew;	/* being read again from its start; new entries from `anew_from` */
	size_t anew_from;
	bool was_open, is_given_up;
	bool has_more;
};

/* An ELF file of a JIT's list. */
struct listed {
	struct reel_id_entry entry; /* a hash of `is` */
	struct reel_jit_entry is;
	struct listed *next; /* of those that were not read */
	uint64_t walk;	     /* number of the last one that found it */
	uint64_t time;	     /* from which its functions are there */
	size_t first, count; /* its functions in the book */
};

struct place {
	uint64_t first, last;
};

#define GONE_MAX 64

/* A process's lists (record/proc/jit_list.h). */
struct list {
	uint64_t descriptors[REEL_JIT_LISTS_MAX];
	struct reel_id_table entries;
	struct listed *unread, *found; /* to be read; of the walk that is not over */
	struct listed *reading;	       /* its parts are being listened to */
	uint64_t walk, checksum;
	uint64_t walked; /* time of the last walk; 0: none */
	uint64_t end;	 /* of what it found gone */
	/* Code that the last walk found gone; more than GONE_MAX: anywhere. */
	struct place gone[GONE_MAX];
	size_t n_gone;
	bool is_given_up;
};

struct space {
	struct reel_id_entry entry; /* its id */
	uint64_t pid, namespace_pid, start;
	bool is_inherited; /* a process forked from it may need its names */
	bool is_new;	   /* samples led to it since it was read */
	bool has_changed;  /* no names were put yet for some of its hits */
	bool ended, was_read_last, was_read;
	unsigned int failures;
	uint64_t read_after, look_interval;
	struct file files[REEL_JIT_FILES];
	struct list list;
	struct shelf own, inherited;
	struct reel_id_table hits;
};

struct reel_jit_names {
	struct reel_jit_names_options options;
	const struct reel_timeline *timeline;
	struct reel_id_table spaces;
	struct space *last; /* the last space hit */
	size_t n_hits;
	uint64_t said_bytes, said_max, left_out;
	uint64_t deadline; /* when the file ends; 0: not now */
	uint64_t bytes_left;
	uint64_t put_after;
	/* Current read. */
	struct space *asked;
	size_t count_before, bytes_before;
	uint64_t left_out_before, said_before, move_steps;
	struct function *latest; /* lines follow it */
	size_t latest_file;	 /* offset in the book of the last line's file name */
	uint32_t latest_file_size;
	uint64_t now;
	bool answered;
	struct reel_jit_state state;
};

/* Whether the space's process may cost more time now; always when the file ends. */
bool reel_jit_names_may(const struct reel_jit_names *names, const struct space *space);
/* A function of the process that was asked; NULL, and counted, without room. */
struct function *reel_jit_names_append(struct reel_jit_names *names,
				       const struct function *function);

/* ---- lists (jit_names_list.c) ---- */

void reel_jit_names_ask_list(const struct reel_jit_names *names, struct list *list,
			     struct reel_jit_list_question *ret);
void reel_jit_names_apply_entry(struct reel_jit_names *names, enum reel_jit_said what,
				const struct reel_jit_entry *entry);
/* The time of a function of the entry that is being read. */
uint64_t reel_jit_names_list_time(struct reel_jit_names *names,
				  const struct reel_jit_said_function *said, bool has_name);
void reel_jit_names_apply_list(struct reel_jit_names *names);

/* The space must no longer be in the table. */
void reel_jit_names_free_space(struct reel_jit_names *names, struct space *space);

#endif
