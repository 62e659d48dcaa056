/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of differences by class, with the first examples of each. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/truth/difference.h"

#define EXAMPLES_MAX 16
#define CODE_SHOWN   12

struct truth_class {
	char *name;
	bool explained;
	uint64_t count;
	char *examples[EXAMPLES_MAX];
	size_t n_examples;
};

/* ---- examples -------------------------------------------------------------------------------- */

static void print_code(FILE *to, const struct truth_sample *sample, uint64_t address)
{
	uint8_t byte;

	for (int i = -4; i < CODE_SHOWN; i++) {
		if (!i)
			fprintf(to, " <");
		else if (i != -4)
			fprintf(to, " ");
		if (truth_read_file(sample, address + (uint64_t)(int64_t)i, 1, &byte))
			fprintf(to, "%02x", byte);
		else
			fprintf(to, "??");
		if (!i)
			fprintf(to, ">");
	}
}

static void print_frame(FILE *to, const struct truth_sample *sample,
			const struct truth_verdict *verdict, size_t i)
{
	const struct reel_frame *frame = sample->frames[i];

	fprintf(to, "      #%zu %s+0x%" PRIx64 " %s+0x%" PRIx64 "; code ", i,
		*frame->module_path ? frame->module_path : "nowhere", frame->module_address,
		*frame->function ? frame->function : "?", frame->function_offset);
	print_code(to, sample, sample->ours[i]);
	if (verdict && i < verdict->n)
		fprintf(to, "; sp %" PRIx64 " cfa %" PRIx64 ", %s, flags %x", verdict->steps[i].sp,
			verdict->steps[i].cfa, truth_how_names[verdict->steps[i].how],
			verdict->steps[i].flags);
	fprintf(to, "\n");
}

static void print_sample(FILE *to, const struct truth_sample *sample,
			 const struct truth_verdict *verdict, const struct truth_chain *oracle,
			 size_t frame)
{
	uint64_t known = frame + 1 < sample->n_ours ? sample->ours[frame + 1] : 0;
	/* The leaf, and the frames where they part. */
	size_t from = frame > 1 ? frame - 1 : 1, to_frame = frame + 1;

	fprintf(to, "    sample %" PRIu64 " of %s: %zu frames, %s", sample->trace->id,
		sample->trace->comm, sample->n_ours, reel_stop_name(sample->trace->stop));
	if (oracle)
		fprintf(to, "; theirs %zu frames%s%s, next %" PRIx64 " where ours has %" PRIx64,
			oracle->n, *oracle->end ? ", " : "", oracle->end,
			frame + 1 < oracle->n ? oracle->pcs[frame + 1] : 0, known);
	else if (verdict && verdict->other)
		fprintf(to, "; next %" PRIx64 " where ours has %" PRIx64, verdict->other, known);
	fprintf(to, "\n");
	for (size_t i = 0; i < sample->n_ours && i <= to_frame; i++)
		if (!i || i >= from)
			print_frame(to, sample, verdict, i);
}

static char *example_of(const struct truth_sample *sample, const struct truth_verdict *verdict,
			const struct truth_chain *oracle, size_t frame)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		err(2, "memory");
	print_sample(to, sample, verdict, oracle, frame);
	fclose(to);
	return text;
}

/* ---- counts --------------------------------------------------------------------------------- */

static struct truth_class *class_named(struct truth_tally *tally, const char *name, bool explained)
{
	struct truth_class *class;

	for (size_t i = 0; i < tally->n; i++)
		if (tally->classes[i].explained == explained &&
		    !strcmp(tally->classes[i].name, name))
			return &tally->classes[i];
	tally->classes = reallocarray(tally->classes, tally->n + 1, sizeof(*tally->classes));
	if (!tally->classes)
		err(2, "memory");
	class = &tally->classes[tally->n++];
	*class = (struct truth_class){ .name = strdup(name), .explained = explained };
	return class;
}

void truth_tally_add(struct truth_tally *tally, const char *name, bool explained,
		     const struct truth_sample *sample, const struct truth_verdict *verdict,
		     const struct truth_chain *oracle, size_t frame)
{
	struct truth_class *class = class_named(tally, name, explained);

	class->count++;
	if (class->n_examples < EXAMPLES_MAX && strcmp(name, "equal"))
		class->examples[class->n_examples++] = example_of(sample, verdict, oracle, frame);
}

static int by_count(const void *a, const void *b)
{
	const struct truth_class *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

uint64_t truth_tally_print(const struct truth_tally *tally, uint64_t total, size_t examples)
{
	uint64_t unexplained = 0;

	if (tally->n)
		qsort(tally->classes, tally->n, sizeof(*tally->classes), by_count);
	for (size_t i = 0; i < tally->n; i++) {
		const struct truth_class *class = &tally->classes[i];

		if (!class->explained)
			unexplained += class->count;
		printf("    %8" PRIu64 " %7.3f %%  %s%s\n", class->count,
		       total ? 100.0 * (double)class->count / (double)total : 0,
		       class->explained ? "" : "UNEXPLAINED ", class->name);
		for (size_t j = 0; j < class->n_examples && j < examples; j++)
			fputs(class->examples[j], stdout);
	}
	return unexplained;
}

void truth_tally_clear(struct truth_tally *tally)
{
	for (size_t i = 0; i < tally->n; i++) {
		for (size_t j = 0; j < tally->classes[i].n_examples; j++)
			free(tally->classes[i].examples[j]);
		free(tally->classes[i].name);
	}
	free(tally->classes);
	*tally = (struct truth_tally){ 0 };
}
