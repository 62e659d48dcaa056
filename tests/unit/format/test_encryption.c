/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted captures: their readers, hidden data, and detection of every change. */
#include <fcntl.h>

#include "format/cipher.h"
#include "tests/support/example.h"
#include "tests/support/read_all.h"
#include "tests/support/test.h"

#define N_KEYS	3
#define BLOCKS	3
#define SAMPLES 4
/* Keys, side, samples (BLOCKS times), END, keys, index. */
#define N_BLOCKS (1 + 1 + BLOCKS + 1 + 1 + 1)

/* Key files in a folder that is removed at the end, and their public keys. */
static struct {
	char directory[64];
	char path[N_KEYS][96];
	char public[N_KEYS][REEL_PUBLIC_KEY_TEXT_SIZE];
	struct reel_identities identities[N_KEYS];
	struct reel_public_keys recipients; /* for the first two */
} keys;

static int make_keys(void **state)
{
	snprintf(keys.directory, sizeof(keys.directory), "/tmp/test_encryption.XXXXXX");
	assert_non_null(mkdtemp(keys.directory));
	for (size_t i = 0; i < N_KEYS; i++) {
		snprintf(keys.path[i], sizeof(keys.path[i]), "%s/%zu.key", keys.directory, i);
		must(reel_identity_create(keys.path[i], keys.public[i]));
		must(reel_identities_load(&keys.identities[i], keys.path[i]));
	}
	must(reel_public_keys_add(&keys.recipients, keys.public[0]));
	must(reel_public_keys_add(&keys.recipients, keys.public[1]));
	return 0;
}

static int remove_keys(void **state)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		unlink(keys.path[i]);
		reel_identities_free(&keys.identities[i]);
	}
	reel_public_keys_free(&keys.recipients);
	return rmdir(keys.directory);
}

/* ---- captures ----------------------------------------------------------------------------- */

static void write_capture(const uint8_t *id, bool finish, struct reel_buffer *ret)
{
	struct reel_writer_options options = { .recipients = &keys.recipients };
	_cleanup_fd_ int fd = memory_file("", 0);
	struct reel_record end = example_end_record(BLOCKS * SAMPLES);
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
	if (finish) {
		must(reel_writer_record(writer, &end));
		must(reel_writer_finish(writer));
	}
	reel_writer_destroy(writer);
	ret->size = 0;
	file_content(fd, ret);
}

static void read_with(const struct reel_buffer *bytes, const struct reel_identities *identities,
		      struct outcome *ret)
{
	const struct reel_reader_options options = { .identities = identities };
	struct reel_reader *reader = NULL;
	struct reel_error *error;

	error = reel_reader_open_fd(memory_file(bytes->bytes, bytes->size), "test.reel", &options,
				    &reader);
	read_opened(error, reader, ret);
}

static void assert_clean(const struct outcome *outcome)
{
	if (outcome->text.size > 1)
		fail_msg("unexpected: %s", (const char *)outcome->text.bytes);
	assert_true(outcome->opened && outcome->has_trailer && outcome->has_end);
	assert_int_equal(outcome->samples, BLOCKS * SAMPLES);
	assert_int_equal(outcome->blocks, N_BLOCKS);
}

/* Problems were reported, all with one of these codes. */
static void assert_reported(const struct outcome *outcome, unsigned codes, const char *what)
{
	if (!outcome->codes || outcome->codes & ~codes)
		fail_msg("%s: codes 0x%x: %s", what, outcome->codes,
			 (const char *)outcome->text.bytes);
}

/* Offsets of the blocks of a whole capture; `size` includes header and payload. */
struct place {
	size_t offset, size;
	struct reel_block_header header;
};

static size_t find_places(const struct reel_buffer *bytes, struct place *ret)
{
	size_t at = REEL_FILE_HEADER_SIZE, n = 0;

	while (bytes->size - at >= REEL_BLOCK_HEADER_SIZE) {
		must_be(n < N_BLOCKS && reel_block_header_load(bytes->bytes + at, bytes->bytes + 24,
							       &ret[n].header),
			"a block");
		ret[n].offset = at;
		ret[n].size = REEL_BLOCK_HEADER_SIZE + ret[n].header.stored_size;
		at += ret[n++].size;
	}
	return n;
}

/* As somebody would who modifies a file: fix the checksums. */
static void fix_block(uint8_t *block, size_t size)
{
	reel_store32(block + 60, (uint32_t)crc32(0, block + REEL_BLOCK_HEADER_SIZE,
						 (uInt)(size - REEL_BLOCK_HEADER_SIZE)));
	fix_crc(block, REEL_BLOCK_HEADER_SIZE);
}

