/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects of instructions, for bytes that binutils' assemblers made from the text beside them.
 *
 * Notation: where control goes (nothing: to the next instruction), then the writes: to a register,
 * or of that many bytes at a register plus a constant; ? is an unknown value.
 */
#include "base/error.h"
#include "replay/synthesis/decoder_internal.h"
#include "tests/support/test.h"

#define ADDRESS 0x10000

struct instruction_case {
	const char *text;
	const uint8_t *bytes;
	size_t size;
	const char *does;
};

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

struct text {
	char bytes[2048];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void print(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->n += (size_t)vsnprintf(text->bytes + text->n, sizeof(text->bytes) - text->n, format,
				     arguments);
	va_end(arguments);
	assert_true(text->n < sizeof(text->bytes));
}

static void print_value(const struct reel_arch *arch, struct reel_value value, struct text *text)
{
	const char *name = arch->registers[value.slot].name;

	if (value.kind == REEL_VALUE_UNKNOWN)
		print(text, "?");
	else if (value.kind == REEL_VALUE_REGISTER && !value.plus)
		print(text, "%s", name);
	else if (value.kind == REEL_VALUE_REGISTER)
		print(text, "%s%+d", name, value.plus);
	else if (value.kind == REEL_VALUE_SHIFTED)
		print(text, "%s >> %d", name, value.at);
	else if (value.kind == REEL_VALUE_SUM)
		print(text, "%s + (%s >> %u)%+d", name,
		      arch->registers[reel_value_place(value)].name, reel_value_shift(value),
		      value.plus);
	else
		print(text, "[%s%+d]", name, value.at);
}

static const char *const flows[] = {
	[REEL_FLOW_BRANCH] = "branch", [REEL_FLOW_JUMP] = "jump",
	[REEL_FLOW_CALL] = "call",     [REEL_FLOW_RETURN] = "return",
	[REEL_FLOW_END] = "end",       [REEL_FLOW_RETURN_OR_NEXT] = "return or next",
};

static void print_instruction(const struct reel_arch *arch,
			      const struct reel_instruction *instruction, struct text *text)
{
	if (instruction->flow != REEL_FLOW_NEXT)
		print(text, "%s", flows[instruction->flow]);
	if (instruction->has_target)
		print(text, " %+lld", (long long)(instruction->target - ADDRESS));
	if (instruction->through != REEL_ARCH_NO_SLOT)
		print(text, " *%s", arch->registers[instruction->through].name);
	for (unsigned i = 0; i < instruction->n_effects; i++) {
		const struct reel_effect *effect = &instruction->effects[i];
		const char *name = arch->registers[effect->slot].name;

		print(text, text->n ? ", " : "");
		if (effect->size)
			print(text, "%u at [%s%+d] = ", effect->size, name, effect->at);
		else
			print(text, "%s = ", name);
		print_value(arch, effect->value, text);
	}
}

/* Registers set at once, to values of the same kind, are in an order that depends on capstone's version. */
static bool is_after(const struct reel_effect *a, const struct reel_effect *b)
{
	return !a->size && !b->size && !a->value.kind == !b->value.kind && a->slot > b->slot;
}

static void sort_registers(struct reel_instruction *instruction)
{
	struct reel_effect *effects = instruction->effects;

	for (unsigned i = 1; i < instruction->n_effects; i++) {
		for (unsigned j = i; j && is_after(&effects[j - 1], &effects[j]); j--) {
			struct reel_effect effect = effects[j];

			effects[j] = effects[j - 1];
			effects[j - 1] = effect;
		}
	}
}

static void check(const char *name, const struct instruction_case *cases, size_t n)
{
	const struct reel_arch *arch = reel_arch_by_name(name);
	struct reel_instruction instruction;
	struct reel_decoder *decoder;
	bool equal = true;

	assert_null(reel_decoder_create(arch, &decoder));
	assert_non_null(decoder);
	for (size_t i = 0; i < n; i++) {
		uint8_t bytes[REEL_INSTRUCTION_SIZE_MAX + 1] = { 0 };
		struct text text = { .n = 0 };

		/* Following bytes are not part of it, and a truncated instruction is invalid. */
		memcpy(bytes, cases[i].bytes, cases[i].size);
		/* The second time, it may be kept from the first. */
		assert_true(reel_decode(decoder, bytes, REEL_INSTRUCTION_SIZE_MAX, ADDRESS / 2,
					&instruction));
		assert_true(reel_decode(decoder, bytes, REEL_INSTRUCTION_SIZE_MAX, ADDRESS,
					&instruction));
		assert_int_equal(instruction.size, cases[i].size);
		sort_registers(&instruction);
		print_instruction(arch, &instruction, &text);
		if (strcmp(text.bytes, cases[i].does)) {
			print_error("%s: \"%s\", not \"%s\"\n", cases[i].text, text.bytes,
				    cases[i].does);
			equal = false;
		}
		for (size_t size = 0; size < cases[i].size; size++) {
			if (reel_decode(decoder, bytes, size, ADDRESS, &instruction))
				assert_true(instruction.size <= size);
		}
	}
	reel_decoder_destroy(decoder);
	assert_true(equal);
}

TEST(test_x86_64)
{
	const struct instruction_case cases[] = {
		{ "push %rbx", BYTES(0x53), "rsp = rsp-8, 8 at [rsp-8] = rbx" },
		{ "pop %r12", BYTES(0x41, 0x5c), "rsp = rsp+8, r12 = [rsp+0]" },
		{ "leave", BYTES(0xc9), "rbp = [rbp+0], rsp = rbp+8" },
		{ "ret", BYTES(0xc3), "return, rsp = ?" },
		{ "ret $16", BYTES(0xc2, 0x10, 0x00), "return, rsp = ?" },
		{ "sub $0x88,%rsp", BYTES(0x48, 0x81, 0xec, 0x88, 0x00, 0x00, 0x00),
		  "rsp = rsp-136" },
		{ "pop (%rsp)", BYTES(0x8f, 0x04, 0x24), "rsp = rsp+8, 8 at [rsp+8] = [rsp+0]" },
		{ "add $8,%rsp", BYTES(0x48, 0x83, 0xc4, 0x08), "rsp = rsp+8" },
		{ "add %r14,%rsp", BYTES(0x4c, 0x01, 0xf4), "rsp = rsp + (r14 >> 0)+0" },
		{ "add %r14d,%esp", BYTES(0x44, 0x01, 0xf4), "rsp = ?" },
		{ "shr $8,%r14", BYTES(0x49, 0xc1, 0xee, 0x08), "r14 = r14 >> 8" },
		{ "shr %cl,%r14", BYTES(0x49, 0xd3, 0xee), "r14 = ?" },
		{ "lea -0x28(%rbp),%rsp", BYTES(0x48, 0x8d, 0x65, 0xd8), "rsp = rbp-40" },
		{ "mov %rsp,%rbp", BYTES(0x48, 0x89, 0xe5), "rbp = rsp" },
		{ "mov %rbx,0x10(%rsp)", BYTES(0x48, 0x89, 0x5c, 0x24, 0x10),
		  "8 at [rsp+16] = rbx" },
		{ "mov 0x10(%rsp),%rbx", BYTES(0x48, 0x8b, 0x5c, 0x24, 0x10), "rbx = [rsp+16]" },
		{ "movb $1,4(%rsp)", BYTES(0xc6, 0x44, 0x24, 0x04, 0x01), "1 at [rsp+4] = ?" },
		{ "mov %eax,%ebx", BYTES(0x89, 0xc3), "rbx = ?" },
		{ "and $-16,%rsp", BYTES(0x48, 0x83, 0xe4, 0xf0), "rsp = ?" },
		{ "xchg %rax,%rsp", BYTES(0x48, 0x94), "rax = rsp, rsp = rax" },
		{ "inc %rbx", BYTES(0x48, 0xff, 0xc3), "rbx = rbx+1" },
		{ "pushf", BYTES(0x9c), "rsp = rsp-8, 8 at [rsp-8] = ?" },
		{ "call .+0x105", BYTES(0xe8, 0x00, 0x01, 0x00, 0x00), "call +261" },
		{ "call *%rax", BYTES(0xff, 0xd0), "call *rax" },
		{ "jmp .+0x20", BYTES(0xeb, 0x1e), "jump +32" },
		{ "jmp *%rax", BYTES(0xff, 0xe0), "jump *rax" },
		{ "jmp *8(%rax)", BYTES(0xff, 0x60, 0x08), "jump" },
		{ "je .+0x10", BYTES(0x74, 0x0e), "branch +16" },
		{ "loop .-0x10", BYTES(0xe2, 0xee), "branch -16, rcx = ?" },
		{ "syscall", BYTES(0x0f, 0x05), "rax = ?, rcx = ?, r11 = ?" },
		{ "ud2", BYTES(0x0f, 0x0b), "end" },
		{ "hlt", BYTES(0xf4), "end" },
		{ "vmovq %xmm0,%rbx", BYTES(0xc4, 0xe1, 0xf9, 0x7e, 0xc3), "rbx = ?" },
		{ "vpaddd %zmm1,%zmm2,%zmm3", BYTES(0x62, 0xf1, 0x6d, 0x48, 0xfe, 0xd9), "" },
		{ "vmovdqu8 %zmm1,(%rax)", BYTES(0x62, 0xf1, 0x7f, 0x48, 0x7f, 0x08), "" },
		{ "nop", BYTES(0x90), "" },
	};

	check("x86_64", cases, sizeof(cases) / sizeof(cases[0]));
}

TEST(test_i386)
{
	const struct instruction_case cases[] = {
		{ "push %ebx", BYTES(0x53), "esp = esp-4, 4 at [esp-4] = ebx" },
		{ "pop %ebp", BYTES(0x5d), "esp = esp+4, ebp = [esp+0]" },
		{ "leave", BYTES(0xc9), "esp = ebp+4, ebp = [ebp+0]" },
		{ "ret", BYTES(0xc3), "return, esp = ?" },
		{ "sub $0x1c,%esp", BYTES(0x83, 0xec, 0x1c), "esp = esp-28" },
		{ "mov 4(%esp),%eax", BYTES(0x8b, 0x44, 0x24, 0x04), "eax = [esp+4]" },
		{ "call .+0x105", BYTES(0xe8, 0x00, 0x01, 0x00, 0x00), "call +261" },
		{ "int $0x80", BYTES(0xcd, 0x80), "eax = ?" },
		{ "jmp *%ecx", BYTES(0xff, 0xe1), "jump *ecx" },
	};

	check("i386", cases, sizeof(cases) / sizeof(cases[0]));
}

TEST(test_aarch64)
{
	const struct instruction_case cases[] = {
		{ "stp x29, x30, [sp, #-32]!", BYTES(0xfd, 0x7b, 0xbe, 0xa9),
		  "8 at [sp-32] = x29, 8 at [sp-24] = x30, sp = sp-32" },
		{ "stp x19, x20, [sp, #16]", BYTES(0xf3, 0x53, 0x01, 0xa9),
		  "8 at [sp+16] = x19, 8 at [sp+24] = x20" },
		{ "ldp x29, x30, [sp], #32", BYTES(0xfd, 0x7b, 0xc2, 0xa8),
		  "x29 = [sp+0], x30 = [sp+8], sp = sp+32" },
		{ "ldp x19, x20, [sp, #16]", BYTES(0xf3, 0x53, 0x41, 0xa9),
		  "x19 = [sp+16], x20 = [sp+24]" },
		{ "ldp x1, x2, [x3, #-16]!", BYTES(0x61, 0x08, 0xff, 0xa9),
		  "x1 = [x3-16], x2 = [x3-8], x3 = x3-16" },
		{ "stp d8, d9, [sp, #-64]!", BYTES(0xe8, 0x27, 0xbc, 0x6d),
		  "8 at [sp-64] = ?, 8 at [sp-56] = ?, sp = sp-64" },
		{ "stp w1, w2, [sp, #8]", BYTES(0xe1, 0x0b, 0x01, 0x29),
		  "4 at [sp+8] = ?, 4 at [sp+12] = ?" },
		{ "ldp d8, d9, [sp], #64", BYTES(0xe8, 0x27, 0xc4, 0x6c), "sp = sp+64" },
		{ "ldp w1, w2, [sp], #8", BYTES(0xe1, 0x0b, 0xc1, 0x28),
		  "x1 = ?, x2 = ?, sp = sp+8" },
		{ "str x30, [sp, #-16]!", BYTES(0xfe, 0x0f, 0x1f, 0xf8),
		  "8 at [sp-16] = x30, sp = sp-16" },
		{ "str q0, [sp, #32]", BYTES(0xe0, 0x0b, 0x80, 0x3d), "16 at [sp+32] = ?" },
		{ "str w0, [sp], #16", BYTES(0xe0, 0x07, 0x01, 0xb8),
		  "4 at [sp+0] = ?, sp = sp+16" },
		{ "ldr x30, [sp], #16", BYTES(0xfe, 0x07, 0x41, 0xf8), "x30 = [sp+0], sp = sp+16" },
		{ "ldr x21, [sp, #32]", BYTES(0xf5, 0x13, 0x40, 0xf9), "x21 = [sp+32]" },
		{ "ldur x21, [x29, #-8]", BYTES(0xb5, 0x83, 0x5f, 0xf8), "x21 = [x29-8]" },
		{ "ldrb w3, [x4], #1", BYTES(0x83, 0x14, 0x40, 0x38), "x3 = ?, x4 = x4+1" },
		{ "ldr d8, [sp], #16", BYTES(0xe8, 0x07, 0x41, 0xfc), "sp = sp+16" },
		{ "ldr x0, [x1, x2]", BYTES(0x20, 0x68, 0x62, 0xf8), "x0 = ?" },
		{ "mov x29, sp", BYTES(0xfd, 0x03, 0x00, 0x91), "x29 = sp" },
		{ "mov sp, x29", BYTES(0xbf, 0x03, 0x00, 0x91), "sp = x29" },
		{ "mov x19, x0", BYTES(0xf3, 0x03, 0x00, 0xaa), "x19 = x0" },
		{ "add sp, sp, #0x20", BYTES(0xff, 0x83, 0x00, 0x91), "sp = sp+32" },
		{ "sub sp, sp, #0x20, lsl #12", BYTES(0xff, 0x83, 0x40, 0xd1), "sp = sp-131072" },
		{ "add w0, w0, #1", BYTES(0x00, 0x04, 0x00, 0x11), "x0 = ?" },
		{ "adds x3, x4, #8", BYTES(0x83, 0x20, 0x00, 0xb1), "x3 = x4+8" },
		{ "and sp, x9, #0xfffffffffffffff0", BYTES(0x3f, 0xed, 0x7c, 0x92), "sp = ?" },
		{ "sub sp, sp, x12", BYTES(0xff, 0x63, 0x2c, 0xcb), "sp = ?" },
		{ "mov x12, #0x8010", BYTES(0x0c, 0x02, 0x90, 0xd2), "x12 = ?" },
		{ "bl .+0x100", BYTES(0x40, 0x00, 0x00, 0x94), "call +256" },
		{ "b .-0x100", BYTES(0xc0, 0xff, 0xff, 0x17), "jump -256" },
		{ "b.ne .+0x20", BYTES(0x01, 0x01, 0x00, 0x54), "branch +32" },
		{ "cbz x0, .+0x20", BYTES(0x00, 0x01, 0x00, 0xb4), "branch +32" },
		{ "tbnz w0, #3, .+0x40", BYTES(0x00, 0x02, 0x18, 0x37), "branch +64" },
		{ "br x16", BYTES(0x00, 0x02, 0x1f, 0xd6), "jump *x16" },
		{ "br x30", BYTES(0xc0, 0x03, 0x1f, 0xd6), "return *x30" },
		{ "blr x8", BYTES(0x00, 0x01, 0x3f, 0xd6), "call *x8" },
		{ "ret", BYTES(0xc0, 0x03, 0x5f, 0xd6), "return *x30" },
		{ "ret x15", BYTES(0xe0, 0x01, 0x5f, 0xd6), "return *x15" },
		{ "retaa", BYTES(0xff, 0x0b, 0x5f, 0xd6), "return *x30" },
		{ "braa x16, x17", BYTES(0x11, 0x0a, 0x1f, 0xd7), "jump *x16" },
		{ "paciasp", BYTES(0x3f, 0x23, 0x03, 0xd5), "" },
		{ "autiasp", BYTES(0xbf, 0x23, 0x03, 0xd5), "" },
		{ "pacia1716", BYTES(0x1f, 0x21, 0x03, 0xd5), "x17 = ?" },
		{ "svc #0", BYTES(0x01, 0x00, 0x00, 0xd4), "x0 = ?" },
		{ "brk #1", BYTES(0x20, 0x00, 0x20, 0xd4), "end" },
		{ "udf #0", BYTES(0x00, 0x00, 0x00, 0x00), "end" },
		{ "mrs x0, tpidr_el0", BYTES(0x40, 0xd0, 0x3b, 0xd5), "x0 = ?" },
		{ "msr tpidr_el0, x0", BYTES(0x40, 0xd0, 0x1b, 0xd5), "" },
		{ "casp x0, x1, x2, x3, [x4]", BYTES(0x82, 0x7c, 0x20, 0x48), "x0 = ?, x1 = ?" },
		{ "cas x5, x6, [x7]", BYTES(0xe6, 0x7c, 0xa5, 0xc8), "x5 = ?" },
		{ "ldxr x0, [x1]", BYTES(0x20, 0x7c, 0x5f, 0xc8), "x0 = ?" },
		{ "stxr w2, x0, [x1]", BYTES(0x20, 0x7c, 0x02, 0xc8), "x2 = ?, 16 at [x1+0] = ?" },
		{ "ldadd x1, x2, [x3]", BYTES(0x62, 0x00, 0x21, 0xf8), "x2 = ?" },
		{ "prfm pldl1keep, [x19]", BYTES(0x60, 0x02, 0x80, 0xf9), "" },
		{ "ld1 {v8.16b-v11.16b}, [sp], #64", BYTES(0xe8, 0x23, 0xdf, 0x4c), "sp = sp+64" },
		{ "st1 {v8.8b}, [sp], #8", BYTES(0xe8, 0x73, 0x9f, 0x0c),
		  "8 at [sp+0] = ?, sp = sp+8" },
		{ "ld1 {v0.s}[1], [x2], x3", BYTES(0x40, 0x90, 0xc3, 0x0d), "x2 = ?" },
		{ "stg sp, [sp, #-16]!", BYTES(0xff, 0xff, 0x3f, 0xd9), "sp = sp-16" },
		{ "fmov x0, d0", BYTES(0x00, 0x00, 0x66, 0x9e), "x0 = ?" },
		{ "fmov d0, x0", BYTES(0x00, 0x00, 0x67, 0x9e), "" },
		{ "umov w1, v2.s[1]", BYTES(0x41, 0x3c, 0x0c, 0x0e), "x1 = ?" },
		{ "fadd d0, d1, d2", BYTES(0x20, 0x28, 0x62, 0x1e), "" },
		{ "addvl sp, sp, #-2", BYTES(0xdf, 0x57, 0x3f, 0x04), "sp = ?" },
		{ "cntd x3", BYTES(0xe3, 0xe3, 0xe0, 0x04), "x3 = ?" },
		{ "fadd z0.d, z1.d, z2.d", BYTES(0x20, 0x00, 0xc2, 0x65), "" },
		{ "ccmp x20, #0, #4, ne", BYTES(0x84, 0x1a, 0x40, 0xfa), "" },
	};

	check("aarch64", cases, sizeof(cases) / sizeof(cases[0]));
}

TEST(test_riscv64)
{
	const struct instruction_case cases[] = {
		{ "addi sp,sp,-48", BYTES(0x79, 0x71), "sp = sp-48" },
		{ "c.addi16sp sp,-64", BYTES(0x39, 0x71), "sp = sp-64" },
		{ "c.addi4spn s0,sp,16", BYTES(0x00, 0x08), "s0 = sp+16" },
		{ "sd ra,40(sp)", BYTES(0x06, 0xf4), "8 at [sp+40] = ra" },
		{ "c.sdsp ra,40(sp)", BYTES(0x06, 0xf4), "8 at [sp+40] = ra" },
		{ "ld ra,40(sp)", BYTES(0xa2, 0x70), "ra = [sp+40]" },
		{ "c.ldsp ra,40(sp)", BYTES(0xa2, 0x70), "ra = [sp+40]" },
		{ "c.ldsp s0,32(sp)", BYTES(0x02, 0x74), "s0 = [sp+32]" },
		{ "c.sd a0,8(s0)", BYTES(0x08, 0xe4), "8 at [s0+8] = a0" },
		{ "c.ld a0,8(s0)", BYTES(0x08, 0x64), "a0 = [s0+8]" },
		{ "sd s1,-24(s0)", BYTES(0x23, 0x34, 0x94, 0xfe), "8 at [s0-24] = s1" },
		{ "sw a0,-20(s0)", BYTES(0x23, 0x26, 0xa4, 0xfe), "4 at [s0-20] = ?" },
		{ "fsd fs0,8(sp)", BYTES(0x22, 0xa4), "8 at [sp+8] = ?" },
		{ "c.fsdsp fs0,16(sp)", BYTES(0x22, 0xa8), "8 at [sp+16] = ?" },
		{ "lw a0,0(a1)", BYTES(0x88, 0x41), "a0 = ?" },
		{ "c.lwsp a0,4(sp)", BYTES(0x12, 0x45), "a0 = ?" },
		{ "addi s0,sp,48", BYTES(0x00, 0x18), "s0 = sp+48" },
		{ "c.mv s1,a0", BYTES(0xaa, 0x84), "s1 = a0" },
		{ "add s1,zero,a0", BYTES(0xaa, 0x84), "s1 = a0" },
		{ "add s1,a0,a1", BYTES(0xb3, 0x04, 0xb5, 0x00), "s1 = ?" },
		{ "c.add s1,a0", BYTES(0xaa, 0x94), "s1 = ?" },
		{ "c.li a7,1", BYTES(0x85, 0x48), "a7 = ?" },
		{ "lui t0,1", BYTES(0x85, 0x62), "t0 = ?" },
		{ "auipc t0,1", BYTES(0x97, 0x12, 0x00, 0x00), "t0 = ?" },
		{ "jal ra,.+0x100", BYTES(0xef, 0x00, 0x00, 0x10), "call +256" },
		{ "jal zero,.-0x100", BYTES(0x6f, 0xf0, 0x1f, 0xf0), "jump -256" },
		{ "c.j .+0x20", BYTES(0x05, 0xa0), "jump +32" },
		{ "jalr ra,0(t1)", BYTES(0xe7, 0x00, 0x03, 0x00), "call *t1" },
		{ "jalr zero,0(ra)", BYTES(0x67, 0x80, 0x00, 0x00), "return *ra" },
		{ "jalr zero,0(t1)", BYTES(0x67, 0x00, 0x03, 0x00), "jump *t1" },
		{ "jalr t1,0(t3)", BYTES(0x67, 0x03, 0x0e, 0x00), "jump *t3, t1 = ?" },
		{ "c.jr ra", BYTES(0x82, 0x80), "return *ra" },
		{ "c.jr a5", BYTES(0x82, 0x87), "jump *a5" },
		{ "c.jalr a5", BYTES(0x82, 0x97), "call *a5" },
		{ "beq a0,a1,.+0x20", BYTES(0x63, 0x00, 0xb5, 0x02), "branch +32" },
		{ "c.bnez a0,.-0x20", BYTES(0x65, 0xf1), "branch -32" },
		{ "ecall", BYTES(0x73, 0x00, 0x00, 0x00), "a0 = ?" },
		{ "ebreak", BYTES(0x02, 0x90), "end" },
		{ "c.ebreak", BYTES(0x02, 0x90), "end" },
		{ "fence", BYTES(0x0f, 0x00, 0xf0, 0x0f), "" },
		{ "csrr a0,fcsr", BYTES(0x73, 0x25, 0x30, 0x00), "a0 = ?" },
		{ "amoadd.w a0,a1,(a2)", BYTES(0x2f, 0x25, 0xb6, 0x00), "a0 = ?" },
		{ "fmv.x.d a0,fa0", BYTES(0x53, 0x05, 0x05, 0xe2), "a0 = ?" },
		{ "feq.d a0,fa0,fa1", BYTES(0x53, 0x25, 0xb5, 0xa2), "a0 = ?" },
		{ "fadd.d fa0,fa1,fa2", BYTES(0x53, 0xf5, 0xc5, 0x02), "" },
		{ "fmadd.d fa0,fa1,fa2,fa3", BYTES(0x43, 0xf5, 0xc5, 0x6a), "" },
		{ "c.srai s0,3", BYTES(0x0d, 0x84), "s0 = ?" },
		{ "c.nop", BYTES(0x01, 0x00), "" },
	};

	check("riscv64", cases, sizeof(cases) / sizeof(cases[0]));
}

TEST(test_s390x)
{
	const struct instruction_case cases[] = {
		{ "stmg %r14,%r15,112(%r15)", BYTES(0xeb, 0xef, 0xf0, 0x70, 0x00, 0x24),
		  "8 at [r15+112] = r14, 8 at [r15+120] = r15" },
		{ "stmg %r14,%r0,0(%r1)", BYTES(0xeb, 0xe0, 0x10, 0x00, 0x00, 0x24),
		  "8 at [r1+0] = r14, 8 at [r1+8] = r15, 8 at [r1+16] = r0" },
		{ "lmg %r11,%r15,280(%r15)", BYTES(0xeb, 0xbf, 0xf1, 0x18, 0x00, 0x04),
		  "r11 = [r15+280], r12 = [r15+288], r13 = [r15+296], r14 = [r15+304], r15 = "
		  "[r15+312]" },
		{ "aghi %r15,-168", BYTES(0xa7, 0xfb, 0xff, 0x58), "r15 = r15-168" },
		{ "lay %r15,-8192(%r15)", BYTES(0xe3, 0xf0, 0xf0, 0x00, 0xfe, 0x71),
		  "r15 = r15-8192" },
		{ "la %r15,160(%r15)", BYTES(0x41, 0xf0, 0xf0, 0xa0), "r15 = r15+160" },
		{ "la %r1,0(%r2,%r3)", BYTES(0x41, 0x12, 0x30, 0x00), "r1 = ?" },
		{ "agfi %r15,-65536", BYTES(0xc2, 0xf8, 0xff, 0xff, 0x00, 0x00),
		  "r15 = r15-65536" },
		{ "algfi %r15,160", BYTES(0xc2, 0xfa, 0x00, 0x00, 0x00, 0xa0), "r15 = r15+160" },
		{ "slgfi %r15,160", BYTES(0xc2, 0xf4, 0x00, 0x00, 0x00, 0xa0), "r15 = r15-160" },
		{ "aghik %r1,%r15,-8", BYTES(0xec, 0x1f, 0xff, 0xf8, 0x00, 0xd9), "r1 = r15-8" },
		{ "lgr %r11,%r15", BYTES(0xb9, 0x04, 0x00, 0xbf), "r11 = r15" },
		{ "lg %r14,112(%r15)", BYTES(0xe3, 0xe0, 0xf0, 0x70, 0x00, 0x04),
		  "r14 = [r15+112]" },
		{ "lg %r14,0(%r1,%r15)", BYTES(0xe3, 0xe1, 0xf0, 0x00, 0x00, 0x04), "r14 = ?" },
		{ "stg %r1,0(%r15)", BYTES(0xe3, 0x10, 0xf0, 0x00, 0x00, 0x24),
		  "8 at [r15+0] = r1" },
		{ "stg %r14,8(%r1,%r2)", BYTES(0xe3, 0xe1, 0x20, 0x08, 0x00, 0x24), "" },
		{ "st %r2,164(%r15)", BYTES(0x50, 0x20, 0xf0, 0xa4), "4 at [r15+164] = ?" },
		{ "ldgr %f0,%r15", BYTES(0xb3, 0xc1, 0x00, 0x0f), "f0 = r15" },
		{ "lgdr %r15,%f0", BYTES(0xb3, 0xcd, 0x00, 0xf0), "r15 = f0" },
		{ "std %f8,168(%r15)", BYTES(0x60, 0x80, 0xf0, 0xa8), "8 at [r15+168] = f8" },
		{ "ld %f8,168(%r15)", BYTES(0x68, 0x80, 0xf0, 0xa8), "f8 = [r15+168]" },
		{ "mvc 160(8,%r15),0(%r1)", BYTES(0xd2, 0x07, 0xf0, 0xa0, 0x10, 0x00),
		  "8 at [r15+160] = ?" },
		{ "xc 160(16,%r15),160(%r15)", BYTES(0xd7, 0x0f, 0xf0, 0xa0, 0xf0, 0xa0),
		  "16 at [r15+160] = ?" },
		{ "mvghi 160(%r15),0", BYTES(0xe5, 0x48, 0xf0, 0xa0, 0x00, 0x00),
		  "8 at [r15+160] = ?" },
		{ "stm %r6,%r7,96(%r15)", BYTES(0x90, 0x67, 0xf0, 0x60),
		  "4 at [r15+96] = ?, 4 at [r15+100] = ?" },
		{ "lm %r6,%r7,96(%r15)", BYTES(0x98, 0x67, 0xf0, 0x60), "r6 = ?, r7 = ?" },
		{ "brasl %r14,.+0x100", BYTES(0xc0, 0xe5, 0x00, 0x00, 0x00, 0x80), "call +256" },
		{ "basr %r14,%r1", BYTES(0x0d, 0xe1), "call *r1" },
		{ "basr %r13,%r0", BYTES(0x0d, 0xd0), "r13 = ?" },
		{ "bras %r13,.+0x10", BYTES(0xa7, 0xd5, 0x00, 0x08), "jump +16, r13 = ?" },
		{ "br %r14", BYTES(0x07, 0xfe), "return *r14" },
		{ "br %r1", BYTES(0x07, 0xf1), "jump *r1" },
		{ "ber %r14", BYTES(0x07, 0x8e), "return or next *r14" },
		{ "bcr 0,%r0", BYTES(0x07, 0x00), "" },
		{ "jne .+0x20", BYTES(0xa7, 0x74, 0x00, 0x10), "branch +32" },
		{ "j .+0x20", BYTES(0xa7, 0xf4, 0x00, 0x10), "jump +32" },
		{ "jgne .+0x200", BYTES(0xc0, 0x74, 0x00, 0x00, 0x01, 0x00), "branch +512" },
		{ "jg .-0x200", BYTES(0xc0, 0xf4, 0xff, 0xff, 0xff, 0x00), "jump -512" },
		{ "cgrje %r1,%r2,.+0x10", BYTES(0xec, 0x12, 0x00, 0x08, 0x80, 0x64), "branch +16" },
		{ "cgij %r1,0,8,.-0x10", BYTES(0xec, 0x18, 0xff, 0xf8, 0x00, 0x7c), "branch -16" },
		{ "brct %r1,.-0x10", BYTES(0xa7, 0x16, 0xff, 0xf8), "branch -16, r1 = ?" },
		{ "brctg %r2,.-0x20", BYTES(0xa7, 0x27, 0xff, 0xf0), "branch -32, r2 = ?" },
		{ "svc 1", BYTES(0x0a, 0x01), "r2 = ?" },
		{ "dlgr %r2,%r4", BYTES(0xb9, 0x87, 0x00, 0x24), "r2 = ?, r3 = ?" },
		{ "mlgr %r2,%r4", BYTES(0xb9, 0x86, 0x00, 0x24), "r2 = ?, r3 = ?" },
		{ "cgr %r1,%r2", BYTES(0xb9, 0x20, 0x00, 0x12), "" },
		{ "clc 0(8,%r1),0(%r2)", BYTES(0xd5, 0x07, 0x10, 0x00, 0x20, 0x00), "" },
		{ "exrl %r1,.+0x10", BYTES(0xc6, 0x10, 0x00, 0x00, 0x00, 0x08), "r1 = ?, r2 = ?" },
		{ "madbr %f6,%f10,%f1", BYTES(0xb3, 0x1e, 0x60, 0xa1), "f6 = ?" },
		{ "axbr %f0,%f4", BYTES(0xb3, 0x4a, 0x00, 0x04), "f0 = ?, f2 = ?" },
		{ "lzdr %f8", BYTES(0xb3, 0x75, 0x00, 0x80), "f8 = ?" },
		{ "cgdbr %r2,5,%f0", BYTES(0xb3, 0xa9, 0x50, 0x20), "r2 = ?" },
		{ "vlgvg %r2,%v0,0", BYTES(0xe7, 0x20, 0x00, 0x00, 0x30, 0x21), "r2 = ?" },
		{ "vst %v8,160(%r15)", BYTES(0xe7, 0x80, 0xf0, 0xa0, 0x00, 0x0e),
		  "16 at [r15+160] = ?" },
		{ "vl %v8,160(%r15)", BYTES(0xe7, 0x80, 0xf0, 0xa0, 0x00, 0x06), "f8 = ?" },
		{ "vl %v24,160(%r15)", BYTES(0xe7, 0x80, 0xf0, 0xa0, 0x08, 0x06), "" },
		{ "ipm %r2", BYTES(0xb2, 0x22, 0x00, 0x20), "r2 = ?" },
		{ "mvst %r2,%r3", BYTES(0xb2, 0x55, 0x00, 0x23), "r2 = ?, r3 = ?, r4 = ?" },
		{ "cs %r1,%r2,0(%r3)", BYTES(0xba, 0x12, 0x30, 0x00), "r1 = ?" },
		{ "trap2", BYTES(0x01, 0xff), "end" },
	};

	check("s390x", cases, sizeof(cases) / sizeof(cases[0]));
}

/* Calls and jumps that are decoded here, as capstone decodes them. */
static void check_branches(const char *name)
{
	static const uint8_t displacements[] = { 0, 1, 0x7f, 0x80, 0xff };
	const struct reel_arch *arch = reel_arch_by_name(name);
	struct reel_x86_decoder *capstone;
	unsigned found = 0;

	assert_null(reel_x86_decoder_create(arch, &capstone));
	for (unsigned i = 0; i < 2 * 256 * sizeof(displacements); i++) {
		uint8_t at = displacements[i / 512];
		uint8_t bytes[16] = { i & 256 ? 0x0f : (uint8_t)i,
				      i & 256 ? (uint8_t)i : at,
				      at,
				      0x12,
				      0x34,
				      at,
				      at };
		struct reel_instruction ours = { 0 }, its = { .through = REEL_ARCH_NO_SLOT };

		/* 0f is not an opcode. */
		if (i % 512 == 0x0f ||
		    !reel_x86_decode_branch(arch, bytes, sizeof(bytes), ADDRESS, &ours))
			continue;
		assert_true(reel_x86_decode(capstone, bytes, sizeof(bytes), ADDRESS, &its));
		assert_int_equal(ours.size, its.size);
		assert_int_equal(ours.flow, its.flow);
		assert_int_equal(ours.target, its.target);
		assert_true(its.has_target && !its.n_effects && !its.by_fp);
		assert_int_equal(its.through, REEL_ARCH_NO_SLOT);
		found++;
	}
	reel_x86_decoder_destroy(capstone);
	/* call, two kinds of jmp, and of each condition. */
	assert_int_equal(found, (1 + 2 + 2 * 16) * sizeof(displacements));
}

TEST(test_x86_branches)
{
	check_branches("x86_64");
	check_branches("i386");
}

/* Invalid bytes, and instructions with unknown effects. */
TEST(test_unknown)
{
	static const struct {
		const char *arch;
		uint8_t bytes[8];
	} unknown[] = {
		{ "x86_64", { 0x06 } },			   /* push %es, of 32 bits */
		{ "aarch64", { 0x20, 0xd0, 0x3f, 0xf8 } }, /* ld64b x0, [x1] */
		{ "aarch64", { 0x00, 0x00, 0x00, 0xc0 } }, /* SME */
		{ "riscv64", { 0xef, 0x02, 0x00, 0x10 } }, /* jal t0, .+0x100 */
		{ "riscv64", { 0x0b, 0x00, 0x00, 0x00 } }, /* custom-0 */
		{ "s390x", { 0x0d, 0x61 } },		   /* basr %r6, %r1 */
		{ "s390x", { 0xc0, 0x65, 0, 0, 0, 0 } },   /* brasl %r6, . */
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct reel_instruction instruction;
		struct reel_decoder *decoder;

		assert_null(reel_decoder_create(reel_arch_by_name(unknown[i].arch), &decoder));
		assert_false(reel_decode(decoder, unknown[i].bytes, 8, ADDRESS, &instruction));
		reel_decoder_destroy(decoder);
	}
}

/*
 * An entry hidden by an earlier one would have no effect, and neither would one that cannot match.
 */
TEST(test_tables)
{
	for (const struct reel_arch *const *arch = reel_arch_all; *arch; arch++) {
		const struct reel_arch_instructions *all = (*arch)->instructions;

		for (size_t i = 0; all && i < all->n; i++) {
			const struct reel_arch_instruction *entry = &all->table[i];

			assert_int_equal(entry->match & ~entry->mask, 0);
			assert_true(entry->size && entry->size <= 8);
			assert_int_equal(entry->size < 8 ? entry->mask >> 8 * entry->size : 0, 0);
			for (size_t j = 0; j < i; j++) {
				const struct reel_arch_instruction *before = &all->table[j];

				if (before->size == entry->size &&
				    (before->mask & entry->mask) == before->mask &&
				    (entry->match & before->mask) == before->match) {
					print_error("%s: entry %zu hides %zu: %#llx\n",
						    (*arch)->name, j, i,
						    (unsigned long long)entry->match);
					fail();
				}
			}
		}
	}
}

RUN_TESTS()
