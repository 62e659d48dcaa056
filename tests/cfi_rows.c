/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares every row of every FDE of ELF files, as libdw enumerates and reads
 * them, with ours:  cfi_rows FILE...
 *
 * Prints `FILE: N FDEs, N rows, N differences` for each section with CFI, and
 * the first differences.  Exits with 1 if there is any.
 */
#define _GNU_SOURCE
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <err.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replay/cfi.h"
#include "replay/dwarf_cursor.h"

#define SHOWN_MAX 10

struct file {
	const char *path;
	Elf *elf;
	GElf_Ehdr header;
	const struct reel_arch *arch;
	struct reel_cfi_input input;
	struct reel_cfi_row defaults;
	uint64_t fdes, rows, differences, skipped;
};

static struct reel_cfi_section section_named(Elf *elf, const GElf_Ehdr *ehdr, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;

	while ((scn = elf_nextscn(elf, scn))) {
		const char *this;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		this = elf_strptr(elf, ehdr->e_shstrndx, shdr.sh_name);
		if (!this || strcmp(this, name))
			continue;
		if (shdr.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			errx(2, "%s: %s", name, elf_errmsg(-1));
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			return (struct reel_cfi_section){ data->d_buf, data->d_size, shdr.sh_addr };
	}
	return (struct reel_cfi_section){ 0 };
}

static void read_text_range(struct file *file)
{
	size_t n;
	GElf_Phdr phdr;

	if (elf_getphdrnum(file->elf, &n))
		return;
	file->input.text_begin = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X))
			continue;
		if (phdr.p_vaddr < file->input.text_begin)
			file->input.text_begin = phdr.p_vaddr;
		if (phdr.p_vaddr + phdr.p_memsz > file->input.text_end)
			file->input.text_end = phdr.p_vaddr + phdr.p_memsz;
	}
	if (file->input.text_begin == UINT64_MAX)
		file->input.text_begin = 0;
}

static void differ(struct file *file, uint64_t address, const char *what, uint64_t ours,
		   uint64_t theirs)
{
	if (file->differences++ < SHOWN_MAX)
		printf("  0x%" PRIx64 ": %s: ours %" PRIx64 ", libdw %" PRIx64 "\n", address, what,
		       ours, theirs);
}

/* An expression of ours against libdw's decoded one, in which `skip` operations were put before. */
static bool same_expression(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops,
			    size_t skip)
{
	if (nops < skip || (nops == skip) != (rule->expression.size == 0))
		return false;
	for (size_t i = skip; i < nops; i++) {
		if (ops[i].offset >= rule->expression.size ||
		    rule->expression.bytes[ops[i].offset] != ops[i].atom)
			return false;
	}
	return true;
}

/* The rule in libdw's words: what it makes of each kind is in its frame-cfa.c and
 * dwarf_frame_register.c. */
static bool same_rule(const struct reel_cfi_rule *rule, const Dwarf_Op *ops, size_t nops)
{
	int64_t offset = 0;
	size_t n = 1;

	switch ((enum reel_rule_kind)rule->kind) {
	case REEL_RULE_UNSPECIFIED:
	case REEL_RULE_UNDEFINED:
		return nops == 0 && ops;
	case REEL_RULE_SAME:
		return nops == 0 && !ops;
	case REEL_RULE_REGISTER:
		return nops == 1 &&
		       (ops[0].atom == DW_OP_regx ? ops[0].number == rule->reg
						  : ops[0].atom == DW_OP_reg0 + rule->reg);
	case REEL_RULE_OFFSET:
	case REEL_RULE_VAL_OFFSET:
		if (nops < 1 || ops[0].atom != DW_OP_call_frame_cfa)
			return false;
		if (nops > n && ops[n].atom == DW_OP_plus_uconst)
			offset = (int64_t)ops[n++].number;
		if (rule->kind == REEL_RULE_VAL_OFFSET &&
		    (nops <= n || ops[n++].atom != DW_OP_stack_value))
			return false;
		return n == nops && offset == rule->offset;
	case REEL_RULE_EXPRESSION:
		return same_expression(rule, ops, nops, 1);
	case REEL_RULE_VAL_EXPRESSION:
		return nops && ops[nops - 1].atom == DW_OP_stack_value &&
		       same_expression(rule, ops, nops - 1, 1);
	case REEL_RULE_REGISTER_OFFSET:
		break;
	}
	return false;
}

