/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's list of symbols, and its changes as modules are loaded and removed. */
#include "format/perf/kallsyms.h"
#include "replay/names/kernel_code.h"
#include "tests/support/test.h"

#define CORE                                                                                       \
	"ffffffff81000000 T _text\n"                                                               \
	"ffffffff81000000 T _stext\n"                                                              \
	"ffffffff81000100 t first\n"                                                               \
	"ffffffff81000180 d some_data\n"                                                           \
	"ffffffff81000200 W second\n"                                                              \
	"ffffffff81000300 T _etext\n"

static struct reel_kallsyms *load(const char *text)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	struct reel_kallsyms *symbols;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_null(reel_kallsyms_load(path, &symbols));
	unlink(path);
	return symbols;
}

/* The visited symbols: "name address+size since [module]; " each, numbers in hexadecimal. */
struct visits {
	char text[4096];
};

static struct reel_error *note(void *context, const struct reel_kallsym *symbol)
{
	struct visits *visits = context;
	size_t used = strlen(visits->text);

	snprintf(visits->text + used, sizeof(visits->text) - used, "%s %llx+%llx %llu %s; ",
		 *symbol->name ? symbol->name : "-", (unsigned long long)symbol->address,
		 (unsigned long long)symbol->size, (unsigned long long)symbol->since,
		 symbol->module);
	return NULL;
}

static void assert_visits(struct reel_kallsyms *symbols, uint64_t address, const char *expected)
{
	struct visits visits = { "" };

	assert_null(reel_kallsyms_visit_address(symbols, address, note, &visits));
	assert_string_equal(visits.text, expected);
}

#define KERNEL REEL_KALLSYMS_KERNEL

TEST(test_addresses)
{
	struct reel_kallsyms *symbols = load(CORE "ffffffffc0000000 t probe\t[nic]\n"
						  "ffffffffc0000000 t $x\t[nic]\n"
						  "ffffffffc0000040 t poll\t[nic]\n"
						  "ffffffffc0000048 t $d\t[nic]\n"
						  "ffffffffc000004c t .L12\t[nic]\n"
						  "ffffffffc0002000 t other\t[disk]\n");

	assert_visits(symbols, 0xffffffff80ffffff, "");
	/* Of aliases, the first one; each once. */
	assert_visits(symbols, 0xffffffff81000000, "_text ffffffff81000000+100 0 " KERNEL "; ");
	assert_visits(symbols, 0xffffffff810000ff, "");
	/* Data symbols do not end functions. */
	assert_visits(symbols, 0xffffffff81000190, "first ffffffff81000100+100 0 " KERNEL "; ");
	assert_visits(symbols, 0xffffffff810002ff, "second ffffffff81000200+100 0 " KERNEL "; ");
	/* After the kernel's text nothing has a name, up to the first module. */
	assert_visits(symbols, 0xffffffff81000300, "");
	assert_visits(symbols, 0xffffffffbfffffff, "");
	assert_false(reel_kallsyms_knows(symbols, 0xffffffffbfffffff));
	/* The last function of a module ends with the module's memory. */
	reel_kallsyms_limit(symbols, "[nic]", 0xffffffffc0001000);
	assert_visits(symbols, 0xffffffffc0001000, "");
	assert_visits(symbols, 0xffffffffc0000fff, "poll ffffffffc0000040+fc0 0 [nic]; ");
	/* The end of the last one is unknown. */
	assert_visits(symbols, UINT64_MAX, "other ffffffffc0002000+0 0 [disk]; ");
	reel_kallsyms_destroy(symbols);
}

TEST(test_all)
{
	struct reel_kallsyms *symbols = load(CORE);
	struct visits visits = { "" };

	assert_visits(symbols, 0xffffffff81000100, "first ffffffff81000100+100 0 " KERNEL "; ");
	assert_null(reel_kallsyms_visit_name(symbols, "_stext", note, &visits));
	assert_null(reel_kallsyms_visit_name(symbols, "nowhere", note, &visits));
	assert_string_equal(visits.text, "_stext ffffffff81000000+100 0 " KERNEL "; ");
	visits.text[0] = 0;
	assert_null(reel_kallsyms_visit_all(symbols, note, &visits));
	assert_string_equal(visits.text, "_text ffffffff81000000+100 0 " KERNEL
					 "; second ffffffff81000200+100 0 " KERNEL "; ");
	reel_kallsyms_restart(symbols);
	assert_visits(symbols, 0xffffffff81000100, "first ffffffff81000100+100 0 " KERNEL "; ");
	reel_kallsyms_destroy(symbols);
}

static void insert(struct reel_kallsyms *symbols, uint64_t address, uint64_t size, const char *name,
		   uint64_t since)
{
	const struct reel_kallsym symbol = {
		.address = address, .size = size, .since = since, .name = name, .module = "[bpf]"
	};

	assert_null(reel_kallsyms_insert(symbols, &symbol));
}

