/* SPDX-License-Identifier: Apache-2.0 */
/* x86 instructions, 32-bit and 64-bit, decoded by capstone. */
#include <capstone/capstone.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "replay/synthesis/capstone_room.h"
#include "replay/synthesis/decoder_internal.h"

struct reel_x86_decoder {
	const struct reel_arch *arch;
	uint8_t word, sp, fp, ax, cx, r11;
	csh handle;
	cs_insn *instruction;
	uint8_t slots[X86_REG_ENDING]; /* the slot that contains each register */
};

/* Named as in arch/'s 64-bit table; the 32-bit table has the second column's first eight names. */
static const x86_reg families[][5] = {
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
};

static uint8_t slot_named(const struct reel_arch *arch, const char *name)
{
	for (uint8_t i = 0; name && i < arch->n_registers; i++) {
		if (!strcmp(arch->registers[i].name, name))
			return i;
	}
	return REEL_ARCH_NO_SLOT;
}

static void fill_slots(struct reel_x86_decoder *decoder)
{
	unsigned own = decoder->word == 8 ? 0 : 1;

	memset(decoder->slots, REEL_ARCH_NO_SLOT, sizeof(decoder->slots));
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		uint8_t slot =
			slot_named(decoder->arch, cs_reg_name(decoder->handle, families[i][own]));

		for (unsigned j = 0; j < 5 && families[i][j]; j++)
			decoder->slots[families[i][j]] = slot;
	}
}

struct reel_error *reel_x86_decoder_create(const struct reel_arch *arch,
					   struct reel_x86_decoder **ret)
{
	struct reel_x86_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder || cs_open(CS_ARCH_X86, arch->word_size == 8 ? CS_MODE_64 : CS_MODE_32,
				&decoder->handle) != CS_ERR_OK) {
		free(decoder);
		return reel_error_no_memory();
	}
	decoder->arch = arch;
	decoder->word = arch->word_size;
	if (cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK ||
	    !(decoder->instruction = cs_malloc(decoder->handle)) ||
	    !reel_capstone_has_room(decoder->handle, decoder->instruction)) {
		reel_x86_decoder_destroy(decoder);
		return reel_error_no_memory();
	}
	fill_slots(decoder);
	decoder->sp = reel_arch_slot(arch, arch->sp);
	decoder->fp = reel_arch_slot(arch, arch->fp);
	decoder->ax = decoder->slots[X86_REG_RAX];
	decoder->cx = decoder->slots[X86_REG_RCX];
	decoder->r11 = decoder->slots[X86_REG_R11];
	*ret = decoder;
	return NULL;
}

