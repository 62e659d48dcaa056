/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares every row of every FDE of ELF files, as libdw enumerates and reads them, with ours, and
 * every row of ours with libdw's:  cfi_rows [-m] FILE...
 *
 * Prints `FILE: N FDEs, N rows, N differences`, then the skipped FDEs and the known differences,
 * each with its count, and the first unknown ones. Exits with 1 if there is any unknown difference.
 *  -m measures the speed of ours.
 *
 * An expression that computes with data which scrubbing removes (cfi_reads.h) also counts as a
 * difference. -x only searches for these, and skips files that are not ELF files of a CPU in arch/.
 */
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

#include "cfi/cfi.h"
#include "base/dwarf_cursor.h"
#include "tests/unwind/cfi_reads.h"
#include "tests/unwind/cfi_rules.h"

#define SHOWN_MAX 10

/* FDEs that are not compared, since they cover no code. */
enum passed_over {
	EMPTY,	      /* empty: GCC makes them for empty cold parts */
	OUTSIDE_TEXT, /* of removed sections, at address 0 or at the linker's replacement */
	N_PASSED_OVER,
};

static const char *const passed_over_names[N_PASSED_OVER] = {
	"FDEs of no bytes",
	"FDEs outside of the text",
};

struct range {
	uint64_t begin, end;
};

struct file {
	const char *path;
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	const struct reel_arch *arch;
	struct reel_cfi_input input;
	struct reel_cfi_row defaults;
	Dwarf_CFI *eh, *debug;
	/* The ranges of libdw's FDEs. */
	struct range *ranges;
	size_t n_ranges, ranges_capacity;
	uint64_t fdes, rows, differences, our_rows, signed_rows, signing;
	/* aarch64: rows whose CFA GCC sets by DW_CFA_def_cfa_offset after an expression, which
	 * libdw rejects (cfi/cfi_program.c, set_cfa_offset). */
	uint64_t offset_behind_expression;
	uint64_t passed_over[N_PASSED_OVER], exempt[N_EXEMPTIONS];
	/* The number of registers compared, by the kind of rule. */
	uint64_t kinds[REEL_RULE_REGISTER_OFFSET];
	uint64_t reads[CFI_READS_KINDS]; /* for expressions, a row and register each */
};

static const char *const kind_names[REEL_RULE_REGISTER_OFFSET] = {
	[REEL_RULE_UNSPECIFIED] = "unspecified",
	[REEL_RULE_UNDEFINED] = "undefined",
	[REEL_RULE_SAME] = "same value",
	[REEL_RULE_OFFSET] = "in memory",
	[REEL_RULE_VAL_OFFSET] = "an offset",
	[REEL_RULE_REGISTER] = "in a register",
	[REEL_RULE_EXPRESSION] = "in memory by expression",
	[REEL_RULE_VAL_EXPRESSION] = "by expression",
};

static struct reel_loaded_bytes section_named(Elf *elf, const GElf_Ehdr *ehdr, const char *name)
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
			return (struct reel_loaded_bytes){ data->d_buf, data->d_size,
							   shdr.sh_addr };
	}
	return (struct reel_loaded_bytes){ 0 };
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

/* ---- expressions ------------------------------------------------------------------------ */

static void check_reads(struct file *file, uint64_t address, unsigned reg, const Dwarf_Op *ops,
			size_t nops)
{
	enum cfi_reads reads = cfi_reads(file->arch, ops, nops);

	file->reads[reads]++;
	if (!cfi_reads_scrubbed(reads) || file->differences++ >= SHOWN_MAX)
		return;
	printf("  0x%" PRIx64 ": rule of register %u (%u: the CFA) reads %s:", address, reg,
	       REEL_ARCH_DWARF_MAX, cfi_reads_names[reads]);
	for (size_t i = 0; i < nops; i++)
		printf(" %02x(%" PRIx64 ",%" PRIx64 ")", ops[i].atom, ops[i].number,
		       ops[i].number2);
	putchar('\n');
}

