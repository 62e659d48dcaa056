/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --memory-limit: measures the recorder's memory, and gives way in levels before the limit is
 * reached.  Parts of it have shares of the limit from the start.
 */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "record/helper/spawner.h"
#include "record/host/kernel.h"
#include "record/recording_internal.h"

#define INTERVAL (200 * REEL_NS_PER_MS)
/* What the heap released is given back to the kernel so often. */
#define TRIM_INTERVAL (5 * REEL_NS_PER_SECOND)
/* In percent of the limit: a level ends so far below where it began. */
#define CALM 8
/* What is used before the first sample may take this much, in percent. */
#define START_MOST 60

/* Each level includes the ones before. */
static const struct {
	unsigned int percent;
	const char *does;
} levels[] = {
	[MEMORY_ENOUGH] = { 0, "no limits on kept data" },
	[MEMORY_CACHES] = { 65, "freeing caches" },
	[MEMORY_STACKS] = { 75, "shorter stacks" },
	[MEMORY_PLACES] = { 85, "no further mappings, names, code and images" },
	[MEMORY_SAMPLES] = { 93, "no samples for a while" },
};

/* BPF maps, rings and programs: /proc/self/fdinfo has each one's memory. */
static uint64_t bpf_memory(void)
{
	DIR *folder = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	uint64_t sum = 0;

	while (folder && (entry = readdir(folder))) {
		char path[300], line[256];
		uint64_t bytes;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
				sum += bytes;
		}
		if (file)
			fclose(file);
	}
	if (folder)
		closedir(folder);
	return sum;
}

static uint64_t memory_now(const struct recording *recording)
{
	return recording->memory.fixed + reel_process_memory(getpid()) + reel_spawners_memory() +
	       reel_sampler_memory(recording->sampler);
}

static enum memory_level level_of(enum memory_level now, uint64_t used, uint64_t limit)
{
	uint64_t percent = used / (limit / 100);

	while (now < MEMORY_SAMPLES && percent >= levels[now + 1].percent)
		now++;
	while (now > MEMORY_ENOUGH && percent + CALM < levels[now].percent)
		now--;
	return now;
}

static struct reel_error *set_level(struct recording *recording, enum memory_level level,
				    uint64_t used)
{
	char bytes[REEL_COUNT_TEXT_SIZE], text[160];

	recording->memory.level = level;
	recording_cap_stacks(recording);
	recording_set_pause(recording);
	reel_budget_stop(recording->budget, level >= MEMORY_PLACES);
	if (recording->embedding)
		reel_embedding_rest(recording->embedding, level >= MEMORY_PLACES);
	snprintf(text, sizeof(text), "%s: memory of %s, %" PRIu64 " %% of --memory-limit",
		 levels[level].does, reel_bytes_text(used, bytes),
		 used / (recording->options->memory_limit / 100));
	return recording_mark_step(recording, text);
}

/* Data of the block that is being filled, and of a helper at rest. */
static struct reel_error *free_caches(struct recording *recording)
{
	if (recording->image_asker)
		reel_image_asker_rest(recording->image_asker);
	TRY(recording_flush(recording));
	recording_free_unused(recording);
	return NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void recording_fit_memory(struct reel_options *options)
{
	uint64_t share = options->memory_limit / RECORDING_MEMORY_SHARE;
	uint64_t small = options->memory_limit / RECORDING_MEMORY_SMALL;
	/* Before Linux 6.16, programs have room for two stacks on each CPU. */
	uint64_t stack = small / 2 / (uint64_t)sysconf(_SC_NPROCESSORS_CONF);

	if (!options->memory_limit)
		return;
	options->embed_limit = least(options->embed_limit, share);
	options->overwrite_size = least(options->overwrite_size, share);
	options->jit_code = least(options->jit_code, small);
	options->max_stack =
		least(options->max_stack,
		      stack > REEL_GOVERNOR_STACK_MIN ? stack : REEL_GOVERNOR_STACK_MIN);
}

struct reel_error *recording_begin_memory(struct recording *recording)
{
	uint64_t limit = recording->options->memory_limit, used;
	char used_text[REEL_COUNT_TEXT_SIZE], least_text[REEL_COUNT_TEXT_SIZE];

	if (!limit)
		return NULL;
	malloc_trim(0);
	recording->memory.fixed =
		bpf_memory() + reel_process_events_memory(recording->process_events);
	used = memory_now(recording);
	if (used > limit / 100 * START_MOST)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"--memory-limit: the recorder has %s before the first sample; use at least "
			"%s, or a smaller --ring-size",
			reel_bytes_text(used, used_text),
			reel_bytes_text(used * 100 / START_MOST + 1, least_text));
	return NULL;
}

struct reel_error *recording_watch_memory(struct recording *recording)
{
	struct recording_memory *memory = &recording->memory;
	uint64_t now = reel_now(), limit = recording->options->memory_limit, used;
	enum memory_level level;

	if (!limit || now < memory->due)
		return NULL;
	memory->due = now + INTERVAL;
	used = memory_now(recording);
	level = level_of(memory->level, used, limit);
	if (level >= MEMORY_CACHES && (level > memory->level || now >= memory->trim_due)) {
		memory->trim_due = now + TRIM_INTERVAL;
		TRY(free_caches(recording));
		used = memory_now(recording);
		level = level_of(memory->level, used, limit);
	}
	/* A module without an image is better than no samples, or an end. */
	if (level == MEMORY_SAMPLES && recording->image_asker)
		reel_image_asker_give_up(recording->image_asker,
					 "it does not fit into --memory-limit");
	/* The first time, what this level stops may still free enough. */
	if (used > limit && memory->was_over) {
		recording->end.over_memory = true;
		recording_ask_end(recording, REEL_END_ERROR);
	}
	memory->was_over = used > limit;
	return level == memory->level ? NULL : set_level(recording, level, used);
}
