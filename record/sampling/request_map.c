/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/request_map.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <bpf/bpf.h>

#include "bpf/sample.h"

static struct reel_error *check(const char *path, int fd)
{
	const uint32_t key_size = 8, value_size = sizeof(struct reel_bpf_request);
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return reel_error_os(errno, "%s", path);
	if (info.type != BPF_MAP_TYPE_LRU_HASH || info.key_size != key_size ||
	    info.value_size != value_size)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"%s: a BPF map of type %u with keys of %u and values of %u bytes (expected "
			"type %u, an LRU hash, with %u and %u)",
			path, info.type, info.key_size, info.value_size, BPF_MAP_TYPE_LRU_HASH,
			key_size, value_size);
	if (info.map_flags & BPF_F_WRONLY_PROG)
		return reel_error_create(REEL_ERROR_INVALID,
					 "%s: BPF programs must not read this map", path);
	return NULL;
}

struct reel_error *reel_request_map_open(const char *path, int *fd_ret)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	_cleanup_fd_ int fd = -1;
	struct statfs status;

	*fd_ret = -1;
	if (statfs(path, &status))
		return reel_error_os(errno, "%s", path);
	/* Pinned programs cannot be opened for reading only. */
	fd = status.f_type == BPF_FS_MAGIC ? bpf_obj_get_opts(path, &opts) : -EINVAL;
	if (fd == -EINVAL)
		return reel_error_create(REEL_ERROR_INVALID, "%s: not a pinned BPF map", path);
	if (fd < 0)
		return reel_error_os(-fd, "%s", path);
	TRY(check(path, fd));
	*fd_ret = fd;
	fd = -1;
	return NULL;
}
