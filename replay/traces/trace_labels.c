/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/traces/trace_labels.h"

#include <inttypes.h>
#include <stdio.h>

/* Names of enum reel_label_key. */
static const char *const names[] = {
	[REEL_LABEL_LOCK] = "lock",
	[REEL_LABEL_LOCK_OWNER] = "lock-owner",
	[REEL_LABEL_WAKER] = "waker",
	[REEL_LABEL_WAKER_TID] = "waker-tid",
	[REEL_LABEL_WAKER_SAMPLE] = "waker-sample",
	[REEL_LABEL_ARG1] = "arg1",
	[REEL_LABEL_ARG1 + 1] = "arg2",
	[REEL_LABEL_ARG1 + 2] = "arg3",
	[REEL_LABEL_ARG1 + 3] = "arg4",
	[REEL_LABEL_ARG1 + 4] = "arg5",
	[REEL_LABEL_ARG6] = "arg6",
	[REEL_LABEL_TRACE] = "trace",
	[REEL_LABEL_SPAN] = "span",
	[REEL_LABEL_SERVICE] = "service",
	[REEL_LABEL_ENVIRONMENT] = "environment",
};

void reel_trace_labels_free(struct reel_trace_labels *labels)
{
	reel_buffer_free(&labels->texts);
}

/* Appends the value as text, ended by a NUL. */
static void append_text(struct reel_buffer *texts, const struct reel_sample_label *label)
{
	char number[24] = "";

	switch ((enum reel_label_kind)label->kind) {
	case REEL_LABEL_TEXT:
		reel_buffer_append(texts, label->text.data, label->text.size);
		break;
	case REEL_LABEL_UNSIGNED:
		snprintf(number, sizeof(number), "%" PRIu64, label->number);
		break;
	case REEL_LABEL_SIGNED:
		snprintf(number, sizeof(number), "%" PRId64, (int64_t)label->number);
		break;
	case REEL_LABEL_ADDRESS:
		snprintf(number, sizeof(number), "0x%" PRIx64, label->number);
		break;
	}
	reel_buffer_append(texts, number, strlen(number));
	reel_buffer_u8(texts, 0);
}

static void add_lasting(struct reel_trace_labels *labels, const char *key, const char *text)
{
	if (*text)
		labels->labels[labels->n++] = (struct reel_label){ .key = key, .text = text };
}

static void add_cgroup(struct reel_trace_labels *labels, const struct reel_cgroup *cgroup)
{
	if (!cgroup)
		return;
	add_lasting(labels, "cgroup", cgroup->path);
	add_lasting(labels, "container", cgroup->container);
	add_lasting(labels, "container-name", cgroup->container_name);
	add_lasting(labels, "pod", cgroup->pod);
	add_lasting(labels, "pod-name", cgroup->pod_name);
	add_lasting(labels, "namespace", cgroup->namespace);
	add_lasting(labels, "unit", cgroup->unit);
}

/* The name of the label's key, and perhaps another one; false: a newer recorder's key. */
static bool key_find(uint64_t key, const char *const *value_keys, struct reel_label *ret)
{
	if (key >= sizeof(names) / sizeof(*names) || !names[key])
		return false;
	ret->key = names[key];
	if (value_keys && key >= REEL_LABEL_ARG1 && key <= REEL_LABEL_ARG6 &&
	    value_keys[key - REEL_LABEL_ARG1]) {
		ret->alias = names[key];
		ret->key = value_keys[key - REEL_LABEL_ARG1];
	}
	return true;
}

struct reel_error *reel_trace_labels_make(struct reel_trace_labels *labels,
					  const struct reel_sample *sample,
					  const char *const *value_keys,
					  const struct reel_cgroup *cgroup,
					  struct reel_trace *trace)
{
	size_t begins[REEL_TRACE_LABELS_MAX];
	bool has_cgroup = false;

	labels->n = labels->texts.size = 0;
	for (size_t i = 0; i < sample->n_labels; i++) {
		const struct reel_sample_label *from = &sample->labels[i];
		struct reel_label label = {
			.kind = (enum reel_label_kind)from->kind,
			.number = from->number,
		};

		if (!key_find(from->key, value_keys, &label))
			continue;
		if (from->key > REEL_LABEL_WAKER_SAMPLE && !has_cgroup) {
			add_cgroup(labels, cgroup);
			has_cgroup = true;
		}
		begins[labels->n] = labels->texts.size;
		append_text(&labels->texts, from);
		labels->labels[labels->n++] = label;
	}
	if (!has_cgroup)
		add_cgroup(labels, cgroup);
	if (labels->texts.failed) {
		labels->texts.failed = false;
		return reel_error_no_memory();
	}
	/* The buffer may have moved until here. */
	for (size_t i = 0; i < labels->n; i++)
		if (!labels->labels[i].text)
			labels->labels[i].text = (const char *)labels->texts.bytes + begins[i];
	trace->labels = labels->labels;
	trace->n_labels = labels->n;
	return NULL;
}

const struct reel_label *reel_trace_label(const struct reel_trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->n_labels; i++) {
		const struct reel_label *label = &trace->labels[i];

		if (!strcmp(label->key, key) || (label->alias && !strcmp(label->alias, key)))
			return label;
	}
	return NULL;
}
