/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks every byte that programs/torn.c determines, in every sample of its capture.
 *
 *   torn_check [--control] [--min N] CAPTURE FACTS       FACTS: the output of torn
 *
 * A sample is `exact` if its registers determine each word; `uniform` if the thread was outside of
 * the loops (all words belong to one generation); `half` if the kernel was writing the words (a
 * prefix, of any length, is new).  Anything else is torn: exit status 1, as if fewer than N samples
 * were exact.  With --control the samples of threads in mode `other` must be torn, at least one of
 * them.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "include/commands.h"
#include "tests/truth/torn_facts.h"
#include "tests/truth/torn_region.h"

#define PAGE	 4096u
#define RED_ZONE 128u
/* asm/ucontext.h, x86-64: flags, link and stack_t precede the registers, in this order. */
#define UCONTEXT_REGISTERS 40u

/* By DWARF number (psABI x86-64, figure 3.36). */
enum {
	RAX,
	RDX,
	RCX,
	RBX,
	RSI,
	RDI,
	RBP,
	RSP,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	PC,
	REGISTERS
};
static const uint8_t ucontext_order[] = { R8,  R9,  R10, R11, R12, R13, R14, R15, RDI,
					  RSI, RBP, RBX, RDX, RAX, RCX, RSP, PC };

struct sample {
	uint64_t id, time, where, flags;
	uint64_t registers[REGISTERS], known;
	struct region regions[2];
	size_t n_regions;
};

static struct {
	uint64_t samples, exact, uniform, half, handler, cut, holes, elsewhere, outside, torn;
	uint64_t restoring;
	uint64_t missing; /* present pages that could not be read */
	uint64_t words;
} counts;
static bool control;
static uint64_t max_stack;
static char message[256];
/* The capture's thread ids. */
static struct thread **by_id;
static size_t n_ids;

static bool wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool wrong(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return false;
}

/* ---- regions ------------------------------------------------------------------------------- */

/* Words of [base, base + words * 8) in a region that may have been cut. */
static uint64_t words_in(const struct region *region, uint64_t base, uint64_t words)
{
	uint64_t end = region->address + region->size;

	if (base + words * 8 > end)
		words = end > base ? (end - base) / 8 : 0;
	return words;
}

/*
 * Words [0, done) belong to `generation`, the others to the previous one; `index_step` is 0 where
 * words do not contain their index.  Pages of [hole, hole_end) were dropped.
 */
static bool words_check(const struct region *region, uint64_t base, uint64_t words, uint64_t done,
			uint64_t generation, uint64_t index_step, uint64_t hole, uint64_t hole_end)
{
	bool any_missing = region->missing->n_items;

	if (!holds(region, base, 8))
		return wrong("the region [%#" PRIx64 " + %#" PRIx64 "] does not contain %#" PRIx64,
			     region->address, region->size, base);
	words = words_in(region, base, words);
	counts.words += words;
	for (uint64_t i = 0; i < words; i++) {
		uint64_t word = word_at(region, base + i * 8);
		uint64_t expected =
			TORN_WORD(generation - (i >= done), index_step ? i : UINT64_C(0));

		if (i >= done && i >= hole && i < hole_end)
			expected = 0;
		if (any_missing && is_missing(region, base + i * 8)) {
			if (!(i >= hole && i < hole_end) && (base + i * 8) % PAGE == 0)
				counts.missing++;
			expected = 0;
		}
		if (word != expected)
			return wrong("word %" PRIu64 " of %" PRIu64 " is %#" PRIx64
				     ", not %#" PRIx64 " (%" PRIu64 " are done)",
				     i, words, word, expected, done);
	}
	return true;
}

/*
 * A prefix belongs to one generation, the rest to the previous one; any prefix if `half`, else all
 * words.
 */
static bool words_uniform(const struct region *region, uint64_t base, uint64_t words, bool half,
			  uint64_t index_step)
{
	uint64_t generation, done, count = words_in(region, base, words);

	if (!holds(region, base, 8))
		return wrong("the region does not contain %#" PRIx64, base);
	if (!count || (region->missing->n_items && is_missing(region, base)))
		return true;
	generation = word_at(region, base) >> 24;
	for (done = 1; done < count; done++) {
		if (word_at(region, base + done * 8) >> 24 != generation)
			break;
	}
	if (!half)
		done = words;
	return words_check(region, base, words, done, generation, index_step, 0, 0);
}

