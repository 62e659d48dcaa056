/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding speed: the samples of captures, in memory, through our unwinder, libdw's dwfl and
 * nongnu libunwind, in turn.
 *
 *   unwind [OPTION]... FILE...
 *
 *   --rounds N       warm rounds; the median counts (5)
 *   --cold-rounds N  cold ones (3)
 *   --samples N      at most N of a capture, evenly spread
 *   --batch KB       samples are timed in batches of KB of stack, which are read once before, as
 *                    replay unwinds a sample right after decoding its bytes (256); 0: from main
 *                    memory
 *   --peers-rounds N at most N rounds of the others; 0: ours alone
 *   --unwinders N    instead, N unwinders of stackreel.h, each for one of the capture's
 *                    processes: the time and memory to map its files and unwind its first sample,
 *                    with files shared by all, and without
 *   --symfs DIR, --no-host-files  as for stackreel
 *   --rules N        instead of captures: the memory that N addresses' rules take
 *
 * Warm: everything was unwound once before.  Cold: modules are opened, unwind information is parsed
 * and rules are made in the measured time, also for the first samples alone, where this is most of
 * the time.  The files' pages are in memory in either case, and finding a sample's modules in the
 * capture is not measured for any unwinder.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/or_exit.h"
#include "tests/truth/unwind_sample.h"
#include "tests/support/unwind_compare.h"

#define FIRST_SAMPLES 100
#define UNWINDERS_MAX 100000
#define ROUNDS_MAX    1001

static size_t rounds = 5, cold_rounds = 3, peers_rounds = SIZE_MAX, samples_max = SIZE_MAX,
	      batch_bytes = 256 << 10, n_unwinders;
static struct truth_capture_options options;

/* This thread's CPU time, since others may use the CPU as well. */
static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *copy(const void *from, size_t size)
{
	return memcpy(must_have(malloc(size ? size : 1)), from, size);
}

/* ---- samples in memory ---------------------------------------------------------------------- */

struct sample {
	struct truth_sample truth; /* for the others */
	struct reel_sample record;
	uint64_t space, time;
	bool stack_cut, after_syscall;
	struct reel_memory_region *regions;
	/* By slot. */
	uint64_t *registers;
	uint64_t known;
};

/* Samples from `first` on. */
struct batch {
	size_t first, end;
};

struct workload {
	const char *path;
	struct truth_capture *capture; /* the others' files */
	struct sample *samples;
	size_t n;
	uint64_t stack_bytes;
};

static void copy_regions(struct sample *sample)
{
	struct reel_sample *record = &sample->record;
	struct reel_region *regions =
		copy(record->regions, record->n_regions * sizeof(record->regions[0]));

	sample->regions = must_have(calloc(record->n_regions + 1, sizeof(sample->regions[0])));
	for (size_t i = 0; i < record->n_regions; i++) {
		regions[i].bytes = copy(regions[i].bytes, regions[i].size);
		regions[i].missing =
			copy(regions[i].missing, regions[i].n_missing * sizeof(struct reel_range));
		sample->regions[i] = (struct reel_memory_region){
			.address = regions[i].address,
			.size = regions[i].size,
			.bytes = regions[i].bytes,
			.missing = (const struct reel_memory_range *)regions[i].missing,
			.n_missing = regions[i].n_missing,
		};
	}
	record->regions = regions;
}

static void copy_sample(const struct truth_sample *from, const struct reel_capture *capture,
			struct sample *ret)
{
	const struct reel_arch *arch = from->arch;

	*ret = (struct sample){
		.truth = *from,
		.record = *from->sample,
		.time = from->sample->time,
		.space = reel_timeline_thread_space(capture->timeline, from->sample->thread,
						    from->sample->time),
		.stack_cut = from->sample->flags & REEL_SAMPLE_STACK_CUT,
		.after_syscall = from->sample->where == REEL_WHERE_SYSCALL ||
				 from->sample->where == REEL_WHERE_UNKNOWN,
		.registers = must_have(calloc(arch->n_registers, sizeof(uint64_t))),
	};
	for (size_t i = 0; i < TRUTH_REGISTERS_MAX; i++) {
		uint8_t slot = reel_arch_slot(arch, i);

		if (slot == REEL_ARCH_NO_SLOT || !from->known[i])
			continue;
		ret->registers[slot] = from->registers[i];
		ret->known |= (uint64_t)1 << slot;
	}
	copy_regions(ret);
}