void reel_x86_decoder_destroy(struct reel_x86_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->instruction)
		cs_free(decoder->instruction, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* ---- operands ------------------------------------------------------------------------ */

/* A register as wide as a word, or none. */
static uint8_t word_register(const struct reel_x86_decoder *decoder, const cs_x86_op *operand)
{
	if (operand->type != X86_OP_REG || operand->size != decoder->word)
		return REEL_ARCH_NO_SLOT;
	return decoder->slots[operand->reg];
}

/* Memory at a register plus a constant. */
static bool is_plain_memory(const struct reel_x86_decoder *decoder, const cs_x86_op *operand,
			    uint8_t *slot_ret)
{
	if (operand->type != X86_OP_MEM || operand->mem.segment != X86_REG_INVALID ||
	    operand->mem.index != X86_REG_INVALID || operand->mem.base == X86_REG_INVALID)
		return false;
	*slot_ret = decoder->slots[operand->mem.base];
	return *slot_ret != REEL_ARCH_NO_SLOT;
}

/* An operand's value before the instruction, if it is a word. */
static struct reel_value value_of(const struct reel_x86_decoder *decoder, const cs_x86_op *operand)
{
	uint8_t slot = word_register(decoder, operand);

	if (slot != REEL_ARCH_NO_SLOT)
		return reel_value_of_register(slot, 0);
	if (operand->size == decoder->word && is_plain_memory(decoder, operand, &slot))
		return reel_value_of_memory(slot, operand->mem.disp, 0);
	return (struct reel_value){ 0 };
}

/* The operand becomes `value`. */
static void assign(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
		   const cs_x86_op *operand, struct reel_value value)
{
	uint8_t slot;

	if (operand->type == X86_OP_REG)
		add_set(to, decoder->slots[operand->reg],
			operand->size == decoder->word ? value : (struct reel_value){ 0 });
	else if (is_plain_memory(decoder, operand, &slot))
		add_store(to, slot, operand->mem.disp, operand->size, value);
}

static void move_sp(const struct reel_x86_decoder *decoder, struct reel_instruction *to, int64_t by)
{
	add_set(to, decoder->sp, reel_value_of_register(decoder->sp, by));
}

/* ---- instructions ----------------------------------------------------------------------- */

/* Marks all registers that capstone reports as written as unknown. */
static void clobber_all(const struct reel_x86_decoder *decoder, struct reel_instruction *to)
{
	cs_regs ignored, written;
	uint8_t n_ignored, n_written = 0;

	if (cs_regs_access(decoder->handle, decoder->instruction, ignored, &n_ignored, written,
			   &n_written) != CS_ERR_OK)
		n_written = 0;
	for (uint8_t i = 0; i < n_written; i++)
		add_clobber(to, decoder->slots[written[i]]);
}

static void push(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
		 const cs_x86_op *operand)
{
	unsigned size = operand && operand->size == 2 ? 2 : decoder->word;

	/* Capstone reports the immediate's own size, but a word is pushed. */
	move_sp(decoder, to, -(int)size);
	add_store(to, decoder->sp, -(int)size, size,
		  operand ? value_of(decoder, operand) : (struct reel_value){ 0 });
}

static void pop(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
		const cs_x86_op *operand)
{
	unsigned size = operand && operand->size == 2 ? 2 : decoder->word;
	cs_x86_op place;

	move_sp(decoder, to, size);
	if (!operand)
		return;
	place = *operand;
	/* Its address is computed after sp was moved (SDM, POP). */
	if (place.type == X86_OP_MEM && decoder->slots[place.mem.base] == decoder->sp)
		place.mem.disp += size;
	assign(decoder, to, &place, reel_value_of_memory(decoder->sp, 0, 0));
}

static void add_constant(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
			 const cs_x86_op *operand, int64_t constant)
{
	uint8_t slot = word_register(decoder, operand);

	assign(decoder, to, operand,
	       slot == REEL_ARCH_NO_SLOT ? (struct reel_value){ 0 }
					 : reel_value_of_register(slot, constant));
}

/* add, sub. */
static void add_operand(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
			const cs_x86_op *operands, bool is_add)
{
	uint8_t slot = word_register(decoder, &operands[0]);
	struct reel_value added = value_of(decoder, &operands[1]), sum = { 0 };

	if (operands[1].type == X86_OP_IMM)
		sum = reel_value_of_register(slot, is_add ? operands[1].imm : -operands[1].imm);
	else if (is_add)
		sum = reel_value_of_sum(slot, added, 0, 0);
	assign(decoder, to, &operands[0], sum);
}

static void load_address(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
			 const cs_x86_op *operands)
{
	struct reel_value value = { 0 };
	uint8_t slot;

	if (is_plain_memory(decoder, &operands[1], &slot))
		value = reel_value_of_register(slot, operands[1].mem.disp);
	assign(decoder, to, &operands[0], value);
}

static void exchange(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
		     const cs_x86_op *operands)
{
	struct reel_value first = value_of(decoder, &operands[0]);

	assign(decoder, to, &operands[0], value_of(decoder, &operands[1]));
	assign(decoder, to, &operands[1], first);
}

/* `leave`: mov fp,sp; pop fp. */
static void leave(const struct reel_x86_decoder *decoder, struct reel_instruction *to)
{
	add_set(to, decoder->sp, reel_value_of_register(decoder->fp, decoder->word));
	add_set(to, decoder->fp, reel_value_of_memory(decoder->fp, 0, 0));
}

static void go(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
	       enum reel_flow flow, const cs_x86_op *operand)
{
	to->flow = (uint8_t)flow;
	if (operand->type == X86_OP_IMM) {
		to->has_target = true;
		to->target = (uint64_t)operand->imm;
		if (decoder->word == 4)
			to->target &= UINT32_MAX;
	} else if (operand->type == X86_OP_REG) {
		to->through = decoder->slots[operand->reg];
	}
}

/* The first operand is written.  Capstone's reports of writes are right; those that it misses do no
 * harm here. */
static void write_operands(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
			   const cs_x86 *x86)
{
	for (uint8_t i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].access & CS_AC_WRITE)
			assign(decoder, to, &x86->operands[i], (struct reel_value){ 0 });
	}
}

