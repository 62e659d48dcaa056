/* SPDX-License-Identifier: Apache-2.0 */
/* record/embedding/image_asker.c: helpers that hang, work for too long, have no memory, are given up, or die. */
#include "base/quantity.h"
#include "record/embedding/image_asker.h"
#include "record/embedding/image_request.h"
#include "record/helper/fd_message.h"
#include "tests/support/test.h"

/* ---- a helper that acts as the request's limit selects ----------------------------------------
 */

enum { GOOD = 1000, HANG, SPIN, NO_ROOM, DIE };

static void answer(int socket)
{
	struct image_answer answer = { .size = 4 };

	reel_fd_message_send(socket, &answer, sizeof(answer), NULL, 0, 0);
	reel_fd_message_send(socket, "ELF", 4, NULL, 0, 0);
}

static void refuse(int socket)
{
	struct image_answer answer = { .is_short_of_memory = true, .problem = "out of memory" };

	reel_fd_message_send(socket, &answer, sizeof(answer), NULL, 0, 0);
}

static volatile uint64_t spun;

void reel_image_answers(int socket)
{
	struct image_request request;
	size_t n_files = 1;
	int fd;

	while (reel_fd_message_receive(socket, &request, sizeof(request), &fd, &n_files, 0) ==
	       sizeof(request)) {
		close(fd);
		switch (request.limit) {
		case HANG:
			sleep(60);
			break;
		case SPIN:
			for (;;)
				spun++;
		case NO_ROOM:
			refuse(socket);
			break;
		case DIE:
			_exit(1);
		default:
			answer(socket);
		}
		n_files = 1;
	}
}

void reel_image_answers_confined(int socket)
{
	reel_image_answers(socket);
}

/* ---- questions --------------------------------------------------------------------------------
 */

static struct reel_image_asker *asker;

static int setup(void **state)
{
	struct reel_error *error = reel_image_asker_create(false, &asker);

	return error ? -1 : 0;
}

static int teardown(void **state)
{
	reel_image_asker_destroy(asker);
	return 0;
}

static void ask(uint64_t what, uint64_t deadline, uint64_t work_max)
{
	const struct reel_image_question question = {
		.file = STDERR_FILENO,
		.limit = what,
		.deadline = deadline,
		.work_max = work_max,
	};

	reel_image_asker_ask(asker, &question);
}

static enum reel_image_state wait_for(const char **problem_ret)
{
	enum reel_image_state state;
	struct reel_bytes image;

	while ((state = reel_image_asker_look(asker, &image, problem_ret)) == REEL_IMAGE_NOT_YET)
		reel_image_asker_wait(asker, 10);
	if (state == REEL_IMAGE_MADE)
		assert_memory_equal(image.data, "ELF", 4);
	return state;
}

/* Whatever the previous helper did, the next one answers. */
static void the_next_one_answers(void)
{
	const char *problem;

	ask(GOOD, 0, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_MADE);
}

TEST(one_that_hangs_has_a_deadline)
{
	uint64_t begin = reel_now(), took;
	const char *problem;

	the_next_one_answers();
	ask(HANG, begin + 200 * REEL_NS_PER_MS, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_TOO_SLOW);
	assert_string_equal(problem, "making the image took too long");
	took = reel_now() - begin;
	assert_in_range(took, 200 * REEL_NS_PER_MS, 20 * REEL_NS_PER_SECOND);
	the_next_one_answers();
}

TEST(a_deadline_can_come_nearer)
{
	uint64_t begin = reel_now();
	const char *problem;

	ask(SPIN, begin + 60 * REEL_NS_PER_SECOND, 0);
	reel_image_asker_hurry(asker, begin + 100 * REEL_NS_PER_MS);
	reel_image_asker_hurry(asker, begin + 90 * REEL_NS_PER_SECOND);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_TOO_SLOW);
	assert_in_range(reel_now() - begin, 100 * REEL_NS_PER_MS, 20 * REEL_NS_PER_SECOND);
	the_next_one_answers();
}

TEST(work_is_limited)
{
	const char *problem;

	ask(SPIN, reel_now() + 60 * REEL_NS_PER_SECOND, 50 * REEL_NS_PER_MS);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_TOO_SLOW);
	if (!reel_image_asker_work(asker))
		skip(); /* this kernel does not count that time (CONFIG_SCHED_INFO) */
	assert_in_range(reel_image_asker_work(asker), 50 * REEL_NS_PER_MS, 2 * REEL_NS_PER_SECOND);
	the_next_one_answers();
	assert_true(reel_image_asker_work(asker) < 50 * REEL_NS_PER_MS);
}

TEST(one_at_work_can_be_given_up)
{
	const struct reel_image_question question = {
		.file = STDERR_FILENO,
		.limit = SPIN,
		.offsets = calloc(1, sizeof(*question.offsets)),
		.n = 1,
	};
	uint64_t begin = reel_now();
	const char *problem;

	assert_false(reel_image_asker_give_up(asker, "none"));
	reel_image_asker_ask(asker, &question);
	assert_true(reel_image_asker_give_up(asker, "too large"));
	assert_false(reel_image_asker_give_up(asker, "again"));
	assert_int_equal(wait_for(&problem), REEL_IMAGE_LEFT_OUT);
	assert_string_equal(problem, "too large");
	assert_true(reel_now() - begin < 20 * REEL_NS_PER_SECOND);
	assert_false(reel_image_asker_give_up(asker, "none"));
	the_next_one_answers();
}

/* What the first one keeps of other files may have taken its memory. */
TEST(a_second_one_has_memory)
{
	const char *problem;

	the_next_one_answers();
	ask(NO_ROOM, 0, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_NO_ROOM);
	ask(NO_ROOM, 0, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_LEFT_OUT);
	assert_string_equal(problem, "out of memory");
	ask(NO_ROOM, 0, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_LEFT_OUT);
	the_next_one_answers();
}

TEST(one_that_dies_leaves_no_image)
{
	const char *problem;

	ask(DIE, 0, 0);
	assert_int_equal(wait_for(&problem), REEL_IMAGE_LEFT_OUT);
	the_next_one_answers();
}

RUN_TESTS_WITH(setup, teardown)