static struct reel_capture *open_capture(const char *path)
{
	const REEL_SIZED(reel_capture_options, open_options, .runtimes = REEL_RUNTIMES_NATIVE,
			 .symfs = options.symfs, .no_host_files = options.no_host_files);
	struct reel_capture *capture;

	check(reel_capture_open(path, &open_options, &capture));
	return capture;
}

static void load(const char *path, struct workload *ret)
{
	struct reel_capture *capture = open_capture(path);
	const struct truth_sample *sample;
	uint64_t total = capture->info.samples, wanted, seen = 0;

	*ret = (struct workload){ .path = path, .capture = truth_capture_open(path, &options) };
	wanted = samples_max < total ? samples_max : total;
	ret->samples = must_have(calloc(wanted + 1, sizeof(*ret->samples)));
	while (ret->n < wanted && (sample = truth_capture_next(ret->capture))) {
		struct sample *to = &ret->samples[ret->n];
		bool next = ret->n * total <= seen * wanted;

		seen++;
		if (!next || !sample->sample->layout || !sample->sample->n_regions)
			continue;
		copy_sample(sample, capture, to);
		/* It reads words through the same struct as in the tests. */
		to->truth.sample = &to->record;
		for (size_t i = 0; i < to->record.n_regions; i++)
			ret->stack_bytes += to->record.regions[i].size;
		ret->n++;
	}
	reel_capture_close(capture);
	if (!ret->n)
		errx(2, "%s: no sample has a stack", path);
}

static void unload(struct workload *workload)
{
	for (size_t i = 0; i < workload->n; i++) {
		struct sample *sample = &workload->samples[i];

		for (size_t j = 0; j < sample->record.n_regions; j++) {
			free((void *)sample->record.regions[j].bytes);
			free((void *)sample->record.regions[j].missing);
		}
		free((void *)sample->record.regions);
		free(sample->regions);
		free(sample->registers);
	}
	free(workload->samples);
	truth_capture_close(workload->capture);
}

/* ---- batches -------------------------------------------------------------------------------- */

static volatile uint64_t touched;

static void touch(const struct sample *sample)
{
	const size_t line = 64;

	for (size_t i = 0; i < sample->record.n_regions; i++)
		for (size_t at = 0; at < sample->regions[i].size; at += line)
			touched += sample->regions[i].bytes[at];
}

/* The next batch before sample `end`; false if there is none.  Its bytes are in the CPU's caches
 * then. */
static bool next_batch(const struct workload *workload, size_t end, struct batch *batch)
{
	uint64_t bytes = 0;

	batch->first = batch->end;
	while (batch->end < end && (!batch_bytes || bytes < batch_bytes)) {
		const struct sample *sample = &workload->samples[batch->end++];

		for (size_t i = 0; i < sample->record.n_regions; i++)
			bytes += sample->regions[i].size;
	}
	for (size_t i = batch->first; batch_bytes && i < batch->end; i++)
		touch(&workload->samples[i]);
	return batch->first < batch->end;
}

/* ---- ours ----------------------------------------------------------------------------------- */

/* Everything is made anew for a cold round. */
struct ours {
	struct reel_capture *capture;
	struct reel_code_map *code_map;
	struct reel_unwind_programs *programs;
	struct reel_unwind_cache *cache;
	struct reel_space_view *views; /* by sample */
	struct reel_unwind_frames frames;
};

