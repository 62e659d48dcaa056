/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979): the upper bits of an address's
 * hash select a bucket by the directory; a full bucket is split in two, and the directory is
 * doubled if it cannot tell the two apart.  So it grows by one bucket at a time, and the only old
 * tables kept are the smaller directories, for readers that still use them.
 *
 * An entry is one atomic word, (address << 24
 *  number), valid forever: a reader that meets a bucket being split finds the right number or none.
 */
#include <stdlib.h>
#include <string.h>

#include "cfi/row_table.h"

#define ENTRIES 64
/* A bucket with this many entries is split: searches in a full one would be long. */
#define ENTRIES_MAX 60
/* Buckets are allocated this many at a time; the first few of a module one by one. */
#define SLAB_MAX 64

struct row_bucket {
	_Atomic uint64_t entries[ENTRIES];
	/* For the writer: the number of hash bits that all entries share, and the number of
	 * entries. */
	uint32_t depth, n;
};

struct row_directory {
	struct row_directory *older;
	unsigned depth; /* bits of the hash that select a bucket */
	struct row_bucket *_Atomic buckets[];
};

struct row_slab {
	struct row_slab *older;
	size_t n, capacity;
	struct row_bucket buckets[];
};

static uint64_t hash_of(uint64_t address)
{
	/* Fibonacci hashing: the upper half of the product depends on all bits. */
	return address * 0x9e3779b97f4a7c15;
}

static uint64_t address_of(uint64_t entry)
{
	return entry >> ROW_NUMBER_BITS;
}

static size_t index_of(uint64_t hash, unsigned depth)
{
	return (size_t)(hash >> 1 >> (63 - depth));
}

/* The start of the search in a bucket: bits that do not select the bucket, among up to 2^24. */
static size_t start_of(uint64_t hash)
{
	return hash >> 32 & (ENTRIES - 1);
}

/* ---- memory ---------------------------------------------------------------------------- */

static struct row_directory *directory_create(struct row_table *table, unsigned depth)
{
	size_t size =
		sizeof(struct row_directory) + ((size_t)1 << depth) * sizeof(struct row_bucket *);
	struct row_directory *directory = calloc(1, size);

	if (!directory)
		return NULL;
	directory->depth = depth;
	table->bytes += size;
	return directory;
}

static struct row_bucket *bucket_create(struct row_table *table, uint32_t depth)
{
	struct row_slab *slab = table->slabs;
	struct row_bucket *bucket;

	if (!slab || slab->n == slab->capacity) {
		size_t capacity = slab ? slab->capacity * 2 : 1, size;

		if (capacity > SLAB_MAX)
			capacity = SLAB_MAX;
		size = sizeof(*slab) + capacity * sizeof(slab->buckets[0]);
		slab = calloc(1, size);
		if (!slab)
			return NULL;
		slab->capacity = capacity;
		slab->older = table->slabs;
		table->slabs = slab;
		table->bytes += size;
	}
	bucket = &slab->buckets[slab->n++];
	bucket->depth = depth;
	return bucket;
}

bool reel_row_table_init(struct row_table *table)
{
	struct row_directory *directory;
	struct row_bucket *bucket;

	memset(table, 0, sizeof(*table));
	directory = directory_create(table, 0);
	bucket = directory ? bucket_create(table, 0) : NULL;
	if (!bucket) {
		free(directory);
		return false;
	}
	atomic_init(&directory->buckets[0], bucket);
	atomic_init(&table->directory, directory);
	return true;
}

void reel_row_table_free(struct row_table *table)
{
	struct row_directory *directory = atomic_load(&table->directory), *older;
	struct row_slab *slab, *older_slab;

	for (; directory; directory = older) {
		older = directory->older;
		free(directory);
	}
	for (slab = table->slabs; slab; slab = older_slab) {
		older_slab = slab->older;
		free(slab);
	}
}

/* ---- reading ---------------------------------------------------------------------------- */

uint32_t reel_row_table_find(const struct row_table *table, uint64_t address)
{
	const struct row_directory *directory =
		atomic_load_explicit(&table->directory, memory_order_acquire);
	uint64_t hash = hash_of(address);
	const struct row_bucket *bucket = atomic_load_explicit(
		&directory->buckets[index_of(hash, directory->depth)], memory_order_acquire);
	size_t start = start_of(hash);

	for (size_t i = 0; i < ENTRIES; i++) {
		uint64_t entry = atomic_load_explicit(&bucket->entries[(start + i) % ENTRIES],
						      memory_order_acquire);

		if (!entry)
			return 0;
		if (address_of(entry) == address)
			return entry & ((1u << ROW_NUMBER_BITS) - 1);
	}
	return 0;
}

