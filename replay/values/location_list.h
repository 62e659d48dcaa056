/* SPDX-License-Identifier: Apache-2.0 */
/* Which expression of a location list holds at an address (DWARF 5, 2.6.2 and 7.29; DWARF 4,
 * 2.6.2; and GNU's variant of split files before DWARF 5). */
#ifndef REPLAY_VALUES_LOCATION_LIST_H
#define REPLAY_VALUES_LOCATION_LIST_H

#include "replay/dwarf/full_die.h"

/*
 * The expression of an attribute at an ELF address: the attribute's own, or that of its list; NULL
 * data if there is none.  False: unreadable.
 */
bool reel_location_find(struct reel_die_reader *reader, const struct reel_die_reference *at,
			const struct reel_form_value *value, uint64_t address,
			struct reel_bytes *ret);

#endif
