/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/id_table.h"
#include "base/quantity.h"
#include "base/regular_file.h"
#include "elf/file_search.h"
#include "format/image_patch.h"
#include "elf/image/hit_image.h"
#include "record/embedding/embedding.h"
#include "record/embedding/hit_set.h"
#include "record/embedding/image_request.h"
#include "record/processes/code_spaces.h"

/* Bytes of an image per record. */
#define PIECE_SIZE (1u << 20)

/* Limit of open files, and descriptors reserved for other uses, 256 of them files that the module
 * table holds. */
#define FILES_MAX   16384
#define FILES_SPARE 768

/* Hits of all modules of a file. */
#define HITS_MAX (4u << 20)

/*
 * Interim images, in case the recorder is killed: of each module soon after its first hit, and again
 * for samples that hit something new.  These are at risk until then.  A further image is made once
 * they have been so for long enough in sum: for RISK sample-seconds for each second of the image's
 * CPU time and each second that the recording has lasted, since one that has lasted long will mostly
 * last longer.  An image of 1 ms is due after 10 seconds of recording if 5 samples are at risk for
 * 4 seconds, and after 10 minutes if 30 are for 40 seconds.  Each part of a long recording loses at
 * most its own samples, so for short parts that time has a limit.  After the first, an image is
 * written as its difference from the previous one.
 */
#define INTERIM_EVERY (500 * REEL_NS_PER_MS)
#define RISK	      2000
#define RISK_AGE_PART (600 * REEL_NS_PER_SECOND)

/*
 * CPU time of images while sampling: this time at first, plus this share of one CPU.  The images at
 * a file's end have a deadline instead.  Most modules are hit in a recording's first second: their
 * images take no more time then than at the end.  Each further part of a rotated recording begins
 * with a tenth of the previous part's time at most.
 */
#define WORK_FREE	(REEL_NS_PER_SECOND)
#define WORK_FREE_SHARE 10
#define WORK_SHARE	100
/* Of the time at first: reserved for modules without an image. */
#define WORK_RESERVED 4
/*
 * Each sample pays for this much work on images after a module's first, so that these cost less than
 * what the sample itself does.  The first of them have credit, in each part half of its free time:
 * until the usual functions have been hit, the images of a large program miss many.
 */
#define WORK_SAMPLE (REEL_NS_PER_MS / 40)
#define WORK_CREDIT (500 * REEL_NS_PER_MS)

/*
 * Parts of the bytes that stay for the images at the file's end: further images leave the first.  A
 * first one would be made at the end as well, and leaves the second.
 */
#define BYTES_RESERVED	     4
#define BYTES_RESERVED_FIRST 8

/* At a file's end each module gets an equal part of the remaining time, but at least this; a module
 * that needs more is tried again after all others. */
#define TURN_MIN (100 * REEL_NS_PER_MS)

/* Number of left-out modules named at the end. */
#define NAMED_MAX 4

/* Cache of recently checked words, by a hash: the same ones occur again and again. */
#define SEEN_BITS 13

struct module {
	struct reel_id_entry entry; /* its id */
	int fd;			    /* -1: none */
	uint64_t used;		    /* when it was last hit or mapped, in turns */
	struct reel_hit_set hits;
	struct reel_hit_set hits_before; /* of the round before, all of them in its images */
	/* Samples with hits since its image was last requested: their number, the last one, and
	 * for how long they have been at risk, in sum. */
	uint64_t n_at_risk, last_at_risk;
	double risk;   /* ns */
	uint64_t cost; /* ns on a CPU of its last image */
	bool is_left_out;
	/* Hits when its image was last requested; hits of the image in the file. */
	size_t n_asked, n_embedded;
	uint64_t n_images, hits_left_out;
	struct reel_buffer image; /* the last one in the file, compressed */
	size_t image_size;	  /* of it when expanded */
	uint64_t work_wanted;	  /* minimum work for its image, after an attempt was given up */
	bool is_slow;		  /* an attempt was given up */
	bool is_late;		  /* its turn at the file's end was too short */
};

