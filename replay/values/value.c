/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dwarf_cursor.h"
#include "replay/values/value.h"

/* typedef -> const -> …, and members within members that have no name. */
#define TYPES_MAX 32
/* What is printed of a structure or array, and of a text. */
#define DEPTH_MAX    3
#define MEMBERS_MAX  24
#define ELEMENTS_MAX 8
#define TEXT_MAX     200
#define REST_MAX     65536
/* Bytes of debug information that one value may need: types, and a call. */
#define WORK_MAX   (16u << 20)
#define SHOWN_NAME 256

/* A variable, or a part of one. */
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

struct printer {
	struct reel_buffer *text;
	struct reel_value_result *result;
};

/* ---- types -------------------------------------------------------------------------- */

static bool is_alias(uint16_t tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_shared_type;
}

static void strip(struct reel_die_reader *reader, struct reel_full_die *type)
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

/* The type that the attribute names, without typedefs; tag 0: none. */
static void type_of(struct reel_die_reader *reader, const struct reel_full_die *die,
		    struct reel_full_die *ret)
{
	struct reel_full_die type;

	if (!reel_full_die_follow(reader, die, DW_AT_type, &type))
		type.tag = 0;
	else
		strip(reader, &type);
	*ret = type;
}

static bool is_pointer(uint16_t tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

static bool is_structure(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* The number of elements of an array's first dimension; false: unknown, or several. */
static bool array_count(struct reel_die_reader *reader, const struct reel_full_die *type,
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

static bool size_of(struct reel_die_reader *reader, const struct reel_full_die *type,
		    unsigned level, uint64_t *ret)
{
	struct reel_full_die element;
	uint64_t count;

	if (reel_full_die_number(type, DW_AT_byte_size, ret))
		return true;
	if (is_pointer(type->tag) || type->tag == DW_TAG_ptr_to_member_type) {
		*ret = type->at.unit->format.address_size;
		return type->tag != DW_TAG_ptr_to_member_type;
	}
	if (type->tag == DW_TAG_enumeration_type && level < TYPES_MAX) {
		type_of(reader, type, &element);
		return element.tag && size_of(reader, &element, level + 1, ret);
	}
	if (type->tag != DW_TAG_array_type || level == TYPES_MAX ||
	    !array_count(reader, type, &count))
		return false;
	type_of(reader, type, &element);
	return element.tag && size_of(reader, &element, level + 1, ret) &&
	       !__builtin_mul_overflow(*ret, count, ret);
}

/* ---- bytes -------------------------------------------------------------------------- */

static enum reel_knowledge read_bytes(const struct value *value, uint64_t offset, size_t size,
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
	knowledge = read_bytes(value, first, (size_t)(last - first), bytes);
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

/* A number of the type's size, extended to 64 bits. */
static enum reel_knowledge read_number(const struct value *value, bool is_signed, uint64_t *ret)
{
	enum reel_knowledge knowledge;
	uint64_t size, bits;
	uint8_t bytes[8];

	if (!size_of(value->reader, &value->type, 0, &size) || !size || size > 8)
		return REEL_UNCLEAR;
	bits = value->bits ? value->bits : 8 * size;
	if (value->bits) {
		knowledge = read_bits(value, ret);
	} else {
		knowledge = read_bytes(value, 0, (size_t)size, bytes);
		if (!knowledge)
			*ret = reel_load_target(bytes, (unsigned)size, value->memory->big_endian);
	}
	if (!knowledge && is_signed)
		*ret = reel_sign_extend(*ret, (unsigned)bits);
	return knowledge;
}

/* ---- parts -------------------------------------------------------------------------- */

/* The part of a structure that is a member or a base class; false: not at a known place. */
static bool take_member(const struct value *value, const struct reel_full_die *member,
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
	type_of(value->reader, member, &ret->type);
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
	     !size_of(value->reader, &ret->type, 0, &storage)) ||
	    storage > 8 || number + size > 8 * storage)
		return false;
	ret->bit = value->memory->big_endian ? number : 8 * storage - number - size;
	return true;
}

static bool is_part(const struct reel_full_die *die)
{
	return (die->tag == DW_TAG_member || die->tag == DW_TAG_inheritance) &&
	       !reel_full_die_flag(die, DW_AT_external) &&
	       !reel_full_die_flag(die, DW_AT_declaration);
}

static bool take_element(const struct value *value, uint64_t index, struct value *ret)
{
	uint64_t size;

	*ret = *value;
	type_of(value->reader, &value->type, &ret->type);
	if (!ret->type.tag || !size_of(value->reader, &ret->type, 0, &size) ||
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

/*
 * The member that a structure's variant part has at present (DWARF 5, 5.7.10), of Rust's
 * enumerations with data.  Without a discriminant, there is one variant.
 */
static enum reel_knowledge find_variant(const struct value *value,
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
		if (!take_member(value, &die, &discriminant) || discriminant.bits ||
		    !size_of(value->reader, &discriminant.type, 0, &size))
			return REEL_UNCLEAR;
		knowledge = read_number(&discriminant, false, &number);
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

/* Makes the value that a pointer points to of the pointer. */
static enum reel_knowledge follow_pointer(struct value *value)
{
	struct reel_full_die target;
	enum reel_knowledge knowledge;
	uint64_t address = 0;

	if (!is_pointer(value->type.tag))
		return REEL_UNCLEAR;
	knowledge = read_number(value, false, &address);
	if (knowledge)
		return knowledge;
	type_of(value->reader, &value->type, &target);
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

	if (!is_structure(value->type.tag) || level == TYPES_MAX)
		return false;
	reel_die_walk_begin(&walk, value->reader, value->type.at);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		const char *own;
		struct value part;

		if (depth)
			reel_die_walk_skip(&walk, &die, depth);
		if (depth == 1 && die.tag == DW_TAG_variant_part &&
		    find_variant(value, &die, &variant) == REEL_KNOWN)
			die = variant;
		if (depth != 1 || !is_part(&die))
			continue;
		own = reel_full_die_name(&die);
		if (die.tag == DW_TAG_member && own && strlen(own) == size &&
		    !memcmp(own, name, size))
			return take_member(value, &die, ret);
		if ((die.tag == DW_TAG_inheritance || !own) && take_member(value, &die, &part) &&
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
	for (int i = 0; i < 2 && is_pointer(value->type.tag); i++) {
		knowledge = follow_pointer(value);
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

	if (is_pointer(value->type.tag)) {
		knowledge = follow_pointer(value);
		if (knowledge)
			return knowledge;
		if (!size_of(value->reader, &value->type, 0, &size) ||
		    __builtin_mul_overflow(size, index, &value->offset))
			return REEL_UNCLEAR;
		return REEL_KNOWN;
	}
	/* What follows an array is another variable. */
	if (value->type.tag != DW_TAG_array_type ||
	    (array_count(value->reader, &value->type, &count) && index >= count) ||
	    !take_element(value, index, &element))
		return REEL_UNCLEAR;
	*value = element;
	return REEL_KNOWN;
}

static enum reel_knowledge follow_path(struct value *value, const char *path)
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

/* ---- text --------------------------------------------------------------------------- */

static void append(struct printer *printer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct printer *printer, const char *format, ...)
{
	char text[SHOWN_NAME + 64];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (n > 0)
		reel_buffer_append(printer->text, text,
				   (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void fail(struct printer *printer, enum reel_knowledge knowledge)
{
	if (!printer->result->knowledge)
		printer->result->knowledge = knowledge;
}

static void print_character(struct printer *printer, uint8_t byte, char quote)
{
	if (byte == (uint8_t)quote || byte == '\\')
		append(printer, "\\%c", byte);
	else if (byte == '\n')
		append(printer, "\\n");
	else if (byte == '\t')
		append(printer, "\\t");
	else if (byte < ' ' || byte == 0x7f)
		append(printer, "\\%03o", byte);
	else
		append(printer, "%c", byte);
}

static void print_text(struct printer *printer, const uint8_t *bytes, size_t size, bool is_cut)
{
	append(printer, "\"");
	for (size_t i = 0; i < size; i++)
		print_character(printer, bytes[i], '"');
	append(printer, is_cut ? "\"..." : "\"");
}

static bool is_character(const struct reel_full_die *type)
{
	uint64_t encoding = 0, size = 0;

	return type->tag == DW_TAG_base_type &&
	       reel_full_die_number(type, DW_AT_encoding, &encoding) &&
	       reel_full_die_number(type, DW_AT_byte_size, &size) && size == 1 &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char ||
		encoding == DW_ATE_UTF);
}

/* ---- scalars ------------------------------------------------------------------------ */

static void print_float(const struct value *value, struct printer *printer)
{
	enum reel_knowledge knowledge;
	uint64_t size, bits;
	double wide;
	float narrow;

	/* Those of other sizes have other formats on each CPU. */
	if (!size_of(value->reader, &value->type, 0, &size) || (size != 4 && size != 8)) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	knowledge = read_number(value, false, &bits);
	if (knowledge) {
		fail(printer, knowledge);
	} else if (size == 8) {
		memcpy(&wide, &bits, sizeof(wide));
		append(printer, "%.17g", wide);
	} else {
		uint32_t half = (uint32_t)bits;

		memcpy(&narrow, &half, sizeof(narrow));
		append(printer, "%.9g", (double)narrow);
	}
}

static void set_number(struct printer *printer, unsigned depth, uint64_t number, bool is_signed)
{
	if (depth)
		return;
	printer->result->is_number = true;
	printer->result->is_signed = is_signed;
	printer->result->number = number;
}

static void print_base(const struct value *value, struct printer *printer, unsigned depth)
{
	enum reel_knowledge knowledge;
	uint64_t encoding = 0, number;
	bool is_signed;

	reel_full_die_number(&value->type, DW_AT_encoding, &encoding);
	if (encoding == DW_ATE_float) {
		print_float(value, printer);
		return;
	}
	is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	if (!is_signed && encoding != DW_ATE_unsigned && encoding != DW_ATE_unsigned_char &&
	    encoding != DW_ATE_boolean && encoding != DW_ATE_UTF && encoding != DW_ATE_address) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	knowledge = read_number(value, is_signed, &number);
	if (knowledge) {
		fail(printer, knowledge);
		return;
	}
	set_number(printer, depth, number, is_signed);
	if (encoding == DW_ATE_boolean && number <= 1)
		append(printer, "%s", number ? "true" : "false");
	else if (is_signed)
		append(printer, "%" PRId64, (int64_t)number);
	else
		append(printer, "%" PRIu64, number);
	if (is_character(&value->type)) {
		append(printer, " '");
		if ((number & 0xff) < 0x80)
			print_character(printer, (uint8_t)number, '\'');
		else
			append(printer, "\\%03o", (unsigned)(number & 0xff));
		append(printer, "'");
	}
}

static const char *enumerator_name(struct reel_die_reader *reader, const struct reel_full_die *type,
				   uint64_t number, uint64_t mask)
{
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;

	reel_die_walk_begin(&walk, reader, type->at);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		uint64_t value;

		if (die.tag == DW_TAG_enumerator &&
		    reel_full_die_number(&die, DW_AT_const_value, &value) &&
		    (value & mask) == (number & mask))
			return reel_full_die_name(&die);
	}
	return NULL;
}

static void print_enumeration(const struct value *value, struct printer *printer, unsigned depth)
{
	enum reel_knowledge knowledge;
	uint64_t number, size = 8;
	const char *name;

	knowledge = read_number(value, false, &number);
	if (knowledge) {
		fail(printer, knowledge);
		return;
	}
	size_of(value->reader, &value->type, 0, &size);
	set_number(printer, depth, number, false);
	name = enumerator_name(value->reader, &value->type, number,
			       size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1);
	if (name)
		append(printer, "%.*s", SHOWN_NAME, name);
	else
		append(printer, "%" PRIu64, number);
}

/* The text at an address, if it is captured up to its end. */
static bool read_text(const struct value *value, uint64_t address, uint8_t *ret, size_t *size_ret,
		      bool *cut_ret)
{
	for (size_t i = 0; i < TEXT_MAX; i++) {
		if (reel_value_memory_read(value->memory, address + i, 1, &ret[i]))
			return false;
		*size_ret = i;
		if (!ret[i])
			return true;
	}
	*size_ret = TEXT_MAX;
	*cut_ret = true;
	return true;
}

/* ---- texts of libraries ------------------------------------------------------------- */

/* Structures that are texts: a pointer to bytes, and their number. */
static const struct text_type {
	const char *name;
	bool is_template; /* arguments follow its name */
	const char *bytes, *size;
} text_types[] = {
	{ "&str", false, ".data_ptr", ".length" },
	{ "&mut str", false, ".data_ptr", ".length" },
	{ "alloc::boxed::Box<str", true, ".data_ptr", ".length" },
	{ "String", false, ".vec.buf.inner.ptr.pointer.pointer", ".vec.len" },
	{ "String", false, ".vec.buf.ptr.pointer.pointer", ".vec.len" }, /* before Rust 1.84 */
	{ "string", false, ".str", ".len" },				 /* Go */
	/* libstdc++; clang declares the type of _M_dataplus only, whose pointer is all it has. */
	{ "basic_string<char", true, "._M_dataplus._M_p", "._M_string_length" },
	{ "basic_string<char", true, "._M_dataplus", "._M_string_length" },
	{ "basic_string_view<char", true, "._M_str", "._M_len" },
	{ "basic_string_view<char", true, ".__data_", ".__size_" }, /* libc++ */
	{ "basic_string_view<char", true, ".__data", ".__size" },   /* before LLVM 15 */
};

static bool is_named(const char *name, const struct text_type *type)
{
	size_t size = strlen(type->name);

	return !strncmp(name, type->name, size) &&
	       (type->is_template ? name[size] == ',' || name[size] == '>' : !name[size]);
}

/* Makes a pointer to bytes of the part that is one; false: it is not. */
static bool take_bytes(struct value *value, uint64_t *ret, enum reel_knowledge *knowledge_ret)
{
	unsigned word = value->type.at.unit->format.address_size;
	struct reel_full_die target;
	uint64_t size = 0;
	uint8_t bytes[8];

	if (is_pointer(value->type.tag)) {
		type_of(value->reader, &value->type, &target);
		if (target.tag != DW_TAG_base_type ||
		    !reel_full_die_number(&target, DW_AT_byte_size, &size) || size != 1)
			return false;
	} else if (!reel_full_die_flag(&value->type, DW_AT_declaration) || word > sizeof(bytes)) {
		return false;
	}
	*knowledge_ret = read_bytes(value, 0, word, bytes);
	if (!*knowledge_ret)
		*ret = reel_load_target(bytes, word, value->memory->big_endian);
	return true;
}

/* A member of a structure; false: it has none of that name. */
static bool take_path(const struct value *from, const char *path, struct value *ret)
{
	*ret = *from;
	return follow_path(ret, path) == REEL_KNOWN;
}

/*
 * Whether a std::string of libc++ is a short one, which has its bytes itself, and their number.  Both
 * are bit fields since LLVM 15.  Before, they were one byte: the number in its upper bits and 1 for a
 * long string in the lowest, or the number in its lower bits and 1 in the highest.  This is the bit
 * that a long string's capacity can do without, as it is always even or below half of the address
 * space: the lowest one if the byte comes first on little-endian CPUs, or last (the alternate
 * layout, with the bytes first) on big-endian ones.
 */
static enum reel_knowledge read_short_size(const struct value *string, const struct value *bytes,
					   bool *is_short_ret, uint64_t *ret)
{
	bool is_alternate = bytes->offset == string->offset;
	bool is_lowest = is_alternate == string->memory->big_endian;
	enum reel_knowledge knowledge;
	struct value flag, size;
	uint64_t is_long = 0;

	if (!take_path(string, ".__s.__size_", &size))
		return REEL_UNCLEAR;
	knowledge = read_number(&size, false, ret);
	if (knowledge)
		return knowledge;
	if (take_path(string, ".__s.__is_long_", &flag)) {
		knowledge = read_number(&flag, false, &is_long);
	} else {
		is_long = *ret & (is_lowest ? 1 : 0x80);
		*ret = is_lowest ? *ret >> 1 : *ret;
	}
	*is_short_ret = !is_long;
	return knowledge;
}

/* Whether the structure is a std::string of libc++, and its bytes' address and number. */
static bool find_libcxx_string(const struct value *value, uint64_t *address_ret, uint64_t *size_ret,
			       enum reel_knowledge *knowledge_ret)
{
	struct value string, bytes, long_bytes, long_size;
	const struct reel_piece *piece = value->place.pieces;
	uint64_t room;
	bool is_short;

	if ((!take_path(value, ".__rep_", &string) &&
	     !take_path(value, ".__r_.__value_", &string)) || /* before LLVM 20 */
	    !take_path(&string, ".__s.__data_", &bytes) ||
	    !take_path(&string, ".__l.__data_", &long_bytes) ||
	    !take_path(&string, ".__l.__size_", &long_size) ||
	    long_size.type.tag != DW_TAG_base_type || !is_pointer(long_bytes.type.tag) ||
	    !size_of(value->reader, &bytes.type, 0, &room) || value->place.n != 1 ||
	    piece->kind != REEL_PIECE_MEMORY || value->has_number || value->constant.data)
		return false;
	*knowledge_ret = read_short_size(&string, &bytes, &is_short, size_ret);
	if (*knowledge_ret)
		return true;
	if (is_short) {
		*address_ret = piece->number + bytes.offset;
		/* There is a zero after them. */
		*knowledge_ret = *size_ret < room ? REEL_KNOWN : REEL_UNCLEAR;
		return true;
	}
	*knowledge_ret = read_number(&long_size, false, size_ret);
	if (!*knowledge_ret)
		*knowledge_ret = read_number(&long_bytes, false, address_ret);
	return true;
}

/* Whether the structure is such a text, and its bytes' address and number if they are known. */
static bool find_text(const struct value *value, uint64_t *address_ret, uint64_t *size_ret,
		      enum reel_knowledge *knowledge_ret)
{
	const char *name = is_structure(value->type.tag) ? reel_full_die_name(&value->type) : NULL;

	for (size_t i = 0; name && i < sizeof(text_types) / sizeof(*text_types); i++) {
		struct value bytes = *value, size = *value;

		if (!is_named(name, &text_types[i]) || follow_path(&bytes, text_types[i].bytes) ||
		    follow_path(&size, text_types[i].size) || size.type.tag != DW_TAG_base_type ||
		    !take_bytes(&bytes, address_ret, knowledge_ret))
			continue;
		if (!*knowledge_ret)
			*knowledge_ret = read_number(&size, false, size_ret);
		return true;
	}
	return name && !strncmp(name, "basic_string<char,", 18) &&
	       find_libcxx_string(value, address_ret, size_ret, knowledge_ret);
}

static void print_found_text(const struct value *value, struct printer *printer, uint64_t address,
			     uint64_t size)
{
	size_t shown = size < TEXT_MAX ? (size_t)size : TEXT_MAX;
	uint8_t bytes[TEXT_MAX];

	if (!reel_value_memory_read(value->memory, address, shown, bytes))
		print_text(printer, bytes, shown, shown < size);
	else
		append(printer, "0x%" PRIx64 " <%" PRIu64 " bytes not captured>", address, size);
}

/* ---- pointers ----------------------------------------------------------------------- */

static void print_pointer(const struct value *value, struct printer *printer, unsigned depth)
{
	struct reel_full_die target;
	uint8_t bytes[TEXT_MAX];
	enum reel_knowledge knowledge;
	uint64_t address, start, length;
	struct value text = *value;
	bool is_cut = false;
	size_t size;

	knowledge = read_number(value, false, &address);
	if (knowledge) {
		fail(printer, knowledge);
		return;
	}
	set_number(printer, depth, address, false);
	append(printer, value->type.tag == DW_TAG_pointer_type ? "0x%" PRIx64 : "@0x%" PRIx64,
	       address);
	type_of(value->reader, &value->type, &target);
	if (address && is_character(&target) && read_text(value, address, bytes, &size, &is_cut)) {
		append(printer, " ");
		print_text(printer, bytes, size, is_cut);
	} else if (address && follow_pointer(&text) == REEL_KNOWN &&
		   find_text(&text, &start, &length, &knowledge) && !knowledge &&
		   !reel_value_memory_read(value->memory, start,
					   length < TEXT_MAX ? (size_t)length : TEXT_MAX, bytes)) {
		append(printer, " ");
		print_found_text(value, printer, start, length);
	}
}

/* ---- structures and arrays ---------------------------------------------------------- */

static void print_value(const struct value *value, struct printer *printer, unsigned depth);

/* Of a part that is not printed: it must be known like the others. */
static void print_rest(const struct value *value, struct printer *printer)
{
	enum reel_knowledge knowledge = REEL_KNOWN;
	uint8_t bytes[64];
	uint64_t size;

	if (!size_of(value->reader, &value->type, 0, &size) || size > REST_MAX) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	for (uint64_t at = 0; at < size && !knowledge; at += sizeof(bytes))
		knowledge = read_bytes(
			value, at, size - at < sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes),
			bytes);
	if (knowledge)
		fail(printer, knowledge);
	append(printer, "...");
}

/* The present variant's name, and its members if it has any. */
static void print_variant(const struct value *value, const struct reel_full_die *variants,
			  struct printer *printer, unsigned depth)
{
	struct reel_full_die variant;
	enum reel_knowledge knowledge = find_variant(value, variants, &variant);
	const char *name = knowledge ? NULL : reel_full_die_name(&variant);
	struct value part;
	size_t begin;

	if (!name || !take_member(value, &variant, &part)) {
		fail(printer, knowledge ? knowledge : REEL_UNCLEAR);
		return;
	}
	append(printer, "%.*s", SHOWN_NAME, name);
	begin = printer->text->size;
	append(printer, " ");
	print_value(&part, printer, depth + 1);
	if (!printer->text->failed && printer->text->size == begin + 3 &&
	    !memcmp(printer->text->bytes + begin, " {}", 3))
		printer->text->size = begin;
}

static void print_structure(const struct value *value, struct printer *printer, unsigned depth)
{
	size_t begin = printer->text->size;
	enum reel_knowledge knowledge;
	struct reel_die_walk walk;
	struct reel_full_die die;
	uint64_t address, size;
	unsigned level, n = 0;
	struct value part;

	if (find_text(value, &address, &size, &knowledge)) {
		if (knowledge)
			fail(printer, knowledge);
		else
			print_found_text(value, printer, address, size);
		if (!knowledge && !depth)
			printer->result->number = address;
		return;
	}
	/* Declared only. */
	if (reel_full_die_flag(&value->type, DW_AT_declaration)) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	append(printer, "{");
	reel_die_walk_begin(&walk, value->reader, value->type.at);
	while (reel_die_walk_next(&walk, &die, &level)) {
		const char *name;

		if (level)
			reel_die_walk_skip(&walk, &die, level);
		if (level == 1 && die.tag == DW_TAG_variant_part) {
			printer->text->size = begin;
			print_variant(value, &die, printer, depth);
			return;
		}
		if (level != 1 || !is_part(&die))
			continue;
		if (n++ == MEMBERS_MAX || depth >= DEPTH_MAX) {
			print_rest(value, printer);
			break;
		}
		name = reel_full_die_name(&die);
		append(printer, n > 1 ? ", " : "");
		if (die.tag == DW_TAG_member && name)
			append(printer, "%.*s = ", SHOWN_NAME, name);
		if (take_member(value, &die, &part))
			print_value(&part, printer, depth + 1);
		else
			fail(printer, REEL_UNCLEAR);
	}
	append(printer, "}");
}

static void print_array(const struct value *value, struct printer *printer, unsigned depth)
{
	struct value element;
	uint8_t bytes[TEXT_MAX];
	enum reel_knowledge knowledge;
	uint64_t count;
	size_t size;

	if (reel_full_die_flag(&value->type, DW_AT_GNU_vector) ||
	    !array_count(value->reader, &value->type, &count) ||
	    !take_element(value, 0, &element)) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	if (is_character(&element.type)) {
		size = count < TEXT_MAX ? (size_t)count : TEXT_MAX;
		knowledge = read_bytes(value, 0, size, bytes);
		if (knowledge)
			fail(printer, knowledge);
		else
			print_text(printer, bytes, strnlen((char *)bytes, size),
				   count > TEXT_MAX && strnlen((char *)bytes, size) == size);
		return;
	}
	append(printer, "{");
	for (uint64_t i = 0; i < count; i++) {
		append(printer, i ? ", " : "");
		if (i == ELEMENTS_MAX || depth >= DEPTH_MAX) {
			print_rest(value, printer);
			break;
		}
		if (take_element(value, i, &element))
			print_value(&element, printer, depth + 1);
	}
	append(printer, "}");
}

static void print_value(const struct value *value, struct printer *printer, unsigned depth)
{
	switch (value->type.tag) {
	case DW_TAG_base_type:
		print_base(value, printer, depth);
		return;
	case DW_TAG_enumeration_type:
		print_enumeration(value, printer, depth);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		print_pointer(value, printer, depth);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		print_structure(value, printer, depth);
		return;
	case DW_TAG_array_type:
		print_array(value, printer, depth);
		return;
	default:
		fail(printer, REEL_UNCLEAR);
	}
}

/* ---- variables ---------------------------------------------------------------------- */

static void take_constant(const struct reel_place *place, struct value *value)
{
	const struct reel_form_value *constant = &place->constant;

	if (constant->bytes)
		value->constant = (struct reel_bytes){ constant->bytes, (size_t)constant->number };
	else
		value->has_number = true;
	value->number = constant->number;
	/* A string has its end, which is not counted. */
	if (constant->form == DW_FORM_string)
		value->constant.size++;
}

static struct reel_error *take_variable(const struct reel_value_frames *frames, size_t frame,
					const struct reel_place *place, struct value *value,
					enum reel_knowledge *ret)
{
	const struct reel_value_frame *it = &frames->all[frame];
	uint64_t size;

	memset(value, 0, sizeof(*value));
	*ret = REEL_NOT_CAPTURED;
	if (!it->state)
		return NULL;
	value->memory = it->state->memory;
	value->reader = reel_variables_reader(it->variables);
	value->place.frames = frames;
	value->place.frame = frame;
	*ret = REEL_UNCLEAR;
	if (place->unreadable || !place->type.unit ||
	    !reel_full_die_read(value->reader, place->type, &value->type))
		return NULL;
	strip(value->reader, &value->type);
	*ret = REEL_KNOWN;
	if (place->constant.form) {
		take_constant(place, value);
		return NULL;
	}
	TRY(reel_location_evaluate(frames, frame, place, &value->place, ret));
	if (size_of(value->reader, &value->type, 0, &size))
		value->place.whole = size;
	return NULL;
}

static struct reel_error *print(const struct reel_value_frames *frames, size_t frame,
				const struct reel_place *place, const char *path,
				struct reel_buffer *text, struct reel_value_result *ret)
{
	struct printer printer = { text, ret };
	size_t before = text->size;
	struct value value;

	*ret = (struct reel_value_result){ 0 };
	TRY(take_variable(frames, frame, place, &value, &ret->knowledge));
	if (!ret->knowledge)
		ret->knowledge = follow_path(&value, path);
	if (!ret->knowledge)
		print_value(&value, &printer, 0);
	if (ret->knowledge) {
		text->size = before;
		ret->is_number = false;
	}
	return text->failed ? reel_error_no_memory() : NULL;
}

struct reel_error *reel_value_print(const struct reel_value_frames *frames, size_t frame,
				    const struct reel_place *place, const char *path,
				    struct reel_buffer *text, struct reel_value_result *ret)
{
	struct reel_variables *variables = frames->all[frame].variables;
	struct reel_die_reader *reader = variables ? reel_variables_reader(variables) : NULL;
	struct reel_error *error;
	uint64_t left;

	*ret = (struct reel_value_result){ .knowledge = REEL_NOT_CAPTURED };
	if (!reader)
		return NULL;
	/* Results must not depend on how many values were printed before. */
	left = reader->work_left;
	reader->work_left = WORK_MAX;
	reader->failed = false;
	error = print(frames, frame, place, path, text, ret);
	reader->work_left = left;
	return error;
}
