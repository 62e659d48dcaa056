/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tests/truth/target_code.h"

bool truth_code_is(const struct truth_sample *sample, uint64_t address, const void *bytes,
		   size_t size)
{
	uint8_t there[16];

	return size <= sizeof(there) && truth_read_file(sample, address, size, there) &&
	       !memcmp(there, bytes, size);
}

static bool is_behind_call_x86(const struct truth_sample *sample, uint64_t address,
			       uint64_t *target_ret)
{
	/* ff /2 by length: Intel SDM, ModRM and SIB. */
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };
	uint8_t code[7];

	if (truth_read_file(sample, address - 5, 5, code) && code[0] == 0xe8) {
		int32_t offset;

		memcpy(&offset, code + 1, sizeof(offset));
		*target_ret = address + (uint64_t)(int64_t)offset;
		return true;
	}
	for (size_t i = 0; i < sizeof(lengths); i++) {
		uint8_t mod, rm;

		if (!truth_read_file(sample, address - lengths[i], lengths[i], code) ||
		    code[0] != 0xff || (code[1] >> 3 & 7) != 2)
			continue;
		mod = code[1] >> 6;
		rm = code[1] & 7;
		if (lengths[i] ==
		    2u + (mod != 3 && rm == 4) + (mod == 1) +
			    (mod == 2 || (mod == 0 && rm == 5) ||
					     (mod == 0 && rm == 4 && (code[2] & 7) == 5)
				     ? 4
				     : 0))
			return true;
	}
	return false;
}

static bool is_behind_call_aarch64(const struct truth_sample *sample, uint64_t address,
				   uint64_t *target_ret)
{
	uint8_t code[4];
	uint32_t word;

	if (address % 4 || !truth_read_file(sample, address - 4, 4, code))
		return false;
	word = code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
	if (word >> 26 == 0x25) {
		/* bl: imm26, in words, signed. */
		*target_ret =
			address - 4 + ((uint64_t)((int64_t)((uint64_t)word << 38) >> 38) << 2);
		return true;
	}
	/* blr, blraa(z), blrab(z) */
	return (word & 0xfefff000) == 0xd63f0000;
}

bool truth_is_behind_call(const struct truth_sample *sample, uint64_t address, uint64_t *target_ret)
{
	*target_ret = 0;
	switch (sample->arch->elf_machine) {
	case EM_X86_64:
		return is_behind_call_x86(sample, address, target_ret);
	case EM_AARCH64:
		return is_behind_call_aarch64(sample, address, target_ret);
	default:
		return false;
	}
}

/* A system call's instruction ends at the pc: the kernel will continue after it. */
bool truth_is_behind_syscall(const struct truth_sample *sample, uint64_t pc)
{
	static const uint8_t syscall[] = { 0x0f, 0x05 }, svc[] = { 0x01, 0x00, 0x00, 0xd4 };

	if (sample->sample->where != REEL_WHERE_SYSCALL)
		return false;
	return sample->arch->elf_machine == EM_X86_64 ? truth_code_is(sample, pc - 2, syscall, 2)
						      : truth_code_is(sample, pc - 4, svc, 4);
}

/*
 * Whether the code right before pc has popped the register.  A run of `pop` (58+r, 41 58+r) or
 * `leave` (c9), perhaps with `vzeroupper` (c5 f8 77) in it, ends at pc.
 */
