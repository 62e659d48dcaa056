/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a helper process make images of modules' files, one after the other; nothing here waits.  A
 * helper that does not answer is killed, and the image is left out.
 */
#ifndef RECORD_EMBEDDING_IMAGE_ASKER_H
#define RECORD_EMBEDDING_IMAGE_ASKER_H

#include "base/bytes.h"

struct reel_image_asker;

/* Forks, so call it while the recorder is small.  `confined`: the helper keeps only the rights that
 * it needs. */
struct reel_error *reel_image_asker_create(bool confined,
					   struct reel_image_asker **ret) REEL_MUST_CHECK;
void reel_image_asker_destroy(struct reel_image_asker *asker);
/* False if no helper can be started any more. */
bool reel_image_asker_lives(const struct reel_image_asker *asker);

struct reel_image_question {
	/* Borrowed for the call; the second one, for names, may be missing. */
	int file, debug_file;
	bool has_debug_file;
	/* In the file, ascending; the asker frees them. */
	uint64_t *offsets;
	size_t n;
	uint64_t limit; /* bytes */
	bool everything, no_symbols;
	uint64_t deadline; /* 0: none */
	uint64_t work_max; /* ns of the helper on a CPU; 0: any */
};

/* The previous question must be answered. */
void reel_image_asker_ask(struct reel_image_asker *asker,
			  const struct reel_image_question *question);

/* Limits the question's deadline to this time. */
void reel_image_asker_hurry(struct reel_image_asker *asker, uint64_t deadline);
/* Frees memory that is not needed until the next question. */
void reel_image_asker_rest(struct reel_image_asker *asker);
/* Kills a helper that is at work, and leaves the image out, with this reason; false if no helper is at work. */
bool reel_image_asker_give_up(struct reel_image_asker *asker, const char *problem);
/* ns that the helper was on a CPU for the last question; 0 if the kernel does not count it. */
uint64_t reel_image_asker_work(const struct reel_image_asker *asker);

enum reel_image_state {
	REEL_IMAGE_NOT_YET,
	REEL_IMAGE_MADE,     /* *image_ret: valid until the next question */
	REEL_IMAGE_LEFT_OUT, /* *problem_ret: the reason, valid until the next question */
	REEL_IMAGE_TOO_SLOW, /* the same: its time was over */
	/* The same: memory was short, but the next helper has all of it. */
	REEL_IMAGE_NO_ROOM,
};

/* State of the last question. */
enum reel_image_state reel_image_asker_look(struct reel_image_asker *asker,
					    struct reel_bytes *image_ret, const char **problem_ret);
/* Readable when there is an answer; -1: no helper. */
int reel_image_asker_fd(const struct reel_image_asker *asker);
/* Waits for a change of state, up to the timeout. */
void reel_image_asker_wait(struct reel_image_asker *asker, int timeout_ms);

#endif
