/* SPDX-License-Identifier: Apache-2.0 */
/* What the path of a cgroup tells: names that systemd and container engines give their cgroups. */
#ifndef FORMAT_TIMELINE_CGROUP_PATH_H
#define FORMAT_TIMELINE_CGROUP_PATH_H

/* NAME_MAX, with the NUL. */
#define REEL_CGROUP_NAME 256

/* "" where the path tells nothing. */
struct reel_cgroup_path {
	/* The innermost container: its 64 hexadecimal digits; or the name of LXC's or machined's. */
	char container[REEL_CGROUP_NAME];
	/* Kubernetes' UID of the pod, with its dashes; or the 64 digits of Podman's pod. */
	char pod[REEL_CGROUP_NAME];
	/* The innermost service or scope of systemd, or else the innermost slice. */
	char unit[REEL_CGROUP_NAME];
};

/* Any text; names longer than a file name are ignored. */
void reel_cgroup_path_parse(const char *path, struct reel_cgroup_path *ret);

#endif