static bool same_cfa(const struct reel_cfi_rule *rule, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nops;

	if (dwarf_frame_cfa(frame, &ops, &nops))
		return false;
	if (rule->kind == REEL_RULE_UNSPECIFIED)
		return nops == 0;
	if (rule->kind == REEL_RULE_VAL_EXPRESSION)
		return same_expression(rule, ops, nops, 0);
	return nops == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == rule->reg &&
	       (int64_t)ops[0].number2 == rule->offset;
}

static void compare_registers(struct file *file, const struct reel_cfi_row *row, Dwarf_Frame *frame)
{
	for (int reg = 0; reg < REEL_ARCH_DWARF_MAX; reg++) {
		struct reel_cfi_rule rule = row->rules[reg];
		Dwarf_Op memory[3], *ops;
		size_t nops;

		if (dwarf_frame_register(frame, reg, memory, &ops, &nops))
			continue;
		if (same_rule(&rule, ops, nops))
			continue;
		/*
		 * Where neither CIE nor FDE says anything the ABI's defaults do, and libdw's
		 * are others: it knows of vector registers; has the link register as same_value;
		 * takes DWARF's 0 for rbx (x86_64_cfi.c); leaves out riscv64's gp and tp; and has
		 * s390x's r15 as same_value, which holds in leaf functions only.
		 */
		if (!nops && !memcmp(&rule, &file->defaults.rules[reg], sizeof(rule)))
			continue;
		differ(file, row->begin, "rule of a register", (uint64_t)reg << 8 | rule.kind,
		       nops);
	}
}

static bool compare_row(struct file *file, struct reel_cfi *ours, Dwarf_CFI *theirs,
			uint64_t address, uint64_t *end_ret)
{
	struct reel_cfi_row row;
	Dwarf_Addr begin, end;
	Dwarf_Frame *frame;
	const char *problem = "";
	bool is_signal;
	int column;

	if (dwarf_cfi_addrframe(theirs, address, &frame)) {
		if (reel_cfi_row_at(ours, address, &row, NULL) == REEL_CFI_FOUND) {
			differ(file, address, "libdw has no row", row.begin, row.end);
			if (file->differences < SHOWN_MAX)
				printf("    %s\n", dwarf_errmsg(-1));
		}
		return false;
	}
	column = dwarf_frame_info(frame, &begin, &end, &is_signal);
	*end_ret = end;
	file->rows++;
	if (reel_cfi_row_at(ours, address, &row, &problem) != REEL_CFI_FOUND) {
		differ(file, address, "no row", 0, 0);
		printf("    %s\n", problem);
	} else {
		/* Not libdw's begin: its DW_CFA_restore_state brings back that of the state
		 * restored. */
		if (row.begin != address)
			differ(file, address, "begin", row.begin, begin);
		if (row.end != end)
			differ(file, address, "end", row.end, end);
		if (row.signal_frame != is_signal)
			differ(file, address, "signal frame", row.signal_frame, is_signal);
		if (row.return_column != column)
			differ(file, address, "return address column", row.return_column,
			       (uint64_t)column);
		if (!same_cfa(&row.cfa, frame))
			differ(file, address, "CFA", row.cfa.kind, 0);
		compare_registers(file, &row, frame);
	}
	free(frame);
	return true;
}

/* The FDE's range, read by other code than what is tested. */
static bool range_of(const struct file *file, const struct reel_cfi_section *section,
		     const Dwarf_CFI_Entry *cie, const Dwarf_FDE *fde, bool is_eh,
		     uint64_t *begin_ret, uint64_t *end_ret)
{
	bool big = file->header.e_ident[EI_DATA] == ELFDATA2MSB;
	const char *letter = cie->cie.augmentation;
	const uint8_t *data = cie->cie.augmentation_data;
	uint8_t encoding = DW_EH_PE_absptr;
	uint64_t begin, size;
	unsigned bytes;

	if (*letter == 'z') {
		for (letter++; *letter; letter++) {
			if (*letter == 'R')
				encoding = *data++;
			else if (*letter == 'L')
				data++;
			else if (*letter == 'P')
				data += 1 + ((*data & 7) == 0 || (*data & 7) == 4 ? 8
					     : (*data & 7) == 2			  ? 2
										  : 4);
		}
	}
	bytes = (encoding & 7) == 3 ? 4 : (encoding & 7) == 2 ? 2 : file->arch->word_size;
	begin = reel_load_target(fde->start, bytes, big);
	size = reel_load_target(fde->start + bytes, bytes, big);
	if (encoding & 8)
		begin = reel_sign_extend(begin, bytes * 8);
	if (is_eh && (encoding & 0x70) == DW_EH_PE_pcrel)
		begin += section->address + (uint64_t)(fde->start - section->bytes);
	*begin_ret = begin;
	*end_ret = begin + size;
	return size != 0;
}

