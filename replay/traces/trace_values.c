/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/symbol_table.h"
#include "replay/traces/kept_values.h"
#include "replay/traces/trace_values.h"
#include "replay/values/value.h"

/* There may be mappings of parts of the code between. */
#define MAPPINGS_MAX 8

/* A value; its texts are positions until all are made. */
struct made {
	struct reel_frame_value value;
	size_t name, text;
};

/* How many functions of a name, which lives with any module, a module's file has: versions of a
 * symbol may be different ones. */
struct definitions {
	uint64_t module;
	const char *name;
	size_t n; /* SIZE_MAX: unknown */
};

struct reel_trace_values {
	const struct reel_value_request *requests;
	size_t n_requests;
	struct reel_sample_unwinder *unwinder;
	struct reel_code_map *map; /* of the sample */
	/* By function_id: 0 if not compared yet, else 1 + whether a request has its name. */
	uint8_t *wanted;
	size_t n_wanted;
	/* Of the sample. */
	struct reel_value_frame *frames;
	const struct reel_module **modules;
	size_t n_frames, frames_capacity, modules_capacity;
	struct reel_memory_view memory;
	struct made *made;
	struct reel_frame_value *values;
	size_t n, made_capacity, values_capacity;
	struct reel_buffer texts;
	struct definitions *definitions;
	size_t definitions_capacity, n_definitions_counted;
	struct reel_hash_index definitions_index; /* by module and name */
	/* Of the frame whose values are made: debug information of its callers' files is locked, or
	 * is needed. */
	bool all_locked, needs_all;
	size_t *shown; /* the trace's first frame of each of the sample's */
	size_t shown_capacity;
};

struct reel_error *reel_trace_values_create(const struct reel_value_request *requests, size_t n,
					    struct reel_sample_unwinder *unwinder,
					    struct reel_trace_values **ret)
{
	struct reel_trace_values *values = calloc(1, sizeof(*values));

	if (!values)
		return reel_error_no_memory();
	values->requests = requests;
	values->n_requests = n;
	values->unwinder = unwinder;
	values->map = reel_sample_unwinder_code_map(unwinder);
	*ret = values;
	return NULL;
}

void reel_trace_values_destroy(struct reel_trace_values *values)
{
	if (!values)
		return;
	free(values->wanted);
	free(values->frames);
	free(values->modules);
	free(values->made);
	free(values->values);
	free(values->shown);
	free(values->definitions);
	reel_hash_index_free(&values->definitions_index);
	reel_buffer_free(&values->texts);
	free(values);
}

/* ---- functions ------------------------------------------------------------------------ */

/* "f", "ns::f" and "ns::f(int)" name ns::f(int). */
static bool is_named(const struct reel_frame *frame, const char *name)
{
	size_t size = strlen(name), whole = strcspn(frame->function, "(");

	if (!strcmp(frame->function, name) || !strcmp(frame->linkage_name, name))
		return true;
	return size && whole >= size && !memcmp(frame->function + whole - size, name, size) &&
	       (whole == size || frame->function[whole - size - 1] == ':');
}

static bool request_names(const struct reel_value_request *request, const struct reel_frame *frame)
{
	return !request->function || is_named(frame, request->function);
}

/* Whether a request names the function. */
static bool is_wanted(struct reel_trace_values *values, const struct reel_frame *frame)
{
	uint32_t id = frame->function_id;
	bool wanted = false;

	if (id < values->n_wanted && values->wanted[id])
		return values->wanted[id] == 2;
	for (size_t i = 0; !wanted && i < values->n_requests; i++)
		wanted = request_names(&values->requests[i], frame);
	if (id >= values->n_wanted) {
		size_t before = values->n_wanted;

		if (!reel_array_fit(&values->wanted, (size_t)id + 1, &values->n_wanted, 1))
			return wanted;
		memset(values->wanted + before, 0, values->n_wanted - before);
	}
	values->wanted[id] = wanted ? 2 : 1;
	return wanted;
}

/* ---- the sample's frames -------------------------------------------------------------- */

