/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/id_table.h"
#include "format/codec/runtime_frames.h"

/* A frame begins with its function and its kind in one number. */
enum { FRAME_INNER, FRAME_ENTRY, FRAME_ENTRY_NATIVE, FRAME_KINDS };
#define KIND_BITS 2

static unsigned int kind_of(const struct reel_runtime_frame *frame)
{
	if (!frame->is_entry)
		return FRAME_INNER;
	return frame->native ? FRAME_ENTRY_NATIVE : FRAME_ENTRY;
}

const char *reel_runtime_frames_check(const struct reel_sample *sample)
{
	if (!sample->n_runtime_frames)
		return NULL;
	if (!sample->runtime || sample->runtime > REEL_RUNTIME_MAX)
		return "frames of no runtime";
	if (sample->n_runtime_frames > REEL_RUNTIME_FRAMES_MAX)
		return "too many frames";
	for (size_t i = 0; i < sample->n_runtime_frames; i++) {
		if (sample->runtime_frames[i].function > REEL_FUNCTION_MAX)
			return "a function's id is too large";
	}
	return NULL;
}

/* ---- the tree ----------------------------------------------------------------------- */

static void tree_reset(struct reel_frame_tree *tree)
{
	tree->n = 0;
	tree->frames_left = REEL_RUNTIME_FRAMES_TOTAL_MAX;
}

/* The outermost frame's is 0. */
static uint64_t native_at(const struct reel_frame_tree *tree, uint32_t number)
{
	return number ? tree->nodes[number - 1].native : 0;
}

static unsigned int depth_at(const struct reel_frame_tree *tree, uint32_t number)
{
	return number ? tree->nodes[number - 1].depth : 0;
}

/* A node within `outer`; its depth is set here. */
static bool tree_add(struct reel_frame_tree *tree, struct reel_frame_node node)
{
	if (!reel_array_reserve(&tree->nodes, tree->n, &tree->capacity, sizeof(node)))
		return false;
	node.depth = (uint16_t)(depth_at(tree, node.outer) + 1);
	tree->nodes[tree->n++] = node;
	return true;
}

/* ---- encoding ----------------------------------------------------------------------- */

void reel_frame_encoder_reset(struct reel_frame_encoder *encoder)
{
	encoder->payload.size = 0;
	encoder->payload.failed = false;
	encoder->bare = 0;
	tree_reset(&encoder->tree);
	if (encoder->index.n)
		memset(encoder->index.slots, 0,
		       encoder->index.n_slots * sizeof(*encoder->index.slots));
	encoder->index.n = 0;
}

void reel_frame_encoder_free(struct reel_frame_encoder *encoder)
{
	reel_buffer_free(&encoder->payload);
	reel_hash_index_free(&encoder->index);
	free(encoder->tree.nodes);
}

bool reel_frame_encoder_is_full(const struct reel_frame_encoder *encoder)
{
	return encoder->tree.n > REEL_FRAME_NODES_MAX - REEL_RUNTIME_FRAMES_MAX ||
	       (encoder->payload.size && encoder->tree.frames_left < REEL_RUNTIME_FRAMES_MAX);
}

static struct reel_frame_node node_of(const struct reel_frame_tree *tree, uint32_t outer,
				      const struct reel_runtime_frame *frame)
{
	struct reel_frame_node node = {
		.function = frame->function,
		.position = frame->position,
		.native = native_at(tree, outer),
		.outer = outer,
		.kind = (uint8_t)kind_of(frame),
	};

	if (node.kind == FRAME_ENTRY_NATIVE)
		node.native = frame->native;
	return node;
}