struct seen {
	uint64_t word, list;
};

struct queued {
	uint64_t module; /* its id */
	double cost;	 /* hits of the image for each that the last one in the file lacks */
};

struct reel_embedding {
	struct reel_embedding_options options;
	const struct reel_timeline *timeline;
	struct reel_code_spaces spaces; /* executable mappings of files */
	struct reel_id_table modules;
	uint64_t turn;
	size_t n_files, files_max;
	size_t n_hits;
	uint64_t bytes_left;
	/* Modules waiting for their images. */
	struct queued *queue;
	size_t n_queue, at;
	bool ends, rests;
	uint64_t deadline;	  /* for the images at the file's end */
	uint64_t interim;	  /* the earliest time of the next interim images */
	uint64_t created, looked; /* when modules were last looked at for these */
	uint64_t time_passed;	  /* until then, since the time before */
	uint64_t n_samples;	  /* noted */
	uint64_t asked;		  /* the module whose image is being made; 0: none */
	uint64_t begun, work;	  /* ns of the helper on a CPU since `begun`, except at file ends */
	uint64_t work_free;
	int64_t work_again; /* what samples paid for, less the work for such images */
	struct reel_embedding_counts counts;
	char reason[1024];
	struct seen seen[1 << SEEN_BITS];
};

/* ---- state --------------------------------------------------------------------------------- */

/* As many as the recorder may have: descriptors are cheap. */
static size_t find_files_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_cur < FILES_MAX + FILES_SPARE) {
		limit.rlim_cur = limit.rlim_max < FILES_MAX + FILES_SPARE ? limit.rlim_max
									  : FILES_MAX + FILES_SPARE;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= FILES_MAX + FILES_SPARE)
		return FILES_MAX;
	return limit.rlim_cur > 2 * FILES_SPARE ? (size_t)limit.rlim_cur - FILES_SPARE
						: (size_t)limit.rlim_cur / 2;
}

static bool is_file(const struct reel_record_module *module, const struct reel_mapping *mapping)
{
	(void)mapping;
	return module->kind == REEL_MODULE_FILE;
}

static uint64_t work_free_most(const struct reel_embedding *embedding)
{
	return embedding->options.work_share > 0 ? 0 : WORK_FREE;
}

struct reel_error *reel_embedding_create(const struct reel_embedding_options *options,
					 struct reel_embedding **ret)
{
	struct reel_embedding *embedding = calloc(1, sizeof(*embedding));

	if (!embedding)
		return reel_error_no_memory();
	embedding->options = *options;
	embedding->spaces = (struct reel_code_spaces){
		.modules = options->modules,
		.native = options->native,
		.is_wanted = is_file,
		.with_copies = true,
		.space_size = sizeof(struct reel_code_space),
	};
	embedding->bytes_left = options->limit;
	embedding->begun = embedding->created = embedding->looked = reel_now();
	embedding->work_free = work_free_most(embedding);
	embedding->work_again = WORK_CREDIT;
	embedding->files_max = find_files_max();
	*ret = embedding;
	return NULL;
}

static void close_file(struct reel_embedding *embedding, struct module *module)
{
	if (module->fd < 0)
		return;
	close(module->fd);
	module->fd = -1;
	embedding->n_files--;
}

static void free_module(void *context, struct reel_id_entry *entry)
{
	struct module *module = (struct module *)entry;

	close_file(context, module);
	reel_hit_set_free(&module->hits);
	reel_hit_set_free(&module->hits_before);
	reel_buffer_free(&module->image);
	free(module);
}

void reel_embedding_destroy(struct reel_embedding *embedding)
{
	if (!embedding)
		return;
	reel_code_spaces_free(&embedding->spaces);
	reel_id_table_visit(&embedding->modules, free_module, embedding);
	reel_id_table_free(&embedding->modules);
	free(embedding->queue);
	free(embedding);
}

struct reel_embedding_counts reel_embedding_counts(const struct reel_embedding *embedding)
{
	struct reel_embedding_counts counts = embedding->counts;

