/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/publisher.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SYMBOL "otel_thread_ctx_v1"

/* Files with more of these are not understood; all are far above what linkers make. */
#define SEGMENTS_MAX	64
#define DYNAMICS_MAX	512
#define HASH_CHAIN_MAX	256
#define RELOCATIONS_MAX (1u << 20)
#define TLS_ALIGN_MAX	(1u << 20)
#define TLS_SIZE_MAX	(1u << 30)

#ifndef R_AARCH64_TLS_DTPMOD
#define R_AARCH64_TLS_DTPMOD 1028
#define R_AARCH64_TLS_TPREL  1030
#endif

/*
 * Relocations by psABI, and the table of a thread's blocks by glibc (sysdeps/x86_64/nptl/tls.h,
 * sysdeps/aarch64/nptl/tls.h: tcbhead_t; sysdeps/generic/dl-dtv.h: dtv_t) and musl
 * (src/internal/pthread_impl.h: struct pthread).
 */
static const struct cpu {
	uint16_t machine;
	/* Bytes at the thread pointer that precede the executable's block; -1: it ends at the
	 * thread pointer. */
	int gap;
	uint32_t module, offset, descriptor;
	int16_t table, musl_table;
} cpus[] = {
	{ EM_X86_64, -1, R_X86_64_DTPMOD64, R_X86_64_TPOFF64, R_X86_64_TLSDESC, 8, 8 },
	{ EM_AARCH64, 16, R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC, 0, -8 },
};

struct file {
	int fd;
	const struct cpu *cpu;
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t n_segments;
	uint64_t strings, symbols, hash;	      /* addresses, 0: none */
	uint64_t relocations[2], relocation_sizes[2]; /* DT_RELA, DT_JMPREL */
	bool is_executable, has_name, is_musl;
};

static bool read_file(const struct file *file, uint64_t offset, void *ret, size_t size)
{
	return offset <= INT64_MAX && pread(file->fd, ret, size, (off_t)offset) == (ssize_t)size;
}

static const Elf64_Phdr *segment_of(const struct file *file, uint32_t type)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		if (file->segments[i].p_type == type)
			return &file->segments[i];
	}
	return NULL;
}

/* The file's bytes at an address. */
static bool read_at(const struct file *file, uint64_t address, void *ret, size_t size)
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

static bool read_header(struct file *file)
{
	const uint16_t one = 1;
	const unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	Elf64_Ehdr *header = &file->header;

	if (!read_file(file, 0, header, sizeof(*header)) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != order ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
		return false;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		if (cpus[i].machine == header->e_machine)
			file->cpu = &cpus[i];
	}
	file->n_segments = header->e_phnum;
	return file->cpu && read_file(file, header->e_phoff, file->segments,
				      file->n_segments * sizeof(*file->segments));
}

/* The file needs musl: "libc.so", or with the CPU's name, "libc.musl-x86_64.so.1" (Alpine). */
static bool is_musl_name(const struct file *file, uint64_t address)
{
	char name[11] = "";

	if (!read_at(file, address, name, 8))
		return false;
	return !memcmp(name, "libc.so", 8) ||
	       (read_at(file, address, name, 10) && !memcmp(name, "libc.musl-", 10));
}

static bool read_dynamic(struct file *file)
{
	const Elf64_Phdr *segment = segment_of(file, PT_DYNAMIC);
	Elf64_Dyn entries[DYNAMICS_MAX];
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
			file->has_name = true;
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
	file->is_executable |=
		file->header.e_type == ET_EXEC || (segment_of(file, PT_INTERP) && !file->has_name);
	return file->strings && file->symbols && file->hash;
}

/* ---- the symbol ----------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_named(const struct file *file, uint32_t index, Elf64_Sym *ret)
{
	char name[sizeof(SYMBOL)];

	return read_at(file, file->symbols + (uint64_t)index * sizeof(*ret), ret, sizeof(*ret)) &&
	       ret->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(ret->st_info) == STT_TLS &&
	       read_at(file, file->strings + ret->st_name, name, sizeof(name)) &&
	       !memcmp(name, SYMBOL, sizeof(name));
}

/* Looks the symbol up as the dynamic linker does (DT_GNU_HASH): most files do not have it, and the
 * filter says so at once. */
