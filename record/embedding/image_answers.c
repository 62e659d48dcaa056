/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper that makes images.  It reads untrusted files, and may hang with a file server: so it
 * may only read the descriptors that it is given, and may be killed.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image/hit_image.h"
#include "record/embedding/image_request.h"
#include "record/helper/fd_message.h"
#include "record/host/privileges.h"

/* Lower than the recorder's (spawner.c): samples do not wait for this. */
#define PRIORITY       0
#define MMAP_THRESHOLD (64 << 10)

/*
 * Files whose further hits cost only themselves.  Their bytes, except those of code, which is not kept,
 * limit what their symbols and tables take.
 */
#define KEPT	  64
#define KEPT_SIZE (64u << 20)
/* What beginning with a file costs, in hits. */
#define BEGIN_COST 500

struct kept {
	struct reel_hit_imager *imager; /* NULL: none */
	struct reel_elf_file *file, *debug;
	struct stat status;
	bool has_debug; /* a debug file was given, though perhaps not the right one */
	uint64_t size;	/* of what it may keep */
	double worth;	/* 0: none */
};

/*
 * The one that is worth least is closed first: the hits that would be looked at again for each byte
 * that this frees (GreedyDual-Size, Cao and Irani 1997).  The least recently used one would be wrong,
 * since the files of a busy host are asked for in turns.
 */
struct cache {
	struct kept all[KEPT];
	double age; /* the highest worth that was closed: what is not used again falls behind */
};

static void prepare(void)
{
	prctl(PR_SET_NAME, "reel-imager");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	/* Large tables stay out of the heap, which keeps what is freed below others.  glibc raises
	 * the threshold by itself, but not once it is set. */
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
}

static bool receive_offsets(int socket, uint64_t *offsets, uint64_t n)
{
	for (uint64_t at = 0; at < n;) {
		size_t size = (size_t)(n - at < IMAGE_OFFSETS ? n - at : IMAGE_OFFSETS) *
			      sizeof(*offsets);

		size_t no_files = 0;

		if (reel_fd_message_receive(socket, offsets + at, size, NULL, &no_files, 0) !=
		    (ssize_t)size)
			return false;
		at += size / sizeof(*offsets);
	}
	return true;
}

/* Closes `fd`. NULL if it is missing or does not match the file. */
static struct reel_elf_file *open_debug_file(int fd, const struct reel_elf_file *file)
{
	struct reel_bytes build_id = reel_elf_file_build_id(file), its_build_id;
	struct reel_elf_file *debug = NULL;

	if (fd < 0)
		return NULL;
	reel_error_destroy(reel_elf_file_open_descriptor(fd, "its debug file", &debug));
	if (!debug)
		return NULL;
	its_build_id = reel_elf_file_build_id(debug);
	if (build_id.size && build_id.size == its_build_id.size &&
	    !memcmp(build_id.data, its_build_id.data, build_id.size))
		return debug;
	reel_elf_file_close(debug);
	return NULL;
}

/* Whether it is the file that `status` describes, unchanged. */
static bool is_kept(const struct kept *kept, const struct stat *status, bool has_debug)
{
	const struct stat *mine = &kept->status;

	return kept->imager && kept->has_debug == has_debug && mine->st_dev == status->st_dev &&
	       mine->st_ino == status->st_ino && mine->st_size == status->st_size &&
	       mine->st_mtim.tv_sec == status->st_mtim.tv_sec &&
	       mine->st_mtim.tv_nsec == status->st_mtim.tv_nsec;
}

static void kept_close(struct kept *kept)
{
	reel_hit_imager_destroy(kept->imager);
	reel_elf_file_close(kept->debug);
	reel_elf_file_close(kept->file);
	*kept = (struct kept){ 0 };
}

/* Closes what it does not keep. */
static struct reel_error *kept_open(struct kept *kept, const int fds[2],
				    const struct image_request *request, const struct stat *status)
{
	struct reel_hit_image_options options = {
		.everything = request->everything,
		.no_symbols = request->no_symbols,
	};
	/* The recorder adds the file's name. */
	struct reel_error *error = reel_elf_file_open_descriptor(fds[0], "it", &kept->file);

	if (error) {
		if (fds[1] >= 0)
			close(fds[1]);
		return error;
	}
	kept->status = *status;
	kept->has_debug = fds[1] >= 0;
	options.debug = kept->debug = open_debug_file(fds[1], kept->file);
	return reel_hit_imager_create(kept->file, &options, &kept->imager);
}

static void cache_drop(struct cache *cache, struct kept *kept)
{
	if (kept->worth > cache->age)
		cache->age = kept->worth;
	kept_close(kept);
}

