/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/elf_identity.h"
#include "base/files.h"
#include "base/quantity.h"

/* More than any real file has; program headers and note bytes above these limits are ignored. */
#define PROGRAM_HEADERS_MAX 512
#define NOTES_MAX	    (64u << 10)

/* The bytes of an ELF file, from a descriptor or from memory. */
struct elf_source {
	int fd; /* -1: */
	const uint8_t *image;
	size_t size;
};

static bool source_read(const struct elf_source *source, uint64_t offset, void *ret, size_t size)
{
	if (source->fd < 0) {
		if (offset > source->size || size > source->size - offset)
			return false;
		memcpy(ret, source->image + offset, size);
		return true;
	}
	return reel_read_at(source->fd, ret, size, offset);
}

static uint64_t load(const uint8_t *bytes, size_t size, enum reel_byte_order order)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | bytes[order == REEL_BYTE_ORDER_BIG ? i : size - 1 - i];
	return value;
}

bool reel_elf_kind_of(const uint8_t *header, size_t size, struct reel_elf_kind *ret)
{
	if (size < 20 || memcmp(header, ELFMAG, SELFMAG))
		return false;
	if (header[EI_CLASS] != ELFCLASS32 && header[EI_CLASS] != ELFCLASS64)
		return false;
	if (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB)
		return false;
	ret->word_bits = header[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	ret->byte_order = header[EI_DATA];
	ret->machine = (uint16_t)load(header + 18, 2, header[EI_DATA]);
	return true;
}

/* vDSO images end with their section headers, followed by padding to a full page. */
size_t reel_elf_image_size(const uint8_t *header, size_t size, size_t limit)
{
	struct reel_elf_kind kind;
	uint64_t offset, entry_size, count;

	if (size < sizeof(Elf64_Ehdr) || !reel_elf_kind_of(header, size, &kind))
		return 0;
	if (kind.word_bits == 64) {
		offset = load(header + 40, 8, kind.byte_order);
		entry_size = load(header + 58, 2, kind.byte_order);
		count = load(header + 60, 2, kind.byte_order);
	} else {
		offset = load(header + 32, 4, kind.byte_order);
		entry_size = load(header + 46, 2, kind.byte_order);
		count = load(header + 48, 2, kind.byte_order);
	}
	if (offset > limit || entry_size * count > limit - offset)
		return 0;
	return (size_t)(offset + entry_size * count);
}

uint16_t reel_elf_compat_machine(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return EM_386;
	case EM_AARCH64:
		return EM_ARM;
	case EM_S390:
	case EM_PPC64:
	case EM_RISCV:
		/* Either the number is the same, or Linux runs no compat programs on it. */
		return machine == EM_PPC64 ? EM_PPC : machine;
	default:
		return 0;
	}
}

bool reel_build_id_of_notes(const uint8_t *notes, size_t size, enum reel_byte_order order,
			    struct reel_build_id *ret)
{
	*ret = (struct reel_build_id){ 0 };
	for (size_t at = 0; size - at >= 12;) {
		uint64_t name_size = load(notes + at, 4, order);
		uint64_t data_size = load(notes + at + 4, 4, order);
		uint64_t type = load(notes + at + 8, 4, order);
		/* GNU notes are aligned to 4 bytes in 64-bit files as well. */
		uint64_t data = at + 12 + ((name_size + 3) & ~UINT64_C(3));
		uint64_t next = data + ((data_size + 3) & ~UINT64_C(3));

		if (data > size || data_size > size - data)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == 4 &&
		    !memcmp(notes + at + 12, "GNU", 4) && data_size &&
		    data_size <= sizeof(ret->bytes)) {
			ret->size = (uint8_t)data_size;
			memcpy(ret->bytes, notes + data, data_size);
			return true;
		}
		if (next >= size)
			return false;
		at = next;
	}
	return false;
}

static bool segment_build_id(const struct elf_source *source, const uint8_t *header,
			     const struct reel_elf_kind *kind, struct reel_build_id *ret)
{
	bool is_64 = kind->word_bits == 64;
	enum reel_byte_order order = kind->byte_order;
	uint64_t offset = load(header + (is_64 ? 8 : 4), is_64 ? 8 : 4, order);
	uint64_t size = load(header + (is_64 ? 32 : 16), is_64 ? 8 : 4, order);
	_cleanup_free_ uint8_t *notes = NULL;

	if (load(header, 4, order) != PT_NOTE || !size || size > NOTES_MAX)
		return false;
	notes = malloc(size);
	return notes && source_read(source, offset, notes, size) &&
	       reel_build_id_of_notes(notes, size, order, ret);
}