/* libdw's operations where our row has an expression. */
static void check_row_reads(struct file *file, const struct reel_cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t nops;

	if (row->cfa.kind == REEL_RULE_VAL_EXPRESSION && !dwarf_frame_cfa(frame, &ops, &nops))
		check_reads(file, row->begin, REEL_ARCH_DWARF_MAX, ops, nops);
	for (unsigned reg = 0; reg < REEL_ARCH_DWARF_MAX; reg++) {
		enum reel_rule_kind kind = (enum reel_rule_kind)row->rules[reg].kind;

		if ((kind == REEL_RULE_EXPRESSION || kind == REEL_RULE_VAL_EXPRESSION) &&
		    !dwarf_frame_register(frame, (int)reg, memory, &ops, &nops))
			check_reads(file, row->begin, reg, ops, nops);
	}
}

/* ---- libdw's rows ----------------------------------------------------------------------- */

static void differ_in_rule(struct file *file, const struct reel_cfi_row *row, unsigned reg,
			   const char *theirs)
{
	if (file->differences++ < SHOWN_MAX)
		printf("  0x%" PRIx64 ": rule of register %u: ours of kind %u (%" PRId64
		       "), libdw: %s\n",
		       row->begin, reg, row->rules[reg].kind, row->rules[reg].offset, theirs);
}

static void compare_registers(struct file *file, const struct reel_cfi_row *row, Dwarf_Frame *frame)
{
	for (unsigned reg = 0; reg < REEL_ARCH_DWARF_MAX; reg++) {
		const struct reel_cfi_rule *rule = &row->rules[reg];
		size_t nops, exemption = N_EXEMPTIONS;
		Dwarf_Op memory[3], *ops;

		if (dwarf_frame_register(frame, (int)reg, memory, &ops, &nops)) {
			differ_in_rule(file, row, reg, dwarf_errmsg(-1));
			continue;
		}
		file->kinds[rule->kind]++;
		if (same_rule(rule, ops, nops, file->input.big_endian))
			continue;
		if (!nops)
			exemption = default_exemption(file->arch, reg, rule,
						      &file->defaults.rules[reg], !ops);
		if (exemption < N_EXEMPTIONS)
			file->exempt[exemption]++;
		else
			differ_in_rule(file, row, reg,
				       nops  ? "operations"
				       : ops ? "undefined"
					     : "same value");
	}
}

static void compare_cfa(struct file *file, const struct reel_cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nops;

	if (dwarf_frame_cfa(frame, &ops, &nops) == 0) {
		if (!same_cfa(&row->cfa, ops, nops, file->input.big_endian))
			differ(file, row->begin, "CFA", row->cfa.kind, nops);
	} else if (file->arch->elf_machine == EM_AARCH64 &&
		   row->cfa.kind == REEL_RULE_REGISTER_OFFSET && row->cfa.reg == file->arch->sp) {
		file->offset_behind_expression++;
	} else {
		differ(file, row->begin, "libdw has no CFA", row->cfa.kind, 0);
	}
}

/* Our row and libdw's for the same address. */
static void compare_rows(struct file *file, uint64_t address, const struct reel_cfi_row *row,
			 Dwarf_Frame *frame)
{
	Dwarf_Addr begin, end;
	bool is_signal;
	int column = dwarf_frame_info(frame, &begin, &end, &is_signal);

	/* Not the begin: libdw's DW_CFA_restore_state sets it to the restored state's begin. */
	if (row->begin != address)
		differ(file, address, "begin", row->begin, begin);
	if (row->end != end)
		differ(file, address, "end", row->end, end);
	if (row->signal_frame != is_signal)
		differ(file, address, "signal frame", row->signal_frame, is_signal);
	if (row->return_column != column)
		differ(file, address, "return address column", row->return_column,
		       (uint64_t)column);
	file->signed_rows += row->return_address_signed;
	compare_cfa(file, row, frame);
	compare_registers(file, row, frame);
	check_row_reads(file, row, frame);
}

