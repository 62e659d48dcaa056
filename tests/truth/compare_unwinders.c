/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds every sample of a capture by libdw's dwfl and nongnu libunwind, and compares the chains:
 *
 *   compare_unwinders [OPTION]... FILE...
 *
 *   --symfs DIR, --no-host-files  as for stackreel
 *   --examples N     samples shown of each class (2)
 *   --hide-red-zone  hides the bytes below sp from oracles and judge, as in other tools' recordings
 *   --one-stack      a recording of a tool that keeps only the stack that sp points to
 *   --spoil          makes one of our return addresses wrong in each sample, to test this test
 *
 * Every chain of ours is judged step by step as well (cfi_judge.h); a difference counts as
 * explained only if that confirms our whole chain, and the step at which the oracle diverges shows
 * why.  Prints counts by class, and exits with 1 if any difference is unexplained, or too few
 * traces reach the root.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/truth/difference.h"
#include "tests/truth/incomplete.h"

/* Minimum share of traces that reach the root, of those whose stack was not cut. */
#define ROOT_SHARE_MIN 0.9995

struct oracle {
	const char *name;
	bool (*unwind)(const struct truth_sample *sample, struct truth_chain *ret);
	struct truth_chain chain;
	uint64_t samples, frames;
	const char *absent; /* NULL: it works */
	struct truth_tally tally;
};

static struct oracle oracles[] = {
	{ .name = "libdw", .unwind = truth_dwfl_unwind },
	{ .name = "libunwind", .unwind = truth_libunwind_unwind },
};
#define N_ORACLES (sizeof(oracles) / sizeof(oracles[0]))

static size_t examples = 2;
static bool one_stack;

/* ---- ours alone ------------------------------------------------------------------------------ */

struct ours {
	uint64_t samples, frames;
	uint64_t no_state; /* no user stack: nothing to unwind */
	uint64_t cut;
	uint64_t roots;	   /* of the others */
	uint64_t excused;  /* of the others, those that cannot reach it */
	uint64_t replaced; /* roots that were reached through a frame that was being replaced */
	uint64_t single;   /* of one frame */
	uint64_t judged, objections;
	struct truth_tally ends, unfounded;
};

/* Why a trace does not reach the root, and where. */
static void tally_end(struct ours *ours, const struct truth_sample *sample,
		      const struct truth_verdict *verdict)
{
	const struct reel_frame *last = sample->n_ours ? sample->frames[sample->n_ours - 1] : NULL;
	const char *module = last ? strrchr(last->module_path, '/') : NULL;
	const char *reason = truth_incomplete_reason(sample, verdict, one_stack);
	const char *stop = reel_stop_name(sample->trace->stop);
	char class[400];

	/* The function only matters where CFI is missing. */
	if (reason && sample->trace->stop != REEL_STOP_NO_UNWIND_INFO)
		snprintf(class, sizeof(class), "%s: %s", stop, reason);
	else
		snprintf(class, sizeof(class), "%s: %s in %s%s%s", stop,
			 last && *last->function ? last->function : "?",
			 module			      ? module + 1
			 : last && *last->module_path ? last->module_path
						      : "no module",
			 reason ? ": " : "", reason ? reason : "");
	ours->excused += reason != NULL;
	truth_tally_add(&ours->ends, class, reason, sample, NULL, NULL, 0);
}

static void judge_ours(struct ours *ours, const struct truth_sample *sample,
		       struct truth_verdict *verdict)
{
	char class[400];

	ours->judged++;
	truth_judge(sample, verdict);
	if (verdict->whole)
		return;
	ours->objections++;
	snprintf(class, sizeof(class), "ours ends \"%s\", by libdw's rows: %s%s",
		 reel_stop_name(sample->trace->stop),
		 verdict->n ? truth_how_names[verdict->steps[verdict->n - 1].how] : "another pc",
		 verdict->other ? ", to another pc" : "");
	truth_tally_add(&ours->unfounded, class, false, sample, verdict, NULL,
			verdict->confirmed ? verdict->confirmed - 1 : 0);
}

static void take_ours(struct ours *ours, const struct truth_sample *sample,
		      struct truth_verdict *verdict)
{
	ours->samples++;
	ours->frames += sample->n_ours;
	ours->single += sample->n_ours < 2;
	judge_ours(ours, sample, verdict);
	if (sample->trace->stack_cut) {
		ours->cut++;
		return;
	}
	if (sample->trace->stop == REEL_STOP_ROOT) {
		ours->roots++;
		ours->replaced += truth_frame_being_replaced(sample) < sample->n_ours;
	} else {
		tally_end(ours, sample, verdict);
	}
}

/* ---- oracles -------------------------------------------------------------------------------- */