TEST(test_told)
{
	struct reel_kallsyms *symbols = load(CORE "ffffffffc0000000 t prog_old\t[bpf]\n"
						  "ffffffffc0000080 t prog_next\t[bpf]\n"
						  "ffffffffc0000100 t poll\t[nic]\n");
	struct reel_kallsym gone;

	/* It replaces symbols that begin in its range, and has its own size. */
	insert(symbols, 0xffffffffc0000040, 0x60, "prog", 7);
	assert_visits(symbols, 0xffffffffc0000000, "prog_old ffffffffc0000000+40 0 [bpf]; ");
	assert_visits(symbols, 0xffffffffc000009f, "prog ffffffffc0000040+60 7 [bpf]; ");
	assert_visits(symbols, 0xffffffffc00000a0, "");
	assert_visits(symbols, 0xffffffffc0000100, "poll ffffffffc0000100+0 0 [nic]; ");
	assert_false(reel_kallsyms_remove(symbols, 0xffffffffc0000040, "prog_next", &gone));
	assert_true(reel_kallsyms_remove(symbols, 0xffffffffc0000040, "prog", &gone));
	assert_int_equal(gone.size, 0x60);
	assert_string_equal(gone.module, "[bpf]");
	assert_false(reel_kallsyms_remove(symbols, 0xffffffffc0000040, "prog", &gone));
	/* Afterwards the list's symbols are back: the preceding function may be long. */
	assert_visits(symbols, 0xffffffffc0000040, "");
	/* A symbol that was never visited needs no removal. */
	insert(symbols, 0xffffffffd0000000, 0x10, "late", 9);
	assert_false(reel_kallsyms_remove(symbols, 0xffffffffd0000000, "late", &gone));
	assert_int_equal(reel_kallsyms_room(symbols, 0xffffffffc0000000, 0x1000), 0x100);
	assert_int_equal(reel_kallsyms_room(symbols, 0xffffffffc0000100, 0x1000), 0x1000);
	assert_true(reel_kallsyms_is_image("bpf_trampoline_6442561170"));
	assert_false(reel_kallsyms_is_image("bpf_prog_6deef7357e7b4530"));
	insert(symbols, UINT64_MAX - 15, 16, "last", 10);
	assert_visits(symbols, UINT64_MAX, "last fffffffffffffff0+10 10 [bpf]; ");
	reel_kallsyms_destroy(symbols);
}

/* Modules whose names begin with "[new" are not the old list's. */
struct modules {
	struct visits visits;
	const struct reel_kallsyms *symbols;
};

static bool is_same(void *context, uint32_t old_module, uint32_t module)
{
	struct modules *modules = context;

	return strncmp(reel_kallsyms_module_name(modules->symbols, module), "[new", 4) != 0;
}

static struct reel_error *note_gone(void *context, const struct reel_kallsym *symbol)
{
	return note(&((struct modules *)context)->visits, symbol);
}

static struct reel_kallsyms *inherit(const char *text, struct reel_kallsyms *old, uint64_t before,
				     uint64_t now, const char *gone)
{
	struct modules modules = { .symbols = load(text) };
	struct reel_kallsyms *symbols = (struct reel_kallsyms *)modules.symbols;
	const struct reel_kallsyms_heir heir = { is_same, note_gone, &modules };

	reel_kallsyms_limit(symbols, "[fresh]", 0xffffffffc0003000);
	assert_null(reel_kallsyms_inherit(symbols, old, before, now, &heir));
	assert_string_equal(modules.visits.text, gone);
	reel_kallsyms_destroy(old);
	return symbols;
}

