/* SPDX-License-Identifier: Apache-2.0 */
#include <dwarf.h>

#include "base/dwarf_cursor.h"
#include "cfi/expression.h"
#include "replay/values/location.h"

/* Entry values whose expressions have entry values, and frame bases: their depth, and how many a
 * value may need in all, as each may need several. */
#define LEVELS_MAX (REEL_VALUE_CALLERS_MAX - 1)
#define NESTED_MAX 64
/* Of a function's unwind information: rows, and the work of each. */
#define ROWS_MAX     256
#define ROW_WORK_MAX 4096

struct evaluation {
	const struct reel_value_frames *frames;
	struct reel_die_reader *reader; /* of the variable's file, which pays for all */
	size_t frame;
	unsigned level;
	unsigned *nested_left;
	bool is_frame_base;
	struct reel_location_of *location; /* NULL: only a value is wanted */
	struct reel_piece pending;	   /* kind GONE: none, or the address on the stack */
	enum reel_knowledge knowledge;	   /* why the machine refused */
	struct reel_error *error;
};

/* Whether an expression is a frame base, and then whether it is the same in all of a function. */
enum base_kind { NO_BASE = 0, BASE_OF_LIST, BASE_OF_ALL };

static const struct reel_value_frame *frame_of(const struct evaluation *e)
{
	return &e->frames->all[e->frame];
}

static void refuse(struct evaluation *e, struct reel_expression *m, enum reel_knowledge why)
{
	if (m->result == REEL_EXPRESSION_OK)
		e->knowledge = why;
	reel_expression_fail(m, REEL_EXPRESSION_REFUSED);
}

static enum reel_knowledge knowledge_of(const struct evaluation *e,
					enum reel_expression_result result)
{
	switch (result) {
	case REEL_EXPRESSION_OK:
		return REEL_KNOWN;
	case REEL_EXPRESSION_MEMORY_MISSING:
	case REEL_EXPRESSION_REGISTER_UNKNOWN:
	case REEL_EXPRESSION_SCRUBBED:
		return REEL_NOT_CAPTURED;
	case REEL_EXPRESSION_REFUSED:
		return e->knowledge ? e->knowledge : REEL_UNCLEAR;
	case REEL_EXPRESSION_BAD:
		break;
	}
	return REEL_UNCLEAR;
}

/* ---- frames' registers --------------------------------------------------------------- */

/* The largest distance of CFA and stack pointer in the function, which is that of its body. */
static bool body_size(struct reel_cfi *cfi, uint16_t sp, const struct reel_cfi_row *row,
		      int64_t *ret)
{
	uint64_t address = row->fde_begin;
	struct reel_cfi_row other;

	*ret = row->cfa.offset;
	for (int i = 0; i < ROWS_MAX && address < row->fde_end; i++, address = other.end) {
		if (reel_cfi_row_at(cfi, address, &other, NULL) != REEL_CFI_FOUND ||
		    other.work > ROW_WORK_MAX || other.end <= address)
			return false;
		if (other.cfa.kind == REEL_RULE_REGISTER_OFFSET && other.cfa.reg == sp &&
		    other.cfa.offset > *ret)
			*ret = other.cfa.offset;
	}
	return address >= row->fde_end;
}

/*
 * Whether a register to which the places of a whole function are relative has the value for it:
 * not while the frame is being set up or left.  The unwind information tells: a frame pointer is
 * what the CFA is found by, and the stack pointer is at its lowest.
 */
static bool is_frame_set_up(const struct reel_value_frame *frame, uint64_t dwarf)
{
	uint16_t sp = frame->state->arch->sp;
	struct reel_cfi_row row;
	int64_t size;

	/* It has called another function. */
	if (frame->lookup != frame->pc)
		return true;
	if (!frame->cfi ||
	    reel_cfi_row_at(frame->cfi, frame->lookup - frame->bias, &row, NULL) !=
		    REEL_CFI_FOUND ||
	    row.cfa.kind != REEL_RULE_REGISTER_OFFSET || row.cfa.reg != dwarf)
		return false;
	return dwarf != sp || (body_size(frame->cfi, sp, &row, &size) && row.cfa.offset == size);
}

