/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/print/text.h"
#include "cli/report/frame_compare.h"
#include "cli/report/name_column.h"

struct comparing {
	struct frame_comparison *ret;
	const uint64_t *stack, *chain;
	size_t n_stack, n_chain;
};

void frame_comparison_free(struct frame_comparison *comparison)
{
	free(comparison->breaks);
	free(comparison->positions);
	*comparison = (struct frame_comparison){ 0 };
}

/* ---- where an address is on the stack --------------------------------------------------- */

static int by_position(const void *a, const void *b)
{
	const struct frame_position *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->frame > right->frame) - (left->frame < right->frame);
}

static void sort_places(const struct comparing *c)
{
	struct frame_comparison *ret = c->ret;

	ret->positions = memory_reserve(ret->positions, &ret->positions_capacity, c->n_stack,
					sizeof(*ret->positions));
	for (size_t i = 0; i < c->n_stack; i++)
		ret->positions[i] = (struct frame_position){ c->stack[i], i };
	qsort(ret->positions, c->n_stack, sizeof(*ret->positions), by_position);
}

/* The number of positions before (address, frame). */
static size_t positions_before(const struct comparing *c, uint64_t address, size_t frame)
{
	struct frame_position wanted = { address, frame };

	return REEL_PARTITION_POINT(c->n_stack, i, by_position(&c->ret->positions[i], &wanted) < 0);
}

#define NOWHERE SIZE_MAX

/* The first frame of the address from `frame` on. */
static size_t first_place(const struct comparing *c, uint64_t address, size_t frame)
{
	size_t i = positions_before(c, address, frame);

	return i < c->n_stack && c->ret->positions[i].address == address
		       ? c->ret->positions[i].frame
		       : NOWHERE;
}

/* The last frame of an address that is on the stack. */
static size_t last_place(const struct comparing *c, uint64_t address)
{
	return c->ret->positions[positions_before(c, address, SIZE_MAX) - 1].frame;
}

/* ---- breaks ------------------------------------------------------------------------------ */

/* The chain has stack[end], if it exists, and has `wrong` addresses in place of [begin, end). */
static void add_break(struct comparing *c, size_t begin, size_t end, size_t wrong)
{
	struct frame_comparison *ret = c->ret;

	if (begin == end && !wrong)
		return;
	ret->breaks = memory_reserve(ret->breaks, &ret->breaks_capacity, ret->n_breaks,
				     sizeof(*ret->breaks));
	ret->breaks[ret->n_breaks++] = (struct frame_break){
		.frame = begin ? begin - 1 : 0,
		.lost = end - begin,
		.wrong = wrong,
		.resumes = end < c->n_stack,
	};
	ret->lost += end - begin;
	ret->wrong += wrong;
}

static void forget_breaks(struct comparing *c)
{
	c->ret->n_breaks = c->ret->lost = c->ret->wrong = 0;
}

/*
 * Matches each address of chain[0..n_chain) at its first place after the previous one, within
 * stack[0..n_stack). Returns the number of frames consumed, and in *wrong_ret the number of
 * following addresses not on the stack.
 */
static size_t match_forwards(struct comparing *c, size_t n_stack, size_t n_chain, size_t *wrong_ret)
{
	size_t done = 0, wrong = 0;

	for (size_t i = 0; i < n_chain; i++) {
		size_t frame = first_place(c, c->chain[i], done);

		if (frame >= n_stack) {
			wrong++;
			continue;
		}
		add_break(c, done, frame, wrong);
		wrong = 0;
		done = frame + 1;
	}
	*wrong_ret = wrong;
	return done;
}

/*
 * The whole chain is in stack[0..end), and both end with the same address. In recursions the same
 * addresses repeat, which leaves open which of them are lost: most often the caller of the leaf,
 * which has not made its frame record yet. So match from the chain's end.
 */
static void match_backwards(struct comparing *c, size_t end)
{
	size_t same = 0, done, wrong;

	while (same + 1 < c->n_chain && same + 1 < end &&
	       c->stack[end - 1 - same] == c->chain[c->n_chain - 1 - same])
		same++;
	done = match_forwards(c, end - same, c->n_chain - same, &wrong);
	add_break(c, done, end - same, wrong);
}

