/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes small encrypted captures of many blocks, for tests/format/test-encryption-attacks.py:
 *
 *   encrypted_captures DIR PUBLIC_KEY
 *
 * whole.reel; first.reel, whose END precedes the last samples; killed.reel, without END, index and
 * trailer; other.reel, a different capture for the same key.
 */
#include <fcntl.h>

#include "tests/support/example.h"

#define BLOCKS	4 /* of samples, with as many blocks of side records before them */
#define SAMPLES 5

struct kind {
	const char *name;
	uint64_t first; /* sample id: its contents */
	bool end_first, finish;
};

static const struct kind kinds[] = {
	{ "whole", 0, false, true },
	{ "first", 0, true, true },
	{ "killed", 0, false, false },
	{ "other", 1000, false, true },
};

/* A block of side records, and one of samples that is not written yet. */
static void write_blocks(struct reel_writer *writer, uint64_t first)
{
	struct example_sample sample;
	struct reel_record comm = {
		.id = REEL_RECORD_THREAD_COMM,
		.thread_comm = { .time = EXAMPLE_START + 1000 * first,
				 .thread = 1,
				 .comm = reel_bytes_of_string(first % 2 ? "odd" : "even") },
	};

	must(reel_writer_record(writer, &comm));
	for (uint64_t i = 0; i < SAMPLES; i++) {
		example_sample(&sample, first + i);
		must(reel_writer_sample(writer, &sample.sample));
	}
}

static void write_capture(const struct kind *kind, int fd, const struct reel_public_keys *keys)
{
	const struct reel_writer_options options = { .recipients = keys };
	struct reel_record end = example_end_record(BLOCKS * SAMPLES);
	struct reel_writer *writer;

	must(reel_writer_create(fd, kind->name, &options, NULL, &writer));
	example_side(writer);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		write_blocks(writer, kind->first + i * SAMPLES);
		if (i + 1 < BLOCKS || !kind->end_first)
			must(reel_writer_flush(writer));
	}
	if (kind->finish) {
		must(reel_writer_record(writer, &end));
		must(reel_writer_finish(writer));
	}
	reel_writer_destroy(writer);
}

int main(int argc, char **argv)
{
	_cleanup_public_keys_ struct reel_public_keys keys = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: %s DIR PUBLIC_KEY\n", argv[0]);
		return 2;
	}
	must(reel_public_keys_add(&keys, argv[2]));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		_cleanup_free_ char *path = NULL;
		_cleanup_fd_ int fd = -1;

		must_be(asprintf(&path, "%s/%s.reel", argv[1], kinds[i].name) > 0, "memory");
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must_be(fd >= 0, path);
		write_capture(&kinds[i], fd, &keys);
	}
	return 0;
}
