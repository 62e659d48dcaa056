/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes instructions of fixed formats by the tables of arch/. */
#include "replay/synthesis/decoder_internal.h"

/* A matched instruction. */
struct matched {
	const struct reel_arch *arch;
	const struct reel_arch_instruction *entry;
	uint64_t code;
	int64_t immediate;
};

/* The bytes as a number. */
static uint64_t number_of(const struct reel_arch_instructions *all, const uint8_t *bytes,
			  size_t size)
{
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number |= (uint64_t)bytes[i] << 8 * (all->big_endian ? size - 1 - i : i);
	return number;
}

static uint64_t bits_of(uint64_t code, unsigned at, unsigned n)
{
	return code >> at & (((uint64_t)1 << n) - 1);
}

static int64_t immediate_of(const struct reel_arch_immediate *immediate, uint64_t code)
{
	uint64_t value = 0, sign = immediate->width ? (uint64_t)1 << (immediate->width - 1) : 0;

	for (unsigned i = 0; i < REEL_ARCH_FIELDS_MAX && immediate->fields[i].bits; i++) {
		const struct reel_arch_field *field = &immediate->fields[i];

		value |= bits_of(code, field->at, field->bits) << field->to;
	}
	value = (value ^ sign) - sign + immediate->add;
	return (int64_t)(immediate->negative ? -value : value);
}

static unsigned number_in(const struct matched *matched, uint8_t operand)
{
	const struct reel_arch_operand *place = &matched->arch->instructions->operands[operand];

	return (unsigned)bits_of(matched->code, place->at, place->bits) + place->add;
}

/* The slot of register `number` of an operand. */
static uint8_t slot_of(const struct matched *matched, uint8_t operand, unsigned number)
{
	const struct reel_arch_instructions *all = matched->arch->instructions;
	uint8_t dwarf = all->register_sets[all->operands[operand].set][number % 32];

	return !operand || dwarf == REEL_ARCH_NO_REGISTER ? REEL_ARCH_NO_SLOT
							  : reel_arch_slot(matched->arch, dwarf);
}

static uint8_t operand_slot(const struct matched *matched, uint8_t operand)
{
	return slot_of(matched, operand, number_in(matched, operand));
}

static void store(const struct matched *matched, uint8_t base, int64_t at, size_t size,
		  uint8_t slot, struct reel_instruction *to)
{
	if (base == REEL_ARCH_NO_SLOT)
		return;
	add_store(to, base, at, size,
		  size == matched->arch->word_size ? reel_value_of_register(slot, 0)
						   : (struct reel_value){ 0 });
}

/* The number of registers, from the bits in their numbers. */
static unsigned all_of(const struct matched *matched)
{
	return 1u << matched->arch->instructions->operands[matched->entry->last].bits;
}

/* Register numbers wrap around: s390x's stmg %r14,%r1 stores four. */
static void add_range(const struct matched *matched, const struct reel_arch_effect *effect,
		      uint8_t base, int64_t at, struct reel_instruction *to)
{
	unsigned first = number_in(matched, effect->to), all = all_of(matched),
		 n = (number_in(matched, matched->entry->last) - first) % all + 1;

	for (unsigned i = 0; i < n; i++, at += effect->size) {
		uint8_t slot = slot_of(matched, effect->to, (first + i) % all);

		if (effect->kind == REEL_ARCH_CLOBBER_RANGE)
			add_clobber(to, slot);
		else if (effect->kind == REEL_ARCH_LOAD_RANGE)
			add_set(to, slot, reel_value_of_memory(base, at, 0));
		else
			store(matched, base, at, effect->size, slot, to);
	}
}

static void add_one(const struct matched *matched, const struct reel_arch_effect *effect,
		    struct reel_instruction *to)
{
	int64_t at = effect->plus + (effect->by_immediate ? matched->immediate : 0);
	uint8_t slot = operand_slot(matched, effect->to),
		base = operand_slot(matched, effect->base);

	switch ((enum reel_arch_effect_kind)effect->kind) {
	case REEL_ARCH_NOTHING:
		break;
	case REEL_ARCH_CLOBBER:
		add_clobber(to, slot);
		break;
	case REEL_ARCH_SUM:
		add_set(to, slot, reel_value_of_register(base, at));
		break;
	case REEL_ARCH_LOAD:
		add_set(to, slot, reel_value_of_memory(base, at, 0));
		break;
	case REEL_ARCH_STORE:
		store(matched, base, at, effect->size, slot, to);
		break;
	case REEL_ARCH_STORE_LENGTH:
		store(matched, base, at, number_in(matched, matched->entry->last) + 1,
		      REEL_ARCH_NO_SLOT, to);
		break;
	case REEL_ARCH_CLOBBER_RANGE:
	case REEL_ARCH_LOAD_RANGE:
	case REEL_ARCH_STORE_RANGE:
		add_range(matched, effect, base, at, to);
		break;
	}
}

static void describe(const struct matched *matched, uint64_t address, struct reel_instruction *to)
{
	const struct reel_arch_instruction *entry = matched->entry;

	to->size = entry->size;
	to->flow = entry->flow;
	to->through = operand_slot(matched, entry->through);
	if (entry->flow != REEL_FLOW_NEXT && entry->immediate) {
		to->has_target = true;
		to->target = address + (uint64_t)matched->immediate;
	}
	for (unsigned i = 0; i < REEL_ARCH_EFFECTS_MAX && entry->effects[i].kind; i++)
		add_one(matched, &entry->effects[i], to);
}

bool reel_table_decode(const struct reel_arch *arch, const uint8_t *bytes, size_t size,
		       uint64_t address, struct reel_instruction *ret)
{
	const struct reel_arch_instructions *all = arch->instructions;
	struct matched matched = { .arch = arch };
	size_t read = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct reel_arch_instruction *entry = &all->table[i];

		if (entry->size > size)
			continue;
		if (entry->size != read) {
			read = entry->size;
			matched.code = number_of(all, bytes, read);
		}
		if ((matched.code & entry->mask) != entry->match)
			continue;
		if (entry->unknown)
			return false;
		matched.entry = entry;
		if (entry->immediate)
			matched.immediate = immediate_of(entry->immediate, matched.code);
		describe(&matched, address, ret);
		return true;
	}
	return false;
}