/* The row at an address of libdw's FDE; returns the start of the next one. */
static uint64_t compare_at(struct file *file, struct reel_cfi *ours, Dwarf_CFI *theirs,
			   uint64_t address, uint64_t fde_end)
{
	struct reel_cfi_row row;
	Dwarf_Addr begin, end = fde_end;
	Dwarf_Frame *frame;
	const char *problem = "no FDE";
	bool is_signal, there;

	there = reel_cfi_row_at(ours, address, &row, &problem) == REEL_CFI_FOUND;
	file->rows++;
	if (dwarf_cfi_addrframe(theirs, address, &frame)) {
		differ(file, address, there ? "libdw has no row" : "neither has a row", 0, 0);
		if (file->differences <= SHOWN_MAX)
			printf("    %s; %s\n", dwarf_errmsg(-1), problem);
		return there ? row.end : fde_end;
	}
	if (there) {
		compare_rows(file, address, &row, frame);
	} else {
		differ(file, address, "no row", 0, 0);
		if (file->differences <= SHOWN_MAX)
			printf("    %s\n", problem);
	}
	dwarf_frame_info(frame, &begin, &end, &is_signal);
	free(frame);
	return end;
}

/* ---- libdw's FDEs ------------------------------------------------------------------------- */

static void add_range(struct file *file, struct range range)
{
	if (file->n_ranges == file->ranges_capacity) {
		file->ranges_capacity = file->ranges_capacity ? file->ranges_capacity * 2 : 1024;
		file->ranges = reallocarray(file->ranges, file->ranges_capacity, sizeof(range));
		if (!file->ranges)
			errx(2, "out of memory");
	}
	file->ranges[file->n_ranges++] = range;
}

/* The FDE's range, read independently of the tested code. */
static void range_of(const struct file *file, const struct reel_loaded_bytes *section,
		     const Dwarf_CFI_Entry *cie, const Dwarf_FDE *fde, bool is_eh,
		     struct range *ret)
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
	if (encoding & 0x60 || (encoding & 7) == 1)
		errx(2, "%s: FDE pointers are encoded as 0x%x", file->path, encoding);
	bytes = (encoding & 7) == 3 ? 4 : (encoding & 7) == 2 ? 2 : file->arch->word_size;
	begin = reel_load_target(fde->start, bytes, big);
	size = reel_load_target(fde->start + bytes, bytes, big);
	if (encoding & 8)
		begin = reel_sign_extend(begin, bytes * 8);
	if (is_eh && (encoding & 0x70) == DW_EH_PE_pcrel)
		begin += section->address + (uint64_t)(fde->start - section->bytes);
	*ret = (struct range){ begin, begin + size };
}

static void compare_fde(struct file *file, struct reel_cfi *ours, Dwarf_CFI *theirs,
			struct range range)
{
	const struct reel_cfi_input *input = &file->input;

	if (range.begin == range.end) {
		file->passed_over[EMPTY]++;
		return;
	}
	if (input->text_end &&
	    (range.begin < input->text_begin || range.begin >= input->text_end)) {
		file->passed_over[OUTSIDE_TEXT]++;
		return;
	}
	file->fdes++;
	add_range(file, range);
	for (uint64_t at = range.begin; at < range.end;)
		at = compare_at(file, ours, theirs, at, range.end);
}

static void compare_section(struct file *file, const struct reel_loaded_bytes *section,
			    Dwarf_CFI *theirs, bool is_eh)
{
	static const uint8_t terminator[4];
	struct reel_cfi_input input = file->input;
	const unsigned char *ident = file->header.e_ident;
	Elf_Data data = { .d_buf = (void *)section->bytes, .d_size = section->size };
	Dwarf_Off offset = 0, next, cie_next;
	Dwarf_CFI_Entry entry, cie;
	struct reel_cfi *ours;
	struct range range;
	int status;

	if (is_eh)
		input.debug_frame.size = 0;
	else
		input.eh_frame.size = input.eh_frame_hdr.size = 0;
	if (reel_cfi_create(&input, &ours))
		errx(2, "out of memory");
	while ((status = dwarf_next_cfi(ident, &data, is_eh, offset, &next, &entry)) >= 0) {
		/* Continues after terminators, which linkers leave in the middle. */
		if (status == 1) {
			if (section->size - offset < 4 ||
			    memcmp(section->bytes + offset, terminator, 4))
				break;
			offset += 4;
			continue;
		}
		offset = next;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (dwarf_next_cfi(ident, &data, is_eh, entry.fde.CIE_pointer, &cie_next, &cie) ||
		    !dwarf_cfi_cie_p(&cie)) {
			differ(file, offset, "libdw finds no CIE", 0, 0);
			continue;
		}
		range_of(file, section, &cie, &entry.fde, is_eh, &range);
		compare_fde(file, ours, theirs, range);
	}
	if (status < 0)
		differ(file, offset, dwarf_errmsg(-1), 0, 0);
	reel_cfi_destroy(ours);
}

