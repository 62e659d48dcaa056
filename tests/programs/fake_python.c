/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_python FUNCTIONS LINES NAMES SECONDS: poses as CPython 3.13, with FUNCTIONS code objects of
 * which 512 at a time are in its frames.  LINES: bytes of the line table that all share; each
 * entry is as many lines as bytes allow.  NAMES: different names of 4,000 random characters.
 * Compile with -rdynamic; the recorder looks for the symbols.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where 3.13 says at which offsets its structs have their fields. */
#include "record/runtime/python_offsets.c"

#define VERSION	     0x030d00
#define FRAMES	     512
#define NAME	     4000
#define CODE_WORDS   8
#define TEXT_HEADER  40 /* characters follow */
#define BYTES_HEADER 24

/* A field of ours: its name in the recorder and its offset. */
static const struct {
	enum python_field field;
	uint64_t offset;
} fields[] = {
	{ PYTHON_RUNTIME_HEAD, 2048 },
	{ PYTHON_INTERPRETER_NEXT, 0 },
	{ PYTHON_INTERPRETER_THREADS, 8 },
	{ PYTHON_THREAD_NEXT, 0 },
	{ PYTHON_THREAD_INTERPRETER, 8 },
	{ PYTHON_THREAD_ID, 16 },
	{ PYTHON_THREAD_NATIVE_ID, 24 },
	{ PYTHON_THREAD_FRAME, 32 },
	{ PYTHON_FRAME_PREVIOUS, 0 },
	{ PYTHON_FRAME_CODE, 8 },
	{ PYTHON_FRAME_POSITION, 16 },
	{ PYTHON_FRAME_OWNER, 24 },
	{ PYTHON_CODE_FILE, 16 },
	{ PYTHON_CODE_NAME, 24 },
	{ PYTHON_CODE_QUALIFIED, 32 },
	{ PYTHON_CODE_LINES, 40 },
	{ PYTHON_CODE_FIRST_LINE, 48 },
	{ PYTHON_CODE_CODE, 56 },
	{ PYTHON_OBJECT_TYPE, 8 },
	{ PYTHON_TYPE_NAME, 8 },
	{ PYTHON_BYTES_LENGTH, 16 },
	{ PYTHON_BYTES_DATA, BYTES_HEADER },
	{ PYTHON_TEXT_LENGTH, 16 },
	{ PYTHON_TEXT_STATE, 24 },
	{ PYTHON_TEXT_ASCII_SIZE, TEXT_HEADER },
	{ PYTHON_TEXT_SIZE, 72 },
};

__attribute__((visibility("default"), used)) unsigned long Py_Version = VERSION << 8 | 0xf0;
__attribute__((visibility("default"), used, aligned(4096))) uint64_t _PyRuntime[1024] = { 1 };

static uint64_t code_type[2], text_type[2], bytes_type[2], interpreter[4], thread[8];
static uint64_t frames[FRAMES][4];

static uint64_t address_of(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void fill_runtime(void)
{
	const struct python_version *version = python_versions;

	while (version->version != VERSION)
		version++;
	memcpy(_PyRuntime, "xdebugpy", 8);
	_PyRuntime[1] = Py_Version;
	_PyRuntime[2] = 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		memcpy((char *)_PyRuntime + version->fields[fields[i].field], &fields[i].offset,
		       sizeof(fields[i].offset));
	_PyRuntime[2048 / 8] = address_of(interpreter);
	interpreter[1] = address_of(thread);
	thread[1] = address_of(interpreter);
	thread[3] = (uint64_t)syscall(SYS_gettid);
	thread[4] = address_of(frames[FRAMES - 1]);
	code_type[1] = address_of("code");
	text_type[1] = address_of("str");
	bytes_type[1] = address_of("bytes");
}

/* A str: ASCII, compact, of one byte a character. */
static uint64_t make_text(void)
{
	uint64_t *text = calloc(1, TEXT_HEADER + NAME);

	text[0] = 1;
	text[1] = address_of(text_type);
	text[2] = NAME;
	text[3] = (1 | 1 << 3 | 1 << 4) << 2;
	for (size_t i = 0; i < NAME; i++)
		((char *)text)[TEXT_HEADER + i] = (char)(33 + rand() % 90);
	return address_of(text);
}

/* Each entry is a line later than the one before. */
static uint64_t make_lines(size_t size)
{
	uint64_t *bytes = calloc(1, BYTES_HEADER + size + 1);

	bytes[0] = 1;
	bytes[1] = address_of(bytes_type);
	bytes[2] = size;
	memset((char *)bytes + BYTES_HEADER, 0x80 | 11 << 3, size);
	return address_of(bytes);
}

int main(int argc, char **argv)
{
	size_t n = argc > 4 ? strtoul(argv[1], NULL, 0) : 0;
	size_t n_names = n ? strtoul(argv[3], NULL, 0) : 0, next = 0;
	uint64_t *codes, *names, lines;
	time_t end;

	if (!n || !n_names)
		return 2;
	end = time(NULL) + atoi(argv[4]);
	srand((unsigned int)getpid());
	lines = make_lines(strtoul(argv[2], NULL, 0));
	names = calloc(n_names, sizeof(*names));
	codes = mmap(NULL, n * 8 * CODE_WORDS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (!names || codes == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < n_names; i++)
		names[i] = make_text();
	for (size_t i = 0; i < n; i++) {
		const uint64_t code[CODE_WORDS] = { 1,
						    address_of(code_type),
						    names[i % n_names],
						    names[i % n_names],
						    names[(i + i / n_names) % n_names],
						    lines,
						    1,
						    0 };

		memcpy(codes + i * CODE_WORDS, code, sizeof(code));
	}
	for (size_t i = 0; i < FRAMES; i++) {
		frames[i][0] = i ? address_of(frames[i - 1]) : 0;
		frames[i][1] = address_of(codes + i % n * CODE_WORDS);
	}
	fill_runtime();
	puts("poses");
	fflush(stdout);
	while (time(NULL) < end) {
		for (size_t i = 0; i < FRAMES; i++)
			((volatile uint64_t *)frames[i])[1] =
				address_of(codes + next++ % n * CODE_WORDS);
		for (volatile int i = 0; i < 30000; i++)
			;
	}
	return 0;
}