static void compare(struct oracle *oracle, const struct truth_sample *sample,
		    const struct truth_verdict *verdict)
{
	struct truth_difference difference;

	if (!oracle->unwind(sample, &oracle->chain)) {
		oracle->absent = truth_libunwind_absent(sample);
		if (!oracle->absent)
			oracle->absent = "it does not support this CPU";
		return;
	}
	oracle->samples++;
	oracle->frames += oracle->chain.n;
	truth_difference_find(sample, verdict, &oracle->chain, oracle == &oracles[0], &difference);
	truth_tally_add(&oracle->tally, difference.class, difference.explained, sample, verdict,
			&oracle->chain, difference.common ? difference.common - 1 : 0);
}

static uint64_t print_oracle(struct oracle *oracle)
{
	uint64_t unexplained = 0;

	if (!oracle->samples) {
		printf("  %s: skipped: %s\n", oracle->name,
		       oracle->absent ? oracle->absent : "no sample has a user stack");
		return 0;
	}
	printf("  %s: %" PRIu64 " samples, %" PRIu64 " frames\n", oracle->name, oracle->samples,
	       oracle->frames);
	unexplained = truth_tally_print(&oracle->tally, oracle->samples, examples);
	truth_tally_clear(&oracle->tally);
	free(oracle->chain.pcs);
	oracle->chain = (struct truth_chain){ 0 };
	oracle->samples = oracle->frames = 0;
	oracle->absent = NULL;
	return unexplained;
}

/* ---- a capture ------------------------------------------------------------------------------ */

static bool compare_capture(const char *path, const struct truth_capture_options *options)
{
	struct truth_capture *capture = truth_capture_open(path, options);
	struct truth_verdict verdict = { 0 };
	const struct truth_sample *sample;
	struct ours ours = { 0 };
	uint64_t unexplained = 0, whole;
	bool enough;

	printf("%s (%s)\n", path, truth_capture_arch(capture));
	while ((sample = truth_capture_next(capture))) {
		/* A kernel thread, or a task whose memory does not exist yet or any more. */
		if (!sample->sample->layout || !sample->sample->n_regions) {
			ours.no_state++;
			continue;
		}
		take_ours(&ours, sample, &verdict);
		for (size_t i = 0; i < N_ORACLES; i++)
			compare(&oracles[i], sample, &verdict);
	}
	printf("  ours: %" PRIu64 " samples with a user stack, %" PRIu64 " frames; %" PRIu64
	       " of one frame; %" PRIu64 " samples without\n",
	       ours.samples, ours.frames, ours.single, ours.no_state);
	whole = ours.samples - ours.cut;
	printf("  root reached: %" PRIu64 " of %" PRIu64
	       " whose stack was not cut (%.3f %%); %" PRIu64 " cut\n",
	       ours.roots, whole, whole ? 100.0 * (double)ours.roots / (double)whole : 100,
	       ours.cut);
	truth_tally_print(&ours.ends, whole, examples);
	if (ours.excused)
		printf("  root reached, of those that can: %.3f %%\n",
		       100.0 * (double)ours.roots / (double)(whole - ours.excused));
	if (ours.replaced)
		printf("  %" PRIu64
		       " of them through a frame that uw_install_context was overwriting\n",
		       ours.replaced);
	printf("  by libdw's rows, step by step: %" PRIu64 " of %" PRIu64 " confirmed\n",
	       ours.judged - ours.objections, ours.judged);
	unexplained += truth_tally_print(&ours.unfounded, ours.judged, examples);
	for (size_t i = 0; i < N_ORACLES; i++)
		unexplained += print_oracle(&oracles[i]);
	if (truth_capture_mappings_left_out(capture))
		printf("  mappings without a file for the oracles: %" PRIu64 "\n",
		       truth_capture_mappings_left_out(capture));
	enough = (double)ours.roots >= ROOT_SHARE_MIN * (double)(whole - ours.excused);
	printf("  unexplained: %" PRIu64 "%s\n", unexplained,
	       enough ? "" : "; too few traces reach the root");
	truth_tally_clear(&ours.ends);
	truth_tally_clear(&ours.unfounded);
	free(verdict.steps);
	truth_capture_close(capture);
	if (!ours.samples)
		printf("  no sample to compare\n");
	return ours.samples && enough && !unexplained;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "symfs", required_argument, NULL, 's' },
		{ "no-host-files", no_argument, NULL, 'n' },
		{ "examples", required_argument, NULL, 'e' },
		{ "hide-red-zone", no_argument, NULL, 'r' },
		{ "one-stack", no_argument, NULL, 'o' },
		{ "spoil", no_argument, NULL, 'x' },
		{ 0 },
	};
	const char *symfs[] = { NULL, NULL };
	struct truth_capture_options options = { .symfs = symfs };
	bool ok = true;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 's')
			symfs[0] = optarg;
		else if (option == 'n')
			options.no_host_files = true;
		else if (option == 'e')
			examples = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			options.hide_red_zone = true;
		else if (option == 'o')
			one_stack = true;
		else if (option == 'x')
			options.spoil = true;
		else
			return 2;
	}
	if (optind == argc)
		errx(2, "usage: compare_unwinders [OPTION]... FILE...");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = optind; i < argc; i++)
		ok &= compare_capture(argv[i], &options);
	return ok ? 0 : 1;
}
