/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other modules.
 *
 *   plt     mode_plt -> [PLT stub] -> library_add, which is shorter than the stub
 *   lazy    mode_lazy -> lazy_round (liblazy.so) -> [PLT stub] -> _dl_runtime_resolve -> …
 *           repeatedly: the stubs' slots are reset to their first values
 *   vdso    mode_vdso -> clock_gettime -> the vDSO
 *   reload  mode_reload -> call_left -> left_outer -> left_inner    (libleft.so)
 *           mode_reload -> call_right -> right_outer -> right_inner (libright.so)
 *           loaded alternately at the same address
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chains.h"

/* ---- vdso ------------------------------------------------------------------------------- */

int mode_vdso(double seconds, char **)
{
	struct timespec now;

	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return now.tv_sec > 0 ? 0 : 1;
}

#ifndef STATIC

/* ---- plt -------------------------------------------------------------------------------- */

extern "C" uint64_t library_add(uint64_t value);

int mode_plt(double seconds, char **)
{
	uint64_t value = 1;

	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 100000; i++)
			value = library_add(value);
	}
	sink = value;
	return 0;
}

/* ---- lazy ------------------------------------------------------------------------------- */

/* The targets of a library's PLT. */
struct slots {
	uintptr_t *slots, *first_values;
	size_t n;
};

static bool find_slots(void *library, struct slots *ret)
{
	struct link_map *map = nullptr;
	size_t size = 0, entry = sizeof(ElfW(Rela));

	if (dlinfo(library, RTLD_DI_LINKMAP, &map))
		return false;
	for (const ElfW(Dyn) *item = map->l_ld; item->d_tag != DT_NULL; item++) {
		/* ld.so has added the load address to pointers. */
		if (item->d_tag == DT_PLTGOT)
			ret->slots = reinterpret_cast<uintptr_t *>(item->d_un.d_ptr) + 3;
		else if (item->d_tag == DT_PLTRELSZ)
			size = item->d_un.d_val;
		else if (item->d_tag == DT_PLTREL && item->d_un.d_val == DT_REL)
			entry = sizeof(ElfW(Rel));
		else if (item->d_tag == DT_FLAGS && item->d_un.d_val & DF_BIND_NOW)
			return false;
	}
	ret->n = size / entry;
	return ret->slots && ret->n;
}

int mode_lazy(double seconds, char **arguments)
{
	void *library = dlopen(*arguments ? *arguments : "liblazy.so", RTLD_LAZY | RTLD_LOCAL);
	uint64_t (*lazy_round)(uint64_t);
	struct slots slots = {};

	if (!library || !find_slots(library, &slots))
		return 1;
	lazy_round = reinterpret_cast<uint64_t (*)(uint64_t)>(dlsym(library, "lazy_round"));
	slots.first_values = static_cast<uintptr_t *>(malloc(slots.n * sizeof(*slots.slots)));
	if (!lazy_round || !slots.first_values)
		return 1;
	memcpy(slots.first_values, slots.slots, slots.n * sizeof(*slots.slots));
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 20; i++) {
			sink = lazy_round(sink);
			memcpy(slots.slots, slots.first_values, slots.n * sizeof(*slots.slots));
		}
	}
	return 0;
}

/* ---- reload ------------------------------------------------------------------------------- */

typedef uint64_t library_function(uint64_t value);

NOINLINE uint64_t call_left(library_function *function, uint64_t value)
{
	value = function(value);
	sink = value;
	return value;
}

NOINLINE uint64_t call_right(library_function *function, uint64_t value)
{
	value = function(value);
	sink = value;
	return value;
}

static library_function *load(const char *file, const char *name, void **library_ret)
{
	*library_ret = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	return *library_ret ? reinterpret_cast<library_function *>(dlsym(*library_ret, name))
			    : nullptr;
}

/* Fails if the two are ever at different addresses, or move. */
int mode_reload(double seconds, char **)
{
	library_function *left, *right, *before = nullptr;
	void *library;

	while (cpu_seconds() < seconds) {
		left = load("libleft.so", "left_outer", &library);
		if (!left || (before && before != left))
			return 1;
		call_left(left, sink);
		dlclose(library);
		right = load("libright.so", "right_outer", &library);
		if (right != left)
			return 1;
		call_right(right, sink);
		dlclose(library);
		before = left;
	}
	return before ? 0 : 1;
}

#endif
