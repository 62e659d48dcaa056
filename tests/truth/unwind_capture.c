/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a capture, with the files mapped at each sample's time. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/or_exit.h"
#include "tests/truth/unwind_sample.h"

struct known_generation {
	uint64_t generation;
	struct truth_space *space;
};

struct truth_capture {
	struct reel_capture *capture;
	struct reel_traces *traces;
	struct reel_block_reader *block_reader;
	const struct reel_block *blocks;
	size_t block, n_blocks;
	bool loaded, spoil;

	struct truth_file **files;
	size_t n_files;
	struct truth_space **spaces;
	size_t n_spaces;
	struct known_generation *generations;
	size_t n_generations;
	uint64_t left_out;

	struct reel_block_item item;
	struct truth_sample sample;
	uint64_t *addresses;
	uint8_t *steps;
	const struct reel_frame **frames;
	size_t capacity;
};

/* ---- files ------------------------------------------------------------------------------- */

static void map_file(struct truth_file *file)
{
	struct stat status;
	void *bytes;

	if (fstat(file->fd, &status))
		err(2, "%s", file->path);
	file->size = (size_t)status.st_size;
	bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (bytes == MAP_FAILED)
		err(2, "%s", file->path);
	file->bytes = bytes;
}

/* Once, since each word that is read needs them. */
static void read_segments(struct truth_file *file)
{
	if (elf_getphdrnum(file->elf, &file->n_segments))
		file->n_segments = 0;
	file->segments = must_have(calloc(file->n_segments + 1, sizeof(file->segments[0])));
	for (size_t i = 0; i < file->n_segments; i++)
		if (!gelf_getphdr(file->elf, (int)i, &file->segments[i]))
			errx(2, "%s: %s", file->path, elf_errmsg(-1));
}

static struct truth_file *file_of_module(struct truth_capture *capture,
					 const struct reel_module *module)
{
	struct truth_file *file = must_have(calloc(1, sizeof(*file)));

	file->module = module->record->id;
	file->name = must_have(
		strndup((const char *)module->record->path.data, module->record->path.size));
	file->fd = file->debug_fd = -1;
	/* An image in place of a file (SPEC.md 5.1) is incomplete. */
	if (module->image && module->record->kind != REEL_MODULE_FILE) {
		/* The vDSO: only the capture has it. */
		file->fd = memfd_create("image", 0);
		if (file->fd < 0 || write(file->fd, module->image->bytes, module->image->size) !=
					    (ssize_t)module->image->size)
			err(2, "image of %s", file->name);
		if (asprintf(&file->path, "/proc/self/fd/%d", file->fd) < 0)
			err(2, "memory");
	} else {
		file->path = must_have(strdup(reel_elf_file_path(module->files.file)));
		file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
		if (file->fd < 0)
			err(2, "%s", file->path);
	}
	map_file(file);
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->elf || !gelf_getehdr(file->elf, &file->header))
		errx(2, "%s: %s", file->path, elf_errmsg(-1));
	read_segments(file);
	file->eh_frame = dwarf_getcfi_elf(file->elf);
	if (module->files.debug) {
		file->debug_path = must_have(strdup(reel_elf_file_path(module->files.debug)));
		file->debug_fd = open(file->debug_path, O_RDONLY | O_CLOEXEC);
		file->dwarf = dwarf_begin(file->debug_fd, DWARF_C_READ);
	} else {
		file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	}
	file->debug_frame = file->dwarf ? dwarf_getcfi(file->dwarf) : NULL;
	capture->files = must_have(
		reallocarray(capture->files, capture->n_files + 1, sizeof(*capture->files)));
	capture->files[capture->n_files++] = file;
	return file;
}

/* NULL: not found, or not in a file. */
static struct truth_file *find_file(struct truth_capture *capture, uint64_t id,
				    const struct reel_arch *arch)
{
	struct reel_module *module;

	for (size_t i = 0; i < capture->n_files; i++)
		if (capture->files[i]->module == id)
			return capture->files[i];
	check(reel_modules_open(capture->capture->modules, id, arch, &module));
	if (!module || !module->files.file || module->files.state != REEL_MODULE_FOUND)
		return NULL;
	return file_of_module(capture, module);
}

/*
 * The bias by the program headers: the segment whose file pages contain the mapping's first byte,
 * an executable one if there are two (ld.so maps each to p_vaddr - p_offset % page of the same
 * base).
 */
