/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a module: address -> row, compiled on first use.
 *
 * Readers take no lock: row_table.c has the numbers of rows, which are positions in chunks that
 * never move.  A row is written before its number is published (release), so a reader that sees the
 * number (acquire) sees the row.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "cfi/row_internal.h"
#include "cfi/row_ranges.h"
#include "cfi/row_table.h"

#define ROW_UNIT 8 /* bytes: the granularity of row numbers */

/*
 * Chunk n holds the numbers from CHUNK_UNITS << n on, as many as all previous chunks together.  So
 * a small module needs little, and the numbers below CHUNK_UNITS are unused: 0 means no row.
 */
#define CHUNK_BITS  8
#define CHUNK_UNITS (1u << CHUNK_BITS)
#define CHUNKS	    (ROW_NUMBER_BITS - CHUNK_BITS)
_Static_assert(ROW_SIZE_MAX <= CHUNK_UNITS * ROW_UNIT, "every row fits into the first chunk");

struct reel_rows {
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	uint64_t entry;
	atomic_int problem; /* enum problem */
	atomic_llong work_left;
	void *_Atomic *told;
	void *what;
	struct row_table table;
	uint8_t *_Atomic chunks[CHUNKS];

	/* Everything below belongs to the writers. */
	pthread_mutex_t lock;
	uint32_t next_unit; /* the next free row number */
	/* Rule numbers by content; open-addressed. */
	struct reel_hash_index interned; /* of rows by their content */
	struct row_ranges ranges;
	uint64_t bytes; /* except the table's */
};

enum problem {
	FINE = 0,
	NO_MEMORY,
	EXHAUSTED,
};

/*
 * The limit of CFA instructions run for the rows of a module.  A row runs those that precede it in
 * its function, some 20 on average; in a hostile function of 60,000 instructions each row takes up
 * to 60,000.
 */
#define WORK_FREE  (64u << 20)
#define WORK_TIMES 64 /* for each byte of CFI */

/* Returned if memory is short or the work limit is reached. */
static const struct reel_row no_row = { .outcome = REEL_ROW_BAD };

