/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/regular_file.h"

/* O_NONBLOCK: an open may wait for somebody's lease (fcntl(2)). */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * File systems that store programs.  Any other may present the state of the kernel or a device as
 * regular files, and reading those has effects: a file of a PCI device talks to the device,
 * /proc/kmsg and trace_pipe take their content away from other readers, and wait for more.  An
 * allow list also excludes future pseudo file systems.
 */
static const uint32_t file_systems[] = {
	ADFS_SUPER_MAGIC, AFFS_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC, BTRFS_SUPER_MAGIC,
	CEPH_SUPER_MAGIC, CIFS_SUPER_MAGIC, CODA_SUPER_MAGIC, CRAMFS_MAGIC, CRAMFS_MAGIC_WEND,
	ECRYPTFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, /* also ext2's and ext3's */
	F2FS_SUPER_MAGIC, FUSE_SUPER_MAGIC,	/* also virtiofs */
	HOSTFS_SUPER_MAGIC, HPFS_SUPER_MAGIC, HUGETLBFS_MAGIC, ISOFS_SUPER_MAGIC, JFFS2_SUPER_MAGIC,
	MINIX_SUPER_MAGIC, MINIX_SUPER_MAGIC2, MINIX2_SUPER_MAGIC, MINIX2_SUPER_MAGIC2,
	MINIX3_SUPER_MAGIC, MSDOS_SUPER_MAGIC, NFS_SUPER_MAGIC, NILFS_SUPER_MAGIC,
	OCFS2_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC, REISERFS_SUPER_MAGIC,
	SMB_SUPER_MAGIC, SQUASHFS_MAGIC, TMPFS_MAGIC, /* also memfds' */
	V9FS_MAGIC, XFS_SUPER_MAGIC,
	/* linux/magic.h has these only in later versions or not at all; the kernel's fs/ or the
	 * modules' own headers define them. */
	0x01161970, /* gfs2 */
	0x0bd00bd0, /* Lustre */
	0x15013346, /* UDF */
	0x20030528, /* OrangeFS */
	0x2011bab0, /* exFAT */
	0x24051905, /* UBIFS */
	0x2fc12fc1, /* ZFS on Linux */
	0x3153464a, /* JFS */
	0x47504653, /* GPFS */
	0x482b,	    /* HFS+ */
	0x53464846, /* WSL */
	0x5346544e, /* NTFS */
	0x61756673, /* aufs */
	0x7275,	    /* romfs */
	0x7366746e, /* ntfs3 */
	0x786f4256, /* VirtualBox's shared folders */
	0xbacbacbc, /* VMware's */
	0xca451a4e, /* bcachefs */
	0xe0f5e1e2, /* EROFS */
	0xfe534d42, /* SMB 2 and 3 */
};

static bool keeps_files(uint32_t type)
{
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(*file_systems); i++) {
		if (file_systems[i] == type)
			return true;
	}
	return false;
}

/* Whether a place (O_PATH) may be opened; neither of its calls opens the file. */
static struct reel_error *check(int place, const char *name, struct stat *ret)
{
	struct statfs status;

	if (fstat(place, ret) || fstatfs(place, &status))
		return reel_error_os(errno, "%s", name);
	if (!S_ISREG(ret->st_mode))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE, "%s: not a regular file", name);
	if (!keeps_files((uint32_t)status.f_type))
		return reel_error_create(REEL_ERROR_NOT_A_CAPTURE,
					 "%s: unsupported file system type 0x%08" PRIx32
					 "; copy the file to a disk",
					 name, (uint32_t)status.f_type);
	return NULL;
}

/* `path` leads to the checked file, unless somebody replaced that. */
static struct reel_error *open_checked(const char *path, const char *name,
				       const struct stat *expected, int *fd_ret,
				       struct stat *status_ret)
{
	int fd = open(path, READ_FLAGS);

	if (fd < 0)
		return reel_error_os(errno, "%s", name);
	if (fstat(fd, status_ret) || !S_ISREG(status_ret->st_mode) ||
	    status_ret->st_dev != expected->st_dev || status_ret->st_ino != expected->st_ino) {
		close(fd);
		return reel_error_create(REEL_ERROR_OS, "%s: replaced while it was opened", name);
	}
	*fd_ret = fd;
	return NULL;
}

struct reel_error *reel_regular_file_reopen(int place, const char *name, int *fd_ret,
					    struct stat *status_ret)
{
	struct stat status;
	struct reel_error *error = check(place, name, &status);
	char link[32];

	/* The link leads to the very file that was checked, even if its name now means another. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return error ? error : open_checked(link, name, &status, fd_ret, status_ret);
}

struct reel_error *reel_regular_file_open(const char *path, int *fd_ret, struct stat *status_ret)
{
	_cleanup_fd_ int place = open(path, O_PATH | O_CLOEXEC);
	struct reel_error *error;
	struct stat status;

	if (place < 0)
		return reel_error_os(errno, "%s", path);
	if (!access("/proc/self/fd", X_OK))
		return reel_regular_file_reopen(place, path, fd_ret, status_ret);
	/* Without /proc, open by name. */
	error = check(place, path, &status);
	return error ? error : open_checked(path, path, &status, fd_ret, status_ret);
}
