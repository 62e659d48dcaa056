/* SPDX-License-Identifier: Apache-2.0 */
#include "format/timeline/cgroup_path.h"

#include <stdbool.h>
#include <string.h>

/* Of containers (OCI engines), and of Podman's pods. */
#define ID_SIZE 64
/* UIDs of pods: with dashes, or the hash that the kubelet gives to static pods. */
#define UID_SIZE  36
#define HASH_SIZE 32

/* The cgroup being looked at, and those above it. */
struct place {
	const char *name, *above; /* `above`: its parent's name, "" for the first */
	bool in_kubernetes;
};

static bool ends_with(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size > end_size && !strcmp(name + size - end_size, end);
}

static bool starts_with(const char *name, const char *start)
{
	return !strncmp(name, start, strlen(start));
}

/* Whether `size` bytes are hexadecimal digits, as engines write them. */
static bool is_hex(const char *bytes, size_t size)
{
	return strspn(bytes, "0123456789abcdef") >= size;
}

/* Copies `size` bytes, less than REEL_CGROUP_NAME. */
static void set(char *ret, const char *bytes, size_t size)
{
	memcpy(ret, bytes, size);
	ret[size] = '\0';
}

/* The name of a machine in a unit: \xNN is one character (systemd.unit(5)). */
static void set_unescaped(char *ret, const char *bytes, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		if (size - i >= 4 && bytes[i] == '\\' && bytes[i + 1] == 'x' &&
		    is_hex(bytes + i + 2, 2)) {
			unsigned int high = (unsigned char)bytes[i + 2];
			unsigned int low = (unsigned char)bytes[i + 3];

			high = high >= 'a' ? high - 'a' + 10 : high - '0';
			low = low >= 'a' ? low - 'a' + 10 : low - '0';
			/* A NUL would end the text. */
			if (high || low) {
				ret[n++] = (char)(high << 4 | low);
				i += 3;
				continue;
			}
		}
		ret[n++] = bytes[i];
	}
	ret[n] = '\0';
}

/* ---- containers ----------------------------------------------------------------------------- */

/*
 * [ENGINE-]ID[.scope], or SLICE:ENGINE:ID: Docker, Podman (also libpod-payload-), containerd, CRI-O.
 * Not the engine's monitor of a container, libpod-conmon-ID.scope and crio-conmon-ID.scope.
 */
static bool find_id(const char *name, char *ret)
{
	size_t size = strlen(name);

	if (ends_with(name, ".scope"))
		size -= strlen(".scope");
	if (size < ID_SIZE || !is_hex(name + size - ID_SIZE, ID_SIZE) || strstr(name, "conmon-"))
		return false;
	size -= ID_SIZE;
	if (size && name[size - 1] != '-' && name[size - 1] != ':')
		return false;
	set(ret, name + size, ID_SIZE);
	return true;
}

/* lxc/NAME, lxc.payload/NAME or lxc.payload.NAME; lxc.monitor has the program that starts it. */
static bool find_lxc(const struct place *place, char *ret)
{
	const char *name = place->name;

	if (starts_with(name, "lxc.payload."))
		name += strlen("lxc.payload.");
	else if (strcmp(place->above, "lxc") != 0 && strcmp(place->above, "lxc.payload") != 0)
		return false;
	set(ret, name, strlen(name));
	return true;
}

/* machine.slice/machine-NAME.scope, or systemd-nspawn@NAME.service. */
static bool find_machine(const struct place *place, char *ret)
{
	const char *name = place->name, *end;

	if (starts_with(name, "systemd-nspawn@") && ends_with(name, ".service")) {
		name += strlen("systemd-nspawn@");
		end = place->name + strlen(place->name) - strlen(".service");
	} else if (!strcmp(place->above, "machine.slice") && starts_with(name, "machine-") &&
		   ends_with(name, ".scope")) {
		name += strlen("machine-");
		end = place->name + strlen(place->name) - strlen(".scope");
	} else {
		return false;
	}
	if (end <= name)
		return false;
	set_unescaped(ret, name, (size_t)(end - name));
	return true;
}

/* ---- pods ----------------------------------------------------------------------------------- */

/* kubepods[-CLASS]-podUID.slice with _ for the UID's dashes, or kubepods[/CLASS]/podUID. */
static bool find_kubernetes_pod(const struct place *place, char *ret)
{
	const char *start = strstr(place->name, "kubepods");
	size_t size;

	if (start)
		start = strstr(start, "-pod");
	else if (place->in_kubernetes && starts_with(place->name, "pod"))
		start = place->name - 1;
	if (!start)
		return false;
	start += strlen("-pod");
	size = strspn(start, "0123456789abcdef-_");
	if (size != UID_SIZE && size != HASH_SIZE)
		return false;
	set(ret, start, size);
	for (size_t i = 0; i < size; i++)
		if (ret[i] == '_')
			ret[i] = '-';
	return true;
}

/* machine-libpod_pod_ID.slice, or user-. */
static bool find_podman_pod(const char *name, char *ret)
{
	const char *start = strstr(name, "libpod_pod_");

	if (!start || !is_hex(start + strlen("libpod_pod_"), ID_SIZE))
		return false;
	set(ret, start + strlen("libpod_pod_"), ID_SIZE);
	return true;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static void find_unit(const char *name, bool *is_slice, char *ret)
{
	if (ends_with(name, ".service") || ends_with(name, ".scope"))
		*is_slice = false;
	else if (!*is_slice || !ends_with(name, ".slice"))
		return;
	set(ret, name, strlen(name));
}

void reel_cgroup_path_parse(const char *path, struct reel_cgroup_path *ret)
{
	char names[2][REEL_CGROUP_NAME] = { "", "" };
	struct place place = { .in_kubernetes = false };
	bool is_slice = true;

	*ret = (struct reel_cgroup_path){ .container = "" };
	for (size_t i = 0; *path; path += strspn(path, "/")) {
		size_t size = strcspn(path, "/");

		if (!size || size >= REEL_CGROUP_NAME) {
			path += size;
			continue;
		}
		set(names[i], path, size);
		path += size;
		place.name = names[i];
		place.above = names[1 - i];
		i = 1 - i;
		if (!find_id(place.name, ret->container) && !find_lxc(&place, ret->container))
			(void)find_machine(&place, ret->container);
		if (!find_kubernetes_pod(&place, ret->pod))
			(void)find_podman_pod(place.name, ret->pod);
		find_unit(place.name, &is_slice, ret->unit);
		place.in_kubernetes |= strstr(place.name, "kubepods") != NULL;
	}
}
