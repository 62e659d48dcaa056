/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files by libelf, opened with ELF_C_READ.  Offsets and sizes in headers are checked here or by
 * libelf before they are used.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "base/dwarf_cursor.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"
#include "elf/embedded_code.h"
#include "elf/file_pages.h"
#include "elf/packed_file.h"
#include "base/files.h"
#include "host/system.h"

/* The smallest and the largest page size of Linux: mappings start at multiples of these. */
#define PAGE_MIN 4096u
#define PAGE_MAX 65536u
/* More than any linker writes (each mapping walks the segments), and more than notes have. */
#define SEGMENTS_MAX 512u
#define NOTES_MAX    (1u << 20)

struct segment {
	uint64_t offset, file_size;
	uint64_t address, memory_size;
	uint64_t page; /* file offsets are rounded to this */
	bool executable, writable;
};

/* Kinds of sections of debug information. */
#define EXPANDED_MAX 12

struct reel_elf_file {
	char *path;
	Elf *elf;
	/* NULL: as in the file; else the owner of `elf`, and its destructor. */
	void *layout;
	void (*free_layout)(void *layout);
	int fd;		      /* -1: an image in memory */
	const uint8_t *image; /* NULL: a file */
	uint64_t size;
	uint64_t
		stored; /* of that, the bytes on the disk, or the packed size of a compressed one */
	uint64_t device, inode;
	GElf_Ehdr header;
	struct reel_elf_sections sections;
	struct segment *segments;
	size_t n_segments;
	struct reel_file_pages *pages; /* of what segments load; NULL: not kept */
	bool debug_only, has_debug_info, has_symbols;
	bool embedded;
	struct reel_embedded_code code, constants; /* of an embedded file */
	/* Of another one; without section headers, constants are in any segment. */
	struct reel_address_ranges constant_sections;
	bool has_code_sections;
	/* Sections of debug information of an embedded file, with zeros where it has no bytes. */
	struct expanded_section {
		const char *name;
		uint8_t *bytes;
		size_t size;
	} expanded[EXPANDED_MAX];
	size_t n_expanded;
	struct reel_address_ranges *reads; /* NULL: not tracked */
	uint8_t build_id[REEL_BUILD_ID_MAX];
	size_t build_id_size;
	char *debuglink;
	uint32_t debuglink_crc;
	char *altlink;
	uint8_t altlink_build_id[REEL_BUILD_ID_MAX];
	size_t altlink_build_id_size;
	struct reel_elf_file *alternate;
};

void reel_elf_file_close(struct reel_elf_file *file)
{
	if (!file)
		return;
	reel_elf_file_close(file->alternate);
	reel_elf_sections_close(&file->sections);
	if (file->layout)
		file->free_layout(file->layout);
	else if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	reel_file_pages_destroy(file->pages);
	reel_embedded_code_free(&file->code);
	reel_embedded_code_free(&file->constants);
	for (size_t i = 0; i < file->n_expanded; i++)
		munmap(file->expanded[i].bytes, file->expanded[i].size);
	reel_address_ranges_free(&file->constant_sections);
	free(file->segments);
	free(file->debuglink);
	free(file->altlink);
	free(file->path);
	free(file);
}

void reel_elf_file_let_go(struct reel_elf_file *file)
{
	if (file->fd < 0 || elf_cntl(file->elf, ELF_C_FDDONE))
		return;
	close(file->fd);
	file->fd = -1;
}

bool reel_elf_file_section(struct reel_elf_file *file, const char *name,
			   struct reel_loaded_bytes *ret)
{
	return reel_elf_sections_find(&file->sections, name, ret);
}

bool reel_elf_file_next_section(struct reel_elf_file *file, Elf_Scn **at, const char *name,
				struct reel_loaded_bytes *ret)
{
	return reel_elf_sections_next(&file->sections, at, name, ret);
}

