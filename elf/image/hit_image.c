/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "elf/elf_sections.h"
#include "elf/go_table.h"
#include "elf/plt.h"
#include "elf/image/image_parts.h"
#include "elf/image/hit_image.h"
#include "cfi/module_cfi.h"

/* Code before an address that the search for its function's begin may read
 * (replay/synthesis/beginnings.c), plus 16 for rounding up. */
#define LOOKED_BACK (4096 + 16)
/* For code without an FDE or a symbol's size: the amount taken after a hit. */
#define LOOKED_AHEAD 4096
/* The maximum for one function: longer ones are not followed (replay/synthesis/). */
#define FUNCTION_MAX (64u << 10)

/* Functions that end a stack without being called are short. */
#define UNCALLED_MAX 512
/* Longer functions are seldom leaves. */
#define ONE_ROW_MAX 4096
/* How deep jumps out of functions are followed, and the maximum function size for it. */
#define JUMPS_DEEP	2
#define JUMPS_LOOKED_AT 4096

/*
 * The limit of CFI instructions, bytes of names and bytes of code examined, for one image and for
 * each hit.  Functions in files from linkers take a hundredth of this; a crafted file that takes
 * more is skipped.
 */
#define WORK_FREE (16u << 20)
#define WORK_EACH 4096
/* The most of a gap between FDEs that is only crtstuff.c's, and of _init and _fini. */
#define CRTSTUFF_MAX 256
#define INIT_MAX     64
/* Recently taken functions, by a hash of their beginnings. */
#define KNOWN_BITS 12

struct known {
	uint64_t begin, end;
	unsigned depth; /* to which its jumps were followed, plus 1 */
};

struct named {
	struct reel_id_entry entry; /* the symbol's address */
	size_t at;		    /* its index in the symbols */
};

struct maker {
	struct reel_elf_file *file;
	const struct reel_arch *arch;
	struct reel_cfi_row defaults; /* registers that callees preserve */
	struct reel_hit_image_options options;
	struct reel_address_ranges code; /* read from the file */
	struct reel_address_ranges data; /* present in the file */
	uint64_t work_left;
	struct known known[1 << KNOWN_BITS];
	struct reel_id_table named;
	/* Some of the hit code has no FDE, or changes stacks: each call that may have led there is
	 * followed, to check whether it can have. */
	bool follows_calls;
	uint64_t ends[4]; /* of the file, see find_ends */
	struct reel_cfi *cfi;
	struct reel_symbol_table *table;
	struct reel_go_table *go_table; /* NULL if the file is not Go's */
	struct reel_embedded_symbols symbols;
};

static void spend(struct maker *maker, uint64_t work)
{
	maker->work_left -= work < maker->work_left ? work : maker->work_left;
}

static enum reel_cfi_found row_at(struct maker *maker, uint64_t address, struct reel_cfi_row *ret)
{
	enum reel_cfi_found found;

	ret->work = 0;
	found = reel_cfi_row_at(maker->cfi, address, ret, NULL);
	spend(maker, ret->work);
	return found;
}

/* ---- names --------------------------------------------------------------------------------- */

/* In .symtab's form, "name@@VERSION". */
static struct reel_error *add_named(struct maker *maker, uint64_t begin, uint64_t end,
				    const char *raw, bool is_stub)
{
	const char *name = reel_name_or_long(raw), *at = strchr(name, '@');
	int size = at && at != name ? (int)(at - name) : (int)strlen(name);
	_cleanup_free_ char *text = reel_text_print("%.*s%s", size, name, is_stub ? "@plt" : "");

	spend(maker, (uint64_t)size);
	return text ? reel_embedded_symbols_add(&maker->symbols, begin, end, text)
		    : reel_error_no_memory();
}

/* Copies its name once, however often it is hit; it extends as far as any hit needs. */
static struct reel_error *add_symbol(struct maker *maker, const struct reel_symbol *symbol,
				     uint64_t end)
{
	struct named *named = (struct named *)reel_id_table_find(&maker->named, symbol->address);
	struct reel_embedded_symbols *symbols = &maker->symbols;

	if (named) {
		if (symbols->all[named->at].end < end)
			symbols->all[named->at].end = end;
		return NULL;
	}
	named = reel_id_table_add(&maker->named, symbol->address, sizeof(*named));
	if (!named)
		return reel_error_no_memory();
	named->at = symbols->n;
	return add_named(maker, symbol->address, end, symbol->name, symbol->is_stub);
}

