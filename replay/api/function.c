/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of functions: reel_function_open of include/commands.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "replay/capture/capture.h"
#include "replay/synthesis/disassembler.h"

/* Bytes of code read at once. */
#define WINDOW_SIZE 4096

struct reel_function {
	struct reel_capture *capture;
	struct reel_function_options options;
	uint64_t *starts;
	size_t n_starts, next_start;
	struct reel_function_info info;
	struct reel_module *module; /* NULL: unknown */
	/* The source of the bytes; NULL: none, or the capture's CODE records. */
	struct reel_elf_file *file;
	/* For code without a file. */
	struct reel_space_view view;
	const struct reel_jit_symbol *jit;
	bool is_open_ended; /* only look-ups show its end */
	struct reel_disassembler *disassembler;
	char *name;

	uint64_t address; /* of the next instruction */
	uint8_t window[WINDOW_SIZE];
	uint64_t window_address;
	size_t window_size;
	struct reel_disassembled disassembled;
	struct reel_function_place *places;
	size_t places_capacity;
	struct reel_function_instruction instruction;
};

/* ---- names ------------------------------------------------------------------------------ */

static bool has_symbolizer(const struct reel_function *function)
{
	return !function->jit && function->module && function->module->symbolizer &&
	       (function->module->files.file || function->module->files.debug);
}

static struct reel_error *copy_places(struct reel_function *function,
				      const struct reel_symbol_frame *frames, size_t n)
{
	TRY(REEL_FIT(function->places, n, function->places_capacity));
	for (size_t i = 0; i < n; i++)
		function->places[i] = (struct reel_function_place){
			.function = frames[i].function,
			.file = frames[i].file,
			.line = frames[i].line,
			.column = frames[i].column,
			.inlined = frames[i].inlined,
			.linkage_name = reel_name_or_long(frames[i].debug_name),
			.function_line = frames[i].function_line,
			.discriminator = frames[i].discriminator,
		};
	function->instruction.places = function->places;
	function->instruction.n_places = n;
	return NULL;
}

/* A JIT's function, or nothing. */
static struct reel_error *recorded_place(struct reel_function *function, uint64_t address)
{
	struct reel_symbol_frame frame = {
		.function = function->info.name,
		.file = "",
		.debug_name = "",
	};
	struct reel_jit_line line;

	if (function->jit &&
	    reel_jit_symbol_line(function->view.timeline, function->jit, address, &line)) {
		frame.file = line.file;
		frame.line = line.line;
	}
	return copy_places(function, &frame, 1);
}

/* Finds the places of the address; *belongs_ret: the function still has the address. */
static struct reel_error *find_places(struct reel_function *function, uint64_t address,
				      bool *belongs_ret)
{
	const struct reel_symbol_frame *frames;
	struct reel_error *error;
	size_t n;

	*belongs_ret = true;
	if (!has_symbolizer(function)) {
		if (function->jit)
			*belongs_ret = reel_space_view_jit_symbol(&function->view, address) ==
				       function->jit;
		return recorded_place(function, address);
	}
	pthread_mutex_lock(function->module->naming);
	error = reel_symbolizer_look_up(function->module->symbolizer, address, &frames, &n);
	if (!error) {
		*belongs_ret = frames[n - 1].function_offset == address - function->info.begin;
		error = copy_places(function, frames, n);
	}
	pthread_mutex_unlock(function->module->naming);
	return error;
}

/* Names the target of an instruction. */
static struct reel_error *name_target(struct reel_function *function, uint64_t target)
{
	struct reel_function_instruction *instruction = &function->instruction;
	const struct reel_symbol_frame *frames;
	const struct reel_jit_symbol *symbol;
	struct reel_error *error;
	size_t n;

	if (!function->is_open_ended && target >= function->info.begin &&
	    target < function->info.end) {
		instruction->target_name = function->info.name;
		instruction->target_offset = target - function->info.begin;
		return NULL;
	}
	if (!has_symbolizer(function)) {
		symbol = function->view.timeline
				 ? reel_space_view_jit_symbol(&function->view, target)
				 : NULL;
		if (symbol) {
			instruction->target_name = symbol->name;
			instruction->target_offset = target - symbol->address;
		}
		return NULL;
	}
	pthread_mutex_lock(function->module->naming);
	error = reel_symbolizer_look_up(function->module->symbolizer, target, &frames, &n);
	if (!error) {
		instruction->target_name = frames[n - 1].function;
		instruction->target_offset = frames[n - 1].function_offset;
	}
	pthread_mutex_unlock(function->module->naming);
	return error;
}

/* ---- where it ends ------------------------------------------------------------------------ */

static struct reel_error *find_end(struct reel_function *function, const struct reel_frame *frame)
{
	struct reel_function_info *info = &function->info;
	const struct reel_symbol_frame *frames;
	struct reel_error *error = NULL;
	uint64_t begin, end;
	size_t n;

