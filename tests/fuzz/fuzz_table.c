/* SPDX-License-Identifier: Apache-2.0 */
/* `stackreel table`: the unwind table of a whole ELF file, with its symbols. */
#include "include/commands.h"
#include "tests/fuzz/fuzz.h"

#define ROWS 500

static void read_row(struct reel_table *table, const struct reel_table_row *row)
{
	must_be(row->begin < row->end && row->function_begin <= row->begin &&
			row->end <= row->function_end,
		"a row of its function");
	must_be(row->function && strlen(row->function) < (size_t)1 << 20, "a name");
	must_be(reel_table_register_name(table, row->cfa.reg)[0], "a register's name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file named;
	const struct reel_table_row *row;
	struct reel_table *table;

	fuzz_file_fill(&named, data, size);
	if (!fuzz_fine(reel_table_open(named.path, &table)))
		return 0;
	for (size_t i = 0; i < ROWS; i++) {
		if (!fuzz_fine(reel_table_next(table, &row)))
			continue;
		if (!row)
			break;
		read_row(table, row);
	}
	reel_table_close(table);
	return 0;
}