/* Stripped Go programs still name their functions; and Go's table includes the padding behind a
 * function, which its symbol does not. */
static struct reel_error *add_go_name(struct maker *maker, uint64_t address)
{
	const struct reel_debug_frame *frames;
	const struct reel_symbol *symbol;
	struct reel_error *error;
	uint64_t begin;
	size_t n;

	if (!maker->go_table)
		return NULL;
	error = reel_go_table_look_up(maker->go_table, address, &frames, &n, &begin);
	if (error || !n || !begin)
		return error;
	/* One name for each beginning: the file's name for its first byte. */
	symbol = reel_symbol_table_find(maker->table, begin);
	if (symbol && symbol->address == begin)
		return add_symbol(maker, symbol, address + 1);
	return add_named(maker, begin, address + 1, frames[n - 1].function, false);
}

/* A symbol without a size names only the looked-up address; or, if its extent depends on the code,
 * as far as the code reader finds. */
static struct reel_error *add_name(struct maker *maker, uint64_t address)
{
	const struct reel_symbol *symbol = reel_symbol_table_find(maker->table, address);
	uint64_t end, fde_begin, fde_end;

	if (!symbol || reel_symbol_reach(symbol, address, maker->cfi) == REEL_SYMBOL_ENDS_BEFORE)
		return add_go_name(maker, address);
	if (symbol->sized)
		end = symbol->end;
	else if (!reel_symbol_table_is_partial(maker->table) ||
		 reel_cfi_function_at(maker->cfi, address, &fde_begin, &fde_end))
		end = address + 1;
	else
		end = symbol->address;
	return add_symbol(maker, symbol, end);
}

static struct reel_error *add_all_names(struct maker *maker)
{
	const struct reel_symbol *symbol;
	struct reel_error *error = NULL;

	for (size_t i = 0; !error && maker->work_left; i++) {
		uint64_t begin, end;

		symbol = reel_symbol_table_at(maker->table, i);
		if (!symbol)
			break;
		end = symbol->end;
		if (!symbol->sized &&
		    !reel_cfi_function_at(maker->cfi, symbol->address, &begin, &end))
			end = symbol->address + 1;
		error = add_named(maker, symbol->address, end, symbol->name, symbol->is_stub);
	}
	return error;
}

/* ---- code ---------------------------------------------------------------------------------- */

/* Records the part of the range in the file; it is read when the image is written. */
static void need_code(struct maker *maker, uint64_t begin, uint64_t end)
{
	const struct reel_address_ranges *data = &maker->data;
	size_t i = reel_address_ranges_search(data, begin);

	for (; i < data->n && data->all[i].begin < end; i++) {
		uint64_t first = data->all[i].begin, last = data->all[i].end;

		reel_address_ranges_add(&maker->code, first > begin ? first : begin,
					last < end ? last : end);
		spend(maker, 1);
	}
}

/* Whether a function is new, or was followed through fewer jumps. */
static bool is_new(struct maker *maker, uint64_t begin, uint64_t end, unsigned depth)
{
	struct known *known = &maker->known[begin * 0x9e3779b97f4a7c15 >> (64 - KNOWN_BITS)];

	if (known->begin == begin && known->end == end && known->depth > depth)
		return false;
	*known = (struct known){ begin, end, depth + 1 };
	return true;
}

/* Code without an FDE is followed: the function, if a symbol marks its place; and the preceding
 * code, in search of its begin. */
static void need_function(struct maker *maker, uint64_t address)
{
	const struct reel_symbol *symbol = reel_symbol_table_find(maker->table, address);
	uint64_t begin, end, text_begin, text_end;

	if (!reel_cfi_gap_at(maker->cfi, address, &begin, &end))
		return;
	reel_elf_file_text_range(maker->file, &text_begin, &text_end);
	begin = address < text_begin + LOOKED_BACK ? text_begin : address - LOOKED_BACK;
	if (symbol && symbol->address < begin && address - symbol->address <= FUNCTION_MAX)
		begin = symbol->address;
	if (end > text_end)
		end = text_end;
	if (symbol && symbol->sized && symbol->end - symbol->address <= FUNCTION_MAX &&
	    symbol->end < end)
		end = symbol->end;
	else if (end > address + LOOKED_AHEAD)
		end = address + LOOKED_AHEAD;
	need_code(maker, begin, end);
}

