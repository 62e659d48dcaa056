/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files with debug information of the kernel and its modules: by build-id, as
 * module_search.h does for programs.  They only provide names, inlined functions and lines, so a
 * debug file is as good as the file itself.
 */
#ifndef REPLAY_FILES_KERNEL_SEARCH_H
#define REPLAY_FILES_KERNEL_SEARCH_H

#include "replay/files/module_search.h"

struct reel_kernel_search;

/* Takes the search-related options (copied). `release` is CAPTURE's kernel_release. */
struct reel_error *reel_kernel_search_create(const struct reel_capture_options *options,
					     const char *release,
					     struct reel_kernel_search **ret) REEL_MUST_CHECK;
void reel_kernel_search_destroy(struct reel_kernel_search *search);

/*
 * Looks for a module of kind KERNEL or KERNEL_MODULE; the file found becomes `debug` of *ret, laid
 * out.  DEBUG_DIR is each of debug_dirs, ROOT each of symfs and, unless no_host_files, this host's
 * root.
 *
 * Both: module_files; DEBUG_DIR/.build-id/xx/yyyy.debug and yyyy.
 * The kernel: vmlinux-RELEASE in DEBUG_DIR/boot and ROOT/boot; vmlinux in
 * [usr/]lib/modules/RELEASE[/build] of both; each also with the suffix ".debug".
 * A module: NAME.ko, also compressed (.xz, .zst, .gz), and NAME.ko.debug anywhere below
 * [usr/]lib/modules/RELEASE of both, where - and _ in names are the same.
 *
 * If the capture has no build-id for it, only files named by module_files are accepted.
 */
struct reel_error *reel_kernel_search_find(struct reel_kernel_search *search,
					   const struct reel_record_module *module,
					   struct reel_module_files *ret) REEL_MUST_CHECK;

#endif
