/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>
#include <elf.h>

#include "base/dwarf_cursor.h"
#include "cfi/frame_writer.h"
#include "cfi/sframe.h"

#define MAGIC	    0xdee2
#define HEADER_SIZE 28

enum {
	FLAG_START_PCREL = 1 << 2,

	ABI_AARCH64_BIG = 1,
	ABI_AARCH64_LITTLE = 2,
	ABI_AMD64 = 3,
	ABI_S390X = 4,

	/* FDE info */
	INFO_FRE_TYPE = 0xf, /* log2 of the size of FREs' start addresses */
	INFO_MASK = 1 << 4,  /* FREs repeat in blocks: the stubs of a PLT */
	INFO_SIGNAL = 1 << 7,
	/* version 3: the type, and the only one besides 0 */
	INFO2_TYPE = 0x1f,
	TYPE_FLEXIBLE = 1,

	/* FRE info */
	FRE_BASE_SP = 1 << 0,
	FRE_MANGLED_RA = 1 << 7, /* AArch64 */
	FRE_WORDS_MAX = 15,

	/* control word of a flexible FRE: a register instead of the CFA; the value is in memory */
	CONTROL_REGISTER = 1 << 0,
	CONTROL_DEREF = 1 << 1,
	CONTROL_NUMBER_SHIFT = 3,
};

/* s390x: version 2 marks a register's number by the lowest bit; CFA offsets are stored less the
 * 160 bytes of the register save area, in words. */
#define S390X_IS_REGISTER 1
#define S390X_SAVE_AREA	  160
#define S390X_WORD	  8

/*
 * An FRE has 3 bytes or more, and up to 30 here; a stub of a PLT has 8 or 16 bytes of code and none
 * of its own in .sframe.  Large programs have PLTs of 1 MiB.
 */
#define GROWTH_MAX 16
#define STUBS_MAX  (4u << 20)

struct reader {
	const struct cfi_data *data;
	const uint8_t *bytes;
	uint64_t size;
	unsigned version;
	uint64_t entry;
	uint8_t flags;
	int8_t fixed_fp, fixed_ra; /* offsets from the CFA; 0: none */
	uint64_t fdes, n_fdes;
	uint64_t fres, fres_end;
	struct frame_writer writer;
	size_t limit;		  /* of the result */
	uint32_t cie, signal_cie; /* offsets; UINT32_MAX: not written yet */
};

struct function {
	uint64_t begin, size;
	uint64_t fre, n_fres;
	uint8_t info, type, block; /* block: size of a repeated block */
};

struct fre {
	uint64_t start;
	uint8_t info;
	unsigned n, word_size;
	int64_t words[FRE_WORDS_MAX];
};