static bool matches(const struct reel_arch_call *call, const uint8_t *bytes)
{
	for (size_t i = 0; i < call->size; i++) {
		if ((bytes[i] ^ call->code[i]) & (call->mask ? call->mask[i] : 0xff))
			return false;
	}
	return true;
}

static void need_body_to(struct maker *maker, uint64_t address, uint64_t size_max, unsigned depth);

/* Functions that it jumps to, if they begin at the target: its code continues in them. */
static void need_jumps(struct maker *maker, uint64_t begin, uint64_t end, unsigned depth)
{
	const struct reel_arch *arch = maker->arch;
	uint64_t size = end - begin, target, target_begin, target_end;
	uint8_t code[JUMPS_LOOKED_AT];

	if (size > sizeof(code) || !reel_elf_file_read(maker->file, begin, (size_t)size, code))
		return;
	spend(maker, size);
	for (uint64_t at = 0; at < size && maker->work_left; at += arch->code_align) {
		for (size_t i = 0; i < arch->n_jumps; i++) {
			const struct reel_arch_call *jump = &arch->jumps[i];

			if (size - at < jump->size || !matches(jump, code + at))
				continue;
			target = reel_operand_address(jump->kind, code + at + jump->operand,
						      begin + at + jump->operand, 0);
			if (target - begin >= size &&
			    reel_cfi_function_at(maker->cfi, target, &target_begin, &target_end) &&
			    target_begin == target)
				need_body_to(maker, target, JUMPS_LOOKED_AT, depth - 1);
		}
	}
}

static void need_body_to(struct maker *maker, uint64_t address, uint64_t size_max, unsigned depth)
{
	const struct reel_symbol *symbol = reel_symbol_table_find(maker->table, address);
	uint64_t begin, end;

	/* A PLT has one FDE for all its stubs. */
	if (symbol && symbol->is_stub) {
		need_code(maker, symbol->address, symbol->end);
		return;
	}
	if (!reel_cfi_function_at(maker->cfi, address, &begin, &end) || end - begin > size_max ||
	    !is_new(maker, begin, end, depth))
		return;
	need_code(maker, begin, end);
	if (depth)
		need_jumps(maker, begin, end, depth);
}

/* The whole function of an FDE, for code that is followed in spite of the FDE. */
static void need_body(struct maker *maker, uint64_t address, uint64_t size_max)
{
	need_body_to(maker, address, size_max, JUMPS_DEEP);
}

/*
 * The CFA depends on a register that callees need not preserve: the callee's code must show that it
 * does (replay/unwind/, reel_walk_keep_scratch).
 */
static bool hangs_on_scratch(const struct maker *maker, const struct reel_cfi_row *row)
{
	if (row->cfa.kind != REEL_RULE_REGISTER_OFFSET)
		return row->cfa.kind == REEL_RULE_VAL_EXPRESSION;
	return row->cfa.reg >= REEL_ARCH_DWARF_MAX ||
	       (row->cfa.reg != maker->arch->sp &&
		maker->defaults.rules[row->cfa.reg].kind != REEL_RULE_SAME);
}

/* Such an address may follow another function's last call. */
static bool begins_function(const struct maker *maker, uint64_t address)
{
	uint64_t begin, end;

	return reel_cfi_function_at(maker->cfi, address, &begin, &end) && begin == address;
}

/* A call's target may be a stub, and code without an FDE is followed from there. */
static void need_target(struct maker *maker, uint64_t caller, uint64_t target)
{
	struct reel_cfi_row row;
	uint64_t begin, end;

	need_code(maker, target, target + 2 * REEL_ARCH_CODE_MAX);
	if (!reel_cfi_function_at(maker->cfi, target, &begin, &end))
		need_function(maker, target);
	if (maker->follows_calls || begins_function(maker, caller + 1) ||
	    (row_at(maker, caller, &row) == REEL_CFI_FOUND && hangs_on_scratch(maker, &row)))
		need_body(maker, target, FUNCTION_MAX);
}