/* Finds the bytes of an uncompressed section in the file; false if they are not all in it. */
static bool find_in_file(const struct reel_elf_file *file, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	if (file->fd < 0 || file->layout)
		return false;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *its_name;

		if (!gelf_getshdr(section, ret))
			continue;
		its_name = reel_elf_section_name(&file->sections, ret);
		if (reel_elf_section_is_named(its_name, name) && ret->sh_type != SHT_NOBITS &&
		    ret->sh_size)
			return !(ret->sh_flags & SHF_COMPRESSED) &&
			       strncmp(its_name, ".zdebug", 7) != 0 &&
			       ret->sh_offset <= file->size &&
			       ret->sh_size <= file->size - ret->sh_offset;
	}
	return false;
}

struct reel_error *reel_elf_file_section_error(const struct reel_elf_file *file)
{
	if (!file->sections.reason)
		return NULL;
	return reel_error_create(REEL_ERROR_CORRUPT, "%s: section %s: %s", file->path,
				 file->sections.unreadable, file->sections.reason);
}

struct reel_error *reel_elf_file_memory_error(const struct reel_elf_file *file)
{
	return file->sections.out_of_memory ? reel_error_no_memory() : NULL;
}

static struct reel_error *open_pieces(struct reel_elf_file *file, const char *name,
				      struct reel_embedded_code *ret)
{
	struct reel_loaded_bytes section;

	*ret = (struct reel_embedded_code){ 0 };
	if (!reel_elf_file_section(file, name, &section))
		return NULL;
	return reel_error_prefix(
		reel_embedded_code_open((struct reel_bytes){ section.bytes, section.size },
					reel_elf_file_big_endian(file), ret),
		"section %s", name);
}

/* Only pages with pieces become memory. */
static struct reel_error *expand(const struct reel_embedded_code *pieces,
				 struct expanded_section *ret)
{
	const struct reel_embedded_piece *last = &pieces->pieces[pieces->n - 1];
	uint64_t size = last->address + last->size;
	void *bytes;

	if (size > REEL_EMBEDDED_EXPANDED_MAX)
		return reel_error_create(REEL_ERROR_CORRUPT, "section %s exceeds %u MiB", ret->name,
					 REEL_EMBEDDED_EXPANDED_MAX >> 20);
	bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return reel_error_no_memory();
	reel_system_advise_huge_pages(bytes, (size_t)size, false);
	ret->bytes = bytes;
	ret->size = (size_t)size;
	for (size_t i = 0; i < pieces->n; i++)
		memcpy(ret->bytes + pieces->pieces[i].address, pieces->pieces[i].bytes,
		       pieces->pieces[i].size);
	return NULL;
}

/* `name` lives for ever. */
static struct reel_error *open_expanded(struct reel_elf_file *file, const char *name,
					struct reel_section *ret)
{
	struct expanded_section *section = &file->expanded[file->n_expanded];
	struct reel_embedded_code pieces;
	struct reel_error *error;
	char text[64];

	*ret = (struct reel_section){ 0 };
	for (size_t i = 0; i < file->n_expanded; i++) {
		if (!strcmp(file->expanded[i].name, name)) {
			*ret = (struct reel_section){ file->expanded[i].bytes,
						      file->expanded[i].size, NULL };
			return NULL;
		}
	}
	if (file->n_expanded == EXPANDED_MAX)
		return NULL;
	snprintf(text, sizeof(text), REEL_EMBEDDED_PREFIX "%s", name);
	TRY(open_pieces(file, text, &pieces));
	if (!pieces.n) {
		reel_embedded_code_free(&pieces);
		return reel_elf_file_memory_error(file);
	}
	section->name = name;
	error = expand(&pieces, section);
	reel_embedded_code_free(&pieces);
	if (error)
		return error;
	file->n_expanded++;
	*ret = (struct reel_section){ section->bytes, section->size, NULL };
	return NULL;
}

struct reel_error *reel_elf_file_open_section(struct reel_elf_file *file, const char *name,
					      struct reel_section *ret)
{
	struct reel_loaded_bytes whole;
	GElf_Shdr header;

	if (file->embedded)
		return open_expanded(file, name, ret);
	if (find_in_file(file, name, &header))
		return reel_section_open(file->fd, header.sh_offset, header.sh_size, ret);
	*ret = (struct reel_section){ 0 };
	if (reel_elf_file_section(file, name, &whole))
		*ret = (struct reel_section){ whole.bytes, whole.size, NULL };
	return reel_elf_file_memory_error(file);
}

