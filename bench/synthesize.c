/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes captures of any size in one respect, which are exact: each trace reaches its root, with the
 * requested number of frames, on any host.
 *
 *   synthesize DIR [samples=N] [modules=N] [mappings=N] [processes=N] [threads=N] [depth=N] [jit=N]
 *
 * DIR/capture.reel has x86-64 processes, each with as many of the threads, and with its samples in a
 * block of its own. Their mappings are the same: mapping i maps DIR/module-(i % modules), an ELF file
 * with its own build-id, symbols and CFI. A thread's frames stay the same except for the four
 * nearest to the leaf, which are elsewhere in each sample: anywhere in the mappings, repeating
 * after 20,000 samples.
 *
 * With jit=N, the leaf is in one of N pages of code without a file, and every JIT_CHANGE samples a
 * constant in one of its functions changes. There is only one process then.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/capture.h"
#include "tests/support/elf_builder.h"

#define FUNCTIONS     64
#define FUNCTION_SIZE 32
#define TEXT	      0x1000 /* address and offset */
#define TEXT_SIZE     (FUNCTIONS * FUNCTION_SIZE)
#define EH_FRAME      0x4000
#define FRAME_MAX     64
#define LEAVES	      4
#define BUILD_ID      "growth-module-000000"
#define MAPPINGS_FROM 0x7e0000000000
#define MAPPING_STEP  0x4000
#define STACKS_FROM   0x7f0000000000
#define STACK_STEP    0x1000000
#define START	      1000000000
#define VARIETY	      20000 /* samples, after which the leaves repeat */
#define JIT_FROM      0x7d0000000000
#define JIT_FUNCTION  1024 /* bytes */
#define JIT_CHANGE    20

static struct {
	const char *name;
	uint64_t value, max;
} parameters[] = {
	{ "samples", 20000, 1000000000 },
	{ "modules", 10, 999999 },
	{ "mappings", 0, 10000000 },
	{ "processes", 1, 10000 },
	{ "threads", 4, 100000 },
	{ "depth", 30, STACK_STEP / FRAME_MAX },
	{ "jit", 0, 65536 },
};

enum { SAMPLES, MODULES, MAPPINGS, PROCESSES, THREADS, DEPTH, JIT, N_PARAMETERS };

static uint64_t of(unsigned parameter)
{
	return parameters[parameter].value;
}

static uint64_t threads_each(void)
{
	return of(THREADS) / of(PROCESSES);
}

static uint64_t process_of_sample(uint64_t i)
{
	return i * of(PROCESSES) / of(SAMPLES);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* Bytes from a function's CFA down to its stack pointer; the return address is the first word. */
static unsigned frame_size(unsigned function)
{
	return FRAME_MAX / 4 * (1 + function % 4);
}

/* Function 0 is where threads start: its return address is undefined. */
static void build_cfi(struct cfi_builder *cfi)
{
	size_t cie;

	*cfi = (struct cfi_builder){ .address = EH_FRAME };
	/* CFA rsp + 8, return address at CFA - 8 */
	cie = build_cie(cfi, 1, "zR", PCREL_SDATA4, 1, 16, X86_INITIAL);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		const uint8_t program[] = { DW_CFA_def_cfa_offset, (uint8_t)frame_size(i),
					    i ? DW_CFA_nop : DW_CFA_undefined,
					    i ? DW_CFA_nop : 16 };

		build_fde(cfi, cie, true, TEXT + i * FUNCTION_SIZE, FUNCTION_SIZE, program,
			  sizeof(program));
	}
	build_number(cfi, 0, 4);
}