/* The bytes right before an address, in order; 0 for unreadable ones. */
static void read_before(struct maker *maker, uint64_t address, uint8_t bytes[REEL_ARCH_CODE_MAX])
{
	size_t size = REEL_ARCH_CODE_MAX;

	memset(bytes, 0, size);
	while (size && (address < size || !reel_elf_file_read(maker->file, address - size, size,
							      bytes + REEL_ARCH_CODE_MAX - size)))
		size--;
}

/* The targets of calls that may have left this return address; false if no call precedes it: the
 * function may be one that nobody called and that never returns (makecontext's, Go's goexit). */
static bool need_callees(struct maker *maker, uint64_t address)
{
	uint8_t bytes[REEL_ARCH_CODE_MAX];
	bool is_behind = false;

	read_before(maker, address, bytes);
	for (size_t i = 0; i < maker->arch->n_calls; i++) {
		const struct reel_arch_call *call = &maker->arch->calls[i];
		const uint8_t *code = bytes + sizeof(bytes) - call->size;

		if (address < call->size || !matches(call, code))
			continue;
		is_behind = true;
		if (call->kind)
			need_target(maker, address - 1,
				    reel_operand_address(call->kind, code + call->operand,
							 address - call->size + call->operand, 0));
	}
	return is_behind;
}

/*
 * An FDE with one row claims that the function never moves the stack pointer.  Assembly code may do
 * so without declaring it (OpenSSL's bn_gather5), so its code is followed.
 */
static void need_if_one_row(struct maker *maker, uint64_t pc)
{
	struct reel_cfi_row row;

	if (row_at(maker, pc, &row) == REEL_CFI_FOUND && row.begin <= row.fde_begin &&
	    row.end >= row.fde_end && row.fde_end - row.fde_begin <= ONE_ROW_MAX)
		need_code(maker, row.fde_begin, row.fde_end);
}

/* ---- all of a hit -------------------------------------------------------------------------- */

/*
 * The code that begins and ends each program and library (crti.S, and gcc's crtstuff.c, whose functions
 * come first in the arrays) has no FDEs, and addresses in it stay on the stack.  Only libc calls it,
 * through pointers: none of the file's calls can have led there.
 */
static void find_ends(struct maker *maker)
{
	static const char *const names[] = { ".init", ".fini", ".init_array", ".fini_array" };
	struct reel_elf_sections sections;
	unsigned word = reel_elf_file_word_bits(maker->file) / 8;

	reel_elf_sections_open(reel_elf_file_handle(maker->file), &sections);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint8_t bytes[8];
		GElf_Shdr header;

		if (!reel_elf_sections_header(&sections, names[i], &header))
			continue;
		maker->ends[i] = header.sh_addr;
		/* Some linkers leave it to the relocations: then it is 0. */
		if (i >= 2)
			maker->ends[i] =
				reel_elf_file_read(maker->file, header.sh_addr, word, bytes)
					? reel_load_target(bytes, word,
							   reel_elf_file_big_endian(maker->file))
					: 0;
	}
	reel_elf_sections_close(&sections);
}

static bool is_end(const struct maker *maker, uint64_t address)
{
	const uint64_t *ends = maker->ends;
	uint64_t begin, end;

	for (size_t i = 0; i < 2; i++) {
		if (ends[i] && address - ends[i] < INIT_MAX)
			return true;
	}
	if (!reel_cfi_gap_at(maker->cfi, address, &begin, &end) || end - begin > CRTSTUFF_MAX)
		return false;
	for (size_t i = 2; i < 4; i++) {
		if (ends[i] >= begin && ends[i] < end)
			return true;
	}
	return false;
}

/* `is_code`: the address is used as a pc, or follows a call. */
static struct reel_error *take_address(struct maker *maker, uint64_t address, bool is_code)
{
	struct reel_cfi_row row;
	uint64_t begin, end;

