/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "replay/values/value.h"
#include "replay/values/value_internal.h"

/* What is printed of a structure or array, and of a text. */
#define DEPTH_MAX    3
#define MEMBERS_MAX  24
#define ELEMENTS_MAX 8
#define TEXT_MAX     200
#define REST_MAX     65536
/* Bytes of debug information that one value may need: types, and a call. */
#define WORK_MAX   (16u << 20)
#define SHOWN_NAME 256

struct printer {
	struct reel_buffer *text;
	struct reel_value_result *result;
};

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
	if (!reel_value_size_of(value->reader, &value->type, 0, &size) ||
	    (size != 4 && size != 8)) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	knowledge = reel_value_read_number(value, false, &bits);
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
	knowledge = reel_value_read_number(value, is_signed, &number);
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

	knowledge = reel_value_read_number(value, false, &number);
	if (knowledge) {
		fail(printer, knowledge);
		return;
	}
	reel_value_size_of(value->reader, &value->type, 0, &size);
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

	knowledge = reel_value_read_number(value, false, &address);
	if (knowledge) {
		fail(printer, knowledge);
		return;
	}
	set_number(printer, depth, address, false);
	append(printer, value->type.tag == DW_TAG_pointer_type ? "0x%" PRIx64 : "@0x%" PRIx64,
	       address);
	reel_value_type_of(value->reader, &value->type, &target);
	if (address && is_character(&target) && read_text(value, address, bytes, &size, &is_cut)) {
		append(printer, " ");
		print_text(printer, bytes, size, is_cut);
	} else if (address && reel_value_follow_pointer(&text) == REEL_KNOWN &&
		   reel_value_find_text(&text, &start, &length, &knowledge) && !knowledge &&
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

	if (!reel_value_size_of(value->reader, &value->type, 0, &size) || size > REST_MAX) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	for (uint64_t at = 0; at < size && !knowledge; at += sizeof(bytes))
		knowledge = reel_value_read_bytes(
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
	enum reel_knowledge knowledge = reel_value_find_variant(value, variants, &variant);
	const char *name = knowledge ? NULL : reel_full_die_name(&variant);
	struct value part;
	size_t begin;

	if (!name || !reel_value_take_member(value, &variant, &part)) {
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

	if (reel_value_find_text(value, &address, &size, &knowledge)) {
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
		if (level != 1 || !reel_value_is_part(&die))
			continue;
		if (n++ == MEMBERS_MAX || depth >= DEPTH_MAX) {
			print_rest(value, printer);
			break;
		}
		name = reel_full_die_name(&die);
		append(printer, n > 1 ? ", " : "");
		if (die.tag == DW_TAG_member && name)
			append(printer, "%.*s = ", SHOWN_NAME, name);
		if (reel_value_take_member(value, &die, &part))
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
	    !reel_value_array_count(value->reader, &value->type, &count) ||
	    !reel_value_take_element(value, 0, &element)) {
		fail(printer, REEL_UNCLEAR);
		return;
	}
	if (is_character(&element.type)) {
		size = count < TEXT_MAX ? (size_t)count : TEXT_MAX;
		knowledge = reel_value_read_bytes(value, 0, size, bytes);
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
		if (reel_value_take_element(value, i, &element))
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
	reel_value_strip_type(value->reader, &value->type);
	*ret = REEL_KNOWN;
	if (place->constant.form) {
		take_constant(place, value);
		return NULL;
	}
	TRY(reel_location_evaluate(frames, frame, place, &value->place, ret));
	if (reel_value_size_of(value->reader, &value->type, 0, &size))
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
		ret->knowledge = reel_value_follow_path(&value, path);
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