static void compare_section(struct file *file, const struct reel_cfi_section *section,
			    Dwarf_CFI *theirs, bool is_eh)
{
	struct reel_cfi_input input = file->input;
	const unsigned char *ident = file->header.e_ident;
	Elf_Data data = { .d_buf = (void *)section->bytes, .d_size = section->size };
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry, cie;
	struct reel_cfi *ours;
	int status;

	if (is_eh)
		input.debug_frame.size = 0;
	else
		input.eh_frame.size = input.eh_frame_hdr.size = 0;
	if (reel_cfi_create(&input, &ours))
		errx(2, "out of memory");
	for (; (status = dwarf_next_cfi(ident, &data, is_eh, offset, &next, &entry)) == 0;
	     offset = next) {
		uint64_t begin, end;
		Dwarf_Off cie_next;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (dwarf_next_cfi(ident, &data, is_eh, entry.fde.CIE_pointer, &cie_next, &cie) ||
		    !range_of(file, section, &cie, &entry.fde, is_eh, &begin, &end))
			continue;
		if (input.text_end && (begin < input.text_begin || begin >= input.text_end)) {
			file->skipped++;
			continue;
		}
		file->fdes++;
		while (begin < end && compare_row(file, ours, theirs, begin, &begin))
			;
	}
	if (status < 0)
		printf("  libdw: %s\n", dwarf_errmsg(-1));
	reel_cfi_destroy(ours);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* How fast ours are. */
static void measure(const struct file *file)
{
	struct reel_cfi_iterator iterator = { 0 };
	enum reel_cfi_found found;
	struct reel_cfi_row row;
	struct reel_cfi *cfi;
	uint64_t rows = 0, bad = 0;
	double start, indexed;

	if (reel_cfi_create(&file->input, &cfi))
		errx(2, "out of memory");
	start = seconds();
	reel_cfi_next_row(cfi, &iterator, &row, NULL);
	indexed = seconds();
	while ((found = reel_cfi_next_row(cfi, &iterator, &row, NULL)) != REEL_CFI_NONE) {
		rows++;
		bad += found == REEL_CFI_BAD;
	}
	printf("  index %.1f ms, %" PRIu64 " rows (%" PRIu64 " bad) at %.2f million/s\n",
	       (indexed - start) * 1e3, rows, bad, (double)rows / (seconds() - indexed) / 1e6);
	reel_cfi_destroy(cfi);
}

static bool compare_file(const char *path)
{
	struct file file = { .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf_CFI *cfi;
	Dwarf *dwarf;

	if (fd < 0)
		err(2, "%s", path);
	file.elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (!file.elf || !gelf_getehdr(file.elf, &file.header))
		errx(2, "%s: %s", path, elf_errmsg(-1));
	file.arch = reel_arch_by_machine(file.header.e_machine,
					 file.header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
	if (!file.arch)
		errx(2, "%s: ELF machine %u", path, file.header.e_machine);
	file.input.arch = file.arch;
	reel_cfi_run_program(file.arch, file.arch->defaults, &file.defaults);
	file.input.big_endian = file.header.e_ident[EI_DATA] == ELFDATA2MSB;
	/* Before debug_frame is decompressed, which changes the sections under libdw. */
	dwarf = dwarf_begin_elf(file.elf, DWARF_C_READ, NULL);
	file.input.eh_frame = section_named(file.elf, &file.header, ".eh_frame");
	file.input.eh_frame_hdr = section_named(file.elf, &file.header, ".eh_frame_hdr");
	file.input.debug_frame = section_named(file.elf, &file.header, ".debug_frame");
	read_text_range(&file);
	cfi = dwarf_getcfi_elf(file.elf);
	if (cfi && file.input.eh_frame.size)
		compare_section(&file, &file.input.eh_frame, cfi, true);
	dwarf_cfi_end(cfi);
	cfi = dwarf ? dwarf_getcfi(dwarf) : NULL;
	if (cfi && file.input.debug_frame.size)
		compare_section(&file, &file.input.debug_frame, cfi, false);
	printf("%s: %" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64 " differences", path, file.fdes,
	       file.rows, file.differences);
	printf(file.skipped ? " (%" PRIu64 " FDEs outside of the text)\n" : "\n", file.skipped);
	if (getenv("MEASURE"))
		measure(&file);
	dwarf_end(dwarf);
	elf_end(file.elf);
	close(fd);
	return file.rows && !file.differences;
}

int main(int argc, char **argv)
{
	bool same = argc > 1;

	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		same &= compare_file(argv[i]);
	return !same;
}
