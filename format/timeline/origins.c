/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "format/timeline/origins.h"

struct reel_origins {
	struct reel_origin_capture *all; /* ascending by first_sample once sealed */
	struct reel_origin_capture **by_id;
	size_t n, capacity;
	struct reel_host_info *hosts;
	size_t n_hosts;
	pthread_mutex_t lock; /* protects texts once sealed */
	struct reel_texts *texts;
};

struct reel_error *reel_origins_create(struct reel_origins **ret)
{
	struct reel_origins *origins = calloc(1, sizeof(*origins));

	if (!origins)
		return reel_error_no_memory();
	origins->texts = reel_texts_create();
	if (!origins->texts) {
		free(origins);
		return reel_error_no_memory();
	}
	pthread_mutex_init(&origins->lock, NULL);
	*ret = origins;
	return NULL;
}

void reel_origins_destroy(struct reel_origins *origins)
{
	if (!origins)
		return;
	pthread_mutex_destroy(&origins->lock);
	reel_texts_destroy(origins->texts);
	free(origins->all);
	free(origins->by_id);
	free(origins->hosts);
	free(origins);
}

struct reel_error *reel_origins_add(struct reel_origins *origins,
				    const struct reel_record_origin *record)
{
	struct reel_origin_capture *origin;

	if (!reel_array_reserve(&origins->all, origins->n, &origins->capacity,
				sizeof(*origins->all)))
		return reel_error_no_memory();
	origin = &origins->all[origins->n];
	*origin = (struct reel_origin_capture){
		.id = record->id,
		.first_sample = record->first_sample,
		.number = origins->n,
		.hostname = reel_texts_add(origins->texts, record->hostname.data,
					   record->hostname.size),
		.kernel_release = reel_texts_add(origins->texts, record->kernel_release.data,
						 record->kernel_release.size),
		.start_wall_time = record->start_wall_time,
		.shift = record->start_wall_time - record->start_time,
	};
	if (!origin->hostname || !origin->kernel_release)
		return reel_error_no_memory();
	if (record->recording.size == sizeof(origin->recording))
		memcpy(origin->recording, record->recording.data, sizeof(origin->recording));
	origins->n++;
	return NULL;
}

/* ---- orders --------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_id(const void *a, const void *b)
{
	const struct reel_origin_capture *x = a, *y = b;

	return x->id == y->id ? compare(x->number, y->number) : compare(x->id, y->id);
}

static int by_sample(const void *a, const void *b)
{
	const struct reel_origin_capture *x = a, *y = b;

	return x->first_sample == y->first_sample ? compare(x->number, y->number)
						  : compare(x->first_sample, y->first_sample);
}

/* By host, recording and time. */
static int by_host(const void *a, const void *b)
{
	const struct reel_origin_capture *x = *(struct reel_origin_capture *const *)a;
	const struct reel_origin_capture *y = *(struct reel_origin_capture *const *)b;
	int order = strcmp(x->hostname, y->hostname);

	if (!order)
		order = memcmp(x->recording, y->recording, sizeof(x->recording));
	return order ? order : compare(x->start_wall_time, y->start_wall_time);
}

static int pointers_by_id(const void *a, const void *b)
{
	return by_id(*(struct reel_origin_capture *const *)a,
		     *(struct reel_origin_capture *const *)b);
}

/* Keeps the first record of each id. */
static void drop_repeated(struct reel_origins *origins)
{
	size_t n = 0;

	qsort(origins->all, origins->n, sizeof(*origins->all), by_id);
	for (size_t i = 0; i < origins->n; i++)
		if (!n || origins->all[n - 1].id != origins->all[i].id)
			origins->all[n++] = origins->all[i];
	origins->n = n;
}

/* The change of the wall clock between two parts of one recording. */
static uint64_t clock_change(const struct reel_origin_capture *a,
			     const struct reel_origin_capture *b)
{
	static const uint8_t none[sizeof(a->recording)];

	if (!memcmp(a->recording, none, sizeof(none)) ||
	    memcmp(a->recording, b->recording, sizeof(none)) != 0)
		return 0;
	return a->shift > b->shift ? a->shift - b->shift : b->shift - a->shift;
}

static void count_hosts(struct reel_origins *origins, struct reel_origin_capture **sorted)
{
	struct reel_host_info *host = NULL;

	for (size_t i = 0; i < origins->n; i++) {
		const struct reel_origin_capture *origin = sorted[i];
		uint64_t change = i ? clock_change(sorted[i - 1], origin) : 0;

		if (!host || host->name != origin->hostname) {
			host = &origins->hosts[origins->n_hosts++];
			*host = (struct reel_host_info){
				.name = origin->hostname,
				.kernel_release = origin->kernel_release,
				.start_wall_time = origin->start_wall_time,
			};
		}
		sorted[i]->host_id = (uint32_t)origins->n_hosts;
		host->captures++;
		if (change > host->clock_change)
			host->clock_change = change;
		if (origin->start_wall_time < host->start_wall_time)
			host->start_wall_time = origin->start_wall_time;
		if (host->kernel_release != origin->kernel_release)
			host->kernel_release = "";
	}
	for (size_t i = 0; origins->n_hosts < 2 && i < origins->n; i++)
		origins->all[i].host_id = 0;
}

struct reel_error *reel_origins_seal(struct reel_origins *origins)
{
	size_t n = origins->n;

	if (!n)
		return NULL;
	origins->by_id = calloc(n, sizeof(struct reel_origin_capture *));
	origins->hosts = calloc(n, sizeof(*origins->hosts));
	if (!origins->by_id || !origins->hosts)
		return reel_error_no_memory();
	drop_repeated(origins);
	n = origins->n;
	qsort(origins->all, n, sizeof(*origins->all), by_sample);
	for (size_t i = 0; i < n; i++)
		origins->by_id[i] = &origins->all[i];
	qsort(origins->by_id, n, sizeof(struct reel_origin_capture *), by_host);
	count_hosts(origins, origins->by_id);
	qsort(origins->by_id, n, sizeof(struct reel_origin_capture *), pointers_by_id);
	return NULL;
}

/* ---- look-ups ------------------------------------------------------------------------------- */

struct reel_origin_capture *reel_origins_find(const struct reel_origins *origins, uint64_t id)
{
	size_t low = REEL_PARTITION_POINT(origins->n, i, origins->by_id[i]->id < id);

	return low < origins->n && origins->by_id[low]->id == id ? origins->by_id[low] : NULL;
}

const struct reel_origin_capture *reel_origins_of_sample(const struct reel_origins *origins,
							 uint64_t sample)
{
	size_t low = REEL_PARTITION_POINT(origins->n, i, origins->all[i].first_sample <= sample);

	return low ? &origins->all[low - 1] : NULL;
}

const struct reel_host_info *reel_origins_hosts(const struct reel_origins *origins,
						size_t *count_ret)
{
	*count_ret = origins->n_hosts;
	return origins->hosts;
}

struct reel_error *reel_origins_comm(struct reel_origins *origins,
				     const struct reel_origin_capture *origin, const char *comm,
				     const char **ret)
{
	_cleanup_free_ char *text = NULL;

	*ret = comm;
	if (!origin || !origin->host_id)
		return NULL;
	text = reel_text_print("%s:%s", origin->hostname, comm);
	if (!text)
		return reel_error_no_memory();
	pthread_mutex_lock(&origins->lock);
	*ret = reel_texts_add_string(origins->texts, text);
	pthread_mutex_unlock(&origins->lock);
	return *ret ? NULL : reel_error_no_memory();
}