void frame_compare(struct frame_comparison *comparison, const uint64_t *stack, size_t n_stack,
		   const uint64_t *chain, size_t n_chain, bool at_limit)
{
	struct comparing c = { comparison, stack, chain, n_stack, n_chain };
	size_t done = 0, wrong = 0;

	forget_breaks(&c);
	comparison->cut = false;
	while (done < n_stack && done < n_chain && stack[done] == chain[done])
		done++;
	if (done < n_chain) {
		sort_places(&c);
		done = match_forwards(&c, n_stack, n_chain, &wrong);
		if (!wrong && !comparison->wrong && n_chain > 1) {
			/* A cut chain ends as early as possible. */
			if (!at_limit)
				done = last_place(&c, chain[n_chain - 1]) + 1;
			forget_breaks(&c);
			match_backwards(&c, done);
		}
	}
	/* A chain that went astray would not have reached the root without the limit either. */
	comparison->cut = at_limit && !wrong && !comparison->wrong && done < n_stack;
	if (!comparison->cut)
		add_break(&c, done, n_stack, wrong);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Columns before the symbol: samples, their share, frames. */
#define FIXED_WIDTH 36

void compare_report_init(struct compare_report *report)
{
	*report = (struct compare_report){ 0 };
	symbol_table_init(&report->symbols, SYMBOLS_BY_FUNCTION);
}

void compare_report_free(struct compare_report *report)
{
	for (size_t i = 0; i < report->n_breakers; i++)
		free(report->breakers[i]);
	free(report->breakers);
	pointer_map_free(&report->by_symbol);
	symbol_table_free(&report->symbols);
	frame_comparison_free(&report->comparison);
	free(report->stack);
	free((void *)report->stack_frames);
}

/* ---- adding up ---------------------------------------------------------------------------- */

static struct breaker *breaker_of(struct compare_report *report, const struct reel_frame *frame)
{
	const struct symbol *symbol = symbol_of_frame(&report->symbols, frame);
	struct breaker *breaker = pointer_map_get(&report->by_symbol, symbol);

	if (breaker)
		return breaker;
	report->breakers = memory_reserve(report->breakers, &report->capacity, report->n_breakers,
					  sizeof(struct breaker *));
	breaker = memory_get(sizeof(*breaker));
	*breaker = (struct breaker){ .symbol = symbol };
	report->breakers[report->n_breakers++] = breaker;
	pointer_map_put(&report->by_symbol, symbol, breaker);
	return breaker;
}

static void count_break(struct compare_report *report, const struct frame_break *at)
{
	struct breaker *breaker = breaker_of(report, report->stack_frames[at->frame]);

	if (breaker->last_sample != report->compared)
		breaker->count.samples++;
	breaker->last_sample = report->compared;
	breaker->count.frames += at->lost;
}

/* Counts the sample's kinds of breaks. */
static void count_kinds(struct compare_report *report)
{
	const struct frame_comparison *comparison = &report->comparison;
	uint64_t caller = 0, middle = 0, end = 0;

	for (size_t i = 0; i < comparison->n_breaks; i++) {
		const struct frame_break *at = &comparison->breaks[i];

		if (!at->resumes)
			end += at->lost;
		else if (at->frame)
			middle += at->lost;
		else
			caller += at->lost;
	}
	report->caller.samples += caller != 0;
	report->caller.frames += caller;
	report->middle.samples += middle != 0;
	report->middle.frames += middle;
	report->end.samples += end != 0;
	report->end.frames += end;
	report->wrong += comparison->wrong != 0;
	report->wrong_addresses += comparison->wrong;
}

/* The user's physical frames: inlined functions have no frame for a chain to contain. */
static size_t keep_stack(struct compare_report *report, const struct reel_trace *trace)
{
	size_t n = 0;

	report->stack = memory_reserve(report->stack, &(size_t){ report->stack_capacity },
				       trace->n_frames, sizeof(uint64_t));
	report->stack_frames = memory_reserve(report->stack_frames, &report->stack_capacity,
					      trace->n_frames, sizeof(struct reel_frame *));
	for (size_t i = trace->n_kernel_frames; i < trace->n_frames; i++) {
		if (trace->frames[i]->inlined)
			continue;
		/* Such a chain cannot continue past the gap either. */
		if (trace->steps[i] == REEL_STEP_GAP)
			break;
		report->stack[n] = trace->addresses[i];
		report->stack_frames[n++] = trace->frames[i];
	}
	return n;
}

/* The trace itself comes from such a chain. */
static bool is_chain_only(const struct reel_trace *trace)
{
	for (size_t i = trace->n_kernel_frames; i < trace->n_frames; i++) {
		if (trace->steps[i] == REEL_STEP_RECORDED ||
		    trace->steps[i] == REEL_STEP_RECORDED_CALL)
			return true;
	}
	return trace->stop == REEL_STOP_RECORDED_END;
}

bool compare_report_add(void *context, const struct reel_trace *trace,
			const struct reel_event_info *event)
{
	struct compare_report *report = context;
	struct frame_comparison *comparison = &report->comparison;
	size_t n;

	(void)event;
	/* A kernel thread has no stack to walk. */
	if (trace->stop == REEL_STOP_NO_USER_STATE)
		return true;
	if (!trace->n_frame_chain) {
		if (is_chain_only(trace))
			report->chain_only++;
		else
			report->without_chain++;
		return true;
	}
	n = keep_stack(report, trace);
	if (trace->stop != REEL_STOP_ROOT || !n) {
		report->incomplete++;
		return true;
	}
	report->compared++;
	report->frames += n;
	frame_compare(comparison, report->stack, n, trace->frame_chain, trace->n_frame_chain,
		      trace->frame_chain_cut);
	report->cut += comparison->cut;
	report->whole += !comparison->n_breaks;
	report->lacking.samples += comparison->n_breaks != 0;
	report->lacking.frames += comparison->lost;
	count_kinds(report);
	for (size_t i = 0; i < comparison->n_breaks; i++)
		count_break(report, &comparison->breaks[i]);
	return true;
}

/* ---- printing ------------------------------------------------------------------------------ */

void compare_report_print_head(const struct compare_report *report, FILE *file)
{
	const struct {
		uint64_t count;
		const char *what;
	} others[] = {
		{ report->incomplete, "are incomplete themselves" },
		{ report->without_chain, "have no such walk" },
		{ report->chain_only, "are such walks themselves" },
	};

	fprintf(file, "# compared with walks by frame pointers: %s traces",
		format_count(report->compared).text);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i].count)
			fprintf(file, "; %s %s", format_count(others[i].count).text,
				others[i].what);
	}
	if (report->cut)
		fprintf(file, "; %s walks ended at the recorder's limit; later frames do not count",
			format_count(report->cut).text);
	fputc('\n', file);
}