static void ours_open(const struct workload *workload, struct ours *ret)
{
	*ret = (struct ours){ .capture = open_capture(workload->path) };
	ret->views = must_have(calloc(workload->n, sizeof(*ret->views)));
	for (size_t i = 0; i < workload->n; i++)
		ret->views[i] =
			reel_timeline_view(ret->capture->timeline, workload->samples[i].space,
					   workload->samples[i].time);
}

static void ours_start(const struct workload *workload, struct ours *ours)
{
	ours->code_map = must_have(calloc(1, sizeof(*ours->code_map)));
	ours->code_map->modules = ours->capture->modules;
	check(reel_unwind_programs_create(workload->samples[0].truth.arch, &ours->programs));
	check(reel_unwind_cache_create(&ours->cache));
}

static void ours_close(struct ours *ours)
{
	reel_unwind_programs_destroy(ours->programs);
	reel_unwind_cache_destroy(ours->cache);
	reel_unwind_frames_free(&ours->frames);
	free(ours->code_map);
	free(ours->views);
	reel_capture_close(ours->capture);
}

static enum reel_stop ours_unwind(struct ours *ours, const struct sample *sample,
				  const struct reel_space_view *view, bool short_way,
				  struct reel_unwind_state *state)
{
	const struct reel_arch *arch = sample->truth.arch;
	const struct reel_memory_view memory = {
		.regions = sample->regions,
		.n_regions = sample->record.n_regions,
		.big_endian = sample->truth.big_endian,
		.read_other = reel_code_map_read,
		.context = ours->code_map,
	};
	const struct reel_unwind_input input = {
		.arch = arch,
		.code_mask = sample->truth.code_mask,
		.memory = &memory,
		.find_code = reel_code_map_find_code,
		.context = ours->code_map,
		.generation = view->generation,
		.cache = short_way ? ours->cache : NULL,
		.after_syscall = sample->after_syscall,
		.stack_cut = sample->stack_cut,
	};
	enum reel_stop stop;

	reel_code_map_set_space(ours->code_map, *view, arch);
	state->arch = arch;
	state->memory = &memory;
	state->pc = sample->truth.pc;
	state->known = sample->known;
	memcpy(state->registers, sample->registers, arch->n_registers * sizeof(uint64_t));
	check(reel_unwind_trace(&input, ours->programs, state, &ours->frames, &stop));
	return stop;
}

/* Seconds for the samples `first` to `end`; *frames_ret: their number of frames. */
static double ours_run(struct ours *ours, const struct workload *workload, bool short_way,
		       size_t first, size_t end, uint64_t *frames_ret)
{
	struct reel_unwind_state state;
	double start = seconds();

	*frames_ret = 0;
	for (size_t i = first; i < end; i++) {
		ours_unwind(ours, &workload->samples[i], &ours->views[i], short_way, &state);
		*frames_ret += ours->frames.n;
	}
	return seconds() - start;
}

/* The same, in batches. */
static double ours_batches(struct ours *ours, const struct workload *workload, bool short_way,
			   size_t first, size_t end, uint64_t *frames_ret)
{
	struct batch batch = { .end = first };
	double total = 0;
	uint64_t frames;

	*frames_ret = 0;
	while (next_batch(workload, end, &batch)) {
		total += ours_run(ours, workload, short_way, batch.first, batch.end, &frames);
		*frames_ret += frames;
	}
	return total;
}

/* ---- the fast path and the slow one
 * -------------------------------------------------------------- */

/* Unwinds every sample both ways; the first difference ends the program. */
static void compare_paths(struct ours *ours, const struct workload *workload)
{
	struct reel_unwind_frames frames = { 0 };
	struct reel_unwind_state slow, state;

	for (size_t i = 0; i < workload->n; i++) {
		const struct sample *sample = &workload->samples[i];
		enum reel_stop stop = ours_unwind(ours, sample, &ours->views[i], false, &slow);

		reel_unwind_frames_free(&frames);
		frames = ours->frames;
		ours->frames = (struct reel_unwind_frames){ 0 };
		if (stop != ours_unwind(ours, sample, &ours->views[i], true, &state) ||
		    !same_frames(&frames, &ours->frames) || !same_state(&slow, &state))
			errx(1, "%s: sample %" PRIu64 ": the fast path gives another trace",
			     workload->path, sample->record.id);
	}
	reel_unwind_frames_free(&frames);
}

