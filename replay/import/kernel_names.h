/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the kernel addresses of a recording, which perf leaves outside of its file: from a list
 * that the user names, from perf's build-id cache, or from this host's kernel, if it is the
 * recorded one.
 */
#ifndef REPLAY_IMPORT_KERNEL_NAMES_H
#define REPLAY_IMPORT_KERNEL_NAMES_H

#include "replay/import/modules.h"

struct reel_kernel_names;

/* The recorded kernel, and its address at the time (KASLR). */
struct reel_recorded_kernel {
	struct reel_bytes build_id; /* may be empty */
	bool is_here;		    /* the kernel running on this host */
	/* One of its functions, with its address; "" if unknown. */
	char symbol[64];
	uint64_t address;
};

/* Whether this host's kernel has that build-id. */
bool reel_kernel_is_here(struct reel_bytes build_id);

/*
 * `path`: a file like /proc/kallsyms, or NULL.  Without it there may be no list, and kernel frames
 * only have addresses.  `kernel` is borrowed.  MISMATCH: the list is from another kernel, or from
 * another boot with different addresses.
 */
struct reel_error *reel_kernel_names_create(const char *path,
					    const struct reel_recorded_kernel *kernel,
					    struct reel_writer *writer,
					    struct reel_import_modules *modules,
					    struct reel_kernel_names **ret) REEL_MUST_CHECK;
void reel_kernel_names_destroy(struct reel_kernel_names *names);
bool reel_kernel_names_has_list(const struct reel_kernel_names *names);
/* Writes the kernel's address and the names for a chain's addresses, unless already written. */
struct reel_error *reel_kernel_names_write(struct reel_kernel_names *names, const uint64_t *chain,
					   size_t count) REEL_MUST_CHECK;

/* perf's build-id cache: $HOME/.debug/NAME/BUILD-ID/FILE; the caller frees it.  NULL without HOME
 * or memory. */
char *reel_perf_cache_path(const char *name, struct reel_bytes build_id, const char *file);

#endif
