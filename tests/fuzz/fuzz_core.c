/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core files of samples, read by libelf, and the scripts that have gdb, lldb and drgn read them:
 * names from the capture add no command to a script, and nothing that acts on a terminal.
 */
#include <gelf.h>

#include "cli/core/scripts.c"
#include "replay/core/core_state.h"
#include "tests/fuzz/replay_parts.h"

/* ---- the core file -------------------------------------------------------------------------- */

static void check_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		must_be((uint8_t)text[i] >= 0x20 ? text[i] != 0x7f : !text[i], "a text");
}

/* NT_FILE: a count, the page size, three numbers for each mapping, and their names. */
static void check_files(const uint8_t *bytes, size_t size, bool big_endian, size_t word)
{
	struct reel_bytes part = { bytes, size < word ? size : word };
	uint64_t n = 0;

	must_be(part.size == word, "a count");
	for (size_t i = 0; i < word; i++)
		n = n << 8 | part.data[big_endian ? i : word - 1 - i];
	must_be(n <= size && size >= (2 + 3 * n) * word, "files");
	check_text((const char *)bytes + (2 + 3 * n) * word, size - (2 + 3 * n) * word);
}

static void check_notes(Elf *elf, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
					      ELF_T_NHDR);
	const char *ident = elf_getident(elf, NULL);
	size_t at = 0, next, name, content;
	GElf_Nhdr note;

	must_be(data != NULL, "notes");
	for (; (next = gelf_getnote(data, at, &note, &name, &content)); at = next) {
		check_text((const char *)data->d_buf + name, note.n_namesz);
		if (note.n_type == NT_FILE)
			check_files((const uint8_t *)data->d_buf + content, note.n_descsz,
				    ident[EI_DATA] == ELFDATA2MSB,
				    ident[EI_CLASS] == ELFCLASS64 ? 8 : 4);
	}
	must_be(at == data->d_size, "notes up to the end");
}

static void check_file(struct reel_buffer *file)
{
	Elf *elf = elf_memory((char *)file->bytes, file->size);
	size_t n = 0;
	uint64_t end = 0;

	must_be(elf && !elf_getphdrnum(elf, &n) && n, "a core file");
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		must_be(gelf_getphdr(elf, (int)i, &segment) != NULL, "a segment");
		must_be(segment.p_offset <= file->size &&
				segment.p_filesz <= file->size - segment.p_offset,
			"a segment in the file");
		if (segment.p_type == PT_NOTE)
			check_notes(elf, &segment);
		if (segment.p_type != PT_LOAD)
			continue;
		must_be(segment.p_vaddr >= end, "memory in order");
		end = segment.p_vaddr + segment.p_memsz;
	}
	elf_end(elf);
}

/* ---- scripts -------------------------------------------------------------------------------- */

static const char *const commands[CORE_DEBUGGERS][6] = {
	{ "set backtrace past-", "set debug-file-directory /", "core-file /", "add-symbol-file \"",
	  "frame" },
	{ "target create --core \"", "target modules add \"", "target modules load --file \"",
	  "target symbols add --shlib \"" },
	{ "add(b\"", "print(next(prog.threads()).stack_trace())" },
};

static void check_line(const char *line, size_t size, const char *const *starts)
{
	check_text(line, size);
	if (!size || *line == '#')
		return;
	must_be(!memchr(line, '`', size), "no command in a command");
	while (*starts && strncmp(line, *starts, strlen(*starts)) != 0)
		starts++;
	must_be(*starts != NULL, "a known command");
}

static void check_script(const struct core_script *script, size_t debugger)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	char *functions;

	must_be(file && core_debuggers[debugger].print(script, file) && !fclose(file), "a script");
	must_be(strlen(text) == size, "a text");
	functions = strstr(text, drgn_functions);
	if (functions)
		memset(functions, '\n', strlen(drgn_functions));
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		check_line(at, strcspn(at, "\n"), commands[debugger]);
}

/* ---- samples -------------------------------------------------------------------------------- */

static void check_sample(struct reel_capture *capture, uint64_t sample)
{
	_cleanup_buffer_ struct reel_buffer file = { 0 };
	const struct options options = { .file = "fuzz" };
	struct core_script script = {
		.options = &options,
		.capture = capture,
		.sample = sample,
		.core_path = "/tmp/core",
		.images = "/tmp/core.images",
	};
	struct reel_core *core;

	if (!fuzz_fine(reel_core_open(capture, sample, &core)))
		return;
	if (fuzz_fine(reel_core_make_file(core, &file)))
		check_file(&file);
	script.core = core;
	for (size_t i = 0; i < CORE_DEBUGGERS; i++)
		check_script(&script, i);
	reel_core_close(core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct replay_parts parts;
	struct reel_cursor input = reel_cursor(data, size);
	const struct reel_trace *trace;
	struct reel_capture *capture;
	struct reel_traces *traces;
	uint64_t samples[8];
	size_t n = 0;

	elf_version(EV_CURRENT);
	replay_parts_take(&input, &parts);
	if (!replay_open(&parts, parts.capture.path, 1, &capture))
		return 0;
	must(reel_traces_create(capture, NULL, &traces));
	while (n < 8 && fuzz_fine(reel_traces_next(traces, &trace)) && trace)
		samples[n++] = trace->id;
	reel_traces_destroy(traces);
	for (size_t i = 0; i < n; i++)
		check_sample(capture, samples[i]);
	reel_capture_close(capture);
	return 0;
}