static bool has_frame(const struct reel_trace_values *values, const struct reel_module *module)
{
	for (size_t i = 0; i < values->n_frames; i++) {
		if (values->modules[i] == module)
			return true;
	}
	return false;
}

/*
 * Whether the mapping's module has the address in its file; then *ok_ret: as a constant.  Only of
 * modules with frames of the sample: which others are open depends on the samples before.
 */
static bool read_of_module(const struct reel_trace_values *values,
			   const struct reel_mapping *mapping, uint64_t address, size_t size,
			   uint8_t *bytes_ret, bool *ok_ret)
{
	const struct reel_module *module =
		reel_modules_opened(values->map->modules, mapping->module);
	uint64_t bias;

	if (!module || !has_frame(values, module) || !module->files.file ||
	    module->record->kind != REEL_MODULE_FILE || !reel_module_bias(module, mapping, &bias) ||
	    !reel_elf_file_holds(module->files.file, address - bias))
		return false;
	*ok_ret = reel_elf_file_read_constant(module->files.file, address - bias, size, bytes_ret);
	return true;
}

/*
 * Constants of the modules' files: other memory was not captured.  Only mappings of code are known:
 * a module's constants follow its code, or precede it, as lld and mold place them.
 */
static bool read_constant(void *context, uint64_t address, size_t size, uint8_t *bytes_ret)
{
	const struct reel_trace_values *values = context;
	const struct reel_space_view *view = &values->map->view;
	struct reel_mapping mapping;
	bool ok;

	if (reel_space_view_find(view, address, &mapping) &&
	    read_of_module(values, &mapping, address, size, bytes_ret, &ok))
		return ok;
	mapping.address = address;
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		if (!reel_space_view_below(view, mapping.address, &mapping))
			break;
		if (read_of_module(values, &mapping, address, size, bytes_ret, &ok))
			return ok;
	}
	mapping.address = address;
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		if (!reel_space_view_above(view, mapping.address, &mapping))
			break;
		if (read_of_module(values, &mapping, address, size, bytes_ret, &ok))
			return ok;
	}
	return false;
}

/* Whether frames reached by the step are certain. */
static bool is_certain(uint8_t step)
{
	return step == REEL_STEP_SAMPLE || step == REEL_STEP_CFI || step == REEL_STEP_SIGNAL ||
	       step == REEL_STEP_UNDO_CALL || step == REEL_STEP_SYNTHESIZED;
}

static struct reel_error *find_variables(const struct reel_module *module,
					 struct reel_variables **ret, bool *has_go_ret)
{
	struct reel_error *error;

	*ret = NULL;
	*has_go_ret = false;
	if (!module || !module->symbolizer)
		return NULL;
	pthread_mutex_lock(module->naming);
	error = reel_symbolizer_variables(module->symbolizer, ret, has_go_ret);
	pthread_mutex_unlock(module->naming);
	return error;
}

/* In a system call, rows and names are those of the call, but some registers are no longer. */
static void drop_call_registers(struct reel_unwind_state *state)
{
	for (unsigned dwarf = 0; dwarf < 32; dwarf++) {
		uint8_t slot = reel_arch_slot(state->arch, dwarf);

		if (state->arch->system_call_changes >> dwarf & 1 && slot != REEL_ARCH_NO_SLOT)
			state->known &= ~((uint64_t)1 << slot);
	}
}

/*
 * Go's functions save no registers for their callers, and their unwind information does not say so
 * (ABI0 and ABIInternal; only the stack pointer is restored).
 */
static void drop_saved_registers(struct reel_unwind_state *state)
{
	uint8_t sp = reel_arch_slot(state->arch, state->arch->sp);

	state->known &= sp == REEL_ARCH_NO_SLOT ? 0 : (uint64_t)1 << sp;
}

