/* SPDX-License-Identifier: Apache-2.0 */
/* A variable or a part of one, with its type, while it is looked at: for value*.c. */
#ifndef REPLAY_VALUES_VALUE_INTERNAL_H
#define REPLAY_VALUES_VALUE_INTERNAL_H

#include "replay/values/location.h"

struct value {
	struct reel_die_reader *reader;
	const struct reel_memory_view *memory;
	struct reel_location_of place;
	struct reel_bytes constant; /* instead of a place */
	bool has_number;	    /* the same, by number */
	uint64_t number;
	uint64_t offset;	   /* bytes in the place */
	uint64_t bit, bits;	   /* of a bit field: from the offset; 0: none */
	struct reel_full_die type; /* without typedefs and qualifiers; tag 0: unknown */
};

/* ---- types: value_parts.c ------------------------------------------------------------------ */

/* Skips typedefs and qualifiers; tag 0: they lead nowhere. */
void reel_value_strip_type(struct reel_die_reader *reader, struct reel_full_die *type);
/* The type that the attribute names, stripped; tag 0: none. */
void reel_value_type_of(struct reel_die_reader *reader, const struct reel_full_die *die,
			struct reel_full_die *ret);
bool reel_value_is_pointer(uint16_t tag);
bool reel_value_is_structure(uint16_t tag);
/* The number of elements of an array's first dimension; false: unknown, or several. */
bool reel_value_array_count(struct reel_die_reader *reader, const struct reel_full_die *type,
			    uint64_t *ret);
/* Bytes of a stripped type; false: unknown.  `level`: 0. */
bool reel_value_size_of(struct reel_die_reader *reader, const struct reel_full_die *type,
			unsigned level, uint64_t *ret);

/* ---- bytes ---------------------------------------------------------------------------------- */

enum reel_knowledge reel_value_read_bytes(const struct value *value, uint64_t offset, size_t size,
					  uint8_t *ret);
/* A number of the type's size, extended to 64 bits. */
enum reel_knowledge reel_value_read_number(const struct value *value, bool is_signed,
					   uint64_t *ret);

/* ---- parts ---------------------------------------------------------------------------------- */

/* Whether it is a member or a base class within the structure. */
bool reel_value_is_part(const struct reel_full_die *die);
/* The part of a structure that is this; false: not at a known place. */
bool reel_value_take_member(const struct value *value, const struct reel_full_die *member,
			    struct value *ret);
bool reel_value_take_element(const struct value *value, uint64_t index, struct value *ret);
/*
 * The member that a structure's variant part has at present (DWARF 5, 5.7.10), of Rust's
 * enumerations with data.  Without a discriminant, there is one variant.
 */
enum reel_knowledge reel_value_find_variant(const struct value *value,
					    const struct reel_full_die *variants,
					    struct reel_full_die *ret);
/* Makes the value that a pointer points to of the pointer. */
enum reel_knowledge reel_value_follow_pointer(struct value *value);
/* Makes the part of the value; `path`: see reel_value_print. */
enum reel_knowledge reel_value_follow_path(struct value *value, const char *path);

/* ---- value_text.c ---------------------------------------------------------------------------- */

/*
 * Whether the structure is a text of a language's library, such as std::string, and if so its
 * bytes' address and number, unless *knowledge_ret says that they are not known.
 */
bool reel_value_find_text(const struct value *value, uint64_t *address_ret, uint64_t *size_ret,
			  enum reel_knowledge *knowledge_ret);

#endif