/* ---- numbers ------------------------------------------------------------------------ */

static bool operate(void *context, struct reel_expression *m, uint8_t op);

/* The number that an expression gives for a frame. */
static enum reel_knowledge evaluate_number(struct evaluation *from, size_t frame,
					   struct reel_bytes expression, enum base_kind base,
					   uint64_t *ret)
{
	const struct reel_value_frame *it = &from->frames->all[frame];
	struct evaluation e = {
		.frames = from->frames,
		.reader = from->reader,
		.frame = frame,
		.level = from->level + 1,
		.nested_left = from->nested_left,
		.is_frame_base = base != NO_BASE,
	};
	struct reel_expression_extension extension = { operate, &e };
	enum reel_expression_result result;
	struct reel_expression m;

	if (e.level > LEVELS_MAX || !*e.nested_left)
		return REEL_UNCLEAR;
	--*e.nested_left;
	if (!it->state)
		return REEL_NOT_CAPTURED;
	if (!expression.data)
		return REEL_GONE;
	reel_expression_begin(&m, it->state, expression.data, expression.size, it->bias,
			      &extension);
	result = reel_expression_run(&m);
	/* A frame base that is in a register, is the register's value (DWARF 5, 3.3.5). */
	if (result == REEL_EXPRESSION_OK && e.pending.kind == REEL_PIECE_REGISTER && base) {
		if (base == BASE_OF_ALL && !is_frame_set_up(it, e.pending.number))
			return REEL_NOT_CAPTURED;
		*ret = reel_expression_register(&m, e.pending.number);
	} else if (result == REEL_EXPRESSION_OK && e.pending.kind == REEL_PIECE_NUMBER) {
		*ret = e.pending.number;
	} else if (result == REEL_EXPRESSION_OK && e.pending.kind) {
		return REEL_UNCLEAR;
	} else if (result == REEL_EXPRESSION_OK) {
		*ret = reel_expression_pop(&m);
	}
	from->error = e.error;
	return knowledge_of(&e, m.result != REEL_EXPRESSION_OK ? m.result : result);
}

/* ---- entry values ------------------------------------------------------------------- */

static struct reel_error *places_of(const struct reel_value_frame *frame,
				    const struct reel_places **ret)
{
	*ret = NULL;
	if (!frame->variables)
		return NULL;
	return reel_variables_at(frame->variables, frame->lookup - frame->bias, ret);
}

/* Follows a declaration or an abstract instance to compare functions: the last DIE. */
static void last_origin(struct reel_die_reader *reader, struct reel_full_die *die)
{
	struct reel_full_die next;

	for (int i = 0; i < LEVELS_MAX; i++) {
		if (!reel_full_die_follow(reader, die, DW_AT_abstract_origin, &next) &&
		    !reel_full_die_follow(reader, die, DW_AT_specification, &next))
			return;
		*die = next;
	}
}

static const char *linkage_name(const struct reel_full_die *die)
{
	const struct reel_form_value *value = reel_full_die_get(die, DW_AT_linkage_name);

	if (value)
		return reel_dwarf_string(die->at.dwarf, die->at.unit, value);
	return reel_full_die_name(die);
}

/* The name by which the call in another unit or file led to a function of the whole program; NULL:
 * it did not. */
static const char *called_name(const struct reel_full_die *target,
			       const struct reel_full_die *function)
{
	const char *name = linkage_name(target), *own = linkage_name(function);

	return name && own && !strcmp(name, own) && reel_full_die_flag(target, DW_AT_external) &&
			       reel_full_die_flag(function, DW_AT_external)
		       ? name
		       : NULL;
}

/* Whether the call's target is the function; *name_ret: as of struct reel_call_value. */
static bool is_target(struct evaluation *e, struct reel_full_die target,
		      struct reel_full_die function, const char **name_ret)
{
	const struct reel_value_frame *frame = frame_of(e);
	const char *name;

	*name_ret = NULL;
	last_origin(e->reader, &target);
	last_origin(e->reader, &function);
	if (target.at.dwarf == function.at.dwarf && target.at.offset == function.at.offset)
		return true;
	name = called_name(&target, &function);
	if (frame[1].variables != frame->variables)
		*name_ret = name;
	return name;
}