/* ---- our rows ----------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The number of addresses in libdw's FDEs. */
static uint64_t bytes_of_ranges(struct file *file)
{
	uint64_t bytes = 0, at = 0;

	if (file->n_ranges)
		qsort(file->ranges, file->n_ranges, sizeof(*file->ranges), compare_ranges);
	for (size_t i = 0; i < file->n_ranges; i++) {
		const struct range *range = &file->ranges[i];

		if (range->end <= at)
			continue;
		bytes += range->end - (range->begin > at ? range->begin : at);
		at = range->end;
	}
	return bytes;
}

/* Compares the row found by lookup with the one from the enumeration. */
static bool same_contents(const struct reel_cfi_row *a, const struct reel_cfi_row *b)
{
	return a->return_column == b->return_column && a->signal_frame == b->signal_frame &&
	       a->return_address_signed == b->return_address_signed &&
	       !memcmp(&a->cfa, &b->cfa, sizeof(a->cfa)) &&
	       !memcmp(a->rules, b->rules, sizeof(a->rules));
}

/* The ends of the range for which the row is valid. */
static void compare_all_over(struct file *file, struct reel_cfi *cfi,
			     const struct reel_cfi_row *row)
{
	const uint64_t addresses[] = {
		row->same_begin,
		row->same_begin + (row->same_end - row->same_begin) / 2,
		row->same_end - 1,
	};
	struct reel_cfi_row again;

	for (size_t i = 0; i < 3; i++) {
		if (reel_cfi_row_at(cfi, addresses[i], &again, NULL) != REEL_CFI_FOUND ||
		    !same_contents(row, &again))
			differ(file, addresses[i], "the row is not the same all over",
			       row->same_begin, row->same_end);
	}
}

/* `stackreel table` shows these: libdw must have each, and no address may be missing. */
static void compare_our_rows(struct file *file)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_row row, looked_up;
	enum reel_cfi_found found;
	const char *problem = "";
	struct reel_cfi *cfi;
	uint64_t bytes = 0, theirs = bytes_of_ranges(file);

	if (reel_cfi_create(&file->input, &cfi))
		errx(2, "out of memory");
	while ((found = reel_cfi_next_row(cfi, &iterator, &row, &problem)) != REEL_CFI_NONE) {
		Dwarf_Frame *frame = NULL;

		file->our_rows++;
		bytes += row.end - row.begin;
		if (found == REEL_CFI_BAD) {
			differ(file, row.begin, problem, row.begin, row.end);
			continue;
		}
		if (reel_cfi_row_at(cfi, row.begin, &looked_up, NULL) != REEL_CFI_FOUND ||
		    !same_contents(&row, &looked_up))
			differ(file, row.begin, "looked up, the row is different", row.end,
			       looked_up.end);
		else
			compare_all_over(file, cfi, &looked_up);
		if ((!file->eh || dwarf_cfi_addrframe(file->eh, row.begin, &frame)) &&
		    (!file->debug || dwarf_cfi_addrframe(file->debug, row.begin, &frame)))
			differ(file, row.begin, "libdw has no such row", row.begin, row.end);
		free(frame);
	}
	if (bytes != theirs)
		differ(file, 0, "bytes of code with a row", bytes, theirs);
	reel_cfi_destroy(cfi);
}

