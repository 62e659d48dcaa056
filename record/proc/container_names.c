/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/container_names.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/json_strings.h"
#include "base/regular_file.h"
#include "record/proc/proc.h"

/* A larger description is ignored; Kubernetes limits annotations to 256 KiB. */
#define DESCRIPTION_MAX (1u << 20)
/* conmon, or containerd's shim, is the parent of the container's first process. */
#define ANCESTORS_MAX 64

/* Where engines keep a container's description: the state of one that runs, where there is any. */
static const struct {
	const char *folder, *file; /* the container's id is between them */
} places[] = {
	{ "/run/containerd/io.containerd.runtime.v2.task/*/", "/config.json" },
	/* k3s and RKE2, MicroK8s */
	{ "/run/k3s/containerd/io.containerd.runtime.v2.task/*/", "/config.json" },
	{ "/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task/*/",
	  "/config.json" },
	/* CRI-O; Podman's has no name */
	{ "/run/containers/storage/overlay-containers/", "/userdata/config.json" },
	{ "/var/lib/docker/containers/", "/config.v2.json" },
};

/* What they call a name, the better ones first. */
static const struct {
	const char *keys[4];
	size_t offset; /* in struct reel_container_names */
} members[] = {
#define CONTAINER offsetof(struct reel_container_names, container)
#define POD	  offsetof(struct reel_container_names, pod)
#define NAMESPACE offsetof(struct reel_container_names, namespace)
	/* containerd */
	{ { "annotations", "io.kubernetes.cri.container-name" }, CONTAINER },
	{ { "annotations", "io.kubernetes.cri.sandbox-name" }, POD },
	{ { "annotations", "io.kubernetes.cri.sandbox-namespace" }, NAMESPACE },
	{ { "annotations", "nerdctl/name" }, CONTAINER },
	/* CRI-O */
	{ { "annotations", "io.kubernetes.container.name" }, CONTAINER },
	{ { "annotations", "io.kubernetes.pod.name" }, POD },
	{ { "annotations", "io.kubernetes.pod.namespace" }, NAMESPACE },
	/* Docker, below cri-dockerd and alone */
	{ { "Config", "Labels", "io.kubernetes.container.name" }, CONTAINER },
	{ { "Config", "Labels", "io.kubernetes.pod.name" }, POD },
	{ { "Config", "Labels", "io.kubernetes.pod.namespace" }, NAMESPACE },
	{ { "Name" }, CONTAINER },
};

#define MEMBERS (sizeof(members) / sizeof(*members))

static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-'))
			return false;
	}
	return size && size < REEL_CONTAINER_NAME;
}

static void copy_name(const char *text, size_t size, char ret[REEL_CONTAINER_NAME])
{
	if (*ret || !is_name(text, size))
		return;
	memcpy(ret, text, size);
	ret[size] = '\0';
}

bool reel_container_names_are_valid(const struct reel_container_names *names)
{
	const char *const texts[] = { names->container, names->pod, names->namespace };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t size = strnlen(texts[i], REEL_CONTAINER_NAME);

		if (size && !is_name(texts[i], size))
			return false;
	}
	return true;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

/* The folder that has Docker's description, if the string is one of its files that the container
 * has mounted, as FOLDER/ID/hostname. */
static void find_folder(const struct reel_json_strings *json, struct reel_bytes string,
			const char *id, char ret[PATH_MAX])
{
	const struct reel_bytes *key = json->depth ? &json->levels[json->depth - 1].key : NULL;
	const char *end;

	if (*ret || !key || key->size != strlen("source") ||
	    memcmp(key->data, "source", key->size) != 0 || string.size >= PATH_MAX)
		return;
	end = memmem(string.data, string.size, id, strlen(id));
	if (end)
		snprintf(ret, PATH_MAX, "%.*s", (int)(end - (const char *)string.data),
			 (const char *)string.data);
}

static void read_description(struct reel_bytes text, const char *id,
			     struct reel_container_names *ret, char folder_ret[PATH_MAX])
{
	struct reel_bytes found[MEMBERS] = { { 0 } }, string;
	struct reel_json_strings json;

	reel_json_strings_begin(&json, text);
	while (reel_json_strings_next(&json, &string)) {
		for (size_t i = 0; i < MEMBERS; i++)
			if (reel_json_strings_is_at(&json, members[i].keys))
				found[i] = string;
		find_folder(&json, string, id, folder_ret);
	}
	for (size_t i = 0; i < MEMBERS; i++) {
		const char *name = (const char *)found[i].data;
		/* Docker's begins with a slash. */
		size_t slash = found[i].size && *name == '/';

		if (found[i].size)
			copy_name(name + slash, found[i].size - slash,
				  (char *)ret + members[i].offset);
	}
}

/* `monitor`: the process that names the file, NULL: an engine.  Any process can pose as a monitor, but
 * only with files of its own user. */