static bool is_group(const cs_insn *instruction, uint8_t group)
{
	for (uint8_t i = 0; i < instruction->detail->groups_count; i++) {
		if (instruction->detail->groups[i] == group)
			return true;
	}
	return false;
}

static bool is_by_fp(const struct reel_x86_decoder *decoder, const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	uint8_t slot;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		if (instruction->id != X86_INS_LEA &&
		    is_plain_memory(decoder, &x86->operands[i], &slot) && slot == decoder->fp)
			return true;
	}
	return false;
}

static void describe(const struct reel_x86_decoder *decoder, struct reel_instruction *to)
{
	const cs_insn *instruction = decoder->instruction;
	const cs_x86 *x86 = &instruction->detail->x86;
	const cs_x86_op *operands = x86->operands;

	to->by_fp = is_by_fp(decoder, instruction);
	clobber_all(decoder, to);
	switch (instruction->id) {
	case X86_INS_PUSH:
		push(decoder, to, &operands[0]);
		break;
	case X86_INS_PUSHFQ:
	case X86_INS_PUSHFD:
		push(decoder, to, NULL);
		break;
	case X86_INS_POP:
		pop(decoder, to, &operands[0]);
		break;
	case X86_INS_POPFQ:
	case X86_INS_POPFD:
		pop(decoder, to, NULL);
		break;
	case X86_INS_LEAVE:
		leave(decoder, to);
		break;
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		assign(decoder, to, &operands[0], value_of(decoder, &operands[1]));
		break;
	case X86_INS_LEA:
		load_address(decoder, to, operands);
		break;
	case X86_INS_XCHG:
		exchange(decoder, to, operands);
		break;
	case X86_INS_ADD:
	case X86_INS_SUB:
		add_operand(decoder, to, operands, instruction->id == X86_INS_ADD);
		break;
	case X86_INS_SHR:
		assign(decoder, to, &operands[0],
		       operands[1].type == X86_OP_IMM
			       ? reel_value_shifted(word_register(decoder, &operands[0]),
						    operands[1].imm)
			       : (struct reel_value){ 0 });
		break;
	case X86_INS_INC:
	case X86_INS_DEC:
		add_constant(decoder, to, &operands[0], instruction->id == X86_INS_INC ? 1 : -1);
		break;
	case X86_INS_RET:
		to->flow = REEL_FLOW_RETURN;
		break;
	case X86_INS_CALL:
		to->n_effects = 0;
		go(decoder, to, REEL_FLOW_CALL, &operands[0]);
		break;
	case X86_INS_JMP:
		go(decoder, to, REEL_FLOW_JUMP, &operands[0]);
		break;
	case X86_INS_XBEGIN:
		go(decoder, to, REEL_FLOW_BRANCH, &operands[0]);
		break;
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
	case X86_INS_LJMP:
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
		to->flow = REEL_FLOW_END;
		break;
	/* The kernel's result and, on 64 bits, the registers that the instruction itself uses. */
	case X86_INS_SYSCALL:
		add_clobber(to, decoder->cx);
		add_clobber(to, decoder->r11);
		add_clobber(to, decoder->ax);
		break;
	case X86_INS_INT:
	case X86_INS_SYSENTER:
		add_clobber(to, decoder->ax);
		break;
	default:
		write_operands(decoder, to, x86);
		if (is_group(instruction, X86_GRP_JUMP) || instruction->id == X86_INS_LOOP ||
		    instruction->id == X86_INS_LOOPE || instruction->id == X86_INS_LOOPNE)
			go(decoder, to, REEL_FLOW_BRANCH, &operands[0]);
		break;
	}
}

