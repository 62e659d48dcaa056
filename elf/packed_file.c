/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/files.h"
#include "elf/elf_sections.h"
#include "elf/packed_file.h"
#include "host/system.h"

#define BUFFER 65536
/* xz's largest preset, -9, takes 65 MiB, zstd's largest, --ultra -22, has a window of 128 MiB. */
#define XZ_MEMORY	(80u << 20)
#define ZSTD_WINDOW_LOG 27

/* The input and the output. */
struct stream {
	const uint8_t *in;
	size_t in_left;
	uint8_t *out;
	size_t out_left;
};

enum step { STEP_MORE, STEP_END, STEP_DAMAGED, STEP_NO_MEMORY };

struct decoder {
	lzma_stream xz;
	z_stream gzip;
	ZSTD_DStream *zstd;
};

/* ---- each format --------------------------------------------------------------- */

static bool begin_xz(struct decoder *decoder)
{
	decoder->xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&decoder->xz, XZ_MEMORY, 0) == LZMA_OK;
}

static enum step step_xz(struct decoder *decoder, struct stream *stream)
{
	lzma_stream *xz = &decoder->xz;
	lzma_ret status;

	xz->next_in = stream->in;
	xz->avail_in = stream->in_left;
	xz->next_out = stream->out;
	xz->avail_out = stream->out_left;
	status = lzma_code(xz, LZMA_RUN);
	stream->in = xz->next_in;
	stream->in_left = xz->avail_in;
	stream->out_left = xz->avail_out;
	if (status == LZMA_MEM_ERROR)
		return STEP_NO_MEMORY;
	return status == LZMA_STREAM_END ? STEP_END : status == LZMA_OK ? STEP_MORE : STEP_DAMAGED;
}

static void end_xz(struct decoder *decoder)
{
	lzma_end(&decoder->xz);
}

static bool begin_gzip(struct decoder *decoder)
{
	/* 15 is the largest window, and adding 16 selects gzip's header (zlib.h). */
	return inflateInit2(&decoder->gzip, 15 + 16) == Z_OK;
}

static enum step step_gzip(struct decoder *decoder, struct stream *stream)
{
	z_stream *gzip = &decoder->gzip;
	int status;

	gzip->next_in = (Bytef *)stream->in;
	gzip->avail_in = (uInt)stream->in_left;
	gzip->next_out = stream->out;
	gzip->avail_out = (uInt)stream->out_left;
	status = inflate(gzip, Z_NO_FLUSH);
	stream->in = gzip->next_in;
	stream->in_left = gzip->avail_in;
	stream->out_left = gzip->avail_out;
	if (status == Z_MEM_ERROR)
		return STEP_NO_MEMORY;
	return status == Z_STREAM_END ? STEP_END : status == Z_OK ? STEP_MORE : STEP_DAMAGED;
}

static void end_gzip(struct decoder *decoder)
{
	inflateEnd(&decoder->gzip);
}