/* ---- the others ------------------------------------------------------------------------------ */

struct peer {
	const char *name;
	bool (*unwind)(const struct truth_sample *sample, struct truth_chain *ret);
	void (*forget)(const struct workload *workload);
};

static void dwfl_forget(const struct workload *workload)
{
	for (size_t i = 0; i < workload->n; i++)
		truth_dwfl_forget((struct truth_space *)workload->samples[i].truth.space);
}

static void libunwind_forget(const struct workload *workload)
{
	(void)workload;
	truth_libunwind_forget();
}

static const struct peer peers[] = {
	{ "libdw", truth_dwfl_unwind, dwfl_forget },
	{ "libunwind", truth_libunwind_unwind, libunwind_forget },
};
#define N_PEERS (sizeof(peers) / sizeof(peers[0]))

static double peer_run(const struct peer *peer, const struct workload *workload, size_t first,
		       size_t end, struct truth_chain *chain, uint64_t *frames_ret)
{
	double start = seconds();

	*frames_ret = 0;
	for (size_t i = first; i < end; i++) {
		peer->unwind(&workload->samples[i].truth, chain);
		*frames_ret += chain->n;
	}
	return seconds() - start;
}

static double peer_batches(const struct peer *peer, const struct workload *workload, size_t first,
			   size_t end, struct truth_chain *chain, uint64_t *frames_ret)
{
	struct batch batch = { .end = first };
	double total = 0;
	uint64_t frames;

	*frames_ret = 0;
	while (next_batch(workload, end, &batch)) {
		total += peer_run(peer, workload, batch.first, batch.end, chain, &frames);
		*frames_ret += frames;
	}
	return total;
}

/* ---- figures -------------------------------------------------------------------------------- */

/* Seconds of rounds. */
struct times {
	double list[ROUNDS_MAX];
	size_t n;
};

struct figures {
	struct times warm;
	struct times cold, cold_first; /* of all samples, of the first ones */
	uint64_t frames;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(struct times *times)
{
	qsort(times->list, times->n, sizeof(double), by_value);
	return times->list[times->n / 2];
}

static void add_time(struct times *times, double seconds)
{
	times->list[times->n++] = seconds;
}

static size_t first_samples(const struct workload *workload)
{
	return workload->n < FIRST_SAMPLES ? workload->n : FIRST_SAMPLES;
}

/* The first samples, and then the others. Keeps `ours` open. */
static void ours_cold(struct ours *ours, const struct workload *workload, bool short_way,
		      struct figures *figures)
{
	size_t first = first_samples(workload);
	double start, time;
	uint64_t frames;

	ours_open(workload, ours);
	start = seconds();
	ours_start(workload, ours);
	time = seconds() - start + ours_batches(ours, workload, short_way, 0, first, &frames);
	add_time(&figures->cold_first, time);
	time += ours_batches(ours, workload, short_way, first, workload->n, &frames);
	add_time(&figures->cold, time);
}

static void peer_cold(const struct peer *peer, const struct workload *workload,
		      struct truth_chain *chain, struct figures *figures)
{
	size_t first = first_samples(workload);
	uint64_t frames;
	double time;

	peer->forget(workload);
	time = peer_batches(peer, workload, 0, first, chain, &frames);
	add_time(&figures->cold_first, time);
	time += peer_batches(peer, workload, first, workload->n, chain, &frames);
	add_time(&figures->cold, time);
}

static void print_figures(const char *name, const struct workload *workload,
			  struct figures *figures, struct figures *reference)
{
	double samples = (double)workload->n, warm = median(&figures->warm),
	       cold = median(&figures->cold), cold_first = median(&figures->cold_first);

