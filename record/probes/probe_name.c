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
	{ "uprobe:", REEL_SAMPLER_UPROBE },   { "uretprobe:", REEL_SAMPLER_URETPROBE },
	{ "usdt:", REEL_SAMPLER_USDT },	      { "kprobe:", REEL_SAMPLER_KPROBE },
	{ "latency:", REEL_SAMPLER_LATENCY }, { "kretprobe:", REEL_SAMPLER_KRETPROBE },
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
	if (name->kind == REEL_SAMPLER_LATENCY || name->kind == REEL_SAMPLER_URETPROBE ||
	    name->kind == REEL_SAMPLER_KRETPROBE)
		return reel_error_create(REEL_ERROR_INVALID, "a function's return has no offset");
	return NULL;
}

static struct reel_error *invalid(enum reel_sampler_probe kind)
{
	switch (kind) {
	case REEL_SAMPLER_USDT:
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event (expected usdt:FILE:PROVIDER:NAME)");
	case REEL_SAMPLER_LATENCY:
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event (expected latency:FILE:FUNCTION)");
	case REEL_SAMPLER_KPROBE:
	case REEL_SAMPLER_KRETPROBE:
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event (expected kprobe:FUNCTION, "
					 "kprobe:FUNCTION+OFFSET or kretprobe:FUNCTION)");
	default:
		return reel_error_create(REEL_ERROR_INVALID,
					 "invalid event (expected uprobe:FILE:FUNCTION, "
					 "uprobe:FILE:FUNCTION+OFFSET or uretprobe:FILE:FUNCTION)");
	}
}

/* The parts after the prefix. */
static struct reel_error *parts_take(struct reel_probe_name *name, const char *file)
{
	const char *colon = strchr(file, ':');

	if (name->kind == REEL_SAMPLER_KPROBE || name->kind == REEL_SAMPLER_KRETPROBE) {
		name->function = strdup(file);
		return name->function ? NULL : reel_error_no_memory();
	}
	if (!colon || colon == file)
		return invalid(name->kind);
	name->file = strndup(file, (size_t)(colon - file));
	name->function = strdup(colon + 1);
	return name->file && name->function ? NULL : reel_error_no_memory();
}

/* Cuts PROVIDER: off. */
static struct reel_error *provider_take(struct reel_probe_name *name)
{
	char *colon = strchr(name->function, ':');

	if (!colon || colon == name->function || !colon[1])
		return invalid(name->kind);
	name->provider = name->function;
	name->function = strdup(colon + 1);
	*colon = '\0';
	return name->function ? NULL : reel_error_no_memory();
}

struct reel_error *reel_probe_name_parse(const char *name, struct reel_probe_name *ret)
{
	*ret = (struct reel_probe_name){ .kind = reel_probe_name_kind(name) };
	TRY(parts_take(ret, strchr(name, ':') + 1));
	if (ret->kind == REEL_SAMPLER_USDT)
		return provider_take(ret);
	TRY(offset_take(ret));
	return *ret->function ? NULL : invalid(ret->kind);
}

void reel_probe_name_free(struct reel_probe_name *name)
{
	free(name->file);
	free(name->provider);
	free(name->function);
}