static struct reel_error *set_frame(struct reel_trace_values *values,
				    struct reel_unwind_frames *unwound, size_t i, bool certain,
				    bool *has_go_ret)
{
	const struct reel_code_range *range = reel_code_map_find(values->map, unwound->lookups[i]);
	struct reel_unwind_state *state = &unwound->states[i];
	struct reel_value_frame *frame = &values->frames[i];
	const struct reel_module *module = range->found == REEL_CODE_FOUND ? range->module : NULL;
	struct reel_rows *rows = module ? reel_module_rows(module, values->map->arch) : NULL;

	state->memory = &values->memory;
	*frame = (struct reel_value_frame){
		.state = certain ? state : NULL,
		.bias = range->bias,
		.pc = unwound->addresses[i],
		.lookup = unwound->lookups[i],
		.cfi = rows ? module->cfi : NULL,
		.is_called = i + 1 < unwound->n && unwound->steps[i + 1] == REEL_STEP_CFI,
	};
	values->modules[i] = module;
	frame->has_cfa = rows && certain &&
			 reel_row_cfa(reel_rows_at(rows, frame->lookup - frame->bias), state,
				      frame->bias, &frame->cfa);
	return find_variables(module, &frame->variables, has_go_ret);
}

static struct reel_error *set_frames(struct reel_trace_values *values,
				     const struct reel_sample *sample,
				     struct reel_unwind_frames *unwound)
{
	bool certain = true, called_go = false;

	TRY(REEL_FIT(values->frames, unwound->n, values->frames_capacity));
	TRY(REEL_FIT(values->modules, unwound->n, values->modules_capacity));
	if (unwound->n)
		values->memory = *unwound->states[0].memory;
	values->memory.read_other = read_constant;
	values->memory.context = values;
	if (unwound->n &&
	    (sample->where == REEL_WHERE_SYSCALL || unwound->lookups[0] != unwound->addresses[0]))
		drop_call_registers(&unwound->states[0]);
	for (size_t i = 0; i < unwound->n; i++) {
		bool has_go;

		certain = certain && is_certain(unwound->steps[i]);
		TRY(set_frame(values, unwound, i, certain, &has_go));
		if (called_go)
			drop_saved_registers(&unwound->states[i]);
		called_go |= has_go;
	}
	return NULL;
}

/* ---- other files ---------------------------------------------------------------------- */

static bool may_read(void *context)
{
	struct reel_trace_values *values = context;

	values->needs_all |= !values->all_locked;
	return values->all_locked;
}

static const struct definitions *find_definitions(const struct reel_trace_values *values,
						  uint64_t module, const char *name)
{
	const struct definitions *all = values->definitions;
	uint32_t number = REEL_HASH_FIND(&values->definitions_index, module ^ (uintptr_t)name, i,
					 all[i].module == module && all[i].name == name);

	return number == REEL_HASH_NONE ? NULL : &all[number];
}

/* They are counted later, without locks. */
static bool add_definitions(struct reel_trace_values *values, uint64_t module, const char *name)
{
	size_t n = values->definitions_index.n;

	if (!reel_array_reserve(&values->definitions, n, &values->definitions_capacity,
				sizeof(*values->definitions)) ||
	    !reel_hash_index_add(&values->definitions_index, module ^ (uintptr_t)name, (uint32_t)n))
		return false;
	values->definitions[n] = (struct definitions){ module, name, SIZE_MAX };
	return true;
}

/* False as well if that is not known yet. */
static bool is_only(void *context, size_t frame, const char *name)
{
	struct reel_trace_values *values = context;
	const struct reel_space_view *view = &values->map->view;
	uint64_t own = values->modules[frame]->record->id;
	struct reel_mapping mapping = { 0 };
	bool is_only = true;

	/* In an image that is made of the file, the value cannot be found. */
	if (values->modules[frame]->code_read)
		return false;
	while (reel_space_view_above(view, mapping.address, &mapping)) {
		const struct definitions *found = find_definitions(values, mapping.module, name);

		is_only &= found && found->n <= (mapping.module == own);
		if (!found && !add_definitions(values, mapping.module, name))
			return false;
	}
	return is_only;
}

struct symbol_count {
	const char *name;
	uint64_t address;
	size_t n;
};

static void count_symbol(void *context, const struct reel_code_symbol *symbol)
{
	struct symbol_count *count = context;
	size_t size = strlen(count->name);

	if (strncmp(symbol->name, count->name, size) != 0 ||
	    (symbol->name[size] && symbol->name[size] != '@') ||
	    (count->n && count->address == symbol->address))
		return;
	count->address = symbol->address;
	count->n++;
}