static void build_module(struct elf_builder *elf, uint64_t index)
{
	uint8_t text[TEXT_SIZE], symbols[24 * (FUNCTIONS + 1)] = { 0 };
	char strings[FUNCTIONS * 16], id[sizeof(BUILD_ID)];
	struct elf_builder note = { 0 };
	size_t strings_size = 1;
	struct cfi_builder cfi;

	*elf = (struct elf_builder){ 0 };
	memset(text, 0x90, sizeof(text)); /* nop */
	strings[0] = 0;
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		/* call *%rax: where a frame's address is. */
		memcpy(text + i * FUNCTION_SIZE + FUNCTION_SIZE / 2 - 2, "\xff\xd0", 2);
		elf_make_symbol(symbols + 24 * (i + 1), (uint32_t)strings_size, STB_GLOBAL,
				STT_FUNC, 1, TEXT + i * FUNCTION_SIZE, FUNCTION_SIZE);
		strings_size +=
			(size_t)sprintf(strings + strings_size, "f%u_%u", (unsigned)index, i) + 1;
	}
	build_cfi(&cfi);
	snprintf(id, sizeof(id), "growth-module-%06u", (unsigned)index);
	elf_put_note(&note, 0, id);
	elf_put_header(elf, ET_DYN, 1);
	elf_put_segment(elf, 0, PT_LOAD, PF_R | PF_X, TEXT, TEXT, TEXT_SIZE, 0x1000);
	elf_put(elf, TEXT - 1, 0, 1);
	elf_add_section(elf,
			(struct elf_section_spec){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   TEXT, text, sizeof(text), 0, 0 });
	elf_add_section(elf, (struct elf_section_spec){ ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
							EH_FRAME, cfi.bytes, cfi.size, 0, 0 });
	elf_add_section(elf, (struct elf_section_spec){ ".symtab", SHT_SYMTAB, 0, 0, symbols,
							sizeof(symbols), 4, 24 });
	elf_add_section(elf, (struct elf_section_spec){ ".strtab", SHT_STRTAB, 0, 0, strings,
							strings_size, 0, 0 });
	elf_add_section(elf, (struct elf_section_spec){ ".note.gnu.build-id", SHT_NOTE, 0, 0,
							note.bytes, note.size, 0, 0 });
	elf_finish_sections(elf);
}

static const char *module_path(const char *dir, uint64_t index)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/module-%" PRIu64, dir, index);
	return path;
}

static void write_modules(const char *dir)
{
	static struct elf_builder elf;

	for (uint64_t i = 0; i < of(MODULES); i++) {
		const char *path = module_path(dir, i);
		FILE *file = fopen(path, "we");

		build_module(&elf, i);
		if (!file || fwrite(elf.bytes, elf.size, 1, file) != 1 || fclose(file))
			err(1, "%s", path);
	}
}

/* ---- side records --------------------------------------------------------------------------- */

static void write_record(struct reel_writer *writer, struct reel_record record)
{
	must(reel_writer_record(writer, &record));
}

static void write_head(struct reel_writer *writer)
{
	write_record(writer,
		     (struct reel_record){
			     .id = REEL_RECORD_CAPTURE,
			     .capture = { .start_time = START,
					  .start_wall_time = 1700000000000000000u,
					  .clock = 1,
					  .machine = EM_X86_64,
					  .word_bits = 64,
					  .byte_order = REEL_BYTE_ORDER_LITTLE,
					  .page_size = 4096,
					  .cpus_possible = 8,
					  .cpus_online = 8,
					  .max_stack = STACK_STEP,
					  .kernel_release = reel_bytes_of_string("6.1.0"),
					  .tool_version = reel_bytes_of_string("synthesize") } });
	write_record(writer, (struct reel_record){
				     .id = REEL_RECORD_EVENT,
				     .event = { .id = 1,
						.perf_type = 1,
						.frequency = 999,
						.weight_unit = REEL_WEIGHT_NANOSECONDS,
						.name = reel_bytes_of_string("cpu-clock") } });
	for (uint64_t i = 0; i < of(PROCESSES); i++)
		write_record(writer, (struct reel_record){
					     .id = REEL_RECORD_SPACE,
					     .space = { .time = START,
							.id = i + 1,
							.pid = 100 + i * threads_each(),
							.machine = EM_X86_64,
							.word_bits = 64,
							.byte_order = REEL_BYTE_ORDER_LITTLE } });
}

static void write_code(struct reel_writer *writer, const char *dir)
{
	char id[sizeof(BUILD_ID)];

	for (uint64_t i = 0; i < of(MODULES); i++) {
		snprintf(id, sizeof(id), "growth-module-%06u", (unsigned)i);
		write_record(writer,
			     (struct reel_record){ .id = REEL_RECORD_MODULE,
						   .module = { .id = i + 1,
							       .kind = REEL_MODULE_FILE,
							       .build_id = reel_bytes_of_string(id),
							       .path = reel_bytes_of_string(
								       module_path(dir, i)) } });
	}
	for (uint64_t n = 0; n < of(PROCESSES) * of(MAPPINGS); n++) {
		uint64_t i = n % of(MAPPINGS);

		write_record(writer, (struct reel_record){
					     .id = REEL_RECORD_MAP,
					     .map = { .time = START,
						      .space = 1 + n / of(MAPPINGS),
						      .address = MAPPINGS_FROM + i * MAPPING_STEP,
						      .size = 0x1000,
						      .offset = TEXT,
						      .protection = 5,
						      .flags = 2,
						      .module = 1 + i % of(MODULES) } });
	}
}

