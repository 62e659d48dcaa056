/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "cfi/cfi_entry.h"
#include "base/dwarf_cursor.h"

/* DW_EH_PE_*: LSB Core 5.0, 10.5.1.  Some versions of elfutils' dwarf.h define only some. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_APPLICATION = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

static uint64_t address_mask(const struct cfi_data *data)
{
	return data->arch->word_size == 8 ? UINT64_MAX : UINT32_MAX;
}

unsigned reel_cfi_pointer_size(const struct cfi_data *data, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_SIGNED:
		return data->arch->word_size;
	case PE_UDATA2:
	case PE_SDATA2:
		return 2;
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* The stored number, before adding its base. */
static bool read_format(const struct cfi_data *data, struct reel_cursor *cursor, uint8_t encoding,
			uint64_t *ret)
{
	unsigned size = reel_cfi_pointer_size(data, encoding);

	if (size) {
		*ret = reel_cursor_target(cursor, size, data->big_endian);
		if (encoding & PE_SIGNED)
			*ret = reel_sign_extend(*ret, size * 8);
	} else if ((encoding & PE_FORMAT) == PE_ULEB128) {
		*ret = reel_cursor_uleb(cursor);
	} else if ((encoding & PE_FORMAT) == PE_SLEB128) {
		*ret = (uint64_t)reel_cursor_sleb(cursor);
	} else {
		return false;
	}
	return !cursor->failed;
}

/* The ELF address of the cursor's position. */
static uint64_t cursor_address(const struct cfi_data *data, const struct reel_cursor *cursor)
{
	return data->section.address + (uint64_t)(cursor->at - data->section.bytes);
}

bool reel_cfi_pointer(const struct cfi_data *data, struct reel_cursor *cursor, uint8_t encoding,
		      uint64_t *ret)
{
	uint64_t base = 0;

	if (encoding == PE_OMIT || encoding & PE_INDIRECT)
		return false;
	switch (encoding & PE_APPLICATION) {
	case 0:
		break;
	case PE_PCREL:
		base = cursor_address(data, cursor);
		break;
	case PE_TEXTREL:
		base = data->text_base;
		break;
	case PE_DATAREL:
		base = data->data_base;
		break;
	case PE_ALIGNED:
		reel_cursor_take(cursor, -cursor_address(data, cursor) % data->arch->word_size);
		break;
	default:
		return false;
	}
	if (!read_format(data, cursor, encoding, ret))
		return false;
	*ret = (*ret + base) & address_mask(data);
	return true;
}

/* Skips a pointer whose value is irrelevant (a personality routine). */
static bool skip_pointer(const struct cfi_data *data, struct reel_cursor *cursor, uint8_t encoding)
{
	uint64_t ignored;

	if (encoding == PE_OMIT)
		return true;
	if ((encoding & PE_APPLICATION) == PE_ALIGNED)
		return reel_cfi_pointer(data, cursor, PE_ALIGNED, &ignored);
	return read_format(data, cursor, encoding, &ignored);
}

/* ---- entries ---------------------------------------------------------------- */

enum cfi_entry_found reel_cfi_entry_at(const struct cfi_data *data, uint64_t offset,
				       struct cfi_entry *ret)
{
	const struct reel_loaded_bytes *section = &data->section;
	struct reel_cursor cursor;
	uint64_t length, id, id_offset;
	unsigned id_size;

	if (offset >= section->size)
		return CFI_ENTRY_END;
	cursor = reel_cursor(section->bytes + offset, section->size - offset);
	length = reel_cursor_target(&cursor, 4, data->big_endian);
	ret->offset = offset;
	ret->offset_size = 4;
	if (length == 0xffffffff) {
		length = reel_cursor_target(&cursor, 8, data->big_endian);
		ret->offset_size = 8;
	}
	if (cursor.failed || length > reel_cursor_left(&cursor))
		return CFI_ENTRY_END;
	ret->next = offset + reel_cursor_offset(&cursor) + length;
	if (!length)
		return CFI_ENTRY_TERMINATOR;
	cursor.end = cursor.at + length;
	id_offset = offset + reel_cursor_offset(&cursor);
	/* In .eh_frame the id has 4 bytes for any size of the length (LSB Core 5.0, 10.6.1). */
	id_size = data->is_eh ? 4 : ret->offset_size;
	id = reel_cursor_target(&cursor, id_size, data->big_endian);
	ret->is_cie = id == (data->is_eh ? 0 : id_size == 8 ? UINT64_MAX : UINT32_MAX);
	/* A distance back from itself in .eh_frame, an offset in .debug_frame. */
	ret->cie_offset = data->is_eh ? id_offset - id : id;
	ret->body = cursor;
	if (cursor.failed) {
		/* Too short for an id: the entry is empty. */
		ret->is_cie = true;
		ret->body.at = ret->body.end;
	}
	return CFI_ENTRY_FOUND;
}

/* "zPLRSBG" are all existing letters. */
#define AUGMENTATION_MAX 64

/* The augmentation string's letters; `size_ret` does not count the final 0. */
static const char *take_string(struct reel_cursor *cursor, size_t *size_ret)
{
	size_t size = reel_cursor_left(cursor);
	size_t left = size < AUGMENTATION_MAX ? size : AUGMENTATION_MAX;
	const uint8_t *end = left ? memchr(cursor->at, 0, left) : NULL;
	const uint8_t *string = cursor->at;

	if (!end) {
		reel_cursor_fail(cursor);
		return NULL;
	}
	*size_ret = (size_t)(end - string);
	cursor->at = end + 1;
	return (const char *)string;
}

