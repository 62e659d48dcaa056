/* SPDX-License-Identifier: Apache-2.0 */
/* A function's instructions and their samples. */
#ifndef CLI_ANNOTATE_LISTING_H
#define CLI_ANNOTATE_LISTING_H

#include "cli/annotate/functions.h"

struct row {
	uint64_t address, size;
	uint8_t *bytes; /* NULL: none */
	char *text;	/* escaped; "" if unknown */
	int flow;	/* as in reel_function_instruction */
	bool has_target;
	uint64_t target;
	size_t target_row; /* of a jump within the function; else SIZE_MAX */
	char *target_name; /* "puts@plt", "+0x30" within the function; escaped; or NULL */
	struct reel_function_place *places;
	size_t n_places;
	struct amount self;
};

struct listing {
	const struct reel_function_info *info;
	struct reel_function *function;
	/* An interpreter's function has no code: a row is a line, with its number as address. */
	bool is_source;
	struct reel_function_info source_info;
	struct row *rows;
	size_t n, capacity;
	/* The function's missing bytes, and unknown instructions. */
	uint64_t bytes_missing, unknown;
	struct amount self, inlined, whole;
	bool is_time; /* weights are ns */
};

/* False after an error, which was reported. */
bool listing_make(struct listing *listing, const struct session *session,
		  const struct functions *functions, const struct function *function, bool intel);
void listing_free(struct listing *listing);
/* The row with an address, or NULL. */
struct row *listing_find(const struct listing *listing, uint64_t address);

/* The columns of share_print. */
#define SHARE_WIDTH 8
/* "  12.34 ", or blanks without samples: the share of what the function has itself. */
void share_print(const struct listing *listing, struct amount self, const struct output *output);

#endif