/* sub $56,%rsp; ... mov $constant,%eax; test %eax,%eax; je to the end; ... add $56,%rsp; ret */
static void build_jit_function(uint8_t *code, uint32_t constant)
{
	size_t end = JIT_FUNCTION - 5, size = 4;

	memset(code, 0x90, JIT_FUNCTION);
	memcpy(code, "\x48\x83\xec\x38", 4);
	for (; size + 13 <= end; size += 13) {
		memcpy(code + size, "\xb8\0\0\0\0\x85\xc0\x0f\x84", 9);
		reel_store32(code + size + 1, constant);
		reel_store32(code + size + 9, (uint32_t)(end - size - 13));
	}
	memcpy(code + end, "\x48\x83\xc4\x38\xc3", 5);
}

static uint64_t jit_functions(void)
{
	return of(JIT) * 0x1000 / JIT_FUNCTION;
}

static void write_jit_function(struct reel_writer *writer, uint64_t function, uint64_t time,
			       uint32_t constant)
{
	uint8_t code[JIT_FUNCTION];

	build_jit_function(code, constant);
	write_record(writer,
		     (struct reel_record){ .id = REEL_RECORD_CODE,
					   .code = { .time = time,
						     .space = 1,
						     .address = JIT_FROM + function * JIT_FUNCTION,
						     .bytes = { code, sizeof(code) },
						     .since = time } });
}

static void write_jit(struct reel_writer *writer)
{
	if (!of(JIT))
		return;
	write_record(writer,
		     (struct reel_record){ .id = REEL_RECORD_MODULE,
					   .module = { .id = of(MODULES) + 1,
						       .kind = REEL_MODULE_ANONYMOUS,
						       .path = reel_bytes_of_string("//anon") } });
	write_record(writer, (struct reel_record){ .id = REEL_RECORD_MAP,
						   .map = { .time = START,
							    .space = 1,
							    .address = JIT_FROM,
							    .size = of(JIT) * 0x1000,
							    .protection = 7,
							    .flags = 2,
							    .module = of(MODULES) + 1 } });
	for (uint64_t i = 0; i < jit_functions(); i++)
		write_jit_function(writer, i, START, 0);
}

static void write_threads(struct reel_writer *writer)
{
	for (uint64_t i = 0; i < of(PROCESSES) * threads_each(); i++)
		write_record(writer,
			     (struct reel_record){
				     .id = REEL_RECORD_THREAD,
				     .thread = { .time = START,
						 .id = i + 1,
						 .space = 1 + i / threads_each(),
						 .tid = 100 + i,
						 .comm = reel_bytes_of_string("growth") } });
}

/* ---- samples -------------------------------------------------------------------------------- */

struct stack {
	uint8_t *bytes; /* the top is the end */
	size_t fixed;	/* bytes of the constant frames, at the top */
	uint64_t return_address;
};

/* Mixes a number's bits well. */
static uint64_t mixed(uint64_t number)
{
	number = (number ^ number >> 31) * 0x9e3779b97f4a7c15u;
	number = (number ^ number >> 29) * 0xbf58476d1ce4e5b9u;
	return number ^ number >> 32;
}

/* An address in any function except the first, in any mapping. */
static uint64_t somewhere(uint64_t random)
{
	uint64_t mapping = random % of(MAPPINGS), function = 1 + (random >> 40) % (FUNCTIONS - 1);

	return MAPPINGS_FROM + mapping * MAPPING_STEP + function * FUNCTION_SIZE +
	       FUNCTION_SIZE / 2;
}

/*
 * A frame of the function at `pc` on top of `used` bytes, called from `caller` (0: outermost).
 * Returns the bytes used after that.
 */
static size_t push(struct stack *stack, size_t used, uint64_t caller, uint64_t pc)
{
	unsigned size = frame_size((unsigned)(pc % 0x1000 / FUNCTION_SIZE));
	uint8_t *cfa = stack->bytes + of(DEPTH) * FRAME_MAX - used;

	reel_store64(cfa - 8, caller);
	for (unsigned at = 16; at <= size; at += 8)
		reel_store64(cfa - at, mixed(pc + at) % 1000);
	return used + size;
}

static size_t fixed_frames(void)
{
	return of(DEPTH) > LEAVES ? of(DEPTH) - LEAVES : 1;
}

static struct stack *create_stacks(void)
{
	struct stack *stacks = calloc(of(THREADS), sizeof(*stacks));

	must_be(stacks, "memory");
	for (uint64_t thread = 0; thread < of(THREADS); thread++) {
		struct stack *stack = &stacks[thread];
		uint64_t pc = MAPPINGS_FROM + FUNCTION_SIZE / 2;

		stack->bytes = calloc(of(DEPTH), FRAME_MAX);
		must_be(stack->bytes, "memory");
		for (size_t i = 0; i < fixed_frames(); i++) {
			stack->fixed = push(stack, stack->fixed, stack->return_address, pc);
			stack->return_address = pc;
			pc = somewhere(mixed(thread << 32 | (i + 1)));
		}
	}
	return stacks;
}

