/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "replay/traces/sample_unwinder.h"

struct reel_sample_unwinder {
	const struct reel_capture *capture;
	struct reel_code_map *code_map;
	struct reel_unwind_programs **programs; /* by index in reel_arch_all */
	size_t n_programs;
	struct reel_unwind_cache *unwind_cache;
	struct reel_unwind_frames unwound;
	uint64_t *kept; /* addresses of another try */
	size_t kept_capacity;
	void (*reads)(void *context, size_t region, uint64_t offset, unsigned size);
	void *reads_context;
	/* Only with `reads`: unwinding the last sample led to code whose file is missing. */
	bool lacks_module;
	/* Of the last sample: kept states refer to them. */
	struct reel_memory_region regions[REEL_REGIONS_MAX];
	struct reel_memory_view memory;
	size_t n_resolved; /* of the last sample, if resolved: from reel_resolved_unwind */
};

static size_t arch_index(const struct reel_arch *arch)
{
	size_t i = 0;

	while (reel_arch_all[i] && reel_arch_all[i] != arch)
		i++;
	return i;
}

struct reel_error *reel_sample_unwinder_create(const struct reel_capture *capture,
					       struct reel_sample_unwinder **ret)
{
	struct reel_sample_unwinder *unwinder = calloc(1, sizeof(*unwinder));
	struct reel_error *error;

	if (!unwinder)
		return reel_error_no_memory();
	unwinder->capture = capture;
	while (reel_arch_all[unwinder->n_programs])
		unwinder->n_programs++;
	unwinder->programs =
		calloc(unwinder->n_programs + 1, sizeof(struct reel_unwind_programs *));
	unwinder->code_map = calloc(1, sizeof(*unwinder->code_map));
	error = unwinder->programs && unwinder->code_map ? NULL : reel_error_no_memory();
	if (!error)
		error = reel_unwind_cache_create(&unwinder->unwind_cache);
	if (error) {
		reel_sample_unwinder_destroy(unwinder);
		return error;
	}
	unwinder->code_map->modules = capture->modules;
	*ret = unwinder;
	return NULL;
}

void reel_sample_unwinder_destroy(struct reel_sample_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; unwinder->programs && i < unwinder->n_programs; i++)
		reel_unwind_programs_destroy(unwinder->programs[i]);
	free(unwinder->programs);
	reel_unwind_cache_destroy(unwinder->unwind_cache);
	if (unwinder->code_map)
		reel_code_map_free(unwinder->code_map);
	free(unwinder->code_map);
	reel_unwind_frames_free(&unwinder->unwound);
	free(unwinder->kept);
	free(unwinder);
}

void reel_sample_unwinder_tell(struct reel_sample_unwinder *unwinder,
			       void (*reads)(void *context, size_t region, uint64_t offset,
					     unsigned size),
			       void *context)
{
	unwinder->reads = reads;
	unwinder->reads_context = context;
}

struct reel_code_map *reel_sample_unwinder_code_map(struct reel_sample_unwinder *unwinder)
{
	return unwinder->code_map;
}

const struct reel_space_state *reel_sample_unwinder_space(
	const struct reel_sample_unwinder *unwinder, const struct reel_sample *sample)
{
	const struct reel_timeline *timeline = unwinder->capture->timeline;

	return reel_timeline_space(
		timeline, reel_timeline_thread_space(timeline, sample->thread, sample->time));
}

static void set_registers(struct reel_unwind_state *state, const struct reel_sample *sample)
{
	for (size_t i = 0; i < sample->layout->n_slots; i++) {
		uint8_t slot = reel_arch_slot(state->arch, sample->layout->slots[i].dwarf);

		if (slot == REEL_ARCH_NO_SLOT || !(sample->known[i / 8] >> i % 8 & 1))
			continue;
		state->registers[slot] = sample->values[i];
		state->known |= (uint64_t)1 << slot;
	}
	state->pc = sample->pc;
}

/* format/'s regions equal the unwinder's, except for the struct's name.  Those of unknown kinds are
 * empty. */
