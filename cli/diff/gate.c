/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff/gate.h"
#include "base/decimal.h"
#include "cli/print/text.h"

static bool parse_what(const char **text, struct diff_gate *gate)
{
	const char *open = strchr(*text, '('), *close = strrchr(*text, ')');
	size_t size;

	if (!strncmp(*text, "any", 3) && strchr("<>", (*text)[3]) && (*text)[3]) {
		gate->parts[PART_SELF] = gate->parts[PART_TOTAL] = true;
		*text += 3;
		return true;
	}
	if (!open || !close || close <= open + 1)
		return false;
	size = (size_t)(open - *text);
	gate->parts[PART_SELF] = size == 4 && !strncmp(*text, "self", size);
	gate->parts[PART_TOTAL] = size == 5 && !strncmp(*text, "total", size);
	gate->pattern = memory_print("%.*s", (int)(close - open - 1), open + 1);
	*text = close + 1;
	return gate->parts[PART_SELF] || gate->parts[PART_TOTAL];
}

bool diff_gate_parse(const char *text, struct diff_gate *ret)
{
	const char *at = text, *end;
	uint64_t limit;
	char sign;

	*ret = (struct diff_gate){ .text = text };
	if (!parse_what(&at, ret) || (*at != '<' && *at != '>'))
		goto bad;
	ret->falls = *at++ == '<';
	sign = ret->falls ? '-' : '+';
	if (*at == sign)
		at++;
	else if (ret->falls)
		goto bad;
	if (!reel_decimal_parse(at, PERCENT, &end, &limit) || strcmp(end, "%") != 0)
		goto bad;
	ret->limit = (double)limit / (100.0 * (double)PERCENT);
	return true;
bad:
	diff_gate_free(ret);
	return false;
}

void diff_gate_free(struct diff_gate *gate)
{
	free(gate->pattern);
	gate->pattern = NULL;
}

static bool is_meant(const struct diff_gate *gate, const struct diff_change *change)
{
	const char *name = change->item->function->raw;

	if (!gate->parts[change->part])
		return false;
	return !gate->pattern || !strcmp(gate->pattern, name) ||
	       fnmatch(gate->pattern, name, 0) == 0;
}

static bool is_behind(const struct diff_gate *gate, const struct diff_change *change,
		      double difference)
{
	double relative = diff_change_relative(change, difference);

	return gate->falls ? relative < -gate->limit : relative > gate->limit;
}

bool diff_gate_is_exceeded(const struct diff_gate *gate, const struct diff_change *change)
{
	return is_meant(gate, change) && change->is_sure &&
	       is_behind(gate, change, change->difference);
}

bool diff_gate_is_doubtful(const struct diff_gate *gate, const struct diff_change *change)
{
	return is_meant(gate, change) && change->is_tested &&
	       !diff_gate_is_exceeded(gate, change) &&
	       is_behind(gate, change, gate->falls ? change->low : change->high);
}
