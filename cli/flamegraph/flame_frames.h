/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boxes of a flame graph: functions, with the most frequent source line, where guessed ones are
 * separate from proven ones; and marks of cut traces.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_FRAMES_H
#define CLI_FLAMEGRAPH_FLAME_FRAMES_H

#include "cli/profile/pointer_map.h"
#include "cli/profile/symbols.h"

struct flame_frame {
	const struct symbol *symbol;
	bool guessed;
	/* Borrowed from the capture; "" and 0 if unknown.  Filled by flame_frames_finish, and from
	 * the start if each line has a frame. */
	const char *file;
	uint32_t line;
	bool is_group;	    /* of samples: the first frames of stacks */
	uint64_t module_id; /* of the first frame of the library; 0: none */
	/* If each line has a frame: the whole function's, and the function's next line. */
	struct flame_frame *function, *next_line;
	uint32_t number; /* for printing; initially 0 */
	struct flame_frame *next;
};

/* Counts how often a place in a function was on a stack. */
struct flame_place {
	const struct reel_frame *frame;
	struct flame_frame *of;
	uint64_t samples;
	struct flame_place *next;
};

struct flame_frames {
	struct symbol_table symbols;
	/* By symbol; a guessed frame's key is one byte further. */
	struct pointer_map by_symbol;
	struct flame_frame *all;
	/* By the library's frame; a guessed frame's key is one byte further. */
	struct pointer_map by_place;
	struct flame_place *places;
	size_t n_places;
	bool by_line; /* each line of a function has a frame */
};

void flame_frames_init(struct flame_frames *frames, bool by_line);
void flame_frames_free(struct flame_frames *frames);
/* The same function gives the same `of`; the caller adds to `samples`. */
struct flame_place *flame_place_get(struct flame_frames *frames, const struct reel_frame *frame,
				    enum reel_step step);
/* Of a mark. */
struct flame_frame *flame_frame_get(struct flame_frames *frames, const struct symbol *symbol,
				    bool guessed);
void flame_frames_finish(struct flame_frames *frames);
/* From now on, functions have one frame: flame_frame.function. */
void flame_frames_join_lines(struct flame_frames *frames);
/* Orders siblings: call_tree's compare. */
int flame_frame_compare(const void *a, const void *b);

/* Kinds of frames besides plain functions, in the words of the page and the picture. */
enum flame_kind {
	FLAME_PLAIN,
	FLAME_INLINED,
	FLAME_KERNEL,
	FLAME_GUESSED,
	FLAME_INCOMPLETE,
	FLAME_PYTHON,
	FLAME_KINDS,
};
enum flame_kind flame_frame_kind(const struct flame_frame *frame);
/* Suffixes of names: " [kernel]"; "" for a plain function. */
extern const char *const flame_kind_marks[FLAME_KINDS];

#endif
