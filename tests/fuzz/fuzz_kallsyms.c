/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/kallsyms, read once and again after changes. */
#include "format/perf/kallsyms.h"
#include "tests/fuzz/fuzz.h"

static struct reel_error *visit(void *context, const struct reel_kallsym *symbol)
{
	struct reel_kallsyms *symbols = *(struct reel_kallsyms **)context;

	must_be(symbol->name && symbol->module, "names");
	must_be(symbol->module_index < reel_kallsyms_module_count(symbols), "a module of the list");
	must_be(!strcmp(reel_kallsyms_module_name(symbols, symbol->module_index), symbol->module),
		"the module's name");
	return NULL;
}

static struct reel_error *gone(void *context, const struct reel_kallsym *symbol)
{
	(void)context, (void)symbol;
	return NULL;
}

static bool is_same(void *context, uint32_t old_module, uint32_t module)
{
	return (old_module ^ module) % 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct reel_kallsyms_heir heir = { .is_same = is_same, .gone = gone };
	static struct fuzz_file named;
	struct reel_cursor input = reel_cursor(data, size);
	uint64_t chain[8];
	struct reel_kallsyms *symbols, *again;
	struct reel_kallsym come = { .name = "bpf_prog", .module = "[bpf]", .since = 5 }, went;
	struct reel_bytes part;

	for (size_t i = 0; i < 8; i++)
		chain[i] = UINT64_C(0xffffffff80000000) + reel_cursor_u32(&input) % 0x10000;
	part = fuzz_part(&input);
	fuzz_file_fill(&named, part.data, part.size);
	if (!fuzz_fine(reel_kallsyms_load(named.path, &symbols)))
		return 0;
	for (size_t i = 0; i < 8; i++) {
		reel_kallsyms_knows(symbols, chain[i]);
		reel_kallsyms_room(symbols, chain[i], 4096);
	}
	reel_kallsyms_address(symbols, "schedule");
	reel_kallsyms_limit(symbols, "[nf_tables]", chain[7]);
	must(reel_kallsyms_visit_new(symbols, chain, 4, visit, &symbols));
	come.address = chain[4];
	come.size = chain[5] & 0xfff;
	must(reel_kallsyms_insert(symbols, &come));
	must(reel_kallsyms_visit_address(symbols, chain[4], visit, &symbols));
	reel_kallsyms_remove(symbols, chain[4], "bpf_prog", &went);
	part = fuzz_part(&input);
	fuzz_file_fill(&named, part.data, part.size);
	if (fuzz_fine(reel_kallsyms_load(named.path, &again))) {
		must(reel_kallsyms_inherit(again, symbols, 10, 11, &heir));
		must(reel_kallsyms_visit_all(again, visit, &again));
		reel_kallsyms_destroy(again);
	}
	reel_kallsyms_destroy(symbols);
	return 0;
}
