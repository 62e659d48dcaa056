/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that people know containers by, from what engines keep on the host: Docker's and
 * containerd's (nerdctl's, Kubernetes') and CRI-O's description of each container.  It is where these
 * keep it by default, or where the process that watches the container was started: conmon, whose
 * command line also has the name of a container of Podman's, with or without root, or containerd's
 * shim.
 */
#ifndef RECORD_PROC_CONTAINER_NAMES_H
#define RECORD_PROC_CONTAINER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Longer names are ignored; Kubernetes' have at most 253 characters. */
#define REEL_CONTAINER_NAME 256
/* Hexadecimal digits of a container's id. */
#define REEL_CONTAINER_ID 64

/* Letters, digits, '.', '_' and '-'; "": unknown. */
struct reel_container_names {
	char container[REEL_CONTAINER_NAME];
	char pod[REEL_CONTAINER_NAME], namespace[REEL_CONTAINER_NAME]; /* Kubernetes' */
};

/*
 * `id`: REEL_CONTAINER_ID digits; `pid`: one of the container's processes, or 0;
 * `root`: of the engines' files, "" except in tests.  False if no name is known.
 */
bool reel_container_names_find(const char *root, const char *id, uint32_t pid,
			       struct reel_container_names *ret);

/* Whether the struct, of another process, has only such names. */
bool reel_container_names_are_valid(const struct reel_container_names *names);

#endif