	/* Each of the two records the FDEs that answer; they may differ. */
	if (row_at(maker, address, &row) == REEL_CFI_SWITCHES) {
		need_body(maker, address, FUNCTION_MAX);
		maker->follows_calls = true;
	}
	if (!reel_cfi_function_at(maker->cfi, address, &begin, &end) && is_code) {
		need_function(maker, address);
		maker->follows_calls |= !is_end(maker, address);
	}
	return maker->options.no_symbols || maker->options.everything ? NULL
								      : add_name(maker, address);
}

static struct reel_error *take_hit(struct maker *maker, uint64_t hit)
{
	bool is_pc = hit & REEL_HIT_IS_PC, is_behind_call;
	uint64_t address;
	struct reel_error *error;

	if (!reel_elf_file_address_of_offset(maker->file, hit & ~REEL_HIT_IS_PC, true, &address))
		return NULL;
	/* A function's beginning need not be a return address, whatever precedes it. */
	is_behind_call = need_callees(maker, address) && !begins_function(maker, address);
	if (is_pc)
		need_if_one_row(maker, address);
	/* Enough code to recognize a signal frame, a stub, an epilogue. */
	need_code(maker, address, address + REEL_ARCH_CODE_MAX);
	if (!is_behind_call && !is_pc)
		need_body(maker, address, UNCALLED_MAX);
	error = take_address(maker, address, is_pc);
	return error || !address ? error : take_address(maker, address - 1, is_behind_call);
}

static void follow_calls(struct maker *maker, uint64_t hit)
{
	uint64_t address;

	if (reel_elf_file_address_of_offset(maker->file, hit & ~REEL_HIT_IS_PC, true, &address))
		need_callees(maker, address);
}

static struct reel_error *open_parts(struct maker *maker)
{
	struct reel_error *error;

	maker->arch = reel_arch_by_machine(reel_elf_file_machine(maker->file),
					   reel_elf_file_word_bits(maker->file));
	if (!maker->arch)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "for a different CPU");
	reel_cfi_run_program(maker->arch, maker->arch->defaults, &maker->defaults);
	TRY(reel_module_cfi_create(maker->file, NULL, maker->arch, &maker->cfi));
	TRY(reel_symbol_table_create(maker->file, maker->options.debug, &maker->table));
	TRY(reel_embedded_symbols_create(&maker->symbols));
	find_ends(maker);
	if (maker->options.no_symbols)
		return NULL;
	error = reel_go_table_open(maker->file, &maker->go_table);
	if (!error || reel_error_code(error) == REEL_ERROR_NO_MEMORY)
		return error;
	reel_error_destroy(error);
	return NULL;
}

/* ---- images -------------------------------------------------------------------------------- */

struct reel_hit_imager {
	struct maker maker;
	/* The last image's; NULL: the maker has nothing yet. */
	uint64_t *hits;
	size_t n_hits;
};

static void free_named(void *context, struct reel_id_entry *entry)
{
	(void)context;
	free(entry);
}

static void forget(struct reel_hit_imager *imager)
{
	struct maker *maker = &imager->maker;

	reel_elf_file_keep_reads(maker->file, NULL);
	reel_address_ranges_free(&maker->code);
	reel_address_ranges_free(&maker->data);
	reel_id_table_visit(&maker->named, free_named, NULL);
	reel_id_table_free(&maker->named);
	reel_embedded_symbols_free(&maker->symbols);
	reel_go_table_close(maker->go_table);
	reel_symbol_table_destroy(maker->table);
	reel_cfi_destroy(maker->cfi);
	free(imager->hits);
	*imager = (struct reel_hit_imager){
		.maker = { .file = maker->file, .options = maker->options },
	};
}

static struct reel_error *begin(struct maker *maker, size_t limit)
{
	TRY(open_parts(maker));
	reel_elf_file_data_ranges(maker->file, &maker->data);
	maker->work_left = WORK_FREE;
	if (maker->options.everything)
		maker->work_left += limit; /* of names */
	reel_cfi_keep_hits(maker->cfi);
	reel_elf_file_keep_reads(maker->file, &maker->code);
	if (maker->options.everything && !reel_cfi_hit_all(maker->cfi))
		return reel_error_no_memory();
	return maker->options.everything && !maker->options.no_symbols ? add_all_names(maker)
								       : NULL;
}