/* --max-stack, or the limit for stacks while the file is too slow (docs/man/stackreel-record.1). */
static bool is_cut_size(uint64_t size)
{
	return size == max_stack || size == max_stack / 4 || size == max_stack / 16 ||
	       size == max_stack / 64 || size == 4096;
}

/* Beginning and end of the region: SPEC.md, section 8. */
static bool bounds_check(const struct sample *sample, const struct region *region, uint64_t sp,
			 uint64_t top)
{
	uint64_t start = (sp - RED_ZONE) & ~UINT64_C(7), page = sp & ~(uint64_t)(PAGE - 1);
	const struct region *root = &sample->regions[1];
	uint64_t size = region->size;

	if (region->address != start && (region->address != page || start >= page))
		return wrong("the region begins at %#" PRIx64 ", sp is %#" PRIx64, region->address,
			     sp);
	if (region->address + region->size == top)
		return true;
	/* The last quarter of the limit keeps the root end of the stack. */
	if (sample->n_regions == 2 && region == &sample->regions[0] && !root->kind) {
		size += root->size;
		if (root->address + root->size != (top & ~UINT64_C(7)))
			return wrong("its root part ends at %#" PRIx64 ", not at %#" PRIx64,
				     root->address + root->size, top);
	}
	if (!(sample->flags & 1) || !is_cut_size(size) || region->address + region->size > top)
		return wrong("the region ends at %#" PRIx64 ", not at %#" PRIx64,
			     region->address + region->size, top);
	counts.cut++;
	return true;
}

/* The bytes above the worker's frame are the same in all samples. */
static bool still_check(struct thread *thread, const struct region *region)
{
	uint64_t size = thread->top - thread->frame;

	if (!holds(region, thread->frame, size) || region->missing->n_items)
		return true;
	if (!thread->still) {
		thread->still = malloc(size);
		if (!thread->still)
			abort();
		memcpy(thread->still, region->bytes + (thread->frame - region->address), size);
	}
	counts.words += size / 8;
	return !memcmp(thread->still, region->bytes + (thread->frame - region->address), size) ||
	       wrong("bytes above the loop's frames changed");
}

static bool return_address_check(const struct region *region, uint64_t address)
{
	uint64_t word;

	if (!holds(region, address, 8) || is_missing(region, address))
		return wrong("there is no return address at %#" PRIx64, address);
	word = word_at(region, address);
	return (word >= places[TEXT] && word < places[TEXT_END]) ||
	       wrong("at %#" PRIx64 " there is no return address, but %#" PRIx64, address, word);
}

/* ---- the loops, by registers ---------------------------------------------------------------- */

static bool in_up(uint64_t pc)
{
	return pc >= places[UP] && pc < places[REP];
}

static uint64_t up_done(const uint64_t *registers)
{
	if (registers[PC] == places[UP])
		return 0;
	/* Stored, not yet counted. */
	return registers[RCX] + (registers[PC] == places[UP_STORED]);
}

static bool up_check(const struct region *region, const uint64_t *registers, uint64_t base,
		     uint64_t words)
{
	if (registers[RDI] != base || registers[RDX] != words)
		return wrong("rdi is %#" PRIx64 ", rdx %" PRIu64, registers[RDI], registers[RDX]);
	return words_check(region, base, words, up_done(registers), registers[RSI] >> 24, 1, 0, 0);
}

static bool rep_check(const struct sample *sample, const struct thread *thread)
{
	const uint64_t *registers = sample->registers;
	uint64_t done = (registers[RDI] - thread->base) / 8;

	if (registers[RDI] < thread->base || done > thread->words)
		return wrong("rdi is %#" PRIx64, registers[RDI]);
	return words_check(&sample->regions[0], thread->base, thread->words, done,
			   registers[RSI] >> 24, 0, 0, 0);
}