static void set_sequence(struct reel_buffer *bytes, const struct place *place, uint32_t sequence)
{
	reel_store32(bytes->bytes + place->offset + 20, sequence);
	fix_block(bytes->bytes + place->offset, place->size);
}

/* ---- reading ------------------------------------------------------------------------------- */

TEST(test_round_trip)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	for (size_t i = 0; i < 2; i++) {
		read_with(&bytes, &keys.identities[i], &outcome);
		assert_clean(&outcome);
		reel_buffer_free(&outcome.text);
	}
}

/* The same samples and records as from an unencrypted capture. */
TEST(test_content)
{
	const struct reel_reader_options options = { .identities = &keys.identities[0] };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, plain = { 0 };
	uint64_t sums[2] = { 0 };

	write_capture(example_id, true, &bytes);
	example_capture(&plain, BLOCKS, SAMPLES, true);
	for (size_t i = 0; i < 2; i++) {
		const struct reel_buffer *file = i ? &bytes : &plain;
		struct reel_block_reader *block_reader;
		const struct reel_block *blocks;
		struct outcome outcome = { 0 };
		struct reel_reader *reader;
		size_t n;

		must(reel_reader_open_fd(memory_file(file->bytes, file->size), "x", &options,
					 &reader));
		must(reel_block_reader_create(reader, &block_reader));
		blocks = reel_reader_blocks(reader, &n);
		for (size_t j = 0; j < n; j++) {
			if (blocks[j].header.type == REEL_BLOCK_SIDE ||
			    blocks[j].header.type == REEL_BLOCK_SAMPLES)
				outcome_block(&outcome, block_reader, &blocks[j]);
		}
		assert_int_equal(outcome.codes, 0);
		assert_int_equal(outcome.samples, BLOCKS * SAMPLES);
		sums[i] = outcome.checksum;
		reel_block_reader_destroy(block_reader);
		reel_reader_close(reader);
	}
	assert_true(sums[0] && sums[0] == sums[1]);
}

TEST(test_wants_a_key)
{
	static const struct reel_identities none;
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	read_with(&bytes, &none, &outcome);
	assert_int_equal(outcome.codes, CODE(KEY));
	assert_non_null(strstr((const char *)outcome.text.bytes, " and 1 more: use --identity"));
	reel_buffer_free(&outcome.text);
	read_with(&bytes, &keys.identities[2], &outcome);
	assert_int_equal(outcome.codes, CODE(KEY));
	assert_non_null(strstr((const char *)outcome.text.bytes, "none of your keys matches"));
	reel_buffer_free(&outcome.text);
}

/* The headers of a file without an index still give its times to a reader with the key. */
TEST(test_unfinished)
{
	const struct reel_reader_options options = { .identities = &keys.identities[0] };
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	const struct reel_block *blocks;
	struct reel_reader *reader;
	struct place places[N_BLOCKS];
	struct outcome outcome;
	size_t n;

	write_capture(example_id, false, &bytes);
	assert_int_equal(find_places(&bytes, places), 2 + BLOCKS);
	read_with(&bytes, &keys.identities[0], &outcome);
	assert_int_equal(outcome.codes, CODE(TRUNCATED));
	assert_int_equal(outcome.samples, BLOCKS * SAMPLES);
	reel_buffer_free(&outcome.text);
	must(reel_reader_open_fd(memory_file(bytes.bytes, bytes.size), "test.reel", &options,
				 &reader));
	blocks = reel_reader_blocks(reader, &n);
	for (size_t i = 2; i < n; i++) {
		assert_int_equal(places[i].header.time_first, 0);
		assert_int_equal(places[i].header.time_last, 0);
		assert_int_equal(places[i].header.records, 0);
		assert_int_equal(blocks[i].header.time_first,
				 EXAMPLE_START + 1000 * SAMPLES * (i - 2));
		assert_int_equal(blocks[i].header.time_last,
				 EXAMPLE_START + 1000 * (SAMPLES * (i - 1) - 1));
		assert_true(blocks[i].header.records > 0);
	}
	reel_reader_close(reader);
}

/* No name, path or time of the capture is in the file, and zstd frames only in blocks of keys. */
TEST(test_hides)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	uint8_t start[4];
	size_t frames = 0;

	write_capture(example_id, true, &bytes);
	reel_store32(start, EXAMPLE_START);
	assert_null(memmem(bytes.bytes, bytes.size, "example", 7));
	assert_null(memmem(bytes.bytes, bytes.size, "cpu-clock", 9));
	assert_null(memmem(bytes.bytes, bytes.size, start, sizeof(start)));
	for (size_t i = 0; i + 4 <= bytes.size; i++)
		frames += reel_load32(bytes.bytes + i) == ZSTD_MAGICNUMBER;
	assert_int_equal(frames, 2);
}

