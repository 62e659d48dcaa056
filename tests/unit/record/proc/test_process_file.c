/* SPDX-License-Identifier: Apache-2.0 */
/* Files that can be read without the process that maps them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "record/proc/process_file.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/stackreel-file-XXXXXX";

static struct reel_proc_file make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat status;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	close(fd);
	return (struct reel_proc_file){ .device_major = major(status.st_dev),
					.device_minor = minor(status.st_dev),
					.inode = status.st_ino };
}

TEST(in_our_root)
{
	struct reel_proc_file first, second;
	char path[64], other[64], deleted[80];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	first = make_file(path);
	second = make_file(other);
	assert_true(reel_proc_is_in_our_root(path, &first));
	assert_false(reel_proc_is_in_our_root(other, &first));
	assert_false(reel_proc_is_in_our_root(path + 1, &first));
	assert_false(reel_proc_is_in_our_root("//anon", &first));
	/* Another file has its path, as with a container's; then a link leads to it. */
	assert_int_equal(rename(other, path), 0);
	assert_false(reel_proc_is_in_our_root(path, &first));
	assert_false(reel_proc_is_in_our_root(deleted, &first));
	assert_true(reel_proc_is_in_our_root(path, &second));
	assert_int_equal(symlink(path, other), 0);
	assert_false(reel_proc_is_in_our_root(other, &second));
	assert_int_equal(unlink(other), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

RUN_TESTS()
