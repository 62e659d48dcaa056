/* SPDX-License-Identifier: Apache-2.0 */
/* What fields each record has: the tables behind encoder, decoder and dump. */
#ifndef FORMAT_SCHEMA_H
#define FORMAT_SCHEMA_H

#include "format/block.h"
#include "format/record.h"

enum reel_schema_kind {
	REEL_SCHEMA_NUMBER,  /* uint64_t, stored as LEB128 */
	REEL_SCHEMA_ADDRESS, /* the same, shown in hexadecimal */
	REEL_SCHEMA_TEXT,    /* struct reel_bytes, stored as LEB128 size + bytes */
	REEL_SCHEMA_BYTES,   /* the same, shown in hexadecimal */
};

struct reel_schema_field {
	const char *name;
	enum reel_schema_kind kind;
	size_t offset; /* in struct reel_record */
	size_t max;    /* bytes of a text or of bytes at most; 0: only the block limits it */
	bool added;    /* a payload may end before it: then it is 0, or empty */
	/* Not written where it and all behind it are 0, or empty: such are seldom known. */
	bool left_out;
};

struct reel_schema {
	const char *name; /* as in SPEC.md */
	/* A reader that does not know the record must not go on without it. */
	bool critical;
	const struct reel_schema_field *fields;
	size_t n_fields;
};

/* NULL for an id that has no table: unknown ones, SAMPLE_LAYOUT and SAMPLE. */
const struct reel_schema *reel_schema_of(uint64_t id);
/* The record's name in SPEC.md, for the ones without a table too; NULL if unknown. */
const char *reel_record_name(uint64_t id);
/* The type of block in which the record stands; 0 for an unknown one. */
uint16_t reel_record_block_type(uint64_t id);

/* The field `field` of `record`, a number or bytes as its kind says. */
uint64_t reel_schema_number(const struct reel_schema_field *field,
			    const struct reel_record *record);
struct reel_bytes reel_schema_bytes(const struct reel_schema_field *field,
				    const struct reel_record *record);
/* True if the record has a field `time`, which is returned. */
bool reel_record_time(const struct reel_record *record, uint64_t *ret);

/*
 * NULL if every value is one that SPEC.md has, else which one is not: a reader
 * passes over such a record, a writer refuses it.
 */
const char *reel_record_check(const struct reel_record *record);
const char *reel_sample_check(const struct reel_sample *sample);

#endif