static bool take_build_id(struct reel_elf_file *file, Elf_Data *data)
{
	GElf_Nhdr note;
	size_t at = 0, next, name, description;

	if (!data || !data->d_buf)
		return false;
	while ((next = gelf_getnote(data, at, &note, &name, &description)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((const uint8_t *)data->d_buf + name, "GNU", 4) == 0 && note.n_descsz &&
		    note.n_descsz <= sizeof(file->build_id)) {
			file->build_id_size = note.n_descsz;
			memcpy(file->build_id, (const uint8_t *)data->d_buf + description,
			       note.n_descsz);
			return true;
		}
		at = next;
	}
	return false;
}

/*
 * Sections first: a debug-only file has the program headers of the file it was split from, so its
 * PT_NOTE may point anywhere.
 */
static void find_build_id(struct reel_elf_file *file)
{
	Elf_Scn *section = NULL;
	size_t n;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    take_build_id(file, elf_getdata(section, NULL)))
			return;
	}
	if (file->debug_only || elf_getphdrnum(file->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_NOTE ||
		    header.p_filesz > NOTES_MAX || header.p_offset > file->size ||
		    header.p_filesz > file->size - header.p_offset)
			continue;
		if (take_build_id(file, elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset,
							     header.p_filesz,
							     header.p_align == 8 ? ELF_T_NHDR8
										 : ELF_T_NHDR)))
			return;
	}
}

/* Both links are a file name and NUL, followed by a CRC at the next multiple of 4, or directly by a
 * build-id. */
static struct reel_error *find_links(struct reel_elf_file *file)
{
	struct reel_loaded_bytes link;

	if (reel_elf_file_section(file, ".gnu_debuglink", &link)) {
		size_t length = strnlen((const char *)link.bytes, link.size);
		size_t crc = (length + 1 + 3) & ~(size_t)3;

		if (length && crc <= link.size && link.size - crc >= 4) {
			file->debuglink_crc = (uint32_t)reel_load_target(
				link.bytes + crc, 4, reel_elf_file_big_endian(file));
			file->debuglink = strdup((const char *)link.bytes);
			if (!file->debuglink)
				return reel_error_no_memory();
		}
	}
	if (reel_elf_file_section(file, ".gnu_debugaltlink", &link)) {
		size_t length = strnlen((const char *)link.bytes, link.size);

		if (length && length < link.size && link.size - length - 1 <= REEL_BUILD_ID_MAX) {
			file->altlink = strdup((const char *)link.bytes);
			if (!file->altlink)
				return reel_error_no_memory();
			file->altlink_build_id_size = link.size - length - 1;
			memcpy(file->altlink_build_id, link.bytes + length + 1,
			       file->altlink_build_id_size);
		}
	}
	return NULL;
}

/* A section of constants, but not of tables for the unwinder, which no variable points to. */
static void note_constants(struct reel_elf_file *file, const GElf_Shdr *header)
{
	const char *name = reel_elf_section_name(&file->sections, header);

	if ((header->sh_type == SHT_PROGBITS || header->sh_type == SHT_STRTAB) &&
	    (header->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == SHF_ALLOC &&
	    header->sh_size && header->sh_size <= UINT64_MAX - header->sh_addr &&
	    !reel_elf_section_is_named(name, ".eh_frame") &&
	    !reel_elf_section_is_named(name, ".eh_frame_hdr") &&
	    !reel_elf_section_is_named(name, ".gcc_except_table"))
		reel_address_ranges_add(&file->constant_sections, header->sh_addr,
					header->sh_addr + header->sh_size);
}

static void survey_sections(struct reel_elf_file *file)
{
	bool code_here = false, code_elsewhere = false;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_NOBITS) {
			if (header.sh_flags & SHF_EXECINSTR)
				code_elsewhere = true;
			continue;
		}
		if (header.sh_type == SHT_SYMTAB && header.sh_size)
			file->has_symbols = true;
		note_constants(file, &header);
		if (header.sh_flags & SHF_EXECINSTR && header.sh_flags & SHF_ALLOC)
			code_here = true;
		if (header.sh_size &&
		    reel_elf_section_is_named(reel_elf_section_name(&file->sections, &header),
					      ".debug_info"))
			file->has_debug_info = true;
	}
	file->debug_only = code_elsewhere && !code_here;
	file->has_code_sections = code_elsewhere || code_here;
	reel_address_ranges_tidy(&file->constant_sections);
}