/* ---- changes ------------------------------------------------------------------------------- */

/* Flip one bit of each byte of each encrypted block, with right checksums. */
TEST(test_changed_bits)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, changed = { 0 };
	struct place places[N_BLOCKS];

	write_capture(example_id, true, &bytes);
	assert_int_equal(find_places(&bytes, places), N_BLOCKS);
	for (size_t i = 1; i < N_BLOCKS; i++) {
		const struct place *place = &places[i];

		if (place->header.type == REEL_BLOCK_KEYS)
			continue;
		for (size_t at = 16; at < place->size; at++) {
			struct outcome outcome;
			char what[64];

			/* The crcs, which are fixed again. */
			if ((at >= 60 && at < 64) || (at >= 76 && at < 80))
				continue;
			changed.size = 0;
			reel_buffer_append(&changed, bytes.bytes, bytes.size);
			changed.bytes[place->offset + at] ^= (uint8_t)(1 << at % 8);
			fix_block(changed.bytes + place->offset, place->size);
			read_with(&changed, &keys.identities[0], &outcome);
			snprintf(what, sizeof(what), "block %zu, byte %zu", i, at);
			assert_reported(&outcome,
					CODE(CORRUPT) | CODE(TRUNCATED) | CODE(UNSUPPORTED), what);
			assert_true(outcome.samples <= BLOCKS * SAMPLES);
			reel_buffer_free(&outcome.text);
		}
	}
}

/* Flip one bit of each byte of the file header, with a right checksum. */
TEST(test_changed_file_header)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };

	write_capture(example_id, true, &bytes);
	for (size_t at = 0; at < REEL_FILE_HEADER_SIZE - 4; at++) {
		struct outcome outcome;
		char what[64];

		bytes.bytes[at] ^= 1;
		fix_crc(bytes.bytes, REEL_FILE_HEADER_SIZE);
		read_with(&bytes, &keys.identities[0], &outcome);
		snprintf(what, sizeof(what), "byte %zu of the file header", at);
		assert_reported(&outcome,
				CODE(CORRUPT) | CODE(TRUNCATED) | CODE(UNSUPPORTED) |
					CODE(NOT_A_CAPTURE),
				what);
		assert_int_equal(outcome.samples, 0);
		reel_buffer_free(&outcome.text);
		bytes.bytes[at] ^= 1;
	}
}

/*
 * A block of keys that claims to be encrypted before its key is known once ended the reading.
 */
TEST(test_encrypted_keys)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct place places[N_BLOCKS];
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	find_places(&bytes, places);
	bytes.bytes[places[0].offset + 19] |= REEL_BLOCK_ENCRYPTED;
	fix_block(bytes.bytes + places[0].offset, places[0].size);
	read_with(&bytes, &keys.identities[0], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "the first keys");
	assert_int_equal(outcome.samples, BLOCKS * SAMPLES);
	reel_buffer_free(&outcome.text);
}

static void append_block(struct reel_buffer *ret, const struct reel_buffer *bytes,
			 const struct place *place)
{
	reel_buffer_append(ret, bytes->bytes + place->offset, place->size);
}

/* The file header and these blocks, then a trailer without an index. */
static void arrange(const struct reel_buffer *bytes, const struct place *places,
		    const size_t *order, size_t n, struct reel_buffer *ret)
{
	uint8_t trailer[REEL_TRAILER_SIZE];

	ret->size = 0;
	reel_buffer_append(ret, bytes->bytes, REEL_FILE_HEADER_SIZE);
	for (size_t i = 0; i < n; i++)
		append_block(ret, bytes, &places[order[i]]);
	reel_trailer_store(0, bytes->bytes + 24, trailer);
	reel_buffer_append(ret, trailer, sizeof(trailer));
}