static bool is_call_site(uint16_t tag)
{
	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

static bool is_tail_call(const struct reel_full_die *die)
{
	return reel_full_die_flag(die, DW_AT_call_tail_call) ||
	       reel_full_die_flag(die, DW_AT_GNU_tail_call);
}

/*
 * Whether the function may be running again, without having returned: it, or a function that it
 * left its frame to, may have jumped to it with other parameters.
 */
static bool has_tail_calls(struct reel_die_reader *reader, struct reel_die_reference function)
{
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;

	reel_die_walk_begin(&walk, reader, function);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		if (is_call_site(die.tag) && is_tail_call(&die))
			return true;
	}
	return reader->failed;
}

/* The call in the function that returns to an ELF address. */
static bool find_call_site(struct reel_die_reader *reader, struct reel_die_reference function,
			   uint64_t address, struct reel_full_die *ret)
{
	struct reel_die_walk walk;
	unsigned depth;

	reel_die_walk_begin(&walk, reader, function);
	while (reel_die_walk_next(&walk, ret, &depth)) {
		const struct reel_form_value *value;
		uint64_t at;

		if (!is_call_site(ret->tag))
			continue;
		value = reel_full_die_get(ret, DW_AT_call_return_pc);
		if (!value)
			value = reel_full_die_get(ret, DW_AT_low_pc);
		if (value && reel_dwarf_address(ret->at.dwarf, ret->at.unit, value, &at) &&
		    at == address)
			return true;
	}
	return false;
}

/* Whether the call leads to the function; *ret then has how, and under which conditions. */
static bool find_target(struct evaluation *e, const struct reel_full_die *site,
			struct reel_die_reference at, struct reel_call_value *ret)
{
	const struct reel_form_value *value = reel_full_die_get(site, DW_AT_call_target), *entry;
	struct reel_full_die target, function;

	if (!reel_full_die_read(e->reader, at, &function))
		return false;
	if (reel_full_die_follow(e->reader, site, DW_AT_call_origin, &target) ||
	    reel_full_die_follow(e->reader, site, DW_AT_abstract_origin, &target))
		return is_target(e, target, function, &ret->name);
	if (!value)
		value = reel_full_die_get(site, DW_AT_GNU_call_site_target);
	entry = reel_full_die_get(&function, DW_AT_low_pc);
	if (!value || !value->bytes || !entry ||
	    !reel_dwarf_address(function.at.dwarf, function.at.unit, entry, &ret->entry))
		return false;
	ret->target = (struct reel_bytes){ value->bytes, (size_t)value->number };
	return true;
}

/* The parameter's value at the call, as an expression for the caller. */
static bool find_call_value(struct reel_die_reader *reader, const struct reel_full_die *site,
			    struct reel_bytes location, struct reel_bytes *ret)
{
	struct reel_die_walk walk;
	struct reel_full_die die;
	unsigned depth;

	reel_die_walk_begin(&walk, reader, site->at);
	while (reel_die_walk_next(&walk, &die, &depth)) {
		const struct reel_form_value *where, *value;

		if (die.tag != DW_TAG_call_site_parameter &&
		    die.tag != DW_TAG_GNU_call_site_parameter)
			continue;
		where = reel_full_die_get(&die, DW_AT_location);
		value = reel_full_die_get(&die, DW_AT_call_value);
		if (!value)
			value = reel_full_die_get(&die, DW_AT_GNU_call_site_value);
		if (!where || !value || !where->bytes || !value->bytes ||
		    where->number != location.size ||
		    memcmp(where->bytes, location.data, location.size) != 0)
			continue;
		*ret = (struct reel_bytes){ value->bytes, (size_t)value->number };
		return true;
	}
	return false;
}

/* Finds the expression for the caller; its data stays NULL if the call does not tell. */
static struct reel_error *find_call(struct evaluation *e, struct reel_bytes location,
				    struct reel_call_value *ret)
{
	const struct reel_value_frame *frame = frame_of(e), *caller = frame + 1;
	const struct reel_places *here, *there;
	struct reel_full_die site;

