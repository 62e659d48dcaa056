/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of any CPU: any bytes are decoded, followed, and turned into rows.  A decoder's answer stays
 * within its input, and equal questions get equal answers.
 */
#include "replay/synthesis/disassembler.h"
#include "replay/synthesis/entries.h"
#include "replay/synthesis/instruction.h"
#include "replay/synthesis/synthesis.h"
#include "tests/fuzz/fuzz.h"

#define BEGIN 0x10000
#define ASKED 4
/* Longer code only repeats the behaviour of shorter code, slowly. */
#define LONGEST 2048

static bool read_code(void *module, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_bytes *code = module;

	if (address < BEGIN || address - BEGIN > code->size ||
	    size > code->size - (address - BEGIN))
		return false;
	if (size)
		memcpy(bytes_ret, (const uint8_t *)code->data + (address - BEGIN), size);
	return true;
}

static void decode_all(const struct reel_arch *arch, struct reel_bytes code)
{
	struct reel_decoder *decoder;

	if (!fuzz_fine(reel_decoder_create(arch, &decoder)) || !decoder)
		return;
	for (size_t i = 0; i < code.size; i += arch->code_align) {
		struct reel_instruction instruction;

		if (!reel_decode(decoder, (const uint8_t *)code.data + i, code.size - i, BEGIN + i,
				 &instruction))
			continue;
		must_be(instruction.size && instruction.size <= code.size - i &&
				instruction.size <= REEL_INSTRUCTION_SIZE_MAX,
			"an instruction within the bytes");
		must_be(instruction.n_effects <= REEL_EFFECTS_MAX &&
				instruction.flow <= REEL_FLOW_END,
			"a possible instruction");
		for (unsigned j = 0; j < instruction.n_effects; j++)
			must_be(instruction.effects[j].slot < arch->n_registers &&
					instruction.effects[j].value.slot < arch->n_registers,
				"registers of the CPU");
	}
	reel_decoder_destroy(decoder);
}

static void disassemble_all(const struct reel_arch *arch, struct reel_bytes code)
{
	struct reel_disassembler *disassembler;
	struct reel_disassembled instruction;

	if (!fuzz_fine(reel_disassembler_create(arch, code.size % 2, &disassembler)))
		return;
	for (size_t i = 0; i < code.size; i += instruction.size) {
		reel_disassemble(disassembler, (const uint8_t *)code.data + i, code.size - i,
				 BEGIN + i, &instruction);
		must_be(instruction.size && instruction.size <= code.size - i,
			"text within the bytes");
		must_be(memchr(instruction.text, '\0', sizeof(instruction.text)) &&
				instruction.flow <= REEL_FLOW_END,
			"text of a possible instruction");
	}
	reel_disassembler_destroy(disassembler);
}

static void make_rows(const struct reel_arch *arch, struct reel_bytes *code, uint64_t address)
{
	const struct reel_synthesis_input input = { .arch = arch,
						    .read_code = read_code,
						    .module = code };
	const struct reel_row *begun[REEL_SYNTHESIZED_MAX], *begun_again[REEL_SYNTHESIZED_MAX];
	struct reel_synthesized_rows rows, again;
	unsigned n;
	struct reel_synthesis *synthesis;
	const struct reel_row *row;

	if (!fuzz_fine(reel_synthesis_create(&input, &synthesis)) || !synthesis)
		return;
	reel_synthesis_at(synthesis, address, &rows);
	must_be(rows.n <= REEL_SYNTHESIZED_MAX, "few rows");
	for (unsigned i = 0; i < rows.n; i++)
		must_be(reel_row_outcome(rows.rows[i].row) == REEL_ROW_STEP, "a row that steps");
	reel_synthesis_at(synthesis, address, &again);
	must_be(rows.n == again.n && rows.whole == again.whole && rows.untouched == again.untouched,
		"the same rows again");
	if (reel_synthesis_leads(synthesis, BEGIN, address, &row) == REEL_LEADS_THERE && row)
		must_be(reel_row_outcome(row) == REEL_ROW_STEP, "a row that steps");
	for (int by_record = 0; by_record < 2; by_record++) {
		n = reel_synthesis_beginnings(synthesis, address, by_record, begun);
		must_be(n <= REEL_SYNTHESIZED_MAX, "few beginnings");
		must_be(n == reel_synthesis_beginnings(synthesis, address, by_record,
						       begun_again) &&
				!memcmp(begun, begun_again, n * sizeof(begun[0])),
			"the same beginnings again");
	}
	row = reel_synthesis_leaving(synthesis, address);
	if (row)
		must_be(reel_row_outcome(row) == REEL_ROW_STEP, "a row that steps");
	reel_synthesis_only_ends(synthesis, address, address & 1);
	reel_synthesis_destroy(synthesis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	const struct reel_arch *arch;
	uint16_t asked[ASKED];
	struct reel_bytes code;
	size_t n = 0;

	while (reel_arch_all[n])
		n++;
	arch = reel_arch_all[reel_cursor_u8(&input) % n];
	for (unsigned i = 0; i < ASKED; i++)
		asked[i] = reel_cursor_u16(&input);
	code = fuzz_rest(&input);
	if (code.size > LONGEST)
		code.size = LONGEST;
	decode_all(arch, code);
	disassemble_all(arch, code);
	for (unsigned i = 0; i < ASKED; i++)
		make_rows(arch, &code, BEGIN + (code.size ? asked[i] % code.size : 0));
	return 0;
}
