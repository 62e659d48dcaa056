/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where kernel addresses are in the files that have its debug information.
 * The kernel and its modules lie elsewhere at each boot; the symbols of the
 * capture, looked up by name in the file, tell by how much.
 */
#ifndef REPLAY_NAMES_KERNEL_CODE_H
#define REPLAY_NAMES_KERNEL_CODE_H

#include "replay/names/kernel_symbol_map.h"
#include "replay/names/module.h"
#include "replay/origins.h"

struct reel_kernel_code;

/* All are borrowed, and outlive it. `arch` is the kernel's, NULL if that is not known. */
struct reel_error *reel_kernel_code_create(const struct reel_timeline *timeline,
					   struct reel_modules *modules,
					   const struct reel_kernel_symbol_map *symbols,
					   const struct reel_arch *arch,
					   struct reel_kernel_code **ret) REEL_MUST_CHECK;
void reel_kernel_code_destroy(struct reel_kernel_code *code);

/*
 * The module that `address` belongs to (NULL if that is not known), and if *found_ret its address
 * in the file that is the module's files.debug.  `symbol` is the one that holds it; NULL: none
 * does, and then only the kernel proper comes into question: that of `origin`, if that is not NULL.
 */
struct reel_error *reel_kernel_code_find(struct reel_kernel_code *code,
					 const struct reel_origin_capture *origin,
					 const struct reel_kernel_symbol *symbol, uint64_t address,
					 struct reel_module **module_ret, bool *found_ret,
					 uint64_t *elf_address_ret) REEL_MUST_CHECK;
/* An interrupt or a fault enters the kernel by the function of that name. */
bool reel_kernel_code_is_entry(const struct reel_kernel_code *code, const char *name);

#endif
