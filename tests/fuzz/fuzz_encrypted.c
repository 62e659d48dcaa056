/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encrypted capture, changed by an attacker without the key, who fixes all public checksums:
 * blocks omitted, moved, repeated, taken from another capture, or forged, their headers and bytes
 * changed.  A reader only gets samples that were written; if it reports no problem, it got all of
 * them, in order.
 */
#include <sodium.h>

#include "format/cipher.h"
#include "replay/capture/capture.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/example.h"
#include "tests/support/read_all.h"

#define BLOCKS	 3
#define SAMPLES	 4
#define PIECES	 24
#define CAPTURES 2

/* A block as stored in the file, and the bytes before its payload. */
struct piece {
	struct reel_block_header header;
	struct reel_buffer payload;
};

static struct world {
	struct reel_identities identities;
	uint8_t id[REEL_FILE_ID_SIZE], file_header[REEL_FILE_HEADER_SIZE];
	/* Of the capture itself, and of another capture for the same key. */
	struct piece pieces[CAPTURES][PIECES];
	size_t n[CAPTURES];
	/* For each sample, in order. */
	uint64_t sums[BLOCKS * SAMPLES];
} world;

/* The same keys and nonces each time: an input must be reproducible. */
static uint64_t random_state = 1;

static const char *random_name(void)
{
	return "fuzz";
}

static uint32_t random_number(void)
{
	return (uint32_t)(next_random(&random_state) >> 32);
}

static void random_bytes(void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)random_number();
}

static void write_capture(const uint8_t *id, struct reel_buffer *ret)
{
	struct reel_public_keys keys = { &world.identities.list->public, 1 };
	struct reel_writer_options options = { .recipients = &keys };
	struct reel_record end = example_end_record(BLOCKS * SAMPLES);
	_cleanup_fd_ int fd = memory_file("", 0);
	struct example_sample sample;
	struct reel_writer *writer;

	must(reel_writer_create(fd, "example", &options, id, &writer));
	example_side(writer);
	for (uint64_t i = 0; i < BLOCKS * SAMPLES; i++) {
		example_sample(&sample, i);
		must(reel_writer_sample(writer, &sample.sample));
		if (i % SAMPLES == SAMPLES - 1)
			must(reel_writer_flush(writer));
	}
	must(reel_writer_record(writer, &end));
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	file_content(fd, ret);
}