static uint64_t page_of(uint64_t align)
{
	if (align < PAGE_MIN || align & (align - 1))
		return PAGE_MIN;
	return align > PAGE_MAX ? PAGE_MAX : align;
}

static struct reel_error *read_segments(struct reel_elf_file *file)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n) != 0)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: program headers: %s", file->path,
					 elf_errmsg(-1));
	if (n > SEGMENTS_MAX)
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"%s: %zu program headers, more than any linker writes (%u)", file->path, n,
			SEGMENTS_MAX);
	file->segments = calloc(n + 1, sizeof(*file->segments));
	if (!file->segments)
		return reel_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		struct segment *segment = &file->segments[file->n_segments];
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header))
			return reel_error_create(REEL_ERROR_CORRUPT, "%s: program header %zu: %s",
						 file->path, i, elf_errmsg(-1));
		if (header.p_type != PT_LOAD)
			continue;
		segment->offset = header.p_offset;
		segment->file_size = header.p_filesz;
		segment->address = header.p_vaddr;
		segment->memory_size = header.p_memsz;
		segment->page = page_of(header.p_align);
		segment->executable = header.p_flags & PF_X;
		segment->writable = header.p_flags & PF_W;
		file->n_segments++;
	}
	return NULL;
}

/* Otherwise a truncated copy would pass for a file without symbols or unwind tables. */
static struct reel_error *check_whole(const struct reel_elf_file *file)
{
	uint64_t table_size = (uint64_t)file->header.e_shnum * file->header.e_shentsize;
	uint64_t end;

	if (file->fd < 0)
		return NULL; /* an image only has the mapped part */
	if (file->header.e_shoff &&
	    (file->header.e_shoff > file->size || table_size > file->size - file->header.e_shoff))
		return reel_error_create(REEL_ERROR_TRUNCATED,
					 "%s: truncated: section headers are expected at byte "
					 "%llu, but the file has %llu bytes; copy it again",
					 file->path, (unsigned long long)file->header.e_shoff,
					 (unsigned long long)file->size);
	for (size_t i = 0; !file->debug_only && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];

		if (!segment->executable || !segment->file_size)
			continue;
		if (__builtin_add_overflow(segment->offset, segment->file_size, &end) ||
		    end > file->size)
			return reel_error_create(
				REEL_ERROR_TRUNCATED,
				"%s: truncated: code is expected at byte %llu (%llu bytes), but "
				"the file has %llu bytes; copy it again",
				file->path, (unsigned long long)segment->offset,
				(unsigned long long)segment->file_size,
				(unsigned long long)file->size);
	}
	return NULL;
}

static struct reel_elf_bytes bytes_of(const struct reel_elf_file *file)
{
	return (struct reel_elf_bytes){
		.name = file->path,
		.fd = file->fd,
		.image = file->image,
		.size = file->size,
		.stored = file->stored,
	};
}

static struct reel_error *read_headers(struct reel_elf_file *file)
{
	const struct reel_elf_bytes bytes = bytes_of(file);

	switch (elf_kind(file->elf)) {
	case ELF_K_ELF:
		break;
	case ELF_K_AR:
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE,
					 "%s: an archive, not an ELF file", file->path);
	default:
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "%s: not an ELF file",
					 file->path);
	}
	if (!gelf_getehdr(file->elf, &file->header))
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: ELF header: %s", file->path,
					 elf_errmsg(-1));
	switch (file->header.e_type) {
	case ET_EXEC:
	case ET_DYN:
	case ET_REL:
		break;
	default:
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s: %s, not an executable, shared object, kernel module or debug file",
			file->path,
			file->header.e_type == ET_CORE ? "a core dump" : "unknown ELF type");
	}
	reel_elf_sections_open(file->elf, &file->sections);
	TRY(read_segments(file));
	TRY(reel_elf_sections_check(&file->sections, &bytes));
	survey_sections(file);
	TRY(check_whole(file));
	find_build_id(file);
	return find_links(file);
}

