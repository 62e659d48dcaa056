/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same sample, unwound by nongnu libunwind's remote interface (unw_create_addr_space(3),
 * libunwind-dynamic(3)): it reads memory, registers and unwind tables through callbacks, and each
 * table is the .eh_frame_hdr of the file mapped at the address.
 */
#include "tests/truth/unwind_sample.h"

#ifndef HAVE_LIBUNWIND

bool truth_libunwind_unwind(const struct truth_sample *sample, struct truth_chain *ret)
{
	(void)sample, (void)ret;
	return false;
}

const char *truth_libunwind_absent(const struct truth_sample *sample)
{
	return "libunwind was missing when this was built";
}

void truth_libunwind_forget(void)
{
}

#else

#include <err.h>
#include <libunwind.h>
#include <stdio.h>
#include <string.h>

/* Exported for authors of find_proc_info, but not declared in an installed header. */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
				     unw_proc_info_t *ret, int need_unwind_info, void *argument);

/* .eh_frame_hdr (Linux Standard Base 5.0, Core, 10.6.2). */
#define EH_FRAME_HDR_VERSION	  1
#define DW_EH_PE_UDATA4		  0x03
#define DW_EH_PE_SDATA4		  0x0b
#define DW_EH_PE_PCREL		  0x10
#define DW_EH_PE_DATAREL	  0x30

struct header {
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	uint32_t pointer, count;
};

static unw_addr_space_t address_space;
static const struct truth_space *last_space;

/* The address of the file's search table; false if the file has none in the usual format. */
static bool find_table(const struct truth_sample *sample, const struct truth_mapping *mapping,
		       unw_dyn_info_t *info)
{
	struct header header;

	for (size_t i = 0; i < mapping->file->n_segments; i++) {
		const GElf_Phdr *phdr = &mapping->file->segments[i];
		uint64_t at;

		if (phdr->p_type != PT_GNU_EH_FRAME)
			continue;
		at = phdr->p_vaddr + mapping->bias;
		if (!truth_read_file(sample, at, sizeof(header), (uint8_t *)&header) ||
		    header.version != EH_FRAME_HDR_VERSION ||
		    header.pointer_encoding != (DW_EH_PE_PCREL | DW_EH_PE_SDATA4) ||
		    header.count_encoding != DW_EH_PE_UDATA4 ||
		    header.table_encoding != (DW_EH_PE_DATAREL | DW_EH_PE_SDATA4))
			return false;
		info->format = UNW_INFO_FORMAT_REMOTE_TABLE;
		info->u.rti.segbase = at;
		info->u.rti.table_data = at + sizeof(header);
		/* In words; an entry has 8 bytes. */
		info->u.rti.table_len = header.count * 8u / sizeof(unw_word_t);
		return true;
	}
	return false;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *ret,
			  int need_unwind_info, void *argument)
{
	const struct truth_sample *sample = argument;
	const struct truth_mapping *mapping = truth_find(sample, ip);
	unw_dyn_info_t info;

	memset(&info, 0, sizeof(info));
	if (!mapping || !find_table(sample, mapping, &info))
		return -UNW_ENOINFO;
	info.start_ip = mapping->begin;
	info.end_ip = mapping->end;
	return dwarf_search_unwind_table(space, ip, &info, ret, need_unwind_info, argument);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space, (void)info, (void)argument;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *ret, void *argument)
{
	(void)space, (void)ret, (void)argument;
	return -UNW_ENOINFO;
}

/*
 * Words of tables are read whole, even at the ends of sections; so is the pointer to the
 * personality routine, which is in .data (its value does not matter here, but libunwind gives up
 * without one).
 */
static bool read_table_word(const struct truth_sample *sample, uint64_t address, uint8_t *bytes)
{
	bool any = false;

	memset(bytes, 0, sizeof(unw_word_t));
	for (size_t i = 0; i < sizeof(unw_word_t); i++)
		any |= truth_read_initial_data(sample, address + i, 1, bytes + i);
	return any;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *argument)
{
	const struct truth_sample *sample = argument;
	uint8_t bytes[sizeof(unw_word_t)];

	if (write)
		return -UNW_EINVAL;
	if (!truth_read_stack(sample, address, sizeof(bytes), bytes) &&
	    !truth_read_file(sample, address, sizeof(bytes), bytes) &&
	    !read_table_word(sample, address, bytes))
		return -UNW_EINVAL;
	memcpy(value, bytes, sizeof(bytes));
	return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
		      void *argument)
{
	const struct truth_sample *sample = argument;

	/* UNW_X86_64_RAX … UNW_X86_64_RIP are DWARF's numbers. */
	if (write || reg < 0 || reg >= TRUTH_REGISTERS_MAX || !sample->known[reg])
		return -UNW_EBADREG;
	*value = sample->registers[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *argument)
{
	(void)space, (void)reg, (void)value, (void)write, (void)argument;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space, (void)cursor, (void)argument;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
			 unw_word_t *offset, void *argument)
{
	(void)space, (void)address, (void)name, (void)size, (void)offset, (void)argument;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
	.get_proc_name = get_proc_name,
};

const char *truth_libunwind_absent(const struct truth_sample *sample)
{
#if UNW_TARGET_X86_64
	return sample->arch->elf_machine == EM_X86_64
		       ? NULL
		       : "the libunwind of this host unwinds x86_64 only";
#else
	return "only x86_64 hosts are supported";
#endif
}

void truth_libunwind_forget(void)
{
	if (address_space)
		unw_destroy_addr_space(address_space);
	address_space = NULL;
	last_space = NULL;
}

bool truth_libunwind_unwind(const struct truth_sample *sample, struct truth_chain *ret)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	int status;

	if (truth_libunwind_absent(sample))
		return false;
	if (!address_space) {
		address_space = unw_create_addr_space(&accessors, 0);
		if (!address_space)
			errx(2, "unw_create_addr_space");
		unw_set_caching_policy(address_space, UNW_CACHE_GLOBAL);
		/* Number of cached addresses; 128 would be too few for a real program. */
		unw_set_cache_size(address_space, 1 << 14, 0);
	}
	if (sample->space != last_space)
		unw_flush_cache(address_space, 0, 0);
	last_space = sample->space;
	ret->n = 0;
	ret->end[0] = '\0';
	status = unw_init_remote(&cursor, address_space, (void *)sample);
	if (status) {
		snprintf(ret->end, sizeof(ret->end), "%s", unw_strerror(status));
		return true;
	}
	do {
		status = unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (status || (!pc && ret->n))
			break;
		truth_chain_add(ret, pc);
		status = unw_step(&cursor);
	} while (status > 0 && ret->n < TRUTH_CHAIN_MAX);
	if (status)
		snprintf(ret->end, sizeof(ret->end), "%s",
			 status < 0 ? unw_strerror(status) : "no progress");
	return true;
}

#endif
