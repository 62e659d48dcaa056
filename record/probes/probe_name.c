/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/probe_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *prefix;
	enum reel_sampler_probe kind;
} kinds[] = {
	{ "uprobe:", REEL_SAMPLER_UPROBE },
	{ "uretprobe:", REEL_SAMPLER_URETPROBE },
};

enum reel_sampler_probe reel_probe_name_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return kinds[i].kind;
	}
	return REEL_SAMPLER_NO_PROBE;
}

/* Cuts "+OFFSET" off.  `operator+` and `operator++` have no number there. */
static struct reel_error *offset_take(struct reel_probe_name *name)
{
	char *plus = strrchr(name->function, '+'), *end;

	if (!plus || !isdigit((unsigned char)plus[1]))
		return NULL;
	errno = 0;
	name->offset = strtoull(plus + 1, &end, 0);
	if (*end || errno)
		return reel_error_create(REEL_ERROR_INVALID, "invalid offset '%s'", plus);
	name->has_offset = true;
	*plus = '\0';
	if (name->kind == REEL_SAMPLER_URETPROBE)
		return reel_error_create(REEL_ERROR_INVALID,
					 "a uretprobe is at a function's start and has no offset");
	return NULL;
}

struct reel_error *reel_probe_name_parse(const char *name, struct reel_probe_name *ret)
{
	const char *file = strchr(name, ':') + 1, *colon = strchr(file, ':');

	*ret = (struct reel_probe_name){ .kind = reel_probe_name_kind(name) };
	if (!colon || colon == file || !colon[1])
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event (expected uprobe:FILE:FUNCTION, "
					 "uprobe:FILE:FUNCTION+OFFSET or uretprobe:FILE:FUNCTION)");
	ret->file = strndup(file, (size_t)(colon - file));
	ret->function = strdup(colon + 1);
	if (!ret->file || !ret->function)
		return reel_error_no_memory();
	TRY(offset_take(ret));
	if (!*ret->function)
		return reel_error_create(REEL_ERROR_INVALID, "missing function name");
	return NULL;
}

void reel_probe_name_free(struct reel_probe_name *name)
{
	free(name->file);
	free(name->function);
}