	printf("  %-14s warm %9.0f samples/s %7.2f M frames/s (%6.2f)   cold %8.0f samples/s "
	       "(%6.2f)   the first %zu: %7.2f ms (%6.2f)\n",
	       name, samples / warm, (double)figures->frames / warm / 1e6,
	       median(&reference->warm) / warm, samples / cold, median(&reference->cold) / cold,
	       first_samples(workload), cold_first * 1e3,
	       median(&reference->cold_first) / cold_first);
}

struct rules_total {
	uint64_t addresses, rules, bytes;
};

static void add_rules(void *context, const struct reel_module *module)
{
	struct rules_total *total = context;
	struct reel_rows_counts counts;

	if (!module->rows)
		return;
	counts = reel_rows_counts(module->rows);
	total->addresses += counts.addresses;
	total->rules += counts.rows;
	total->bytes += counts.bytes;
}

static void print_rules(const struct ours *ours)
{
	struct rules_total total = { 0 };

	reel_modules_visit(ours->capture->modules, add_rules, &total);
	printf("  rules: %" PRIu64 " addresses, %" PRIu64 " rules, %.1f KB\n", total.addresses,
	       total.rules, (double)total.bytes / 1e3);
}

/* All measurements of a workload. */
struct bench {
	struct workload workload;
	struct ours ours;
	struct truth_chain chain;
	bool absent[N_PEERS];
	struct figures us, slow, them[N_PEERS];
};

static void run_cold(struct bench *bench)
{
	for (size_t i = 0; i < cold_rounds; i++) {
		ours_cold(&bench->ours, &bench->workload, false, &bench->slow);
		ours_close(&bench->ours);
		ours_cold(&bench->ours, &bench->workload, true, &bench->us);
		if (i + 1 < cold_rounds)
			ours_close(&bench->ours);
		for (size_t p = 0; p < N_PEERS; p++)
			if (!bench->absent[p] && i < peers_rounds)
				peer_cold(&peers[p], &bench->workload, &bench->chain,
					  &bench->them[p]);
	}
}

static void run_warm(struct bench *bench)
{
	struct figures *us = &bench->us, *slow = &bench->slow;

	for (size_t i = 0; i < rounds; i++) {
		add_time(&us->warm, ours_batches(&bench->ours, &bench->workload, true, 0,
						 bench->workload.n, &us->frames));
		add_time(&slow->warm, ours_batches(&bench->ours, &bench->workload, false, 0,
						   bench->workload.n, &slow->frames));
		for (size_t p = 0; p < N_PEERS; p++)
			if (!bench->absent[p] && i < peers_rounds)
				add_time(&bench->them[p].warm,
					 peer_batches(&peers[p], &bench->workload, 0,
						      bench->workload.n, &bench->chain,
						      &bench->them[p].frames));
	}
}

static void print_bench(struct bench *bench)
{
	struct figures *reference = bench->absent[0] ? &bench->us : &bench->them[0];
	const struct workload *workload = &bench->workload;

	printf("%s: %zu samples, %.1f frames and %.1f KB of stack each\n", workload->path,
	       workload->n, (double)bench->us.frames / (double)workload->n,
	       (double)workload->stack_bytes / (double)workload->n / 1e3);
	print_figures("ours", workload, &bench->us, reference);
	print_figures("ours, slow path", workload, &bench->slow, reference);
	for (size_t p = 0; p < N_PEERS; p++) {
		if (!bench->absent[p])
			print_figures(peers[p].name, workload, &bench->them[p], reference);
		else if (peers_rounds)
			printf("  %s: not here, or not for this CPU\n", peers[p].name);
	}
	print_rules(&bench->ours);
}

static void run(const char *path)
{
	static struct bench bench;

	bench = (struct bench){ 0 };
	load(path, &bench.workload);
	for (size_t p = 0; p < N_PEERS; p++)
		bench.absent[p] = !peers_rounds ||
				  !peers[p].unwind(&bench.workload.samples[0].truth, &bench.chain);
	run_cold(&bench);
	compare_paths(&bench.ours, &bench.workload);
	run_warm(&bench);
	print_bench(&bench);
	ours_close(&bench.ours);
	free(bench.chain.pcs);
	unload(&bench.workload);
}

/* ---- unwinders of processes ------------------------------------------------------------------ */

struct process {
	const struct sample *first;
	struct process_file {
		struct reel_mapping mapping;
		const char *path;
	} * files;
	size_t n;
};

struct processes {
	struct reel_capture *capture;
	struct process *all;
	size_t n;
};

/* Adds a mapping of a file to the last process. */
static void add_mapping(void *context, const struct reel_mapping *mapping)
{
	const struct processes *processes = context;
	struct process *process = &processes->all[processes->n - 1];
	struct reel_module *module;
	uint64_t device, inode;

	if (!(mapping->protection & PROT_EXEC))
		return;
	check(reel_modules_open(processes->capture->modules, mapping->module,
				process->first->truth.arch, &module));
	if (!module || !reel_module_rows(module, process->first->truth.arch) ||
	    !reel_elf_file_identity(module->files.file, &device, &inode))
		return;
	process->files =
		must_have(reallocarray(process->files, process->n + 1, sizeof(*process->files)));
	process->files[process->n++] = (struct process_file){
		.mapping = *mapping,
		.path = module->is_shared ? module->local_path
					  : reel_elf_file_path(module->files.file),
	};
}

static void find_processes(const struct workload *workload, struct processes *ret)
{
	const struct reel_arch *arch = workload->samples[0].truth.arch;

	*ret = (struct processes){ .capture = open_capture(workload->path),
				   .all = must_have(calloc(workload->n, sizeof(*ret->all))) };
	for (size_t i = 0; i < workload->n; i++) {
		const struct sample *sample = &workload->samples[i];
		size_t known = 0;

		while (known < ret->n && ret->all[known].first->space != sample->space)
			known++;
		if (known < ret->n || sample->truth.arch != arch)
			continue;
		ret->all[ret->n++].first = sample;
		reel_timeline_visit(ret->capture->timeline, sample->space, sample->time, 0,
				    UINT64_MAX, add_mapping, ret);
	}
}

static void free_processes(struct processes *processes)
{
	for (size_t i = 0; i < processes->n; i++)
		free(processes->all[i].files);
	free(processes->all);
	reel_capture_close(processes->capture);
}

static const struct reel_unwound *unwind_first(struct reel_unwinder *unwinder,
					       const struct sample *sample)
{
	struct reel_register registers[TRUTH_REGISTERS_MAX];
	struct reel_memory memory[REEL_REGIONS_MAX];
	REEL_SIZED(reel_stack, stack, .registers = registers, .memory = memory,
		   .n_memory = sample->record.n_regions, .pointer_mask = sample->truth.code_mask,
		   .flags = sample->after_syscall ? REEL_STACK_AFTER_SYSCALL : 0);
	const struct reel_unwound *unwound;

	for (uint16_t i = 0; i < TRUTH_REGISTERS_MAX; i++)
		if (sample->truth.known[i])
			registers[stack.n_registers++] =
				(struct reel_register){ i, sample->truth.registers[i] };
	for (size_t i = 0; i < stack.n_memory; i++)
		memory[i] =
			(struct reel_memory){ sample->regions[i].address, sample->regions[i].size,
					      sample->regions[i].bytes };
	check(reel_unwind(unwinder, &stack, &unwound));
	return unwound;
}

/* Of this process, in bytes. */
static uint64_t resident_memory(void)
{
	unsigned long long size, resident;
	FILE *file = must_have(fopen("/proc/self/statm", "r"));

	if (fscanf(file, "%llu %llu", &size, &resident) != 2)
		errx(2, "/proc/self/statm is unreadable");
	fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct start_cost {
	double seconds;
	uint64_t bytes, frames, hash; /* hash: of all addresses */
};

static void start_unwinder(const struct process *process, struct reel_unwinder *unwinder,
			   struct start_cost *cost)
{
	const struct reel_unwound *unwound;

	for (size_t i = 0; i < process->n; i++) {
		const struct reel_mapping *mapping = &process->files[i].mapping;

		check(reel_unwinder_map(unwinder, mapping->address, mapping->size, mapping->offset,
					process->files[i].path));
	}
	unwound = unwind_first(unwinder, process->first);
	for (size_t i = 0; i < unwound->n_frames; i++)
		cost->hash = (cost->hash ^ unwound->addresses[i]) * 0x9e3779b97f4a7c15;
	cost->frames += unwound->n_frames;
}

static struct start_cost start_unwinders(const struct processes *processes, bool share)
{
	struct reel_unwinder **all = must_have(calloc(n_unwinders, sizeof(struct reel_unwinder *)));
	const char *arch = processes->all[0].first->truth.arch->name;
	uint64_t before = resident_memory();
	struct start_cost cost = { .seconds = -seconds() };

	for (size_t i = 0; i < n_unwinders; i++) {
		check(share && i ? reel_unwinder_create_sharing(all[0], &all[i])
				 : reel_unwinder_create(arch, &all[i]));
		start_unwinder(&processes->all[i % processes->n], all[i], &cost);
	}
	cost.seconds += seconds();
	cost.bytes = resident_memory() - before;
	for (size_t i = 0; i < n_unwinders; i++)
		reel_unwinder_destroy(all[i]);
	free(all);
	return cost;
}

static void run_unwinders(const char *path)
{
	struct start_cost shared, alone;
	struct processes processes;
	struct workload workload;

	load(path, &workload);
	find_processes(&workload, &processes);
	shared = start_unwinders(&processes, true);
	alone = start_unwinders(&processes, false);
	if (shared.frames != alone.frames || shared.hash != alone.hash)
		errx(1, "%s: unwinders that share files give other traces", path);
	printf("%s: %zu unwinders for %zu processes, %" PRIu64 " frames: %.2f ms and %.1f MB; "
	       "without sharing %.2f ms and %.1f MB\n",
	       path, n_unwinders, processes.n, shared.frames, shared.seconds * 1e3,
	       (double)shared.bytes / 1e6, alone.seconds * 1e3, (double)alone.bytes / 1e6);
	free_processes(&processes);
	unload(&workload);
}

/* ---- the memory of rules -------------------------------------------------------------------- */

#define ROW_BYTES    16 /* of code */
#define ROWS	     64 /* in a function */
#define RETURN_EVERY ROW_BYTES
#define STRIDE	     15485863 /* a prime: every address, in no order */

static uint8_t *append(uint8_t *at, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

/* .eh_frame with `functions` functions, whose rows have different frame sizes. */
static uint8_t *make_cfi(size_t functions, size_t *size_ret)
{
	static const uint8_t cie[] = {
		/* size, id, version, "", factors 1 and -8, column 16 */
		16,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		1,
		0,
		1,
		0x78,
		16,
		/* cfa rsp + 8, rip at cfa - 8, nop */
		0x0c,
		7,
		8,
		0x90,
		1,
		0,
		0,
	};
	size_t fde = 4 + 4 + 16 + 6 + 4 * (ROWS - 1);
	uint8_t *bytes, *at;

	fde = (fde + 3) / 4 * 4;
	bytes = must_have(calloc(1, functions * fde + sizeof(cie)));
	at = bytes + sizeof(cie);
	memcpy(bytes, cie, sizeof(cie));
	for (size_t i = 0; i < functions; i++) {
		uint8_t *start = at;

		at = append(at, fde - 4, 4);
		at = append(at, (uint64_t)(at - bytes), 4);
		at = append(at, 0x100000 + i * ROWS * ROW_BYTES, 8);
		at = append(at, ROWS * ROW_BYTES, 8);
		/* rbx or a different callee-saved register, at cfa - 16 */
		at = append(at, 0x80 | (i % 4 ? 12 + i % 4 : 3), 1);
		at = append(at, 2, 1);
		for (size_t row = 1; row < ROWS; row++) {
			at = append(at, 0x40 | ROW_BYTES, 1);
			at = append(at, 0x0e, 1);
			at = append(at, 0x80 | ((row + i / 4) & 0x7f), 1);
			at = append(at, (i / 256) & 0x1f, 1);
		}
		at = start + fde;
	}
	*size_ret = (size_t)(at - bytes);
	return bytes;
}

static void fill_rules(size_t count)
{
	const struct reel_arch *arch = reel_arch_by_name("x86_64");
	size_t functions = (count + ROWS - 1) / ROWS, size, before;
	uint8_t *bytes = make_cfi(functions, &size);
	const struct reel_cfi_input input = {
		.arch = arch,
		.eh_frame = { bytes, size, 0x40000000 },
	};
	struct reel_rows_counts counts;
	struct reel_rows *rules;
	struct reel_cfi *cfi;
	struct mallinfo2 info = mallinfo2();
	double start;

	before = info.uordblks + info.hblkhd;
	check(reel_cfi_create(&input, &cfi));
	check(reel_rows_create(arch, cfi, 0, &rules));
	start = seconds();
	/* In the order of returns, not of addresses. */
	for (size_t i = 0, at = 0; i < count; i++, at = (at + STRIDE) % (functions * ROWS))
		reel_rows_at(rules, 0x100000 + at * RETURN_EVERY + 5);
	start = seconds() - start;
	counts = reel_rows_counts(rules);
	info = mallinfo2();
	printf("%" PRIu64 " addresses, %" PRIu64
	       " different rules: %.1f MB, %.2f bytes an address; "
	       "with the index of FDEs the heap grew by %.1f MB; %.2f us an address\n",
	       counts.addresses, counts.rows, (double)counts.bytes / 1e6,
	       (double)counts.bytes / (double)counts.addresses,
	       (double)(info.uordblks + info.hblkhd - before) / 1e6, start / (double)count * 1e6);
	reel_rows_destroy(rules);
	reel_cfi_destroy(cfi);
	free(bytes);
}

/* ---- options -------------------------------------------------------------------------------- */

static size_t number(const char *text, size_t max)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || end == text || value > max)
		errx(2, "not a number from 0 to %zu: %s", max, text);
	return (size_t)value;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "cold-rounds", required_argument, NULL, 'c' },
		{ "peers-rounds", required_argument, NULL, 'p' },
		{ "samples", required_argument, NULL, 'n' },
		{ "batch", required_argument, NULL, 'b' },
		{ "symfs", required_argument, NULL, 's' },
		{ "no-host-files", no_argument, NULL, 'h' },
		{ "rules", required_argument, NULL, 'R' },
		{ "unwinders", required_argument, NULL, 'u' },
		{ 0 },
	};
	static const char *symfs[2];
	size_t n_rules = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'r':
			rounds = number(optarg, ROUNDS_MAX);
			break;
		case 'c':
			cold_rounds = number(optarg, ROUNDS_MAX);
			break;
		case 'p':
			peers_rounds = number(optarg, ROUNDS_MAX);
			break;
		case 'n':
			samples_max = number(optarg, SIZE_MAX);
			break;
		case 'b':
			batch_bytes = number(optarg, 1 << 30) << 10;
			break;
		case 's':
			symfs[0] = optarg;
			options.symfs = symfs;
			break;
		case 'h':
			options.no_host_files = true;
			break;
		case 'R':
			n_rules = number(optarg, 100000000);
			break;
		case 'u':
			n_unwinders = number(optarg, UNWINDERS_MAX);
			break;
		default:
			return 2;
		}
	}
	if (!rounds || !cold_rounds || (!n_rules && optind == argc))
		errx(2, "usage: unwind [OPTION]... FILE..., or unwind --rules N");
	if (n_rules)
		fill_rules(n_rules);
	for (int i = optind; i < argc; i++)
		n_unwinders ? run_unwinders(argv[i]) : run(argv[i]);
	return 0;
}
