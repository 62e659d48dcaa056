/* SPDX-License-Identifier: Apache-2.0 */
/* Where the state of CPython is, by ELF files made here. */
#include <elf.h>
#include <sys/mman.h>

#include "record/proc/file_hints.h"
#include "tests/support/test.h"

/* The words of these files have this host's byte order. */
#define HOST_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

#define BASE	0x400000 /* address of the file's begin */
#define CODE	0x3000	 /* code's addresses are farther by this from file offsets */
#define STATE	0x4567890
#define SYMBOLS 4 /* the first one is not in use */

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[4];
	struct {
		uint32_t n_buckets, first, n_words, shift;
		uint64_t words[1];
		uint32_t buckets[1], chains[SYMBOLS - 1];
	} hash;
	Elf64_Sym symbols[SYMBOLS];
	char strings[SYMBOLS][32];
	uint64_t version;
};

#define AT(member) (BASE + offsetof(struct file, member))

static struct file file_with(const char *const names[SYMBOLS - 1])
{
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, HOST_ORDER, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_AARCH64,
			.e_phoff = offsetof(struct file, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = BASE, .p_filesz = sizeof(file), .p_memsz = sizeof(file) },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000, .p_vaddr = 0x1000 + BASE + CODE },
			{ .p_type = PT_DYNAMIC, .p_offset = offsetof(struct file, dynamic), .p_filesz = sizeof(file.dynamic) },
		},
		.dynamic = {
			{ DT_STRTAB, { AT(strings) } },
			{ DT_SYMTAB, { AT(symbols) } },
			{ DT_GNU_HASH, { AT(hash) } },
		},
		.hash = { .n_buckets = 1, .first = 1, .n_words = 1, .words = { UINT64_MAX }, .buckets = { 1 } },
	};

	for (uint32_t i = 0; i < SYMBOLS - 1; i++) {
		const char *name = names[i] ? names[i] : "";
		bool is_function = name[0] == 'P' && name[2] != '_';
		uint32_t hash = 5381;

		strcpy(file.strings[i + 1], name);
		while (*name)
			hash = hash * 33 + (unsigned char)*name++;
		file.hash.chains[i] = (hash & ~1u) | (i == SYMBOLS - 2);
		file.symbols[i + 1] = (Elf64_Sym){
			.st_name = (i + 1) * sizeof(file.strings[0]),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, is_function ? STT_FUNC : STT_OBJECT),
			.st_shndx = 1,
			.st_value = file.strings[i + 1][0] == '_' ? STATE : AT(version),
		};
	}
	return file;
}

static struct reel_runtime_place found(const struct file *file)
{
	struct reel_file_hints hints;
	int fd = memfd_create("runtime", 0);

	assert_true(fd >= 0 && write(fd, file, sizeof(*file)) == sizeof(*file));
	reel_file_hints_find(fd, &hints);
	close(fd);
	return hints.runtime;
}

static void check(const char *const names[SYMBOLS - 1], uint64_t constant, uint32_t version)
{
	struct file file = file_with(names);
	struct reel_runtime_place place;

	file.version = constant;
	place = found(&file);
	assert_int_equal(place.kind, REEL_BPF_INTERPRETER_PYTHON);
	assert_int_equal(place.version, version);
	assert_true(place.at == STATE - BASE - CODE);
}

TEST(test_versions)
{
	check((const char *const[SYMBOLS - 1]){ "_PyRuntime", "Py_Version",
						"PyModule_AddObjectRef" },
	      0x030d05f0, 0x030d00);
	/* A beta version. */
	check((const char *const[SYMBOLS - 1]){ "_PyRuntime", "Py_Version" }, 0x030d00b4, 0);
	check((const char *const[SYMBOLS - 1]){ "PyFrame_GetCode", "_PyRuntime",
						"PyModule_AddObjectRef" },
	      0, 0x030a00);
	check((const char *const[SYMBOLS - 1]){ "PyCode_NewWithPosOnlyArgs", "PyFrame_GetCode",
						"_PyRuntime" },
	      0, 0x030900);
	check((const char *const[SYMBOLS - 1]){ "PyCode_NewWithPosOnlyArgs", NULL, "_PyRuntime" },
	      0, 0x030800);
	check((const char *const[SYMBOLS - 1]){ "_PyRuntime" }, 0, 0);
}

TEST(test_others)
{
	struct file file = file_with(
		(const char *const[SYMBOLS - 1]){ "Py_Version", "PyFrame_GetCode", NULL });

	assert_int_equal(found(&file).kind, REEL_BPF_INTERPRETER_NONE);
	/* Used, but defined elsewhere, as extension modules have it. */
	file = file_with((const char *const[SYMBOLS - 1]){ "_PyRuntime", NULL, NULL });
	file.symbols[1].st_shndx = SHN_UNDEF;
	assert_int_equal(found(&file).kind, REEL_BPF_INTERPRETER_NONE);
	/* Without code. */
	file = file_with((const char *const[SYMBOLS - 1]){ "_PyRuntime", NULL, NULL });
	file.segments[1].p_flags = PF_R;
	assert_int_equal(found(&file).kind, REEL_BPF_INTERPRETER_NONE);
	file.segments[1].p_flags = PF_X;
	assert_int_equal(found(&file).kind, REEL_BPF_INTERPRETER_PYTHON);
	file.header.e_ident[0] = 0;
	assert_int_equal(found(&file).kind, REEL_BPF_INTERPRETER_NONE);
}

RUN_TESTS()