/* Blocks omitted, repeated, reordered: with a trailer that the attacker wrote. */
TEST(test_arranged)
{
	static const struct {
		const char *what;
		size_t order[N_BLOCKS + 1], n;
		unsigned codes;
		bool has_end;
	} cases[] = {
		/*
		 * Only the END record shows this: a reader of all records notices that it is
		 * missing.
		 */
		{ "END omitted", { 0, 1, 2, 3, 4 }, 5, 0, false },
		{ "the last samples and END omitted", { 0, 1, 2, 3 }, 4, 0, false },
		{ "samples omitted", { 0, 1, 2, 4, 5, 6 }, 6, CODE(CORRUPT), true },
		{ "samples in another order", { 0, 1, 3, 2, 4, 5, 6 }, 7, CODE(CORRUPT), true },
		{ "samples twice", { 0, 1, 2, 2, 3, 4, 5, 6 }, 8, CODE(CORRUPT), true },
	};
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, changed = { 0 };
	struct place places[N_BLOCKS];

	write_capture(example_id, true, &bytes);
	find_places(&bytes, places);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome;

		arrange(&bytes, places, cases[i].order, cases[i].n, &changed);
		read_with(&changed, &keys.identities[0], &outcome);
		if (outcome.codes != cases[i].codes || outcome.has_end != cases[i].has_end)
			fail_msg("%s: codes 0x%x: %s", cases[i].what, outcome.codes,
				 (const char *)outcome.text.bytes);
		reel_buffer_free(&outcome.text);
	}
}

/* Two blocks swapped, with matching headers. */
TEST(test_moved)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, changed = { 0 };
	const size_t order[] = { 0, 1, 3, 2, 4, 5, 6 };
	struct place places[N_BLOCKS], moved[N_BLOCKS];
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	find_places(&bytes, places);
	arrange(&bytes, places, order, 7, &changed);
	find_places(&changed, moved);
	set_sequence(&changed, &moved[2], 2);
	set_sequence(&changed, &moved[3], 3);
	read_with(&changed, &keys.identities[0], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "moved");
	assert_int_equal(outcome.samples, (BLOCKS - 2) * SAMPLES);
	reel_buffer_free(&outcome.text);
}

/*
 * A block of another capture for the same readers at the same position, with and without its keys.
 */
static void assert_splice_found(const struct reel_buffer *other, bool with_keys)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, changed = { 0 };
	struct place places[N_BLOCKS], others[N_BLOCKS];
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	find_places(&bytes, places);
	find_places(other, others);
	reel_buffer_append(&changed, bytes.bytes, REEL_FILE_HEADER_SIZE);
	for (size_t i = 0; i < N_BLOCKS - 1; i++) {
		bool is_other = i == 3 || (with_keys && !i);
		const struct place *place = is_other ? &others[i] : &places[i];
		size_t at = changed.size;

		append_block(&changed, is_other ? other : &bytes, place);
		/* The file's tag. */
		memcpy(changed.bytes + at + 12, bytes.bytes + 24, 4);
		fix_block(changed.bytes + at, place->size);
	}
	reel_buffer_append(&changed, bytes.bytes + bytes.size - REEL_TRAILER_SIZE,
			   REEL_TRAILER_SIZE);
	read_with(&changed, &keys.identities[0], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "spliced");
	assert_int_equal(outcome.samples, with_keys ? 0 : (BLOCKS - 1) * SAMPLES);
	reel_buffer_free(&outcome.text);
}

TEST(test_spliced)
{
	const uint8_t other_id[REEL_FILE_ID_SIZE] = "another capture";
	_cleanup_buffer_ struct reel_buffer other = { 0 };

	write_capture(other_id, true, &other);
	assert_splice_found(&other, false);
	assert_splice_found(&other, true);
}

/* Unencrypted blocks, as in a plain capture with the same id. */
TEST(test_plain_block)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 }, plain = { 0 }, changed = { 0 };
	struct place places[N_BLOCKS], plain_places[N_BLOCKS];
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	example_capture(&plain, BLOCKS, SAMPLES, true);
	find_places(&bytes, places);
	find_places(&plain, plain_places);
	reel_buffer_append(&changed, bytes.bytes, places[2].offset);
	append_block(&changed, &plain, &plain_places[1]);
	set_sequence(&changed, &(struct place){ places[2].offset, plain_places[1].size, { 0 } }, 2);
	reel_buffer_append(&changed, bytes.bytes + places[3].offset, bytes.size - places[3].offset);
	read_with(&changed, &keys.identities[0], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "a plain block");
	assert_non_null(strstr((const char *)outcome.text.bytes, "not encrypted"));
	assert_int_equal(outcome.samples, (BLOCKS - 1) * SAMPLES);
	reel_buffer_free(&outcome.text);
}

