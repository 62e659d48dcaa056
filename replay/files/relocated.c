/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out a relocatable ELF file as if it were linked, by libdwfl: separate from elf/elf_file.c,
 * so that programs without such files do not need libdw. */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/elf_sections.h"
#include "host/system.h"

/* Not 0: a function at 0 would look like a removed one. */
#define FIRST_ADDRESS 0x10000

struct reel_relocated {
	Dwfl *dwfl;
	Elf *elf;
};

/* Only the file itself is used. */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			 const char *path, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)path, (void)link, (void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf, /* never called: the file is given */
	.find_debuginfo = no_debug_file,
	.section_address = dwfl_offline_section_address,
};

/* libdwfl maps the file, so pass it a copy: a mapped file that shrinks causes a SIGBUS. */
static struct reel_error *copy_file(const char *path, int fd, uint64_t size, int *ret)
{
	int copy = reel_system_memory_file("module");
	off_t offset = 0;

	if (copy < 0)
		return reel_error_os(errno, "copying %s", path);
	while ((uint64_t)offset < size) {
		ssize_t n = sendfile(copy, fd, &offset, (size_t)(size - (uint64_t)offset));

		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		close(copy);
		if (n < 0)
			return reel_error_os(errno, "copying %s", path);
		return reel_error_create(REEL_ERROR_TRUNCATED, "%s: became shorter", path);
	}
	*ret = copy;
	return NULL;
}

/* libdwfl's DWFL_E_NOMEM, missing in installed headers. */
#define DWFL_NO_MEMORY 2

static struct reel_error *dwfl_problem(const char *path, const char *what)
{
	int code = dwfl_errno();

	if (code == DWFL_NO_MEMORY || reel_elf_is_out_of_memory())
		return reel_error_no_memory();
	return reel_error_create(REEL_ERROR_CORRUPT, "%s: %s: %s", path, what, dwfl_errmsg(code));
}

static struct reel_error *relocate(const char *path, int fd, bool has_debug_info,
				   struct reel_relocated *relocated)
{
	Dwfl_Module *module;
	GElf_Addr bias;

	relocated->dwfl = dwfl_begin(&callbacks);
	if (!relocated->dwfl) {
		close(fd);
		return reel_error_no_memory();
	}
	dwfl_report_begin(relocated->dwfl);
	/* On success libdwfl owns the file. */
	module = dwfl_report_elf(relocated->dwfl, path, path, fd, FIRST_ADDRESS, false);
	if (!module) {
		struct reel_error *error = dwfl_problem(path, "laying out the sections");

		close(fd);
		return error;
	}
	dwfl_report_end(relocated->dwfl, NULL, NULL);
	relocated->elf = dwfl_module_getelf(module, &bias);
	if (!relocated->elf)
		return dwfl_problem(path, "laying out the sections");
	/* This applies the relocations. */
	if (has_debug_info && !dwfl_module_getdwarf(module, &bias))
		return dwfl_problem(path, "relocating the debug information");
	return NULL;
}

static void relocated_destroy(void *layout)
{
	struct reel_relocated *relocated = layout;

	if (relocated->dwfl)
		dwfl_end(relocated->dwfl);
	free(relocated);
}

struct reel_error *reel_elf_file_lay_out(struct reel_elf_file *file)
{
	const char *path = reel_elf_file_path(file);
	int fd = reel_elf_file_descriptor(file), copy;
	struct reel_relocated *relocated;
	struct reel_error *error;
	GElf_Ehdr header;

	if (fd < 0 || reel_elf_file_is_laid_out(file) ||
	    !gelf_getehdr(reel_elf_file_handle(file), &header) || header.e_type != ET_REL)
		return NULL;
	relocated = calloc(1, sizeof(*relocated));
	if (!relocated)
		return reel_error_no_memory();
	error = copy_file(path, fd, reel_elf_file_length(file), &copy);
	if (!error)
		error = relocate(path, copy, reel_elf_file_has_debug_info(file), relocated);
	if (error) {
		relocated_destroy(relocated);
		return error;
	}
	reel_elf_file_take_layout(file, relocated->elf, relocated, relocated_destroy);
	return NULL;
}