static bool bias_of(const struct truth_file *file, const struct reel_mapping *mapping,
		    uint64_t page, uint64_t *ret)
{
	bool found = false;

	for (size_t i = 0; i < file->n_segments; i++) {
		const GElf_Phdr *phdr = &file->segments[i];

		if (phdr->p_type != PT_LOAD || mapping->offset < phdr->p_offset / page * page ||
		    mapping->offset >= phdr->p_offset + phdr->p_filesz)
			continue;
		if (found && !(phdr->p_flags & PF_X))
			continue;
		*ret = mapping->address - mapping->offset + phdr->p_offset - phdr->p_vaddr;
		found = true;
	}
	return found;
}

/* ---- spaces ------------------------------------------------------------------------------ */

struct collection {
	struct truth_capture *capture;
	const struct reel_arch *arch;
	struct truth_space space;
};

/* Other tools' recordings do not give it; segments are aligned to at least 4 KB in any case. */
static uint64_t page_size(const struct truth_capture *capture)
{
	uint64_t size = capture->capture->info.page_size;

	return size ? size : 4096;
}

static void collect(void *context, const struct reel_mapping *mapping)
{
	struct collection *collection = context;
	struct truth_capture *capture = collection->capture;
	struct truth_space *space = &collection->space;
	struct truth_file *file;
	uint64_t bias = 0;

	/* Other segments may begin in a page shared by two: the code's segment gives the bias. */
	if (!(mapping->protection & PROT_EXEC))
		return;
	file = find_file(capture, mapping->module, collection->arch);
	if (!file || !bias_of(file, mapping, page_size(capture), &bias)) {
		capture->left_out++;
		return;
	}
	space->mappings =
		must_have(reallocarray(space->mappings, space->n + 1, sizeof(*space->mappings)));
	space->mappings[space->n++] = (struct truth_mapping){
		.begin = mapping->address,
		.end = mapping->address + mapping->size,
		.bias = bias,
		.file = file,
	};
}

static bool same_mapping(const struct truth_mapping *a, const struct truth_mapping *b)
{
	return a->begin == b->begin && a->end == b->end && a->bias == b->bias && a->file == b->file;
}

static struct truth_space *add_space(struct truth_capture *capture, struct truth_space *space)
{
	struct truth_space *new;

	for (size_t i = capture->n_spaces; i-- > 0;) {
		struct truth_space *known = capture->spaces[i];
		size_t same = 0;

		if (known->n != space->n)
			continue;
		while (same < space->n &&
		       same_mapping(&known->mappings[same], &space->mappings[same]))
			same++;
		if (same == space->n) {
			free(space->mappings);
			return known;
		}
	}
	new = must_have(malloc(sizeof(*new)));
	*new = *space;
	capture->spaces = must_have(
		reallocarray(capture->spaces, capture->n_spaces + 1, sizeof(*capture->spaces)));
	return capture->spaces[capture->n_spaces++] = new;
}

static struct truth_space *space_at(struct truth_capture *capture, uint64_t id, uint64_t time,
				    const struct reel_arch *arch)
{
	const struct reel_timeline *timeline = capture->capture->timeline;
	struct reel_space_view view = reel_timeline_view(timeline, id, time);
	struct collection collection = { .capture = capture, .arch = arch };
	struct truth_space *space;

	for (size_t i = capture->n_generations; i-- > 0;)
		if (capture->generations[i].generation == view.generation)
			return capture->generations[i].space;
	if (view.generation)
		reel_timeline_visit(timeline, id, time, 0, UINT64_MAX, collect, &collection);
	space = add_space(capture, &collection.space);
	capture->generations = must_have(reallocarray(
		capture->generations, capture->n_generations + 1, sizeof(*capture->generations)));
	capture->generations[capture->n_generations++] =
		(struct known_generation){ view.generation, space };
	return space;
}

/* ---- samples ----------------------------------------------------------------------------- */

struct truth_capture *truth_capture_open(const char *path, const struct truth_capture_options *from)
{
	struct truth_capture *capture = must_have(calloc(1, sizeof(*capture)));
	const REEL_SIZED(reel_capture_options, options, .runtimes = REEL_RUNTIMES_NATIVE,
			 .symfs = from->symfs, .no_host_files = from->no_host_files,
			 .no_inlines = true);

	elf_version(EV_CURRENT);
	capture->spoil = from->spoil;
	capture->sample.hide_red_zone = from->hide_red_zone;
	check(reel_capture_open(path, &options, &capture->capture));
	check(reel_traces_create(capture->capture, NULL, &capture->traces));
	check(reel_block_reader_create(capture->capture->reader, &capture->block_reader));
	capture->blocks = reel_reader_blocks(capture->capture->reader, &capture->n_blocks);
	if (capture->capture->n_problems)
		errx(2, "%s: %s", path, capture->capture->problems[0].message);
	return capture;
}

