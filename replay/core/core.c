/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reel_core_open and its relatives of include/commands.h.
 *
 * A core file is an ELF header, PT_NOTE, and PT_LOAD for each piece of recorded memory, in the
 * target's word size and byte order (System V gABI, chapters 4 and 5; fs/binfmt_elf.c).  Memory
 * without a PT_LOAD is unknown: debuggers read the files in NT_FILE there, or fail.
 */
#include <elf.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/output_file.h"
#include "base/text.h"
#include "replay/core/core_state.h"

/* For a capture that does not state it. */
#define PAGE_SIZE_DEFAULT 4096

#define NOTE_ALIGN 4
#define NAME	   "CORE"
/* Notes of a single architecture have a different name. */
#define NAME_LINUX "LINUX"
#define FNAME_SIZE 16
#define ARGS_SIZE  80
/* arch/arm64/include/uapi/asm/hwcap.h: pointer authentication. */
#define HWCAP_PACA (UINT64_C(1) << 30)

struct writer {
	const struct reel_core *core;
	struct reel_buffer *buffer;
	unsigned word;
};

static void append_number(struct writer *writer, unsigned size, uint64_t value)
{
	uint8_t bytes[8];

	reel_store_target(bytes, size, writer->core->big_endian, value);
	reel_buffer_append(writer->buffer, bytes, size);
}

static void append_word(struct writer *writer, uint64_t value)
{
	append_number(writer, writer->word, value);
}

static void append_zeros(struct writer *writer, size_t size)
{
	uint8_t *bytes = reel_buffer_reserve(writer->buffer, size);

	if (bytes) {
		memset(bytes, 0, size);
		writer->buffer->size += size;
	}
}

static void align(struct writer *writer, size_t step)
{
	append_zeros(writer, (step - writer->buffer->size % step) % step);
}

/* Debuggers print names as they are. */
static void append_name(struct writer *writer, const char *name, size_t size)
{
	struct reel_buffer *buffer = writer->buffer;

	reel_buffer_append(buffer, name, size);
	if (!buffer->failed)
		reel_text_clean((char *)buffer->bytes + buffer->size - size, size);
}

/* Text in an array of `size` bytes, with a NUL. */
static void append_text(struct writer *writer, const char *text, size_t size)
{
	size_t length = strnlen(text, size - 1);

	append_name(writer, text, length);
	append_zeros(writer, size - length);
}

/* ---- notes ---------------------------------------------------------------------------------- */

static void begin_note(struct writer *writer, const char *name, uint32_t type, size_t size)
{
	append_number(writer, 4, strlen(name) + 1);
	append_number(writer, 4, size);
	append_number(writer, 4, type);
	reel_buffer_append(writer->buffer, name, strlen(name) + 1);
	align(writer, NOTE_ALIGN);
}

/* struct elf_prpsinfo of include/linux/elfcore.h: no flags, ids 0. */
static void append_process(struct writer *writer)
{
	const struct reel_core *core = writer->core;
	const char *program = core->program.path ? core->program.path : core->info.comm;
	const char *base = strrchr(program, '/');
	unsigned ids = 2u * core->layout->id_size;

	begin_note(writer, NAME, NT_PRPSINFO, 2 * writer->word + ids + 16 + FNAME_SIZE + ARGS_SIZE);
	reel_buffer_append(writer->buffer, "\0R\0", 4); /* state, "R": running, zombie, nice */
	append_zeros(writer, writer->word - 4);
	append_word(writer, 0);
	append_zeros(writer, ids);
	append_number(writer, 4, core->info.pid);
	append_zeros(writer, 12); /* parent, group, session */
	append_text(writer, base ? base + 1 : program, FNAME_SIZE);
	append_text(writer, program, ARGS_SIZE);
}