/* The displacement is the last operand, and counts from the next instruction (SDM volume 2, CALL,
 * JMP and Jcc). */
bool reel_x86_decode_branch(const struct reel_arch *arch, const uint8_t *bytes, size_t size,
			    uint64_t address, struct reel_instruction *ret)
{
	unsigned opcode = size < 6 ? 0 : bytes[0] == 0x0f ? 0x0f00u | bytes[1] : bytes[0];
	int64_t displacement;
	bool is_near = true;

	if (opcode == 0xe8) {
		ret->flow = REEL_FLOW_CALL;
	} else if (opcode == 0xe9 || opcode == 0xeb) {
		ret->flow = REEL_FLOW_JUMP;
		is_near = opcode == 0xe9;
	} else if (opcode >> 4 == 0x7 || opcode >> 4 == 0xf8) {
		ret->flow = REEL_FLOW_BRANCH;
		is_near = opcode >> 4 == 0xf8;
	} else {
		return false;
	}
	bytes += opcode > 0xff ? 2 : 1;
	displacement = is_near ? (int32_t)reel_load_target(bytes, 4, false) : (int8_t)bytes[0];
	ret->size = (uint8_t)((opcode > 0xff ? 2 : 1) + (is_near ? 4 : 1));
	ret->target = address + ret->size + (uint64_t)displacement;
	ret->target &= arch->word_size == 4 ? UINT32_MAX : UINT64_MAX;
	ret->has_target = true;
	return true;
}

/* ---- instructions unknown to capstone 4 --------------------------------------------------- */

struct bytes {
	const uint8_t *at;
	size_t n, size;
};

static uint8_t take(struct bytes *bytes)
{
	return bytes->n < bytes->size ? bytes->at[bytes->n++] : (bytes->n = SIZE_MAX / 2, 0);
}

/* ModRM with its SIB byte and displacement (SDM volume 2, 2.1.3, the same for VEX and EVEX). */
static uint8_t take_operand(struct bytes *bytes)
{
	uint8_t modrm = take(bytes), mode = modrm >> 6, rm = modrm & 7;
	size_t displacement = mode == 1 ? 1 : mode == 2 || (!mode && rm == 5) ? 4 : 0;

	if (mode != 3 && rm == 4 && (take(bytes) & 7) == 5 && !mode)
		displacement = 4;
	bytes->n += displacement;
	return modrm;
}

/* Marks the registers of an operand's ModRM as unknown, whatever the instruction does. */
static void clobber_operand(const struct reel_x86_decoder *decoder, struct reel_instruction *to,
			    uint8_t modrm, unsigned reg_high, unsigned rm_high)
{
	static const x86_reg by_number[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
		X86_REG_RSI, X86_REG_RDI, X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
		X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15,
	};

	add_clobber(to, decoder->slots[by_number[(modrm >> 3 & 7) | reg_high]]);
	if (modrm >> 6 == 3)
		add_clobber(to, decoder->slots[by_number[(modrm & 7) | rm_high]]);
}

/* Does the VEX or EVEX instruction with this opcode in map `map` write a general register?  Moves
 * and conversions from vectors and masks, and bit manipulation. */
static bool writes_general(unsigned map, uint8_t opcode)
{
	switch (map) {
	case 1:
		return opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0x78 ||
		       opcode == 0x79 || opcode == 0x7e || opcode == 0x93 || opcode == 0xc5 ||
		       opcode == 0xd7;
	case 2:
		return opcode >= 0xf0;
	case 3:
		return (opcode >= 0x14 && opcode <= 0x17) || opcode == 0xf0;
	case 5: /* AVX512-FP16 */
		return opcode == 0x2c || opcode == 0x2d || opcode == 0x78 || opcode == 0x79 ||
		       opcode == 0x7e;
	default:
		return true;
	}
}