/* Where the program headers are. */
struct program_headers {
	struct reel_elf_kind kind;
	uint8_t file_header[sizeof(Elf64_Ehdr)];
	size_t file_header_size;
	uint64_t offset, entry_size, count;
	size_t size; /* the bytes read of each */
};

static bool source_headers(const struct elf_source *source, struct program_headers *ret)
{
	uint8_t *header = ret->file_header;

	if (!source_read(source, 0, header, sizeof(Elf32_Ehdr)) ||
	    !reel_elf_kind_of(header, sizeof(Elf32_Ehdr), &ret->kind))
		return false;
	if (ret->kind.word_bits == 64) {
		if (!source_read(source, 0, header, sizeof(Elf64_Ehdr)))
			return false;
		ret->file_header_size = sizeof(Elf64_Ehdr);
		ret->offset = load(header + 32, 8, ret->kind.byte_order);
		ret->entry_size = load(header + 54, 2, ret->kind.byte_order);
		ret->count = load(header + 56, 2, ret->kind.byte_order);
		ret->size = sizeof(Elf64_Phdr);
	} else {
		ret->file_header_size = sizeof(Elf32_Ehdr);
		ret->offset = load(header + 28, 4, ret->kind.byte_order);
		ret->entry_size = load(header + 42, 2, ret->kind.byte_order);
		ret->count = load(header + 44, 2, ret->kind.byte_order);
		ret->size = sizeof(Elf32_Phdr);
	}
	return ret->entry_size >= ret->size && ret->count <= PROGRAM_HEADERS_MAX &&
	       ret->offset <= INT64_MAX / 2;
}

static bool source_build_id(const struct elf_source *source, struct reel_build_id *ret)
{
	struct program_headers headers;
	uint8_t segment[sizeof(Elf64_Phdr)];

	*ret = (struct reel_build_id){ 0 };
	if (!source_headers(source, &headers))
		return false;
	for (uint64_t i = 0; i < headers.count; i++) {
		if (!source_read(source, headers.offset + i * headers.entry_size, segment,
				 headers.size))
			return false;
		if (segment_build_id(source, segment, &headers.kind, ret))
			return true;
	}
	return false;
}

bool reel_build_id_of_file(int fd, struct reel_build_id *ret)
{
	return source_build_id(&(struct elf_source){ .fd = fd }, ret);
}

bool reel_build_id_of_image(const uint8_t *image, size_t size, struct reel_build_id *ret)
{
	return source_build_id(&(struct elf_source){ .fd = -1, .image = image, .size = size }, ret);
}

/* ---- a digest ------------------------------------------------------------------------- */

/* Larger files are sampled in this many pieces, spread from the first to the last byte. */
#define PIECES	   16
#define PIECE_SIZE (16u << 10)
/* No note and no PT_INTERP begins below this offset. */
#define BEGIN_MAX 4096
/* No file is this large; sums do not overflow. */
#define SEGMENT_MAX (UINT64_C(1) << 48)

struct loaded {
	uint64_t offset, size; /* in the file */
};

struct digest {
	struct elf_source source;
	struct program_headers headers;
	struct loaded loaded[PROGRAM_HEADERS_MAX];
	size_t n_loaded;
	uint64_t size; /* of everything that is loaded */
	/* File bytes below this offset count as 0. */
	uint64_t begin;
	crypto_generichash_state hash;
	uint8_t bytes[NOTES_MAX];
};

static void add_number(struct digest *digest, uint64_t number)
{
	uint8_t bytes[8];

	reel_store64(bytes, number);
	crypto_generichash_update(&digest->hash, bytes, sizeof(bytes));
}

/* A number from the file, `size_32` or `size_64` bytes long. */
static uint64_t number_at(const struct digest *digest, const uint8_t *header, size_t at_32,
			  size_t size_32, size_t at_64, size_t size_64)
{
	enum reel_byte_order order = digest->headers.kind.byte_order;

	return digest->headers.kind.word_bits == 64 ? load(header + at_64, size_64, order)
						    : load(header + at_32, size_32, order);
}

static bool add_bytes(struct digest *digest, uint64_t offset, size_t size)
{
	if (!source_read(&digest->source, offset, digest->bytes, size))
		return false;
	crypto_generichash_update(&digest->hash, digest->bytes, size);
	return true;
}

/* Go's note contains a digest of everything the file was built from. */
static bool add_note(struct digest *digest, uint64_t offset, uint64_t size)
{
	if (size > NOTES_MAX)
		return true;
	add_number(digest, size);
	return add_bytes(digest, offset, (size_t)size);
}