static void append_registers(struct writer *writer, const struct reel_core_register_note *note)
{
	const struct reel_core *core = writer->core;
	size_t at;
	uint8_t *bytes;

	begin_note(writer, NAME, note->type, note->size);
	at = writer->buffer->size;
	append_zeros(writer, note->size);
	if (writer->buffer->failed)
		return;
	bytes = writer->buffer->bytes + at;
	/* After siginfo (12 bytes), cursig, and two words of signals.  No signal was delivered. */
	if (note->type == NT_PRSTATUS)
		reel_store_target(bytes + 16 + 2 * writer->word, 4, core->big_endian,
				  core->info.tid);
	for (size_t i = 0; i < note->n_runs; i++) {
		const struct reel_core_registers *run = &note->runs[i];

		for (int j = 0; j < run->count; j++)
			reel_store_target(bytes + run->offset + j * run->step, writer->word,
					  core->big_endian, core->values[run->first + j]);
	}
}

static bool signs_pointers(const struct reel_core *core)
{
	return core->code_mask && core->arch->elf_machine == EM_AARCH64;
}

/* arch/arm64/include/uapi/asm/ptrace.h, struct user_pac_mask: data, instructions. */
static void append_pointer_masks(struct writer *writer)
{
	const struct reel_core *core = writer->core;

	if (!signs_pointers(core))
		return;
	begin_note(writer, NAME_LINUX, NT_ARM_PAC_MASK, 16);
	append_number(writer, 8, core->data_mask);
	append_number(writer, 8, core->code_mask);
}

static void append_auxiliary(struct writer *writer)
{
	const struct reel_core *core = writer->core;
	const struct reel_core_program *program = &core->program;
	const struct {
		uint64_t type, value;
		bool is_known;
	} entries[] = {
		{ AT_PHDR, program->headers, program->path },
		{ AT_PHENT, program->header_size, program->path },
		{ AT_PHNUM, program->n_headers, program->path },
		{ AT_ENTRY, program->entry, program->path },
		{ AT_SYSINFO_EHDR, core->vdso, core->vdso },
		{ AT_PAGESZ, core->page_size, true },
		/* gdb reads the masks of pointers only with this. */
		{ AT_HWCAP, HWCAP_PACA, signs_pointers(core) },
		{ AT_NULL, 0, true },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		n += entries[i].is_known;
	begin_note(writer, NAME, NT_AUXV, 2 * n * writer->word);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (!entries[i].is_known)
			continue;
		append_word(writer, entries[i].type);
		append_word(writer, entries[i].value);
	}
}

/* fs/binfmt_elf.c, fill_files_note: offsets count pages. */
static void append_files(struct writer *writer)
{
	const struct reel_core *core = writer->core;
	uint64_t page = core->page_size;
	size_t names = 0;

	for (size_t i = 0; i < core->n_files; i++) {
		names += strlen(core->files[i].path) + 1;
		if (core->files[i].offset % page)
			page = 1;
	}
	begin_note(writer, NAME, NT_FILE, (2 + 3 * core->n_files) * writer->word + names);
	append_word(writer, core->n_files);
	append_word(writer, page);
	for (size_t i = 0; i < core->n_files; i++) {
		append_word(writer, core->files[i].begin);
		append_word(writer, core->files[i].end);
		append_word(writer, core->files[i].offset / page);
	}
	for (size_t i = 0; i < core->n_files; i++)
		append_name(writer, core->files[i].path, strlen(core->files[i].path) + 1);
	align(writer, NOTE_ALIGN);
}

