/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a capture except its samples: the capture, its events, modules, losses, problems. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/export/trace_facts.h"
#include "cli/print/text.h"
#include "cli/profile/profile.h"
#include "cli/sql/sqlite.h"

/* ---- modules ------------------------------------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* 0: none. */
uint32_t sqlite_module_row(const struct sqlite_export *export, uint64_t number)
{
	const uint64_t *found = export->n_module_numbers ? bsearch(&number, export->module_numbers,
								   export->n_module_numbers,
								   sizeof(number), compare_numbers)
							 : NULL;

	return found ? export->first_module + (uint32_t)(found - export->module_numbers) : 0;
}

/* ---- events -------------------------------------------------------------------------------- */

/* `info` NULL: samples name an event that the capture does not define. */
static uint32_t add_event(struct sqlite_export *export, const struct reel_event_info *info)
{
	sqlite3_stmt *query = export->statements[ADD_EVENT];

	sqlite3_reset(query);
	sqlite3_clear_bindings(query);
	bind_or_null(query, 1, ++export->n_events);
	bind_or_null(query, 2, export->n_captures);
	bind_text(query, 4, event_name(info));
	if (info) {
		sqlite3_bind_int64(query, 3, info->id);
		bind_text(query, 5, info->weight_unit);
		bind_or_null(query, 6, info->frequency);
		bind_or_null(query, 7, info->period);
	}
	return sqlite_step(export, ADD_EVENT) ? export->n_events : 0;
}

uint32_t sqlite_event_of(struct sqlite_export *export, const struct reel_event_info *info)
{
	if (info)
		return (uint32_t)(uintptr_t)pointer_map_get(&export->events, info);
	if (!export->unknown_event)
		export->unknown_event = add_event(export, NULL);
	return export->unknown_event;
}

static bool add_events(struct sqlite_export *export)
{
	for (size_t i = 0; i < export->session->n_events; i++) {
		const struct reel_event_info *info = &export->session->events[i];
		uint32_t id = add_event(export, info);

		if (!id)
			return false;
		pointer_map_put(&export->events, info, (void *)(uintptr_t)id);
	}
	return true;
}

/* ---- captures ------------------------------------------------------------------------------ */

