/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a module: address -> rule, compiled when first asked for.
 *
 * Readers take no lock.  The table is open-addressed; an entry is one atomic
 * word, (address << 24 | rule), and rule numbers are positions in chunks that
 * never move.  What an entry refers to is written before the entry is published
 * (release), so who sees the entry (acquire) sees the rule.  A table that became
 * too small stays until the end, for readers that still look at it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "replay/rule_code.h"

#define RULE_BITS     24
#define RULE_UNIT     8 /* bytes: the granularity of rule numbers */
#define CHUNK_UNITS   (1u << 13)
#define CHUNKS_MAX    ((1u << RULE_BITS) / CHUNK_UNITS)
#define ADDRESS_LIMIT ((uint64_t)1 << (64 - RULE_BITS))
#define TABLE_MIN     256

struct table {
	size_t mask; /* entries - 1, a power of two */
	struct table *older;
	_Atomic uint64_t entries[];
};

struct reel_rules {
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	uint64_t entry;
	_Atomic(struct table *) table;
	uint8_t *_Atomic chunks[CHUNKS_MAX];

	/* Everything below is the writers'. */
	pthread_mutex_t lock;
	uint32_t next_unit; /* the next free rule number; 0 is none */
	size_t n_addresses;
	/* Rule numbers by content; open-addressed too. */
	uint32_t *interned;
	size_t interned_mask, n_rules;
	uint64_t bytes;
};

/* What stands for the rule where memory is short. */
static const struct reel_rule no_memory_rule = { .outcome = REEL_RULE_BAD };

static uint64_t hash_address(uint64_t address)
{
	/* Fibonacci hashing: the high half of the product depends on all bits. */
	return address * 0x9e3779b97f4a7c15 >> 32;
}

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

static struct table *table_create(size_t entries)
{
	struct table *table = calloc(1, sizeof(*table) + entries * sizeof(table->entries[0]));

	if (table)
		table->mask = entries - 1;
	return table;
}

struct reel_error *reel_rules_create(const struct reel_arch *arch, struct reel_cfi *cfi,
				     uint64_t entry, struct reel_rules **ret)
{
	struct reel_rules *rules = calloc(1, sizeof(*rules));
	struct table *table = table_create(TABLE_MIN);

	if (!rules || !table) {
		free(rules);
		free(table);
		return reel_error_no_memory();
	}
	rules->arch = arch;
	rules->cfi = cfi;
	rules->entry = entry;
	rules->next_unit = 1;
	rules->bytes = sizeof(*rules) + sizeof(*table) + TABLE_MIN * sizeof(table->entries[0]);
	atomic_init(&rules->table, table);
	pthread_mutex_init(&rules->lock, NULL);
	*ret = rules;
	return NULL;
}

void reel_rules_destroy(struct reel_rules *rules)
{
	struct table *table, *older;

	if (!rules)
		return;
	for (table = atomic_load(&rules->table); table; table = older) {
		older = table->older;
		free(table);
	}
	for (size_t i = 0; i < CHUNKS_MAX; i++)
		free(atomic_load(&rules->chunks[i]));
	free(rules->interned);
	pthread_mutex_destroy(&rules->lock);
	free(rules);
}

static const struct reel_rule *rule_of(const struct reel_rules *rules, uint32_t number)
{
	uint8_t *chunk =
		atomic_load_explicit(&rules->chunks[number / CHUNK_UNITS], memory_order_acquire);

	return (const struct reel_rule *)(chunk + (size_t)(number % CHUNK_UNITS) * RULE_UNIT);
}

/* ---- storing rules (under the lock) --------------------------------------------------- */

