/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "replay/values/value_internal.h"

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

	if (reel_value_is_pointer(value->type.tag)) {
		reel_value_type_of(value->reader, &value->type, &target);
		if (target.tag != DW_TAG_base_type ||
		    !reel_full_die_number(&target, DW_AT_byte_size, &size) || size != 1)
			return false;
	} else if (!reel_full_die_flag(&value->type, DW_AT_declaration) || word > sizeof(bytes)) {
		return false;
	}
	*knowledge_ret = reel_value_read_bytes(value, 0, word, bytes);
	if (!*knowledge_ret)
		*ret = reel_load_target(bytes, word, value->memory->big_endian);
	return true;
}

/* A member of a structure; false: it has none of that name. */
static bool take_path(const struct value *from, const char *path, struct value *ret)
{
	*ret = *from;
	return reel_value_follow_path(ret, path) == REEL_KNOWN;
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
	knowledge = reel_value_read_number(&size, false, ret);
	if (knowledge)
		return knowledge;
	if (take_path(string, ".__s.__is_long_", &flag)) {
		knowledge = reel_value_read_number(&flag, false, &is_long);
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
	    long_size.type.tag != DW_TAG_base_type || !reel_value_is_pointer(long_bytes.type.tag) ||
	    !reel_value_size_of(value->reader, &bytes.type, 0, &room) || value->place.n != 1 ||
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
	*knowledge_ret = reel_value_read_number(&long_size, false, size_ret);
	if (!*knowledge_ret)
		*knowledge_ret = reel_value_read_number(&long_bytes, false, address_ret);
	return true;
}

bool reel_value_find_text(const struct value *value, uint64_t *address_ret, uint64_t *size_ret,
			  enum reel_knowledge *knowledge_ret)
{
	const char *name =
		reel_value_is_structure(value->type.tag) ? reel_full_die_name(&value->type) : NULL;

	for (size_t i = 0; name && i < sizeof(text_types) / sizeof(*text_types); i++) {
		struct value bytes = *value, size = *value;

		if (!is_named(name, &text_types[i]) ||
		    reel_value_follow_path(&bytes, text_types[i].bytes) ||
		    reel_value_follow_path(&size, text_types[i].size) ||
		    size.type.tag != DW_TAG_base_type ||
		    !take_bytes(&bytes, address_ret, knowledge_ret))
			continue;
		if (!*knowledge_ret)
			*knowledge_ret = reel_value_read_number(&size, false, size_ret);
		return true;
	}
	return name && !strncmp(name, "basic_string<char,", 18) &&
	       find_libcxx_string(value, address_ret, size_ret, knowledge_ret);
}