static void print_counts(const struct compare_report *report, struct count count,
			 const struct output *output)
{
	uint64_t percent = percent_of(count.samples, report->compared);

	fprintf(output->file, "%9s  %s%8s %%%s  %11s  ", format_count(count.samples).text,
		color_of_share(output, percent),
		format_percent(count.samples, report->compared).text, color_end(output),
		format_count(count.frames).text);
}

static void print_kinds(const struct compare_report *report, const struct output *output)
{
	const struct {
		struct count count;
		const char *what;
	} rows[] = {
		{ { report->whole, 0 }, "nothing is missing" },
		{ report->lacking, "missing or wrong frames:" },
		{ report->caller, "  the caller of the leaf function" },
		{ report->middle, "  frames farther up, after which the walk continues" },
		{ report->end, "  all frames from some point on" },
	};

	fprintf(output->file, "%s%9s  %10s  %11s  WALK BY FRAME POINTERS%s\n", color_bold(output),
		"SAMPLES", "SHARE", "FRAMES LOST", color_end(output));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		print_counts(report, rows[i].count, output);
		fprintf(output->file, "%s\n", rows[i].what);
	}
	print_counts(report, (struct count){ report->wrong, 0 }, output);
	fprintf(output->file, "  %s addresses that are not in this stack\n",
		format_count(report->wrong_addresses).text);
	fprintf(output->file, "# frames lost: %s of %s (%s), %s a sample\n",
		format_count(report->lacking.frames).text, format_count(report->frames).text,
		format_share(report->lacking.frames, report->frames).text,
		format_ratio(report->lacking.frames, report->compared).text);
}

static int by_samples(const void *a, const void *b)
{
	const struct breaker *x = *(struct breaker *const *)a, *y = *(struct breaker *const *)b;
	int order;

	if (x->count.samples != y->count.samples)
		return x->count.samples > y->count.samples ? -1 : 1;
	if (x->count.frames != y->count.frames)
		return x->count.frames > y->count.frames ? -1 : 1;
	order = strcmp(x->symbol->name, y->symbol->name);
	return order ? order : strcmp(x->symbol->module, y->symbol->module);
}

static void print_breakers(struct compare_report *report, uint64_t limit,
			   const struct output *output)
{
	struct name_column names = { .head = NAME_HEAD, .module_head = NAME_MODULE_HEAD };
	size_t n = 0;

	if (report->n_breakers)
		qsort(report->breakers, report->n_breakers, sizeof(struct breaker *), by_samples);
	for (; n < report->n_breakers; n++) {
		const struct breaker *breaker = report->breakers[n];

		if (percent_of(breaker->count.samples, report->compared) < limit)
			break;
		name_column_add(&names, symbol_shown(breaker->symbol, output->short_names),
				breaker->symbol->module);
	}
	name_column_fit(&names, FIXED_WIDTH, output);
	fprintf(output->file, "\n%s%9s  %10s  %11s  ", color_bold(output), "SAMPLES", "SHARE",
		"FRAMES LOST");
	name_column_print_head(&names, output);
	for (size_t i = 0; i < n; i++) {
		const struct breaker *breaker = report->breakers[i];

		print_counts(report, breaker->count, output);
		name_column_print(&names, symbol_shown(breaker->symbol, output->short_names),
				  breaker->symbol->module, output);
	}
	if (n < report->n_breakers)
		fprintf(output->file, "# %s more below --percent-limit %s\n",
			format_count(report->n_breakers - n).text, format_limit(limit).text);
}

void compare_report_print(struct compare_report *report, uint64_t limit,
			  const struct output *output)
{
	fputc('\n', output->file);
	print_kinds(report, output);
	if (report->n_breakers)
		print_breakers(report, limit, output);
}
