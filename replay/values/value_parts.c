/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/dwarf_cursor.h"
#include "replay/values/value_internal.h"

/* typedef -> const -> …, and members within members that have no name. */
#define TYPES_MAX 32

/* ---- types -------------------------------------------------------------------------- */

static bool is_alias(uint16_t tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_shared_type;
}

void reel_value_strip_type(struct reel_die_reader *reader, struct reel_full_die *type)
{
	struct reel_full_die next;

	for (int i = 0; i < TYPES_MAX && is_alias(type->tag); i++) {
		if (!reel_full_die_follow(reader, type, DW_AT_type, &next)) {
			type->tag = 0;
			return;
		}
		*type = next;
	}
}

void reel_value_type_of(struct reel_die_reader *reader, const struct reel_full_die *die,
			struct reel_full_die *ret)
{
	struct reel_full_die type;

	if (!reel_full_die_follow(reader, die, DW_AT_type, &type))
		type.tag = 0;
	else
		reel_value_strip_type(reader, &type);
	*ret = type;
}

bool reel_value_is_pointer(uint16_t tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

bool reel_value_is_structure(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool reel_value_array_count(struct reel_die_reader *reader, const struct reel_full_die *type,
			    uint64_t *ret)
{
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth, n = 0;
	bool known = false;

	reel_die_walk_begin(&walk, reader, type->at);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		uint64_t bound;

		if (die.tag != DW_TAG_subrange_type)
			continue;
		if (reel_full_die_number(&die, DW_AT_count, &bound)) {
			*ret = bound;
			known = true;
		} else if (reel_full_die_number(&die, DW_AT_upper_bound, &bound)) {
			*ret = bound + 1;
			known = true;
		}
		n++;
	}
	return known && n == 1;
}

bool reel_value_size_of(struct reel_die_reader *reader, const struct reel_full_die *type,
			unsigned level, uint64_t *ret)
{
	struct reel_full_die element;
	uint64_t count;

	if (reel_full_die_number(type, DW_AT_byte_size, ret))
		return true;
	if (reel_value_is_pointer(type->tag) || type->tag == DW_TAG_ptr_to_member_type) {
		*ret = type->at.unit->format.address_size;
		return type->tag != DW_TAG_ptr_to_member_type;
	}
	if (type->tag == DW_TAG_enumeration_type && level < TYPES_MAX) {
		reel_value_type_of(reader, type, &element);
		return element.tag && reel_value_size_of(reader, &element, level + 1, ret);
	}
	if (type->tag != DW_TAG_array_type || level == TYPES_MAX ||
	    !reel_value_array_count(reader, type, &count))
		return false;
	reel_value_type_of(reader, type, &element);
	return element.tag && reel_value_size_of(reader, &element, level + 1, ret) &&
	       !__builtin_mul_overflow(*ret, count, ret);
}

/* ---- bytes -------------------------------------------------------------------------- */

enum reel_knowledge reel_value_read_bytes(const struct value *value, uint64_t offset, size_t size,
					  uint8_t *ret)
{
	unsigned word = 8;

	offset += value->offset;
	if (value->has_number) {
		/* Constants are only of whole numbers. */
		if (offset || size > word)
			return REEL_UNCLEAR;
		reel_store_target(ret, (unsigned)size, value->memory->big_endian, value->number);
		return REEL_KNOWN;
	}
	if (value->constant.data) {
		if (offset > value->constant.size || size > value->constant.size - offset)
			return REEL_UNCLEAR;
		memcpy(ret, value->constant.data + offset, size);
		return REEL_KNOWN;
	}
	return reel_location_read(&value->place, offset, size, ret);
}

static enum reel_knowledge read_bits(const struct value *value, uint64_t *ret)
{
	uint64_t first = value->bit / 8, last = (value->bit + value->bits + 7) / 8, number = 0;
	uint64_t bits = value->bits;
	uint8_t bytes[16];
	enum reel_knowledge knowledge;

	if (bits > 64 || last - first > sizeof(bytes))
		return REEL_UNCLEAR;
	knowledge = reel_value_read_bytes(value, first, (size_t)(last - first), bytes);
	for (uint64_t i = 0; !knowledge && i < bits; i++) {
		uint64_t at = value->bit % 8 + i;
		uint8_t byte = bytes[at / 8];
		bool set;

		/* Bits count from the least significant one, on big-endian CPUs from the most. */
		if (value->memory->big_endian) {
			set = byte >> (7 - at % 8) & 1;
			number = number << 1 | set;
		} else {
			set = byte >> at % 8 & 1;
			number |= (uint64_t)set << i;
		}
	}
	*ret = number;
	return knowledge;
}

enum reel_knowledge reel_value_read_number(const struct value *value, bool is_signed, uint64_t *ret)
{
	enum reel_knowledge knowledge;
	uint64_t size, bits;
	uint8_t bytes[8];

	if (!reel_value_size_of(value->reader, &value->type, 0, &size) || !size || size > 8)
		return REEL_UNCLEAR;
	bits = value->bits ? value->bits : 8 * size;
	if (value->bits) {
		knowledge = read_bits(value, ret);
	} else {
		knowledge = reel_value_read_bytes(value, 0, (size_t)size, bytes);
		if (!knowledge)
			*ret = reel_load_target(bytes, (unsigned)size, value->memory->big_endian);
	}
	if (!knowledge && is_signed)
		*ret = reel_sign_extend(*ret, (unsigned)bits);
	return knowledge;
}

/* ---- parts -------------------------------------------------------------------------- */

bool reel_value_take_member(const struct value *value, const struct reel_full_die *member,
			    struct value *ret)
{
	const struct reel_form_value *location =
		reel_full_die_get(member, DW_AT_data_member_location);
	uint64_t number, size, storage;

	*ret = *value;
	ret->bit = ret->bits = 0;
	if (location && location->bytes) {
		struct reel_cursor cursor = reel_cursor(location->bytes, (size_t)location->number);

		/* DWARF 2 has an expression that adds a constant. */
		if (reel_cursor_u8(&cursor) != DW_OP_plus_uconst)
			return false;
		ret->offset += reel_cursor_uleb(&cursor);
		if (cursor.failed || reel_cursor_left(&cursor))
			return false;
	} else if (location) {
		if (!reel_full_die_number(member, DW_AT_data_member_location, &number))
			return false;
		ret->offset += number;
	}
	reel_value_type_of(value->reader, member, &ret->type);
	if (!ret->type.tag)
		return false;
	if (!reel_full_die_number(member, DW_AT_bit_size, &size))
		return true;
	if (!size || size > 64)
		return false;
	ret->bits = size;
	if (reel_full_die_number(member, DW_AT_data_bit_offset, &number)) {
		ret->bit = number;
		return true;
	}
	/* Before DWARF 4: from the most significant bit of a unit of storage. */
	if (!reel_full_die_number(member, DW_AT_bit_offset, &number) ||
	    (!reel_full_die_number(member, DW_AT_byte_size, &storage) &&
	     !reel_value_size_of(value->reader, &ret->type, 0, &storage)) ||
	    storage > 8 || number + size > 8 * storage)
		return false;
	ret->bit = value->memory->big_endian ? number : 8 * storage - number - size;
	return true;
}

bool reel_value_is_part(const struct reel_full_die *die)
{
	return (die->tag == DW_TAG_member || die->tag == DW_TAG_inheritance) &&
	       !reel_full_die_flag(die, DW_AT_external) &&
	       !reel_full_die_flag(die, DW_AT_declaration);
}

bool reel_value_take_element(const struct value *value, uint64_t index, struct value *ret)
{
	uint64_t size;

	*ret = *value;
	reel_value_type_of(value->reader, &value->type, &ret->type);
	if (!ret->type.tag || !reel_value_size_of(value->reader, &ret->type, 0, &size) ||
	    __builtin_mul_overflow(size, index, &size))
		return false;
	ret->offset += size;
	return true;
}

/* The attribute of the variant is a number: whether it is the discriminant's of that size. */
static bool is_discriminant(const struct reel_full_die *variant, uint64_t number, uint64_t size)
{
	uint64_t value;

	return reel_full_die_number(variant, DW_AT_discr_value, &value) &&
	       !((value ^ number) & (size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1));
}

enum reel_knowledge reel_value_find_variant(const struct value *value,
					    const struct reel_full_die *variants,
					    struct reel_full_die *ret)
{
	bool found = false, is_it = false, is_default = false;
	enum reel_knowledge knowledge;
	uint64_t number = 0, size = 0;
	struct reel_die_walk walk;
	struct reel_full_die die;
	struct value discriminant;
	unsigned depth;

	if (reel_full_die_follow(value->reader, variants, DW_AT_discr, &die)) {
		if (!reel_value_take_member(value, &die, &discriminant) || discriminant.bits ||
		    !reel_value_size_of(value->reader, &discriminant.type, 0, &size))
			return REEL_UNCLEAR;
		knowledge = reel_value_read_number(&discriminant, false, &number);
		if (knowledge)
			return knowledge;
	}
	reel_die_walk_begin(&walk, value->reader, variants->at);
	while (!(found && is_it) && reel_die_walk_next(&walk, &die, &depth)) {
		if (die.tag == DW_TAG_variant && depth == 1) {
			if (reel_full_die_get(&die, DW_AT_discr_list))
				return REEL_UNCLEAR;
			is_default = !reel_full_die_get(&die, DW_AT_discr_value);
			is_it = !is_default && is_discriminant(&die, number, size);
		} else if (die.tag == DW_TAG_member && depth == 2 && (is_it || is_default)) {
			*ret = die;
			found = true;
		}
		if (depth > 1)
			reel_die_walk_skip(&walk, &die, depth);
	}
	return found ? REEL_KNOWN : REEL_UNCLEAR;
}

/* ---- paths -------------------------------------------------------------------------- */

enum reel_knowledge reel_value_follow_pointer(struct value *value)
{
	struct reel_full_die target;
	enum reel_knowledge knowledge;
	uint64_t address = 0;

	if (!reel_value_is_pointer(value->type.tag))
		return REEL_UNCLEAR;
	knowledge = reel_value_read_number(value, false, &address);
	if (knowledge)
		return knowledge;
	reel_value_type_of(value->reader, &value->type, &target);
	if (!target.tag)
		return REEL_UNCLEAR;
	value->type = target;
	value->offset = value->bit = value->bits = 0;
	value->has_number = false;
	value->constant.data = NULL;
	value->place.n = 1;
	value->place.pieces[0] = (struct reel_piece){ .kind = REEL_PIECE_MEMORY,
						      .number = address,
						      .size = UINT64_MAX };
	return REEL_KNOWN;
}

/* Also of bases, and of members without a name. */
static bool find_member(const struct value *value, const char *name, size_t size, unsigned level,
			struct value *ret)
{
	struct reel_die_walk walk;
	struct reel_full_die die, variant;
	unsigned depth;

	if (!reel_value_is_structure(value->type.tag) || level == TYPES_MAX)
		return false;
	reel_die_walk_begin(&walk, value->reader, value->type.at);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		const char *own;
		struct value part;

		if (depth)
			reel_die_walk_skip(&walk, &die, depth);
		if (depth == 1 && die.tag == DW_TAG_variant_part &&
		    reel_value_find_variant(value, &die, &variant) == REEL_KNOWN)
			die = variant;
		if (depth != 1 || !reel_value_is_part(&die))
			continue;
		own = reel_full_die_name(&die);
		if (die.tag == DW_TAG_member && own && strlen(own) == size &&
		    !memcmp(own, name, size))
			return reel_value_take_member(value, &die, ret);
		if ((die.tag == DW_TAG_inheritance || !own) &&
		    reel_value_take_member(value, &die, &part) &&
		    find_member(&part, name, size, level + 1, ret))
			return true;
	}
	return false;
}

