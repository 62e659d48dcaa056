/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/import/importer.h"
#include "base/elf_identity.h"

/* ---- registers --------------------------------------------------------------------------- */

static const struct reel_arch_register *by_perf_number(const struct reel_arch *arch, int number)
{
	for (size_t i = 0; i < arch->n_registers; i++)
		if (arch->registers[i].perf == number)
			return &arch->registers[i];
	return NULL;
}

#define NO_SLOT SIZE_MAX

/* The table for the sample's registers, or NULL. */
static const struct reel_arch *arch_of(const struct importer *importer, uint64_t registers_abi)
{
	bool is_32 = registers_abi == PERF_REGS_ABI_32;

	if (is_32 == (importer->arch->word_size == 4))
		return importer->arch;
	/* perf supports no 64-bit tasks on a 32-bit kernel. */
	return is_32 ? reel_arch_by_machine(reel_elf_compat_machine(importer->arch->elf_machine),
					    32)
		     : NULL;
}

/* Skips registers that no rule can name. */
static void set_layout(struct importer *importer, const struct perf_event *event,
		       const struct reel_arch *arch)
{
	struct reel_record_sample_layout *layout = &importer->layout.record;
	uint8_t word = 0;

	if (importer->layout.event == event && importer->layout.arch == arch)
		return;
	importer->layout.event = event;
	importer->layout.arch = arch;
	*layout = (struct reel_record_sample_layout){ .slots = importer->layout.slots };
	importer->layout.pc_slot = importer->layout.sp_slot = NO_SLOT;
	for (int number = 0; number < 64; number++) {
		const struct reel_arch_register *reg;

		if (!(event->user_registers >> number & 1))
			continue;
		reg = by_perf_number(arch, number);
		if (reg) {
			if (reg->dwarf == arch->pc)
				importer->layout.pc_slot = layout->n_slots;
			if (reg->dwarf == arch->sp)
				importer->layout.sp_slot = layout->n_slots;
			importer->layout.slots[layout->n_slots] =
				(struct reel_register_slot){ reg->dwarf, reg->size };
			importer->layout.words[layout->n_slots++] = word;
		}
		word++;
	}
	memset(importer->layout.known, 0, sizeof(importer->layout.known));
	for (size_t i = 0; i < layout->n_slots; i++)
		importer->layout.known[i / 8] |= (uint8_t)(1 << i % 8);
}

/* Without a stack, only the link register gives a leaf function's caller: so perf --call-graph fp
 * records it on arm64 (arch/arm64/util/machine.c). */
static bool can_do_without_pc(const struct importer *importer)
{
	const struct reel_arch *arch = importer->layout.arch;

	for (size_t i = 0; i < importer->layout.record.n_slots; i++)
		if (arch->flags & REEL_ARCH_LINK_REGISTER &&
		    importer->layout.slots[i].dwarf == arch->return_column)
			return true;
	return false;
}

/* False if they are unusable: of an unknown CPU, or without a pc. */
static bool copy_registers(struct importer *importer, const struct perf_sample *from,
			   struct reel_sample *sample)
{
	const struct reel_arch *arch = arch_of(importer, from->registers_abi);
	uint64_t mask;

	if (!arch) {
		importer->report.lacks[LACK_COMPAT_REGISTERS]++;
		return false;
	}
	set_layout(importer, from->event, arch);
	/* All are words of the kernel's size; the upper half is undefined for 32-bit tasks. */
	mask = arch->word_size == 4 ? UINT32_MAX : UINT64_MAX;
	if (importer->layout.pc_slot == NO_SLOT && !can_do_without_pc(importer)) {
		importer->report.lacks[LACK_REGISTERS]++;
		return false;
	}
	for (size_t i = 0; i < importer->layout.record.n_slots; i++)
		importer->scratch.values[i] =
			reel_perf_word(from->registers, importer->layout.words[i],
				       importer->stream.big_endian) &
			mask;
	sample->layout = &importer->layout.record;
	sample->values = importer->scratch.values;
	sample->known = importer->layout.known;
	if (importer->layout.pc_slot != NO_SLOT)
		sample->pc = importer->scratch.values[importer->layout.pc_slot];
	return true;
}

static bool copy_stack(const struct importer *importer, const struct perf_sample *from,
		       struct reel_sample *sample, struct reel_region *region)
{
	uint64_t sp;