	/* For an address without a name, only the instruction is known. */
	info->end = info->begin + 1;
	if (!*frame->function && !frame->is_fde)
		return NULL;
	if (has_symbolizer(function)) {
		pthread_mutex_lock(function->module->naming);
		error = reel_symbolizer_look_up(function->module->symbolizer, info->begin, &frames,
						&n);
		if (!error)
			info->end = frames[n - 1].symbol_end;
		pthread_mutex_unlock(function->module->naming);
		if (error || info->end > info->begin)
			return error;
		if (function->module->cfi &&
		    reel_cfi_function_at(function->module->cfi, info->begin, &begin, &end) &&
		    end > info->begin) {
			info->end = end;
			return NULL;
		}
	}
	function->is_open_ended = has_symbolizer(function) || function->jit;
	info->end = function->is_open_ended ? UINT64_MAX : info->begin + 1;
	return NULL;
}

/* ---- bytes -------------------------------------------------------------------------------- */

static bool read_bytes(const struct reel_function *function, uint64_t address, size_t size,
		       uint8_t *bytes_ret)
{
	const uint8_t *bytes;

	if (function->file)
		return reel_elf_file_read(function->file, address, size, bytes_ret);
	if (!function->view.timeline ||
	    reel_space_view_code(&function->view, address, &bytes) < size)
		return false;
	memcpy(bytes_ret, bytes, size);
	return true;
}

/* Reads the bytes from `address` on, up to the window's size: halves it until that works. */
static void fill_window(struct reel_function *function, uint64_t address)
{
	uint64_t left = function->info.end - address;
	size_t size = left < WINDOW_SIZE ? (size_t)left : WINDOW_SIZE;

	while (size && !read_bytes(function, address, size, function->window))
		size /= 2;
	function->window_address = address;
	function->window_size = size;
}

/* The bytes at the address, enough for an instruction if available; 0: none. */
static size_t find_bytes(struct reel_function *function, uint64_t address, const uint8_t **ret)
{
	uint64_t at = address - function->window_address;

	if (address < function->window_address || at >= function->window_size ||
	    (function->window_size - at < REEL_INSTRUCTION_SIZE_MAX &&
	     function->window_address + function->window_size < function->info.end)) {
		fill_window(function, address);
		at = 0;
	}
	*ret = function->window + at;
	return function->window_size - (size_t)at;
}

/* ---- opening ------------------------------------------------------------------------------ */

static struct reel_error *copy_starts(struct reel_function *function)
{
	size_t n = function->options.n_starts;

	if (!n)
		return NULL;
	function->starts = reallocarray(NULL, n, sizeof(*function->starts));
	if (!function->starts)
		return reel_error_no_memory();
	memcpy(function->starts, function->options.starts, n * sizeof(*function->starts));
	function->n_starts = n;
	return NULL;
}

/* The file with the module's code, or none. */
static void find_file(struct reel_function *function, bool is_kernel)
{
	struct reel_module *module = function->module;
	struct reel_elf_file *file = is_kernel ? module->files.debug : module->files.file;

	if (!file || (reel_elf_file_is_debug_only(file) && !reel_elf_file_is_embedded(file)))
		return;
	function->file = file;
	function->info.embedded =
		reel_elf_file_is_embedded(file) || module->record->kind == REEL_MODULE_VDSO;
	function->info.code_path = reel_elf_file_path(file);
	if (module->is_shared && !is_kernel)
		function->info.code_path = module->local_path;
}

/* For code without a file: the space of the thread's process. */
static void find_space(struct reel_function *function, const struct reel_arch **arch_ret)
{
	const struct reel_timeline *timeline = function->capture->timeline;
	uint64_t time = function->options.time,
		 space = reel_timeline_thread_space(timeline, function->options.thread, time);
	const struct reel_space_state *state = reel_timeline_space(timeline, space);

	if (!state)
		return;
	function->view = reel_timeline_view(timeline, space, time);
	function->jit = reel_space_view_jit_symbol(&function->view, function->info.begin);
	function->info.embedded = true;
	if (state->machine)
		*arch_ret =
			reel_arch_by_machine((uint16_t)state->machine, (unsigned)state->word_bits);
}

static struct reel_error *find_code(struct reel_function *function, const struct reel_frame *frame)
{
	const struct reel_capture *capture = function->capture;
	const struct reel_arch *arch = reel_arch_by_machine(capture->machine, capture->word_bits);

	if (frame->module_id)
		TRY(reel_modules_open(capture->modules, frame->module_id, NULL, &function->module));
	if (function->module && (frame->kernel || function->module->files.file))
		find_file(function, frame->kernel);
	else if (!frame->kernel &&
		 (!function->module || function->module->record->kind != REEL_MODULE_FILE))
		find_space(function, &arch);
	if (function->file)
		arch = reel_arch_by_machine(reel_elf_file_machine(function->file),
					    reel_elf_file_word_bits(function->file));
	if (!arch)
		return NULL;
	function->info.arch = arch->name;
	TRY(reel_disassembler_create(arch, function->options.intel, &function->disassembler));
	function->info.disassembler = reel_disassembler_name(function->disassembler);
	return NULL;
}

