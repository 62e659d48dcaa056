/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, scrubbed: the result is a whole capture with as many samples, and unchanged when
 * scrubbed again.  Its traces are the same, except where a file's CFI may lead anywhere.
 */
#include "replay/rewrite/rewrite.h"
#include "tests/fuzz/replay_parts.h"
#include "tests/support/read_all.h"

struct scrub {
	struct reel_rewrite_job job;
	struct reel_scrubber *scrubber;
};

static struct reel_error *scrub_sample(void *context, struct reel_rewrite_sample *rewritten)
{
	struct scrub *scrub = context;

	return reel_capture_scrub_sample(scrub->job.capture, scrub->scrubber, &rewritten->sample);
}

/*
 * As reel_capture_scrub.  False: it cannot be written, because no recorder would write it (numbers
 * of samples that do not ascend).
 */
static bool scrub(struct reel_capture *capture, struct fuzz_file *to, struct outcome *ret)
{
	struct scrub scrub = { .job.capture = capture };
	const struct reel_rewrite_rules rules = {
		.drop_unknown = true,
		.sample = scrub_sample,
		.context = &scrub,
	};
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	bool fine;

	fuzz_file_fill(to, "", 0);
	must(reel_capture_scrubber_create(capture, &scrub.scrubber));
	fine = fuzz_fine(reel_rewrite(&scrub.job, to->fd, "scrubbed", &rules));
	reel_scrubber_destroy(scrub.scrubber);
	if (!fine)
		return false;
	file_content(to->fd, &bytes);
	read_all(bytes.bytes, bytes.size, ret);
	must_be(ret->opened && ret->has_trailer, "a whole capture");
	must_be(ret->samples == scrub.job.counts.samples, "as many samples as were counted");
	return true;
}

static void scrub_again(const struct replay_parts *parts, const struct fuzz_file *once,
			uint64_t samples)
{
	static struct fuzz_file twice;
	struct reel_capture *capture;
	_cleanup_buffer_ struct reel_buffer a = { 0 };
	struct outcome first, second;

	must_be(replay_open(parts, once->path, 1, &capture), "a capture that can be opened");
	must_be(scrub(capture, &twice, &second) && second.samples == samples, "as many samples");
	file_content(once->fd, &a);
	read_all(a.bytes, a.size, &first);
	must_be(first.checksum == second.checksum, "scrubbed data unchanged");
	reel_buffer_free(&first.text);
	reel_buffer_free(&second.text);
	reel_capture_close(capture);
}

/*
 * A chain walked by another recorder may hold anything in place of an address, and where an
 * embedded image or a frame pointer misleads the walk, it may treat data as an address: if it is
 * not an address of code, it has become 1 (SPEC.md, 8.1).  Everything else is the same.
 */
static void compare_traces(const struct reel_trace *raw, const struct reel_trace *scrubbed)
{
	must_be(raw->id == scrubbed->id && raw->stop == scrubbed->stop &&
			raw->n_frames == scrubbed->n_frames,
		"the same trace");
	for (size_t i = 0; i < raw->n_frames; i++) {
		if (scrubbed->addresses[i] == REEL_SCRUBBED_WORD)
			continue;
		must_be(raw->addresses[i] == scrubbed->addresses[i] &&
				raw->steps[i] == scrubbed->steps[i] &&
				!strcmp(raw->frames[i]->function, scrubbed->frames[i]->function),
			"the same frame");
	}
}

static void compare_captures(struct reel_capture *raw, struct reel_capture *scrubbed)
{
	const struct reel_trace *a, *b;
	struct reel_traces *of_raw, *of_scrubbed;

	must(reel_traces_create(raw, NULL, &of_raw));
	must(reel_traces_create(scrubbed, NULL, &of_scrubbed));
	do {
		must(reel_traces_next(of_raw, &a));
		must(reel_traces_next(of_scrubbed, &b));
		must_be(!a == !b, "as many traces");
		if (a)
			compare_traces(a, b);
	} while (a);
	reel_traces_destroy(of_scrubbed);
	reel_traces_destroy(of_raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct replay_parts parts;
	static struct fuzz_file once;
	struct reel_cursor input = reel_cursor(data, size);
	struct reel_capture *capture, *scrubbed;
	struct outcome outcome;

	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	if (scrub(capture, &once, &outcome)) {
		scrub_again(&parts, &once, outcome.samples);
		must_be(replay_open(&parts, once.path, 1, &scrubbed), "a capture that opens");
		if (!parts.has_elf)
			compare_captures(capture, scrubbed);
		reel_capture_close(scrubbed);
		reel_buffer_free(&outcome.text);
	}
	reel_capture_close(capture);
	return 0;
}
