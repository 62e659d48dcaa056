/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/stat.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/system.h"

size_t reel_system_cpus(void)
{
	cpu_set_t cpus;

	/* Fails if there are more than 1024. */
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? SIZE_MAX : (size_t)CPU_COUNT(&cpus);
}

int reel_system_nameless_file(const char *folder)
{
	return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int reel_system_memory_file(const char *label)
{
	return memfd_create(label, MFD_CLOEXEC);
}

bool reel_system_birth_time(int fd, int64_t *ret)
{
	struct statx status;

	/* musl 1.2.3 has no statx(). */
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) ||
	    !(status.stx_mask & STATX_BTIME))
		return false;
	*ret = status.stx_btime.tv_sec;
	return true;
}

void reel_system_clear_pages(void *pages, size_t size)
{
	if (madvise(pages, size, MADV_DONTNEED))
		memset(pages, 0, size);
}

void reel_system_advise_huge_pages(void *pages, size_t size, bool wanted)
{
	madvise(pages, size, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

ssize_t reel_system_peek(int fd, void *bytes, size_t size)
{
	ssize_t n = pread(fd, bytes, size, lseek(fd, 0, SEEK_CUR));
	int ends[2];

	if (n >= 0 || pipe2(ends, O_CLOEXEC))
		return n;
	n = tee(fd, ends[1], size, 0);
	if (n > 0)
		n = read(ends[0], bytes, (size_t)n);
	close(ends[0]);
	close(ends[1]);
	return n;
}

void reel_system_end_with_parent(int signal)
{
	prctl(PR_SET_PDEATHSIG, signal);
}