static struct reel_error *open_function(struct reel_function *function,
					const struct reel_frame *frame)
{
	TRY(copy_starts(function));
	TRY(find_code(function, frame));
	TRY(find_end(function, frame));
	function->address = function->info.begin;
	return NULL;
}

struct reel_error *reel_function_open(struct reel_capture *capture, const struct reel_frame *frame,
				      const struct reel_function_options *options,
				      struct reel_function **ret)
{
	struct reel_function *function;
	struct reel_error *error;

	if (!frame->module_address)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "the frame has no code");
	function = calloc(1, sizeof(*function));
	if (!function)
		return reel_error_no_memory();
	function->capture = capture;
	reel_sized_take(&function->options, sizeof(function->options), options);
	function->info = (struct reel_function_info){
		.name = frame->function,
		.begin = frame->module_address - frame->function_offset,
		.module_id = frame->module_id,
		.module_path = frame->module_path,
		.arch = "",
		.code_path = "",
		.disassembler = "",
	};
	error = open_function(function, frame);
	if (error) {
		reel_function_close(function);
		return error;
	}
	*ret = function;
	return NULL;
}

void reel_function_close(struct reel_function *function)
{
	if (!function)
		return;
	reel_disassembler_destroy(function->disassembler);
	free(function->starts);
	free(function->places);
	free(function);
}

const struct reel_function_info *reel_function_get_info(const struct reel_function *function)
{
	return &function->info;
}

/* ---- instructions ------------------------------------------------------------------------- */

static int flow_of(uint8_t flow)
{
	switch ((enum reel_flow)flow) {
	case REEL_FLOW_BRANCH:
		return REEL_FUNCTION_BRANCH;
	case REEL_FLOW_JUMP:
		return REEL_FUNCTION_JUMP;
	case REEL_FLOW_CALL:
		return REEL_FUNCTION_CALL;
	case REEL_FLOW_RETURN:
	case REEL_FLOW_RETURN_OR_NEXT:
		return REEL_FUNCTION_RETURN;
	case REEL_FLOW_END:
		return REEL_FUNCTION_END;
	case REEL_FLOW_NEXT:
		break;
	}
	return REEL_FUNCTION_NEXT;
}

/* The next known start of an instruction after `address`; else the function's end. */
static uint64_t next_start(struct reel_function *function, uint64_t address)
{
	while (function->next_start < function->n_starts &&
	       function->starts[function->next_start] <= address)
		function->next_start++;
	return function->next_start < function->n_starts &&
			       function->starts[function->next_start] < function->info.end
		       ? function->starts[function->next_start]
		       : function->info.end;
}

/* Unavailable bytes: continues up to the next possible ones. */
static void skip_gap(struct reel_function *function, uint64_t limit)
{
	function->instruction.size = limit - function->address;
}

static struct reel_error *read_instruction(struct reel_function *function, uint64_t limit,
					   const uint8_t *bytes, size_t size)
{
	struct reel_function_instruction *instruction = &function->instruction;
	struct reel_disassembled *disassembled = &function->disassembled;

	reel_disassemble(function->disassembler, bytes, size, function->address, disassembled);
	instruction->bytes = bytes;
	instruction->size = disassembled->size;
	/* Another instruction is known to begin inside: this is invalid, or only a prefix. */
	if (instruction->size > limit - function->address && limit != function->info.end) {
		instruction->size = limit - function->address;
		return NULL;
	}
	instruction->text = disassembled->text;
	instruction->flow = flow_of(disassembled->flow);
	instruction->has_target = disassembled->has_target;
	instruction->target = disassembled->target;
	return disassembled->has_target ? name_target(function, disassembled->target) : NULL;
}

struct reel_error *reel_function_next(struct reel_function *function,
				      const struct reel_function_instruction **ret)
{
	struct reel_function_instruction *instruction = &function->instruction;
	const uint8_t *bytes = NULL;
	uint64_t limit;
	size_t size;
	bool belongs;

	*ret = NULL;
	if (function->address >= function->info.end)
		return NULL;
	*instruction = (struct reel_function_instruction){ .address = function->address,
							   .text = "",
							   .target_name = "" };
	TRY(find_places(function, function->address, &belongs));
	size = function->disassembler ? find_bytes(function, function->address, &bytes) : 0;
	limit = next_start(function, function->address);
	if (function->is_open_ended && (!belongs || (!size && limit == UINT64_MAX)))
		return NULL;
	if (size)
		TRY(read_instruction(function, limit, bytes, size));
	else
		skip_gap(function, limit);
	function->address += instruction->size;
	*ret = instruction;
	return NULL;
}