static struct reel_error *create_file(const char *path, struct reel_elf_file **ret)
{
	struct reel_elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return reel_error_no_memory();
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path || elf_version(EV_CURRENT) == EV_NONE) {
		reel_elf_file_close(file);
		return reel_error_no_memory();
	}
	*ret = file;
	return NULL;
}

/* With file->fd. */
static struct reel_error *open_elf(struct reel_elf_file *file)
{
	struct reel_elf_bytes bytes;
	struct stat status;

	if (fstat(file->fd, &status))
		return reel_error_os(errno, "%s", file->path);
	file->size = (uint64_t)status.st_size;
	/* Some file systems do not report a file's number of blocks (0), or keep small files in the
	 * inode. */
	file->stored = status.st_blocks ? (uint64_t)status.st_blocks * 512 : file->size;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	TRY(reel_packed_file_unpack(file->path, &file->fd, &file->size));
	bytes = bytes_of(file);
	TRY(reel_elf_sections_check_holes(&bytes));
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->elf)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: %s", file->path, elf_errmsg(-1));
	return NULL;
}

static struct reel_error *finish_open(struct reel_elf_file *file, struct reel_error *error,
				      struct reel_elf_file **ret)
{
	if (!error)
		error = read_headers(file);
	if (error) {
		reel_elf_file_close(file);
		return error;
	}
	*ret = file;
	return NULL;
}

struct reel_error *reel_elf_file_open(const char *path, struct reel_elf_file **ret)
{
	struct reel_elf_file *file;
	struct stat status;
	struct reel_error *error;

	TRY(create_file(path, &file));
	error = reel_regular_file_open(path, &file->fd, &status);
	TRY(finish_open(file, error ? error : open_elf(file), ret));
	if (file->fd >= 0 && !file->debug_only)
		file->pages = reel_file_pages_create(file->size);
	return NULL;
}

struct reel_error *reel_elf_file_open_descriptor(int fd, const char *name,
						 struct reel_elf_file **ret)
{
	struct reel_elf_file *file;
	struct reel_error *error = create_file(name, &file);

	if (error) {
		close(fd);
		return error;
	}
	file->fd = fd;
	return finish_open(file, open_elf(file), ret);
}

struct reel_error *reel_elf_file_open_memory(const uint8_t *bytes, size_t size, const char *name,
					     struct reel_elf_file **ret)
{
	struct reel_elf_file *file;
	struct reel_error *error = NULL;

	TRY(create_file(name, &file));
	file->image = bytes;
	file->size = file->stored = size;
	/* libelf takes non-const memory, but writes only if told to (ELF_C_RDWR). */
	file->elf = elf_memory((char *)bytes, size);
	if (!file->elf)
		error = reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "%s: %s", name, elf_errmsg(-1));
	return finish_open(file, error, ret);
}

struct reel_error *reel_elf_file_open_embedded(const uint8_t *bytes, size_t size, const char *name,
					       struct reel_elf_file **ret)
{
	struct reel_elf_file *file;
	struct reel_error *error;

	TRY(reel_elf_file_open_memory(bytes, size, name, &file));
	/* Whatever its sections contain: of segments it only has the headers. */
	file->embedded = file->debug_only = true;
	error = open_pieces(file, REEL_EMBEDDED_CODE, &file->code);
	if (!error)
		error = open_pieces(file, REEL_EMBEDDED_CONSTANTS, &file->constants);
	file->has_debug_info = reel_elf_file_section(file, REEL_EMBEDDED_PREFIX ".debug_info",
						     &(struct reel_loaded_bytes){ 0 });
	if (!error)
		error = reel_elf_file_memory_error(file);
	if (error) {
		reel_elf_file_close(file);
		return reel_error_prefix(error, "%s", name);
	}
	*ret = file;
	return NULL;
}

bool reel_elf_file_is_embedded(const struct reel_elf_file *file)
{
	return file->embedded;
}

