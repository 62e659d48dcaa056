/* SPDX-License-Identifier: Apache-2.0 */
/* record/embedding/image_answers.c: what the helper that makes images keeps of its files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record/embedding/image_request.h"
#include "record/helper/fd_message.h"
#include "tests/support/test.h"

static pid_t helper;
static int ours;

static int setup(void **state)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	helper = fork();
	if (!helper) {
		close(pair[0]);
		reel_image_answers(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	ours = pair[0];
	return helper < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	close(ours);
	return waitpid(helper, NULL, 0) == helper ? 0 : -1;
}

/* This program, as another file. */
static int copy(void)
{
	int program = open("/proc/self/exe", O_RDONLY), fd = memfd_create("copy", MFD_CLOEXEC);
	struct stat status;

	assert_true(program >= 0 && fd >= 0);
	assert_return_code(fstat(program, &status), errno);
	for (off_t left = status.st_size; left;) {
		ssize_t n = sendfile(fd, program, NULL, (size_t)left);

		assert_true(n > 0);
		left -= n;
	}
	close(program);
	return fd;
}

/* Has an image made; its size. */
static uint64_t ask(int fd, uint64_t offset)
{
	const struct image_request request = { .n_offsets = 1, .limit = 1 << 20 };
	static uint8_t packet[IMAGE_PACKET];
	struct image_answer answer;
	size_t none = 0;

	assert_true(reel_fd_message_send(ours, &request, sizeof(request), &fd, 1, 0));
	assert_true(reel_fd_message_send(ours, &offset, sizeof(offset), NULL, 0, 0));
	assert_int_equal(reel_fd_message_receive(ours, &answer, sizeof(answer), NULL, &none, 0),
			 sizeof(answer));
	assert_string_equal(answer.problem, "");
	for (uint64_t at = 0; at < answer.size;) {
		ssize_t n = reel_fd_message_receive(ours, packet, sizeof(packet), NULL, &none, 0);

		assert_true(n > 0);
		at += (uint64_t)n;
	}
	return answer.size;
}

/* Bytes that the helper has read since it began; 0 if this kernel does not count them. */
static uint64_t bytes_read(void)
{
	unsigned long long bytes = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)helper);
	file = fopen(path, "r");
	if (file && fscanf(file, "rchar: %llu", &bytes) != 1)
		bytes = 0;
	if (file)
		fclose(file);
	return bytes;
}

/* More than the most recent few: a busy host's files are asked for in turns. */
TEST(a_file_of_many_is_not_read_again)
{
	enum { FILES = 40 };
	uint64_t first, second;
	int fds[FILES];

	for (size_t i = 0; i < FILES; i++) {
		fds[i] = copy();
		assert_true(ask(fds[i], 0x1000));
	}
	first = bytes_read();
	if (!first)
		skip(); /* CONFIG_TASK_IO_ACCOUNTING */
	for (size_t i = 0; i < FILES; i++)
		assert_true(ask(fds[i], 0x1000));
	second = bytes_read() - first;
	assert_in_range(second, 1, first / 4);
	for (size_t i = 0; i < FILES; i++)
		close(fds[i]);
}

RUN_TESTS_WITH(setup, teardown)