/* A number with room for `size` bytes behind it; 0 if there is none. */
static uint32_t allocate(struct reel_rules *rules, size_t size)
{
	uint32_t units = (uint32_t)(size / RULE_UNIT), number = rules->next_unit;
	uint8_t *chunk;

	if (number % CHUNK_UNITS + units > CHUNK_UNITS)
		number += CHUNK_UNITS - number % CHUNK_UNITS;
	if (number / CHUNK_UNITS >= CHUNKS_MAX)
		return 0;
	if (!atomic_load_explicit(&rules->chunks[number / CHUNK_UNITS], memory_order_relaxed)) {
		chunk = malloc((size_t)CHUNK_UNITS * RULE_UNIT);
		if (!chunk)
			return 0;
		rules->bytes += (uint64_t)CHUNK_UNITS * RULE_UNIT;
		atomic_store_explicit(&rules->chunks[number / CHUNK_UNITS], chunk,
				      memory_order_release);
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

static void compile_at(const struct reel_rules *rules, uint64_t address, union rule_buffer *ret)
{
	enum reel_cfi_found found = REEL_CFI_NONE;
	struct reel_cfi_row row;

	if (rules->cfi)
		found = reel_cfi_row_at(rules->cfi, address, &row, NULL);
	if (is_entry(rules, address, found != REEL_CFI_NONE)) {
		reel_rule_compile_outcome(REEL_RULE_ROOT, ret);
		return;
	}
	switch (found) {
	case REEL_CFI_FOUND:
		reel_rule_compile(rules->arch, &row, ret);
		if (address + 1 == row.fde_end)
			ret->rule.flags |= RULE_ENDS_FUNCTION;
		break;
	case REEL_CFI_NONE:
		reel_rule_compile_outcome(REEL_RULE_NONE, ret);
		break;
	case REEL_CFI_BAD:
		reel_rule_compile_outcome(REEL_RULE_BAD, ret);
		break;
	}
}

/* ---- the table of addresses ------------------------------------------------------------ */

/* The rule's number, 0 if the address is not there. */
static uint32_t look_up(const struct table *table, uint64_t address)
{
	size_t at = hash_address(address) & table->mask;

	for (;;) {
		uint64_t entry = atomic_load_explicit(&table->entries[at], memory_order_acquire);

		if (!entry)
			return 0;
		if (entry >> RULE_BITS == address)
			return entry & ((1u << RULE_BITS) - 1);
		at = (at + 1) & table->mask;
	}
}

static void store(struct table *table, uint64_t entry)
{
	size_t at = hash_address(entry >> RULE_BITS) & table->mask;

	while (atomic_load_explicit(&table->entries[at], memory_order_relaxed))
		at = (at + 1) & table->mask;
	atomic_store_explicit(&table->entries[at], entry, memory_order_release);
}

/* Half of a table stays free, so searches end soon, and end at all. */
static bool make_room(struct reel_rules *rules)
{
	struct table *old = atomic_load_explicit(&rules->table, memory_order_relaxed);
	struct table *table;
	size_t size;

	if (rules->n_addresses * 2 < old->mask)
		return true;
	size = 4 * (old->mask + 1);
	table = table_create(size);
	if (!table)
		return false;
	for (size_t i = 0; i <= old->mask; i++) {
		uint64_t entry = atomic_load_explicit(&old->entries[i], memory_order_relaxed);

		if (entry)
			store(table, entry);
	}
	table->older = old;
	rules->bytes += sizeof(*table) + size * sizeof(table->entries[0]);
	atomic_store_explicit(&rules->table, table, memory_order_release);
	return true;
}

static const struct reel_rule *add(struct reel_rules *rules, uint64_t address,
				   const struct reel_rule *rule)
{
	uint32_t number;

	pthread_mutex_lock(&rules->lock);
	/* Another thread may have been faster. */
	number = address < ADDRESS_LIMIT
			 ? look_up(atomic_load_explicit(&rules->table, memory_order_relaxed),
				   address)
			 : 0;
	if (!number) {
		number = intern(rules, rule);
		/* Addresses beyond the limit are compiled each time; no ELF file has them. */
		if (number && address < ADDRESS_LIMIT && make_room(rules)) {
			store(atomic_load_explicit(&rules->table, memory_order_relaxed),
			      address << RULE_BITS | number);
			rules->n_addresses++;
		}
	}
	pthread_mutex_unlock(&rules->lock);
	return number ? rule_of(rules, number) : &no_memory_rule;
}

const struct reel_rule *reel_rules_at(struct reel_rules *rules, uint64_t address)
{
	const struct table *table = atomic_load_explicit(&rules->table, memory_order_acquire);
	uint32_t number = address < ADDRESS_LIMIT ? look_up(table, address) : 0;
	union rule_buffer buffer;

	if (number)
		return rule_of(rules, number);
	compile_at(rules, address, &buffer);
	return add(rules, address, &buffer.rule);
}

struct reel_rules_counts reel_rules_counts(const struct reel_rules *rules)
{
	struct reel_rules *writable = (struct reel_rules *)rules;
	struct reel_rules_counts counts;

	pthread_mutex_lock(&writable->lock);
	counts = (struct reel_rules_counts){
		.addresses = rules->n_addresses,
		.rules = rules->n_rules,
		.bytes = rules->bytes,
	};
	pthread_mutex_unlock(&writable->lock);
	return counts;
}
