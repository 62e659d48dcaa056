/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/held_samples.h"

#include <stdlib.h>
#include <string.h>

/* 10,000 threads with 12 KiB of stack each. */
#define BYTES_MAX ((size_t)128 << 20)

struct held_sample {
	struct reel_id_entry entry; /* id: the thread's number */
	struct reel_sample sample;
	struct reel_waker waker;
	size_t size;
	/* What the sample's pointers point to. */
	_Alignas(8) uint8_t bytes[];
};

void reel_held_samples_free(struct reel_held_samples *held)
{
	reel_id_table_free_all(&held->by_tid);
	*held = (struct reel_held_samples){ 0 };
}

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t known_size(const struct reel_sample *sample)
{
	return (sample->layout->n_slots + 7) / 8;
}

static size_t size_of(const struct reel_sample *sample)
{
	size_t size = sample->n_regions * sizeof(*sample->regions) +
		      8 * (sample->n_kernel_chain + sample->n_frame_chain);

	size += sample->n_runtime_frames * sizeof(*sample->runtime_frames);
	size += sample->n_labels * sizeof(*sample->labels);
	for (size_t i = 0; i < sample->n_labels; i++)
		size += padded(sample->labels[i].text.size);
	if (sample->layout)
		size += 8 * sample->layout->n_slots + padded(known_size(sample));
	for (size_t i = 0; i < sample->n_regions; i++)
		size += padded(sample->regions[i].size) +
			sample->regions[i].n_missing * sizeof(*sample->regions[i].missing);
	return size;
}

/* Copies to `*at`, which moves past the copy. */
static const void *copy(uint8_t **at, const void *from, size_t size)
{
	uint8_t *to = *at;

	if (size)
		memcpy(to, from, size);
	*at += padded(size);
	return to;
}

static void copy_labels(struct reel_sample *to, const struct reel_sample *from, uint8_t **at)
{
	struct reel_sample_label *labels = (void *)*at;

	to->labels = copy(at, from->labels, from->n_labels * sizeof(*labels));
	for (size_t i = 0; i < from->n_labels; i++)
		labels[i].text.data = copy(at, labels[i].text.data, labels[i].text.size);
}

static void copy_parts(struct held_sample *to, const struct reel_sample *from)
{
	struct reel_sample *sample = &to->sample;
	struct reel_region *regions = (void *)to->bytes;
	uint8_t *at = to->bytes + from->n_regions * sizeof(*regions);

	sample->kernel_chain = copy(&at, from->kernel_chain, 8 * from->n_kernel_chain);
	sample->frame_chain = copy(&at, from->frame_chain, 8 * from->n_frame_chain);
	sample->runtime_frames = copy(&at, from->runtime_frames,
				      from->n_runtime_frames * sizeof(*from->runtime_frames));
	copy_labels(sample, from, &at);
	if (from->layout) {
		sample->values = copy(&at, from->values, 8 * from->layout->n_slots);
		sample->known = copy(&at, from->known, known_size(from));
	}
	for (size_t i = 0; i < from->n_regions; i++) {
		const struct reel_region *region = &from->regions[i];

		regions[i] = *region;
		regions[i].bytes = copy(&at, region->bytes, region->size);
		regions[i].missing =
			copy(&at, region->missing, region->n_missing * sizeof(*region->missing));
	}
	sample->regions = regions;
}

bool reel_held_samples_put(struct reel_held_samples *held, uint32_t tid,
			   const struct reel_sample *sample)
{
	struct held_sample *to;
	size_t size;

	reel_held_samples_remove(held, tid);
	size = sizeof(*to) + size_of(sample);
	if (held->bytes + size > BYTES_MAX)
		return false;
	to = malloc(size);
	if (!to)
		return false;
	*to = (struct held_sample){ .entry.id = tid, .sample = *sample, .size = size };
	copy_parts(to, sample);
	if (!reel_id_table_insert(&held->by_tid, &to->entry)) {
		free(to);
		return false;
	}
	held->bytes += size;
	return true;
}

struct reel_sample *reel_held_samples_find(const struct reel_held_samples *held, uint32_t tid)
{
	struct held_sample *found = (void *)reel_id_table_find(&held->by_tid, tid);

	return found ? &found->sample : NULL;
}

void reel_held_samples_remove(struct reel_held_samples *held, uint32_t tid)
{
	struct held_sample *removed = (void *)reel_id_table_remove(&held->by_tid, tid);

	if (!removed)
		return;
	held->bytes -= removed->size;
	free(removed);
}

void reel_held_samples_set_waker(struct reel_held_samples *held, uint32_t tid, uint64_t time,
				 const struct reel_waker *waker)
{
	struct held_sample *found = (void *)reel_id_table_find(&held->by_tid, tid);

	if (found) {
		found->waker = *waker;
		return;
	}
	held->early[held->next_early++ % REEL_EARLY_WAKERS] =
		(struct reel_early_waker){ tid, time, *waker };
}

bool reel_held_samples_remove_early(struct reel_held_samples *held, uint32_t tid, uint64_t time,
				    struct reel_waker *ret)
{
	for (size_t i = 0; i < REEL_EARLY_WAKERS; i++) {
		struct reel_early_waker *early = &held->early[i];

		if (early->tid != tid || early->time < time)
			continue;
		*ret = early->waker;
		early->tid = 0;
		return true;
	}
	return false;
}

const struct reel_waker *reel_held_samples_waker(const struct reel_held_samples *held, uint32_t tid)
{
	struct held_sample *found = (void *)reel_id_table_find(&held->by_tid, tid);

	return found && *found->waker.name ? &found->waker : NULL;
}
