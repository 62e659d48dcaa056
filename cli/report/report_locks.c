/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/print/text.h"
#include "cli/report/name_column.h"
#include "cli/report/locks.h"
#include "cli/report/report_tree.h"
#include "cli/session/selection.h"
#include "cli/session/summary.h"

/* Columns before the name: share, time, samples, threads. */
#define FIXED_WIDTH 40
/* On a terminal narrower than this, only the share. */
#define TERMINAL_WIDTH 80
#define SHARE_WIDTH    10
#define INDENT	       "  "

#define EVENT "off-cpu"

static bool have_waits(const struct locks *locks, struct session *session)
{
	if (locks->count)
		return true;
	for (size_t i = 0; i < session->n_events; i++) {
		if (!strcmp(session->events[i].name, EVENT))
			return session_explain_label(session, "lock");
	}
	complain("%s: no waits were recorded, so there are no locks; record with stackreel-record "
		 "--off-cpu",
		 session->options->file);
	return false;
}

/* ---- the table ---------------------------------------------------------------------------- */

struct locks_table {
	const struct locks *locks;
	const struct output *output;
	uint64_t all, limit;
	bool share_alone;
	size_t n_hidden;
	uint64_t hidden; /* weight */
};

static void print_head(const struct locks_table *table)
{
	const struct output *output = table->output;

	fprintf(output->file, "%s%8s  ", color_bold(output), "SHARE");
	if (!table->share_alone)
		fprintf(output->file, "%9s  %9s %7s  ", "time", "SAMPLES", "THREADS");
	fprintf(output->file, "LOCK, AND WHERE THREADS WAIT FOR IT%s\n", color_end(output));
}

/* `n_threads` is 0 for functions. */
static void print_row(const struct locks_table *table, const struct call_tree_node *node,
		      size_t n_threads)
{
	const struct output *output = table->output;
	const struct symbol *symbol = node->key;
	uint64_t percent = percent_of(node->total.weight, table->all);
	const char *indent = n_threads ? "" : INDENT;
	size_t used = (table->share_alone ? SHARE_WIDTH : FIXED_WIDTH) + strlen(indent);
	_cleanup_free_ char *name = memory_print("%s%s", symbol_shown(symbol, output->short_names),
						 symbol->inlined ? " (inlined)" : "");

	fprintf(output->file, "%s%6s %%%s  ", color_of_share(output, percent),
		format_percent(node->total.weight, table->all).text, color_end(output));
	if (!table->share_alone)
		fprintf(output->file, "%9s  %9s %7s  ", format_nanoseconds(node->total.weight).text,
			format_count(node->total.samples).text,
			n_threads ? format_count(n_threads).text : "");
	fprintf(output->file, "%s%s", indent, n_threads ? color_bold(output) : "");
	name_print_end(name, name_room(used, output), output);
	fprintf(output->file, "%s\n", n_threads ? color_end(output) : "");
}

static int print_node(void *context, uint32_t number, size_t depth)
{
	struct locks_table *table = context;
	const struct call_tree_node *node = &table->locks->waiting.nodes[number];
	const struct symbol *symbol = node->key;

	if (percent_of(node->total.weight, table->all) >= table->limit) {
		print_row(table, node,
			  depth == 1 ? table->locks->items[symbol->number].n_threads : 0);
		return 1;
	}
	if (depth == 1) {
		table->n_hidden++;
		table->hidden += node->total.weight;
	}
	return 0;
}

static void print_table(const struct locks *locks, uint64_t all, uint64_t limit,
			const struct output *output)
{
	struct locks_table table = {
		.locks = locks,
		.output = output,
		.all = all,
		.limit = limit,
		.share_alone = output->width && output->width < TERMINAL_WIDTH,
	};

	print_head(&table);
	call_tree_walk(&locks->waiting, print_node, NULL, &table);
	if (table.n_hidden)
		fprintf(output->file, "# %s more below --percent-limit %s, together %s\n",
			format_count(table.n_hidden).text, format_limit(limit).text,
			format_share(table.hidden, all).text);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void print_report(const struct locks *locks, uint64_t limit, const struct output *output)
{
	struct amount all = locks->waiting.nodes[CALL_TREE_ROOT].total;
	struct tree_shares shares = { .all = all.weight, .limit = limit, .limit_of = all.weight };

	fprintf(output->file, "\n# %s waited %s for %s, in %s; shares are of this time\n",
		format_plural(locks->n_waiting_threads, "thread").text,
		format_nanoseconds(all.weight).text, format_plural(locks->count, "lock").text,
		format_plural(all.samples, "sample").text);
	print_table(locks, all.weight, limit, output);
	fputs("\n# below each lock who held it, and what these threads did while others waited\n",
	      output->file);
	tree_draw(&locks->held, &shares, NULL, "LOCK, HOLDER, ITS FUNCTIONS", output);
}

int report_locks(struct session *session, uint64_t limit)
{
	struct locks locks;
	struct output output;
	int status = STATUS_ERROR;

	locks_init(&locks);
	if (session_visit(session, locks_add, &locks) && have_waits(&locks, session) &&
	    locks_finish(&locks, session->capture) &&
	    options_open_output(session->options, &output)) {
		summary_print_head(session, output.file);
		print_report(&locks, limit, &output);
		status = output_close(&output, session_status(session));
	}
	locks_free(&locks);
	return status;
}