	counts.reason = embedding->reason;
	return counts;
}

/* ---- files --------------------------------------------------------------------------------- */

static struct module *module_find(const struct reel_embedding *embedding, uint64_t id)
{
	return (struct module *)reel_id_table_find(&embedding->modules, id);
}

/* NULL if out of memory. */
static struct module *module_add(struct reel_embedding *embedding, uint64_t id)
{
	struct module *module = reel_id_table_add(&embedding->modules, id, sizeof(*module));

	if (module)
		module->fd = -1;
	return module;
}

/* Picks modules without hits before others, then the least recently used. */
static void find_oldest(void *context, struct reel_id_entry *entry)
{
	struct module **oldest = context, *module = (struct module *)entry;

	if (module->fd < 0)
		return;
	if (!*oldest || (!module->hits.n && (*oldest)->hits.n) ||
	    (!module->hits.n == !(*oldest)->hits.n && module->used < (*oldest)->used))
		*oldest = module;
}

static void make_room(struct reel_embedding *embedding)
{
	struct module *oldest = NULL;

	reel_id_table_visit(&embedding->modules, find_oldest, &oldest);
	if (!oldest)
		return;
	close_file(embedding, oldest);
	if (!oldest->hits.n)
		free_module(embedding, reel_id_table_remove(&embedding->modules, oldest->entry.id));
}

void reel_embedding_take_file(void *context, uint64_t id, int fd)
{
	struct reel_embedding *embedding = context;
	struct module *module = module_find(embedding, id);

	if (!module)
		module = module_add(embedding, id);
	if (!module || module->fd >= 0)
		return;
	module->used = ++embedding->turn;
	if (embedding->n_files >= embedding->files_max)
		make_room(embedding);
	module->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	embedding->n_files += module->fd >= 0;
}

/* ---- hits ---------------------------------------------------------------------------------- */

/* Sets `*is_new` if the file's last image lacks it. */
static struct reel_error *hit(struct reel_embedding *embedding, const struct reel_code_range *range,
			      uint64_t address, uint64_t flag, bool *is_new)
{
	struct module *module = module_find(embedding, range->module);

	if (!module)
		module = module_add(embedding, range->module);
	if (!module)
		return reel_error_no_memory();
	module->used = ++embedding->turn;
	if (embedding->rests || embedding->n_hits >= HITS_MAX ||
	    module->hits.n + module->hits_before.n >= IMAGE_HITS_MAX) {
		module->hits_left_out++;
		return NULL;
	}
	switch (reel_hit_set_add(&module->hits,
				 ((address + range->delta) & ~REEL_HIT_IS_PC) | flag)) {
	case REEL_HIT_NEW:
		embedding->n_hits++;
		break;
	case REEL_HIT_RECENT:
		break;
	case REEL_HIT_KNOWN:
		return NULL;
	case REEL_HIT_NO_MEMORY:
		return reel_error_no_memory();
	}
	*is_new = true;
	module->n_at_risk += module->last_at_risk != embedding->n_samples;
	module->last_at_risk = embedding->n_samples;
	return NULL;
}

/* An address after a call may be the end of a mapping. */
static struct reel_error *look_at(struct reel_embedding *embedding,
				  const struct reel_code_space *space, uint64_t word)
{
	struct seen *seen =
		&embedding->seen[(word ^ space->list) * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS)];
	const struct reel_code_range *range, *before;
	struct reel_error *error = NULL;
	bool is_new = false;

	if (seen->word == word && seen->list == space->list)
		return NULL;
	range = reel_code_range_of(space, word);
	before = range && word > range->first ? range : reel_code_range_of(space, word - 1);
	if (range)
		error = hit(embedding, range, word, 0, &is_new);
	if (before && before != range && !error)
		error = hit(embedding, before, word, 0, &is_new);
	/* Others are looked at again, since they put this sample at risk. */
	if (!is_new)
		*seen = (struct seen){ word, space->list };
	return error;
}