static void read_file(const char *path, const char *id, const struct reel_proc_thread *monitor,
		      struct reel_container_names *ret, char folder_ret[PATH_MAX])
{
	_cleanup_error_ struct reel_error *error = NULL;
	_cleanup_free_ uint8_t *text = NULL;
	_cleanup_fd_ int fd = -1;
	struct stat status;
	size_t size;

	error = reel_regular_file_open(path, &fd, &status);
	if (error || status.st_size <= 0 || status.st_size > DESCRIPTION_MAX ||
	    (monitor && status.st_uid != monitor->user))
		return;
	size = (size_t)status.st_size;
	text = malloc(size);
	if (text && reel_read_at(fd, text, size, 0))
		read_description((struct reel_bytes){ text, size }, id, ret, folder_ret);
}

/* Docker's names are not in what it tells containerd, but in its own folder, wherever that is. */
static void read_bundle(const char *path, const char *id, const struct reel_proc_thread *monitor,
			struct reel_container_names *ret)
{
	char folder[PATH_MAX] = "", ignored[PATH_MAX] = "", description[2 * PATH_MAX];

	read_file(path, id, monitor, ret, folder);
	if (*ret->container || *folder != '/')
		return;
	snprintf(description, sizeof(description), "%s%s/config.v2.json", folder, id);
	read_file(description, id, monitor, ret, ignored);
}

static void find_description(const char *root, const char *id, struct reel_container_names *ret)
{
	char pattern[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !*ret->container; i++) {
		glob_t paths;

		snprintf(pattern, sizeof(pattern), "%s%s%s%s", root, places[i].folder, id,
			 places[i].file);
		if (!glob(pattern, GLOB_NOSORT, NULL, &paths))
			read_bundle(paths.gl_pathv[0], id, NULL, ret);
		globfree(&paths);
	}
}

/* ---- monitors ------------------------------------------------------------------------------- */

/* Or one that cannot be looked at; conmon's own cgroup may be called conmon-ID. */
static bool is_in_container(uint32_t pid, const char *id)
{
	_cleanup_buffer_ struct reel_buffer cgroups = { 0 };
	const char *begin, *at, *prefix = "conmon-";
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	if (!reel_proc_read(path, &cgroups))
		return true;
	begin = (const char *)cgroups.bytes;
	for (at = begin; (at = strstr(at, id)); at++) {
		size_t size = strlen(prefix);

		if ((size_t)(at - begin) < size || memcmp(at - size, prefix, size) != 0)
			return true;
	}
	return false;
}

/* conmon ... -c ID ... -b BUNDLE ... -n NAME ... */
static void read_command_line(const struct reel_proc_thread *monitor, const char *id,
			      struct reel_container_names *ret)
{
	_cleanup_buffer_ struct reel_buffer line = { 0 };
	const char *end, *name = NULL, *bundle = NULL;
	char path[32], description[PATH_MAX];
	bool is_id = false;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", monitor->pid);
	if (!reel_proc_read(path, &line))
		return;
	end = (const char *)line.bytes + line.size;
	for (const char *at = (const char *)line.bytes; at < end; at += strlen(at) + 1) {
		const char *value = at + strlen(at) + 1;

		if (value >= end)
			break;
		if (!strcmp(at, "-c") && !strcmp(value, id))
			is_id = true;
		else if (!strcmp(at, "-n"))
			name = value;
		else if (!strcmp(at, "-b"))
			bundle = value;
	}
	/* CRI-O's; Podman's has no name. */
	if (is_id && bundle && *bundle == '/' &&
	    (size_t)snprintf(description, sizeof(description), "%s/config.json", bundle) <
		    sizeof(description))
		read_bundle(description, id, monitor, ret);
	if (is_id && name)
		copy_name(name, strlen(name), ret->container);
}

/* containerd's shim works in the bundle of a container, beside its pod's other containers. */
static void read_beside(const struct reel_proc_thread *monitor, const char *id,
			struct reel_container_names *ret)
{
	char path[2 * REEL_CONTAINER_ID + 64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cwd/../%s/config.json", monitor->pid, id);
	read_bundle(path, id, monitor, ret);
}

/* Only processes outside of the container can start one of its ancestors there. */
static void find_monitor(const char *id, uint32_t pid, struct reel_container_names *ret)
{
	struct reel_proc_thread process;

	for (size_t i = 0; i < ANCESTORS_MAX && pid > 1 && !*ret->container; i++) {
		if (!reel_proc_thread(pid, &process))
			return;
		/* Names are cut (TASK_COMM_LEN): containerd-shim-runc-v2. */
		if (!strcmp(process.comm, "conmon") && !is_in_container(pid, id))
			read_command_line(&process, id, ret);
		else if (!strcmp(process.comm, "containerd-shim") && !is_in_container(pid, id))
			read_beside(&process, id, ret);
		pid = process.parent;
	}
}

bool reel_container_names_find(const char *root, const char *id, uint32_t pid,
			       struct reel_container_names *ret)
{
	*ret = (struct reel_container_names){ .container = "" };
	find_description(root, id, ret);
	find_monitor(id, pid, ret);
	return *ret->container || *ret->pod;
}