	TRY(places_of(frame, &here));
	TRY(places_of(caller, &there));
	if (here->function.unit && there->function.unit &&
	    find_call_site(e->reader, there->function, ret->there, &site) &&
	    find_target(e, &site, here->function, ret) &&
	    !has_tail_calls(e->reader, here->function))
		find_call_value(e->reader, &site, location, &ret->expression);
	return reel_variables_add_call_value(frame->variables, ret);
}

/* Whether the call of the frame's function began it. */
static bool is_begun_by(struct evaluation *e, const struct reel_call_value *call)
{
	const struct reel_other_files *others = e->frames->others;
	uint64_t target;

	if (call->target.data)
		return !evaluate_number(e, e->frame + 1, call->target, NO_BASE, &target) &&
		       !e->error && target == call->entry + frame_of(e)->bias;
	return !call->name || others->is_only(others->context, e->frame, call->name);
}

/*
 * The value that `location` had when the frame's function was called (DWARF 5, 2.5.1.7 and 3.4).
 *
 * The caller's call site has it if that call began the function.  The function may have been
 * reached with other parameters instead, in two ways.  By tail calls that it made itself: so it must
 * have none.  Or by those of another function that was called first, under the name in the call
 * site.  In one file, a name is one function.  A call to another file leads to the first file in the
 * process that has the name, such as a preloaded library, which may pass it on: so no other file may
 * have it.  An indirect call began the function if it led to its first instruction.
 */
static enum reel_knowledge entry_value(struct evaluation *e, struct reel_bytes location,
				       uint64_t *ret)
{
	const struct reel_value_frame *frame = frame_of(e), *caller = frame + 1;
	const struct reel_other_files *others = e->frames->others;
	const struct reel_call_value *known;
	struct reel_call_value call;

	if (e->frame + 1 >= e->frames->n || !frame->is_called || !caller->state ||
	    !frame->variables || !caller->variables)
		return REEL_NOT_CAPTURED;
	if (caller->variables != frame->variables && !(others && others->may_read(others->context)))
		return REEL_NOT_CAPTURED;
	call = (struct reel_call_value){
		.here = frame->lookup - frame->bias,
		.there = caller->pc - caller->bias,
		.caller = caller->variables,
		.location = location.data,
	};
	known = reel_variables_call_value(frame->variables, &call);
	if (known)
		call = *known;
	else
		e->error = find_call(e, location, &call);
	if (e->error)
		return REEL_UNCLEAR;
	if (!call.expression.data || !is_begun_by(e, &call))
		return caller->variables == frame->variables ? REEL_GONE : REEL_NOT_CAPTURED;
	return evaluate_number(e, e->frame + 1, call.expression, NO_BASE, ret);
}

static void push_entry_value(struct evaluation *e, struct reel_expression *m)
{
	uint64_t size = reel_cursor_uleb(&m->code), value = 0;
	const uint8_t *bytes = reel_cursor_take(&m->code, size);
	enum reel_knowledge knowledge;

	if (!bytes)
		return;
	knowledge = entry_value(e, (struct reel_bytes){ bytes, (size_t)size }, &value);
	if (knowledge)
		refuse(e, m, knowledge);
	else
		reel_expression_push(m, value);
}

/* ---- pieces ------------------------------------------------------------------------- */

/* The place that the expression has led to so far. */
static struct reel_piece take_pending(struct evaluation *e, struct reel_expression *m)
{
	struct reel_piece piece = e->pending;

	e->pending = (struct reel_piece){ 0 };
	if (!piece.kind && m->depth)
		piece = (struct reel_piece){ .kind = REEL_PIECE_MEMORY,
					     .number = reel_expression_pop(m) };
	return piece;
}

static void add_piece(struct evaluation *e, struct reel_expression *m, uint64_t size)
{
	struct reel_piece piece = take_pending(e, m);

	piece.size = size;
	if (!e->location || e->location->n == REEL_PIECES_MAX)
		refuse(e, m, REEL_UNCLEAR);
	else
		e->location->pieces[e->location->n++] = piece;
}

static void set_register(struct evaluation *e, uint64_t dwarf)
{
	e->pending = (struct reel_piece){ .kind = REEL_PIECE_REGISTER, .number = dwarf };
}