static void append_notes(struct writer *writer)
{
	const struct reel_core_layout *layout = writer->core->layout;

	/* The other notes of a thread follow its NT_PRSTATUS. */
	append_process(writer);
	for (size_t i = 0; i < layout->n_notes; i++)
		append_registers(writer, &layout->notes[i]);
	append_pointer_masks(writer);
	append_auxiliary(writer);
	append_files(writer);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void append_header(struct writer *writer, size_t n_segments)
{
	const struct reel_core *core = writer->core;
	bool is_64 = writer->word == 8;
	unsigned header = is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	uint8_t ident[EI_NIDENT] = ELFMAG;

	ident[EI_CLASS] = is_64 ? ELFCLASS64 : ELFCLASS32;
	ident[EI_DATA] = core->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	ident[EI_VERSION] = EV_CURRENT;
	/* lldb refuses another CPU's core file without a system. */
	ident[EI_OSABI] = ELFOSABI_LINUX;
	reel_buffer_append(writer->buffer, ident, sizeof(ident));
	append_number(writer, 2, ET_CORE);
	append_number(writer, 2, core->arch->elf_machine);
	append_number(writer, 4, EV_CURRENT);
	append_word(writer, 0);	     /* e_entry */
	append_word(writer, header); /* e_phoff */
	append_word(writer, 0);	     /* e_shoff */
	append_number(writer, 4, core->program.flags);
	append_number(writer, 2, header);
	append_number(writer, 2, is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	append_number(writer, 2, n_segments);
	append_zeros(writer, 6); /* no sections */
}

static void append_segment(struct writer *writer, uint32_t type, uint64_t offset, uint64_t address,
			   uint64_t size)
{
	bool is_64 = writer->word == 8;
	uint32_t flags = type == PT_LOAD ? PF_R | PF_W : 0;

	append_number(writer, 4, type);
	if (is_64)
		append_number(writer, 4, flags);
	append_word(writer, offset);
	append_word(writer, address);
	append_word(writer, 0);
	append_word(writer, size);
	append_word(writer, type == PT_LOAD ? size : 0);
	if (!is_64)
		append_number(writer, 4, flags);
	append_word(writer, type == PT_LOAD ? 1 : NOTE_ALIGN);
}

struct reel_error *reel_core_make_file(const struct reel_core *core, struct reel_buffer *ret)
{
	_cleanup_buffer_ struct reel_buffer notes = { 0 };
	struct writer writer = { core, &notes, core->arch->word_size };
	size_t n_segments = core->n_pieces + 1;
	bool is_64 = writer.word == 8;
	uint64_t offset = is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);

	if (n_segments >= PN_XNUM)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "the stack consists of %zu pieces, too many for a core "
					 "file",
					 core->n_pieces);
	append_notes(&writer);
	writer.buffer = ret;
	append_header(&writer, n_segments);
	offset += n_segments * (is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	append_segment(&writer, PT_NOTE, offset, 0, notes.size);
	offset += notes.size;
	for (size_t i = 0; i < core->n_pieces; i++) {
		append_segment(&writer, PT_LOAD, offset, core->pieces[i].address,
			       core->pieces[i].size);
		offset += core->pieces[i].size;
	}
	reel_buffer_append(ret, notes.bytes, notes.size);
	for (size_t i = 0; i < core->n_pieces; i++)
		reel_buffer_append(ret, core->pieces[i].bytes, core->pieces[i].size);
	return notes.failed || ret->failed ? reel_error_no_memory() : NULL;
}

/* ---- the API -------------------------------------------------------------------------------- */

struct reel_error *reel_core_open(struct reel_capture *capture, uint64_t sample,
				  struct reel_core **ret)
{
	struct reel_core *core = calloc(1, sizeof(*core));
	struct reel_error *error;
	uint64_t space;

	if (!core)
		return reel_error_no_memory();
	core->capture = capture;
	core->page_size = capture->info.page_size ? capture->info.page_size : PAGE_SIZE_DEFAULT;
	core->texts = reel_texts_create();
	error = core->texts ? reel_core_read_sample(core, sample, &space) : reel_error_no_memory();
	if (!error)
		error = reel_core_add_modules(core, space);
	if (error) {
		reel_core_close(core);
		return error;
	}
	*ret = core;
	return NULL;
}

void reel_core_close(struct reel_core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->n_pieces; i++)
		free(core->pieces[i].bytes);
	free(core->pieces);
	free(core->modules);
	free(core->files);
	reel_texts_destroy(core->texts);
	free(core);
}

const struct reel_core_info *reel_core_get_info(const struct reel_core *core)
{
	return &core->info;
}

const struct reel_core_module *reel_core_modules(const struct reel_core *core, size_t *count_ret)
{
	*count_ret = core->n_modules;
	return core->modules;
}

struct reel_error *reel_core_write(const struct reel_core *core, const char *path)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	struct reel_output_file file;
	struct reel_error *error = NULL;
	int failure;

	TRY(reel_core_make_file(core, &buffer));
	TRY(reel_output_file_open(path, REEL_PLACE_PRIVATE, reel_reader_fd(core->capture->reader),
				  &file));
	failure = reel_write_all(file.fd, buffer.bytes, buffer.size, NULL);
	if (failure)
		error = reel_error_os(failure, "cannot write %s", path);
	return reel_output_file_close(&file, error);
}