static struct reel_error *count_definitions(struct reel_trace_values *values,
					    struct definitions *definitions)
{
	struct symbol_count count = { .name = definitions->name };
	struct reel_module *module;
	struct reel_error *error;

	TRY(reel_modules_open(values->map->modules, definitions->module, values->map->arch,
			      &module));
	if (!module || module->record->kind != REEL_MODULE_FILE) {
		definitions->n = 0;
		return NULL;
	}
	/* An image of the file has only the functions that traces need. */
	if (!module->files.file || reel_elf_file_is_embedded(module->files.file))
		return NULL;
	pthread_mutex_lock(module->naming);
	error = reel_code_symbols_visit(module->files.file, module->files.debug, count_symbol,
					&count);
	pthread_mutex_unlock(module->naming);
	if (!error)
		definitions->n = count.n;
	return error;
}

/* ---- values --------------------------------------------------------------------------- */

static void set_knowledge(struct reel_frame_value *value, enum reel_knowledge knowledge)
{
	static const struct {
		enum reel_value_state state;
		const char *reason;
	} meanings[] = {
		[REEL_KNOWN] = { REEL_VALUE_KNOWN, "" },
		[REEL_GONE] = { REEL_VALUE_OPTIMIZED_OUT, "" },
		[REEL_NOT_CAPTURED] = { REEL_VALUE_NOT_CAPTURED,
					"register or memory not in the sample" },
		[REEL_UNCLEAR] = { REEL_VALUE_NOT_CAPTURED, "unsupported debug information" },
	};

	value->state = meanings[knowledge].state;
	value->reason = meanings[knowledge].reason;
}

/* `place` NULL: no such variable here. */
static struct reel_error *add_value(struct reel_trace_values *values,
				    const struct reel_value_request *request, size_t frame,
				    size_t shown, const struct reel_place *place, const char *name,
				    const char *path)
{
	const struct reel_other_files others = { may_read, is_only, values };
	const struct reel_value_frames frames = { values->frames, values->n_frames, &others };
	struct reel_value_result result = { .knowledge = REEL_GONE };
	struct made made = {
		.value = { .frame = shown, .request = (size_t)(request - values->requests) },
	};

	made.name = values->texts.size;
	reel_buffer_append(&values->texts, name, strlen(name) + 1);
	made.text = values->texts.size;
	if (place)
		TRY(reel_value_print(&frames, frame, place, path, &values->texts, &result));
	reel_buffer_u8(&values->texts, 0);
	set_knowledge(&made.value, result.knowledge);
	made.value.is_parameter = place && place->is_parameter;
	made.value.is_local = place && !place->is_parameter;
	made.value.is_number = result.is_number;
	made.value.is_signed = result.is_signed;
	made.value.number = result.number;
	if (values->texts.failed)
		return reel_error_no_memory();
	return REEL_APPEND(values->made, values->n, values->made_capacity, made);
}

/* The variable that the expression begins with: of inner blocks first. */
static const struct reel_place *find_place(const struct reel_places *places,
					   const struct reel_scope *scope, const char *expression,
					   size_t size)
{
	for (size_t i = scope->end; i-- > scope->first;) {
		const char *name = places->all[i].name;

		if (strlen(name) == size && !memcmp(name, expression, size))
			return &places->all[i];
	}
	return NULL;
}

static struct reel_error *answer(struct reel_trace_values *values,
				 const struct reel_value_request *request, size_t frame,
				 size_t shown, const struct reel_places *places,
				 const struct reel_scope *scope)
{
	size_t size;

	if (request->expression) {
		size = strcspn(request->expression, ".-[");
		return add_value(values, request, frame, shown,
				 scope ? find_place(places, scope, request->expression, size)
				       : NULL,
				 request->expression, request->expression + size);
	}
	for (size_t i = scope ? scope->first : 0; scope && i < scope->end; i++) {
		const struct reel_place *place = &places->all[i];

		if (place->is_parameter || request->locals)
			TRY(add_value(values, request, frame, shown, place, place->name, ""));
	}
	return NULL;
}

