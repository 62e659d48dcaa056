/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper that makes images.  It reads untrusted files, and may hang with a file server: so it
 * may only read the descriptors that it is given, and may be killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf/image/hit_image.h"
#include "record/embedding/image_request.h"
#include "record/helper/fd_message.h"
#include "record/host/privileges.h"

/* Lower than the recorder's (spawner.c): samples do not wait for this. */
#define PRIORITY 0

static void prepare(void)
{
	prctl(PR_SET_NAME, "reel-imager");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
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

static struct reel_error *make_image(const int fds[2], const struct image_request *request,
				     const uint64_t *offsets, struct reel_buffer *ret)
{
	struct reel_hit_image_options options = {
		.everything = request->everything,
		.no_symbols = request->no_symbols,
		.limit = (size_t)request->limit,
	};
	struct reel_elf_file *file;
	/* The recorder adds the file's name. */
	struct reel_error *error = reel_elf_file_open_descriptor(fds[0], "it", &file);

	if (error) {
		if (fds[1] >= 0)
			close(fds[1]);
		return error;
	}
	options.debug = open_debug_file(fds[1], file);
	error = reel_hit_image_make(file, offsets, (size_t)request->n_offsets, &options, ret);
	reel_elf_file_close(options.debug);
	reel_elf_file_close(file);
	return error;
}

static bool send_answer(int socket, struct reel_error *error, const struct reel_buffer *image)
{
	struct image_answer answer = { .size = error ? 0 : image->size };
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

static bool answer_one(int socket)
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
	error = make_image(fds, &request, offsets, &image);
	return send_answer(socket, error, &image);
}

static void answer_all(int socket)
{
	while (answer_one(socket))
		;
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
