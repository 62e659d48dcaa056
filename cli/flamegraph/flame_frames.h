/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What boxes of a flame graph stand for: functions, of which those that are guesses are others than
 * those that are proved, with the source line where they were most often; and marks of cut traces.
 */
#ifndef CLI_FLAMEGRAPH_FLAME_FRAMES_H
#define CLI_FLAMEGRAPH_FLAME_FRAMES_H

#include "cli/report/pointer_map.h"
#include "cli/report/symbols.h"

struct flame_frame {
	const struct symbol *symbol;
	bool guessed;
	/* Borrowed from the capture; "" and 0 if unknown.  Filled by flame_frames_finish. */
	const char *file;
	uint32_t line;
	uint32_t number; /* for who prints them; 0 at first */
	struct flame_frame *next;
};

/* How often a place in a function was on a stack. */
struct flame_place {
	const struct reel_frame *frame;
	struct flame_frame *of;
	uint64_t samples;
	struct flame_place *next;
};

struct flame_frames {
	struct symbol_table symbols;
	/* By symbol, and by the byte behind its first one where it is guessed. */
	struct pointer_map by_symbol;
	struct flame_frame *all;
	/* By the library's frame, and by the byte behind its first one where it is guessed. */
	struct pointer_map by_place;
	struct flame_place *places;
	size_t n_places;
};

void flame_frames_init(struct flame_frames *frames);
void flame_frames_free(struct flame_frames *frames);
/* The same function gives the same `of`; who counts it adds to `samples`. */
struct flame_place *flame_place_get(struct flame_frames *frames, const struct reel_frame *frame,
				    enum reel_step step);
/* Of a mark. */
struct flame_frame *flame_frame_get(struct flame_frames *frames, const struct symbol *symbol,
				    bool guessed);
void flame_frames_finish(struct flame_frames *frames);
/* Orders siblings: call_tree's compare. */
int flame_frame_compare(const void *a, const void *b);

/* What a frame is beside a plain function, in the words of the page and the picture. */
enum flame_kind {
	FLAME_PLAIN,
	FLAME_INLINED,
	FLAME_KERNEL,
	FLAME_GUESSED,
	FLAME_INCOMPLETE,
	FLAME_KINDS,
};
enum flame_kind flame_frame_kind(const struct flame_frame *frame);
/* " [kernel]", "" of a plain function, whose name's end it is. */
extern const char *const flame_kind_marks[FLAME_KINDS];

#endif