/* ---- base types --------------------------------------------------------------------- */

/* The type of values of a base type at an offset of the unit; false: not a number that the machine
 * computes with. */
static bool machine_type(struct evaluation *e, uint64_t offset, uint8_t *ret)
{
	const struct reel_value_frame *frame = frame_of(e);
	const struct reel_places *places;
	uint64_t size = 0, encoding = 0;
	struct reel_die_reference at;
	struct reel_full_die die;

	*ret = 0;
	if (!offset)
		return true;
	e->error = places_of(frame, &places);
	if (e->error || !places || !places->function.unit)
		return false;
	at = places->function;
	at.offset = at.unit->offset + offset;
	if (!reel_full_die_read(e->reader, at, &die) || die.tag != DW_TAG_base_type ||
	    !reel_full_die_number(&die, DW_AT_byte_size, &size) ||
	    !reel_full_die_number(&die, DW_AT_encoding, &encoding) || !size || size > 8)
		return false;
	*ret = (uint8_t)size;
	switch (encoding) {
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		*ret |= REEL_EXPRESSION_SIGNED;
		return true;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_boolean:
	case DW_ATE_address:
	case DW_ATE_UTF:
		return true;
	default:
		return false;
	}
}

static bool operate_typed(struct evaluation *e, struct reel_expression *m, uint8_t op)
{
	uint64_t number = 0, size;
	const uint8_t *bytes;
	uint8_t type;
	bool known;

	switch (op) {
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
		known = machine_type(e, reel_cursor_uleb(&m->code), &type);
		size = reel_cursor_u8(&m->code);
		bytes = reel_cursor_take(&m->code, size);
		if (known && bytes && size == (type & 0x7f))
			reel_expression_push_typed(m,
						   reel_load_target(bytes, (unsigned)size,
								    m->state->memory->big_endian),
						   type);
		else
			refuse(e, m, REEL_UNCLEAR);
		return true;
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		number = reel_cursor_uleb(&m->code);
		known = machine_type(e, reel_cursor_uleb(&m->code), &type);
		number = reel_expression_register(m, number);
		break;
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		size = reel_cursor_u8(&m->code);
		known = machine_type(e, reel_cursor_uleb(&m->code), &type);
		if (known)
			reel_expression_dereference(m, (unsigned)size, type);
		else
			refuse(e, m, REEL_UNCLEAR);
		return true;
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		known = machine_type(e, reel_cursor_uleb(&m->code), &type);
		number = reel_expression_pop(m);
		break;
	default:
		return false;
	}
	if (known)
		reel_expression_push_typed(m, number, type);
	else
		refuse(e, m, REEL_UNCLEAR);
	return true;
}

/* ---- operations --------------------------------------------------------------------- */

static void push_frame_base(struct evaluation *e, struct reel_expression *m)
{
	uint64_t offset = (uint64_t)reel_cursor_sleb(&m->code), base = 0;
	enum reel_knowledge knowledge = REEL_UNCLEAR;
	const struct reel_places *places;

	/* A frame base is not relative to itself. */
	if (e->is_frame_base) {
		refuse(e, m, REEL_UNCLEAR);
		return;
	}
	e->error = places_of(frame_of(e), &places);
	if (!e->error && places)
		knowledge = evaluate_number(
			e, e->frame, places->frame_base,
			places->frame_base_is_of_all ? BASE_OF_ALL : BASE_OF_LIST, &base);
	if (knowledge)
		refuse(e, m, knowledge == REEL_GONE ? REEL_UNCLEAR : knowledge);
	else
		reel_expression_push(m, base + offset);
}

static void push_indexed(struct evaluation *e, struct reel_expression *m, uint64_t bias)
{
	uint64_t index = reel_cursor_uleb(&m->code), address;
	const struct reel_places *places;

	e->error = places_of(frame_of(e), &places);
	if (!e->error && places && places->function.unit &&
	    reel_dwarf_address_at(places->function.dwarf, places->function.unit, index, &address))
		reel_expression_push(m, address + bias);
	else
		refuse(e, m, REEL_UNCLEAR);
}