static bool push_check(const struct sample *sample)
{
	const struct region *region = &sample->regions[0];
	const uint64_t *registers = sample->registers;
	uint64_t generation = registers[RSI] >> 24, pc = registers[PC];
	uint64_t from, count, live;

	if (pc < places[PUSH_MARK])
		return return_address_check(region, registers[RSP]);
	if (registers[RSP] > registers[RDI])
		return wrong("rsp is above rdi");
	live = (registers[RDI] - registers[RSP]) / 8;
	/* Below rsp there are older words, up to the region's start. */
	count = (registers[RDI] - region->address) / 8;
	from = generation == 1 && pc < places[PUSH_POP] ? live : count;
	if (from > registers[RDX])
		from = registers[RDX];
	counts.words += from;
	for (uint64_t i = 0; i < from; i++) {
		uint64_t address = registers[RDI] - 8 * (i + 1);
		bool old = i >= live && pc < places[PUSH_POP];

		if (!holds(region, address, 8))
			break;
		if (region->missing->n_items && is_missing(region, address)) {
			counts.missing += address % PAGE == 0;
			continue;
		}
		if (word_at(region, address) != TORN_WORD(generation - old, i))
			return wrong("pushed word %" PRIu64 " of %" PRIu64 " is %#" PRIx64, i, live,
				     word_at(region, address));
	}
	return !holds(region, registers[RDI], 8) || return_address_check(region, registers[RDI]);
}

static bool hole_check(const struct sample *sample, const struct thread *thread)
{
	const struct region *region = &sample->regions[0];
	const uint64_t *registers = sample->registers;
	uint64_t generation = registers[RSI] >> 24, done = up_done(registers);
	uint64_t hole = generation % (thread->words * 8 / PAGE) * (PAGE / 8);
	uint64_t address = thread->base + hole * 8;
	bool at_fault = done == hole, missing;

	if (!words_check(region, thread->base, thread->words, done, generation, 1, hole,
			 hole + PAGE / 8))
		return false;
	if (!holds(region, address, PAGE))
		return true;
	missing = is_missing(region, address);
	counts.holes += missing;
	for (uint64_t i = 0; i < PAGE; i += 8) {
		if (is_missing(region, address + i) != missing)
			return wrong("a part of a page is missing");
	}
	/* While the first store to it faults it may be either. */
	if (!at_fault && missing != (done < hole))
		return wrong("the hole is%s missing, %" PRIu64 " words are done, it is %" PRIu64,
			     missing ? "" : " not", done, hole);
	return true;
}

/* pread of generation 0 or 1 over the other generation: byte by byte, from the front. */
static bool pread_check(const struct sample *sample, const struct thread *thread)
{
	const struct region *region = &sample->regions[0];
	uint64_t generation = sample->registers[R10] / (thread->words * 8), at;
	uint64_t words = words_in(region, thread->base, thread->words);
	bool old_seen = false;

	if (sample->registers[RSI] != thread->base || sample->registers[RDX] != thread->words * 8 ||
	    generation > 1)
		return wrong("the arguments are wrong");
	counts.words += words;
	for (uint64_t i = 0; i < words; i++) {
		const uint8_t *bytes = region->bytes + (thread->base + i * 8 - region->address);
		uint64_t fresh = TORN_WORD(generation, i), old = TORN_WORD(!generation, i);

		if (region->missing->n_items && is_missing(region, thread->base + i * 8)) {
			counts.missing += (thread->base + i * 8) % PAGE == 0;
			continue;
		}
		if (!old_seen && !memcmp(bytes, &fresh, 8))
			continue;
		at = 0;
		while (!old_seen && bytes[at] == ((const uint8_t *)&fresh)[at])
			at++;
		if (sample->where != REEL_WHERE_SYSCALL ||
		    memcmp(bytes + at, (const uint8_t *)&old + at, 8 - at))
			return wrong("word %" PRIu64 " is neither new nor old", i);
		old_seen = true;
	}
	return true;
}

/* ---- a sample
 * ------------------------------------------------------------------------------------ */

