/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files in a process's memory by which JITs describe their code to debuggers (GDB's manual,
 * "JIT Compilation Interface"): a variable __jit_debug_descriptor begins their list.  A walk
 * through the list only reports its entries; the recorder then asks for the files of new ones.  The
 * process changes all of this meanwhile, so everything is bounded and checked.
 */
#ifndef RECORD_PROC_JIT_LIST_H
#define RECORD_PROC_JIT_LIST_H

#include "base/bytes.h"

/* Libraries can each have a list. */
#define REEL_JIT_LISTS_MAX 4
/* Longer lists are not read. */
#define REEL_JIT_ENTRIES_MAX (32u << 10)
/* Files to read for one question. */
#define REEL_JIT_WANTED_MAX 16
/* Longer unwind information and names are left out. */
#define REEL_JIT_FRAMES_MAX (1u << 20)
#define REEL_JIT_NAME_MAX   8192

/* An entry of a list, and its ELF file's place. */
struct reel_jit_entry {
	uint64_t address, file, size;
	uint64_t checksum; /* of the file's last bytes, which have addresses: places are reused */
};

struct reel_jit_list_question {
	uint64_t descriptors[REEL_JIT_LISTS_MAX]; /* 0: none; the first: no walk */
	uint32_t n_wanted;
	uint32_t must_walk; /* even if the descriptors are as the checksum says */
	uint64_t checksum;
	struct reel_jit_entry wanted[REEL_JIT_WANTED_MAX];
};

struct reel_jit_list_state {
	uint64_t checksum; /* of the descriptors */
	uint64_t n_bad;
	uint32_t n_read;    /* of the wanted files: the first ones */
	uint32_t is_walked; /* all entries were reported */
	uint32_t is_refused;
};

/* A part of an entry's file. */
struct reel_jit_part {
	uint64_t address, size; /* of code */
	/* A function, or the unwind information of a section of code. */
	struct reel_bytes name;
	struct reel_bytes frames;
	uint64_t frame_address;
	bool is_debug_frame; /* .debug_frame, not .eh_frame */
};

struct reel_jit_list_visitor {
	void (*entry)(void *context, const struct reel_jit_entry *entry);
	/* The parts of a wanted entry, which is reported first. */
	void (*wanted)(void *context, const struct reel_jit_entry *entry);
	void (*part)(void *context, const struct reel_jit_part *part);
	void *context;
};

/* Reads wanted files, then walks the lists if they may have changed. */
void reel_jit_list_read(uint32_t pid, const struct reel_jit_list_question *question,
			const struct reel_jit_list_visitor *visitor,
			struct reel_jit_list_state *ret);

#endif