/* A rule of the return address or frame pointer. */
struct rule {
	bool tracked, from_register, deref;
	uint64_t number;
	int64_t offset;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* False if the bytes are not in the section before `end`. */
static bool take(const struct reader *reader, uint64_t *at, uint64_t end, unsigned size,
		 uint64_t *ret)
{
	if (end > reader->size || *at > end || end - *at < size)
		return false;
	*ret = reel_load_target(reader->bytes + *at, size, reader->data->big_endian);
	*at += size;
	return true;
}

static bool is_abi(const struct reader *reader, uint64_t abi)
{
	bool big_endian = reader->data->big_endian;

	switch (reader->data->arch->elf_machine) {
	case EM_X86_64:
		return abi == ABI_AMD64 && !big_endian && reader->data->arch->word_size == 8;
	case EM_AARCH64:
		return abi == (big_endian ? ABI_AARCH64_BIG : ABI_AARCH64_LITTLE);
	case EM_S390:
		return abi == ABI_S390X && big_endian && reader->data->arch->word_size == 8;
	default:
		return false;
	}
}

static bool read_header(struct reader *reader)
{
	uint64_t at = 0, end = reader->size, abi = 0, fields[8], offsets[5];

	for (unsigned i = 0; i < 7; i++) {
		if (!take(reader, &at, end, i ? 1 : 2, &fields[i]))
			return false;
	}
	for (unsigned i = 0; i < 5; i++) {
		if (!take(reader, &at, end, 4, &offsets[i]))
			return false;
	}
	abi = fields[3];
	reader->version = (unsigned)fields[1];
	reader->flags = (uint8_t)fields[2];
	reader->fixed_fp = (int8_t)fields[4];
	reader->fixed_ra = (int8_t)fields[5];
	if (fields[0] != MAGIC || (reader->version != 2 && reader->version != 3) ||
	    !is_abi(reader, abi))
		return false;
	/* Offsets count from the end of the header and its auxiliary part. */
	at += fields[6];
	reader->n_fdes = offsets[0];
	reader->fdes = at + offsets[3];
	reader->fres = at + offsets[4];
	reader->fres_end = reader->fres + offsets[2];
	if (reader->fres_end > end)
		reader->fres_end = end;
	return reader->fdes <= end && reader->fres <= end;
}

/* False past the section's end.  An FDE whose parts are elsewhere and cannot be read has no FREs. */
static bool read_function(const struct reader *reader, uint64_t index, struct function *ret)
{
	bool is_3 = reader->version == 3;
	uint64_t at = reader->fdes + index * (is_3 ? 16 : 20), end = reader->size, place = at;
	uint64_t start, size, fre, n = 0, info = 0, info2 = 0, block = 0;

	if (!take(reader, &at, end, is_3 ? 8 : 4, &start) || !take(reader, &at, end, 4, &size) ||
	    !take(reader, &at, end, 4, &fre))
		return false;
	fre += reader->fres;
	if (is_3) {
		if (!take(reader, &fre, reader->fres_end, 2, &n) ||
		    !take(reader, &fre, reader->fres_end, 1, &info) ||
		    !take(reader, &fre, reader->fres_end, 1, &info2) ||
		    !take(reader, &fre, reader->fres_end, 1, &block))
			n = 0;
	} else {
		start = reel_sign_extend(start, 32);
		if (!take(reader, &at, end, 4, &n) || !take(reader, &at, end, 1, &info) ||
		    !take(reader, &at, end, 1, &block))
			return false;
		info &= ~(uint64_t)INFO_SIGNAL; /* unused */
	}
	if (!(reader->flags & FLAG_START_PCREL))
		place = 0;
	*ret = (struct function){
		.begin = reader->data->section.address + place + start,
		.size = size,
		.fre = fre,
		.n_fres = n,
		.info = (uint8_t)info,
		.type = info2 & INFO2_TYPE,
		.block = (uint8_t)block,
	};
	return true;
}

static bool read_fre(const struct reader *reader, const struct function *function, uint64_t *at,
		     struct fre *ret)
{
	unsigned type = function->info & INFO_FRE_TYPE, size;
	uint64_t info, word;

	if (type > 2 || !take(reader, at, reader->fres_end, 1u << type, &ret->start) ||
	    !take(reader, at, reader->fres_end, 1, &info))
		return false;
	ret->info = (uint8_t)info;
	ret->n = info >> 1 & FRE_WORDS_MAX;
	size = info >> 5 & 3;
	ret->word_size = 1u << size;
	if (size > 2)
		return false;
	for (unsigned i = 0; i < ret->n; i++) {
		if (!take(reader, at, reader->fres_end, ret->word_size, &word))
			return false;
		ret->words[i] = (int64_t)reel_sign_extend(word, 8 * ret->word_size);
	}
	return true;
}

/* ---- rules -------------------------------------------------------------------------------- */

static void put(struct reader *reader, uint8_t op, uint64_t reg)
{
	reel_buffer_u8(reader->writer.out, op);
	reel_buffer_uleb(reader->writer.out, reg);
}

static void put_offset(struct reader *reader, uint8_t op, uint64_t reg, int64_t offset)
{
	put(reader, op, reg);
	reel_frame_put_sleb(&reader->writer, offset);
}

/* A block: the register plus the offset; with `deref`, the word there. */
static void put_expression(struct reader *reader, uint64_t number, int64_t offset, bool deref)
{
	uint8_t bytes[32];
	struct reel_buffer *out = reader->writer.out;
	size_t before = out->size, size;

	reel_buffer_u8(out, DW_OP_bregx);
	reel_buffer_uleb(out, number);
	reel_frame_put_sleb(&reader->writer, offset);
	if (deref)
		reel_buffer_u8(out, DW_OP_deref);
	size = out->size - before;
	if (out->failed || size > sizeof(bytes))
		return;
	/* Its length comes first. */
	memcpy(bytes, out->bytes + before, size);
	out->size = before;
	reel_buffer_uleb(out, size);
	reel_buffer_append(out, bytes, size);
}

static void put_cfa(struct reader *reader, const struct rule *cfa)
{
	if (!cfa->deref) {
		put_offset(reader, DW_CFA_def_cfa_sf, cfa->number, cfa->offset);
		return;
	}
	reel_buffer_u8(reader->writer.out, DW_CFA_def_cfa_expression);
	put_expression(reader, cfa->number, cfa->offset, true);
}

static void put_rule(struct reader *reader, uint64_t reg, const struct rule *rule)
{
	if (!rule->tracked) {
		put(reader, DW_CFA_restore_extended, reg);
	} else if (!rule->from_register) {
		put_offset(reader, rule->deref ? DW_CFA_offset_extended_sf : DW_CFA_val_offset_sf,
			   reg, rule->offset);
	} else if (!rule->deref && !rule->offset) {
		put(reader, DW_CFA_register, reg);
		reel_buffer_uleb(reader->writer.out, rule->number);
	} else {
		put(reader, rule->deref ? DW_CFA_expression : DW_CFA_val_expression, reg);
		put_expression(reader, rule->number, rule->offset, rule->deref);
	}
}

/* Saved at an offset from the CFA, if there is one. */
static struct rule saved(const struct reader *reader, int64_t offset)
{
	bool is_register = reader->version == 2 && reader->data->arch->elf_machine == EM_S390 &&
			   offset & S390X_IS_REGISTER;

