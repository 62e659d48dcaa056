/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a module: address -> rule, compiled when first asked for.
 *
 * Readers take no lock: rule_table.c has the numbers of rules, which are positions in chunks that
 * never move.  What a number refers to is written before the number is published (release), so who
 * sees the number (acquire) sees the rule.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replay/rule_code.h"
#include "replay/rule_rows.h"
#include "replay/rule_table.h"

#define RULE_UNIT 8 /* bytes: the granularity of rule numbers */

/*
 * Chunk n holds the numbers from CHUNK_UNITS << n on, as many again: all rules before it.  So a
 * small module needs little, and the numbers below CHUNK_UNITS are not used: 0 is none.
 */
#define CHUNK_BITS  8
#define CHUNK_UNITS (1u << CHUNK_BITS)
#define CHUNKS	    (RULE_NUMBER_BITS - CHUNK_BITS)
_Static_assert(RULE_SIZE_MAX <= CHUNK_UNITS * RULE_UNIT, "every rule fits into the first chunk");

struct reel_rules {
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	uint64_t entry;
	atomic_int problem; /* enum problem */
	atomic_llong work_left;
	void *_Atomic *told;
	void *what;
	struct rule_table table;
	uint8_t *_Atomic chunks[CHUNKS];

	/* Everything below is the writers'. */
	pthread_mutex_t lock;
	uint32_t next_unit; /* the next free rule number */
	/* Rule numbers by content; open-addressed. */
	uint32_t *interned;
	size_t interned_mask, n_rules;
	struct rule_rows rows;
	uint64_t bytes; /* but for the table's */
};

enum problem {
	FINE = 0,
	NO_MEMORY,
	EXHAUSTED,
};

/*
 * Instructions that are run for all rows: each address needs those before it in its function, some
 * 20 on average.  A function of 60,000 takes as many at each address.
 */
#define WORK_FREE  (64u << 20)
#define WORK_TIMES 64 /* for each byte of CFI */

/* What stands for the rule where memory is short, or the work too much. */
static const struct reel_rule no_rule = { .outcome = REEL_RULE_BAD };

static uint64_t hash_bytes(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t hash = 0xcbf29ce484222325, word;

	/* Sizes of rules are multiples of 8. */
	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

struct reel_error *reel_rules_create(const struct reel_arch *arch, struct reel_cfi *cfi,
				     uint64_t entry, struct reel_rules **ret)
{
	struct reel_rules *rules = calloc(1, sizeof(*rules));

	if (!rules || !reel_rule_table_init(&rules->table)) {
		free(rules);
		return reel_error_no_memory();
	}
	rules->arch = arch;
	rules->cfi = cfi;
	rules->entry = entry;
	rules->work_left = (long long)(WORK_FREE + WORK_TIMES * (cfi ? reel_cfi_size(cfi) : 0));
	rules->next_unit = CHUNK_UNITS;
	rules->bytes = sizeof(*rules);
	pthread_mutex_init(&rules->lock, NULL);
	*ret = rules;
	return NULL;
}

void reel_rules_destroy(struct reel_rules *rules)
{
	if (!rules)
		return;
	reel_rule_table_free(&rules->table);
	for (size_t i = 0; i < CHUNKS; i++)
		free(atomic_load(&rules->chunks[i]));
	free(rules->interned);
	reel_rule_rows_free(&rules->rows);
	pthread_mutex_destroy(&rules->lock);
	free(rules);
}

void reel_rules_tell(struct reel_rules *rules, void *_Atomic *told, void *what)
{
	rules->told = told;
	rules->what = what;
}

static void note_problem(struct reel_rules *rules, enum problem problem)
{
	int fine = FINE;

	atomic_compare_exchange_strong(&rules->problem, &fine, problem);
	if (rules->told)
		atomic_store(rules->told, rules->what);
}

struct reel_error *reel_rules_problem(const struct reel_rules *rules)
{
	switch ((enum problem)atomic_load(&rules->problem)) {
	case NO_MEMORY:
		return reel_error_no_memory();
	case EXHAUSTED:
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"its unwind tables take many times the work that tables of their size do: "
			"no compiler wrote them; choose samples (--pid, --comm) that do without");
	default:
		return NULL;
	}
}

static unsigned chunk_of(uint32_t number)
{
	return 31 - (unsigned)__builtin_clz(number) - CHUNK_BITS;
}