/* The functions at a frame's address; the first is shown as frame `shown` of the trace. */
static struct reel_error *answer_frame(struct reel_trace_values *values, size_t frame, size_t shown,
				       const struct reel_address_frames *found)
{
	const struct reel_value_frame *it = &values->frames[frame];
	const struct reel_places *places = NULL;

	if (it->variables)
		TRY(reel_variables_at(it->variables, it->lookup - it->bias, &places));
	for (size_t i = 0; i < found->n; i++) {
		bool has_scope = places && places->n_scopes == found->n;

		for (size_t j = 0; j < values->n_requests; j++) {
			if (request_names(&values->requests[j], found->frames[i]))
				TRY(answer(values, &values->requests[j], frame, shown + i, places,
					   has_scope ? &places->scopes[i] : NULL));
		}
	}
	return NULL;
}

static bool any_wanted(struct reel_trace_values *values, const struct reel_address_frames *found)
{
	for (size_t i = 0; i < found->n; i++) {
		if (is_wanted(values, found->frames[i]))
			return true;
	}
	return false;
}

static int compare_locks(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (pthread_mutex_t *const *)a,
		  y = (uintptr_t) * (pthread_mutex_t *const *)b;

	return (x > y) - (x < y);
}

/*
 * Takes the locks of the debug information of the frame's file; or of those of all callers that its
 * values may need, in order of their addresses, so that threads never wait for each other.
 */
static size_t find_locks(const struct reel_trace_values *values, size_t frame,
			 pthread_mutex_t *locks[1 + REEL_VALUE_CALLERS_MAX])
{
	size_t n = 0, n_distinct = 0, end = frame + 1;

	if (values->all_locked)
		end += REEL_VALUE_CALLERS_MAX;
	for (size_t i = frame; i < end && i < values->n_frames; i++) {
		if (values->modules[i] && values->modules[i]->symbolizer)
			locks[n++] = values->modules[i]->naming;
	}
	qsort(locks, n, sizeof(*locks), compare_locks);
	for (size_t i = 0; i < n; i++) {
		if (!i || locks[i] != locks[i - 1])
			locks[n_distinct++] = locks[i];
	}
	return n_distinct;
}

static struct reel_error *answer_locked(struct reel_trace_values *values, size_t frame,
					size_t shown, const struct reel_address_frames *found)
{
	pthread_mutex_t *locks[1 + REEL_VALUE_CALLERS_MAX];
	size_t n = find_locks(values, frame, locks);
	struct reel_error *error;

	for (size_t i = 0; i < n; i++)
		pthread_mutex_lock(locks[i]);
	error = answer_frame(values, frame, shown, found);
	while (n--)
		pthread_mutex_unlock(locks[n]);
	return error;
}

/* Again, as long as something was needed that was not there. */
static struct reel_error *answer_whole_frame(struct reel_trace_values *values, size_t frame,
					     size_t shown, const struct reel_address_frames *found)
{
	size_t n = values->n, size = values->texts.size;

	values->all_locked = false;
	for (;;) {
		values->needs_all = false;
		TRY(answer_locked(values, frame, shown, found));
		if (!values->needs_all &&
		    values->n_definitions_counted == values->definitions_index.n)
			return NULL;
		values->all_locked |= values->needs_all;
		while (values->n_definitions_counted < values->definitions_index.n)
			TRY(count_definitions(
				values, &values->definitions[values->n_definitions_counted++]));
		values->n = n;
		values->texts.size = size;
	}
}

static struct reel_error *answer_frames(struct reel_trace_values *values,
					const struct reel_address_frames *found, size_t n,
					size_t shown)
{
	for (size_t i = 0; i < n; shown += found[i].n, i++) {
		if (any_wanted(values, &found[i]))
			TRY(answer_whole_frame(values, i, shown, &found[i]));
	}
	return NULL;
}

static struct reel_error *give(struct reel_trace_values *values, struct reel_trace *trace)
{
	TRY(REEL_FIT(values->values, values->n, values->values_capacity));
	for (size_t i = 0; i < values->n; i++) {
		values->values[i] = values->made[i].value;
		values->values[i].name = (const char *)values->texts.bytes + values->made[i].name;
		values->values[i].text = (const char *)values->texts.bytes + values->made[i].text;
	}
	trace->values = values->values;
	trace->n_values = values->n;
	return NULL;
}

