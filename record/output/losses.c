/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "record/output/losses.h"

struct loss {
	const void *source;
	uint32_t cpu;
	enum reel_loss cause;
	uint64_t count, written;
};

struct reel_losses {
	struct loss *items;
	size_t count, capacity;
};

struct reel_error *reel_losses_create(struct reel_losses **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

void reel_losses_destroy(struct reel_losses *losses)
{
	if (!losses)
		return;
	free(losses->items);
	free(losses);
}

/* Searches linearly: there are only a few per CPU, without zero counts. */
static struct reel_error *item(struct reel_losses *losses, const void *source, uint32_t cpu,
			       enum reel_loss cause, struct loss **ret)
{
	for (size_t i = 0; i < losses->count; i++) {
		*ret = &losses->items[i];
		if ((*ret)->source == source && (*ret)->cpu == cpu && (*ret)->cause == cause)
			return NULL;
	}
	if (!reel_array_reserve(&losses->items, losses->count, &losses->capacity,
				sizeof(*losses->items)))
		return reel_error_no_memory();
	*ret = &losses->items[losses->count++];
	**ret = (struct loss){ .source = source, .cpu = cpu, .cause = cause };
	return NULL;
}

struct reel_error *reel_losses_set(struct reel_losses *losses, const void *source, uint32_t cpu,
				   enum reel_loss cause, uint64_t count)
{
	struct loss *loss;

	if (!count)
		return NULL;
	TRY(item(losses, source, cpu, cause, &loss));
	loss->count = count;
	return NULL;
}

struct reel_error *reel_losses_add(struct reel_losses *losses, uint32_t cpu, enum reel_loss cause,
				   uint64_t count)
{
	struct loss *loss;

	TRY(item(losses, NULL, cpu, cause, &loss));
	loss->count += count;
	return NULL;
}

struct reel_error *reel_losses_write(struct reel_losses *losses, uint64_t time,
				     const struct reel_record_sink *sink)
{
	for (size_t i = 0; i < losses->count; i++) {
		struct loss *loss = &losses->items[i];
		struct reel_record record = { .id = REEL_RECORD_LOSS };

		if (loss->count == loss->written)
			continue;
		record.loss = (struct reel_record_loss){ time, loss->cpu, loss->cause,
							 loss->count - loss->written };
		TRY(sink->put(sink->context, &record));
		loss->written = loss->count;
	}
	return NULL;
}

uint64_t reel_losses_sum(const struct reel_losses *losses, enum reel_loss cause)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < losses->count; i++) {
		if (losses->items[i].cause == cause)
			sum += losses->items[i].count;
	}
	return sum;
}

uint64_t reel_losses_samples(const struct reel_losses *losses)
{
	return reel_losses_sum(losses, REEL_LOSS_RING_FULL) +
	       reel_losses_sum(losses, REEL_LOSS_RING_BUSY) +
	       reel_losses_sum(losses, REEL_LOSS_RECORDER) +
	       reel_losses_sum(losses, REEL_LOSS_MISSED);
}