static void file_free(struct truth_file *file)
{
	dwarf_cfi_end(file->eh_frame);
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	munmap((void *)file->bytes, file->size);
	close(file->fd);
	if (file->debug_fd >= 0)
		close(file->debug_fd);
	free(file->segments);
	free(file->name);
	free(file->path);
	free(file->debug_path);
	free(file);
}

void truth_capture_close(struct truth_capture *capture)
{
	for (size_t i = 0; i < capture->n_spaces; i++) {
		truth_dwfl_forget(capture->spaces[i]);
		free(capture->spaces[i]->mappings);
		free(capture->spaces[i]);
	}
	for (size_t i = 0; i < capture->n_files; i++)
		file_free(capture->files[i]);
	free(capture->spaces);
	free(capture->files);
	free(capture->generations);
	free(capture->addresses);
	free(capture->steps);
	free(capture->frames);
	reel_block_reader_destroy(capture->block_reader);
	reel_traces_destroy(capture->traces);
	reel_capture_close(capture->capture);
	free(capture);
}

const char *truth_capture_arch(const struct truth_capture *capture)
{
	return capture->capture->info.arch;
}

uint64_t truth_capture_mappings_left_out(const struct truth_capture *capture)
{
	return capture->left_out;
}

/* The next sample in the file's order; false after the last one. */
static bool next_sample(struct truth_capture *capture)
{
	for (;;) {
		if (!capture->loaded) {
			if (capture->block == capture->n_blocks)
				return false;
			if (capture->blocks[capture->block].header.type != REEL_BLOCK_SAMPLES) {
				capture->block++;
				continue;
			}
			check(reel_block_reader_load(capture->block_reader,
						     &capture->blocks[capture->block++]));
			capture->loaded = true;
		}
		check(reel_block_reader_next(capture->block_reader, &capture->item));
		if (capture->item.kind == REEL_ITEM_SAMPLE)
			return true;
		capture->loaded = capture->item.kind != REEL_ITEM_END;
	}
}

static void set_registers(struct truth_sample *sample)
{
	const struct reel_sample *from = sample->sample;

	memset(sample->known, 0, sizeof(sample->known));
	for (size_t i = 0; from->layout && i < from->layout->n_slots; i++) {
		uint16_t dwarf = from->layout->slots[i].dwarf;

		if (dwarf >= TRUTH_REGISTERS_MAX || !(from->known[i / 8] >> i % 8 & 1))
			continue;
		sample->registers[dwarf] = from->values[i];
		sample->known[dwarf] = true;
	}
	sample->pc = from->pc;
}

static void set_ours(struct truth_capture *capture, const struct reel_trace *trace)
{
	struct truth_sample *sample = &capture->sample;
	size_t n = 0;

	if (trace->n_frames > capture->capacity) {
		capture->capacity = trace->n_frames + 64;
		capture->addresses = must_have(
			reallocarray(capture->addresses, capture->capacity, sizeof(uint64_t)));
		capture->steps = must_have(realloc(capture->steps, capture->capacity));
		capture->frames =
			must_have(reallocarray(capture->frames, capture->capacity, sizeof(void *)));
	}
	for (size_t i = trace->n_kernel_frames; i < trace->n_frames; i++) {
		if (trace->frames[i]->inlined)
			continue;
		capture->addresses[n] = trace->addresses[i];
		capture->steps[n] = trace->steps[i];
		capture->frames[n++] = trace->frames[i];
	}
	sample->trace = trace;
	sample->ours = capture->addresses;
	sample->steps = capture->steps;
	sample->frames = capture->frames;
	sample->n_ours = n;
	if (capture->spoil && n > 1)
		capture->addresses[1 + sample->sample->id % (n - 1)] ^= 1;
}

const struct truth_sample *truth_capture_next(struct truth_capture *capture)
{
	const struct reel_capture *from = capture->capture;
	const struct reel_timeline *timeline = from->timeline;
	struct truth_sample *sample = &capture->sample;
	const struct reel_space_state *space;
	const struct reel_trace *trace;

	check(reel_traces_next(capture->traces, &trace));
	if (!next_sample(capture)) {
		if (trace)
			errx(2, "%s: more traces than samples", from->info.path);
		return NULL;
	}
	sample->sample = &capture->item.sample;
	if (!trace || trace->id != sample->sample->id)
		errx(2, "%s: sample %llu has no trace", from->info.path,
		     (unsigned long long)sample->sample->id);
	space = reel_timeline_space(
		timeline,
		reel_timeline_thread_space(timeline, sample->sample->thread, sample->sample->time));
	sample->arch =
		space && space->machine
			? reel_arch_by_machine((uint16_t)space->machine, (unsigned)space->word_bits)
			: reel_arch_by_machine(from->machine, from->word_bits);
	if (!sample->arch)
		errx(2, "%s: no table for machine %u", from->info.path, from->machine);
	sample->big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
							: from->info.big_endian;
	sample->code_mask =
		space && space->code_mask ? space->code_mask : sample->arch->default_code_mask;
	sample->space =
		space_at(capture, space ? space->id : 0, sample->sample->time, sample->arch);
	set_registers(sample);
	set_ours(capture, trace);
	return sample;
}

