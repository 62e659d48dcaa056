/* SPDX-License-Identifier: Apache-2.0 */
#include <lzma.h>
#include <stdlib.h>

#include "elf/elf_sections.h"
#include "elf/mini_debug_info.h"

/* xz's largest preset, -9, has a dictionary of 64 MiB, and takes 65 MiB to decompress. */
#define DECODER_MEMORY (80u << 20)

static struct reel_error *problem(const struct reel_elf_file *file, enum reel_error_code code,
				  const char *what)
{
	return reel_error_create(code, "%s: .gnu_debugdata: %s", reel_elf_file_path(file), what);
}

static struct reel_error *decoder_problem(const struct reel_elf_file *file, lzma_ret status)
{
	switch (status) {
	case LZMA_MEM_ERROR:
		return reel_error_no_memory();
	case LZMA_MEMLIMIT_ERROR:
		return problem(file, REEL_ERROR_UNSUPPORTED,
			       "decompressing requires more than 80 MiB, the limit of xz -9");
	case LZMA_OPTIONS_ERROR:
		return problem(file, REEL_ERROR_UNSUPPORTED, "compression unknown to this liblzma");
	default:
		return problem(file, REEL_ERROR_CORRUPT, "damaged xz data");
	}
}

/* Doubles the output's memory, up to the limit for a file's sections. */
static struct reel_error *make_room(const struct reel_elf_file *file, lzma_stream *stream,
				    uint8_t **bytes)
{
	size_t size = (size_t)stream->total_out, wanted = size ? 2 * size : 1 << 16;
	uint64_t limit = reel_elf_sections_expansion(reel_elf_file_size(file));
	uint8_t *grown;

	if (wanted > limit)
		wanted = (size_t)limit;
	if (wanted <= size)
		return problem(file, REEL_ERROR_CORRUPT,
			       "decompresses to far more data than the file: symbols never "
			       "compress that well");
	grown = realloc(*bytes, wanted);
	if (!grown)
		return reel_error_no_memory();
	*bytes = grown;
	stream->next_out = grown + size;
	stream->avail_out = wanted - size;
	return NULL;
}

static struct reel_error *decompress(const struct reel_elf_file *file,
				     const struct reel_loaded_bytes *section, uint8_t **bytes,
				     size_t *size_ret)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&stream, DECODER_MEMORY, 0);
	struct reel_error *error = NULL;

	stream.next_in = section->bytes;
	stream.avail_in = section->size;
	while (status == LZMA_OK && !error) {
		if (!stream.avail_out)
			error = make_room(file, &stream, bytes);
		if (!error)
			status = lzma_code(&stream, LZMA_FINISH);
	}
	*size_ret = (size_t)stream.total_out;
	lzma_end(&stream);
	if (error)
		return error;
	return status == LZMA_STREAM_END ? NULL : decoder_problem(file, status);
}

static struct reel_error *open_symbols(const struct reel_elf_file *file, size_t size,
				       struct reel_mini_debug_info *info)
{
	struct reel_error *error =
		reel_elf_file_open_memory(info->bytes, size, ".gnu_debugdata", &info->file);

	if (error)
		return reel_error_prefix(error, "%s", reel_elf_file_path(file));
	if (reel_elf_file_machine(info->file) != reel_elf_file_machine(file))
		return problem(file, REEL_ERROR_CORRUPT, "for a different CPU than the file");
	return NULL;
}

struct reel_error *reel_mini_debug_info_open(struct reel_elf_file *file,
					     struct reel_mini_debug_info *ret)
{
	struct reel_loaded_bytes section;
	struct reel_error *error;
	size_t size = 0;

	*ret = (struct reel_mini_debug_info){ 0 };
	if (!reel_elf_file_section(file, ".gnu_debugdata", &section))
		return reel_elf_file_memory_error(file);
	error = decompress(file, &section, &ret->bytes, &size);
	if (!error)
		error = open_symbols(file, size, ret);
	if (error)
		reel_mini_debug_info_close(ret);
	return error;
}

void reel_mini_debug_info_close(struct reel_mini_debug_info *info)
{
	reel_elf_file_close(info->file);
	free(info->bytes);
	*info = (struct reel_mini_debug_info){ 0 };
}
