/* SPDX-License-Identifier: Apache-2.0 */
#include <gelf.h>

#include "base/text.h"
#include "elf/clean_names.h"

void reel_elf_clean_names(char *image, size_t size)
{
	Elf *elf = elf_memory(image, size);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_STRTAB &&
		    header.sh_offset <= size && header.sh_size <= size - header.sh_offset)
			reel_text_clean(image + header.sh_offset, header.sh_size);
	}
	elf_end(elf);
}