/*
 * strip removes zeros from the end of data, so the contents and file sizes of writable segments are
 * not counted. strip also moves the section headers, which Go writes between program headers and
 * notes in a loaded page, so nothing there is counted.
 */
static bool add_segment(struct digest *digest, const uint8_t *header)
{
	uint64_t type = load(header, 4, digest->headers.kind.byte_order);
	uint64_t flags = number_at(digest, header, 24, 4, 4, 4);
	uint64_t offset = number_at(digest, header, 4, 4, 8, 8);
	uint64_t address = number_at(digest, header, 8, 4, 16, 8);
	uint64_t size = number_at(digest, header, 16, 4, 32, 8);
	uint64_t memory = number_at(digest, header, 20, 4, 40, 8);

	if (type != PT_LOAD && type != PT_NOTE && type != PT_INTERP)
		return true;
	if (offset > SEGMENT_MAX || size > SEGMENT_MAX)
		return false;
	if (type != PT_LOAD && size && offset < digest->begin)
		digest->begin = offset;
	if (type == PT_NOTE)
		return add_note(digest, offset, size);
	if (type != PT_LOAD)
		return true;
	add_number(digest, flags);
	add_number(digest, offset);
	add_number(digest, address);
	add_number(digest, memory);
	if (flags & PF_W)
		return true;
	add_number(digest, size);
	digest->loaded[digest->n_loaded++] = (struct loaded){ offset, size };
	digest->size += size;
	return true;
}

static bool add_segments(struct digest *digest)
{
	const struct program_headers *headers = &digest->headers;
	uint8_t header[sizeof(Elf64_Phdr)];

	digest->begin = BEGIN_MAX;
	add_number(digest, headers->kind.word_bits);
	add_number(digest, headers->kind.byte_order);
	add_number(digest, headers->kind.machine);
	add_number(digest, number_at(digest, headers->file_header, 24, 4, 24, 8));
	for (uint64_t i = 0; i < headers->count; i++) {
		if (!source_read(&digest->source, headers->offset + i * headers->entry_size, header,
				 headers->size) ||
		    !add_segment(digest, header))
			return false;
	}
	if (digest->begin == BEGIN_MAX)
		digest->begin = headers->file_header_size;
	return digest->size != 0;
}

static bool add_piece(struct digest *digest, uint64_t offset, size_t size)
{
	if (!source_read(&digest->source, offset, digest->bytes, size))
		return false;
	if (offset < digest->begin)
		memset(digest->bytes, 0,
		       size < digest->begin - offset ? size : (size_t)(digest->begin - offset));
	crypto_generichash_update(&digest->hash, digest->bytes, size);
	return true;
}

/* Adds the loaded bytes, segment after segment. */
static bool add_loaded(struct digest *digest, uint64_t first, uint64_t size)
{
	for (size_t i = 0; i < digest->n_loaded && size; i++) {
		const struct loaded *loaded = &digest->loaded[i];
		uint64_t part;

		if (first >= loaded->size) {
			first -= loaded->size;
			continue;
		}
		part = loaded->size - first < size ? loaded->size - first : size;
		if (!add_piece(digest, loaded->offset + first, (size_t)part))
			return false;
		size -= part;
		first = 0;
	}
	return true;
}

static bool add_pieces(struct digest *digest, uint64_t deadline)
{
	uint64_t rest = digest->size;

	/* Everything, or one piece from each place. */
	for (uint64_t i = 0; i < PIECES && rest; i++) {
		uint64_t first = i * PIECE_SIZE, size = PIECE_SIZE;

		if (digest->size > PIECES * PIECE_SIZE)
			first = (digest->size - PIECE_SIZE) / (PIECES - 1) * i;
		else if (rest < size)
			size = rest;
		if (reel_now() > deadline || !add_loaded(digest, first, size))
			return false;
		rest -= size;
	}
	return true;
}

bool reel_file_digest_of(int fd, uint64_t deadline, uint8_t ret[REEL_FILE_DIGEST_SIZE])
{
	_cleanup_free_ struct digest *digest = calloc(1, sizeof(*digest));

	if (!digest)
		return false;
	digest->source.fd = fd;
	crypto_generichash_init(&digest->hash, NULL, 0, REEL_FILE_DIGEST_SIZE);
	if (!source_headers(&digest->source, &digest->headers) || !add_segments(digest) ||
	    !add_pieces(digest, deadline))
		return false;
	crypto_generichash_final(&digest->hash, ret, REEL_FILE_DIGEST_SIZE);
	return true;
}