static bool operate_place(struct evaluation *e, struct reel_expression *m, uint8_t op)
{
	uint64_t size;

	switch (op) {
	case DW_OP_reg0 ... DW_OP_reg31:
		set_register(e, op - DW_OP_reg0);
		return true;
	case DW_OP_regx:
		set_register(e, reel_cursor_uleb(&m->code));
		return true;
	case DW_OP_stack_value:
		e->pending = (struct reel_piece){ .kind = REEL_PIECE_NUMBER,
						  .number = reel_expression_pop(m) };
		return true;
	case DW_OP_implicit_value:
		size = reel_cursor_uleb(&m->code);
		e->pending.bytes.data = reel_cursor_take(&m->code, size);
		e->pending.bytes.size = (size_t)size;
		e->pending.kind = REEL_PIECE_BYTES;
		return true;
	case DW_OP_piece:
		add_piece(e, m, reel_cursor_uleb(&m->code));
		return true;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		/* The object has no address any more. */
		refuse(e, m, REEL_GONE);
		return true;
	default:
		return false;
	}
}

static bool operate(void *context, struct reel_expression *m, uint8_t op)
{
	struct evaluation *e = context;
	const struct reel_value_frame *frame = frame_of(e);

	if (operate_place(e, m, op) || operate_typed(e, m, op))
		return true;
	switch (op) {
	case DW_OP_fbreg:
		push_frame_base(e, m);
		return true;
	case DW_OP_call_frame_cfa:
		if (frame->has_cfa)
			reel_expression_push(m, frame->cfa);
		else
			refuse(e, m, REEL_NOT_CAPTURED);
		return true;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		push_entry_value(e, m);
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		push_indexed(e, m, frame->bias);
		return true;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		push_indexed(e, m, 0);
		return true;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		refuse(e, m, REEL_NOT_CAPTURED);
		return true;
	case DW_OP_GNU_uninit:
		refuse(e, m, REEL_GONE);
		return true;
	default:
		return false;
	}
}

/* Whether a place of a whole function, found by a register, is the value's at this instruction. */
static bool is_place_ready(const struct reel_value_frame *frame, const struct reel_place *place)
{
	uint8_t op = place->expression.data[0];

	return !place->is_of_all || op < DW_OP_breg0 || op > DW_OP_breg31 ||
	       is_frame_set_up(frame, op - DW_OP_breg0);
}

/* Whether a parameter is in the function's own frame, which has no value of it at first. */
static bool is_unset(const struct reel_value_frame *frame, const struct reel_place *place,
		     const struct reel_location_of *location)
{
	for (size_t i = 0; place->may_be_unset && i < location->n; i++) {
		if (location->pieces[i].kind == REEL_PIECE_MEMORY &&
		    (!frame->has_cfa || location->pieces[i].number < frame->cfa))
			return true;
	}
	return false;
}

struct reel_error *reel_location_evaluate(const struct reel_value_frames *frames, size_t frame,
					  const struct reel_place *place,
					  struct reel_location_of *ret,
					  enum reel_knowledge *knowledge_ret)
{
	struct reel_bytes expression = place->expression;
	const struct reel_value_frame *it = &frames->all[frame];
	unsigned nested_left = NESTED_MAX;
	struct evaluation e = {
		.frames = frames,
		.reader = reel_variables_reader(it->variables),
		.frame = frame,
		.nested_left = &nested_left,
		.location = ret,
	};
	struct reel_expression_extension extension = { operate, &e };
	enum reel_expression_result result;
	struct reel_expression m;

	ret->frames = frames;
	ret->frame = frame;
	ret->n = 0;
	ret->whole = it->state ? it->state->arch->word_size : 8;
	*knowledge_ret = REEL_GONE;
	if (!expression.data || !expression.size)
		return NULL;
	*knowledge_ret = REEL_NOT_CAPTURED;
	if (!it->state || !is_place_ready(it, place))
		return NULL;
	reel_expression_begin(&m, it->state, expression.data, expression.size, it->bias,
			      &extension);
	result = reel_expression_run(&m);
	if (result == REEL_EXPRESSION_OK && !ret->n) {
		ret->pieces[0] = take_pending(&e, &m);
		ret->pieces[0].size = UINT64_MAX;
		ret->n = 1;
	}
	*knowledge_ret = knowledge_of(&e, result);
	if (!*knowledge_ret && is_unset(it, place, ret))
		*knowledge_ret = REEL_NOT_CAPTURED;
	return e.error;
}

