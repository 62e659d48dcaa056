/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/id_table.h"
#include "replay/names/jit_rows.h"

/* Functions with cached rows: each takes 3 kB or more, and samples need a few thousand. */
#define KEPT_MAX 8192

struct function {
	struct reel_id_entry entry; /* by the record's address */
	const struct reel_arch *arch;
	struct reel_cfi *cfi;
	struct reel_rows *rows;
};

struct reel_jit_rows {
	struct reel_id_table functions;
	void *_Atomic failed; /* rows with a problem; NULL: none */
};

struct reel_error *reel_jit_rows_create(struct reel_jit_rows **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : reel_error_no_memory();
}

static void function_free(void *context, struct reel_id_entry *entry)
{
	struct function *function = (struct function *)entry;

	(void)context;
	reel_rows_destroy(function->rows);
	reel_cfi_destroy(function->cfi);
	free(function);
}

static void forget(struct reel_jit_rows *rows)
{
	reel_id_table_visit(&rows->functions, function_free, NULL);
	reel_id_table_free(&rows->functions);
}

void reel_jit_rows_destroy(struct reel_jit_rows *rows)
{
	if (rows)
		forget(rows);
	free(rows);
}

void reel_jit_rows_trim(struct reel_jit_rows *rows)
{
	/* Keep the rows until their problem is reported. */
	if (rows->functions.count > KEPT_MAX && !rows->failed)
		forget(rows);
}

static struct reel_error *make(struct reel_jit_rows *rows,
			       const struct reel_record_jit_unwind *record, bool big_endian,
			       struct function *function)
{
	const struct reel_loaded_bytes section = { .bytes = record->eh_frame.data,
						   .size = record->eh_frame.size,
						   .address = record->frame_address };
	const struct reel_loaded_bytes none = { 0 };
	bool is_debug_frame = record->section == REEL_JIT_DEBUG_FRAME;
	const struct reel_cfi_input input = {
		.arch = function->arch,
		.big_endian = big_endian,
		.eh_frame = is_debug_frame ? none : section,
		.debug_frame = is_debug_frame ? section : none,
		.text_base = record->address,
		.text_begin = record->address,
		.text_end = record->address + record->size,
	};

	TRY(reel_cfi_create(&input, &function->cfi));
	TRY(reel_rows_create(function->arch, function->cfi, 0, &function->rows));
	reel_rows_tell(function->rows, &rows->failed, function->rows);
	return reel_id_table_insert(&rows->functions, &function->entry) ? NULL
									: reel_error_no_memory();
}

struct reel_error *reel_jit_rows_get(struct reel_jit_rows *rows,
				     const struct reel_record_jit_unwind *record,
				     const struct reel_arch *arch, bool big_endian,
				     struct reel_rows **ret)
{
	const uint64_t id = (uintptr_t)record;
	struct function *function = (struct function *)reel_id_table_find(&rows->functions, id);
	struct reel_error *error = NULL;

	if (!function) {
		function = calloc(1, sizeof(*function));
		if (!function)
			return reel_error_no_memory();
		function->entry.id = id;
		function->arch = arch;
		error = make(rows, record, big_endian, function);
	}
	if (error) {
		function_free(NULL, &function->entry);
		return error;
	}
	*ret = function->arch == arch ? function->rows : NULL;
	return NULL;
}

struct reel_error *reel_jit_rows_problem(const struct reel_jit_rows *rows)
{
	struct reel_error *error = rows->failed ? reel_rows_problem(rows->failed) : NULL;

	return error ? reel_error_prefix(error, "JIT_UNWIND records") : NULL;
}