static const char *parse_augmentation_data(const struct cfi_data *data, struct reel_cursor *cursor,
					   const char *letters, size_t n, struct cfi_cie *ret)
{
	for (size_t i = 0; i < n; i++) {
		switch (letters[i]) {
		case 'L':
			reel_cursor_u8(cursor);
			break;
		case 'P':
			if (!skip_pointer(data, cursor, reel_cursor_u8(cursor)))
				return "malformed personality pointer in its CIE";
			ret->has_personality = true;
			break;
		case 'R':
			ret->fde_encoding = reel_cursor_u8(cursor);
			break;
		case 'S':
			ret->signal_frame = true;
			break;
		case 'B': /* aarch64: return addresses are signed with the B key */
		case 'G': /* aarch64: memory tagging of the stack */
			break;
		default:
			/* Its data, and all that follows, is of unknown size; 'z' gives the end of
			 * all. */
			return NULL;
		}
	}
	return cursor->failed ? "the augmentation data of its CIE ends too early" : NULL;
}

static const char *parse_augmentation(const struct cfi_data *data, struct reel_cursor *cursor,
				      const char *string, size_t n, struct cfi_cie *ret)
{
	struct reel_cursor inner;
	const uint8_t *bytes;
	const char *problem;
	uint64_t size;

	if (!n)
		return NULL;
	if (string[0] != 'z')
		return "unknown augmentation in its CIE: does not begin with z";
	size = reel_cursor_uleb(cursor);
	bytes = reel_cursor_take(cursor, size);
	if (!bytes)
		return "the augmentation data of its CIE exceeds the CIE";
	inner = reel_cursor(bytes, size);
	problem = parse_augmentation_data(data, &inner, string + 1, n - 1, ret);
	ret->has_augmentation_size = true;
	return problem;
}

const char *reel_cfi_cie_parse(const struct cfi_data *data, uint64_t offset, struct cfi_cie *ret)
{
	const char *string, *problem;
	struct cfi_entry entry;
	struct reel_cursor *body = &entry.body;
	uint8_t version;
	size_t n = 0;

	*ret = (struct cfi_cie){ .address_size = data->arch->word_size };
	if (reel_cfi_entry_at(data, offset, &entry) != CFI_ENTRY_FOUND || !entry.is_cie)
		return "its CIE pointer does not point to a CIE";
	version = reel_cursor_u8(body);
	if (version != 1 && version != 3 && version != 4)
		return "unknown version of its CIE (expected 1, 3 or 4)";
	string = take_string(body, &n);
	if (!string)
		return "unterminated augmentation string in its CIE";
	/* GCC 2's "eh": a pointer to exception data follows. */
	if (n >= 2 && !memcmp(string, "eh", 2)) {
		reel_cursor_take(body, data->arch->word_size);
		string += 2;
		n -= 2;
	}
	if (version == 4) {
		ret->address_size = reel_cursor_u8(body);
		ret->segment_size = reel_cursor_u8(body);
		if (!ret->address_size || ret->address_size > 8 || ret->segment_size > 8)
			return "invalid address or segment size in its CIE (expected 1 to 8 bytes)";
	}
	ret->code_align = reel_cursor_uleb(body);
	ret->data_align = reel_cursor_sleb(body);
	ret->return_column = version == 1 ? reel_cursor_u8(body) : reel_cursor_uleb(body);
	problem = parse_augmentation(data, body, string, n, ret);
	if (problem)
		return problem;
	if (body->failed)
		return "its CIE ends within its fields";
	ret->program = body->at;
	ret->program_size = reel_cursor_left(body);
	return NULL;
}

/* .debug_frame has plain addresses of the CIE's address size. */
static bool read_range(const struct cfi_data *data, struct reel_cursor *cursor,
		       const struct cfi_cie *cie, struct cfi_fde *ret)
{
	if (!data->is_eh) {
		reel_cursor_take(cursor, cie->segment_size);
		ret->begin = reel_cursor_target(cursor, cie->address_size, data->big_endian);
		ret->size = reel_cursor_target(cursor, cie->address_size, data->big_endian);
		return !cursor->failed;
	}
	if (!reel_cfi_pointer(data, cursor, cie->fde_encoding, &ret->begin))
		return false;
	return read_format(data, cursor, cie->fde_encoding, &ret->size);
}

const char *reel_cfi_fde_parse(const struct cfi_data *data, const struct cfi_entry *entry,
			       const struct cfi_cie *cie, struct cfi_fde *ret)
{
	struct reel_cursor body = entry->body;

	*ret = (struct cfi_fde){ .cie = *cie };
	if (!read_range(data, &body, cie, ret)) {
		ret->begin = ret->size = 0;
		return "malformed address range";
	}
	if (cie->has_augmentation_size)
		reel_cursor_take(&body, reel_cursor_uleb(&body));
	if (body.failed)
		return "its augmentation data exceeds it";
	ret->program = body.at;
	ret->program_size = reel_cursor_left(&body);
	return NULL;
}

const char *reel_cfi_fde_at(const struct cfi_data *data, uint64_t offset, struct cfi_fde *ret)
{
	const char *problem, *fde_problem;
	struct cfi_entry entry;
	struct cfi_cie cie;

	*ret = (struct cfi_fde){ 0 };
	if (reel_cfi_entry_at(data, offset, &entry) != CFI_ENTRY_FOUND || entry.is_cie)
		return "malformed";
	problem = reel_cfi_cie_parse(data, entry.cie_offset, &cie);
	fde_problem = reel_cfi_fde_parse(data, &entry, &cie, ret);
	return problem ? problem : fde_problem;
}