static size_t set_regions(struct reel_memory_region *regions, const struct reel_sample *sample)
{
	_Static_assert(sizeof(struct reel_memory_range) == sizeof(struct reel_range) &&
			       offsetof(struct reel_memory_range, size) ==
				       offsetof(struct reel_range, size),
		       "missing ranges are passed on as they are");
	for (size_t i = 0; i < sample->n_regions; i++) {
		regions[i] = (struct reel_memory_region){
			.address = sample->regions[i].address,
			.size = sample->regions[i].size,
			.bytes = sample->regions[i].bytes,
			.missing = (const struct reel_memory_range *)sample->regions[i].missing,
			.n_missing = sample->regions[i].n_missing,
		};
		if (sample->regions[i].kind > REEL_REGION_GOROUTINE_STATE)
			regions[i].size = regions[i].n_missing = 0;
	}
	return sample->n_regions;
}

/* A cut stack has two regions of its kind; the last one is the far end (SPEC.md, section 8). */
static const struct reel_memory_region *root_part_of(const struct reel_memory_region *regions,
						     const struct reel_sample *sample)
{
	size_t last = sample->n_regions - 1;

	if (!(sample->flags & REEL_SAMPLE_STACK_CUT) || sample->n_regions < 2)
		return NULL;
	for (size_t i = 0; i < last; i++) {
		if (sample->regions[i].kind == sample->regions[last].kind &&
		    sample->regions[i].address < sample->regions[last].address)
			return &regions[last];
	}
	return NULL;
}

/* Without a stack that waits, a gobuf is that of the one that runs. */
static void find_gobufs(const struct reel_memory_region *regions, const struct reel_sample *sample,
			struct reel_unwind_input *input)
{
	const struct reel_memory_region **next = &input->own;

	for (size_t i = 0; i < sample->n_regions; i++) {
		if (sample->regions[i].kind == REEL_REGION_OTHER_STACK && !input->waiting)
			next = &input->waiting;
		if (sample->regions[i].kind != REEL_REGION_GOROUTINE_STATE)
			continue;
		*next = &regions[i];
		next = &input->own;
	}
}

static struct reel_error *programs_of(struct reel_sample_unwinder *unwinder,
				      const struct reel_arch *arch,
				      const struct reel_unwind_programs **ret)
{
	struct reel_unwind_programs **programs = &unwinder->programs[arch_index(arch)];
	struct reel_error *error = *programs ? NULL : reel_unwind_programs_create(arch, programs);

	*ret = *programs;
	return error;
}

static const struct reel_arch *arch_of(const struct reel_capture *capture,
				       const struct reel_space_state *space)
{
	if (space && space->machine)
		return reel_arch_by_machine((uint16_t)space->machine, (unsigned)space->word_bits);
	return reel_arch_by_machine(capture->machine, capture->word_bits);
}

static enum reel_code_found find_and_record(void *context, uint64_t address, struct reel_code *ret)
{
	struct reel_sample_unwinder *unwinder = context;
	enum reel_code_found found = reel_code_map_find_code(unwinder->code_map, address, ret);

	if (found == REEL_CODE_MODULE_MISSING || (found == REEL_CODE_FOUND && !ret->rows))
		unwinder->lacks_module = true;
	return found;
}

static bool read_and_record(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	struct reel_sample_unwinder *unwinder = context;
	struct reel_code code = { 0 };

	if (reel_code_map_read(unwinder->code_map, address, size, bytes_ret))
		return true;
	find_and_record(unwinder, address, &code);
	return false;
}

bool reel_sample_unwinder_lacks_module(const struct reel_sample_unwinder *unwinder)
{
	return unwinder->lacks_module;
}

/* ---- code that changed meanwhile ---------------------------------------------------------- */

/* A trace to make: the frames become unwinder->unwound. */
struct job {
	const struct reel_unwind_input *input;
	const struct reel_unwind_programs *programs;
	const struct reel_unwind_state *state; /* of the leaf */
};

/* With the recorded code in this state. */
static struct reel_error *unwind_with(struct reel_sample_unwinder *unwinder, const void *code,
				      const struct job *job, enum reel_stop *stop_ret)
{
	struct reel_space_view *view = &unwinder->code_map->view;
	struct reel_unwind_state begin = *job->state;
	const void *before = view->code;
	struct reel_error *error;

	view->code = code;
	error = reel_unwind_trace(job->input, job->programs, &begin, &unwinder->unwound, stop_ret);
	view->code = before;
	return error;
}

static struct reel_error *keep_addresses(struct reel_sample_unwinder *unwinder, size_t *n_ret)
{
	const struct reel_unwind_frames *unwound = &unwinder->unwound;

	*n_ret = unwound->n;
	TRY(REEL_FIT(unwinder->kept, unwound->n, unwinder->kept_capacity));
	memcpy(unwinder->kept, unwound->addresses, unwound->n * sizeof(*unwinder->kept));
	return NULL;
}