void reel_elf_file_keep_reads(struct reel_elf_file *file, struct reel_address_ranges *reads)
{
	file->reads = reads;
}

void reel_elf_file_take_layout(struct reel_elf_file *file, Elf *elf, void *layout,
			       void (*free_layout)(void *layout))
{
	reel_elf_sections_close(&file->sections);
	elf_end(file->elf);
	file->elf = elf;
	file->layout = layout;
	file->free_layout = free_layout;
	reel_elf_sections_open(file->elf, &file->sections);
}

bool reel_elf_file_is_laid_out(const struct reel_elf_file *file)
{
	return file->layout;
}

bool reel_elf_file_identity(const struct reel_elf_file *file, uint64_t *device_ret,
			    uint64_t *inode_ret)
{
	*device_ret = file->device;
	*inode_ret = file->inode;
	return file->fd >= 0;
}

bool reel_elf_file_digest(const struct reel_elf_file *file, uint8_t ret[REEL_FILE_DIGEST_SIZE])
{
	return file->fd >= 0 && reel_file_digest_of(file->fd, UINT64_MAX, ret);
}

int reel_elf_file_descriptor(const struct reel_elf_file *file)
{
	return file->fd;
}

uint64_t reel_elf_file_length(const struct reel_elf_file *file)
{
	return file->size;
}

uint64_t reel_elf_file_size(const struct reel_elf_file *file)
{
	return file->stored < file->size ? file->stored : file->size;
}

const char *reel_elf_file_path(const struct reel_elf_file *file)
{
	return file->path;
}

Elf *reel_elf_file_handle(const struct reel_elf_file *file)
{
	return file->elf;
}

uint16_t reel_elf_file_machine(const struct reel_elf_file *file)
{
	return file->header.e_machine;
}

bool reel_elf_file_big_endian(const struct reel_elf_file *file)
{
	return file->header.e_ident[EI_DATA] == ELFDATA2MSB;
}

unsigned reel_elf_file_word_bits(const struct reel_elf_file *file)
{
	return file->header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
}

uint64_t reel_elf_file_entry(const struct reel_elf_file *file)
{
	return file->header.e_entry;
}

struct reel_bytes reel_elf_file_build_id(const struct reel_elf_file *file)
{
	return (struct reel_bytes){ file->build_id, file->build_id_size };
}

const char *reel_elf_file_debuglink(const struct reel_elf_file *file, uint32_t *crc_ret)
{
	*crc_ret = file->debuglink_crc;
	return file->debuglink;
}

const char *reel_elf_file_altlink(const struct reel_elf_file *file, struct reel_bytes *build_id_ret)
{
	*build_id_ret = (struct reel_bytes){ file->altlink_build_id, file->altlink_build_id_size };
	return file->altlink;
}

bool reel_elf_file_has_debug_info(const struct reel_elf_file *file)
{
	return file->has_debug_info;
}

bool reel_elf_file_has_symbols(const struct reel_elf_file *file)
{
	return file->has_symbols;
}

bool reel_elf_file_is_debug_only(const struct reel_elf_file *file)
{
	return file->debug_only;
}

void reel_elf_file_set_alternate(struct reel_elf_file *file, struct reel_elf_file *alternate)
{
	reel_elf_file_close(file->alternate);
	file->alternate = alternate;
}

struct reel_elf_file *reel_elf_file_alternate(const struct reel_elf_file *file)
{
	return file->alternate;
}

void reel_elf_file_text_range(const struct reel_elf_file *file, uint64_t *begin_ret,
			      uint64_t *end_ret)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];
		uint64_t segment_end;

		if (!segment->executable || !segment->memory_size)
			continue;
		if (__builtin_add_overflow(segment->address, segment->memory_size, &segment_end))
			segment_end = UINT64_MAX;
		if (segment->address < begin)
			begin = segment->address;
		if (segment_end > end)
			end = segment_end;
	}
	*begin_ret = begin < end ? begin : 0;
	*end_ret = begin < end ? end : UINT64_MAX;
}

