/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/dynamic_file.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

/* Files with more of these are not understood; all are far above what linkers make. */
#define DYNAMICS_MAX   512
#define HASH_CHAIN_MAX 256
#define SYMBOL_MAX     64

static bool read_file(const struct reel_dynamic_file *file, uint64_t offset, void *ret, size_t size)
{
	return offset <= INT64_MAX && pread(file->fd, ret, size, (off_t)offset) == (ssize_t)size;
}

const Elf64_Phdr *reel_dynamic_file_segment(const struct reel_dynamic_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		if (file->segments[i].p_type == type)
			return &file->segments[i];
	}
	return NULL;
}

bool reel_dynamic_file_bytes(const struct reel_dynamic_file *file, uint64_t address, void *ret,
			     size_t size)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t inside = address - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && inside < segment->p_filesz &&
		    size <= segment->p_filesz - inside)
			return read_file(file, segment->p_offset + inside, ret, size);
	}
	return false;
}

bool reel_elf_is_native(const Elf64_Ehdr *header)
{
	const unsigned char order = htons(1) == 1 ? ELFDATA2MSB : ELFDATA2LSB;

	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == order;
}

static bool read_header(struct reel_dynamic_file *file)
{
	Elf64_Ehdr *header = &file->header;

	if (!read_file(file, 0, header, sizeof(*header)) || !reel_elf_is_native(header) ||
	    header->e_phentsize != sizeof(Elf64_Phdr) ||
	    header->e_phnum > REEL_DYNAMIC_SEGMENTS_MAX)
		return false;
	file->n_segments = header->e_phnum;
	return read_file(file, header->e_phoff, file->segments,
			 file->n_segments * sizeof(*file->segments));
}

/* The file needs musl: "libc.so", or with the CPU's name, "libc.musl-x86_64.so.1" (Alpine). */
static bool is_musl_name(const struct reel_dynamic_file *file, uint64_t address)
{
	char name[11] = "";

	if (!reel_dynamic_file_bytes(file, address, name, 8))
		return false;
	return !memcmp(name, "libc.so", 8) || (reel_dynamic_file_bytes(file, address, name, 10) &&
					       !memcmp(name, "libc.musl-", 10));
}

static bool read_dynamic(struct reel_dynamic_file *file)
{
	const Elf64_Phdr *segment = reel_dynamic_file_segment(file, PT_DYNAMIC);
	Elf64_Dyn entries[DYNAMICS_MAX];
	bool has_name = false;
	size_t n = segment ? segment->p_filesz / sizeof(*entries) : 0;

	if (!n || n > DYNAMICS_MAX ||
	    !read_file(file, segment->p_offset, entries, n * sizeof(*entries)))
		return false;
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;

		switch (entries[i].d_tag) {
		case DT_STRTAB:
			file->strings = value;
			break;
		case DT_SYMTAB:
			file->symbols = value;
			break;
		case DT_GNU_HASH:
			file->hash = value;
			break;
		case DT_RELA:
			file->relocations[0] = value;
			break;
		case DT_RELASZ:
			file->relocation_sizes[0] = value;
			break;
		case DT_JMPREL:
			file->relocations[1] = value;
			break;
		case DT_PLTRELSZ:
			file->relocation_sizes[1] = value;
			break;
		case DT_SONAME:
			has_name = true;
			break;
		case DT_FLAGS_1:
			file->is_executable |= (value & DF_1_PIE) != 0;
			break;
		}
	}
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_NEEDED)
			file->is_musl |= is_musl_name(file, file->strings + entries[i].d_un.d_val);
	}
	/* Older linkers do not set the flag; some libraries can be run. */
	file->is_executable |= file->header.e_type == ET_EXEC ||
			       (reel_dynamic_file_segment(file, PT_INTERP) && !has_name);
	return file->strings && file->symbols && file->hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_named(const struct reel_dynamic_file *file, const char *wanted, uint8_t type,
		     uint32_t index, Elf64_Sym *ret)
{
	size_t size = strlen(wanted) + 1;
	char name[SYMBOL_MAX];

	return reel_dynamic_file_bytes(file, file->symbols + (uint64_t)index * sizeof(*ret), ret,
				       sizeof(*ret)) &&
	       size <= sizeof(name) && ret->st_shndx != SHN_UNDEF &&
	       ELF64_ST_TYPE(ret->st_info) == type &&
	       reel_dynamic_file_bytes(file, file->strings + ret->st_name, name, size) &&
	       !memcmp(name, wanted, size);
}

/* Looks the symbol up as the dynamic linker does (DT_GNU_HASH): most files do not have it, and the
 * filter says so at once. */
bool reel_dynamic_file_symbol(const struct reel_dynamic_file *file, const char *name, uint8_t type,
			      uint32_t *index_ret, Elf64_Sym *ret)
{
	struct {
		uint32_t n_buckets, first, n_words, shift;
	} head;
	uint32_t hash = hash_of(name), index, link = 0;
	uint64_t word, buckets, chains;

	if (!reel_dynamic_file_bytes(file, file->hash, &head, sizeof(head)) || !head.n_buckets ||
	    !head.n_words || head.shift > 31 ||
	    !reel_dynamic_file_bytes(
		    file, file->hash + sizeof(head) + 8 * (uint64_t)(hash / 64 % head.n_words),
		    &word, sizeof(word)) ||
	    !(word >> hash % 64 & word >> (hash >> head.shift) % 64 & 1))
		return false;
	buckets = file->hash + sizeof(head) + 8 * (uint64_t)head.n_words;
	chains = buckets + 4 * (uint64_t)head.n_buckets;
	if (!reel_dynamic_file_bytes(file, buckets + 4 * (uint64_t)(hash % head.n_buckets), &index,
				     sizeof(index)) ||
	    index < head.first)
		return false;
	for (size_t i = 0; i < HASH_CHAIN_MAX && !(link & 1); i++, index++) {
		if (!reel_dynamic_file_bytes(file, chains + 4 * (uint64_t)(index - head.first),
					     &link, sizeof(link)))
			return false;
		if ((link | 1) == (hash | 1) && is_named(file, name, type, index, ret)) {
			*index_ret = index;
			return true;
		}
	}
	return false;
}

bool reel_dynamic_file_distance(const struct reel_dynamic_file *file, uint64_t *ret)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			*ret = segment->p_vaddr - segment->p_offset;
			return true;
		}
	}
	return false;
}

bool reel_dynamic_file_read(int fd, struct reel_dynamic_file *ret)
{
	*ret = (struct reel_dynamic_file){ .fd = fd };
	return read_header(ret) && read_dynamic(ret);
}
