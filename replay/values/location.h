/* SPDX-License-Identifier: Apache-2.0 */
/* Where a value is in a sample: its pieces, in registers known for that frame and in captured
 * memory (DWARF 5, 2.6). */
#ifndef REPLAY_VALUES_LOCATION_H
#define REPLAY_VALUES_LOCATION_H

#include "cfi/cfi.h"
#include "cfi/state.h"
#include "replay/values/variables.h"

enum reel_knowledge {
	REEL_KNOWN = 0,
	REEL_GONE,	   /* the compiler keeps the value nowhere */
	REEL_NOT_CAPTURED, /* it was somewhere, but not in the sample */
	REEL_UNCLEAR,	   /* the debug information cannot be read, or is not understood */
};

/* A frame of a sample; callers follow. */
struct reel_value_frame {
	const struct reel_unwind_state *state; /* NULL: the frame is a guess */
	struct reel_variables *variables;      /* of its module; NULL: none */
	uint64_t bias;
	uint64_t pc, lookup;	 /* runtime addresses: unchanged, and in the call */
	bool has_cfa, is_called; /* by the next frame, with a call */
	uint64_t cfa;
	struct reel_cfi *cfi; /* of its module; NULL: none */
};

/*
 * Debug information of the files of a frame's callers: values of parameters may need it.  If a
 * function returns false, what it was asked for may be there later: the values are to be found
 * again if its user has noted that.
 */
struct reel_other_files {
	bool (*may_read)(void *context);
	/* Whether the process has one function of this name, in the frame's file. */
	bool (*is_only)(void *context, size_t frame, const char *name);
	void *context;
};

/* Callers that a value may need. */
#define REEL_VALUE_CALLERS_MAX 9

struct reel_value_frames {
	const struct reel_value_frame *all;
	size_t n;
	const struct reel_other_files *others; /* NULL: only the frame's own file may be read */
};

enum reel_piece_kind {
	REEL_PIECE_GONE = 0,
	REEL_PIECE_MEMORY,
	REEL_PIECE_REGISTER,
	REEL_PIECE_NUMBER,
	REEL_PIECE_BYTES,
};

struct reel_piece {
	enum reel_piece_kind kind;
	uint64_t number; /* address, DWARF register, or the number */
	struct reel_bytes bytes;
	uint64_t size; /* bytes; UINT64_MAX: the whole value */
};

#define REEL_PIECES_MAX 16

struct reel_location_of {
	const struct reel_value_frames *frames;
	size_t frame;
	uint64_t whole; /* size of the value; set by the caller */
	struct reel_piece pieces[REEL_PIECES_MAX];
	size_t n;
};

/* KNOWN: the place is known; its bytes may not be. */
struct reel_error *reel_location_evaluate(const struct reel_value_frames *frames, size_t frame,
					  const struct reel_place *place,
					  struct reel_location_of *ret,
					  enum reel_knowledge *knowledge_ret) REEL_MUST_CHECK;
/* Bytes [offset, offset + size) of the value, in the target's order. */
enum reel_knowledge reel_location_read(const struct reel_location_of *location, uint64_t offset,
				       size_t size, uint8_t *ret);
/* The same of memory. */
enum reel_knowledge reel_value_memory_read(const struct reel_memory_view *memory, uint64_t address,
					   size_t size, uint8_t *ret);

#endif
