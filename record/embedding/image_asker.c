/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/embedding/image_asker.h"
#include "record/embedding/image_request.h"
#include "record/helper/fd_message.h"
#include "record/helper/spawner.h"
#include "record/host/privileges.h"

/* A helper that sleeps without progress hangs, for example with a file server.  A working one may
 * take longer. */
#define PATIENCE      (5 * REEL_NS_PER_SECOND)
#define PATIENCE_BUSY (60 * REEL_NS_PER_SECOND)
/* A helper that has worked longer is replaced after its answer, so that only a helper that does not
 * answer reaches the limit of CPU time. */
#define HELPER_WORK_MAX (4 * REEL_NS_PER_SECOND)

static const struct reel_helper_limits limits = {
	/* Several times the size of symbols and unwind information of the largest browsers. */
	.memory = UINT64_C(2) << 30,
	/* See HELPER_WORK_MAX. */
	.cpu_seconds = 14,
	/* Files that the helper keeps, with their debug files; sockets, and some to spare. */
	.files = 256,
};

struct reel_image_asker {
	struct reel_spawner *spawner;
	int helper;   /* our end of its socket, -1: none */
	bool is_used; /* it has made an image */
	struct reel_image_question question;
	size_t n_sent;	/* offsets */
	uint64_t moved; /* time of the last progress */
	bool has_head;
	struct image_answer answer;
	struct reel_buffer image;
	const char *problem; /* NULL: none so far */
	bool is_slow;
	uint64_t work_before, work; /* of the helper: before this question, and for it */
};

struct reel_error *reel_image_asker_create(bool confined, struct reel_image_asker **ret)
{
	struct reel_image_asker *asker = calloc(1, sizeof(*asker));
	struct reel_error *error;

	if (!asker)
		return reel_error_no_memory();
	asker->helper = -1;
	error = reel_spawner_create(confined ? reel_image_answers_confined : reel_image_answers,
				    confined ? REEL_ROLE_IMAGER : 0, &limits, &asker->spawner);
	if (error)
		free(asker);
	else
		*ret = asker;
	return error;
}

static void end_question(struct reel_image_asker *asker)
{
	free(asker->question.offsets);
	asker->question.offsets = NULL;
}

static void end_helper(struct reel_image_asker *asker)
{
	if (asker->helper >= 0)
		close(asker->helper);
	asker->helper = -1;
	asker->is_used = false;
	asker->work_before = 0;
}

/* Starts a new helper at once, which kills the old one; it would otherwise keep working. */
static void replace_helper(struct reel_image_asker *asker)
{
	end_helper(asker);
	asker->helper = reel_spawner_start(asker->spawner);
}

void reel_image_asker_rest(struct reel_image_asker *asker)
{
	/* The spawner ends it when it is asked for the next one. */
	if (!asker->question.offsets && asker->helper >= 0)
		end_helper(asker);
	reel_buffer_free(&asker->image);
	asker->image = (struct reel_buffer){ 0 };
}

bool reel_image_asker_give_up(struct reel_image_asker *asker, const char *problem)
{
	if (!asker->question.offsets || asker->problem)
		return false;
	asker->problem = problem;
	replace_helper(asker);
	return true;
}

void reel_image_asker_destroy(struct reel_image_asker *asker)
{
	if (!asker)
		return;
	end_question(asker);
	end_helper(asker);
	reel_spawner_destroy(asker->spawner);
	reel_buffer_free(&asker->image);
	free(asker);
}

bool reel_image_asker_lives(const struct reel_image_asker *asker)
{
	return reel_spawner_lives(asker->spawner);
}

void reel_image_asker_ask(struct reel_image_asker *asker,
			  const struct reel_image_question *question)
{
	const struct image_request request = {
		.n_offsets = question->n,
		.limit = question->limit,
		.everything = question->everything,
		.no_symbols = question->no_symbols,
	};

	const int files[] = { question->file, question->debug_file };

	end_question(asker);
	asker->question = *question;
	asker->image.size = 0;
	asker->problem = NULL;
	asker->is_slow = false;
	asker->work = 0;
	asker->has_head = false;
	asker->n_sent = 0;
	asker->moved = reel_now();
	if (asker->work_before > HELPER_WORK_MAX)
		end_helper(asker);
	if (asker->helper < 0)
		asker->helper = reel_spawner_start(asker->spawner);
	if (asker->helper < 0 ||
	    !reel_fd_message_send(asker->helper, &request, sizeof(request), files,
				  1 + question->has_debug_file, MSG_DONTWAIT))
		asker->problem = "could not start a helper process";
}