/* The frames from the leaf on that the kept trace, of `n` frames, and the present one share. */
static size_t count_common(const struct reel_sample_unwinder *unwinder, size_t n)
{
	size_t common = 0;

	while (common < n && common < unwinder->unwound.n &&
	       unwinder->kept[common] == unwinder->unwound.addresses[common])
		common++;
	return common;
}

/*
 * Where code changed between two readings of it, with the sample in between, either of the two may
 * have run: tries the older code, then the newer.  If only one of them gives a complete trace, that
 * one ran.  Otherwise only the frames that both traces have are certain; but of two incomplete
 * traces, one that is the other's beginning does not contradict it.
 */
static struct reel_error *unwind_by_either(struct reel_sample_unwinder *unwinder,
					   const struct job *job, enum reel_stop *stop_ret)
{
	const struct reel_space_view view = unwinder->code_map->view;
	struct reel_unwind_frames *unwound = &unwinder->unwound;
	bool is_older_complete, is_newer_complete;
	size_t n_older, common;

	unwinder->code_map->has_used_recorded = false;
	TRY(unwind_with(unwinder, view.code, job, stop_ret));
	if (view.next_code == view.code || !unwinder->code_map->has_used_recorded)
		return NULL;
	TRY(keep_addresses(unwinder, &n_older));
	is_older_complete = *stop_ret == REEL_STOP_ROOT;
	TRY(unwind_with(unwinder, view.next_code, job, stop_ret));
	is_newer_complete = *stop_ret == REEL_STOP_ROOT;
	common = count_common(unwinder, n_older);
	if (common == n_older && common == unwound->n && is_older_complete == is_newer_complete)
		return NULL;
	/* The newer one, which is there already, has more frames, or is the only complete one. */
	if (!is_older_complete && (is_newer_complete || common == n_older))
		return NULL;
	if (!is_newer_complete && (is_older_complete || common == unwound->n))
		return unwind_with(unwinder, view.code, job, stop_ret);
	unwound->n = common;
	*stop_ret = REEL_STOP_NO_UNWIND_INFO;
	return NULL;
}

/* ---- samples ------------------------------------------------------------------------------ */

static void set_space(struct reel_sample_unwinder *unwinder, const struct reel_sample *sample,
		      const struct reel_space_state *space, const struct reel_arch *arch)
{
	reel_code_map_set_space(unwinder->code_map,
				reel_timeline_view(unwinder->capture->timeline,
						   space ? space->id : 0, sample->time),
				arch);
}

/* It is already unwound; the names of its frames depend on the mappings at its time. */
static struct reel_error *copy_resolved(struct reel_sample_unwinder *unwinder,
					const struct reel_sample *sample,
					const struct reel_space_state *space,
					const struct reel_arch *arch, enum reel_stop *stop_ret)
{
	const struct reel_capture *capture = unwinder->capture;

	if (arch)
		set_space(unwinder, sample, space, arch);
	return reel_resolved_unwind(&capture->resolved, sample, capture->options.common.max_frames,
				    &unwinder->unwound, stop_ret, &unwinder->n_resolved);
}

size_t reel_sample_unwinder_resolved(const struct reel_sample_unwinder *unwinder)
{
	return unwinder->n_resolved;
}

/* A sample of another recorder with the addresses that it found instead of a stack. */
static struct reel_error *unwind_chain(struct reel_sample_unwinder *unwinder, const struct job *job,
				       const struct reel_sample *sample, enum reel_stop *stop_ret)
{
	struct reel_unwind_state state = *job->state;

	return reel_unwind_recorded(
		job->input, job->programs, &state, sample->frame_chain, sample->n_frame_chain,
		sample->flags & REEL_SAMPLE_FRAME_CHAIN_CALLS ? REEL_STEP_RECORDED_CALL
							      : REEL_STEP_RECORDED,
		&unwinder->unwound, stop_ret);
}

static struct reel_error *unwind_stack(struct reel_sample_unwinder *unwinder,
				       struct reel_unwind_input *input, const struct job *job,
				       const struct reel_sample *sample, enum reel_stop *stop_ret)
{
	unwinder->memory.n_regions = set_regions(unwinder->regions, sample);
	input->root_part = root_part_of(unwinder->regions, sample);
	find_gobufs(unwinder->regions, sample, input);
	TRY(unwind_by_either(unwinder, job, stop_ret));
	/* The task is exiting: its memory is gone, and its registers only show where it left user
	 * code. */
	if (!sample->n_regions && *stop_ret == REEL_STOP_STACK_END)
		*stop_ret = REEL_STOP_NO_USER_STATE;
	return NULL;
}