/* The stack below a handler, by the registers saved in the signal frame. */
static bool interrupted_check(const struct sample *sample, struct thread *thread)
{
	const struct region *region = &sample->regions[1];
	uint64_t context = sample->registers[R9] + UCONTEXT_REGISTERS;
	uint64_t registers[REGISTERS];

	if (sample->n_regions != 2 || region->kind != 1)
		return wrong("a handler's sample without the interrupted stack");
	if (!in_up(sample->registers[PC]))
		return words_uniform(region, thread->base, thread->words, true, 1) &&
		       still_check(thread, region);
	if (!holds(&sample->regions[0], context, sizeof(ucontext_order) * 8))
		return wrong("the signal frame is not in the region");
	for (size_t i = 0; i < sizeof(ucontext_order); i++)
		registers[ucontext_order[i]] = word_at(&sample->regions[0], context + i * 8);
	if (!bounds_check(sample, region, registers[RSP], thread->top) ||
	    !still_check(thread, region))
		return false;
	if (in_up(registers[PC]))
		return up_check(region, registers, thread->base, thread->words);
	return words_uniform(region, thread->base, thread->words, false, 1);
}

static bool handler_check(const struct sample *sample, struct thread *thread)
{
	const struct region *region = &sample->regions[0];

	counts.handler++;
	if (!bounds_check(sample, region, sample->registers[RSP], thread->alternate_top) ||
	    !interrupted_check(sample, thread))
		return false;
	if (in_up(sample->registers[PC])) {
		counts.exact++;
		return up_check(region, sample->registers, thread->handler_base,
				TORN_HANDLER_WORDS) &&
		       return_address_check(region, sample->registers[RSP]);
	}
	counts.uniform++;
	/* Before the handler's own frame exists, and after it. */
	return !holds(region, thread->handler_base, 8) ||
	       words_uniform(region, thread->handler_base, TORN_HANDLER_WORDS, false, 1);
}

static bool loop_check(const struct sample *sample, struct thread *thread)
{
	const struct region *region = &sample->regions[0];
	uint64_t pc = sample->registers[PC];

	if (in_up(pc) || (pc >= places[REP] && pc < places[PUSH_END]) ||
	    (pc == places[PREAD_DONE] && thread->mode == TORN_SYS)) {
		counts.exact++;
		if (in_up(pc) || pc < places[PUSH] || pc == places[PREAD_DONE]) {
			if (!return_address_check(region, sample->registers[RSP]))
				return false;
		}
		if (in_up(pc) && thread->mode == TORN_HOLE)
			return hole_check(sample, thread);
		if (in_up(pc))
			return up_check(region, sample->registers, thread->base, thread->words);
		if (pc < places[PUSH])
			return rep_check(sample, thread);
		if (pc == places[PREAD_DONE]) {
			counts.half += sample->where == REEL_WHERE_SYSCALL;
			return pread_check(sample, thread);
		}
		return push_check(sample);
	}
	counts.uniform++;
	if (thread->mode == TORN_PUSH)
		return true;
	/* Dropped by madvise, or about to be. */
	if (thread->mode == TORN_HOLE) {
		uint64_t first = thread->base, hole, generation;

		for (uint64_t i = 0; i < thread->words; i++, first += 8) {
			if (holds(region, first, 8) && word_at(region, first))
				break;
		}
		if (!holds(region, first, 8))
			return true;
		generation = word_at(region, first) >> 24;
		hole = (generation + 1) % (thread->words * 8 / PAGE) * (PAGE / 8);
		if (!holds(region, thread->base + hole * 8, 8) ||
		    word_at(region, thread->base + hole * 8))
			hole = thread->words;
		return words_check(region, thread->base, thread->words, 0, generation + 1, 1, hole,
				   hole + PAGE / 8);
	}
	return words_uniform(region, thread->base, thread->words, false, thread->mode != TORN_REP);
}

/*
 * Neither this loop nor its handler makes a system call: the sample was taken while rt_sigreturn
 * copied the interrupted registers, pc or sp, over the handler's (arch/x86/kernel/signal_64.c,
 * restore_sigcontext, before it sets orig_ax to -1; SPEC.md, section 8).  The words must still be
 * right.
 */
static bool restoring_check(const struct sample *sample, const struct thread *thread)
{
	counts.restoring++;
	for (size_t i = 0; i < sample->n_regions; i++) {
		if (holds(&sample->regions[i], thread->base, 8))
			return words_uniform(&sample->regions[i], thread->base, thread->words, true,
					     1);
	}
	return wrong("no region has the words");
}

/*
 * The other end of a handler's life: the kernel has copied the handler's arguments, first the
 * signal's number, over the interrupted registers, but not yet its pc and sp
 * (arch/x86/kernel/signal_64.c, x64_setup_rt_frame).
 */
