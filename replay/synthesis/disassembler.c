/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are from capstone.  Flow, and the size of instructions that it does not know, are from the
 * decoders used for unwinding, so code of a CPU unknown to capstone is still split correctly.
 */
#include <capstone/capstone.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/synthesis/capstone_room.h"
#include "replay/synthesis/disassembler.h"

struct reel_disassembler {
	const struct reel_arch *arch;
	struct reel_decoder *decoder; /* NULL: unknown instructions */
	csh handle;
	cs_insn *instruction; /* NULL: capstone does not know the CPU */
	char name[32];
};

/* Capstone's names of its CPUs.  aarch64's code has one byte order, whatever the data's. */
static const struct mode {
	uint16_t elf_machine;
	uint8_t word_size;
	cs_arch arch;
	unsigned int mode;
} modes[] = {
	{ EM_X86_64, 8, CS_ARCH_X86, CS_MODE_64 },
	{ EM_386, 4, CS_ARCH_X86, CS_MODE_32 },
	{ EM_AARCH64, 8, CS_ARCH_ARM64, CS_MODE_ARM },
	{ EM_S390, 8, CS_ARCH_SYSZ, (unsigned int)CS_MODE_BIG_ENDIAN },
#if CS_API_MAJOR >= 5
	{ EM_RISCV, 8, CS_ARCH_RISCV, CS_MODE_RISCV64 | CS_MODE_RISCVC },
#endif
};

/* NULL: capstone does not know the CPU. */
static const struct mode *mode_of(const struct reel_arch *arch)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (modes[i].elf_machine == arch->elf_machine &&
		    modes[i].word_size == arch->word_size)
			return &modes[i];
	}
	return NULL;
}

static struct reel_error *open_capstone(struct reel_disassembler *disassembler,
					const struct mode *mode, bool intel)
{
	int major, minor;

	if (!mode || !cs_support((int)mode->arch))
		return NULL;
	if (cs_open(mode->arch, (cs_mode)mode->mode, &disassembler->handle) != CS_ERR_OK) {
		disassembler->handle = 0;
		return reel_error_no_memory();
	}
	disassembler->instruction = cs_malloc(disassembler->handle);
	if (!disassembler->instruction ||
	    (mode->arch == CS_ARCH_X86 &&
	     (cs_option(disassembler->handle, CS_OPT_SYNTAX,
			intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT) != CS_ERR_OK ||
	      !reel_capstone_has_room(disassembler->handle, disassembler->instruction))))
		return reel_error_no_memory();
	cs_version(&major, &minor);
	snprintf(disassembler->name, sizeof(disassembler->name), "capstone %d.%d", major, minor);
	return NULL;
}

struct reel_error *reel_disassembler_create(const struct reel_arch *arch, bool intel,
					    struct reel_disassembler **ret)
{
	struct reel_disassembler *disassembler = calloc(1, sizeof(*disassembler));
	struct reel_error *error;

	if (!disassembler)
		return reel_error_no_memory();
	disassembler->arch = arch;
	error = reel_decoder_create(arch, &disassembler->decoder);
	if (!error)
		error = open_capstone(disassembler, mode_of(arch), intel);
	if (error) {
		reel_disassembler_destroy(disassembler);
		return error;
	}
	*ret = disassembler;
	return NULL;
}

void reel_disassembler_destroy(struct reel_disassembler *disassembler)
{
	if (!disassembler)
		return;
	if (disassembler->instruction)
		cs_free(disassembler->instruction, 1);
	if (disassembler->handle)
		cs_close(&disassembler->handle);
	reel_decoder_destroy(disassembler->decoder);
	free(disassembler);
}

const char *reel_disassembler_name(const struct reel_disassembler *disassembler)
{
	return disassembler->name;
}

/* Capstone 4 appends blanks to texts. */
static void print_text(const cs_insn *instruction, char text[REEL_DISASSEMBLED_MAX])
{
	int length;

	if (*instruction->op_str)
		length = snprintf(text, REEL_DISASSEMBLED_MAX, "%-7s %s", instruction->mnemonic,
				  instruction->op_str);
	else
		length = snprintf(text, REEL_DISASSEMBLED_MAX, "%s", instruction->mnemonic);
	while (length > 0 && length < REEL_DISASSEMBLED_MAX && text[length - 1] == ' ')
		text[--length] = '\0';
}

void reel_disassemble(struct reel_disassembler *disassembler, const uint8_t *bytes, size_t size,
		      uint64_t address, struct reel_disassembled *ret)
{
	const struct reel_arch *arch = disassembler->arch;
	size_t length = arch->instruction_size ? arch->instruction_size(bytes[0]) : 1;
	struct reel_instruction instruction;
	const uint8_t *at = bytes;
	uint64_t place = address;
	size_t left = size;

	ret->size = (uint8_t)(length < size ? length : size);
	ret->text[0] = '\0';
	ret->flow = REEL_FLOW_NEXT;
	ret->has_target = false;
	if (disassembler->decoder &&
	    reel_decode(disassembler->decoder, bytes, size, address, &instruction)) {
		ret->size = instruction.size;
		ret->flow = instruction.flow;
		ret->has_target = instruction.has_target;
		ret->target = instruction.target;
	}
	if (!disassembler->instruction ||
	    !cs_disasm_iter(disassembler->handle, &at, &left, &place, disassembler->instruction))
		return;
	print_text(disassembler->instruction, ret->text);
	ret->size = (uint8_t)disassembler->instruction->size;
}