	if (is_register)
		return (struct rule){ true, true, false, (uint64_t)(offset >> 1), 0 };
	return (struct rule){ .tracked = offset != 0, .deref = true, .offset = offset };
}

/* The rules of a usual FRE: offsets of the CFA, of the return address unless that is fixed, and of
 * the frame pointer. */
static bool usual_rules(const struct reader *reader, const struct fre *fre, struct rule *cfa,
			struct rule *ra, struct rule *fp)
{
	const struct reel_arch *arch = reader->data->arch;
	unsigned i = 1;

	*cfa = (struct rule){
		.number = fre->info & FRE_BASE_SP ? arch->sp : arch->fp,
		.offset = fre->words[0],
	};
	*ra = *fp = (struct rule){ 0 };
	if (!reader->fixed_ra && fre->n > i)
		*ra = saved(reader, fre->words[i++]);
	if (fre->n > i)
		*fp = saved(reader, fre->words[i++]);
	else if (reader->fixed_fp)
		*fp = saved(reader, reader->fixed_fp);
	return fre->n <= i;
}

/* A control word and an offset; a control word of 0 is alone, and no rule. */
static bool flexible_rule(const struct fre *fre, unsigned *i, struct rule *ret)
{
	uint64_t control;

	*ret = (struct rule){ 0 };
	if (*i == fre->n)
		return true;
	control = (uint64_t)fre->words[(*i)++] & (UINT64_MAX >> (64 - 8 * fre->word_size));
	if (!control)
		return true;
	if (*i == fre->n)
		return false;
	*ret = (struct rule){
		.tracked = true,
		.from_register = control & CONTROL_REGISTER,
		.deref = control & CONTROL_DEREF,
		.number = control >> CONTROL_NUMBER_SHIFT,
		.offset = fre->words[(*i)++],
	};
	return true;
}

static bool flexible_rules(const struct fre *fre, struct rule *cfa, struct rule *ra,
			   struct rule *fp)
{
	unsigned i = 0;