/* Keys are at the beginning and before the index. */
TEST(test_damaged_keys)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct place places[N_BLOCKS];
	struct outcome outcome;

	write_capture(example_id, true, &bytes);
	find_places(&bytes, places);
	assert_int_equal(places[0].header.type, REEL_BLOCK_KEYS);
	assert_int_equal(places[N_BLOCKS - 2].header.type, REEL_BLOCK_KEYS);
	bytes.bytes[places[0].offset + 90] ^= 1;
	read_with(&bytes, &keys.identities[1], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "the first keys");
	assert_int_equal(outcome.samples, BLOCKS * SAMPLES);
	reel_buffer_free(&outcome.text);
	bytes.bytes[places[N_BLOCKS - 2].offset + 90] ^= 1;
	read_with(&bytes, &keys.identities[1], &outcome);
	assert_reported(&outcome, CODE(CORRUPT), "all keys");
	assert_false(outcome.opened);
	reel_buffer_free(&outcome.text);
}

/* ---- keys as text --------------------------------------------------------------------------- */

static void assert_refused(struct reel_error *error, const char *says)
{
	assert_error_says(error, REEL_ERROR_INVALID, says);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

TEST(test_public_key_text)
{
	_cleanup_public_keys_ struct reel_public_keys list = { 0 };
	char text[512];

	/* Every character counts. */
	for (size_t i = 9; i < strlen(keys.public[0]); i++) {
		snprintf(text, sizeof(text), "%s", keys.public[0]);
		text[i] = text[i] == 'A' ? 'B' : 'A';
		assert_refused(reel_public_keys_add(&list, text), "missing or wrong");
	}
	snprintf(text, sizeof(text), "%s", keys.public[0]);
	text[strlen(text) - 1] = '\0';
	assert_refused(reel_public_keys_add(&list, text), "missing or wrong");
	snprintf(text, sizeof(text), "%sA", keys.public[0]);
	assert_refused(reel_public_keys_add(&list, text), "missing or wrong");
	assert_refused(reel_public_keys_add(&list, "reelsec1_x"), "now visible to anyone");
}

TEST(test_public_key_files)
{
	_cleanup_public_keys_ struct reel_public_keys list = { 0 };
	char path[128], text[512];

	snprintf(path, sizeof(path), "%s/public", keys.directory);
	snprintf(text, sizeof(text), "# ours\n\n  %s\t\r\n%s\n%s", keys.public[0], keys.public[1],
		 keys.public[0]);
	write_text(path, text);
	must(reel_public_keys_add(&list, path));
	assert_int_equal(list.n, 2);
	assert_memory_equal(&list.list[1], &keys.identities[1].list[0].public, REEL_KEY_SIZE);
	write_text(path, "# nothing\n");
	assert_refused(reel_public_keys_add(&list, path), "no keys found");
	write_text(path, "reelpub1_\n");
	assert_refused(reel_public_keys_add(&list, path), "line 1: invalid public key");
	unlink(path);
	assert_refused(reel_public_keys_add(&list, keys.path[0]), "line 3: expected a public key");
	assert_refused(reel_public_keys_add(&list, keys.directory), "invalid key file");
	/* Nobody writes to it. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(reel_public_keys_add(&list, path), "invalid key file");
	unlink(path);
}

TEST(test_identities)
{
	struct reel_identities list = { 0 };
	char path[128], public[REEL_PUBLIC_KEY_TEXT_SIZE];
	struct reel_error *error;
	struct stat status;

	assert_int_equal(stat(keys.path[0], &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	error = reel_identity_create(keys.path[0], public);
	assert_non_null(error);
	reel_error_destroy(error);
	snprintf(path, sizeof(path), "%s/wrong", keys.directory);
	write_text(path, keys.public[0]);
	assert_refused(reel_identities_load(&list, path), "line 1: expected a secret key");
	write_text(path, "\nreelsec1_AAAA\n");
	assert_refused(reel_identities_load(&list, path), "line 2: invalid secret key");
	write_text(path, "");
	assert_refused(reel_identities_load(&list, path), "no keys found");
	unlink(path);
	assert_int_equal(list.n, 0);
}

TEST(test_too_many_recipients)
{
	_cleanup_public_keys_ struct reel_public_keys list = { 0 };
	struct reel_error *error = NULL;
	char path[128], public[REEL_PUBLIC_KEY_TEXT_SIZE];

	snprintf(path, sizeof(path), "%s/many", keys.directory);
	for (size_t i = 0; i <= REEL_RECIPIENTS_MAX && !error; i++) {
		must(reel_identity_create(path, public));
		unlink(path);
		error = reel_public_keys_add(&list, public);
	}
	assert_int_equal(list.n, REEL_RECIPIENTS_MAX);
	assert_refused(error, "more than 64");
}

RUN_TESTS_WITH(make_keys, remove_keys)
