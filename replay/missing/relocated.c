/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces replay/files/relocated.c in builds without libdw. */
#include <gelf.h>

#include "elf/elf_file.h"
#include "elf/elf_sections.h"

struct reel_error *reel_elf_file_lay_out(struct reel_elf_file *file)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(reel_elf_file_handle(file), &header) || header.e_type != ET_REL)
		return NULL;
	return reel_error_create(REEL_ERROR_UNSUPPORTED,
				 "%s: stackreel was built without libdw, and cannot use kernel "
				 "modules' files",
				 reel_elf_file_path(file));
}
