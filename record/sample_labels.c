/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/types.h>

#include "record/sample_labels.h"

static void add(struct reel_sample_labels *labels, struct reel_sample *sample,
		enum reel_label_key key, enum reel_label_kind kind, uint64_t number)
{
	labels->labels[sample->n_labels++] =
		(struct reel_sample_label){ .key = key, .kind = kind, .number = number };
}

void reel_sample_labels_set_lock(struct reel_sample_labels *labels,
				 const struct reel_tracker *tracker, uint32_t pid, uint64_t lock,
				 uint32_t owner, struct reel_sample *to)
{
	to->labels = labels->labels;
	to->n_labels = 0;
	add(labels, to, REEL_LABEL_LOCK, REEL_LABEL_ADDRESS, lock);
	/* Any other number is not a mutex's owner, and the process's own business. */
	if (owner)
		owner = reel_tracker_find_tid(tracker, pid, owner);
	if (owner)
		add(labels, to, REEL_LABEL_LOCK_OWNER, REEL_LABEL_UNSIGNED, owner);
}
