/* SPDX-License-Identifier: Apache-2.0 */
/* The values of attributes as they are stored (DWARF 5, 7.5.6, and GNU's forms). */
#ifndef REPLAY_DWARF_DWARF_FORM_H
#define REPLAY_DWARF_DWARF_FORM_H

#include "replay/dwarf/abbreviations.h"

struct reel_form_value {
	uint16_t form; /* not DW_FORM_indirect; 0: no such attribute */
	/* Constant, flag, address, offset, reference or index; the size of blocks and strings. */
	uint64_t number;
	const uint8_t *bytes; /* for blocks and DW_FORM_string */
};

/* The size of a form's values, -1 if each contains its own or the form is unknown. */
int reel_form_size(const struct reel_unit_format *format, uint64_t form);
/* Skips a value that contains its own size. */
void reel_form_skip(const struct reel_unit_format *format, struct reel_cursor *cursor,
		    uint64_t form);
/* `constant` is DW_FORM_implicit_const's.  An unknown form fails the cursor. */
void reel_form_take(const struct reel_unit_format *format, struct reel_cursor *cursor,
		    uint64_t form, int64_t constant, struct reel_form_value *ret);

#endif