bool truth_was_popped(const struct truth_sample *sample, uint64_t pc, unsigned dwarf)
{
	/* DWARF numbers to the numbers in instructions (psABI figure 3.36). */
	static const uint8_t numbers[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t code[3];

	if (sample->arch->elf_machine != EM_X86_64 || dwarf >= sizeof(numbers))
		return false;
	for (int i = 0; i < 8; i++) {
		if (!truth_read_file(sample, pc - 3, 3, code))
			return false;
		if (code[2] == 0xc9) {
			if (dwarf == 6)
				return true;
			pc -= 1;
		} else if ((code[2] & 0xf8) == 0x58) {
			unsigned extended = code[1] == 0x41 ? 8 : 0;

			if ((code[2] & 7u) + extended == numbers[dwarf])
				return true;
			pc -= extended ? 2 : 1;
		} else if (!memcmp(code, "\xc5\xf8\x77", 3)) {
			pc -= 3;
		} else {
			return false;
		}
	}
	return false;
}

/* mov %rcx,%rsp; pop %rcx; jmp *%rcx: __builtin_eh_return's end, from any of its instructions on.
 */
bool truth_is_leaving_for_landing_pad(const struct truth_sample *sample, uint64_t pc)
{
	return sample->arch->elf_machine == EM_X86_64 &&
	       (truth_code_is(sample, pc, "\x48\x89\xcc\x59\xff\xe1", 6) ||
		truth_code_is(sample, pc, "\x59\xff\xe1", 3) ||
		truth_code_is(sample, pc, "\xff\xe1", 2));
}

/* A section of a mapped file, by its name. */
static bool find_section(const struct truth_mapping *mapping, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	const char *this;
	size_t names;

	if (elf_getshdrstrndx(mapping->file->elf, &names))
		return false;
	while ((section = elf_nextscn(mapping->file->elf, section))) {
		if (!gelf_getshdr(section, ret))
			continue;
		this = elf_strptr(mapping->file->elf, names, ret->sh_name);
		if (this && !strcmp(this, name))
			return true;
	}
	return false;
}

bool truth_is_in_crt_section(const struct truth_sample *sample, uint64_t address)
{
	static const char *const names[] = { ".init", ".fini" };
	const struct truth_mapping *mapping = truth_find(sample, address);
	GElf_Shdr header;

	for (size_t i = 0; mapping && i < 2; i++)
		if (find_section(mapping, names[i], &header) &&
		    address - mapping->bias - header.sh_addr < header.sh_size)
			return true;
	return false;
}

/* The first function in an array of pointers; before relocation, so an ELF address. */
static bool first_of(const struct truth_sample *sample, const struct truth_mapping *mapping,
		     const char *name, uint64_t *ret)
{
	GElf_Shdr header;
	uint8_t bytes[8];

	if (!find_section(mapping, name, &header) ||
	    !truth_read_initial_data(sample, header.sh_addr + mapping->bias, sizeof(bytes), bytes))
		return false;
	memcpy(ret, bytes, sizeof(bytes));
	return *ret != 0;
}

/*
 * GCC's crtstuff.c puts deregister_tm_clones, register_tm_clones, __do_global_dtors_aux (first in
 * .fini_array) and frame_dummy (first in .init_array) one after the other.
 */
bool truth_is_in_crtstuff(const struct truth_sample *sample, uint64_t address)
{
	const struct truth_mapping *mapping = truth_find(sample, address);
	uint64_t first, last, at;

	if (!mapping || sample->arch->elf_machine != EM_X86_64 ||
	    !first_of(sample, mapping, ".fini_array", &first) ||
	    !first_of(sample, mapping, ".init_array", &last))
		return false;
	at = address - mapping->bias;
	return last - first < 0x80 && at + 0x80 >= first && at < last + 0x10;
}

/*
 * Instructions that show the distance of the return address: endbr64 and push %rbp; mov %rsp,%rbp
 * begin a function, ret ends one; PLTs are made of jumps through the GOT, push $index; jmp, and
 * push GOT+8; jmp (psABI figure 5.2); crti.S's code is between sub $8,%rsp and add $8,%rsp; ret.
 */
bool truth_return_address_offset(const struct truth_sample *sample, uint64_t pc, uint64_t *ret)
{
	static const struct {
		const char *bytes;
		uint8_t size, into, offset;
	} entries[] = {
		{ "\xff\x25", 2, 0, 0 },	 { "\xf2\xff\x25", 3, 0, 0 },
		{ "\xf3\x0f\x1e\xfa", 4, 0, 0 }, { "\x55\x48\x89\xe5", 4, 0, 0 },
		{ "\x55\x48\x89\xe5", 4, 1, 8 }, { "\xc3", 1, 0, 0 },
		{ "\xf3\xc3", 2, 0, 0 },
	};
	uint8_t code[24];

	if (sample->arch->elf_machine != EM_X86_64)
		return false;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (truth_code_is(sample, pc - entries[i].into, entries[i].bytes,
				  entries[i].size)) {
			/* PLT0's jump through the GOT, after its push, also counts. */
			*ret = !i && truth_code_is(sample, pc - 6, "\xff\x35", 2)
				       ? 16
				       : entries[i].offset;
			return true;
		}
	}
	*ret = 8;
	if (truth_read_file(sample, pc - 5, 6, code) && code[0] == 0x68 && code[5] == 0xe9)
		return true;
	if (truth_read_file(sample, pc, 8, code) && !memcmp(code, "\xff\x35", 2) &&
	    !memcmp(code + 6, "\xff\x25", 2))
		return true;
	/*
	 * From the end of the one to the other; a library may have put calls in between (OpenSSL).
	 */
	if (truth_is_in_crt_section(sample, pc)) {
		for (uint64_t at = pc - 18; at + 4 <= pc; at++)
			if (truth_code_is(sample, at, "\x48\x83\xec\x08", 4))
				return true;
		if (truth_code_is(sample, pc, "\x48\x83\xc4\x08\xc3", 5))
			return true;
	}
	*ret = 0;
	if (truth_read_file(sample, pc, 6, code) && code[0] == 0x68 && code[5] == 0xe9)
		return true;
	return truth_is_in_crt_section(sample, pc) &&
	       truth_code_is(sample, pc, "\x48\x83\xec\x08", 4);
}

static uint32_t arm_word(const struct truth_sample *sample, uint64_t address)
{
	uint8_t code[4];

	if (!truth_read_file(sample, address, 4, code))
		return 0;
	return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
}

/* adrp x16, …;  ldr x17, [x16, …];  add x16, x16, … */
static bool is_plt_word(uint32_t word)
{
	return (word & 0x9f00001f) == 0x90000010 || (word & 0xffc003ff) == 0xf9400211 ||
	       (word & 0xffc003ff) == 0x91000210;
}

bool truth_arm_pushed(const struct truth_sample *sample, uint64_t pc, uint64_t *ret)
{
	const uint32_t push = 0xa9bf7bf0, ret_x30 = 0xd65f03c0, br_x17 = 0xd61f0220;
	uint64_t at = pc;

	*ret = 0;
	if (arm_word(sample, pc) == ret_x30)
		return true;
	if (arm_word(sample, at) == push)
		at += 4;
	while (at < pc + 20 && is_plt_word(arm_word(sample, at)))
		at += 4;
	if (arm_word(sample, at) != br_x17)
		return false;
	for (at = pc; at + 16 > pc && is_plt_word(arm_word(sample, at - 4));)
		at -= 4;
	if (at <= pc && arm_word(sample, at - 4) == push)
		*ret = 16;
	return true;
}