static bool begin_zstd(struct decoder *decoder)
{
	decoder->zstd = ZSTD_createDStream();
	return decoder->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(
					decoder->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
}

static enum step step_zstd(struct decoder *decoder, struct stream *stream)
{
	ZSTD_inBuffer in = { stream->in, stream->in_left, 0 };
	ZSTD_outBuffer out = { stream->out, stream->out_left, 0 };
	size_t status = ZSTD_decompressStream(decoder->zstd, &out, &in);

	stream->in += in.pos;
	stream->in_left -= in.pos;
	stream->out_left -= out.pos;
	if (ZSTD_isError(status))
		return ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation ? STEP_NO_MEMORY
										 : STEP_DAMAGED;
	return status ? STEP_MORE : STEP_END;
}

static void end_zstd(struct decoder *decoder)
{
	ZSTD_freeDStream(decoder->zstd);
}

static const struct way {
	const char *name;
	size_t magic_size;
	uint8_t magic[6];
	bool (*begin)(struct decoder *decoder);
	enum step (*step)(struct decoder *decoder, struct stream *stream);
	void (*end)(struct decoder *decoder);
} ways[] = {
	{ "xz", 6, { 0xfd, '7', 'z', 'X', 'Z', 0 }, begin_xz, step_xz, end_xz },
	{ "zstd", 4, { 0x28, 0xb5, 0x2f, 0xfd }, begin_zstd, step_zstd, end_zstd },
	{ "gzip", 2, { 0x1f, 0x8b }, begin_gzip, step_gzip, end_gzip },
};

/* ---- the file -------------------------------------------------------------------- */

/* Unpacks `from`, `size` bytes long, into `to`, which has `done` bytes so far. */
struct unpacking {
	const char *path;
	const struct way *way;
	int from, to;
	uint64_t size, done;
};

static struct reel_error *problem(const struct unpacking *it, const char *what)
{
	return reel_error_create(REEL_ERROR_CORRUPT, "%s: compressed with %s: %s", it->path,
				 it->way->name, what);
}

static struct reel_error *read_some(const struct unpacking *it, uint8_t *bytes, uint64_t *offset,
				    struct stream *stream)
{
	uint64_t left = it->size - *offset;
	size_t size = left < BUFFER ? (size_t)left : BUFFER;

	if (!size)
		return problem(it, "truncated; copy it again");
	if (!reel_read_at(it->from, bytes, size, *offset))
		return reel_error_os(errno ? errno : EIO, "reading %s", it->path);
	*offset += size;
	stream->in = bytes;
	stream->in_left = size;
	return NULL;
}

static struct reel_error *write_some(struct unpacking *it, const uint8_t *bytes, size_t size)
{
	int code;

	if (size > reel_elf_sections_expansion(it->size) - it->done)
		return problem(it,
			       "decompresses to far more data: ELF files never compress that well");
	it->done += size;
	code = reel_write_all(it->to, bytes, size, NULL);
	return code ? reel_error_os(code, "unpacking %s into memory", it->path) : NULL;
}

static struct reel_error *unpack(struct unpacking *it, struct decoder *decoder)
{
	uint8_t in[BUFFER], out[BUFFER];
	struct stream stream = { 0 };
	struct reel_error *error = NULL;
	enum step step = STEP_MORE;
	uint64_t offset = 0;

	while (!error && step == STEP_MORE) {
		stream.out = out;
		stream.out_left = BUFFER;
		if (!stream.in_left)
			error = read_some(it, in, &offset, &stream);
		if (error)
			return error;
		step = it->way->step(decoder, &stream);
		if (step == STEP_NO_MEMORY)
			return reel_error_no_memory();
		if (step == STEP_DAMAGED)
			return problem(it, "damaged");
		error = write_some(it, out, BUFFER - stream.out_left);
	}
	return error;
}

static const struct way *way_of(int fd)
{
	uint8_t magic[sizeof(ways->magic)];

	if (!reel_read_at(fd, magic, sizeof(magic), 0))
		return NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (!memcmp(magic, ways[i].magic, ways[i].magic_size))
			return &ways[i];
	}
	return NULL;
}

struct reel_error *reel_packed_file_unpack(const char *path, int *fd, uint64_t *size)
{
	struct unpacking it = { .path = path, .way = way_of(*fd), .from = *fd, .size = *size };
	struct decoder decoder = { 0 };
	struct reel_error *error;

	if (!it.way)
		return NULL;
	it.to = reel_system_memory_file("unpacked");
	if (it.to < 0)
		return reel_error_os(errno, "unpacking %s into memory", path);
	error = it.way->begin(&decoder) ? unpack(&it, &decoder) : reel_error_no_memory();
	it.way->end(&decoder);
	if (error) {
		close(it.to);
		return error;
	}
	close(*fd);
	*fd = it.to;
	*size = it.done;
	return NULL;
}