/* Finds the hits that the last image did not have; false if it had others. */
static bool find_new(const struct reel_hit_imager *imager, const uint64_t *hits, size_t n,
		     uint64_t *new_ret, size_t *n_new_ret)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (known < imager->n_hits && imager->hits[known] == hits[i])
			known++;
		else
			new_ret[(*n_new_ret)++] = hits[i];
	}
	return known == imager->n_hits;
}

static struct reel_error *take_hits(struct maker *maker, const uint64_t *hits, size_t n,
				    const uint64_t *all, size_t n_all)
{
	bool followed = maker->follows_calls;

	maker->work_left += WORK_EACH * (uint64_t)n;
	for (size_t i = 0; i < n && maker->work_left; i++)
		TRY(take_hit(maker, hits[i]));
	/* It has no caller, nor has the code that it jumps to. */
	if (reel_elf_file_entry(maker->file))
		need_body(maker, reel_elf_file_entry(maker->file), UNCALLED_MAX);
	/* Again, with all hits known. */
	for (size_t i = 0; maker->follows_calls && !followed && i < n_all && maker->work_left; i++)
		follow_calls(maker, all[i]);
	if (!maker->work_left)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "symbols, code and unwind information take too much "
					 "work: not written by a linker");
	/* Without an index, FDEs that the header does not list would be missing. */
	return maker->data.failed || reel_cfi_is_short_of_memory(maker->cfi)
		       ? reel_error_no_memory()
		       : NULL;
}

static struct reel_error *write_image(struct maker *maker, size_t limit, struct reel_buffer *ret)
{
	/* The maker's own stay where they were added. */
	struct reel_embedded_symbols symbols = maker->symbols;
	size_t size = symbols.n * sizeof(*symbols.all);
	_cleanup_free_ struct reel_embedded_symbol *all = malloc(size + 1);

	if (!all)
		return reel_error_no_memory();
	if (size)
		memcpy(all, symbols.all, size);
	symbols.all = all;
	reel_address_ranges_tidy(&maker->code);
	reel_embedded_symbols_join(&symbols);
	return reel_image_parts_write(
		&(struct reel_image_parts){
			.file = maker->file,
			.cfi = maker->cfi,
			.code = &maker->code,
			.symbols = &symbols,
		},
		limit, ret);
}

static struct reel_error *make(struct reel_hit_imager *imager, const uint64_t *hits, size_t n,
			       size_t limit, struct reel_buffer *ret)
{
	_cleanup_free_ uint64_t *more = calloc(n + 1, sizeof(*more));
	struct maker *maker = &imager->maker;
	struct reel_error *error;
	size_t n_more = 0;

	if (!more)
		return reel_error_no_memory();
	if (!find_new(imager, hits, n, more, &n_more)) {
		forget(imager);
		n_more = 0;
		find_new(imager, hits, n, more, &n_more);
	}
	if (!imager->hits)
		TRY(begin(maker, limit));
	reel_elf_file_keep_reads(maker->file, &maker->code);
	error = take_hits(maker, more, n_more, hits, n);
	reel_elf_file_keep_reads(maker->file, NULL);
	if (!error)
		error = write_image(maker, limit, ret);
	if (error)
		return error;
	if (n)
		memcpy(more, hits, n * sizeof(*hits));
	free(imager->hits);
	imager->hits = more;
	imager->n_hits = n;
	more = NULL;
	return NULL;
}

struct reel_error *reel_hit_imager_create(struct reel_elf_file *file,
					  const struct reel_hit_image_options *options,
					  struct reel_hit_imager **ret)
{
	struct reel_hit_imager *imager = calloc(1, sizeof(*imager));

	if (!imager)
		return reel_error_no_memory();
	imager->maker.file = file;
	imager->maker.options = *options;
	*ret = imager;
	return NULL;
}

void reel_hit_imager_destroy(struct reel_hit_imager *imager)
{
	if (!imager)
		return;
	forget(imager);
	free(imager);
}

struct reel_error *reel_hit_imager_make(struct reel_hit_imager *imager, const uint64_t *hits,
					size_t n, size_t limit, struct reel_buffer *ret)
{
	struct reel_error *error = make(imager, hits, n, limit, ret);

	if (error)
		forget(imager);
	return error;
}