static bool has_expression(const struct reel_cfi_row *row)
{
	bool has = row->cfa.kind == REEL_RULE_VAL_EXPRESSION;

	for (unsigned reg = 0; !has && reg < REEL_ARCH_DWARF_MAX; reg++)
		has = row->rules[reg].kind == REEL_RULE_EXPRESSION ||
		      row->rules[reg].kind == REEL_RULE_VAL_EXPRESSION;
	return has;
}

/* Ours decides which rows have one, libdw gives its contents. */
static void check_expressions(struct file *file)
{
	struct reel_cfi_iterator iterator = { 0 };
	struct reel_cfi_row row;
	struct reel_cfi *cfi;

	if (reel_cfi_create(&file->input, &cfi))
		errx(2, "out of memory");
	while (reel_cfi_next_row(cfi, &iterator, &row, NULL) != REEL_CFI_NONE) {
		Dwarf_Frame *frame = NULL;

		file->our_rows++;
		if (!has_expression(&row))
			continue;
		if ((!file->eh || dwarf_cfi_addrframe(file->eh, row.begin, &frame)) &&
		    (!file->debug || dwarf_cfi_addrframe(file->debug, row.begin, &frame)))
			differ(file, row.begin, "libdw has no such row", row.begin, row.end);
		else
			check_row_reads(file, &row, frame);
		free(frame);
	}
	reel_cfi_destroy(cfi);
}

/*
 * aarch64: libdw 0.188 does not report where return addresses are signed, so this uses the
 * instructions that sign and check them (Arm ARM, C6.2).
 */
static void compare_signing(struct file *file, const uint8_t *code, size_t size, uint64_t address)
{
	static const struct {
		uint32_t code;
		bool before, after, falls_through;
	} instructions[] = {
		{ 0xd503233f, false, true, true }, /* paciasp */
		{ 0xd503237f, false, true, true }, /* pacibsp */
		{ 0xd50323bf, true, false, true }, /* autiasp */
		{ 0xd50323ff, true, false, true }, /* autibsp */
		{ 0xd65f0bff, true, true, false }, /* retaa */
		{ 0xd65f0fff, true, true, false }, /* retab */
	};
	struct reel_cfi_row before, after;
	struct reel_cfi *cfi;

	if (reel_cfi_create(&file->input, &cfi))
		errx(2, "out of memory");
	for (size_t at = 0; at + 4 <= size; at += 4) {
		uint32_t word = (uint32_t)reel_load_target(code + at, 4, false);
		size_t i = 0;

		while (i < 6 && instructions[i].code != word)
			i++;
		if (i == 6 || reel_cfi_row_at(cfi, address + at, &before, NULL) != REEL_CFI_FOUND)
			continue;
		file->signing++;
		if (before.return_address_signed != instructions[i].before)
			differ(file, address + at, "signed before this instruction",
			       before.return_address_signed, instructions[i].before);
		if (!instructions[i].falls_through || before.fde_end == address + at + 4 ||
		    reel_cfi_row_at(cfi, address + at + 4, &after, NULL) != REEL_CFI_FOUND)
			continue;
		if (after.return_address_signed != instructions[i].after)
			differ(file, address + at + 4, "signed after this instruction",
			       after.return_address_signed, instructions[i].after);
	}
	reel_cfi_destroy(cfi);
}