static enum reel_knowledge step_member(struct value *value, const char *name, size_t size)
{
	enum reel_knowledge knowledge;
	struct value part;

	/* Both `.` and `->` go through pointers, as languages differ. */
	for (int i = 0; i < 2 && reel_value_is_pointer(value->type.tag); i++) {
		knowledge = reel_value_follow_pointer(value);
		if (knowledge)
			return knowledge;
	}
	if (!find_member(value, name, size, 0, &part))
		return REEL_UNCLEAR;
	*value = part;
	return REEL_KNOWN;
}

static enum reel_knowledge step_element(struct value *value, uint64_t index)
{
	struct value element;
	enum reel_knowledge knowledge;
	uint64_t size, count;

	if (reel_value_is_pointer(value->type.tag)) {
		knowledge = reel_value_follow_pointer(value);
		if (knowledge)
			return knowledge;
		if (!reel_value_size_of(value->reader, &value->type, 0, &size) ||
		    __builtin_mul_overflow(size, index, &value->offset))
			return REEL_UNCLEAR;
		return REEL_KNOWN;
	}
	/* What follows an array is another variable. */
	if (value->type.tag != DW_TAG_array_type ||
	    (reel_value_array_count(value->reader, &value->type, &count) && index >= count) ||
	    !reel_value_take_element(value, index, &element))
		return REEL_UNCLEAR;
	*value = element;
	return REEL_KNOWN;
}

enum reel_knowledge reel_value_follow_path(struct value *value, const char *path)
{
	enum reel_knowledge knowledge = REEL_KNOWN;

	while (*path && !knowledge) {
		char *end;
		size_t size;

		if (*path == '[') {
			uint64_t index = strtoull(path + 1, &end, 0);

			if (*end != ']')
				return REEL_UNCLEAR;
			knowledge = step_element(value, index);
			path = end + 1;
			continue;
		}
		if (strncmp(path, "->", 2) != 0 && *path != '.')
			return REEL_UNCLEAR;
		path += *path == '.' ? 1 : 2;
		size = strcspn(path, ".-[");
		knowledge = step_member(value, path, size);
		path += size;
	}
	return knowledge;
}