static const struct reel_rule *rule_of(const struct reel_rules *rules, uint32_t number)
{
	unsigned n = chunk_of(number);
	uint8_t *chunk = atomic_load_explicit(&rules->chunks[n], memory_order_acquire);

	return (const struct reel_rule *)(chunk +
					  (size_t)(number - (CHUNK_UNITS << n)) * RULE_UNIT);
}

/* ---- storing rules (under the lock) --------------------------------------------------- */

/* A number with room for `size` bytes behind it; 0 if there is none. */
static uint32_t allocate(struct reel_rules *rules, size_t size)
{
	uint32_t units = (uint32_t)(size / RULE_UNIT), number = rules->next_unit;
	unsigned n = chunk_of(number);
	uint8_t *chunk;

	if (number + units > CHUNK_UNITS << (n + 1))
		number = CHUNK_UNITS << ++n;
	if (n >= CHUNKS)
		return 0;
	if (!atomic_load_explicit(&rules->chunks[n], memory_order_relaxed)) {
		size_t chunk_size = (size_t)(CHUNK_UNITS << n) * RULE_UNIT;

		chunk = malloc(chunk_size);
		if (!chunk)
			return 0;
		rules->bytes += chunk_size;
		atomic_store_explicit(&rules->chunks[n], chunk, memory_order_release);
	}
	rules->next_unit = number + units;
	return number;
}

static bool grow_interned(struct reel_rules *rules)
{
	size_t size = rules->interned ? 2 * (rules->interned_mask + 1) : 64;
	uint32_t *interned = calloc(size, sizeof(*interned));

	if (!interned)
		return false;
	for (size_t i = 0; rules->interned && i <= rules->interned_mask; i++) {
		uint32_t number = rules->interned[i];
		size_t at;

		if (!number)
			continue;
		at = hash_bytes(rule_of(rules, number), rule_size(rule_of(rules, number))) &
		     (size - 1);
		while (interned[at])
			at = (at + 1) & (size - 1);
		interned[at] = number;
	}
	rules->bytes += size / (rules->interned ? 2 : 1) * sizeof(*interned);
	free(rules->interned);
	rules->interned = interned;
	rules->interned_mask = size - 1;
	return true;
}

/* The number of a rule of that content; 0 if memory is short. */
static uint32_t intern(struct reel_rules *rules, const struct reel_rule *rule)
{
	size_t size = rule_size(rule), at;
	uint32_t number;

	if ((!rules->interned || rules->n_rules * 2 > rules->interned_mask) &&
	    !grow_interned(rules))
		return 0;
	at = hash_bytes(rule, size) & rules->interned_mask;
	for (; rules->interned[at]; at = (at + 1) & rules->interned_mask) {
		const struct reel_rule *known = rule_of(rules, rules->interned[at]);

		if (rule_size(known) == size && !memcmp(known, rule, size))
			return rules->interned[at];
	}
	number = allocate(rules, size);
	if (!number)
		return 0;
	memcpy((void *)rule_of(rules, number), rule, size);
	rules->interned[at] = number;
	rules->n_rules++;
	return number;
}

/* ---- compiling ------------------------------------------------------------------------ */

/*
 * _start has no caller.  Its CFI says so only from some instruction on
 * (libunwind #443), or there is none: what lies close behind the entry and has no FDE in between is
 * it.
 */
static bool is_entry(const struct reel_rules *rules, uint64_t address, bool has_fde)
{
	if (!rules->entry || address - rules->entry >= REEL_RULE_ENTRY_SIZE)
		return false;
	if (address == rules->entry)
		return true;
	return !has_fde && (!rules->cfi || reel_cfi_same_gap(rules->cfi, rules->entry, address));
}

/* A rule, and for which addresses around its own it is certain to be the same. */
struct compiled {
	uint64_t begin, end;
	union rule_buffer buffer; /* last: clang warns of a flexible array within */
};

static void compile_row(const struct reel_rules *rules, uint64_t address,
			const struct reel_cfi_row *row, struct compiled *ret)
{
	reel_rule_compile(rules->arch, row, &ret->buffer);
	if (address + 1 == row->fde_end) {
		ret->buffer.rule.flags |= RULE_ENDS_FUNCTION;
		return;
	}
	ret->begin = row->same_begin;
	ret->end = row->same_end < row->fde_end ? row->same_end : row->fde_end - 1;
	/* The entry itself is another matter. */
	if (rules->entry > address && rules->entry < ret->end)
		ret->end = rules->entry;
	if (rules->entry < address && rules->entry >= ret->begin)
		ret->begin = rules->entry + 1;
}