static bool handler_begins(const struct sample *sample, const struct thread *thread)
{
	return thread->mode == TORN_ALT && sample->where == REEL_WHERE_INTERRUPT &&
	       in_up(sample->registers[PC]) && sample->registers[RDI] == SIGUSR1;
}

static bool sample_check(const struct sample *sample, struct thread *thread)
{
	const struct region *region = &sample->regions[0];
	bool on_alternate;
	uint64_t sp = sample->registers[RSP];

	if (!sample->n_regions || region->kind)
		return wrong("%zu regions, the first one of kind %" PRIu64, sample->n_regions,
			     region->kind);
	on_alternate = thread->alternate_top && sp <= thread->alternate_top &&
		       sp > thread->alternate_top - TORN_ALTERNATE_SIZE;
	if (thread->mode == TORN_ALT && sample->where == REEL_WHERE_SYSCALL &&
	    (in_up(sample->registers[PC]) || !on_alternate))
		return restoring_check(sample, thread);
	if (!on_alternate && handler_begins(sample, thread))
		return restoring_check(sample, thread);
	if (on_alternate) {
		if (!thread->handler_time || sample->time < thread->handler_time) {
			counts.outside++;
			return true;
		}
		return handler_check(sample, thread);
	}
	/* In a cut stack, the root part is a separate region of the same kind. */
	if (sample->n_regions != 1 &&
	    !(sample->n_regions == 2 && sample->flags & 1 && !sample->regions[1].kind))
		return wrong("two regions outside of a handler");
	if (!bounds_check(sample, region, sp, thread->top) || !still_check(thread, region))
		return false;
	if (thread->mode == TORN_OTHER) {
		counts.exact++;
		return words_uniform(region, thread->base, thread->words, true, 1);
	}
	return loop_check(sample, thread);
}

/* ---- reading
 * ---------------------------------------------------------------------------------------- */

static const struct reel_field *field(const struct reel_field *fields, size_t count,
				      const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	}
	fprintf(stderr, "torn_check: a record has no %s\n", name);
	exit(2);
}

static void thread_visit(const struct reel_record_view *record)
{
	uint64_t id = field(record->fields, record->n_fields, "id")->value;
	uint64_t tid = field(record->fields, record->n_fields, "tid")->value;

	if (id >= n_ids) {
		by_id = reallocarray(by_id, id + 1, sizeof(*by_id));
		if (!by_id)
			abort();
		memset(by_id + n_ids, 0, (id + 1 - n_ids) * sizeof(*by_id));
		n_ids = id + 1;
	}
	for (size_t i = 0; i < n_threads; i++) {
		if (threads[i].tid == tid)
			by_id[id] = &threads[i];
	}
}

static void registers_read(const struct reel_field *list, struct sample *sample)
{
	sample->known = 0;
	for (size_t i = 0; i < list->n_items; i++) {
		const struct reel_field *item = list->items[i].items;

		if (item[0].value >= REGISTERS || item[2].kind == REEL_FIELD_NULL)
			continue;
		sample->registers[item[0].value] = item[2].value;
		sample->known |= UINT64_C(1) << item[0].value;
	}
}

static void sample_visit(const struct reel_record_view *record)
{
	const struct reel_field *fields = record->fields, *list;
	size_t count = record->n_fields;
	uint64_t id = field(fields, count, "thread")->value;
	struct thread *thread = id < n_ids ? by_id[id] : NULL;
	struct sample sample = { 0 };

	counts.samples++;
	sample.id = field(fields, count, "id")->value;
	sample.time = field(fields, count, "time")->value;
	if (!thread) {
		counts.elsewhere++;
		return;
	}
	if (!thread->time || sample.time < thread->time || sample.time > thread->end) {
		counts.outside++;
		return;
	}
	sample.where = field(fields, count, "where")->value;
	sample.flags = field(fields, count, "flags")->value;
	list = field(fields, count, "registers");
	/* An exited thread has neither. */
	if (list->kind == REEL_FIELD_NULL || !list->n_items) {
		counts.elsewhere++;
		return;
	}
	registers_read(list, &sample);
	list = field(fields, count, "regions");
	for (; sample.n_regions < list->n_items && sample.n_regions < 2; sample.n_regions++) {
		const struct reel_field *item = &list->items[sample.n_regions];
		struct region *region = &sample.regions[sample.n_regions];

		region->kind = field(item->items, item->n_items, "kind")->value;
		region->address = field(item->items, item->n_items, "address")->value;
		region->size = field(item->items, item->n_items, "size")->value;
		region->bytes = field(item->items, item->n_items, "bytes")->bytes;
		region->missing = field(item->items, item->n_items, "missing");
	}
	thread->samples++;
	if (!sample_check(&sample, thread)) {
		counts.torn++;
		if (counts.torn <= 10 && !control)
			printf("sample %" PRIu64 " of %lu (%s), where %" PRIu64 ", pc up%+" PRId64
			       ": %s\n",
			       sample.id, thread->tid, torn_mode_names[thread->mode], sample.where,
			       (int64_t)(sample.registers[PC] - places[UP]), message);
	}
}

