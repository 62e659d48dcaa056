/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the recorder to the helper that makes images, and the answers: packets, as both are
 * one program.  The request carries the descriptors of the file and of its debug file, if any,
 * followed by packets of IMAGE_OFFSETS offsets.  The answer's head is followed by the image's
 * bytes.
 */
#ifndef RECORD_EMBEDDING_IMAGE_REQUEST_H
#define RECORD_EMBEDDING_IMAGE_REQUEST_H

#include <stdint.h>

#define IMAGE_PACKET  (64u << 10)
#define IMAGE_OFFSETS (IMAGE_PACKET / sizeof(uint64_t))
/* Limit for one file; the recorder requests no more. */
#define IMAGE_HITS_MAX (1u << 20)

struct image_request {
	uint64_t n_offsets;
	uint64_t limit; /* bytes */
	uint32_t everything, no_symbols;
};

struct image_answer {
	uint64_t size; /* 0: no image */
	uint32_t is_short_of_memory;
	char problem[236]; /* the reason, for a size of 0 */
};

/* The helper's main function. */
void reel_image_answers(int socket);
/* The same, after dropping privileges that it does not need. */
void reel_image_answers_confined(int socket);

#endif