struct reel_error *reel_trace_values_make(struct reel_trace_values *values,
					  const struct reel_sample *sample,
					  const struct reel_space_state *space,
					  const struct reel_address_frames *found, size_t n,
					  struct reel_trace *trace)
{
	struct reel_unwind_frames *unwound;
	size_t n_wanted = 0;

	values->n = values->texts.size = 0;
	for (size_t i = 0; i < n; i++)
		n_wanted += any_wanted(values, &found[i]);
	if (!n_wanted)
		return NULL;
	TRY(reel_sample_unwind_states(values->unwinder, sample, space, &unwound));
	if (unwound->n != n)
		return NULL;
	values->n_frames = n;
	TRY(set_frames(values, sample, unwound));
	TRY(answer_frames(values, found, n, trace->n_kernel_frames));
	return give(values, trace);
}

/* ---- values that were kept ------------------------------------------------------------ */

static bool is_text(struct reel_bytes bytes, const char *text)
{
	return strlen(text) == bytes.size && !memcmp(bytes.data, text, bytes.size);
}

/* The function may be named in another way, or have no name here. */
static bool request_asks(const struct reel_value_request *request,
			 const struct reel_kept_value *kept, const struct reel_frame *frame)
{
	return (!request->expression || is_text(kept->expression, request->expression)) &&
	       (request_names(request, frame) || is_text(kept->function, request->function));
}

static struct reel_error *add_kept(struct reel_trace_values *values, size_t request, size_t shown,
				   const struct reel_kept_value *kept)
{
	struct made made = {
		.value = {
			.frame = shown,
			.request = request,
			.state = kept->state,
			.reason = kept->state == REEL_VALUE_NOT_CAPTURED
					  ? "unknown when the sample was scrubbed" : "",
			.is_number = kept->is_number,
			.is_signed = kept->is_signed,
			.number = kept->number,
		},
	};

	made.name = values->texts.size;
	reel_buffer_append(&values->texts, kept->expression.data, kept->expression.size);
	reel_buffer_u8(&values->texts, 0);
	made.text = values->texts.size;
	reel_buffer_append(&values->texts, kept->text.data, kept->text.size);
	reel_buffer_u8(&values->texts, 0);
	if (values->texts.failed)
		return reel_error_no_memory();
	return REEL_APPEND(values->made, values->n, values->made_capacity, made);
}

/* In the order of frames and requests, as computed ones are; texts are in the order of adding. */
static int compare_made(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->value.frame != y->value.frame)
		return x->value.frame < y->value.frame ? -1 : 1;
	if (x->value.request != y->value.request)
		return x->value.request < y->value.request ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

struct reel_error *reel_trace_values_copy_kept(struct reel_trace_values *values,
					       const struct reel_sample *sample,
					       const struct reel_address_frames *found, size_t n,
					       struct reel_trace *trace)
{
	struct reel_kept_reader reader = { .sample = sample };
	struct reel_kept_value kept;
	size_t shown = trace->n_kernel_frames;

	values->n = values->texts.size = 0;
	TRY(REEL_FIT(values->shown, n, values->shown_capacity));
	for (size_t i = 0; i < n; shown += found[i].n, i++)
		values->shown[i] = shown;
	while (reel_kept_values_next(&reader, &kept)) {
		size_t level;

		if (kept.frame >= n || !found[kept.frame].n)
			continue;
		/* Inlined functions may be unknown here. */
		level = kept.level < found[kept.frame].n ? (size_t)kept.level
							 : found[kept.frame].n - 1;
		for (size_t i = 0; i < values->n_requests; i++) {
			if (request_asks(&values->requests[i], &kept,
					 found[kept.frame].frames[level]))
				TRY(add_kept(values, i, values->shown[kept.frame] + level, &kept));
		}
	}
	if (values->n)
		qsort(values->made, values->n, sizeof(*values->made), compare_made);
	return give(values, trace);
}