static uint64_t hash_bytes(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t hash = 0xcbf29ce484222325, word;

	/* Sizes of rows are multiples of 8. */
	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

struct reel_error *reel_rows_create(const struct reel_arch *arch, struct reel_cfi *cfi,
				    uint64_t entry, struct reel_rows **ret)
{
	struct reel_rows *rows = calloc(1, sizeof(*rows));

	if (!rows || !reel_row_table_init(&rows->table)) {
		free(rows);
		return reel_error_no_memory();
	}
	rows->arch = arch;
	rows->cfi = cfi;
	rows->entry = entry;
	rows->work_left = (long long)(WORK_FREE + WORK_TIMES * (cfi ? reel_cfi_size(cfi) : 0));
	rows->next_unit = CHUNK_UNITS;
	rows->bytes = sizeof(*rows);
	pthread_mutex_init(&rows->lock, NULL);
	*ret = rows;
	return NULL;
}

void reel_rows_destroy(struct reel_rows *rows)
{
	if (!rows)
		return;
	reel_row_table_free(&rows->table);
	for (size_t i = 0; i < CHUNKS; i++)
		free(atomic_load(&rows->chunks[i]));
	reel_hash_index_free(&rows->interned);
	reel_row_ranges_free(&rows->ranges);
	pthread_mutex_destroy(&rows->lock);
	free(rows);
}

uint64_t reel_rows_entry(const struct reel_rows *rows)
{
	return rows->entry;
}

void reel_rows_tell(struct reel_rows *rows, void *_Atomic *told, void *what)
{
	rows->told = told;
	rows->what = what;
}

static void note_problem(struct reel_rows *rows, enum problem problem)
{
	int fine = FINE;

	atomic_compare_exchange_strong(&rows->problem, &fine, problem);
	if (rows->told)
		atomic_store(rows->told, rows->what);
}

struct reel_error *reel_rows_problem(const struct reel_rows *rows)
{
	switch ((enum problem)atomic_load(&rows->problem)) {
	case NO_MEMORY:
		return reel_error_no_memory();
	case EXHAUSTED:
		return reel_error_create(
			REEL_ERROR_CORRUPT,
			"unwind tables take far too much work for their size: not written by a "
			"compiler; select samples that do not need them (--pid, --comm)");
	default:
		return NULL;
	}
}

static unsigned chunk_of(uint32_t number)
{
	return 31 - (unsigned)__builtin_clz(number) - CHUNK_BITS;
}

static const struct reel_row *row_of(const struct reel_rows *rows, uint32_t number)
{
	unsigned n = chunk_of(number);
	uint8_t *chunk = atomic_load_explicit(&rows->chunks[n], memory_order_acquire);

	return (const struct reel_row *)(chunk + (size_t)(number - (CHUNK_UNITS << n)) * ROW_UNIT);
}

/* ---- storing rows (under the lock) --------------------------------------------------- */

/* A number with room for `size` bytes; 0 if out of memory. */
static uint32_t allocate(struct reel_rows *rows, size_t size)
{
	uint32_t units = (uint32_t)(size / ROW_UNIT), number = rows->next_unit;
	unsigned n = chunk_of(number);
	uint8_t *chunk;

	if (number + units > CHUNK_UNITS << (n + 1))
		number = CHUNK_UNITS << ++n;
	if (n >= CHUNKS)
		return 0;
	if (!atomic_load_explicit(&rows->chunks[n], memory_order_relaxed)) {
		size_t chunk_size = (size_t)(CHUNK_UNITS << n) * ROW_UNIT;

		chunk = malloc(chunk_size);
		if (!chunk)
			return 0;
		rows->bytes += chunk_size;
		atomic_store_explicit(&rows->chunks[n], chunk, memory_order_release);
	}
	rows->next_unit = number + units;
	return number;
}

/* The number of a row with that content; 0 if memory is short. */
static uint32_t intern(struct reel_rows *rows, const struct reel_row *row)
{
	size_t size = row_size(row), n_slots = rows->interned.n_slots;
	uint64_t hash = hash_bytes(row, size);
	uint32_t number = REEL_HASH_FIND(&rows->interned, hash, i,
					 row_size(row_of(rows, i)) == size &&
						 !memcmp(row_of(rows, i), row, size));

	if (number != REEL_HASH_NONE)
		return number;
	number = allocate(rows, size);
	if (!number || !reel_hash_index_add(&rows->interned, hash, number))
		return 0;
	memcpy((void *)row_of(rows, number), row, size);
	rows->bytes += (rows->interned.n_slots - n_slots) * sizeof(*rows->interned.slots);
	return number;
}

/* ---- compiling ------------------------------------------------------------------------ */

/*
 * _start has no caller.  Its CFI shows this only from some instruction on (libunwind #443), or it
 * has none: code shortly after the entry, without an FDE in between, belongs to _start.
 */
static bool is_entry(const struct reel_rows *rows, uint64_t address, bool has_fde)
{
	if (!rows->entry || address - rows->entry >= REEL_ROW_ENTRY_SIZE)
		return false;
	if (address == rows->entry)
		return true;
	return !has_fde && (!rows->cfi || reel_cfi_same_gap(rows->cfi, rows->entry, address));
}

/* arm64's paciasp, after which a row with a signed return address begins. */
#define FIRST_INSTRUCTION_SIZE 4

/* A row, and the addresses around its own for which it is surely the same. */
struct compiled {
	uint64_t begin, end;
	union row_buffer buffer; /* last: clang warns of a flexible array within */
};

static void compile_found(const struct reel_rows *rows, uint64_t address,
			  const struct reel_cfi_row *cfi_row, struct compiled *ret)
{
	uint64_t body = cfi_row->fde_begin + REEL_ROW_BEGIN_SIZE;

	reel_row_compile(rows->arch, cfi_row, &ret->buffer);
	if (cfi_row->begin == cfi_row->fde_begin && cfi_row->end == cfi_row->fde_end)
		ret->buffer.row.flags |= ROW_IS_ONLY;
	else if (cfi_row->begin - cfi_row->fde_begin <= FIRST_INSTRUCTION_SIZE)
		ret->buffer.row.flags |= ROW_IS_FIRST;
	else if (cfi_row->end == cfi_row->fde_end)
		ret->buffer.row.flags |= ROW_IS_LAST;
	if (address < body)
		ret->buffer.row.flags |= ROW_BEGINS_FUNCTION;
	if (address + 1 == cfi_row->fde_end) {
		ret->buffer.row.flags |= ROW_ENDS_FUNCTION;
		return;
	}
	ret->begin = cfi_row->same_begin;
	ret->end = cfi_row->same_end < cfi_row->fde_end ? cfi_row->same_end : cfi_row->fde_end - 1;
	if (address < body && ret->end > body)
		ret->end = body;
	if (address >= body && ret->begin < body)
		ret->begin = body;
	/* The entry itself needs its own row. */
	if (rows->entry > address && rows->entry < ret->end)
		ret->end = rows->entry;
	if (rows->entry < address && rows->entry >= ret->begin)
		ret->begin = rows->entry + 1;
}

/* Counts the work; false if the module's limit is reached. */
static bool work(struct reel_rows *rows, uint32_t instructions)
{
	if (atomic_fetch_sub_explicit(&rows->work_left, instructions, memory_order_relaxed) >=
	    instructions)
		return true;
	/* Undo, so that it does not wrap. */
	atomic_fetch_add_explicit(&rows->work_left, instructions, memory_order_relaxed);
	note_problem(rows, EXHAUSTED);
	return false;
}

static void compile_at(struct reel_rows *rows, uint64_t address, struct compiled *ret)
{
	enum reel_cfi_found found = REEL_CFI_NONE;
	struct reel_cfi_row cfi_row;

	ret->begin = address;
	ret->end = address + 1;

	cfi_row.work = 0;
	if (rows->cfi)
		found = reel_cfi_row_at(rows->cfi, address, &cfi_row, NULL);
	work(rows, cfi_row.work);
	if (rows->cfi && reel_cfi_is_short_of_memory(rows->cfi))
		note_problem(rows, NO_MEMORY);
	if (is_entry(rows, address, found != REEL_CFI_NONE)) {
		reel_row_compile_outcome(REEL_ROW_ROOT, &ret->buffer);
		return;
	}
	switch (found) {
	case REEL_CFI_FOUND:
		compile_found(rows, address, &cfi_row, ret);
		break;
	case REEL_CFI_NONE:
		reel_row_compile_outcome(REEL_ROW_NONE, &ret->buffer);
		break;
	case REEL_CFI_BAD:
		reel_row_compile_outcome(REEL_ROW_BAD, &ret->buffer);
		break;
	case REEL_CFI_SWITCHES:
		reel_row_compile(rows->arch, &cfi_row, &ret->buffer);
		ret->buffer.row.outcome = REEL_ROW_SWITCHES;
		break;
	}
}

bool reel_rows_function_at(const struct reel_rows *rows, uint64_t address, uint64_t *begin_ret,
			   uint64_t *end_ret)
{
	return rows->cfi && reel_cfi_function_at(rows->cfi, address, begin_ret, end_ret);
}

bool reel_rows_switch_begins(const struct reel_rows *rows, uint64_t address, uint64_t *ret)
{
	const struct reel_cfi_range *range =
		rows->cfi ? reel_cfi_switch_at(rows->cfi, address) : NULL;

	if (range)
		*ret = range->begin;
	return range;
}

/* ---- look-ups --------------------------------------------------------------------------- */

/* The row of an address in a range with a known row, or NULL. */
static const struct reel_row *find_in_ranges(struct reel_rows *rows, uint64_t address)
{
	uint32_t number = 0;

	pthread_mutex_lock(&rows->lock);
	if (address < ROW_ADDRESS_LIMIT)
		number = reel_row_ranges_find(&rows->ranges, address);
	/* Another thread may have added or moved the entry. */
	if (number && !reel_row_table_find(&rows->table, address))
		reel_row_table_add(&rows->table, address, number);
	pthread_mutex_unlock(&rows->lock);
	return number ? row_of(rows, number) : NULL;
}

static const struct reel_row *append_row(struct reel_rows *rows, uint64_t address,
					 const struct compiled *compiled)
{
	uint32_t number = 0;

	pthread_mutex_lock(&rows->lock);
	if (address < ROW_ADDRESS_LIMIT)
		number = reel_row_table_find(&rows->table, address);
	if (!number) {
		number = intern(rows, &compiled->buffer.row);
		/* Addresses beyond the limit are compiled each time; no ELF file has them. */
		if (number && address < ROW_ADDRESS_LIMIT) {
			reel_row_table_add(&rows->table, address, number);
			reel_row_ranges_add(&rows->ranges, compiled->begin, compiled->end, address,
					    number);
		}
	}
	pthread_mutex_unlock(&rows->lock);
	if (!number)
		note_problem(rows, NO_MEMORY);
	return number ? row_of(rows, number) : &no_row;
}

const struct reel_row *reel_rows_at(struct reel_rows *rows, uint64_t address)
{
	uint32_t number =
		address < ROW_ADDRESS_LIMIT ? reel_row_table_find(&rows->table, address) : 0;
	const struct reel_row *row;
	struct compiled compiled;

	if (number)
		return row_of(rows, number);
	row = find_in_ranges(rows, address);
	if (row)
		return row;
	if (atomic_load_explicit(&rows->problem, memory_order_relaxed))
		return &no_row;
	compile_at(rows, address, &compiled);
	return append_row(rows, address, &compiled);
}

struct reel_rows_counts reel_rows_counts(const struct reel_rows *rows)
{
	struct reel_rows *writable = (struct reel_rows *)rows;
	struct reel_rows_counts counts;

	pthread_mutex_lock(&writable->lock);
	counts = (struct reel_rows_counts){
		.addresses = rows->table.n,
		.rows = rows->interned.n,
		.bytes = rows->bytes + rows->table.bytes + reel_row_ranges_bytes(&rows->ranges),
	};
	pthread_mutex_unlock(&writable->lock);
	return counts;
}
