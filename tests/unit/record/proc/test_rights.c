/* SPDX-License-Identifier: Apache-2.0 */
/* Rights of processes to files, against what the kernel lets these processes do; files by their paths. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "record/proc/proc.h"
#include "record/proc/process_file.h"
#include "tests/support/test.h"

static const mode_t modes[] = { 0,    04,   040,  0400, 0600,  0604, 0640, 0644, 0444, 0100,
				0710, 0711, 0701, 0755, 04711, 0750, 0666, 0606, 0022, 0001 };
static const uid_t owners[] = { 0, 1000, 1001, 2000 };

#define N_MODES	 (sizeof(modes) / sizeof(*modes))
#define N_OWNERS (sizeof(owners) / sizeof(*owners))
#define N_FILES	 (N_MODES * N_OWNERS * N_OWNERS)

static char folder[] = "/tmp/stackreel-rights-XXXXXX";

static void name_of(size_t i, char ret[64])
{
	snprintf(ret, 64, "%s/%zu", folder, i);
}

static int answer_of_kernel(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? R_OK : faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? 0 : X_OK;
}

struct person {
	uid_t user, group;
	gid_t groups[2];
	size_t n_groups;
	bool has_capabilities;
	const char *map; /* of users and groups, in a user namespace */
};

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Writes a byte when it has its namespace, and is what it should be after it has read one. */
static void become(const struct person *person, int in, int out)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };
	char byte = 0;

	if (person->map && unshare(CLONE_NEWUSER))
		_exit(1);
	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		_exit(1);
	/* Ids as the namespace has them, in which all capabilities remain for its root. */
	if (setgroups(person->n_groups, person->groups) ||
	    setresgid(person->group, person->group, person->group) ||
	    setresuid(person->user, person->user, person->user) ||
	    (!person->has_capabilities && syscall(SYS_capset, &header, none)))
		_exit(1);
}

static void judge(const struct person *person)
{
	static unsigned char answers[N_FILES];
	int to[2], from[2], process;
	size_t size = 0, n_read = 0;
	char path[64], byte = 0;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (!pid) {
		become(person, to[0], from[1]);
		for (size_t i = 0; i < N_FILES; i++) {
			name_of(i, path);
			answers[i] = (unsigned char)answer_of_kernel(path);
		}
		if (write(from[1], answers, sizeof(answers)) == sizeof(answers))
			pause();
		_exit(1);
	}
	close(from[1]);
	assert_int_equal(read(from[0], &byte, 1), 1);
	if (person->map) {
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		write_text(path, person->map);
		snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
		write_text(path, person->map);
	}
	assert_int_equal(write(to[1], &byte, 1), 1);
	while (size < sizeof(answers)) {
		ssize_t n = read(from[0], answers + size, sizeof(answers) - size);

		assert_true(n > 0);
		size += (size_t)n;
	}
	snprintf(path, sizeof(path), "/proc/%d", pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(process >= 0);
	for (size_t i = 0; i < N_FILES; i++) {
		int file, rights;

		name_of(i, path);
		file = open(path, O_PATH | O_CLOEXEC);
		assert_true(file >= 0);
		rights = reel_rights_of(process, file);
		if (rights != answers[i])
			print_error("mode %04o owner %u group %u: user %u\n", modes[i % N_MODES],
				    owners[i / N_MODES % N_OWNERS], owners[i / N_MODES / N_OWNERS],
				    person->user);
		assert_int_equal(rights, answers[i]);
		n_read += rights == R_OK;
		close(file);
	}
	assert_true(n_read > 0);
	close(process);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(from[0]);
	close(to[0]);
	close(to[1]);
}

TEST(processes)
{
	const struct person people[] = {
		{ .has_capabilities = true },
		{ .user = 0 },
		{ .user = 1000, .group = 1000 },
		{ .user = 1000, .group = 1001, .groups = { 0, 2000 }, .n_groups = 2 },
		{ .user = 2000, .group = 5, .groups = { 1000 }, .n_groups = 1 },
		/* A container's root, and another user there */
		{ .has_capabilities = true, .map = "0 1000 2\n" },
		{ .map = "0 1000 2\n" },
		{ .user = 1, .group = 1, .map = "0 1000 2\n" },
		{ .has_capabilities = true, .map = "0 1001 1\n10 2000 1\n" },
	};

	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(people) / sizeof(*people); i++)
		judge(&people[i]);
}