static size_t take_apart(const struct reel_buffer *bytes, struct piece *ret)
{
	size_t at = REEL_FILE_HEADER_SIZE, n = 0;

	while (bytes->size - at >= REEL_BLOCK_HEADER_SIZE) {
		must_be(n < PIECES && reel_block_header_load(bytes->bytes + at, bytes->bytes + 24,
							     &ret[n].header),
			"a block");
		at += REEL_BLOCK_HEADER_SIZE;
		reel_buffer_append(&ret[n].payload, bytes->bytes + at, ret[n].header.stored_size);
		at += ret[n++].header.stored_size;
	}
	return n;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct result {
	struct outcome outcome;
	size_t next;   /* of world.sums, if all is in order */
	bool disorder; /* a sample is missing, repeated, or misplaced */
	bool first;    /* the samples become world.sums */
};

static void take_sample(struct result *result, const struct reel_sample *sample)
{
	struct outcome one = { 0 };
	size_t i = 0;

	outcome_sample(&one, sample);
	if (result->first)
		world.sums[result->next] = one.checksum;
	while (i < BLOCKS * SAMPLES && world.sums[i] != one.checksum)
		i++;
	must_be(i < BLOCKS * SAMPLES, "a sample that was written");
	result->disorder |= i != result->next;
	result->next = i + 1;
}

static void read_block(struct reel_block_reader *block_reader, const struct reel_block *block,
		       struct result *result)
{
	struct reel_error *error = reel_block_reader_load(block_reader, block);
	struct reel_block_item item;
	size_t n;

	while (!error) {
		error = reel_block_reader_next(block_reader, &item);
		if (error || item.kind == REEL_ITEM_END)
			break;
		if (item.kind == REEL_ITEM_SAMPLE)
			take_sample(result, &item.sample);
		else if (item.kind == REEL_ITEM_RECORD && item.record.id == REEL_RECORD_END)
			result->outcome.has_end = true;
	}
	if (error)
		outcome_error(&result->outcome, error);
	if (reel_block_reader_problems(block_reader, &n), n)
		result->outcome.codes |= CODE(INVALID);
}

static void read_blocks(struct reel_reader *reader, struct result *result)
{
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	size_t n;

	if (reel_reader_problems(reader, &n), n)
		result->outcome.codes |= CODE(CORRUPT);
	must(reel_block_reader_create(reader, &block_reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 0; i < n; i++)
		read_block(block_reader, &blocks[i], result);
	reel_block_reader_destroy(block_reader);
}

static void read_capture(const struct reel_buffer *bytes, struct result *ret)
{
	const struct reel_reader_options options = { .identities = &world.identities };
	struct reel_reader *reader;
	struct reel_error *error;

	error = reel_reader_open_fd(memory_file(bytes->bytes, bytes->size), "test.reel", &options,
				    &reader);
	if (error) {
		outcome_error(&ret->outcome, error);
	} else {
		read_blocks(reader, ret);
		reel_reader_close(reader);
	}
	reel_buffer_free(&ret->outcome.text);
}

/* Whether opening the capture reports a problem. */
static bool is_complained_of(const struct reel_buffer *bytes)
{
	const struct reel_open_options options = {
		.common = { .no_host_files = true, .threads = 1 },
	};
	const struct reel_reader_options reading = { .identities = &world.identities };
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	struct reel_reader *reader;
	size_t n_problems;
	bool complaint;

	if (!fuzz_fine(reel_reader_open_fd(memory_file(bytes->bytes, bytes->size), "test.reel",
					   &reading, &reader)) ||
	    !fuzz_fine(reel_capture_open_reader(reader, &options, &capture)))
		return true;
	must(reel_traces_create(capture, NULL, &traces));
	do
		must(reel_traces_next(traces, &trace));
	while (trace);
	reel_traces_destroy(traces);
	reel_capture_problems(capture, &n_problems);
	complaint = !reel_capture_info(capture)->complete || n_problems;
	reel_capture_close(capture);
	return complaint;
}

static void make_world(void)
{
	static struct randombytes_implementation randomness = {
		.implementation_name = random_name,
		.random = random_number,
		.buf = random_bytes,
	};
	static const uint8_t seed[crypto_box_SEEDBYTES] = "fuzz",
			     other[REEL_FILE_ID_SIZE] = "other";
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, others = { 0 };
	struct result result = { .first = true };

	randombytes_set_implementation(&randomness);
	must(reel_crypto_init());
	world.identities.list = calloc(1, sizeof(*world.identities.list));
	world.identities.n = 1;
	crypto_box_seed_keypair(world.identities.list->public.bytes, world.identities.list->secret,
				seed);
	write_capture(example_id, &bytes);
	write_capture(other, &others);
	memcpy(world.file_header, bytes.bytes, sizeof(world.file_header));
	memcpy(world.id, bytes.bytes + 24, sizeof(world.id));
	world.n[0] = take_apart(&bytes, world.pieces[0]);
	world.n[1] = take_apart(&others, world.pieces[1]);
	read_capture(&bytes, &result);
	must_be(!result.outcome.codes && result.next == BLOCKS * SAMPLES, "a whole capture");
}

/* ---- changing it --------------------------------------------------------------------------- */

struct changed {
	struct piece pieces[2 * PIECES];
	size_t n;
	uint8_t file_header[REEL_FILE_HEADER_SIZE];
	bool has_trailer, renumbered;
};

static void copy_piece(const struct piece *from, struct piece *to)
{
	*to = (struct piece){ .header = from->header };
	reel_buffer_append(&to->payload, from->payload.bytes, from->payload.size);
}

static void insert_piece(struct changed *changed, size_t at, const struct piece *piece)
{
	if (changed->n == 2 * PIECES)
		return;
	memmove(&changed->pieces[at + 1], &changed->pieces[at],
		(changed->n - at) * sizeof(*changed->pieces));
	copy_piece(piece, &changed->pieces[at]);
	changed->n++;
}

static void remove_piece(struct changed *changed, size_t at)
{
	reel_buffer_free(&changed->pieces[at].payload);
	memmove(&changed->pieces[at], &changed->pieces[at + 1],
		(--changed->n - at) * sizeof(*changed->pieces));
}

static void swap_pieces(struct changed *changed, size_t a, size_t b)
{
	struct piece piece = changed->pieces[a];

	changed->pieces[a] = changed->pieces[b];
	changed->pieces[b] = piece;
}

static void change_header(struct reel_cursor *input, struct reel_block_header *header)
{
	switch (reel_cursor_u8(input) % 9) {
	case 0:
		header->flags ^= REEL_BLOCK_ENCRYPTED;
		break;
	case 1:
		header->flags = reel_cursor_u8(input);
		break;
	case 2:
		header->type = reel_cursor_u8(input);
		break;
	case 3:
		header->codec = reel_cursor_u8(input);
		break;
	case 4:
		header->sequence = reel_cursor_u8(input);
		break;
	case 5:
		header->raw_size = reel_cursor_u32(input);
		break;
	case 6:
		header->expanded_size = reel_cursor_u32(input);
		break;
	case 7:
		header->records = reel_cursor_u8(input);
		break;
	default:
		header->time_first = reel_cursor_u32(input);
		header->time_last = reel_cursor_u32(input);
		break;
	}
}

static void change_payload(struct reel_cursor *input, struct piece *piece)
{
	size_t at = reel_cursor_u16(input);
	uint8_t bits = reel_cursor_u8(input);

	if (!piece->payload.size)
		return;
	at %= piece->payload.size;
	if (bits == 255)
		piece->payload.size = at;
	else
		piece->payload.bytes[at] ^= bits;
}

/* The attacker's own records, unencrypted. */
static void make_up(struct reel_cursor *input, struct piece *ret)
{
	struct reel_bytes raw;
	size_t bound;

	ret->header = (struct reel_block_header){
		.type = reel_cursor_u8(input) % 6,
		.flags = reel_cursor_u8(input),
		.codec = REEL_CODEC_ZSTD,
		.expanded_size = 1 << 20,
		.records = reel_cursor_u8(input),
	};
	raw = fuzz_part(input);
	bound = ZSTD_compressBound(raw.size);
	ret->payload.size = ZSTD_compress(reel_buffer_reserve(&ret->payload, bound), bound,
					  raw.data, raw.size, 1);
	ret->header.raw_size = (uint32_t)raw.size;
}

static void change(struct reel_cursor *input, struct changed *changed)
{
	uint8_t kind = reel_cursor_u8(input) % 10;
	size_t at = changed->n ? reel_cursor_u8(input) % changed->n : 0;
	struct piece made = { 0 };

	if (!changed->n)
		return;
	switch (kind) {
	case 0:
		remove_piece(changed, at);
		break;
	case 1:
		swap_pieces(changed, at, reel_cursor_u8(input) % changed->n);
		break;
	case 2:
		copy_piece(&changed->pieces[at], &made);
		insert_piece(changed, reel_cursor_u8(input) % changed->n, &made);
		break;
	case 3:
		insert_piece(changed, at, &world.pieces[1][reel_cursor_u8(input) % world.n[1]]);
		break;
	case 4:
		make_up(input, &made);
		insert_piece(changed, at, &made);
		break;
	case 5:
		changed->has_trailer ^= true;
		break;
	case 6:
		changed->renumbered ^= true;
		break;
	case 7:
		changed->file_header[8 + at] = reel_cursor_u8(input);
		fix_crc(changed->file_header, REEL_FILE_HEADER_SIZE);
		break;
	case 8:
		change_header(input, &changed->pieces[at].header);
		break;
	default:
		change_payload(input, &changed->pieces[at]);
		break;
	}
	reel_buffer_free(&made.payload);
}

/* Without an index, if the fuzzer dropped it: then the reader scans for blocks. */
static void put_together(struct changed *changed, struct reel_buffer *ret)
{
	uint8_t bytes[REEL_BLOCK_HEADER_SIZE], trailer[REEL_TRAILER_SIZE];
	size_t index = 0;

	reel_buffer_append(ret, changed->file_header, sizeof(changed->file_header));
	for (size_t i = 0; i < changed->n; i++) {
		struct piece *piece = &changed->pieces[i];

		if (changed->renumbered)
			piece->header.sequence = (uint32_t)i;
		piece->header.stored_size = (uint32_t)piece->payload.size;
		piece->header.payload_crc =
			(uint32_t)crc32(0, piece->payload.bytes, (uInt)piece->payload.size);
		if (piece->header.type == REEL_BLOCK_INDEX)
			index = ret->size;
		reel_block_header_store(&piece->header, world.id, bytes);
		reel_buffer_append(ret, bytes, sizeof(bytes));
		reel_buffer_append(ret, piece->payload.bytes, piece->payload.size);
		reel_buffer_free(&piece->payload);
	}
	if (!changed->has_trailer)
		return;
	reel_trailer_store(index, world.id, trailer);
	reel_buffer_append(ret, trailer, sizeof(trailer));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct changed changed = { .n = 0, .has_trailer = true };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct result result = { 0 };

	if (!world.n[0])
		make_world();
	for (size_t i = 0; i < world.n[0]; i++)
		insert_piece(&changed, i, &world.pieces[0][i]);
	memcpy(changed.file_header, world.file_header, sizeof(changed.file_header));
	for (unsigned i = 0; i < 12 && reel_cursor_left(&input); i++)
		change(&input, &changed);
	put_together(&changed, &bytes);
	read_capture(&bytes, &result);
	must_be((!result.disorder && result.next == BLOCKS * SAMPLES) || is_complained_of(&bytes),
		"all samples, or a reported problem");
	return 0;
}
