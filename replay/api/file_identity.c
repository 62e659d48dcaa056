/* SPDX-License-Identifier: Apache-2.0 */
/* reel_file_identify and reel_file_segments of include/commands.h. */
#include <gelf.h>

#include "base/sized.h"
#include "elf/elf_file.h"
#include "elf/file_search.h"

_Static_assert(REEL_BUILD_ID_TEXT_SIZE == REEL_BUILD_ID_TEXT, "the same text");

struct reel_error *reel_file_identify(const char *path, struct reel_file_identity *ret)
{
	struct reel_file_identity identity = { 0 };
	struct reel_bytes alternate = { 0 };
	struct reel_elf_file *file;

	TRY(reel_elf_file_open(path, &file));
	reel_build_id_print(reel_elf_file_build_id(file), identity.build_id);
	if (reel_elf_file_altlink(file, &alternate))
		reel_build_id_print(alternate, identity.alternate);
	reel_elf_file_close(file);
	reel_sized_give(ret, sizeof(identity), &identity);
	return NULL;
}

struct reel_error *reel_file_segments(const char *path,
				      void (*visit)(void *context,
						    const struct reel_file_segment *segment),
				      void *context)
{
	struct reel_elf_file *file;
	size_t n = 0;
	GElf_Phdr header;

	TRY(reel_elf_file_open(path, &file));
	elf_getphdrnum(reel_elf_file_handle(file), &n);
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(reel_elf_file_handle(file), (int)i, &header) &&
		    header.p_type == PT_LOAD)
			visit(context,
			      &(struct reel_file_segment){ header.p_vaddr, header.p_offset,
							   header.p_filesz, header.p_flags });
	}
	reel_elf_file_close(file);
	return NULL;
}
