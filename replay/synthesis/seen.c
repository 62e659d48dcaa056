/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that a result was made from.  JITs change a few bytes of their code all the time.  A
 * result is used again as long as the bytes that its analysis has read are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/synthesis/code.h"

/* Another source begins only at a multiple. */
#define PAGE 4096
/* Limit of parts; a result with more is not used again. */
#define PARTS_MAX (2 * REEL_CODE_NODES_MAX)

bool reel_code_seen_begin(struct reel_code_reader *reader, struct reel_code_seen **ret)
{
	*ret = NULL;
	if (!reader->input.find_source)
		return true;
	*ret = calloc(1, sizeof(**ret));
	if (*ret)
		(*ret)->number = ++reader->n_seen;
	return *ret;
}

static bool may_join(const struct reel_code_part *part, const struct reel_code_part *next)
{
	return part->source == next->source && part->size && next->size &&
	       next->address >= part->address && next->address - part->address <= part->size;
}

static void join(struct reel_code_part *part, const struct reel_code_part *next)
{
	size_t end = (size_t)(next->address - part->address) + next->size;

	part->size = end > part->size ? end : part->size;
}

static void append(struct reel_code_seen *seen, struct reel_code_part part)
{
	/* Code is read in order, but for a look at the targets of calls. */
	for (size_t i = seen->n; i-- && i + 2 >= seen->n;) {
		if (may_join(&seen->parts[i], &part)) {
			join(&seen->parts[i], &part);
			return;
		}
	}
	if (seen->n < PARTS_MAX &&
	    reel_array_reserve(&seen->parts, seen->n, &seen->capacity, sizeof(part)))
		seen->parts[seen->n++] = part;
	else
		seen->lost = true;
}

void reel_code_seen_note(struct reel_code_reader *reader, uint64_t address, size_t size)
{
	uint64_t source;

	if (!reader->seen)
		return;
	source = reader->input.find_source(reader->input.module, address);
	/* The bytes of a source do not matter. */
	append(reader->seen,
	       (struct reel_code_part){ address, source, source ? size + !size : size });
}

void reel_code_seen_note_source(struct reel_code_reader *reader, uint64_t address)
{
	if (reader->seen && reader->input.find_source(reader->input.module, address))
		reel_code_seen_note(reader, address, 1);
}

void reel_code_seen_add(struct reel_code_seen *to, struct reel_code_seen *seen)
{
	if (seen->added_to == to->number)
		return;
	seen->added_to = to->number;
	for (size_t i = 0; i < seen->n; i++)
		append(to, seen->parts[i]);
	to->lost |= seen->lost;
}

static int compare_parts(const void *a, const void *b)
{
	const struct reel_code_part *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

void reel_code_seen_end(struct reel_code_reader *reader, struct reel_code_seen *seen)
{
	size_t n = 0, size = 0;

	if (!seen)
		return;
	seen->state = reader->state;
	qsort(seen->parts, seen->n, sizeof(*seen->parts), compare_parts);
	for (size_t i = 0; i < seen->n; i++) {
		if (n && may_join(&seen->parts[n - 1], &seen->parts[i]))
			join(&seen->parts[n - 1], &seen->parts[i]);
		else
			seen->parts[n++] = seen->parts[i];
	}
	seen->n = n;
	for (size_t i = 0; i < n; i++)
		size += seen->parts[i].source ? 0 : seen->parts[i].size;
	seen->bytes = malloc(size + !size);
	seen->lost |= !seen->bytes;
	size = 0;
	for (size_t i = 0; i < n && !seen->lost; i++) {
		const struct reel_code_part *part = &seen->parts[i];

		if (part->source || !part->size)
			continue;
		seen->lost |= !reader->input.read_code(reader->input.module, part->address,
						       part->size, seen->bytes + size);
		size += part->size;
	}
}

/* `bytes`: what it had, without a source. */
static bool is_same(const struct reel_code_reader *reader, const struct reel_code_part *part,
		    const uint8_t *bytes)
{
	const struct reel_synthesis_input *input = &reader->input;
	uint8_t now[PAGE];

	if (!part->size)
		return !input->find_source(input->module, part->address) &&
		       !input->read_code(input->module, part->address, 1, now);
	for (size_t at = 0, size; at < part->size; at += size) {
		uint64_t address = part->address + at;

		size = PAGE - address % PAGE;
		size = size < part->size - at ? size : part->size - at;
		if (input->find_source(input->module, address) != part->source)
			return false;
		if (!part->source && (!input->read_code(input->module, address, size, now) ||
				      memcmp(now, bytes + at, size)))
			return false;
	}
	return true;
}

static void drop(struct reel_code_seen *seen)
{
	free(seen->parts);
	free(seen->bytes);
	*seen = (struct reel_code_seen){ .next = seen->next };
}

bool reel_code_seen_holds(const struct reel_code_reader *reader, struct reel_code_seen *seen)
{
	const uint8_t *bytes;

	if (!seen || seen->state == reader->state)
		return true;
	if (!seen->state)
		return false;
	bytes = seen->bytes;
	for (size_t i = 0; i < seen->n && !seen->lost; i++) {
		seen->lost = !is_same(reader, &seen->parts[i], bytes);
		bytes += seen->parts[i].source ? 0 : seen->parts[i].size;
	}
	seen->state = reader->state;
	if (seen->lost)
		drop(seen);
	return seen->state;
}

void reel_code_seen_free(struct reel_code_seen *seen)
{
	while (seen) {
		struct reel_code_seen *next = seen->next;

		drop(seen);
		free(seen);
		seen = next;
	}
}