/* A file that has an access control list is for its owner only. */
TEST(access_lists)
{
	/* posix_acl_xattr: user::rw-, user:1000:---, group::r--, mask::r--, other::r-- */
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, bits;
			uint32_t id;
		} entries[5];
	} list = { 2,
		   { { 1, 6, UINT32_MAX },
		     { 2, 0, 1000 },
		     { 4, 4, UINT32_MAX },
		     { 0x10, 4, UINT32_MAX },
		     { 0x20, 4, UINT32_MAX } } };
	int self, file, status;
	char path[64];
	pid_t pid;

	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/list", folder);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(file >= 0 && self >= 0);
	assert_int_equal(reel_rights_of(self, file), R_OK);
	if (fsetxattr(file, "system.posix_acl_access", &list, sizeof(list), 0)) {
		close(file);
		close(self);
		skip();
	}
	assert_int_equal(reel_rights_of(self, file), R_OK);
	close(self);
	pid = fork();
	if (!pid) {
		self = setresuid(1000, 1000, 1000)
			       ? -1
			       : open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
		_exit(self < 0 || answer_of_kernel(path) == R_OK ||
		      reel_rights_of(self, file) != X_OK);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(file);
}

static bool is_found(pid_t pid, const struct reel_proc_map *map)
{
	bool exact;
	int place = reel_proc_find_mapped((uint32_t)pid, map, &exact);

	if (place >= 0)
		close(place);
	return place >= 0;
}

/* The path of a mapping that is gone, which may have become another file's. */
TEST(paths)
{
	char path[64], link[64];
	struct reel_proc_map map = { .path = path };
	struct statfs system;
	struct stat status;
	pid_t pid;
	int fd;

	if (geteuid())
		skip();
	pid = fork();
	if (!pid) {
		if (!setresuid(1000, 1000, 1000) && !prctl(PR_SET_PDEATHSIG, SIGKILL))
			pause();
		_exit(1);
	}
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(path, sizeof(path), "%s/file", folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, path, 1) == 1 && !symlink(path, link));
	assert_int_equal(fstat(fd, &status), 0);
	map.device_major = major(status.st_dev);
	map.device_minor = minor(status.st_dev);
	map.inode = status.st_ino;
	assert_true(is_found(getpid(), &map));
	while (kill(pid, 0) || is_found(pid, &map))
		; /* until it is another user's */
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_true(is_found(pid, &map));
	map.path = link;
	assert_false(is_found(pid, &map));
	map.path = path;
	map.device_minor++;
	/* On overlayfs, events can have the device of the file below. */
	assert_int_equal(is_found(pid, &map),
			 !fstatfs(fd, &system) && system.f_type == OVERLAYFS_SUPER_MAGIC);
	map.device_minor--;
	map.inode++;
	assert_false(is_found(pid, &map));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* With no process, it is the file of that device and inode. */
	assert_false(is_found(pid, &map));
	map.inode--;
	assert_true(is_found(pid, &map));
	close(fd);
}

static int make(void **state)
{
	char path[64];

	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	for (size_t i = 0; i < N_FILES && !geteuid(); i++) {
		int fd;

		name_of(i, path);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 ||
		    fchown(fd, owners[i / N_MODES % N_OWNERS], owners[i / N_MODES / N_OWNERS]) ||
		    fchmod(fd, modes[i % N_MODES]))
			return 1;
		close(fd);
	}
	return 0;
}

static int clear(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

RUN_TESTS_WITH(make, clear)