/* ---- memory ------------------------------------------------------------------------------ */

const struct truth_mapping *truth_find(const struct truth_sample *sample, uint64_t address)
{
	const struct truth_space *space = sample->space;

	for (size_t i = 0; i < space->n; i++)
		if (address >= space->mappings[i].begin && address < space->mappings[i].end)
			return &space->mappings[i];
	return NULL;
}

bool truth_read_stack(const struct truth_sample *sample, uint64_t address, size_t size,
		      uint8_t *bytes_ret)
{
	const uint64_t sp = sample->registers[sample->arch->sp];

	for (size_t i = 0; i < sample->sample->n_regions; i++) {
		const struct reel_region *region = &sample->sample->regions[i];
		uint64_t at = address - region->address;

		if (address < region->address || at > region->size || size > region->size - at)
			continue;
		if (sample->hide_red_zone && address < sp && sp - region->address <= region->size)
			return false;
		for (size_t j = 0; j < region->n_missing; j++) {
			const struct reel_range *missing = &region->missing[j];

			if (at < missing->offset + missing->size && missing->offset < at + size)
				return false;
		}
		memcpy(bytes_ret, region->bytes + at, size);
		return true;
	}
	return false;
}

static bool read_segment(const struct truth_file *file, uint64_t address, size_t size,
			 bool writable, uint8_t *bytes_ret)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const GElf_Phdr *phdr = &file->segments[i];

		if (phdr->p_type == PT_LOAD && (writable || !(phdr->p_flags & PF_W)) &&
		    address >= phdr->p_vaddr && address - phdr->p_vaddr <= phdr->p_filesz &&
		    size <= phdr->p_filesz - (address - phdr->p_vaddr) &&
		    phdr->p_offset <= file->size && phdr->p_filesz <= file->size - phdr->p_offset) {
			memcpy(bytes_ret, file->bytes + phdr->p_offset + (address - phdr->p_vaddr),
			       size);
			return true;
		}
	}
	return false;
}

/* Mappings may only be known for executable pages: any file may contain the address. */
bool truth_read_file(const struct truth_sample *sample, uint64_t address, size_t size,
		     uint8_t *bytes_ret)
{
	const struct truth_mapping *mapping = truth_find(sample, address);

	if (mapping)
		return read_segment(mapping->file, address - mapping->bias, size, false, bytes_ret);
	for (size_t i = 0; i < sample->space->n; i++) {
		mapping = &sample->space->mappings[i];
		if (read_segment(mapping->file, address - mapping->bias, size, false, bytes_ret))
			return true;
	}
	return false;
}

bool truth_read_initial_data(const struct truth_sample *sample, uint64_t address, size_t size,
			     uint8_t *bytes_ret)
{
	for (size_t i = 0; i < sample->space->n; i++) {
		const struct truth_mapping *mapping = &sample->space->mappings[i];

		if (read_segment(mapping->file, address - mapping->bias, size, true, bytes_ret))
			return true;
	}
	return false;
}

bool truth_read_word(const struct truth_sample *sample, uint64_t address, unsigned size,
		     uint64_t *ret)
{
	uint8_t bytes[8];

	if (!truth_read_stack(sample, address, size, bytes) &&
	    !truth_read_file(sample, address, size, bytes))
		return false;
	*ret = 0;
	for (unsigned i = 0; i < size; i++)
		*ret |= (uint64_t)bytes[sample->big_endian ? size - 1 - i : i] << 8 * i;
	return true;
}

void truth_chain_add(struct truth_chain *chain, uint64_t pc)
{
	if (chain->n == chain->capacity) {
		chain->capacity = chain->capacity ? 2 * chain->capacity : 256;
		chain->pcs =
			must_have(reallocarray(chain->pcs, chain->capacity, sizeof(*chain->pcs)));
	}
	chain->pcs[chain->n++] = pc;
}