static void compare_all_signing(struct file *file)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;

	while ((scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(shdr.sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			compare_signing(file, data->d_buf, data->d_size, shdr.sh_addr);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Measures the speed of ours. */
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

/* ---- files -------------------------------------------------------------------------------- */

/* False, with `only_expressions`: not a file of one of our CPUs. */
static bool open_file(struct file *file, bool only_expressions)
{
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		err(2, "%s", file->path);
	/* Into memory, so that libdw's decompression does not matter. */
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (only_expressions &&
	    (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header)))
		return false;
	if (!file->elf || !gelf_getehdr(file->elf, &file->header))
		errx(2, "%s: %s", file->path, elf_errmsg(-1));
	file->arch = reel_arch_by_machine(file->header.e_machine,
					  file->header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
	if (!file->arch && only_expressions)
		return false;
	if (!file->arch)
		errx(2, "%s: ELF machine %u", file->path, file->header.e_machine);
	file->input.arch = file->arch;
	reel_cfi_run_program(file->arch, file->arch->defaults, &file->defaults);
	file->input.big_endian = file->header.e_ident[EI_DATA] == ELFDATA2MSB;
	return true;
}

static void print_result(const struct file *file)
{
	printf("%s: %" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64 " differences\n", file->path,
	       file->fdes, file->rows, file->differences);
	printf("  rows of ours: %" PRIu64 "\n", file->our_rows);
	for (size_t i = 0; i < REEL_RULE_REGISTER_OFFSET; i++) {
		if (file->kinds[i])
			printf("  registers: %s: %" PRIu64 "\n", kind_names[i], file->kinds[i]);
	}
	for (size_t i = 0; i < CFI_READS_KINDS; i++) {
		if (file->reads[i])
			printf("  expressions that read %s: %" PRIu64 "\n", cfi_reads_names[i],
			       file->reads[i]);
	}
	for (size_t i = 0; i < N_PASSED_OVER; i++) {
		if (file->passed_over[i])
			printf("  passed over: %s: %" PRIu64 "\n", passed_over_names[i],
			       file->passed_over[i]);
	}
	for (size_t i = 0; i < N_EXEMPTIONS; i++) {
		if (file->exempt[i])
			printf("  exempt: %s: %" PRIu64 "\n", exemption_names[i], file->exempt[i]);
	}
	if (file->offset_behind_expression)
		printf("  exempt: DW_CFA_def_cfa_offset after an expression: %" PRIu64 "\n",
		       file->offset_behind_expression);
	if (file->signed_rows || file->signing)
		printf("  exempt: RA_SIGN_STATE, which libdw does not report: %" PRIu64
		       "\n  compared with the code instead: %" PRIu64 " instructions\n",
		       file->signed_rows, file->signing);
}

static void compare_all(struct file *file)
{
	if (file->eh)
		compare_section(file, &file->input.eh_frame, file->eh, true);
	if (file->debug)
		compare_section(file, &file->input.debug_frame, file->debug, false);
	compare_our_rows(file);
	if (file->arch->flags & REEL_ARCH_POINTER_AUTHENTICATION)
		compare_all_signing(file);
}

static bool compare_file(const char *path, bool measured, bool only_expressions)
{
	struct file file = { .path = path };
	Dwarf *dwarf;

	if (!open_file(&file, only_expressions)) {
		elf_end(file.elf);
		close(file.fd);
		return true;
	}
	/* Before debug_frame is decompressed, which changes the sections under libdw. */
	dwarf = dwarf_begin_elf(file.elf, DWARF_C_READ, NULL);
	file.input.eh_frame = section_named(file.elf, &file.header, ".eh_frame");
	file.input.eh_frame_hdr = section_named(file.elf, &file.header, ".eh_frame_hdr");
	file.input.debug_frame = section_named(file.elf, &file.header, ".debug_frame");
	read_text_range(&file);
	if (file.input.eh_frame.size)
		file.eh = dwarf_getcfi_elf(file.elf);
	if (file.input.debug_frame.size && dwarf)
		file.debug = dwarf_getcfi(dwarf);
	if (only_expressions)
		check_expressions(&file);
	else
		compare_all(&file);
	print_result(&file);
	if (measured)
		measure(&file);
	dwarf_cfi_end(file.eh);
	dwarf_end(dwarf);
	elf_end(file.elf);
	close(file.fd);
	free(file.ranges);
	return (only_expressions || file.rows) && !file.differences;
}

int main(int argc, char **argv)
{
	bool measured = argc > 1 && !strcmp(argv[1], "-m");
	bool only_expressions = argc > 1 && !strcmp(argv[1], "-x");
	int first = 1 + (measured || only_expressions);
	bool same = argc > first;

	elf_version(EV_CURRENT);
	for (int i = first; i < argc; i++)
		same &= compare_file(argv[i], measured, only_expressions);
	return !same;
}