/* The memory that the sample has, and the constants and code of files. */
static void set_memory(struct reel_sample_unwinder *unwinder, const struct reel_space_state *space)
{
	const struct reel_capture_info *info = &unwinder->capture->info;
	bool big_endian = space && space->byte_order ? space->byte_order == REEL_BYTE_ORDER_BIG
						     : info->big_endian;

	unwinder->memory = (struct reel_memory_view){
		.regions = unwinder->regions,
		.big_endian = big_endian,
		.read_other = unwinder->reads ? read_and_record : reel_code_map_read,
		.context = unwinder->reads ? (void *)unwinder : unwinder->code_map,
		.reads = unwinder->reads,
		.reads_context = unwinder->reads_context,
	};
	unwinder->code_map->big_endian = big_endian;
}

static struct reel_error *unwind_sample(struct reel_sample_unwinder *unwinder,
					const struct reel_sample *sample,
					const struct reel_space_state *space,
					const struct reel_arch *arch, enum reel_stop *stop_ret)
{
	const struct reel_capture_options *options = &unwinder->capture->options.common;
	struct reel_unwind_state state = {
		.arch = arch,
		.memory = &unwinder->memory,
		.scrubbed = sample->flags & REEL_SAMPLE_SCRUBBED,
	};
	struct reel_unwind_input input = {
		.arch = arch,
		.code_mask = space ? space->code_mask : 0,
		.memory = &unwinder->memory,
		.find_code = unwinder->reads ? find_and_record : reel_code_map_find_code,
		.context = unwinder->reads ? (void *)unwinder : unwinder->code_map,
		/* Cached results would hide reads. */
		.cache = unwinder->reads ? NULL : unwinder->unwind_cache,
		/* Other recorders do not record this; use the instruction before pc. */
		.after_syscall =
			sample->where != REEL_WHERE_USER && sample->where != REEL_WHERE_INTERRUPT,
		.no_frame_pointers = options->no_frame_pointers,
		.stack_cut = sample->flags & REEL_SAMPLE_STACK_CUT,
		.max_frames = options->max_frames,
	};
	struct job job = { .input = &input, .state = &state };

	set_space(unwinder, sample, space, arch);
	set_memory(unwinder, space);
	input.generation = unwinder->code_map->view.generation;
	TRY(programs_of(unwinder, arch, &job.programs));
	if (sample->layout)
		set_registers(&state, sample);
	TRY(!sample->n_regions && sample->n_frame_chain
		    ? unwind_chain(unwinder, &job, sample, stop_ret)
		    : unwind_stack(unwinder, &input, &job, sample, stop_ret));
	TRY(reel_code_map_problem(unwinder->code_map));
	return reel_modules_problem(unwinder->capture->modules);
}

struct reel_error *reel_sample_unwind(struct reel_sample_unwinder *unwinder,
				      const struct reel_sample *sample,
				      const struct reel_space_state *space,
				      const struct reel_unwind_frames **ret,
				      enum reel_stop *stop_ret)
{
	const struct reel_arch *arch = arch_of(unwinder->capture, space);

	unwinder->lacks_module = false;
	*ret = &unwinder->unwound;
	unwinder->unwound.n = 0;
	*stop_ret = REEL_STOP_NO_USER_STATE;
	if (reel_sample_is_resolved(sample))
		return copy_resolved(unwinder, sample, space, arch, stop_ret);
	if (!sample->layout && !sample->n_frame_chain)
		return NULL;
	if (arch)
		return unwind_sample(unwinder, sample, space, arch, stop_ret);
	*stop_ret = REEL_STOP_UNKNOWN_CPU;
	return NULL;
}

struct reel_error *reel_sample_unwind_states(struct reel_sample_unwinder *unwinder,
					     const struct reel_sample *sample,
					     const struct reel_space_state *space,
					     struct reel_unwind_frames **ret)
{
	const struct reel_unwind_frames *ignored;
	struct reel_error *error;
	enum reel_stop stop;

	unwinder->unwound.keeps_states = true;
	error = reel_sample_unwind(unwinder, sample, space, &ignored, &stop);
	unwinder->unwound.keeps_states = false;
	*ret = &unwinder->unwound;
	return error;
}
