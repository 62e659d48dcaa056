/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/types.h>
#include <string.h>

#include "record/sampling/sample_labels.h"

static struct reel_sample_label *append_label(struct reel_sample_labels *labels,
					      struct reel_sample *sample, enum reel_label_key key,
					      enum reel_label_kind kind)
{
	struct reel_sample_label *label = &labels->labels[sample->n_labels++];

	*label = (struct reel_sample_label){ .key = key, .kind = kind };
	return label;
}

static void add_waker(struct reel_sample_labels *labels, const struct reel_waker *waker,
		      struct reel_sample *to)
{
	append_label(labels, to, REEL_LABEL_WAKER, REEL_LABEL_TEXT)->text =
		reel_bytes_of_string(waker->name);
	if (waker->tid)
		append_label(labels, to, REEL_LABEL_WAKER_TID, REEL_LABEL_UNSIGNED)->number =
			waker->tid;
	if (waker->sample)
		append_label(labels, to, REEL_LABEL_WAKER_SAMPLE, REEL_LABEL_UNSIGNED)->number =
			waker->sample;
}

void reel_sample_labels_set_wait(struct reel_sample_labels *labels,
				 const struct reel_tracker *tracker, uint32_t pid,
				 struct reel_lock lock, const struct reel_waker *waker,
				 struct reel_sample *to)
{
	struct reel_sample_label kept[4];
	size_t n_kept = 0;

	/* They may be in `labels`. */
	for (size_t i = 0; i < to->n_labels && n_kept < 4; i++) {
		if (to->labels[i].key >= REEL_LABEL_TRACE)
			kept[n_kept++] = to->labels[i];
	}
	to->labels = labels->labels;
	to->n_labels = 0;
	if (lock.address) {
		append_label(labels, to, REEL_LABEL_LOCK, REEL_LABEL_ADDRESS)->number =
			lock.address;
		/* Any other number is not a mutex's owner, and the process's own business. */
		if (lock.owner)
			lock.owner = reel_tracker_find_tid(tracker, pid, lock.owner, to->time);
		if (lock.owner)
			append_label(labels, to, REEL_LABEL_LOCK_OWNER, REEL_LABEL_UNSIGNED)
				->number = lock.owner;
	}
	if (waker)
		add_waker(labels, waker, to);
	for (size_t i = 0; i < n_kept; i++)
		labels->labels[to->n_labels++] = kept[i];
}

void reel_sample_labels_set_values(struct reel_sample_labels *labels,
				   const struct reel_bpf_value specifications[REEL_BPF_VALUES_MAX],
				   const struct reel_bpf_values *values, struct reel_sample *to)
{
	to->labels = labels->labels;
	to->n_labels = 0;
	for (size_t i = 0; i < REEL_BPF_VALUES_MAX; i++) {
		const char *text = (const char *)values->values[i];
		enum reel_label_key key = (enum reel_label_key)(REEL_LABEL_ARG1 + i);

		if (!(values->present >> i & 1))
			continue;
		if (specifications[i].kind != REEL_BPF_VALUE_NUMBER)
			append_label(labels, to, key, REEL_LABEL_TEXT)->text =
				(struct reel_bytes){ (const uint8_t *)text,
						     strnlen(text, REEL_BPF_VALUE_SIZE) };
		else
			append_label(labels, to, key,
				     specifications[i].is_signed ? REEL_LABEL_SIGNED
								 : REEL_LABEL_UNSIGNED)
				->number = values->values[i][0];
	}
}

/* As W3C's Trace Context writes it. */
static struct reel_bytes hex_of(const void *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[((const uint8_t *)bytes)[i] >> 4];
		text[2 * i + 1] = digits[((const uint8_t *)bytes)[i] & 15];
	}
	return (struct reel_bytes){ (const uint8_t *)text, 2 * size };
}

void reel_sample_labels_set_request(struct reel_sample_labels *labels,
				    const struct reel_bpf_request *request, struct reel_sample *to)
{
	to->labels = labels->labels;
	append_label(labels, to, REEL_LABEL_TRACE, REEL_LABEL_TEXT)->text =
		hex_of(request->trace, sizeof(request->trace), labels->trace);
	append_label(labels, to, REEL_LABEL_SPAN, REEL_LABEL_TEXT)->text =
		hex_of(&request->span, sizeof(request->span), labels->span);
}

void reel_sample_labels_set_service(struct reel_sample_labels *labels,
				    const struct reel_proc_service *service, struct reel_sample *to)
{
	to->labels = labels->labels;
	if (service->name[0])
		append_label(labels, to, REEL_LABEL_SERVICE, REEL_LABEL_TEXT)->text =
			reel_bytes_of_string(service->name);
	if (service->environment[0])
		append_label(labels, to, REEL_LABEL_ENVIRONMENT, REEL_LABEL_TEXT)->text =
			reel_bytes_of_string(service->environment);
}
