/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/output/progress.h"
#include "base/quantity.h"

#define INTERVAL (500 * REEL_NS_PER_MS)

const char *reel_count_text(uint64_t count, char text[REEL_COUNT_TEXT_SIZE])
{
	char digits[REEL_COUNT_TEXT_SIZE];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

const char *reel_bytes_text(uint64_t bytes, char text[REEL_COUNT_TEXT_SIZE])
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1000) {
		snprintf(text, REEL_COUNT_TEXT_SIZE, "%" PRIu64 " B", bytes);
		return text;
	}
	for (value /= 1000; value >= 999.95 && unit < 5; value /= 1000)
		unit++;
	snprintf(text, REEL_COUNT_TEXT_SIZE, "%.1f %s", value, units[unit]);
	return text;
}

void reel_progress_start(struct reel_progress *progress, bool quiet)
{
	*progress = (struct reel_progress){
		.is_live = !quiet && isatty(STDERR_FILENO),
		.start = reel_now(),
	};
}

void reel_progress_clear(struct reel_progress *progress)
{
	if (progress->line_is_open)
		fputs("\r\033[K", stderr);
	progress->line_is_open = false;
}

void reel_progress_update(struct reel_progress *progress, const struct reel_output_counts *counts,
			  const struct reel_losses *losses)
{
	char samples[REEL_COUNT_TEXT_SIZE], bytes[REEL_COUNT_TEXT_SIZE], lost[REEL_COUNT_TEXT_SIZE];
	uint64_t now = reel_now(), seconds = (now - progress->start) / REEL_NS_PER_SECOND;

	if (!progress->is_live || now - progress->last < INTERVAL)
		return;
	progress->last = now;
	fprintf(stderr, "\r\033[K%02" PRIu64 ":%02" PRIu64 "  %s samples, %s, %s lost",
		seconds / 60, seconds % 60, reel_count_text(counts->samples, samples),
		reel_bytes_text(counts->safe_bytes, bytes),
		reel_count_text(reel_losses_samples(losses), lost));
	progress->line_is_open = true;
}

void reel_progress_threads(struct reel_progress *progress, uint32_t pid, size_t n_threads)
{
	char threads[REEL_COUNT_TEXT_SIZE];

	if (!progress->is_live)
		return;
	fprintf(stderr, "\r\033[Kprocess %" PRIu32 ": %s threads so far", pid,
		reel_count_text(n_threads, threads));
	progress->line_is_open = true;
}

static void print_if_any(uint64_t count, const char *one, const char *several)
{
	char text[REEL_COUNT_TEXT_SIZE];

	if (count)
		fprintf(stderr, ", %s %s", reel_count_text(count, text),
			count == 1 ? one : several);
}

void reel_progress_summary(const struct reel_output_counts *counts,
			   const struct reel_losses *losses,
			   const struct reel_progress_shortage *shortage, const char *where)
{
	char samples[REEL_COUNT_TEXT_SIZE], bytes[REEL_COUNT_TEXT_SIZE], lost[REEL_COUNT_TEXT_SIZE];
	char cut[REEL_COUNT_TEXT_SIZE];

	fprintf(stderr, "%s sample%s, %s", reel_count_text(counts->samples, samples),
		counts->samples == 1 ? "" : "s", reel_bytes_text(counts->safe_bytes, bytes));
	if (counts->samples)
		fprintf(stderr, " (%s/sample)",
			reel_bytes_text(counts->safe_bytes / counts->samples, bytes));
	fprintf(stderr, ", %s lost, %s stacks cut",
		reel_count_text(reel_losses_samples(losses), lost),
		reel_count_text(reel_losses_sum(losses, REEL_LOSS_STACK_CUT), cut));
	print_if_any(reel_losses_sum(losses, REEL_LOSS_COPY_FAILED), "with unreadable pages",
		     "with unreadable pages");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_PROCESS_EVENTS), "process event lost",
		     "process events lost");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_THROTTLED), "time throttled by the kernel",
		     "times throttled by the kernel");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_CPU_NOT_WATCHED), "CPU not recorded",
		     "CPUs not recorded");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_LEFT_OUT), "mapping or name left out",
		     "mappings and names left out");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_CODE), "page of JIT code left out",
		     "pages of JIT code left out");
	print_if_any(reel_losses_sum(losses, REEL_LOSS_JIT), "name of JIT or Python code left out",
		     "names of JIT or Python code left out");
	print_if_any(shortage->above_rate, "hit above --max-rate", "hits above --max-rate");
	if (reel_losses_sum(losses, REEL_LOSS_WAITING))
		fprintf(stderr, ", waits of %.3f s without samples",
			(double)reel_losses_sum(losses, REEL_LOSS_WAITING) /
				(double)REEL_NS_PER_SECOND);
	print_if_any(shortage->dropped, "dropped because the output was too slow",
		     "dropped because the output was too slow");
	print_if_any(shortage->cut, "cut because the output was too slow",
		     "cut because the output was too slow");
	print_if_any(shortage->left_out, "process or file did not answer in time",
		     "processes or files did not answer in time");
	if (shortage->paused)
		fprintf(stderr, ", paused for %.1f s because of --cpu-limit",
			(double)shortage->paused / (double)REEL_NS_PER_SECOND);
	if (shortage->side_limit)
		fputs(", some because of --side-limit", stderr);
	fprintf(stderr, " -> %s\n", where);
}