/* False: the helper is gone. */
static bool send_offsets(struct reel_image_asker *asker)
{
	const struct reel_image_question *question = &asker->question;

	while (asker->n_sent < question->n) {
		size_t n = question->n - asker->n_sent;

		if (n > IMAGE_OFFSETS)
			n = IMAGE_OFFSETS;
		if (!reel_fd_message_send(asker->helper, question->offsets + asker->n_sent,
					  n * sizeof(*question->offsets), NULL, 0, MSG_DONTWAIT))
			return errno == EAGAIN;
		asker->n_sent += n;
		asker->moved = reel_now();
	}
	return true;
}

/* False: the helper is gone, or its answer is invalid. */
static bool receive(struct reel_image_asker *asker)
{
	struct reel_buffer *image = &asker->image;

	while (!asker->has_head || image->size < asker->answer.size) {
		size_t no_files = 0, left = asker->answer.size - image->size;
		size_t size = !asker->has_head	    ? sizeof(asker->answer)
			      : left < IMAGE_PACKET ? left
						    : IMAGE_PACKET;
		uint8_t *room = asker->has_head ? reel_buffer_reserve(image, size)
						: (uint8_t *)&asker->answer;
		ssize_t n = room ? reel_fd_message_receive(asker->helper, room, size, NULL,
							   &no_files, MSG_DONTWAIT | MSG_TRUNC)
				 : 0;

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n != (ssize_t)size)
			return false;
		asker->moved = reel_now();
		if (asker->has_head)
			image->size += size;
		else if (asker->answer.size > asker->question.limit)
			return false;
		asker->answer.problem[sizeof(asker->answer.problem) - 1] = '\0';
		asker->has_head = true;
	}
	return true;
}

void reel_image_asker_hurry(struct reel_image_asker *asker, uint64_t deadline)
{
	if (!asker->question.deadline || deadline < asker->question.deadline)
		asker->question.deadline = deadline;
}

uint64_t reel_image_asker_work(const struct reel_image_asker *asker)
{
	return asker->work;
}

/* The last count remains for a helper that has ended. */
static void count_work(struct reel_image_asker *asker, const struct reel_spawner_state *state)
{
	if (state->begun && state->work > asker->work_before + asker->work)
		asker->work = state->work - asker->work_before;
}

/* The reason why the helper gets no more time; NULL if it gets more. */
static const char *find_delay(struct reel_image_asker *asker)
{
	const struct reel_image_question *question = &asker->question;
	struct reel_spawner_state state = reel_spawner_look(asker->spawner);
	uint64_t now = reel_now(), since = now - asker->moved;

	count_work(asker, &state);
	asker->is_slow = (question->deadline && now >= question->deadline) ||
			 (question->work_max && asker->work > question->work_max);
	if (asker->is_slow)
		return "making the image took too long";
	if (since > PATIENCE_BUSY || (since > PATIENCE && !state.runs))
		return "could not be read in time";
	return NULL;
}

/* After an answer the helper waits; its work so far does not count for the next question. */
static void end_answer(struct reel_image_asker *asker)
{
	struct reel_spawner_state state = reel_spawner_look(asker->spawner);

	count_work(asker, &state);
	asker->work_before += asker->work;
}

enum reel_image_state reel_image_asker_look(struct reel_image_asker *asker,
					    struct reel_bytes *image_ret, const char **problem_ret)
{
	bool done, has_no_room;

	if (!asker->problem && (!send_offsets(asker) || !receive(asker)))
		asker->problem = "the helper process that makes images exited";
	done = !asker->problem && asker->has_head && asker->image.size == asker->answer.size;
	if (!asker->problem && !done)
		asker->problem = find_delay(asker);
	if (asker->problem)
		replace_helper(asker);
	else if (!done)
		return REEL_IMAGE_NOT_YET;
	else
		end_answer(asker);
	/* What it keeps of other files takes room, and so does its heap, with freed parts. */
	has_no_room = done && asker->answer.is_short_of_memory && asker->is_used;
	if (has_no_room)
		end_helper(asker);
	else
		asker->is_used |= done && asker->image.size;
	end_question(asker);
	*image_ret = (struct reel_bytes){ asker->image.bytes, asker->image.size };
	*problem_ret = asker->problem ? asker->problem : asker->answer.problem;
	if (asker->is_slow)
		return REEL_IMAGE_TOO_SLOW;
	if (has_no_room)
		return REEL_IMAGE_NO_ROOM;
	return done && asker->image.size ? REEL_IMAGE_MADE : REEL_IMAGE_LEFT_OUT;
}

int reel_image_asker_fd(const struct reel_image_asker *asker)
{
	return asker->helper;
}

void reel_image_asker_wait(struct reel_image_asker *asker, int timeout_ms)
{
	struct pollfd set = { asker->helper, POLLIN, 0 };

	if (asker->n_sent < asker->question.n)
		set.events |= POLLOUT;
	poll(&set, 1, timeout_ms);
}
