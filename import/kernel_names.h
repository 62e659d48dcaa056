/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the kernel addresses of a recording, which perf leaves outside of
 * its file: in a list that the user gives, in perf's build-id cache, or in this
 * host's kernel, if that is the one that was recorded.
 */
#ifndef IMPORT_KERNEL_NAMES_H
#define IMPORT_KERNEL_NAMES_H

#include "import/modules.h"

struct reel_kernel_names;

/* Which kernel was recorded, and where it lay then (KASLR). */
struct reel_recorded_kernel {
	struct reel_bytes build_id; /* may be empty */
	bool is_here;		    /* the kernel that runs on this host */
	/* A function of it and its address; "" if unknown. */
	char symbol[64];
	uint64_t address;
};

/* This host's kernel has that build-id. */
bool reel_kernel_is_here(struct reel_bytes build_id);

/*
 * `path`: a file like /proc/kallsyms, or NULL.  Without one there may be no
 * list, and kernel frames have addresses only.  `kernel` is borrowed.  MISMATCH: the
 * list is of another kernel, or of another boot, where its addresses were others.
 */
struct reel_error *reel_kernel_names_create(const char *path,
					    const struct reel_recorded_kernel *kernel,
					    struct reel_writer *writer,
					    struct reel_import_modules *modules,
					    struct reel_kernel_names **ret) REEL_MUST_CHECK;
void reel_kernel_names_destroy(struct reel_kernel_names *names);
bool reel_kernel_names_has_list(const struct reel_kernel_names *names);
/* Writes where the kernel lay, and the names of a chain's addresses, that are not written yet. */
struct reel_error *reel_kernel_names_write(struct reel_kernel_names *names, const uint64_t *chain,
					   size_t count) REEL_MUST_CHECK;

/* perf's build-id cache: $HOME/.debug/NAME/BUILD-ID/FILE, to be freed; NULL without HOME or memory.
 */
char *reel_perf_cache_path(const char *name, struct reel_bytes build_id, const char *file);

#endif