/* Whether the segment's file range, rounded out to multiples of `page`, holds the offset. */
static bool segment_holds(const struct segment *segment, uint64_t offset, uint64_t page)
{
	uint64_t begin = segment->offset & ~(page - 1), end;

	if (!segment->file_size || offset < begin ||
	    __builtin_add_overflow(segment->offset, segment->file_size, &end))
		return false;
	end = end > UINT64_MAX - page ? UINT64_MAX : (end + page - 1) & ~(page - 1);
	return offset < end;
}

bool reel_elf_file_address_of_offset(const struct reel_elf_file *file, uint64_t offset,
				     bool is_code, uint64_t *ret)
{
	bool has_segments = !file->debug_only || file->embedded;

	/*
	 * A page may hold the end of one segment and the start of the next, and is then mapped for
	 * both.  Prefer an exact match with the mapping's kind; a shared page comes last.
	 */
	for (int attempt = 0; has_segments && attempt < 4; attempt++) {
		bool executable = (attempt < 2) == is_code, exact = attempt % 2 == 0;

		for (size_t i = 0; i < file->n_segments; i++) {
			const struct segment *segment = &file->segments[i];

			if (segment->executable != executable ||
			    !segment_holds(segment, offset, exact ? 1 : segment->page))
				continue;
			*ret = offset - segment->offset + segment->address;
			if (reel_elf_file_word_bits(file) == 32)
				*ret &= UINT32_MAX;
			return true;
		}
	}
	return false;
}

bool reel_elf_file_holds(const struct reel_elf_file *file, uint64_t address)
{
	bool has_segments = !file->debug_only || file->embedded;

	for (size_t i = 0; has_segments && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];

		if (address >= segment->address &&
		    address - segment->address < segment->memory_size)
			return true;
	}
	return false;
}

bool reel_elf_file_code_segment(const struct reel_elf_file *file, uint64_t address,
				struct reel_segment *ret)
{
	bool has_segments = !file->debug_only || file->embedded;

	for (size_t i = 0; has_segments && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];

		if (!segment->executable || address < segment->address ||
		    address - segment->address >= segment->memory_size)
			continue;
		*ret = (struct reel_segment){ segment->address, segment->offset,
					      segment->memory_size };
		return true;
	}
	return false;
}

bool reel_elf_file_offset_of_address(const struct reel_elf_file *file, uint64_t address,
				     uint64_t *ret)
{
	for (size_t i = 0; !file->debug_only && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];
		uint64_t at = address - segment->address;

		if (address < segment->address || at >= segment->file_size ||
		    __builtin_add_overflow(segment->offset, at, ret))
			continue;
		return true;
	}
	return false;
}

/* Where segments overlap, a byte comes from the first segment that holds it.  So a read does not
 * cross the beginning of an earlier segment, and a byte is the same in every read. */
static bool read_segment(const struct reel_elf_file *file, uint64_t address, size_t size,
			 uint8_t *bytes_ret)
{
	uint64_t limit = UINT64_MAX;

	for (size_t i = 0; !file->debug_only && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];
		uint64_t at = address - segment->address, offset;

		if (address < segment->address && segment->file_size &&
		    segment->address - address < limit)
			limit = segment->address - address;
		if (address < segment->address || at >= segment->file_size ||
		    __builtin_add_overflow(segment->offset, at, &offset) || offset >= file->size)
			continue;
		if (size > limit || size > segment->file_size - at || size > file->size - offset)
			return false;
		if (file->image) {
			memcpy(bytes_ret, file->image + offset, size);
			return true;
		}
		return file->fd >= 0 &&
		       reel_file_pages_read(file->pages, file->fd, offset, size, bytes_ret);
	}
	return false;
}

bool reel_elf_file_read(const struct reel_elf_file *file, uint64_t address, size_t size,
			uint8_t *bytes_ret)
{
	bool read = file->embedded ? reel_embedded_code_read(&file->code, address, size, bytes_ret)
				   : read_segment(file, address, size, bytes_ret);

	if (read && size && file->reads)
		reel_address_ranges_add(file->reads, address, address + size);
	return read;
}

static bool are_in(const struct reel_address_ranges *ranges, uint64_t address, size_t size)
{
	size_t i = reel_address_ranges_search(ranges, address);

	return i < ranges->n && ranges->all[i].begin <= address &&
	       size <= ranges->all[i].end - address;
}

