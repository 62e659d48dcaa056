/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaudit.so for LD_AUDIT (rtld-audit(7)): requests reports of every call through a PLT and of its
 * end, so that ld.so calls the functions itself (_dl_runtime_profile), with a copy of the frame
 * below its own.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>

/* Only in glibc. */
#ifdef LAV_CURRENT

unsigned int la_version(unsigned int version)
{
	return version;
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)map;
	(void)space;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned int index, uintptr_t *from,
				  uintptr_t *to, La_x86_64_regs *registers, unsigned int *flags,
				  const char *name, long *frame_size)
{
	(void)index;
	(void)from;
	(void)to;
	(void)registers;
	(void)flags;
	(void)name;
	*frame_size = 64; /* or the end is not reported */
	return symbol->st_value;
}

unsigned int la_x86_64_gnu_pltexit(Elf64_Sym *symbol, unsigned int index, uintptr_t *from,
				   uintptr_t *to, const La_x86_64_regs *in, La_x86_64_retval *out,
				   const char *name)
{
	(void)symbol;
	(void)index;
	(void)from;
	(void)to;
	(void)in;
	(void)out;
	(void)name;
	return 0;
}

#endif