/* The file's place, or an empty one. */
static struct kept *cache_find(struct cache *cache, const struct stat *status, bool has_debug)
{
	struct kept *least = cache->all;

	for (size_t i = 0; i < KEPT; i++) {
		if (is_kept(&cache->all[i], status, has_debug))
			return &cache->all[i];
		if (cache->all[i].worth < least->worth)
			least = &cache->all[i];
	}
	cache_drop(cache, least);
	return least;
}

/* The place of an image that has just been made. */
static void cache_use(struct cache *cache, struct kept *kept, uint64_t hits)
{
	uint64_t begin, end, all = (uint64_t)kept->status.st_size, code;

	reel_elf_file_text_range(kept->file, &begin, &end);
	code = end > begin ? end - begin : 0;
	/* What it says of its code need not be true. */
	kept->size = code < all / 4 * 3 ? all - code : all / 4 + 1;
	kept->worth = cache->age + (double)(BEGIN_COST + hits) / (double)kept->size;
}

static void cache_close_excess(struct cache *cache)
{
	for (;;) {
		struct kept *least = NULL;
		uint64_t sum = 0;

		for (size_t i = 0; i < KEPT; i++) {
			struct kept *kept = &cache->all[i];

			if (!kept->imager)
				continue;
			sum = kept->size > UINT64_MAX - sum ? UINT64_MAX : sum + kept->size;
			if (!least || kept->worth < least->worth)
				least = kept;
		}
		if (sum <= KEPT_SIZE)
			return;
		cache_drop(cache, least);
	}
}

/* Closes the files that it does not keep. */
static struct reel_error *make_image(struct cache *cache, int fds[2],
				     const struct image_request *request, const uint64_t *offsets,
				     struct reel_buffer *ret)
{
	struct reel_error *error = NULL;
	struct stat status = { 0 };
	struct kept *kept;

	if (fstat(fds[0], &status))
		status.st_size = INT64_MAX; /* not kept */
	kept = cache_find(cache, &status, fds[1] >= 0);
	if (!kept->imager) {
		error = kept_open(kept, fds, request, &status);
		fds[0] = fds[1] = -1;
	}
	if (!error)
		error = reel_hit_imager_make(kept->imager, offsets, (size_t)request->n_offsets,
					     (size_t)request->limit, ret);
	if (error)
		kept_close(kept);
	else
		cache_use(cache, kept, request->n_offsets);
	cache_close_excess(cache);
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return error;
}

static bool send_answer(int socket, struct reel_error *error, const struct reel_buffer *image)
{
	struct image_answer answer = {
		.size = error ? 0 : image->size,
		.is_short_of_memory = error && reel_error_code(error) == REEL_ERROR_NO_MEMORY,
	};
	bool sent;

	if (error)
		snprintf(answer.problem, sizeof(answer.problem), "%s", reel_error_message(error));
	sent = reel_fd_message_send(socket, &answer, sizeof(answer), NULL, 0, 0);
	for (size_t at = 0; at < answer.size && sent; at += IMAGE_PACKET) {
		size_t left = image->size - at;

		sent = reel_fd_message_send(socket, image->bytes + at,
					    left < IMAGE_PACKET ? left : IMAGE_PACKET, NULL, 0, 0);
	}
	return sent;
}

static bool answer_one(int socket, struct cache *cache)
{
	_cleanup_buffer_ struct reel_buffer image = { 0 };
	_cleanup_error_ struct reel_error *error = NULL;
	_cleanup_free_ uint64_t *offsets = NULL;
	struct image_request request;
	int fds[] = { -1, -1 };
	size_t n_files = 2;

	if (reel_fd_message_receive(socket, &request, sizeof(request), fds, &n_files, 0) !=
		    sizeof(request) ||
	    !n_files || request.n_offsets > IMAGE_HITS_MAX)
		return false;
	offsets = calloc((size_t)request.n_offsets + 1, sizeof(*offsets));
	if (!offsets || !receive_offsets(socket, offsets, request.n_offsets))
		return false;
	error = make_image(cache, fds, &request, offsets, &image);
	return send_answer(socket, error, &image);
}

static void answer_all(int socket)
{
	struct cache cache = { 0 };

	while (answer_one(socket, &cache))
		;
	for (size_t i = 0; i < KEPT; i++)
		kept_close(&cache.all[i]);
}

void reel_image_answers(int socket)
{
	prepare();
	answer_all(socket);
}

void reel_image_answers_confined(int socket)
{
	const struct reel_privileges kept = { .roles = REEL_ROLE_IMAGER };
	const char *lacks; /* the recorder finds the same */
	struct reel_error *error;

	prepare();
	error = reel_privileges_drop(&kept, &lacks);
	if (!error)
		answer_all(socket);
	reel_error_destroy(error);
}