/* ---- writing ---------------------------------------------------------------------------- */

static void put(struct row_bucket *bucket, uint64_t entry)
{
	size_t at = start_of(hash_of(address_of(entry)));

	while (atomic_load_explicit(&bucket->entries[at], memory_order_relaxed))
		at = (at + 1) % ENTRIES;
	atomic_store_explicit(&bucket->entries[at], entry, memory_order_release);
	bucket->n++;
}

/* Doubles the directory; the old one stays for its readers. */
static struct row_directory *double_directory(struct row_table *table,
					      struct row_directory *directory)
{
	size_t n = (size_t)1 << directory->depth;
	struct row_directory *larger = directory_create(table, directory->depth + 1);

	if (!larger)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct row_bucket *bucket =
			atomic_load_explicit(&directory->buckets[i], memory_order_relaxed);

		atomic_init(&larger->buckets[2 * i], bucket);
		atomic_init(&larger->buckets[2 * i + 1], bucket);
	}
	larger->older = directory;
	atomic_store_explicit(&table->directory, larger, memory_order_release);
	return larger;
}

/* Whether the entry belongs to the upper half when a bucket splits to this depth. */
static bool is_upper(uint64_t entry, uint32_t depth)
{
	return hash_of(address_of(entry)) >> (64 - depth) & 1;
}

static void copy_upper(const struct row_bucket *bucket, struct row_bucket *upper)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		uint64_t entry = atomic_load_explicit(&bucket->entries[i], memory_order_relaxed);

		if (entry && is_upper(entry, upper->depth))
			put(upper, entry);
	}
}

/* The remaining entries move closer together: a search ends at the first empty slot. */
static void keep_lower(struct row_bucket *bucket, uint32_t depth)
{
	uint64_t kept[ENTRIES];
	size_t n = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		uint64_t entry = atomic_load_explicit(&bucket->entries[i], memory_order_relaxed);

		if (entry && !is_upper(entry, depth))
			kept[n++] = entry;
		atomic_store_explicit(&bucket->entries[i], 0, memory_order_relaxed);
	}
	bucket->depth = depth;
	bucket->n = 0;
	for (size_t i = 0; i < n; i++)
		put(bucket, kept[i]);
}

/* False if the bucket stays as it is. */
static bool split(struct row_table *table, struct row_bucket *bucket, uint64_t hash)
{
	struct row_directory *directory =
		atomic_load_explicit(&table->directory, memory_order_relaxed);
	struct row_bucket *upper;
	size_t first, n;

	if (bucket->depth == directory->depth) {
		/* A file may be crafted so that its addresses' hashes begin alike: a directory must
		 * not be larger than its contents. */
		if ((uint64_t)8 << directory->depth > table->n)
			return false;
		directory = double_directory(table, directory);
	}
	upper = directory ? bucket_create(table, bucket->depth + 1) : NULL;
	if (!upper)
		return false;
	copy_upper(bucket, upper);
	/* The directory's slots for the bucket: the upper half now leads to the new one. */
	n = (size_t)1 << (directory->depth - bucket->depth);
	first = index_of(hash, directory->depth) / n * n;
	for (size_t i = first + n / 2; i < first + n; i++)
		atomic_store_explicit(&directory->buckets[i], upper, memory_order_release);
	keep_lower(bucket, upper->depth);
	return true;
}

void reel_row_table_add(struct row_table *table, uint64_t address, uint32_t number)
{
	uint64_t hash = hash_of(address), entry = address << ROW_NUMBER_BITS | number;
	const struct row_directory *directory;
	struct row_bucket *bucket;

	do {
		directory = atomic_load_explicit(&table->directory, memory_order_relaxed);
		bucket = atomic_load_explicit(&directory->buckets[index_of(hash, directory->depth)],
					      memory_order_relaxed);
	} while (bucket->n >= ENTRIES_MAX && split(table, bucket, hash));
	if (bucket->n == ENTRIES) {
		atomic_store_explicit(&bucket->entries[start_of(hash)], entry,
				      memory_order_release);
		return;
	}
	put(bucket, entry);
	table->n++;
}
