/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of each record: tables for encoder, decoder and dump. */
#ifndef FORMAT_SCHEMA_H
#define FORMAT_SCHEMA_H

#include "format/block.h"
#include "format/record_coder.h"

enum reel_schema_kind {
	REEL_SCHEMA_NUMBER,  /* uint64_t, stored as LEB128 */
	REEL_SCHEMA_ADDRESS, /* the same, shown in hexadecimal */
	REEL_SCHEMA_TEXT,    /* struct reel_bytes, stored as LEB128 size + bytes */
	REEL_SCHEMA_BYTES,   /* the same, shown in hexadecimal */
};

/* What a number relates to.  A reference of 0 means none. */
enum reel_schema_role {
	REEL_ROLE_NONE,
	REEL_ROLE_TIME,		 /* on the capture clock */
	REEL_ROLE_TIME_IF_KNOWN, /* 0: unknown; REEL_TIME_START */
	REEL_ROLE_ID,		 /* the record defines it */
	REEL_ROLE_REFERENCE,
	REEL_ROLE_RANGE, /* an address; the next field is the size, not 0 */
};

/* Each kind has ids of its own. */
enum reel_id_kind {
	REEL_ID_NONE,
	REEL_ID_THREAD,
	REEL_ID_SPACE,
	REEL_ID_MODULE,
	REEL_ID_EVENT,
	REEL_ID_STEPS,
	REEL_ID_CGROUP,
	REEL_ID_FUNCTION,
	REEL_ID_ORIGIN,
	REEL_ID_KINDS,
};

struct reel_schema_field {
	const char *name;
	enum reel_schema_kind kind;
	enum reel_schema_role role;
	enum reel_id_kind ids; /* of an id or a reference */
	size_t offset;	       /* in struct reel_record */
	size_t max;	       /* of a text or bytes, in bytes; 0: only the block limits it */
	uint64_t listed;       /* the largest number with a meaning; 0: not of a list */
	bool added;	       /* a payload may end before it: then it is 0 or empty */
	/* Omitted if this and all following fields are 0 or empty: such are seldom known. */
	bool left_out;
};

struct reel_schema {
	const char *name; /* as in SPEC.md */
	/* A reader that does not know the record must stop. */
	bool critical;
	const struct reel_schema_field *fields;
	size_t n_fields;
	size_t size; /* of the struct of these fields */
};

/* NULL for an id without a table: unknown ids, SAMPLE_LAYOUT, LABELS and the sample records. */
const struct reel_schema *reel_schema_of(uint64_t id);
/* The record's name in SPEC.md, also for those without a table; NULL if unknown. */
const char *reel_record_name(uint64_t id);
/* Whether a record that this version does not know may be copied to a file with other samples, ids
 * and times, and without the programs' data (SPEC.md, section 4). */
static inline bool reel_record_is_safe_to_copy(uint64_t id)
{
	return id & 1;
}
/* The type of block for this record; 0 if unknown. */
uint16_t reel_record_block_type(uint64_t id);

/* The field `field` of `record`, a number or bytes according to its kind. */
uint64_t reel_schema_number(const struct reel_schema_field *field,
			    const struct reel_record *record);
struct reel_bytes reel_schema_bytes(const struct reel_schema_field *field,
				    const struct reel_record *record);
/* True if the record has a field `time`, which is returned. */
bool reel_record_time(const struct reel_record *record, uint64_t *ret);
/* The first id or reference of the record: what it is about.  REEL_ID_NONE: it has none. */
enum reel_id_kind reel_record_subject(const struct reel_record *record, uint64_t *ret);
/* The same without decoding, but only of records of the lives and mappings of processes.  A damaged
 * record has none: decoding it reports the damage. */
enum reel_id_kind reel_record_frame_subject(const struct reel_record_frame *frame, uint64_t *ret);

/* A number of a list that this version does not know, and that has the meaning that SPEC.md,
 * section 10, gives to all of these; NULL: none. */
const struct reel_schema_field *reel_record_unlisted(const struct reel_record *record);
bool reel_sample_has_unlisted(const struct reel_sample *sample);

/*
 * NULL if SPEC.md allows every value, else the invalid one: a reader skips such a record, a writer
 * refuses it.
 */
const char *reel_record_check(const struct reel_record *record);
const char *reel_sample_check(const struct reel_sample *sample);

#endif
