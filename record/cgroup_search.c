/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroup_search.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "include/stackreel.h"
#include "record/helper/inspector.h"
#include "timeline/cgroup_path.h"

/* Users who may make cgroups decide how many there are. */
#define DEPTH_MAX     32
#define CGROUPS_MAX   (1u << 17)
#define LISTED_MAX    4
#define INNER_MAX     4
#define ID_DIGITS_MIN 8

struct search {
	const char *name;
	struct reel_inspector *inspector;
	size_t mount_size;
	bool is_unit, is_id;
	char path[PATH_MAX]; /* being looked at */
	size_t n_seen, n_found;
	char *found;		   /* the first one */
	struct reel_buffer listed; /* the first ones, for a message */
};

static bool is_cgroup(const char *path)
{
	char procs[PATH_MAX + 16];
	struct stat status;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return !stat(procs, &status);
}

static bool ends_with(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size > end_size && !strcmp(name + size - end_size, end);
}

/* Names in a message cannot control the terminal. */
static void list(struct search *search)
{
	reel_buffer_append(&search->listed, search->n_found ? ", " : "", search->n_found ? 2 : 0);
	for (const char *at = search->path + search->mount_size; *at; at++)
		reel_buffer_u8(&search->listed, *at < ' ' || *at > '~' ? '?' : (uint8_t)*at);
}

static bool take(struct search *search)
{
	if (search->n_found < LISTED_MAX)
		list(search);
	if (!search->n_found++)
		search->found = strdup(search->path);
	return search->found;
}

/* One of the processes in the cgroup or, as engines and systemd may make some in a container, below;
 * 0 if there is none. */
static uint32_t first_process(const char *cgroup, unsigned int depth)
{
	char path[PATH_MAX];
	uint32_t pid = 0;
	struct dirent *entry;
	DIR *folder;
	FILE *procs;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup) >= sizeof(path))
		return 0;
	procs = fopen(path, "re");
	if (procs && fscanf(procs, "%" SCNu32, &pid) != 1)
		pid = 0;
	if (procs)
		fclose(procs);
	folder = pid || !depth ? NULL : opendir(cgroup);
	while (folder && !pid && (entry = readdir(folder)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", cgroup, entry->d_name) <
			    sizeof(path))
			pid = first_process(path, depth - 1);
	if (folder)
		closedir(folder);
	return pid;
}

static bool has_name(const struct search *search, const char *id)
{
	struct reel_container_names names;

	return search->inspector && strlen(id) == REEL_CONTAINER_ID &&
	       reel_inspector_container(search->inspector, first_process(search->path, INNER_MAX),
					id, &names) &&
	       !strcmp(names.container, search->name);
}

/* Whether it is the outermost cgroup of the container; `above`: what the parent's path tells. */
static bool is_container(const struct search *search, const struct reel_cgroup_path *path,
			 const struct reel_cgroup_path *above)
{
	if (!*path->container || !strcmp(path->container, above->container))
		return false;
	if (search->is_id && !strncmp(path->container, search->name, strlen(search->name)))
		return true;
	return !strcmp(path->container, search->name) || has_name(search, path->container);
}

/* Looks at the directories in search->path, whose own path tells `above`; false if memory runs
 * out. */
static bool visit(struct search *search, const struct reel_cgroup_path *above, unsigned int depth)
{
	size_t size = strlen(search->path);
	DIR *folder = opendir(search->path);
	struct dirent *entry;
	bool ok = true;

	/* It may just have been removed. */
	while (folder && ok && (entry = readdir(folder)) && search->n_seen < CGROUPS_MAX) {
		struct reel_cgroup_path path;
		size_t name_size = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") || size + 1 + name_size >= sizeof(search->path))
			continue;
		search->n_seen++;
		search->path[size] = '/';
		memcpy(search->path + size + 1, entry->d_name, name_size + 1);
		reel_cgroup_path_parse(search->path + search->mount_size, &path);
		if (search->is_unit ? !strcmp(entry->d_name, search->name)
				    : is_container(search, &path, above))
			ok = take(search);
		else if (depth < DEPTH_MAX)
			ok = visit(search, &path, depth + 1);
		search->path[size] = '\0';
	}
	if (folder)
		closedir(folder);
	return ok;
}

struct reel_error *reel_cgroup_search_below(const char *mount, const char *name,
					    struct reel_inspector *inspector, char **ret)
{
	struct search search = {
		.name = name,
		.inspector = inspector,
		.mount_size = strlen(mount),
		.is_unit = ends_with(name, ".service") || ends_with(name, ".scope") ||
			   ends_with(name, ".slice"),
		.is_id = strlen(name) >= ID_DIGITS_MIN && !name[strspn(name, "0123456789abcdef")],
	};
	const struct reel_cgroup_path root = { .container = "" };
	struct reel_error *error = NULL;

	*ret = NULL;
	if (search.mount_size >= sizeof(search.path))
		return NULL;
	strcpy(search.path, mount);
	if (!visit(&search, &root, 1))
		error = reel_error_no_memory();
	else if (search.n_seen >= CGROUPS_MAX)
		error = reel_error_create(REEL_ERROR_INVALID,
					  "-G %s: more than %u cgroups; name its path", name,
					  CGROUPS_MAX);
	else if (search.n_found > 1)
		error = reel_error_create(REEL_ERROR_INVALID,
					  "-G %s: %zu cgroups match: %.*s%s; name one's path", name,
					  search.n_found, (int)search.listed.size,
					  (const char *)search.listed.bytes,
					  search.n_found > LISTED_MAX ? ", ..." : "");
	reel_buffer_free(&search.listed);
	if (error)
		free(search.found);
	else
		*ret = search.found;
	return error;
}

/* A path below the mount, or another name of a cgroup there. */
static struct reel_error *find_below(const char *mount, const char *name,
				     struct reel_inspector *inspector, char **ret)
{
	char path[PATH_MAX];

	*ret = NULL;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", mount, name + strspn(name, "/")) <
		    sizeof(path) &&
	    is_cgroup(path)) {
		*ret = strdup(path);
		return *ret ? NULL : reel_error_no_memory();
	}
	return strchr(name, '/') ? NULL : reel_cgroup_search_below(mount, name, inspector, ret);
}

struct reel_error *reel_cgroup_search(const char *name, struct reel_inspector *inspector,
				      char **ret)
{
	struct reel_error *error = NULL;
	struct mntent *mount;
	bool is_mounted = false;
	FILE *mounts;

	*ret = NULL;
	if (is_cgroup(name)) {
		*ret = strdup(name);
		return *ret ? NULL : reel_error_no_memory();
	}
	mounts = setmntent("/proc/self/mounts", "re");
	while (mounts && !*ret && !error && (mount = getmntent(mounts))) {
		if (strcmp(mount->mnt_type, "cgroup2"))
			continue;
		is_mounted = true;
		error = find_below(mount->mnt_dir, name, inspector, ret);
	}
	if (mounts)
		endmntent(mounts);
	if (*ret || error)
		return error;
	return reel_error_create(REEL_ERROR_NOT_FOUND, "-G %s: no such cgroup%s", name,
				 is_mounted ? ", unit or container in cgroup v2"
					    : " (and no cgroup v2 file system is mounted)");
}