static void write_sample(struct reel_writer *writer, struct stack *stacks, uint64_t i)
{
	static const struct reel_register_slot slots[] = { { 7, 8 }, { 16, 8 } };
	static const uint8_t known[] = { 3 };
	const struct reel_record_sample_layout layout = { 0, 2, slots };
	uint64_t thread = process_of_sample(i) * threads_each() + i % threads_each();
	struct stack *stack = &stacks[thread];
	uint64_t top = STACKS_FROM + (thread + 1) * STACK_STEP, pc = stack->return_address;
	struct reel_region region = { .kind = REEL_REGION_STACK };
	size_t used = stack->fixed;

	for (size_t leaf = fixed_frames(); leaf < of(DEPTH); leaf++) {
		uint64_t callee = somewhere(mixed(i % VARIETY * LEAVES + leaf + 1));

		if (of(JIT) && leaf + 1 == of(DEPTH))
			break;
		used = push(stack, used, pc, callee);
		pc = callee;
	}
	if (of(JIT)) {
		reel_store64(stack->bytes + of(DEPTH) * FRAME_MAX - used - 8, pc);
		used += 64;
		pc = JIT_FROM + mixed(i) % jit_functions() * JIT_FUNCTION + 4 + 13 * (i % 70);
	}
	region.address = top - used;
	region.bytes = stack->bytes + of(DEPTH) * FRAME_MAX - used;
	region.size = used;
	must(reel_writer_sample(
		writer, &(struct reel_sample){ .id = i + 1,
					       .time = START + (i + 1) * 1000,
					       .thread = thread + 1,
					       .cpu = i % 8,
					       .event = 1,
					       .weight = 1001001,
					       .where = REEL_WHERE_USER,
					       .pc = pc,
					       .layout = &layout,
					       .values = (const uint64_t[]){ region.address, pc },
					       .known = known,
					       .regions = &region,
					       .n_regions = 1 }));
}

static void write_capture(const char *dir, int fd)
{
	struct stack *stacks = create_stacks();
	struct reel_writer *writer;

	must(reel_writer_create(fd, dir, NULL, (const uint8_t *)"stackreel-growth", &writer));
	write_head(writer);
	write_code(writer, dir);
	write_jit(writer);
	write_threads(writer);
	for (uint64_t i = 0; i < of(SAMPLES); i++) {
		if (of(JIT) && i % JIT_CHANGE == JIT_CHANGE - 1)
			write_jit_function(writer, mixed(i) % jit_functions(),
					   START + (i + 1) * 1000, (uint32_t)i);
		if (i && process_of_sample(i) != process_of_sample(i - 1))
			must(reel_writer_flush(writer));
		write_sample(writer, stacks, i);
	}
	must(reel_writer_flush(writer));
	write_record(writer,
		     (struct reel_record){ .id = REEL_RECORD_END,
					   .end = { .time = START + (of(SAMPLES) + 1) * 1000,
						    .samples = of(SAMPLES) } });
	must(reel_writer_finish(writer));
	reel_writer_destroy(writer);
	for (uint64_t thread = 0; thread < of(THREADS); thread++)
		free(stacks[thread].bytes);
	free(stacks);
}

static void set_parameter(const char *word)
{
	size_t length = strcspn(word, "=");
	char *end;

	for (unsigned i = 0; i < N_PARAMETERS && word[length]; i++) {
		if (strlen(parameters[i].name) != length ||
		    memcmp(parameters[i].name, word, length))
			continue;
		parameters[i].value = strtoull(word + length + 1, &end, 10);
		if (!*end && parameters[i].value && parameters[i].value <= parameters[i].max)
			return;
	}
	errx(2,
	     "invalid argument '%s'; use [samples|modules|mappings|processes|threads|depth|jit]=N, "
	     "N at "
	     "least 1",
	     word);
}

int main(int argc, char **argv)
{
	char path[4096];
	int fd;

	if (argc < 2)
		errx(2, "synthesize DIR [NAME=N]...");
	for (int i = 2; i < argc; i++)
		set_parameter(argv[i]);
	if (of(PROCESSES) > of(THREADS) || (of(PROCESSES) > 1 && of(JIT)))
		errx(2, "each process needs a thread, and only one can have JIT code");
	if (of(MAPPINGS) < of(MODULES))
		parameters[MAPPINGS].value = of(MODULES);
	write_modules(argv[1]);
	snprintf(path, sizeof(path), "%s/capture.reel", argv[1]);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		err(1, "%s", path);
	write_capture(argv[1], fd);
	if (close(fd))
		err(1, "%s", path);
	return 0;
}