	/* An empty region: the stack was requested, but not available. */
	if (importer->layout.sp_slot == NO_SLOT || !from->stack_room)
		return false;
	sp = importer->scratch.values[importer->layout.sp_slot];
	*region = (struct reel_region){
		.kind = REEL_REGION_STACK,
		.address = sp,
		.bytes = from->stack,
		.size = (size_t)from->stack_size,
	};
	if (region->size && sp > UINT64_MAX - (region->size - 1))
		return false;
	sample->regions = region;
	sample->n_regions = 1;
	/* The kernel copies as much as it can read: up to the end of the mapping, or more. */
	sample->flags = REEL_SAMPLE_TOP_UNKNOWN;
	if (from->stack_size == from->stack_room)
		sample->flags |= REEL_SAMPLE_STACK_CUT;
	return true;
}

/* ---- chains ------------------------------------------------------------------------------ */

static void add_address(struct importer *importer, struct reel_sample *sample, int64_t context,
			uint64_t address)
{
	if (context == PERF_CONTEXT_KERNEL && sample->n_kernel_chain < PERF_CHAIN_MAX)
		importer->scratch.kernel_chain[sample->n_kernel_chain++] = address;
	else if (context == PERF_CONTEXT_USER && sample->n_frame_chain < PERF_CHAIN_MAX)
		importer->scratch.frame_chain[sample->n_frame_chain++] = address;
}

static void split_chain(struct importer *importer, struct perf_sample *from, int64_t context,
			struct reel_sample *sample)
{
	for (uint64_t i = 0; i < from->chain.count; i++) {
		uint64_t word = reel_perf_word(from->chain, i, importer->stream.big_endian);

		if (context == PERF_CONTEXT_USER_DEFERRED && !from->is_deferred) {
			from->is_deferred = true;
			from->cookie = word;
		} else if ((int64_t)word < 0 && (int64_t)word >= PERF_CONTEXT_MAX) {
			context = (int64_t)word;
		} else {
			add_address(importer, sample, context, word);
		}
	}
	sample->kernel_chain = importer->scratch.kernel_chain;
	sample->frame_chain = importer->scratch.frame_chain;
	/* Kernel and user addresses share the limit. */
	if (sample->n_frame_chain &&
	    sample->n_kernel_chain + sample->n_frame_chain == from->event->max_chain)
		sample->flags |= REEL_SAMPLE_FRAME_CHAIN_CUT;
}

/* The user's part of the chain, if the kernel took it later: until then the task stayed in the
 * kernel. */
static struct reel_error *add_deferred_chain(struct importer *importer,
					     const struct perf_sample *from,
					     struct reel_sample *sample)
{
	struct perf_words words = { 0 };
	struct reel_error *error;

	if (!from->is_deferred)
		return NULL;
	error = reel_deferred_chains_find(&importer->deferred, &importer->stream, from->tid,
					  from->cookie, sample->time, &words);
	importer->report.lacks[LACK_DEFERRED_CHAIN] += !error && !words.count;
	for (uint64_t i = 0; i < words.count; i++) {
		uint64_t word = reel_perf_word(words, i, importer->stream.big_endian);

		if ((int64_t)word >= 0 || (int64_t)word < PERF_CONTEXT_MAX)
			add_address(importer, sample, PERF_CONTEXT_USER, word);
	}
	if (words.count && sample->n_frame_chain == from->event->max_chain)
		sample->flags |= REEL_SAMPLE_FRAME_CHAIN_CUT;
	return error;
}

/* Without a chain on that side, uses the sample's own address. */
static void add_own_address(struct importer *importer, const struct perf_sample *from,
			    int64_t context, struct reel_sample *sample)
{
	bool has_one = context == PERF_CONTEXT_KERNEL ? sample->n_kernel_chain
						      : sample->n_frame_chain || sample->pc;

	if (!has_one && from->event->sample_type & PERF_SAMPLE_IP)
		add_address(importer, sample, context, from->ip);
}

/*
 * perf record --call-graph lbr: the calls that have not yet returned, as recorded by the CPU.  They
 * replace the callers that the kernel found by frame pointers, as in perf
 * (tools/perf/util/machine.c, resolve_lbr_callchain_sample; but perf begins at the target of the
 * newest call, not where the sample was taken).
 */
