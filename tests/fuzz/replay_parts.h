/* SPDX-License-Identifier: Apache-2.0 */
/* A capture and an ELF file that provides the modules with its build-id, both from one input. */
#ifndef TESTS_FUZZ_REPLAY_PARTS_H
#define TESTS_FUZZ_REPLAY_PARTS_H

#include "include/commands.h"
#include "tests/fuzz/capture_parts.h"

struct replay_parts {
	struct fuzz_file capture, elf;
	bool has_elf;
};

static inline void replay_parts_take(struct reel_cursor *input, struct replay_parts *ret)
{
	_cleanup_buffer_ struct reel_buffer bytes = { 0 };
	struct reel_bytes elf = fuzz_part(input);

	fuzz_file_fill(&ret->elf, elf.data, elf.size);
	ret->has_elf = elf.size;
	capture_of(fuzz_rest(input), &bytes);
	fuzz_file_fill(&ret->capture, bytes.bytes, bytes.size);
}

/* False: it is not a capture. */
static inline bool replay_open(const struct replay_parts *parts, const char *path, uint32_t threads,
			       struct reel_capture **ret)
{
	static const char *const nowhere[] = { "/nonexistent", NULL };
	const char *const files[] = { parts->has_elf ? parts->elf.path : NULL, NULL };
	const REEL_SIZED(reel_capture_options, options, .module_files = files,
			 .debug_dirs = nowhere, .no_host_files = true, .max_frames = 128,
			 .threads = threads);

	return fuzz_fine(reel_capture_open(path, &options, ret));
}

#define REPLAY_TRACES_MAX 2000

/* A checksum of all of a trace's frames. */
static inline uint64_t replay_sum(const struct reel_trace *trace)
{
	uint64_t sum = trace->id * 31 + trace->stop;

	for (size_t i = 0; i < trace->n_frames; i++) {
		const struct reel_frame *frame = trace->frames[i];

		sum = sum * 31 + trace->addresses[i];
		sum = sum * 31 + trace->steps[i] + frame->line + frame->inlined;
		sum = sum * 31 +
		      crc32(0, (const uint8_t *)frame->function, (uInt)strlen(frame->function));
		sum = sum * 31 + strlen(frame->file) + strlen(frame->module_path);
	}
	return sum;
}

/* A number for each trace; the caller frees them. */
static inline size_t replay_traces(struct reel_capture *capture, uint64_t **sums_ret)
{
	uint64_t *sums = calloc(REPLAY_TRACES_MAX, sizeof(*sums));
	const struct reel_trace *trace;
	struct reel_traces *traces;
	size_t n = 0;

	must_be(sums != NULL, "memory");
	must(reel_traces_create(capture, NULL, &traces));
	for (;; n++) {
		must(reel_traces_next(traces, &trace));
		if (!trace || n == REPLAY_TRACES_MAX)
			break;
		must_be(trace->stop < REEL_STOP_COUNT && trace->n_kernel_frames <= trace->n_frames,
			"a trace");
		sums[n] = replay_sum(trace);
	}
	reel_traces_destroy(traces);
	*sums_ret = sums;
	return n;
}

static inline void must_be_same_traces(struct reel_capture *a, struct reel_capture *b,
				       const char *what)
{
	uint64_t *of_a, *of_b;
	size_t n = replay_traces(a, &of_a);

	must_be(replay_traces(b, &of_b) == n && !memcmp(of_a, of_b, n * sizeof(*of_a)), what);
	free(of_a);
	free(of_b);
}

#endif