TEST(test_changes)
{
	struct reel_kallsyms *symbols = load(CORE "ffffffffc0000000 t probe\t[nic]\n"
						  "ffffffffc0000040 t poll\t[nic]\n"
						  "ffffffffc0005000 t scan\t[disk]\n"
						  "ffffffffc0005040 t spin\t[disk]\n"
						  "ffffffffc0006000 t stay\t[other]\n");

	reel_kallsyms_limit(symbols, "[nic]", 0xffffffffc0001000);
	assert_visits(symbols, 0xffffffffc0000050, "poll ffffffffc0000040+fc0 0 [nic]; ");
	assert_visits(symbols, 0xffffffffc0005000, "scan ffffffffc0005000+40 0 [disk]; ");
	assert_visits(symbols, 0xffffffff81000100, "first ffffffff81000100+100 0 " KERNEL "; ");
	insert(symbols, 0xffffffffd0000000, 0x40, "prog", 50);

	/* [nic] is gone and so is [disk], whose place another module has taken. */
	symbols = inherit(CORE "ffffffffc0002000 t brand\t[fresh]\n"
			       "ffffffffc0005020 t sneak\t[thief]\n"
			       "ffffffffc0006000 t stay\t[other]\n",
			  symbols, 100, 200,
			  "- ffffffffc0000040+fc0 200 [nic]; - ffffffffc0005000+40 100 [disk]; ");
	/* Visited symbols stay visited, symbols reported by the kernel stay known. */
	assert_visits(symbols, 0xffffffff81000100, "");
	assert_visits(symbols, 0xffffffffd0000000, "prog ffffffffd0000000+40 50 [bpf]; ");
	assert_visits(symbols, 0xffffffffc0000050, "");
	/* It may have existed since the list was last read. */
	assert_visits(symbols, 0xffffffffc0002000, "brand ffffffffc0002000+1000 100 [fresh]; ");
	/* Something else may have been there earlier. */
	assert_visits(symbols, 0xffffffffc0005020, "sneak ffffffffc0005020+fe0 200 [thief]; ");
	assert_visits(symbols, 0xffffffffc0006000, "stay ffffffffc0006000+fffa000 0 [other]; ");

	/* Loaded again, and changed: at the same place, with the same name. */
	symbols = inherit(CORE "ffffffffc0002000 t brand\t[fresh]\n"
			       "ffffffffc0006000 t stay\t[new]\n",
			  symbols, 300, 400,
			  "- ffffffffc0005020+fe0 400 [thief]; "
			  "- ffffffffc0006000+fffa000 300 [other]; ");
	assert_visits(symbols, 0xffffffffc0002000, "");
	reel_kallsyms_restart(symbols);
	assert_visits(symbols, 0xffffffffc0002000, "brand ffffffffc0002000+1000 100 [fresh]; ");
	assert_visits(symbols, 0xffffffffc0006000, "stay ffffffffc0006000+fffa000 400 [new]; ");
	reel_kallsyms_destroy(symbols);
}

/* ---- in a capture ---------------------------------------------------------------- */

static void add(struct reel_kernel_symbol_map *symbols, uint64_t address, uint64_t size,
		const char *name, uint64_t since)
{
	const struct reel_kernel_symbol symbol = {
		.address = address, .size = size, .since = since, .name = name, .module = ""
	};

	assert_null(reel_kernel_symbol_map_add(symbols, &symbol));
}

static const char *at(const struct reel_kernel_symbol_map *symbols, uint64_t address, uint64_t time)
{
	const struct reel_kernel_symbol *symbol =
		reel_kernel_symbol_map_find(symbols, 0, address, time);

	return symbol ? symbol->name : "none";
}

TEST(test_times)
{
	struct reel_kernel_symbol_map *symbols;
	size_t n;

	assert_null(reel_kernel_symbol_map_create(&symbols));
	add(symbols, 0x1000, 0x100, "b", 200); /* in any order */
	add(symbols, 0x1000, 0x200, "a", 0);
	add(symbols, 0x1080, 0x80, "", 300);
	add(symbols, 0x1000, 0x10, "alias", 200);
	add(symbols, 0x5000, 0, "unknown", 0);
	add(symbols, 0x5100, 0, "page", 0);
	add(symbols, UINT64_MAX - 0xf, UINT64_MAX, "huge", 0);
	add(symbols, UINT64_MAX, 0, "last", 0);
	assert_null(reel_kernel_symbol_map_seal(symbols));
	assert_string_equal(at(symbols, 0x1000, 0), "a");
	assert_string_equal(at(symbols, 0x1100, 199), "a");
	assert_string_equal(at(symbols, 0x1000, 200), "alias");
	assert_string_equal(at(symbols, 0x1010, 200), "b");
	assert_string_equal(at(symbols, 0x1100, 200), "a");
	assert_string_equal(at(symbols, 0x1080, 299), "b");
	assert_string_equal(at(symbols, 0x1080, 300), "none");
	assert_string_equal(at(symbols, 0x1100, UINT64_MAX), "a");
	assert_string_equal(at(symbols, 0x1200, 0), "none");
	assert_string_equal(at(symbols, 0x50ff, 0), "unknown");
	assert_string_equal(at(symbols, 0x60ff, 0), "page");
	assert_string_equal(at(symbols, 0x6100, 0), "none");
	assert_string_equal(at(symbols, UINT64_MAX - 1, 0), "huge");
	assert_int_equal(reel_kernel_symbol_map_all(symbols, &n)->size, 0x100);
	assert_int_equal(n, 8);
	reel_kernel_symbol_map_destroy(symbols);

	assert_null(reel_kernel_symbol_map_create(&symbols));
	assert_null(reel_kernel_symbol_map_seal(symbols));
	assert_string_equal(at(symbols, 0x1000, 5), "none");
	reel_kernel_symbol_map_destroy(symbols);
}

RUN_TESTS()