/* ---- bytes -------------------------------------------------------------------------- */

enum reel_knowledge reel_value_memory_read(const struct reel_memory_view *memory, uint64_t address,
					   size_t size, uint8_t *ret)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t byte;

		if (reel_memory_read(memory, address + i, 1, &byte))
			ret[i] = (uint8_t)byte;
		else if (!memory->read_other ||
			 !memory->read_other(memory->context, address + i, 1, &ret[i]))
			return REEL_NOT_CAPTURED;
	}
	return REEL_KNOWN;
}

/* Part of a number, which has a word's bytes in the target's order. */
static enum reel_knowledge read_number(const struct reel_unwind_state *state, uint64_t number,
				       uint64_t whole, uint64_t offset, size_t size, uint8_t *ret)
{
	unsigned word = state->arch->word_size;
	uint8_t bytes[8];

	/* On big-endian CPUs, a smaller value is at the word's end. */
	if (state->memory->big_endian && whole < word)
		offset += word - whole;
	if (offset > word || size > word - offset)
		return REEL_NOT_CAPTURED;
	reel_store_target(bytes, word, state->memory->big_endian, number);
	memcpy(ret, bytes + offset, size);
	return REEL_KNOWN;
}

static enum reel_knowledge read_register(const struct reel_unwind_state *state, uint64_t dwarf,
					 uint64_t *ret)
{
	uint8_t slot = reel_arch_slot(state->arch, dwarf);

	if (slot == REEL_ARCH_NO_SLOT || !(state->known >> slot & 1))
		return REEL_NOT_CAPTURED;
	*ret = state->registers[slot];
	return REEL_KNOWN;
}

/* `whole` is the size of the piece, or of the value if there is only one. */
static enum reel_knowledge read_piece(const struct reel_unwind_state *state,
				      const struct reel_piece *piece, uint64_t whole,
				      uint64_t offset, size_t size, uint8_t *ret)
{
	enum reel_knowledge knowledge;
	uint64_t number = piece->number;

	switch (piece->kind) {
	case REEL_PIECE_MEMORY:
		return reel_value_memory_read(state->memory, piece->number + offset, size, ret);
	case REEL_PIECE_REGISTER:
		knowledge = read_register(state, piece->number, &number);
		return knowledge ? knowledge : read_number(state, number, whole, offset, size, ret);
	case REEL_PIECE_NUMBER:
		return read_number(state, number, whole, offset, size, ret);
	case REEL_PIECE_BYTES:
		if (!piece->bytes.data || offset > piece->bytes.size ||
		    size > piece->bytes.size - offset)
			return REEL_UNCLEAR;
		memcpy(ret, piece->bytes.data + offset, size);
		return REEL_KNOWN;
	case REEL_PIECE_GONE:
		break;
	}
	return REEL_GONE;
}

enum reel_knowledge reel_location_read(const struct reel_location_of *location, uint64_t offset,
				       size_t size, uint8_t *ret)
{
	const struct reel_unwind_state *state = location->frames->all[location->frame].state;
	uint64_t begin = 0;

	for (size_t i = 0; i < location->n && size; i++) {
		const struct reel_piece *piece = &location->pieces[i];
		uint64_t inside = offset - begin, left;
		enum reel_knowledge knowledge;
		size_t part;

		if (piece->size == UINT64_MAX)
			return read_piece(state, piece, location->whole, offset, size, ret);
		if (offset < begin || inside >= piece->size) {
			begin += piece->size;
			continue;
		}
		left = piece->size - inside;
		part = size < left ? size : (size_t)left;
		knowledge = read_piece(state, piece, piece->size, inside, part, ret);
		if (knowledge)
			return knowledge;
		offset += part;
		ret += part;
		size -= part;
		begin += piece->size;
	}
	return size ? REEL_GONE : REEL_KNOWN;
}