static struct reel_error *look_at_pc(struct reel_embedding *embedding,
				     const struct reel_code_space *space, uint64_t pc)
{
	const struct reel_code_range *range = reel_code_range_of(space, pc);
	bool is_new;

	return range ? hit(embedding, range, pc, REEL_HIT_IS_PC, &is_new) : NULL;
}

static struct reel_error *look_at_words(struct reel_embedding *embedding,
					const struct reel_code_space *space,
					const struct reel_region *region)
{
	const uint64_t first = space->ranges[0].first,
		       span = space->ranges[space->n_ranges - 1].last + 1 - first;
	const uint64_t mask = ~space->code_mask;
	unsigned size = space->word_size;
	size_t at = -region->address % size;
	struct reel_error *error = NULL;

	/* Two loops, since a constant size makes them fast. */
	for (; size == 8 && at + 8 <= region->size && !error; at += 8) {
		uint64_t word;

		memcpy(&word, region->bytes + at, 8);
		word &= mask;
		if (word - first <= span)
			error = look_at(embedding, space, word);
	}
	for (; size == 4 && at + 4 <= region->size && !error; at += 4) {
		uint32_t word;

		memcpy(&word, region->bytes + at, 4);
		if ((word & mask) - first <= span)
			error = look_at(embedding, space, word & mask);
	}
	return error;
}

struct reel_error *reel_embedding_note(struct reel_embedding *embedding,
				       const struct reel_space_view *view,
				       const struct reel_sample *sample)
{
	struct reel_code_space *space;
	struct reel_error *error =
		reel_code_spaces_find(&embedding->spaces, view, sample->time, &space);

	embedding->n_samples++;
	embedding->work_again += WORK_SAMPLE;
	embedding->timeline = view->timeline;
	if (error || !space || !space->n_ranges)
		return error;
	if (sample->layout)
		error = look_at_pc(embedding, space, sample->pc & ~space->code_mask);
	for (size_t i = 0; sample->layout && i < sample->layout->n_slots && !error; i++)
		error = look_at(embedding, space, sample->values[i] & ~space->code_mask);
	for (size_t i = 0; i < sample->n_frame_chain && !error; i++)
		error = look_at(embedding, space, sample->frame_chain[i] & ~space->code_mask);
	for (size_t i = 0; i < sample->n_regions && !error; i++)
		error = look_at_words(embedding, space, &sample->regions[i]);
	return error;
}

/* ---- images -------------------------------------------------------------------------------- */

/* The module needs an image, or a newer one, but will not get it. */
static void leave_out(struct reel_embedding *embedding, struct module *module, const char *why)
{
	const struct reel_record_module *record =
		reel_module_table_find(embedding->options.modules, module->entry.id);
	size_t length = strlen(embedding->reason);
	char line[512];

	/* It may get another chance before the end. */
	if (module->is_left_out || !embedding->ends)
		return;
	module->is_left_out = true;
	snprintf(line, sizeof(line), "%.*s: %s",
		 record ? (int)(record->path.size < 256 ? record->path.size : 256) : 1,
		 record ? (const char *)record->path.data : "?", why);
	if (embedding->counts.left_out++ < NAMED_MAX)
		snprintf(embedding->reason + length, sizeof(embedding->reason) - length, "%s%s",
			 length ? "; " : "", line);
	if (embedding->options.note)
		embedding->options.note(embedding->options.note_context, line);
}

/* Remaining CPU time of images while recording. */
static uint64_t work_left(const struct reel_embedding *embedding)
{
	double share = embedding->options.work_share > 0 ? embedding->options.work_share
							 : 1.0 / WORK_SHARE;
	uint64_t all =
		embedding->work_free + (uint64_t)((double)(reel_now() - embedding->begun) * share);

	return embedding->work < all ? all - embedding->work : 0;
}

/* End of a module's turn at the file's end. */
static uint64_t turn_end(const struct reel_embedding *embedding)
{
	uint64_t now = reel_now();
	uint64_t left = now < embedding->deadline ? embedding->deadline - now : 0;
	uint64_t turn = left / (embedding->n_queue - embedding->at + 1);

	if (turn < TURN_MIN)
		turn = TURN_MIN;
	return turn < left ? now + turn : embedding->deadline;
}