static bool find_symbol(const struct file *file, uint32_t *index_ret, Elf64_Sym *ret)
{
	struct {
		uint32_t n_buckets, first, n_words, shift;
	} head;
	uint32_t hash = hash_of(SYMBOL), index, link = 0;
	uint64_t word, buckets, chains;

	if (!read_at(file, file->hash, &head, sizeof(head)) || !head.n_buckets || !head.n_words ||
	    head.shift > 31 ||
	    !read_at(file, file->hash + sizeof(head) + 8 * (uint64_t)(hash / 64 % head.n_words),
		     &word, sizeof(word)) ||
	    !(word >> hash % 64 & word >> (hash >> head.shift) % 64 & 1))
		return false;
	buckets = file->hash + sizeof(head) + 8 * (uint64_t)head.n_words;
	chains = buckets + 4 * (uint64_t)head.n_buckets;
	if (!read_at(file, buckets + 4 * (uint64_t)(hash % head.n_buckets), &index,
		     sizeof(index)) ||
	    index < head.first)
		return false;
	for (size_t i = 0; i < HASH_CHAIN_MAX && !(link & 1); i++, index++) {
		if (!read_at(file, chains + 4 * (uint64_t)(index - head.first), &link,
			     sizeof(link)))
			return false;
		if ((link | 1) == (hash | 1) && is_named(file, index, ret)) {
			*index_ret = index;
			return true;
		}
	}
	return false;
}

/* ---- its place ------------------------------------------------------------------------ */

/* The executable's block: it has the alignment of its segment's address (psABI, "Thread-local
 * storage", variants I and II). */
static bool place_in_executable(const struct file *file, const Elf64_Sym *symbol,
				struct reel_bpf_publisher *ret)
{
	const Elf64_Phdr *segment = segment_of(file, PT_TLS);
	uint64_t align = segment && segment->p_align ? segment->p_align : 1, begin;

	if (!segment || align > TLS_ALIGN_MAX || align & (align - 1) ||
	    segment->p_memsz > TLS_SIZE_MAX || symbol->st_value > segment->p_memsz)
		return false;
	if (file->cpu->gap < 0) {
		begin = segment->p_memsz;
		begin = -(begin + ((-segment->p_vaddr - begin) & (align - 1)));
	} else {
		begin = (uint64_t)file->cpu->gap;
		begin += (segment->p_vaddr - begin) & (align - 1);
	}
	ret->kind = REEL_BPF_PUBLISHER_OFFSET;
	ret->at = begin + symbol->st_value;
	return true;
}

/* What a relocation fills in, if it is the symbol's. */
static enum reel_bpf_publisher_kind kind_of(const struct file *file, const Elf64_Rela *relocation,
					    uint32_t index, const Elf64_Sym *symbol)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	uint64_t of = ELF64_R_SYM(relocation->r_info), offset;
	/* A symbol that no other module can replace may be left out. */
	bool is_its = of == index || (!of && (uint64_t)relocation->r_addend == symbol->st_value);

	if (type == file->cpu->offset && is_its)
		return REEL_BPF_PUBLISHER_WORD;
	if (type == file->cpu->descriptor && is_its)
		return REEL_BPF_PUBLISHER_DESCRIPTOR;
	if (type != file->cpu->module)
		return REEL_BPF_PUBLISHER_NONE;
	if (of == index ||
	    (!of && read_at(file, relocation->r_offset + 8, &offset, sizeof(offset)) &&
	     offset == symbol->st_value))
		return REEL_BPF_PUBLISHER_INDEX;
	return REEL_BPF_PUBLISHER_NONE;
}

/* The distance of addresses of code from file offsets, which mappings of code have. */
static bool code_distance(const struct file *file, uint64_t *ret)
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

static bool search_relocations(const struct file *file, uint64_t table, uint64_t size,
			       uint32_t index, const Elf64_Sym *symbol,
			       struct reel_bpf_publisher *ret)
{
	Elf64_Rela relocations[128];
	uint64_t n = size / sizeof(*relocations), distance, part;

	if (!table || n > RELOCATIONS_MAX || !code_distance(file, &distance))
		return false;
	for (uint64_t at = 0; at < n; at += part) {
		part = n - at < 128 ? n - at : 128;
		if (!read_at(file, table + at * sizeof(*relocations), relocations,
			     part * sizeof(*relocations)))
			return false;
		for (uint64_t i = 0; i < part; i++) {
			ret->kind = kind_of(file, &relocations[i], index, symbol);
			ret->at = relocations[i].r_offset - distance;
			if (ret->kind)
				return true;
		}
	}
	return false;
}

void reel_publisher_find(int fd, struct reel_bpf_publisher *ret)
{
	struct file file = { .fd = fd };
	Elf64_Sym symbol;
	uint32_t index;

	*ret = (struct reel_bpf_publisher){ 0 };
	if (!read_header(&file) || !read_dynamic(&file) || !find_symbol(&file, &index, &symbol))
		return;
	if (file.is_executable) {
		place_in_executable(&file, &symbol, ret);
		return;
	}
	for (size_t i = 0; i < 2 && !ret->kind; i++)
		search_relocations(&file, file.relocations[i], file.relocation_sizes[i], index,
				   &symbol, ret);
	ret->table = file.is_musl ? file.cpu->musl_table : file.cpu->table;
	ret->table_size = file.is_musl ? 0 : -16;
	ret->table_entry = file.is_musl ? 8 : 16;
}
