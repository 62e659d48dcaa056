/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder asks the helper that makes images, and what that answers: packets, as both are
 * one program.  The request comes with the descriptors of the file and, where there is one, of its
 * debug file; offsets follow it, so many in a
 * packet.  The answer's head is followed by the image's bytes.
 */
#ifndef RECORD_EMBEDDING_IMAGE_REQUEST_H
#define RECORD_EMBEDDING_IMAGE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_PACKET  (64u << 10)
#define IMAGE_OFFSETS (IMAGE_PACKET / sizeof(uint64_t))
/* Of one file; more are not asked for. */
#define IMAGE_HITS_MAX (1u << 20)

struct image_request {
	uint64_t n_offsets;
	uint64_t limit; /* bytes */
	uint32_t everything, no_symbols;
};

struct image_answer {
	uint64_t size;	   /* 0: there is none */
	char problem[240]; /* then */
};

/* The helper's life. */
void reel_image_answers(int socket);
/* The same, after it has given up what that does not take. */
void reel_image_answers_confined(int socket);

#endif
