/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/kernel_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "record/host/refusal.h"

static bool contains(const char *bytes, size_t size, const char *name)
{
	const char *found = memmem(bytes, size, name, strlen(name) + 1);

	return found && found > bytes && found[-1] == '\0';
}

bool reel_kernel_has(const char *name)
{
	_cleanup_fd_ int fd = open(REEL_KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, room;
	struct stat status;
	ssize_t n;
	void *map;

	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0)
		return false;
	room = (size_t)status.st_size;
	/* From 6.16 on; sysfs returns only one page per read. */
	map = mmap(NULL, room, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		bool found = contains(map, room, name);

		munmap(map, room);
		return found;
	}
	bytes = malloc(room);
	if (!bytes)
		return false;
	while (size < room && (n = read(fd, bytes + size, room - size)) > 0)
		size += (size_t)n;
	return contains(bytes, size, name);
}

bool reel_scans_may_sleep(void)
{
	/* Or with the helper of 5.18, which some distributions' older kernels have. */
	return reel_kernel_at_least(5, 18) || reel_kernel_has("BPF_FUNC_copy_from_user_task");
}