static uint64_t hash_of(const struct reel_frame_encoder *encoder,
			const struct reel_frame_node *node)
{
	const uint64_t values[] = { node->outer, node->function, node->position, node->native,
				    node->kind };
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		hash = (hash ^ values[i]) * encoder->multiplier;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool nodes_equal(const struct reel_frame_node *a, const struct reel_frame_node *b)
{
	return a->outer == b->outer && a->function == b->function && a->position == b->position &&
	       a->native == b->native && a->kind == b->kind;
}

/* The number of the node that is there, or 0. */
static uint32_t find_node(const struct reel_frame_encoder *encoder,
			  const struct reel_frame_node *node, uint64_t hash)
{
	const struct reel_frame_node *nodes = encoder->tree.nodes;
	uint32_t found = REEL_HASH_FIND(&encoder->index, hash, i, nodes_equal(&nodes[i], node));

	return found == REEL_HASH_NONE ? 0 : found + 1;
}

static bool add_node(struct reel_frame_encoder *encoder, const struct reel_frame_node *node,
		     uint64_t hash)
{
	uint64_t before = native_at(&encoder->tree, node->outer);
	struct reel_buffer *payload = &encoder->payload;

	reel_buffer_uleb(payload, node->function << KIND_BITS | node->kind);
	reel_buffer_uleb(payload, node->position);
	if (node->kind == FRAME_ENTRY_NATIVE)
		reel_buffer_zigzag(payload, (int64_t)(node->native - before));
	return tree_add(&encoder->tree, *node) &&
	       reel_hash_index_add(&encoder->index, hash, (uint32_t)(encoder->tree.n - 1));
}

static bool encode_frames(struct reel_frame_encoder *encoder, const struct reel_sample *sample)
{
	const struct reel_runtime_frame *frames = sample->runtime_frames;
	struct reel_frame_tree *tree = &encoder->tree;
	size_t i = sample->n_runtime_frames;
	uint32_t at = 0;

	/* From the outermost on, as far as they are known. */
	while (i) {
		struct reel_frame_node node = node_of(tree, at, &frames[i - 1]);
		uint32_t next = find_node(encoder, &node, hash_of(encoder, &node));

		if (!next)
			break;
		at = next;
		i--;
	}
	reel_buffer_uleb(&encoder->payload, at ? tree->n - at + 1 : 0);
	reel_buffer_uleb(&encoder->payload, i);
	while (i--) {
		struct reel_frame_node node = node_of(tree, at, &frames[i]);

		if (!add_node(encoder, &node, hash_of(encoder, &node)))
			return false;
		at = (uint32_t)tree->n;
	}
	return !encoder->payload.failed;
}

bool reel_runtime_frames_encode(struct reel_frame_encoder *encoder,
				const struct reel_sample *sample)
{
	if (!sample->n_runtime_frames) {
		encoder->bare++;
		return true;
	}
	if (!encoder->multiplier)
		encoder->multiplier = reel_hash_multiplier(encoder);
	if (!encoder->payload.size)
		tree_reset(&encoder->tree);
	reel_buffer_uleb(&encoder->payload, encoder->bare);
	reel_buffer_uleb(&encoder->payload, sample->runtime << 1 | sample->runtime_cut);
	encoder->bare = 0;
	encoder->tree.frames_left -= sample->n_runtime_frames;
	return encode_frames(encoder, sample);
}

/* ---- decoding ----------------------------------------------------------------------- */

void reel_frame_decoder_reset(struct reel_frame_decoder *decoder)
{
	decoder->node = 0;
	decoder->given = false;
}

void reel_frame_decoder_free(struct reel_frame_decoder *decoder)
{
	free(decoder->tree.nodes);
	free(decoder->frames);
}

static const char no_memory[] = "not enough memory";

/* Adds a frame within the node `*at`, which becomes its own. */
static const char *decode_frame(struct reel_frame_decoder *decoder, uint32_t *at)
{
	struct reel_frame_tree *tree = &decoder->tree;
	uint64_t first = reel_cursor_uleb(&decoder->cursor);
	struct reel_frame_node node = {
		.function = first >> KIND_BITS,
		.position = reel_cursor_uleb(&decoder->cursor),
		.native = native_at(tree, *at),
		.outer = *at,
		.kind = first & ((1 << KIND_BITS) - 1),
	};

	if (node.kind == FRAME_ENTRY_NATIVE)
		node.native += (uint64_t)reel_cursor_zigzag(&decoder->cursor);
	if (decoder->cursor.failed)
		return "ends within a frame";
	if (node.kind >= FRAME_KINDS)
		return "unknown kind of frame";
	if (tree->n == REEL_FRAME_NODES_MAX)
		return "too many different frames";
	if (!tree_add(tree, node))
		return no_memory;
	*at = (uint32_t)tree->n;
	return NULL;
}

/* The next sample's frames; `node` is 0 after the last one. */
static const char *decode_next(struct reel_frame_decoder *decoder)
{
	struct reel_frame_tree *tree = &decoder->tree;
	struct reel_cursor *cursor = &decoder->cursor;
	uint64_t back, n;
	uint32_t at;

	decoder->node = 0;
	if (!reel_cursor_left(cursor))
		return NULL;
	decoder->bare = reel_cursor_uleb(cursor);
	decoder->runtime = reel_cursor_uleb(cursor);
	decoder->is_cut = decoder->runtime & 1;
	decoder->runtime >>= 1;
	back = reel_cursor_uleb(cursor);
	n = reel_cursor_uleb(cursor);
	if (cursor->failed)
		return "ends within a sample's frames";
	if (!decoder->runtime)
		return "frames of no runtime";
	if (back > tree->n)
		return "frames within a frame that does not exist";
	at = back ? (uint32_t)(tree->n - back + 1) : 0;
	if (!at && !n)
		return "no frames";
	if (n > REEL_RUNTIME_FRAMES_MAX - depth_at(tree, at))
		return "too many frames";
	while (n--) {
		const char *problem = decode_frame(decoder, &at);

		if (problem)
			return problem;
	}
	if (tree->nodes[at - 1].depth > tree->frames_left)
		return "too many frames in all";
	tree->frames_left -= tree->nodes[at - 1].depth;
	decoder->node = at;
	return NULL;
}

static void begin(struct reel_frame_decoder *decoder, struct reel_cursor payload)
{
	reel_frame_decoder_reset(decoder);
	decoder->cursor = payload;
	tree_reset(&decoder->tree);
}

struct reel_error *reel_runtime_frames_begin(struct reel_frame_decoder *decoder,
					     struct reel_cursor payload)
{
	const char *problem;

	if (!decoder->frames)
		decoder->frames =
			reallocarray(NULL, REEL_RUNTIME_FRAMES_MAX, sizeof(*decoder->frames));
	if (!decoder->frames)
		return reel_error_no_memory();
	begin(decoder, payload);
	do
		problem = decode_next(decoder);
	while (!problem && decoder->node);
	if (problem) {
		decoder->node = 0;
		return problem == no_memory ? reel_error_no_memory()
					    : reel_error_create(REEL_ERROR_CORRUPT, "%s", problem);
	}
	/* The tree keeps its memory, so the second time nothing can fail. */
	begin(decoder, payload);
	decode_next(decoder);
	return NULL;
}

static size_t take_frames(struct reel_frame_decoder *decoder)
{
	const struct reel_frame_node *node;
	size_t n = 0;

	for (uint32_t at = decoder->node; at; at = node->outer) {
		node = &decoder->tree.nodes[at - 1];
		decoder->frames[n++] = (struct reel_runtime_frame){
			.function = node->function,
			.position = node->position,
			.is_entry = node->kind != FRAME_INNER,
			.native = node->kind == FRAME_ENTRY_NATIVE ? node->native : 0,
		};
	}
	return n;
}

void reel_runtime_frames_next(struct reel_frame_decoder *decoder, struct reel_sample *sample)
{
	if (decoder->given)
		decode_next(decoder);
	decoder->given = false;
	if (!decoder->node || decoder->bare--)
		return;
	sample->runtime = decoder->runtime;
	sample->runtime_cut = decoder->is_cut;
	sample->runtime_frames = decoder->frames;
	sample->n_runtime_frames = take_frames(decoder);
	decoder->given = true;
}

bool reel_runtime_frames_left(const struct reel_frame_decoder *decoder)
{
	return decoder->given ? reel_cursor_left(&decoder->cursor) > 0 : decoder->node > 0;
}
