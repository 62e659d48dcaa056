/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "record/proc/proc.h"
#include "record/proc/rights.h"

#define ALL_READ (S_IRUSR | S_IRGRP | S_IROTH)

static bool has_access_list(int file)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* The numbers after `key`, one of which is `wanted`; only the last one counts if `is_last`. */
static bool has_number(const char *status, const char *key, bool is_last, uint64_t wanted)
{
	const char *at = strstr(status, key);
	bool is_wanted = false;
	char *end;

	for (at = at ? at + strlen(key) : "\n"; *at != '\n'; at = end) {
		uint64_t number = strtoull(at, &end, 10);

		if (end == at)
			break;
		is_wanted = number == wanted || (is_wanted && !is_last);
		end += strspn(end, " \t");
	}
	return is_wanted;
}

/* Whether the process's user namespace has this user or group: its map has lines of the first number
 * inside, the first one outside, and their count. */
static bool is_in_namespace(int process, const char *map, uint64_t number)
{
	_cleanup_buffer_ struct reel_buffer text = { 0 };
	uint64_t first, count;
	int size;

	if (!reel_proc_read_at(process, map, &text))
		return false;
	for (const char *at = (const char *)text.bytes;
	     sscanf(at, "%*u %" SCNu64 " %" SCNu64 "%n", &first, &count, &size) == 2; at += size) {
		if (number >= first && number - first < count)
			return true;
	}
	return false;
}

/* capable_wrt_inode_uidgid() of the kernel's kernel/capability.c */
static bool overrides(int process, const char *status, const struct stat *file)
{
	const char *at = strstr(status, "\nCapEff:\t");
	uint64_t set = at ? strtoull(at + strlen("\nCapEff:\t"), NULL, 16) : 0;

	return set & (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH) &&
	       is_in_namespace(process, "uid_map", file->st_uid) &&
	       is_in_namespace(process, "gid_map", file->st_gid);
}

int reel_rights_of(int process, int file)
{
	_cleanup_buffer_ struct reel_buffer buffer = { 0 };
	const char *status;
	bool has_list;
	struct stat at;
	mode_t bits;

	if (fstat(file, &at))
		return X_OK;
	has_list = has_access_list(file);
	if ((at.st_mode & ALL_READ) == ALL_READ && !has_list)
		return R_OK;
	if (!reel_proc_read_at(process, "status", &buffer))
		return X_OK;
	status = (const char *)buffer.bytes;
	/* generic_permission() of the kernel's fs/namei.c.  The last number is for files. */
	if (overrides(process, status, &at))
		return R_OK;
	if (has_number(status, "\nUid:\t", true, at.st_uid))
		bits = at.st_mode >> 6;
	else if (has_list)
		return X_OK;
	else if (has_number(status, "\nGid:\t", true, at.st_gid) ||
		 has_number(status, "\nGroups:\t", false, at.st_gid))
		bits = at.st_mode >> 3;
	else
		bits = at.st_mode;
	return bits & R_OK ? R_OK : bits & X_OK;
}
