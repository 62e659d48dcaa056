/* SPDX-License-Identifier: Apache-2.0 */
#include "record/options/cgroup_search.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "include/commands.h"
#include "record/helper/inspector.h"
#include "format/timeline/cgroup_path.h"

/* Users who may make cgroups decide how many there are. */
#define DEPTH_MAX     32
#define CGROUPS_MAX   (1u << 17)
#define LISTED_MAX    4
#define INNER_MAX     4
#define ID_DIGITS_MIN 8

struct matches {
	size_t n;
	char *first;
	struct reel_buffer listed; /* the first ones, for a message */
};

struct search {
	const char *name;
	struct reel_inspector *inspector;
	size_t mount_size;
	bool is_unit, is_id;
	char path[PATH_MAX]; /* being looked at */
	size_t pod_size;     /* of its beginning that is the pod's; 0: in no pod */
	bool pod_is_taken;   /* this pod */
	size_t n_seen;
	struct matches cgroups;
	/* Pods with that name, if nothing else has it: containers are often called as their pod. */
	struct matches pods;
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

static void free_matches(struct matches *matches)
{
	free(matches->first);
	reel_buffer_free(&matches->listed);
}

/* Takes the first `size` bytes of the path.  Names in a message cannot control the terminal. */
static bool append_match(const struct search *search, size_t size, struct matches *to)
{
	if (to->n < LISTED_MAX)
		reel_buffer_append(&to->listed, ", ", to->n ? 2 : 0);
	for (size_t i = search->mount_size; i < size && to->n < LISTED_MAX; i++) {
		char c = search->path[i];

		reel_buffer_u8(&to->listed, c < ' ' || c > '~' ? '?' : (uint8_t)c);
	}
	if (!to->n++)
		to->first = strndup(search->path, size);
	return to->first;
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

/* NAME or NAMESPACE/NAME */
static bool is_pod(const struct search *search, const struct reel_container_names *names)
{
	size_t size = strlen(names->namespace);

	if (!*names->pod)
		return false;
	if (!strcmp(names->pod, search->name))
		return true;
	return size && !strncmp(search->name, names->namespace, size) &&
	       search->name[size] == '/' && !strcmp(search->name + size + 1, names->pod);
}

static bool has_id(const struct search *search, const char *id)
{
	if (!strcmp(id, search->name))
		return true;
	return search->is_id && !strncmp(id, search->name, strlen(search->name));
}

/* Asks for the names of the container and its pod; false if memory runs out. */
static bool visit_container(struct search *search, const char *id, bool *found_ret)
{
	struct reel_container_names names;

	*found_ret = false;
	if (!search->inspector || strlen(id) != REEL_CONTAINER_ID ||
	    !reel_inspector_container(search->inspector, first_process(search->path, INNER_MAX), id,
				      &names))
		return true;
	*found_ret = !strcmp(names.container, search->name);
	/* The pod's containers follow each other. */
	if (search->pod_size && !search->pod_is_taken && is_pod(search, &names)) {
		search->pod_is_taken = true;
		return append_match(search, search->pod_size, &search->pods);
	}
	return true;
}

static bool visit(struct search *search, const struct reel_cgroup_path *above, unsigned int depth);

/* Looks at the directory in search->path, whose parent's path tells `above`. */
static bool visit_one(struct search *search, const char *name, const struct reel_cgroup_path *above,
		      unsigned int depth)
{
	struct reel_cgroup_path path;
	size_t pod_size = search->pod_size;
	bool found = false, ok = true;

	reel_cgroup_path_parse(search->path + search->mount_size, &path);
	if (search->is_unit) {
		found = !strcmp(name, search->name);
	} else {
		if (*path.pod && strcmp(path.pod, above->pod) != 0) {
			found = has_id(search, path.pod);
			search->pod_size = strlen(search->path);
			search->pod_is_taken = false;
		}
		if (!found && *path.container && strcmp(path.container, above->container) != 0) {
			found = has_id(search, path.container);
			if (!found)
				ok = visit_container(search, path.container, &found);
		}
	}
	if (found)
		ok = append_match(search, strlen(search->path), &search->cgroups);
	else if (ok && depth < DEPTH_MAX)
		ok = visit(search, &path, depth + 1);
	search->pod_size = pod_size;
	return ok;
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
		size_t name_size = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") || size + 1 + name_size >= sizeof(search->path))
			continue;
		search->n_seen++;
		search->path[size] = '/';
		memcpy(search->path + size + 1, entry->d_name, name_size + 1);
		ok = visit_one(search, entry->d_name, above, depth);
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
	struct matches *found;

	*ret = NULL;
	if (search.mount_size >= sizeof(search.path))
		return NULL;
	strcpy(search.path, mount);
	if (!visit(&search, &root, 1))
		error = reel_error_no_memory();
	found = search.cgroups.n ? &search.cgroups : &search.pods;
	if (!error && search.n_seen >= CGROUPS_MAX)
		error = reel_error_create(REEL_ERROR_INVALID,
					  "-G %s: more than %u cgroups; name its path", name,
					  CGROUPS_MAX);
	else if (!error && found->n > 1)
		error = reel_error_create(
			REEL_ERROR_INVALID, "-G %s: %zu cgroups match: %.*s%s; name %sone's path",
			name, found->n, (int)found->listed.size, (const char *)found->listed.bytes,
			found->n > LISTED_MAX ? ", ..." : "",
			search.cgroups.n ? "" : "NAMESPACE/POD or ");
	if (!error) {
		*ret = found->first;
		found->first = NULL;
	}
	free_matches(&search.cgroups);
	free_matches(&search.pods);
	return error;
}

/* A path below the mount, or another name of a cgroup there. */
static struct reel_error *find_below(const char *mount, const char *name,
				     struct reel_inspector *inspector, char **ret)
{
	const char *slash = strchr(name, '/');
	char path[PATH_MAX];

	*ret = NULL;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", mount, name + strspn(name, "/")) <
		    sizeof(path) &&
	    is_cgroup(path)) {
		*ret = strdup(path);
		return *ret ? NULL : reel_error_no_memory();
	}
	/* NAMESPACE/POD has one. */
	if (slash && (slash == name || strchr(slash + 1, '/')))
		return NULL;
	return reel_cgroup_search_below(mount, name, inspector, ret);
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
				 is_mounted ? ", unit, container or pod in cgroup v2"
					    : " (and no cgroup v2 file system is mounted)");
}