static void bind_hex(sqlite3_stmt *query, int column, const uint8_t *bytes, size_t size)
{
	char text[33];

	for (size_t i = 0; i < size && 2 * i + 2 < sizeof(text); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	sqlite3_bind_text(query, column, text, -1, SQLITE_TRANSIENT);
}

static bool add_capture(struct sqlite_export *export, const char *path)
{
	const struct reel_capture_info *info = export->session->info;
	sqlite3_stmt *query = export->statements[ADD_CAPTURE];

	bind_or_null(query, 1, export->n_captures);
	bind_text(query, 2, path);
	bind_hex(query, 3, info->file_id, sizeof(info->file_id));
	bind_text_or_null(query, 4, info->tool_version);
	bind_text_or_null(query, 5, info->command_line);
	bind_text_or_null(query, 6, info->hostname);
	bind_text_or_null(query, 7, info->kernel_release);
	bind_text_or_null(query, 8, info->kernel_build_id);
	bind_text(query, 9, info->arch);
	sqlite3_bind_int64(query, 10, info->cpus);
	bind_number(query, 11, info->start_time);
	bind_or_null(query, 12, info->start_wall_time);
	bind_number(query, 13, info->samples);
	sqlite3_bind_int(query, 14, info->complete);
	sqlite3_bind_int(query, 15, info->truncated);
	return sqlite_step(export, ADD_CAPTURE);
}

static bool list_modules(struct sqlite_export *export)
{
	_cleanup_free_ struct reel_module_info *modules = NULL;

	if (!no_error(reel_capture_modules(export->session->capture, &modules,
					   &export->n_module_numbers)))
		return false;
	export->module_numbers = memory_resize(export->module_numbers, export->n_module_numbers + 1,
					       sizeof(*export->module_numbers));
	for (size_t i = 0; i < export->n_module_numbers; i++)
		export->module_numbers[i] = modules[i].id;
	export->first_module = export->n_modules + 1;
	export->n_modules += (uint32_t) export->n_module_numbers;
	return true;
}

/* Results of iterating traces are only known now. */
static bool add_modules(struct sqlite_export *export)
{
	const struct reel_capture_info *info = export->session->info;
	sqlite3_stmt *query = export->statements[ADD_MODULE];
	_cleanup_free_ struct reel_module_info *modules = NULL;
	size_t n;

	if (!no_error(reel_capture_modules(export->session->capture, &modules, &n)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct reel_module_info *module = &modules[i];

		if (!sqlite_module_row(export, module->id))
			continue;
		bind_or_null(query, 1, sqlite_module_row(export, module->id));
		bind_or_null(query, 2, export->n_captures);
		bind_bits(query, 3, module->id);
		bind_literal(query, 4, module_kind_name(module->kind));
		bind_text(query, 5, module->path);
		bind_text_or_null(query, 6, module->build_id);
		bind_literal(query, 7, module_state_name(module));
		bind_text_or_null(query, 8, module->problem);
		bind_text_or_null(query, 9, module->local_path);
		bind_text_or_null(query, 10, module->debug_path);
		sqlite3_bind_int(query, 11, module->has_debug_info);
		sqlite3_bind_int(query, 12, module->unchecked);
		bind_hex(query, 13, info->file_id, sizeof(info->file_id));
		if (!sqlite_step(export, ADD_MODULE))
			return false;
	}
	return true;
}

static bool add_losses(struct sqlite_export *export)
{
	sqlite3_stmt *query = export->statements[ADD_LOSS];
	size_t n;
	const struct reel_loss_info *losses = reel_capture_losses(export->session->capture, &n);

	for (size_t i = 0; i < n; i++) {
		bind_or_null(query, 1, export->n_captures);
		sqlite3_bind_null(query, 2);
		if (losses[i].cpu != UINT32_MAX)
			sqlite3_bind_int64(query, 2, losses[i].cpu);
		bind_literal(query, 3, reel_loss_name(losses[i].cause));
		bind_number(query, 4, losses[i].count);
		if (!sqlite_step(export, ADD_LOSS))
			return false;
	}
	return true;
}

static bool add_marks(struct sqlite_export *export)
{
	sqlite3_stmt *query = export->statements[ADD_MARK];
	size_t n;
	const struct reel_mark_info *marks = reel_capture_marks(export->session->capture, &n);

	for (size_t i = 0; i < n; i++) {
		bind_or_null(query, 1, export->n_captures);
		bind_number(query, 2, marks[i].time);
		bind_wall_time(query, 3, export->session->info, marks[i].time);
		bind_literal(query, 4, reel_mark_name(marks[i].kind));
		bind_text(query, 5, marks[i].text);
		if (!sqlite_step(export, ADD_MARK))
			return false;
	}
	return true;
}

static bool add_problems(struct sqlite_export *export)
{
	sqlite3_stmt *query = export->statements[ADD_PROBLEM];
	size_t n;
	const struct reel_capture_problem *problems =
		reel_capture_problems(export->session->capture, &n);

	for (size_t i = 0; i < n; i++) {
		bind_or_null(query, 1, export->n_captures);
		bind_text(query, 2, problems[i].message);
		if (!sqlite_step(export, ADD_PROBLEM))
			return false;
	}
	return true;
}

static bool set_quality(struct sqlite_export *export)
{
	const struct quality *quality = &export->session->quality;
	sqlite3_stmt *query = export->statements[SET_QUALITY];

	bind_or_null(query, 1, export->n_captures);
	bind_number(query, 2, quality->traces);
	bind_number(query, 3, quality_unwound(quality));
	bind_number(query, 4, quality->stops[REEL_STOP_ROOT]);
	return sqlite_step(export, SET_QUALITY);
}

bool sqlite_begin_rows(struct sqlite_export *export, const char *path)
{
	return add_capture(export, path) && add_events(export) && list_modules(export);
}

bool sqlite_end_rows(struct sqlite_export *export)
{
	return set_quality(export) && add_modules(export) && add_losses(export) &&
	       add_marks(export) && add_problems(export);
}