	return flexible_rule(fre, &i, cfa) && cfa->from_register && flexible_rule(fre, &i, ra) &&
	       flexible_rule(fre, &i, fp) && i == fre->n;
}

/* The outermost function. */
static void put_outermost(struct reader *reader)
{
	const struct reel_arch *arch = reader->data->arch;

	put_offset(reader, DW_CFA_def_cfa_sf, arch->sp, 0);
	put(reader, DW_CFA_undefined, arch->return_column);
}

/* The rules from here on; false if they are malformed. */
static bool put_row(struct reader *reader, const struct function *function, const struct fre *fre)
{
	const struct reel_arch *arch = reader->data->arch;
	struct rule cfa, ra, fp;

	if (!fre->n) {
		put_outermost(reader);
		return true;
	}
	if (!(function->type == TYPE_FLEXIBLE ? flexible_rules(fre, &cfa, &ra, &fp)
					      : usual_rules(reader, fre, &cfa, &ra, &fp)))
		return false;
	if (arch->elf_machine == EM_S390)
		cfa.offset = cfa.offset * S390X_WORD + S390X_SAVE_AREA;
	/* At the start of a stub nothing was pushed; but ld's FDE of .plt.got (2.41 to 2.47) has
	 * the row from within a stub of .plt. */
	if (function->info & INFO_MASK && !fre->start && arch->elf_machine == EM_X86_64)
		cfa = (struct rule){ .number = arch->sp, .offset = arch->word_size };
	put_cfa(reader, &cfa);
	put_rule(reader, arch->return_column, &ra);
	put_rule(reader, arch->fp, &fp);
	return true;
}

/* ---- entries ------------------------------------------------------------------------------ */

static uint32_t put_cie(struct reader *reader, bool is_signal)
{
	const struct reel_arch *arch = reader->data->arch;
	struct reel_buffer *out = reader->writer.out;
	const char *augmentation = is_signal ? "zS" : "";
	size_t begin = reel_frame_begin_entry(&reader->writer, UINT32_MAX);

	reel_buffer_u8(out, FRAME_CIE_VERSION);
	reel_buffer_append(out, augmentation, strlen(augmentation) + 1);
	reel_buffer_uleb(out, 1); /* code alignment */
	reel_frame_put_sleb(&reader->writer, 1);
	reel_buffer_uleb(out, arch->return_column);
	if (is_signal)
		reel_buffer_uleb(out, 0);
	if (reader->fixed_ra)
		put_offset(reader, DW_CFA_offset_extended_sf, arch->return_column,
			   reader->fixed_ra);
	for (size_t i = 0; i < arch->n_registers; i++) {
		uint16_t reg = arch->registers[i].dwarf;

		if (reg != arch->sp && reg != arch->fp && reg != arch->pc &&
		    reg != arch->return_column)
			put(reader, DW_CFA_undefined, reg);
	}
	reel_frame_end_entry(&reader->writer, begin);
	return (uint32_t)begin;
}

static void put_advance(struct reader *reader, uint64_t by)
{
	struct reel_buffer *out = reader->writer.out;
	unsigned size = by <= UINT8_MAX ? 1 : by <= UINT16_MAX ? 2 : 4;

	if (!by)
		return;
	reel_buffer_u8(out, size == 1	? DW_CFA_advance_loc1
			    : size == 2 ? DW_CFA_advance_loc2
					: DW_CFA_advance_loc4);
	reel_frame_put(&reader->writer, size, by);
}

/* Rows in order until `size`; false if one is malformed. */
static bool put_rows(struct reader *reader, const struct function *function, uint64_t size)
{
	uint64_t at = function->fre, last = 0;
	bool was_mangled = false;
	struct fre fre;

	for (uint64_t i = 0; i < function->n_fres; i++) {
		bool mangled;

		if (reader->writer.out->size > reader->limit ||
		    !read_fre(reader, function, &at, &fre) || fre.start < last)
			return false;
		if (fre.start >= size)
			return true;
		put_advance(reader, fre.start - last);
		last = fre.start;
		mangled =
			fre.info & FRE_MANGLED_RA && reader->data->arch->elf_machine == EM_AARCH64;
		if (mangled != was_mangled)
			reel_buffer_u8(reader->writer.out, DW_CFA_GNU_window_save);
		was_mangled = mangled;
		if (!put_row(reader, function, &fre))
			return false;
	}
	return function->n_fres;
}

static void put_fde(struct reader *reader, const struct function *function, uint64_t begin,
		    uint64_t size)
{
	bool is_signal = function->info & INFO_SIGNAL;
	uint32_t *cie = is_signal ? &reader->signal_cie : &reader->cie;
	struct reel_buffer *out = reader->writer.out;
	size_t entry;

	if (*cie == UINT32_MAX)
		*cie = put_cie(reader, is_signal);
	entry = reel_frame_begin_entry(&reader->writer, *cie);
	reel_frame_put(&reader->writer, reader->writer.word, begin);
	reel_frame_put(&reader->writer, reader->writer.word, size);
	if (is_signal)
		reel_buffer_uleb(out, 0);
	if (reader->version == 2 && reader->entry && begin == reader->entry)
		put_outermost(reader);
	else if (function->type > TYPE_FLEXIBLE || !put_rows(reader, function, size))
		reel_buffer_u8(out, FRAME_MALFORMED);
	reel_frame_end_entry(&reader->writer, entry);
}

/* Each stub of a PLT is a function. */
static void put_function(struct reader *reader, const struct function *function)
{
	uint64_t done = 0;

	if (function->info & INFO_MASK && function->block) {
		while (function->size - done > function->block &&
		       reader->writer.out->size <= reader->limit) {
			put_fde(reader, function, function->begin + done, function->block);
			done += function->block;
		}
	}
	if (done < function->size)
		put_fde(reader, function, function->begin + done, function->size - done);
}

struct reel_error *reel_sframe_translate(const struct cfi_data *data, uint64_t entry,
					 struct reel_buffer *ret)
{
	struct reader reader = {
		.data = data,
		.bytes = data->section.bytes,
		.size = data->section.size,
		.entry = entry,
		.writer = { ret, data->big_endian, data->arch->word_size },
		.limit = GROWTH_MAX * data->section.size + STUBS_MAX,
		.cie = UINT32_MAX,
		.signal_cie = UINT32_MAX,
	};
	struct function function;

	if (!read_header(&reader))
		return NULL;
	for (uint64_t i = 0; i < reader.n_fdes && read_function(&reader, i, &function); i++)
		put_function(&reader, &function);
	return ret->failed ? reel_error_no_memory() : NULL;
}