/*
 * Opens a distribution's debug package, which alone has the names of libraries' local functions.
 * It is below the recorder's own, trusted root, not the process's.  -1: it does not exist, or an
 * earlier image took too long, perhaps for that reason.
 */
static int open_debug_file(const struct reel_embedding *embedding, const struct module *module)
{
	const struct reel_record_module *record =
		reel_module_table_find(embedding->options.modules, module->entry.id);
	_cleanup_free_ char *path = NULL;
	char hex[REEL_BUILD_ID_TEXT];
	struct stat status;
	int fd = -1;

	if (embedding->options.no_symbols || !record || record->build_id.size < 2 ||
	    record->build_id.size > REEL_BUILD_ID_MAX || module->is_slow)
		return -1;
	reel_build_id_print(record->build_id, hex);
	path = reel_build_id_path("/usr/lib/debug", hex, ".debug");
	if (path)
		reel_error_destroy(reel_regular_file_open(path, &fd, &status));
	/* Anyone can make a program with any build-id. */
	if (fd >= 0 && !(status.st_mode & S_IROTH)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void ask(struct reel_embedding *embedding, struct module *module)
{
	const struct reel_embedding_options *options = &embedding->options;
	struct reel_image_question question = {
		.file = module->fd,
		.everything = options->everything,
		.no_symbols = options->no_symbols,
		.limit = embedding->bytes_left + module->image_size < REEL_IMAGE_MAX
				 ? embedding->bytes_left + module->image_size
				 : REEL_IMAGE_MAX,
	};

	module->n_asked = module->hits.n;
	module->n_at_risk = 0;
	module->risk = 0;
	reel_hit_set_settle(&module->hits);
	if (module->fd < 0) {
		leave_out(embedding, module,
			  "could not open the file while it was mapped, or its process may not "
			  "read it");
		return;
	}
	question.offsets = reel_hit_set_sorted(&module->hits, &module->hits_before, &question.n);
	if (!question.offsets) {
		leave_out(embedding, module, "out of memory");
		return;
	}
	if (embedding->ends)
		question.deadline = turn_end(embedding);
	else
		question.work_max = work_left(embedding);
	question.debug_file = open_debug_file(embedding, module);
	question.has_debug_file = question.debug_file >= 0;
	reel_image_asker_ask(options->asker, &question);
	if (question.has_debug_file)
		close(question.debug_file);
	embedding->asked = module->entry.id;
}

static void append(struct reel_embedding *embedding, const struct module *module)
{
	embedding->queue[embedding->n_queue++] = (struct queued){
		.module = module->entry.id,
		.cost = (double)module->hits.n / (double)(module->hits.n - module->n_embedded),
	};
}

/* Its time is over: at the file's end it gets a second turn, after all others. */
static void take_delay(struct reel_embedding *embedding, struct module *module, const char *problem)
{
	module->is_slow = true;
	if (!embedding->ends) {
		module->work_wanted = 2 * reel_image_asker_work(embedding->options.asker);
		module->n_asked = module->n_embedded;
		module->cost = 0;
	} else if (module->is_late) {
		leave_out(embedding, module, problem);
	} else {
		module->is_late = true;
		append(embedding, module);
	}
}

/* The next helper's memory is for this image, before others take some of it. */
static void put_first(struct reel_embedding *embedding, struct module *module)
{
	module->n_asked = module->n_embedded;
	/* The queue of the file's end, which may have begun meanwhile, has the module. */
	if (embedding->at)
		embedding->queue[--embedding->at].module = module->entry.id;
}

static struct reel_error *put_records(struct reel_embedding *embedding, struct module *module,
				      struct reel_bytes stored, uint64_t base)
{
	const struct reel_record_sink *sink = &embedding->options.sink;
	struct reel_error *error = NULL;

	for (size_t at = 0; at < stored.size && !error; at += PIECE_SIZE) {
		size_t left = stored.size - at;
		const struct reel_record record = {
			.id = REEL_RECORD_IMAGE,
			.image = { .module = module->entry.id,
				   .offset = at,
				   .total_size = stored.size,
				   .bytes = { stored.data + at,
					      left < PIECE_SIZE ? left : PIECE_SIZE },
				   .number = module->n_images,
				   .base = base },
		};

		error = sink->put(sink->context, &record);
	}
	embedding->counts.bytes += stored.size;
	embedding->counts.modules += !module->n_images++;
	return error;
}

/* The limit counts what a reader holds at once: the images and all differences. */
static void take_bytes(struct reel_embedding *embedding, uint64_t size)
{
	embedding->bytes_left -= size < embedding->bytes_left ? size : embedding->bytes_left;
}

/* For the next difference, if there may be one.  All images together may be as large as --embed-limit,
 * and most are never needed again: so it is compressed. */
static struct reel_error *keep_image(const struct reel_embedding *embedding, struct module *module,
				     struct reel_bytes image)
{
	_cleanup_buffer_ struct reel_buffer compressed = { 0 };

	reel_buffer_free(&module->image);
	module->image_size = 0;
	if (embedding->ends && module->hits.n == module->n_embedded)
		return NULL;
	TRY(reel_image_patch_make((struct reel_bytes){ 0 }, image, &compressed));
	reel_buffer_append(&module->image, compressed.bytes, compressed.size);
	module->image_size = image.size;
	return module->image.failed ? reel_error_no_memory() : NULL;
}

static struct reel_error *expand_image(const struct module *module, struct reel_buffer *ret)
{
	uint8_t *room = reel_buffer_reserve(ret, module->image_size);

	if (!room)
		return reel_error_no_memory();
	ret->size = module->image_size;
	return reel_image_patch_apply(
		(struct reel_bytes){ 0 },
		(struct reel_bytes){ module->image.bytes, module->image.size }, room,
		module->image_size);
}

static struct reel_error *put_image(struct reel_embedding *embedding, struct module *module,
				    struct reel_bytes image)
{
	_cleanup_buffer_ struct reel_buffer before = { 0 }, patch = { 0 };
	struct reel_bytes base;

	if (module->image.size)
		TRY(expand_image(module, &before));
	base = (struct reel_bytes){ before.bytes, before.size };
	module->n_embedded = module->n_asked;
	if (reel_bytes_are_equal(base, image))
		return NULL;
	if (!base.size) {
		TRY(put_records(embedding, module, image, 0));
	} else {
		TRY(reel_image_patch_make(base, image, &patch));
		TRY(put_records(embedding, module, (struct reel_bytes){ patch.bytes, patch.size },
				module->n_images));
	}
	take_bytes(embedding, patch.size + (image.size > base.size ? image.size - base.size : 0));
	return keep_image(embedding, module, image);
}

/* False: the image is not ready yet. */
static struct reel_error *take_image(struct reel_embedding *embedding, bool *ret)
{
	struct reel_image_asker *asker = embedding->options.asker;
	struct module *module = module_find(embedding, embedding->asked);
	bool is_again = module && module->n_images;
	struct reel_error *error = NULL;
	struct reel_bytes image;
	const char *problem;
	enum reel_image_state state = reel_image_asker_look(asker, &image, &problem);
	uint64_t work = reel_image_asker_work(asker), begun;

	*ret = true;
	switch (state) {
	case REEL_IMAGE_NOT_YET:
		*ret = false;
		return NULL;
	case REEL_IMAGE_MADE:
		if (!module)
			break;
		/* What it costs here counts as well. */
		begun = reel_clock_now(CLOCK_THREAD_CPUTIME_ID);
		error = put_image(embedding, module, image);
		work += reel_clock_now(CLOCK_THREAD_CPUTIME_ID) - begun;
		module->cost = work;
		break;
	case REEL_IMAGE_LEFT_OUT:
		if (module)
			leave_out(embedding, module, problem);
		break;
	case REEL_IMAGE_TOO_SLOW:
		if (module)
			take_delay(embedding, module, problem);
		break;
	case REEL_IMAGE_NO_ROOM:
		if (module)
			put_first(embedding, module);
		break;
	}
	if (!embedding->ends) {
		embedding->work += work;
		if (is_again)
			embedding->work_again -= (int64_t)work;
	}
	embedding->asked = 0;
	return error;
}

/* While recording, an image that costs too much now may be made later. At the end, an image may
 * have arrived meanwhile. */
static bool is_wanted(const struct reel_embedding *embedding, const struct module *module)
{
	uint64_t left = work_left(embedding);

	if (embedding->ends)
		return module->hits.n > module->n_embedded && !module->is_left_out;
	return left && left >= module->work_wanted &&
	       (!module->n_images || embedding->work_again > 0);
}

static void queue_last(void *context, struct reel_id_entry *entry)
{
	struct reel_embedding *embedding = context;
	struct module *module = (struct module *)entry;

	if (module->hits.n > module->n_embedded)
		append(embedding, module);
	if (module->hits_left_out)
		leave_out(embedding, module, "samples hit too many places in it");
}

static bool wants_further(const struct reel_embedding *embedding, const struct module *module)
{
	uint64_t age = embedding->looked - embedding->created;
	uint64_t part = embedding->looked - embedding->begun;
	uint64_t most = part > RISK_AGE_PART ? part : RISK_AGE_PART;
	double seconds = (double)(age < most ? age : most) / REEL_NS_PER_SECOND;

	return module->hits.n > module->n_asked &&
	       module->risk >= RISK * seconds * (double)module->cost &&
	       work_left(embedding) > embedding->work_free / WORK_RESERVED &&
	       embedding->bytes_left >= embedding->options.limit / BYTES_RESERVED;
}

static void queue_interim(void *context, struct reel_id_entry *entry)
{
	struct reel_embedding *embedding = context;
	struct module *module = (struct module *)entry;

	module->risk += (double)module->n_at_risk * (double)embedding->time_passed;
	if (module->n_images ? wants_further(embedding, module) : module->hits.n > module->n_asked)
		append(embedding, module);
}

static int compare_costs(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	return (x->cost > y->cost) - (x->cost < y->cost);
}

/* There may not be enough work or time for all.  Those with the most that is new come first: a
 * large program with new hits all the time would take everything. */
static struct reel_error *queue(struct reel_embedding *embedding,
				void (*visit)(void *context, struct reel_id_entry *entry))
{
	free(embedding->queue);
	embedding->n_queue = embedding->at = 0;
	/* Each may have a second turn, and the one in progress a third. */
	embedding->queue = calloc(2 * embedding->modules.count + 2, sizeof(*embedding->queue));
	if (!embedding->queue)
		return reel_error_no_memory();
	reel_id_table_visit(&embedding->modules, visit, embedding);
	qsort(embedding->queue, embedding->n_queue, sizeof(*embedding->queue), compare_costs);
	return NULL;
}

static struct reel_error *begin_interim(struct reel_embedding *embedding)
{
	uint64_t now = reel_now();

	if (embedding->ends || !reel_embedding_is_done(embedding) || now < embedding->interim ||
	    embedding->bytes_left < embedding->options.limit / BYTES_RESERVED_FIRST)
		return NULL;
	embedding->interim = now + INTERIM_EVERY;
	embedding->time_passed = now - embedding->looked;
	embedding->looked = now;
	return queue(embedding, queue_interim);
}

struct reel_error *reel_embedding_work(struct reel_embedding *embedding)
{
	struct reel_error *error;
	struct module *module;
	bool is_free = true;

	error = begin_interim(embedding);
	while (!error && is_free) {
		if (embedding->asked)
			error = take_image(embedding, &is_free);
		if (error || embedding->asked || embedding->at == embedding->n_queue)
			break;
		module = module_find(embedding, embedding->queue[embedding->at++].module);
		if (!module || !is_wanted(embedding, module))
			continue;
		if (embedding->ends && reel_now() >= embedding->deadline)
			leave_out(embedding, module, "no time left to make an image");
		else if (embedding->rests)
			leave_out(embedding, module, "--memory-limit");
		else
			ask(embedding, module);
	}
	return error;
}

void reel_embedding_rest(struct reel_embedding *embedding, bool rests)
{
	embedding->rests = rests;
}

void reel_embedding_forget_ended(struct reel_embedding *embedding)
{
	reel_code_spaces_forget_ended(&embedding->spaces, embedding->timeline);
}

struct reel_error *reel_embedding_end(struct reel_embedding *embedding, uint64_t deadline)
{
	struct reel_error *error;

	embedding->ends = true;
	embedding->deadline = deadline;
	error = queue(embedding, queue_last);
	if (embedding->asked && !error)
		reel_image_asker_hurry(embedding->options.asker, turn_end(embedding));
	return error;
}

void reel_embedding_hurry(struct reel_embedding *embedding, uint64_t deadline)
{
	if (deadline >= embedding->deadline)
		return;
	embedding->deadline = deadline;
	if (embedding->asked)
		reel_image_asker_hurry(embedding->options.asker, deadline);
}

bool reel_embedding_is_done(const struct reel_embedding *embedding)
{
	return !embedding->asked && embedding->at == embedding->n_queue;
}

int reel_embedding_fd(const struct reel_embedding *embedding)
{
	return embedding->asked ? reel_image_asker_fd(embedding->options.asker) : -1;
}

void reel_embedding_wait(struct reel_embedding *embedding)
{
	reel_image_asker_wait(embedding->options.asker, 10);
}

/* A file may have the images of two rounds, of which the last one counts: it has what samples of
 * both need. */
static void keep_hits(struct reel_embedding *embedding, struct module *module)
{
	reel_hit_set_free(&module->hits_before);
	if (module->hits.n == module->n_embedded) {
		module->hits_before = module->hits;
		module->hits = (struct reel_hit_set){ 0 };
	}
	embedding->n_hits += module->hits.n;
}

static void use_module(void *context, const struct reel_mapping *mapping)
{
	struct reel_embedding *embedding = context;
	struct module *module = module_find(embedding, mapping->module);

	if (module)
		module->used = embedding->turn;
}

/* An open file keeps its space if it is deleted, and its mount busy. When it is mapped again, it is
 * read again (module_table.h). */
static void restart_module(void *context, struct reel_id_entry *entry)
{
	struct reel_embedding *embedding = context;
	struct module *module = (struct module *)entry;
	bool is_mapped = !embedding->timeline || module->used == embedding->turn;

	if (embedding->options.has_rounds) {
		keep_hits(embedding, module);
		is_mapped |= module->hits.n || module->hits_before.n;
	} else {
		reel_hit_set_free(&module->hits);
		module->n_images = 0;
	}
	if (!is_mapped) {
		free_module(embedding, reel_id_table_remove(&embedding->modules, entry->id));
		return;
	}
	module->n_asked = module->n_embedded = 0;
	module->hits_left_out = module->n_at_risk = 0;
	module->risk = 0;
	reel_buffer_free(&module->image);
	module->image_size = 0;
	module->is_left_out = module->is_late = false;
}

void reel_embedding_restart(struct reel_embedding *embedding)
{
	uint64_t now = reel_now();

	embedding->turn++;
	/* The helper keeps files open as well. */
	reel_image_asker_rest(embedding->options.asker);
	if (embedding->timeline)
		reel_timeline_visit_all(embedding->timeline, use_module, embedding);
	embedding->n_hits = 0;
	reel_id_table_visit(&embedding->modules, restart_module, embedding);
	memset(embedding->seen, 0, sizeof(embedding->seen));
	embedding->ends = false;
	embedding->interim = 0;
	embedding->work_free = (now - embedding->begun) / WORK_FREE_SHARE;
	if (embedding->work_free > work_free_most(embedding))
		embedding->work_free = work_free_most(embedding);
	embedding->begun = now;
	embedding->work = 0;
	embedding->work_again = (int64_t)embedding->work_free / 2;
	embedding->bytes_left = embedding->options.limit;
}
