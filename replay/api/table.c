/* SPDX-License-Identifier: Apache-2.0 */
/* The CFI of an ELF file as rows: reel_table_* of include/commands.h. */
#include <stdio.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "cfi/module_cfi.h"
#include "replay/names/symbolizer.h"

struct reel_table {
	struct reel_elf_file *file;
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	struct reel_symbolizer *symbolizer;
	struct reel_cfi_iterator iterator;
	struct reel_cfi_row row;
	struct reel_table_row ret;
	char register_name[32];
};

static struct reel_error *open_cfi(struct reel_table *table, const char *path)
{
	struct reel_cfi_input input = { 0 };
	struct reel_go_frames go;

	TRY(reel_module_cfi_input(table->file, &input));
	TRY(reel_go_frames_read(table->file, table->arch, !input.debug_frame.size, &go));
	reel_module_cfi_take(&input, &go);
	reel_go_frames_free(&go);
	if (!input.eh_frame.size && !input.debug_frame.size && !input.sframe.size)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "%s: no .eh_frame, .debug_frame, .sframe or .gopclntab",
					 path);
	input.arch = table->arch;
	return reel_cfi_create(&input, &table->cfi);
}

static struct reel_error *open_table(struct reel_table *table, const char *path)
{
	const struct reel_symbolizer_options options = { .no_inlines = true };

	TRY(reel_elf_file_open(path, &table->file));
	table->arch = reel_arch_by_machine(reel_elf_file_machine(table->file),
					   reel_elf_file_word_bits(table->file));
	if (!table->arch)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "%s: unsupported ELF machine %u",
					 path, reel_elf_file_machine(table->file));
	TRY(open_cfi(table, path));
	TRY(reel_symbolizer_create(table->file, NULL, &options, &table->symbolizer));
	reel_symbolizer_set_code(table->symbolizer, table->cfi, NULL);
	return NULL;
}

struct reel_error *reel_table_open(const char *path, struct reel_table **ret)
{
	struct reel_table *table = calloc(1, sizeof(*table));
	struct reel_error *error = table ? open_table(table, path) : reel_error_no_memory();

	if (error)
		reel_table_close(table);
	else
		*ret = table;
	return error;
}

void reel_table_close(struct reel_table *table)
{
	if (!table)
		return;
	reel_symbolizer_destroy(table->symbolizer);
	reel_cfi_destroy(table->cfi);
	reel_elf_file_close(table->file);
	free(table);
}

const char *reel_table_arch(const struct reel_table *table)
{
	return table->arch->name;
}

const char *reel_table_register_name(struct reel_table *table, uint16_t reg)
{
	const struct reel_arch_register *known = reel_arch_register(table->arch, reg);

	if (known)
		return known->name;
	snprintf(table->register_name, sizeof(table->register_name), "r%u", reg);
	return table->register_name;
}

static struct reel_location location_of(const struct reel_cfi_rule *rule)
{
	switch ((enum reel_rule_kind)rule->kind) {
	case REEL_RULE_UNSPECIFIED:
		break;
	case REEL_RULE_UNDEFINED:
		return (struct reel_location){ .kind = REEL_LOCATION_UNDEFINED };
	case REEL_RULE_SAME:
		return (struct reel_location){ .kind = REEL_LOCATION_SAME };
	case REEL_RULE_OFFSET:
		return (struct reel_location){ .kind = REEL_LOCATION_MEMORY,
					       .offset = rule->offset };
	case REEL_RULE_VAL_OFFSET:
		return (struct reel_location){ .kind = REEL_LOCATION_CFA, .offset = rule->offset };
	case REEL_RULE_REGISTER:
		return (struct reel_location){ .kind = REEL_LOCATION_REGISTER, .reg = rule->reg };
	case REEL_RULE_REGISTER_OFFSET:
		return (struct reel_location){ .kind = REEL_LOCATION_VALUE,
					       .reg = rule->reg,
					       .offset = rule->offset };
	case REEL_RULE_EXPRESSION:
	case REEL_RULE_VAL_EXPRESSION:
		return (struct reel_location){ .kind = REEL_LOCATION_EXPRESSION };
	}
	return (struct reel_location){ .kind = REEL_LOCATION_UNKNOWN };
}

static struct reel_location location_of_register(const struct reel_cfi_row *row, uint16_t reg)
{
	return reg < REEL_ARCH_DWARF_MAX ? location_of(&row->rules[reg])
					 : (struct reel_location){ REEL_LOCATION_UNKNOWN };
}

/* If the CFI has no rule for it, the link register still holds the return address. */
static struct reel_location return_address_of(const struct reel_arch *arch,
					      const struct reel_cfi_row *row)
{
	struct reel_location location = location_of_register(row, row->return_column);

	if (arch->flags & REEL_ARCH_LINK_REGISTER &&
	    (location.kind == REEL_LOCATION_UNKNOWN || location.kind == REEL_LOCATION_SAME))
		return (struct reel_location){ .kind = REEL_LOCATION_REGISTER,
					       .reg = row->return_column };
	return location;
}

static struct reel_location link_register_of(const struct reel_arch *arch,
					     const struct reel_cfi_row *row)
{
	struct reel_location location = location_of_register(row, arch->return_column);

	if (location.kind == REEL_LOCATION_UNKNOWN)
		location.kind = REEL_LOCATION_SAME;
	return location;
}

static struct reel_error *name_of(struct reel_table *table, uint64_t address, const char **ret)
{
	const struct reel_symbol_frame *frames;
	struct reel_error *error;
	size_t n;

	error = reel_symbolizer_look_up(table->symbolizer, address, &frames, &n);
	*ret = error ? "" : frames[n - 1].function;
	return error;
}

struct reel_error *reel_table_next(struct reel_table *table, const struct reel_table_row **ret)
{
	const struct reel_cfi_row *row = &table->row;
	const struct reel_arch *arch = table->arch;
	const char *problem = "malformed", *function;

	*ret = NULL;
	switch (reel_cfi_next_row(table->cfi, &table->iterator, &table->row, &problem)) {
	case REEL_CFI_NONE:
		return NULL;
	case REEL_CFI_BAD:
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: FDE at 0x%llx: %s",
					 reel_elf_file_path(table->file),
					 (unsigned long long)row->fde_begin, problem);
	case REEL_CFI_SWITCHES: /* rows are shown as in the file */
	case REEL_CFI_FOUND:
		break;
	}
	TRY(name_of(table, row->fde_begin, &function));
	table->ret = (struct reel_table_row){
		.begin = row->begin,
		.end = row->end,
		.function_begin = row->fde_begin,
		.function_end = row->fde_end,
		.function = function,
		.signal_frame = row->signal_frame,
		.cfa = location_of(&row->cfa),
		.return_address = return_address_of(arch, row),
		.frame_pointer = location_of_register(row, arch->fp),
		.return_address_signed = row->return_address_signed,
	};
	if (arch->flags & REEL_ARCH_LINK_REGISTER)
		table->ret.link_register = link_register_of(arch, row);
	*ret = &table->ret;
	return NULL;
}