/* SDM volume 2, 2.3 (VEX) and 2.7 (EVEX): the length, and whether general registers are written. */
static bool skip_vector(const struct reel_x86_decoder *decoder, struct bytes *bytes,
			struct reel_instruction *to)
{
	uint8_t first = take(bytes), p = take(bytes), opcode, modrm;
	unsigned map = 1, reg_high = p & 0x80 ? 0 : 8, rm_high = 0;
	bool immediate;

	if (first != 0xc5) {
		map = first == 0xc4 ? p & 0x1f : p & 7;
		rm_high = p & 0x20 ? 0 : 8;
		bytes->n += first == 0xc4 ? 1 : 2;
	}
	opcode = take(bytes);
	if (map == 1 && opcode == 0x77)
		return true;
	immediate =
		map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
					  opcode == 0xc4 || opcode == 0xc5 || opcode == 0xc6));
	modrm = take_operand(bytes);
	bytes->n += immediate;
	if (writes_general(map, opcode))
		clobber_operand(decoder, to, modrm, reg_high, rm_high);
	return true;
}

/* Opcodes after 0f: maps 38 and 3a, and 1e, which has hints and CET instructions (rdssp). */
static bool skip_legacy(const struct reel_x86_decoder *decoder, struct bytes *bytes,
			struct reel_instruction *to, unsigned rex)
{
	uint8_t opcode = take(bytes), second;

	if (opcode != 0x0f)
		return false;
	second = take(bytes);
	if (second == 0x38 || second == 0x3a)
		take(bytes);
	else if (second != 0x1e)
		return false;
	clobber_operand(decoder, to, take_operand(bytes), rex & 4 ? 8 : 0, rex & 1 ? 8 : 0);
	bytes->n += second == 0x3a;
	return true;
}

/*
 * Capstone 4 knows few AVX-512 and later instructions, which hand-written code often uses.  Their
 * encoding gives the length.  Almost none write a general register or relevant words of the stack;
 * those that may are assumed to.
 */
static bool skip(const struct reel_x86_decoder *decoder, const uint8_t *code, size_t size,
		 struct reel_instruction *to)
{
	struct bytes bytes = { code, 0, size };
	unsigned rex = 0;
	bool known;

	while (bytes.n < size &&
	       (code[bytes.n] == 0x66 || code[bytes.n] == 0xf2 || code[bytes.n] == 0xf3 ||
		code[bytes.n] == 0x67 || code[bytes.n] == 0x2e || code[bytes.n] == 0x3e))
		bytes.n++;
	if (decoder->word == 8 && bytes.n < size && code[bytes.n] >> 4 == 4)
		rex = code[bytes.n++];
	if (bytes.n >= size)
		return false;
	/* In 32-bit code these are LDS, LES and BOUND unless a register operand follows. */
	if ((code[bytes.n] == 0xc4 || code[bytes.n] == 0xc5 || code[bytes.n] == 0x62) &&
	    (decoder->word == 8 || (bytes.n + 1 < size && code[bytes.n + 1] >= 0xc0)))
		known = skip_vector(decoder, &bytes, to);
	else
		known = skip_legacy(decoder, &bytes, to, rex);
	if (!known || bytes.n > size)
		return false;
	to->size = (uint8_t)bytes.n;
	return true;
}

bool reel_x86_decode(struct reel_x86_decoder *decoder, const uint8_t *bytes, size_t size,
		     uint64_t address, struct reel_instruction *ret)
{
	const uint8_t *at = bytes;
	size_t left = size;
	uint64_t next = address;

	if (size > REEL_INSTRUCTION_SIZE_MAX)
		left = size = REEL_INSTRUCTION_SIZE_MAX;
	if (!cs_disasm_iter(decoder->handle, &at, &left, &next, decoder->instruction))
		return skip(decoder, bytes, size, ret);
	ret->size = (uint8_t)decoder->instruction->size;
	describe(decoder, ret);
	return true;
}
