/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file's thread-local variable is, by ELF files made here, whole and damaged. */
#include <elf.h>
#include <sys/mman.h>

#include "record/proc/file_hints.h"
#include "tests/support/test.h"

/* The words of these files have this host's byte order. */
#define HOST_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

#define BASE	 0x400000 /* address of the file's begin */
#define DATA	 0x1000	  /* from there, addresses of data are farther from file offsets */
#define SYMBOL	 "otel_thread_ctx_v1"
#define TLS_SIZE 0x70

/* R_X86_64_…, R_AARCH64_… */
#define X86_MODULE 16
#define X86_OFFSET 18
#define X86_DESC   36
#define ARM_MODULE 1028
#define ARM_OFFSET 1030
#define ARM_DESC   1031
#define X86_GLOB   6

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[5];
	Elf64_Dyn dynamic[12];
	struct {
		uint32_t n_buckets, first, n_words, shift;
		uint64_t words[2];
		uint32_t buckets[1], chains[2];
	} hash;
	Elf64_Sym symbols[3];
	Elf64_Rela relocations[2], more[1];
	char strings[64];
	uint64_t words[2];
};

#define AT(member) (BASE + offsetof(struct file, member))

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static void add_to_filter(struct file *file, uint32_t hash)
{
	file->hash.words[hash / 64 % 2] |= 1ull << hash % 64 | 1ull << (hash >> 6) % 64;
}

/* A library of x86-64 whose only relocation of the variable is of this type. */
static struct file library(uint32_t type)
{
	const char names[] = "\0" SYMBOL "\0libc.so.6\0another";
	uint32_t hash = hash_of(SYMBOL), other = hash_of("another");
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, HOST_ORDER, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct file, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE, .p_filesz = sizeof(file), .p_memsz = sizeof(file) },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = BASE + 0x10000, .p_offset = DATA },
			{ .p_type = PT_DYNAMIC, .p_offset = offsetof(struct file, dynamic), .p_vaddr = AT(dynamic), .p_filesz = sizeof(file.dynamic) },
			{ .p_type = PT_TLS, .p_vaddr = BASE + 0x20, .p_memsz = TLS_SIZE, .p_align = 64 },
			{ .p_type = PT_NULL },
		},
		.dynamic = {
			{ DT_NEEDED, { sizeof("\0" SYMBOL) } },
			{ DT_STRTAB, { AT(strings) } },
			{ DT_SYMTAB, { AT(symbols) } },
			{ DT_GNU_HASH, { AT(hash) } },
			{ DT_RELA, { AT(relocations) } },
			{ DT_RELASZ, { sizeof(file.relocations) } },
			{ DT_JMPREL, { AT(more) } },
			{ DT_PLTRELSZ, { sizeof(file.more) } },
			{ DT_NULL, { 0 } },
		},
		.hash = {
			.n_buckets = 1,
			.first = 1,
			.n_words = 2,
			.shift = 6,
			.buckets = { 1 },
			.chains = { other & ~1u, hash | 1 },
		},
		.symbols = {
			{ 0 },
			{ .st_name = sizeof("\0" SYMBOL "\0libc.so.6"), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1 },
			{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS), .st_shndx = 1, .st_value = 0x48, .st_size = 8 },
		},
		.relocations = {
			{ .r_offset = 0x10040, .r_info = ELF64_R_INFO(1, X86_GLOB) },
			{ .r_offset = AT(words), .r_info = ELF64_R_INFO(2, type) },
		},
		.words = { 0, 0x48 },
	};

	memcpy(file.strings, names, sizeof(names));
	add_to_filter(&file, hash);
	add_to_filter(&file, other);
	return file;
}

static struct reel_bpf_publisher found(const struct file *file)
{
	struct reel_file_hints hints;
	int fd = memfd_create("publisher", 0);

	assert_true(fd >= 0 && write(fd, file, sizeof(*file)) == sizeof(*file));
	reel_file_hints_find(fd, &hints);
	close(fd);
	return hints.publisher;
}

static void check_library(const struct file *file, enum reel_bpf_publisher_kind kind)
{
	struct reel_bpf_publisher publisher = found(file);

	assert_int_equal(publisher.kind, kind);
	if (kind)
		assert_int_equal(publisher.at, offsetof(struct file, words));
}

TEST(test_libraries)
{
	struct file file = library(X86_OFFSET);

	check_library(&file, REEL_BPF_PUBLISHER_WORD);
	file = library(X86_DESC);
	check_library(&file, REEL_BPF_PUBLISHER_DESCRIPTOR);
	file = library(X86_MODULE);
	check_library(&file, REEL_BPF_PUBLISHER_INDEX);
	file = library(X86_GLOB);
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file.more[0] = (Elf64_Rela){ AT(words), ELF64_R_INFO(2, X86_DESC), 0 };
	check_library(&file, REEL_BPF_PUBLISHER_DESCRIPTOR);
	/* The table of blocks. */
	assert_int_equal(found(&file).table, 8);
	assert_int_equal(found(&file).table_size, -16);
	assert_int_equal(found(&file).table_entry, 16);
}

