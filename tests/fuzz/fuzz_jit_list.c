/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of ELF files by which JITs describe their code, in a process that changes its memory
 * meanwhile: walks and reads of files, and what the recorder keeps of them.
 */
#include "tests/fuzz/fuzz.h"

#define MEMORY_ADDRESS 0x10000u

/* The process's memory: the first bytes up to some read, then the others. */
static struct {
	struct reel_bytes now, later;
	uint32_t reads_left;
} memory;

#define reel_proc_memory fuzz_memory
static bool fuzz_memory(uint32_t pid, uint64_t address, void *ret, size_t size)
{
	uint64_t at = address - MEMORY_ADDRESS;

	(void)pid;
	if (!memory.reads_left--)
		memory.now = memory.later;
	if (at > memory.now.size || size > memory.now.size - at)
		return false;
	memcpy(ret, memory.now.data + at, size);
	return true;
}

#include "base/array.h"
#include "record/jit/jit_names_list.c"
#include "record/proc/jit_list.c"

/* The recorder's functions are in jit_names.c, with all that it needs to ask. */
struct function *reel_jit_names_append(struct reel_jit_names *names, const struct function *function)
{
	struct book *book = names->asked->own.book;

	if (!reel_array_reserve(&book->functions, book->count, &book->capacity,
				sizeof(*book->functions)))
		return NULL;
	book->functions[book->count] = *function;
	return &book->functions[book->count++];
}

struct answer {
	struct reel_jit_names *names;
	size_t n_entries, n_wanted, n_bytes;
};

static void see_entry(void *context, const struct reel_jit_entry *entry)
{
	struct answer *answer = context;

	must_be(++answer->n_entries <= REEL_JIT_ENTRIES_MAX, "a bounded list");
	reel_jit_names_apply_entry(answer->names, REEL_JIT_SAID_ENTRY, entry);
}

static void see_wanted(void *context, const struct reel_jit_entry *entry)
{
	struct answer *answer = context;

	answer->n_wanted++;
	answer->n_bytes = 0;
	reel_jit_names_apply_entry(answer->names, REEL_JIT_SAID_WANTED, entry);
	must_be(answer->names->asked->list.reading != NULL, "an entry that is known");
}

static void see_part(void *context, const struct reel_jit_part *part)
{
	struct answer *answer = context;
	struct list *list = &answer->names->asked->list;
	const struct reel_jit_said_function said = {
		.address = part->address,
		.size = part->size,
		.file = REEL_JIT_LIST,
	};
	struct function function = {
		.address = part->address,
		.size = part->size,
		.file = REEL_JIT_LIST,
		.name_size = (uint32_t)part->name.size,
	};

	must_be(part->size && part->address + (part->size - 1) >= part->address, "a range");
	must_be(part->name.size <= REEL_JIT_NAME_MAX && part->frames.size <= REEL_JIT_FRAMES_MAX &&
			(!part->name.size || !memchr(part->name.data, 0, part->name.size)),
		"a name, or unwind information");
	answer->n_bytes += part->name.size + part->frames.size;
	must_be(answer->n_bytes <= REPORT_MAX, "bounded parts");
	crc32_z(0, part->frames.data, part->frames.size);
	function.time = reel_jit_names_list_time(answer->names, &said, part->name.size);
	must_be(reel_jit_names_append(answer->names, &function) != NULL, "memory");
	list->reading->count = answer->names->asked->own.book->count - list->reading->first;
}

static void ask(struct reel_jit_names *names)
{
	struct list *list = &names->asked->list;
	struct reel_jit_list_question question = { 0 };
	struct answer answer = { .names = names };
	const struct reel_jit_list_visitor visitor = { see_entry, see_wanted, see_part, &answer };

	reel_jit_names_ask_list(names, list, &question);
	reel_jit_list_read(1, &question, &visitor, &names->state.list);
	must_be(names->state.list.n_read <= question.n_wanted &&
			answer.n_wanted <= names->state.list.n_read,
		"no more than asked for");
	reel_jit_names_apply_list(names);
	must_be(list->entries.count <= REEL_JIT_ENTRIES_MAX && list->n_gone <= GONE_MAX + 1,
		"a bounded memory");
}

static void check_functions(void *context, struct reel_id_entry *entry)
{
	const struct listed *listed = (const struct listed *)entry;
	const struct reel_jit_names *names = context;

	must_be(listed->first + listed->count <= names->asked->own.book->count, "its functions");
	must_be(listed->time <= names->now, "the past");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reel_cursor input = reel_cursor(data, size);
	struct book book = { 0 };
	struct space space = { .own.book = &book };
	struct reel_jit_names names = { .asked = &space, .now = REEL_NS_PER_SECOND };
	size_t n_lists = reel_cursor_u8(&input) % (REEL_JIT_LISTS_MAX + 1);

	memory.reads_left = reel_cursor_u16(&input);
	for (size_t i = 0; i < n_lists; i++)
		space.list.descriptors[i] = MEMORY_ADDRESS + reel_cursor_u16(&input);
	memory.now = fuzz_part(&input);
	memory.later = fuzz_rest(&input);
	for (unsigned i = 0; i < 6; i++, names.now += REEL_NS_PER_SECOND) {
		ask(&names);
		reel_id_table_visit(&space.list.entries, check_functions, &names);
	}
	reel_id_table_free_all(&space.list.entries);
	free(book.functions);
	return 0;
}