bool reel_elf_file_read_constant(const struct reel_elf_file *file, uint64_t address, size_t size,
				 uint8_t *bytes_ret)
{
	if (file->embedded)
		return reel_embedded_code_read(&file->constants, address, size, bytes_ret);
	if (file->has_code_sections && !are_in(&file->constant_sections, address, size))
		return false;
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];

		if (segment->writable && address + size > segment->address &&
		    address < segment->address + segment->memory_size)
			return false;
	}
	return read_segment(file, address, size, bytes_ret);
}

void reel_elf_file_constants(const struct reel_elf_file *file, struct reel_address_ranges *ret)
{
	for (size_t i = 0; i < file->constants.n; i++)
		reel_address_ranges_add(ret, file->constants.pieces[i].address,
					file->constants.pieces[i].address +
						file->constants.pieces[i].size);
	for (size_t i = 0; !file->debug_only && i < file->constant_sections.n; i++)
		reel_address_ranges_add(ret, file->constant_sections.all[i].begin,
					file->constant_sections.all[i].end);
	reel_address_ranges_tidy(ret);
}

static uint64_t data_end(const struct segment *segment)
{
	uint64_t end;

	return __builtin_add_overflow(segment->address, segment->file_size, &end) ? UINT64_MAX
										  : end;
}

static bool overlaps_one_before(const struct reel_elf_file *file, size_t index)
{
	const struct segment *segment = &file->segments[index];

	for (size_t i = 0; i < index; i++) {
		if (segment->address < data_end(&file->segments[i]) &&
		    file->segments[i].address < data_end(segment))
			return true;
	}
	return false;
}

void reel_elf_file_data_ranges(const struct reel_elf_file *file, struct reel_address_ranges *ret)
{
	for (size_t i = 0; !file->debug_only && i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];
		uint64_t size = segment->file_size, end;

		if (segment->offset >= file->size || overlaps_one_before(file, i))
			continue;
		if (size > file->size - segment->offset)
			size = file->size - segment->offset;
		if (size && !__builtin_add_overflow(segment->address, size, &end))
			reel_address_ranges_add(ret, segment->address, end);
	}
	reel_address_ranges_tidy(ret);
}

bool reel_elf_file_load(const struct reel_elf_file *file, uint64_t address, uint64_t size,
			struct reel_loaded_bytes *ret)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct segment *segment = &file->segments[i];
		uint64_t at = address - segment->address, offset, left;
		Elf_Data *data;

		if (address < segment->address || at >= segment->file_size ||
		    __builtin_add_overflow(segment->offset, at, &offset) || offset >= file->size)
			continue;
		left = segment->file_size - at;
		if (left > size)
			left = size;
		if (left > file->size - offset)
			left = file->size - offset;
		data = elf_getdata_rawchunk(file->elf, (int64_t)offset, left, ELF_T_BYTE);
		if (!data || !data->d_buf)
			return false;
		*ret = (struct reel_loaded_bytes){ data->d_buf, data->d_size, address };
		return true;
	}
	return false;
}

bool reel_elf_file_segment(const struct reel_elf_file *file, uint32_t type,
			   struct reel_loaded_bytes *ret)
{
	GElf_Phdr header;
	size_t n;

	if (file->debug_only || elf_getphdrnum(file->elf, &n))
		return false;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == type &&
		    reel_elf_file_load(file, header.p_vaddr, header.p_filesz, ret))
			return true;
	}
	return false;
}

bool reel_elf_file_section_address(const struct reel_elf_file *file, const char *name,
				   uint64_t *ret)
{
	GElf_Shdr header;

	if (!reel_elf_sections_header(&file->sections, name, &header))
		return false;
	*ret = header.sh_addr;
	return true;
}

bool reel_elf_file_dynamic(const struct reel_elf_file *file, int64_t tag, uint64_t *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section))) {
		Elf_Data *data;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL;
		     i++) {
			if (entry.d_tag == tag) {
				*ret = entry.d_un.d_ptr;
				return true;
			}
		}
	}
	return false;
}