/* A symbol that no other can replace need not be named. */
TEST(test_without_symbol)
{
	struct file file = library(X86_OFFSET);

	file.relocations[1].r_info = ELF64_R_INFO(0, X86_OFFSET);
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file.relocations[1].r_addend = 0x48;
	check_library(&file, REEL_BPF_PUBLISHER_WORD);
	file.relocations[1] = (Elf64_Rela){ AT(words), ELF64_R_INFO(0, X86_MODULE), 0 };
	check_library(&file, REEL_BPF_PUBLISHER_INDEX);
	file.words[1] = 0x40;
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
}

TEST(test_arm)
{
	struct file file = library(ARM_DESC);

	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file.header.e_machine = EM_AARCH64;
	check_library(&file, REEL_BPF_PUBLISHER_DESCRIPTOR);
	assert_int_equal(found(&file).table, 0);
	file.relocations[1].r_info = ELF64_R_INFO(2, ARM_OFFSET);
	check_library(&file, REEL_BPF_PUBLISHER_WORD);
	file.relocations[1].r_info = ELF64_R_INFO(2, ARM_MODULE);
	check_library(&file, REEL_BPF_PUBLISHER_INDEX);
	strcpy(file.strings + file.dynamic[0].d_un.d_val, "libc.so");
	assert_int_equal(found(&file).table, -8);
	assert_int_equal(found(&file).table_size, 0);
	assert_int_equal(found(&file).table_entry, 8);
	file.header.e_machine = EM_S390;
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
}

TEST(test_musl)
{
	struct file file = library(X86_MODULE);

	strcpy(file.strings + file.dynamic[0].d_un.d_val, "libc.musl-x86_64.so.1");
	assert_int_equal(found(&file).table, 8);
	assert_int_equal(found(&file).table_entry, 8);
}

/* The block of an executable has the alignment of its address, as GNU ld and lld place it. */
TEST(test_executables)
{
	struct file file = library(X86_OFFSET);

	file.header.e_type = ET_EXEC;
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_OFFSET);
	/* From a multiple of 64 + 0x20, 0x70 bytes end up to 0x30 bytes before another multiple. */
	assert_int_equal((int64_t)found(&file).at, -0xa0 + 0x48);
	file.segments[3].p_vaddr = BASE;
	assert_int_equal((int64_t)found(&file).at, -0x80 + 0x48);
	file.header.e_machine = EM_AARCH64;
	assert_int_equal((int64_t)found(&file).at, 0x40 + 0x48);
	file.segments[3].p_align = 8;
	assert_int_equal((int64_t)found(&file).at, 0x10 + 0x48);
	file.segments[3].p_align = 24;
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_NONE);
	file.segments[3].p_align = 0;
	assert_int_equal((int64_t)found(&file).at, 0x10 + 0x48);
	file.symbols[2].st_value = TLS_SIZE + 1;
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_NONE);
}

TEST(test_position_independent_executables)
{
	struct file file = library(X86_OFFSET);

	file.dynamic[8] = (Elf64_Dyn){ DT_FLAGS_1, { DF_1_PIE } };
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_OFFSET);
	file.dynamic[8].d_tag = DT_NULL;
	file.header.e_phnum = 5;
	file.segments[4].p_type = PT_INTERP;
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_OFFSET);
	/* As libc's. */
	file.dynamic[8] = (Elf64_Dyn){ DT_SONAME, { 1 } };
	assert_int_equal(found(&file).kind, REEL_BPF_PUBLISHER_WORD);
}

TEST(test_other_symbols)
{
	struct file file = library(X86_OFFSET);

	file.symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file = library(X86_OFFSET);
	file.symbols[2].st_shndx = SHN_UNDEF;
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file = library(X86_OFFSET);
	file.strings[sizeof(SYMBOL)] = 'x';
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
	file = library(X86_OFFSET);
	memset(file.hash.words, 0, sizeof(file.hash.words));
	check_library(&file, REEL_BPF_PUBLISHER_NONE);
}

TEST(test_ocaml)
{
	struct file file = library(X86_OFFSET);
	uint32_t hash = hash_of("caml_state");

	assert_int_equal(found(&file).published, REEL_BPF_PUBLISHED_REQUEST);
	strcpy(&file.strings[1], "caml_state");
	file.hash.chains[1] = hash | 1;
	add_to_filter(&file, hash);
	check_library(&file, REEL_BPF_PUBLISHER_WORD);
	assert_int_equal(found(&file).published, REEL_BPF_PUBLISHED_OCAML);
}

/* Any bytes end with an answer, soon (and under the sanitizers). */
TEST(test_damage)
{
	static const uint64_t values[] = { 0, 1, 0x7f, 0xff, UINT32_MAX, INT64_MAX, UINT64_MAX };
	const struct file whole = library(X86_OFFSET);

	for (size_t at = 0; at + 8 <= sizeof(whole); at++) {
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			struct file file = whole;

			memcpy((uint8_t *)&file + at, &values[i], 1 + at % 8);
			assert_true(found(&file).kind < REEL_BPF_PUBLISHER_KINDS);
		}
	}
}

RUN_TESTS()
