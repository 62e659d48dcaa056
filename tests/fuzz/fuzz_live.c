/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that are still being written: each prefix read so far is a capture, with at most the
 * records of the whole. */
#include <unistd.h>

#include "replay/capture/live_side.h"
#include "tests/fuzz/fuzz.h"

static bool count_record(void *context, const struct reel_record_view *record)
{
	must_be(record->name && record->name[0], "a name");
	return ++*(uint64_t *)context < 100000;
}

static bool opens(const char *path)
{
	struct reel_capture *capture;
	uint64_t n = 0;

	if (!fuzz_fine(reel_capture_open(path, NULL, &capture)))
		return false;
	must(reel_capture_visit_records(capture, count_record, &n));
	reel_capture_close(capture);
	return true;
}

/* Without what ended before some time, a stream is a capture still. */
static void compact(const uint8_t *data, size_t size)
{
	struct reel_source side;
	uint32_t n_blocks = 0;
	char path[64];

	must(reel_source_create(&side));
	must(reel_source_append(&side, data, size));
	if (fuzz_fine(reel_live_side_compact(&side, size, &n_blocks)) && n_blocks) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", side.fd);
		must_be(opens(path), "a compact capture");
	}
	reel_source_close(&side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file file;
	struct reel_live *live;
	struct reel_live_part part;
	bool ended = false;
	char path[64];

	compact(data, size);
	fuzz_file_fill(&file, data, size);
	must(reel_live_create(file.fd, &live));
	while (!ended && fuzz_fine(reel_live_read(live, &ended)))
		;
	must(reel_live_capture(live, UINT64_MAX, 0, UINT64_MAX, &part));
	reel_live_destroy(live);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", part.fd);
	must_be(opens(path) || !opens(file.path), "a capture of a capture");
	close(part.fd);
	return 0;
}