static void use_calls(struct importer *importer, const struct perf_sample *from,
		      struct reel_sample *sample)
{
	/* An exiting task has no user code left, and a kernel thread never has any. */
	if (!(from->event->branch_sample_type & PERF_BRANCH_CALL_STACK) || !from->branches.count ||
	    !sample->n_frame_chain || sample->n_regions)
		return;
	sample->n_frame_chain = 1;
	for (uint64_t i = 0; i < from->branches.count; i += PERF_BRANCH_WORDS)
		add_address(importer, sample, PERF_CONTEXT_USER,
			    reel_perf_word(from->branches, i, importer->stream.big_endian));
	sample->flags &= ~(uint64_t)REEL_SAMPLE_FRAME_CHAIN_CUT;
	sample->flags |= REEL_SAMPLE_FRAME_CHAIN_CALLS;
}

/* ---- samples ----------------------------------------------------------------------------- */

static enum reel_where where_of(uint16_t cpumode, const struct perf_sample *from,
				const struct reel_sample *sample)
{
	const struct perf_event *event = from->event;
	bool asked_for_user_state =
		event->sample_type & PERF_SAMPLE_REGS_USER ||
		(event->sample_type & PERF_SAMPLE_CALLCHAIN &&
		 !(event->flags >> PERF_ATTR_EXCLUDE_CALLCHAIN_USER & 1) && !from->is_deferred);

	if (cpumode == PERF_MISC_USER)
		return REEL_WHERE_USER;
	if (asked_for_user_state && from->registers_abi == PERF_REGS_ABI_NONE &&
	    !sample->n_frame_chain)
		return REEL_WHERE_KERNEL_THREAD;
	/* perf does not distinguish system calls from interrupts. */
	return REEL_WHERE_UNKNOWN;
}

static struct reel_error *scrub(struct importer *importer, struct reel_sample *sample)
{
	struct reel_space_view view;

	if (!importer->scrubber)
		return NULL;
	/* Records are in order of time: the timeline's present is the sample's time. */
	view = reel_timeline_view(
		importer->timeline,
		reel_timeline_thread_space(importer->timeline, sample->thread, REEL_TIME_NOW),
		REEL_TIME_NOW);
	return reel_scrub_sample(importer->scrubber, &view, sample);
}

struct reel_error *reel_importer_sample(struct importer *importer, const struct perf_record *record,
					uint64_t time)
{
	struct perf_cursor cursor = reel_perf_record_payload(&importer->stream, record);
	const struct perf_event *event = reel_perf_events_of_sample(&importer->events, cursor);
	uint16_t cpumode = record->misc & PERF_MISC_CPUMODE;
	int64_t context = cpumode == PERF_MISC_USER ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL;
	struct reel_sample sample = { .time = time };
	struct reel_region region;
	struct perf_sample from;
	const char *problem;
	bool has_registers = false;

	if (!event)
		return reel_importer_bad_record(importer, record, "unknown event identifier");
	problem = reel_perf_sample_decode(event, cursor, &from);
	if (problem)
		return reel_importer_bad_record(importer, record, problem);
	if (cpumode != PERF_MISC_USER && cpumode != PERF_MISC_KERNEL) {
		importer->report.lacks[LACK_GUEST]++;
		return NULL;
	}
	if (from.registers_abi != PERF_REGS_ABI_NONE)
		has_registers = copy_registers(importer, &from, &sample);
	if (has_registers)
		copy_stack(importer, &from, &sample, &region);
	split_chain(importer, &from, context, &sample);
	TRY(add_deferred_chain(importer, &from, &sample));
	add_own_address(importer, &from, context, &sample);
	use_calls(importer, &from, &sample);
	if (has_registers && importer->layout.pc_slot == NO_SLOT) {
		if (sample.n_frame_chain)
			sample.pc = sample.frame_chain[0];
		else
			sample.layout = NULL;
	}
	if (sample.n_kernel_chain)
		TRY(reel_kernel_names_write(importer->kernel_names, sample.kernel_chain,
					    sample.n_kernel_chain));
	importer->report.lacks[LACK_KERNEL_NAMES] +=
		sample.n_kernel_chain && !reel_kernel_names_has_list(importer->kernel_names);
	TRY(reel_processes_place(importer->processes,
				 &(struct reel_task){ time, from.pid, from.tid },
				 from.registers_abi != PERF_REGS_ABI_NONE,
				 from.registers_abi == PERF_REGS_ABI_32, &sample.thread));
	sample.id = ++importer->report.counts.samples;
	sample.cpu = from.cpu == UINT32_MAX ? 0 : from.cpu;
	sample.event = (uint64_t)(event - importer->events.events) + 1;
	sample.weight = from.period;
	sample.where = (uint64_t)where_of(cpumode, &from, &sample);
	TRY(scrub(importer, &sample));
	return reel_writer_sample(importer->writer, &sample);
}