static bool visit(void *context, const struct reel_record_view *record)
{
	if (!strcmp(record->name, "SAMPLE"))
		sample_visit(record);
	else if (!strcmp(record->name, "THREAD"))
		thread_visit(record);
	return true;
}

static void losses_print(const struct reel_capture *capture)
{
	size_t count;
	const struct reel_loss_info *losses = reel_capture_losses(capture, &count);
	uint64_t sums[REEL_LOSS_COUNT] = { 0 };
	const char *separator = " losses:";

	for (size_t i = 0; i < count; i++) {
		if (losses[i].cause < REEL_LOSS_COUNT)
			sums[losses[i].cause] += losses[i].count;
	}
	for (unsigned i = 0; i < REEL_LOSS_COUNT; i++) {
		if (sums[i]) {
			printf("%s %" PRIu64 " %s", separator, sums[i],
			       reel_loss_name((enum reel_loss)i));
			separator = ",";
		}
	}
	printf("%s\n", separator[0] == ' ' ? " no losses" : "");
}

int main(int argc, char **argv)
{
	uint64_t minimum = 1;
	struct reel_capture *capture;
	struct reel_error *error;
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (!strcmp(argv[at], "--control"))
			control = true;
		else if (!strcmp(argv[at], "--min") && at + 1 < argc)
			minimum = strtoull(argv[++at], NULL, 10);
	}
	if (argc - at != 2) {
		fprintf(stderr, "torn_check [--control] [--min N] CAPTURE FACTS\n");
		return 2;
	}
	facts_read(argv[at + 1]);
	error = reel_capture_open(argv[at], NULL, &capture);
	if (!error) {
		max_stack = reel_capture_info(capture)->max_stack;
		error = reel_capture_visit_records(capture, visit, NULL);
	}
	if (error) {
		fprintf(stderr, "torn_check: %s\n", reel_error_message(error));
		return 2;
	}
	printf("%" PRIu64 " samples, %" PRIu64 " torn; %" PRIu64 " exact, %" PRIu64 " uniform",
	       counts.samples, counts.torn, counts.exact, counts.uniform);
	printf(" (%" PRIu64 " of them in pread, %" PRIu64 " in a handler, %" PRIu64 " cut, %" PRIu64
	       " with a hole), %" PRIu64 " elsewhere, %" PRIu64
	       " before or after the loops, %" PRIu64
	       " while a handler began, or rt_sigreturn restored registers; %" PRIu64
	       " words, %" PRIu64 " pages of them not resident;",
	       counts.half, counts.handler, counts.cut, counts.holes, counts.elsewhere,
	       counts.outside, counts.restoring, counts.words, counts.missing);
	losses_print(capture);
	for (size_t i = 0; i < n_threads; i++)
		printf("  %s of %" PRIu64 " words: %" PRIu64 " samples\n",
		       torn_mode_names[threads[i].mode], threads[i].words, threads[i].samples);
	reel_capture_close(capture);
	if (control)
		return counts.torn == 0;
	/* Some nanoseconds of each signal; more if a hypervisor stops the CPU there. */
	if (counts.restoring * 100 > counts.samples) {
		printf("too many samples were taken while a handler began or ended\n");
		return 1;
	}
	if (counts.exact < minimum)
		printf("only %" PRIu64 " samples were exact, not %" PRIu64 "\n", counts.exact,
		       minimum);
	return counts.torn != 0 || counts.exact < minimum;
}