/* False: it is too much. */
static bool work(struct reel_rules *rules, uint32_t instructions)
{
	if (atomic_fetch_sub_explicit(&rules->work_left, instructions, memory_order_relaxed) >=
	    instructions)
		return true;
	/* So that it does not wrap. */
	atomic_fetch_add_explicit(&rules->work_left, instructions, memory_order_relaxed);
	note_problem(rules, EXHAUSTED);
	return false;
}

static void compile_at(struct reel_rules *rules, uint64_t address, struct compiled *ret)
{
	enum reel_cfi_found found = REEL_CFI_NONE;
	struct reel_cfi_row row;

	ret->begin = address;
	ret->end = address + 1;

	row.work = 0;
	if (rules->cfi)
		found = reel_cfi_row_at(rules->cfi, address, &row, NULL);
	work(rules, row.work);
	if (rules->cfi && reel_cfi_is_short_of_memory(rules->cfi))
		note_problem(rules, NO_MEMORY);
	if (is_entry(rules, address, found != REEL_CFI_NONE)) {
		reel_rule_compile_outcome(REEL_RULE_ROOT, &ret->buffer);
		return;
	}
	switch (found) {
	case REEL_CFI_FOUND:
		compile_row(rules, address, &row, ret);
		break;
	case REEL_CFI_NONE:
		reel_rule_compile_outcome(REEL_RULE_NONE, &ret->buffer);
		break;
	case REEL_CFI_BAD:
		reel_rule_compile_outcome(REEL_RULE_BAD, &ret->buffer);
		break;
	}
}

/* ---- look-ups --------------------------------------------------------------------------- */

/* The rule of an address whose row is known, or NULL. */
static const struct reel_rule *find_in_rows(struct reel_rules *rules, uint64_t address)
{
	uint32_t number = 0;

	pthread_mutex_lock(&rules->lock);
	if (address < RULE_ADDRESS_LIMIT)
		number = reel_rule_rows_find(&rules->rows, address);
	/* Another thread may have been faster, or have been moving the entry. */
	if (number && !reel_rule_table_find(&rules->table, address))
		reel_rule_table_add(&rules->table, address, number);
	pthread_mutex_unlock(&rules->lock);
	return number ? rule_of(rules, number) : NULL;
}

static const struct reel_rule *add(struct reel_rules *rules, uint64_t address,
				   const struct compiled *compiled)
{
	uint32_t number = 0;

	pthread_mutex_lock(&rules->lock);
	if (address < RULE_ADDRESS_LIMIT)
		number = reel_rule_table_find(&rules->table, address);
	if (!number) {
		number = intern(rules, &compiled->buffer.rule);
		/* Addresses beyond the limit are compiled each time; no ELF file has them. */
		if (number && address < RULE_ADDRESS_LIMIT) {
			reel_rule_table_add(&rules->table, address, number);
			reel_rule_rows_add(&rules->rows, compiled->begin, compiled->end, address,
					   number);
		}
	}
	pthread_mutex_unlock(&rules->lock);
	if (!number)
		note_problem(rules, NO_MEMORY);
	return number ? rule_of(rules, number) : &no_rule;
}

const struct reel_rule *reel_rules_at(struct reel_rules *rules, uint64_t address)
{
	uint32_t number =
		address < RULE_ADDRESS_LIMIT ? reel_rule_table_find(&rules->table, address) : 0;
	const struct reel_rule *rule;
	struct compiled compiled;

	if (number)
		return rule_of(rules, number);
	rule = find_in_rows(rules, address);
	if (rule)
		return rule;
	if (atomic_load_explicit(&rules->problem, memory_order_relaxed))
		return &no_rule;
	compile_at(rules, address, &compiled);
	return add(rules, address, &compiled);
}

struct reel_rules_counts reel_rules_counts(const struct reel_rules *rules)
{
	struct reel_rules *writable = (struct reel_rules *)rules;
	struct reel_rules_counts counts;

	pthread_mutex_lock(&writable->lock);
	counts = (struct reel_rules_counts){
		.addresses = rules->table.n,
		.rules = rules->n_rules,
		.bytes = rules->bytes + rules->table.bytes + reel_rule_rows_bytes(&rules->rows),
	};
	pthread_mutex_unlock(&writable->lock);
	return counts;
}
