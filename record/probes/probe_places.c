/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/probe_places.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/demangle.h"
#include "elf/symbol_table.h"
#include "elf/usdt.h"
#include "record/probes/probes.h"

/* Linkers and compilers make names longer than any that a user types. */
#define SYMBOL_MAX 4096

/* ---- a probe's name ---------------------------------------------------------------- */

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
static struct reel_error *cut_offset(struct reel_probe_name *name)
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
static struct reel_error *split(struct reel_probe_name *name, const char *file)
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
static struct reel_error *cut_provider(struct reel_probe_name *name)
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
	TRY(split(ret, strchr(name, ':') + 1));
	if (ret->kind == REEL_SAMPLER_USDT)
		return cut_provider(ret);
	TRY(cut_offset(ret));
	return *ret->function ? NULL : invalid(ret->kind);
}

void reel_probe_name_free(struct reel_probe_name *name)
{
	free(name->file);
	free(name->provider);
	free(name->function);
}

/* ---- searching ------------------------------------------------------------------------ */

struct search {
	struct reel_elf_file *file;
	const struct reel_probe_name *name;
	bool by_pattern;
	struct reel_probe_places *places;
};

/* ---- names that match ----------------------------------------------------------------------- */

/*
 * The place of the parameters in a demangled name: the first parenthesis that is not within <>, and
 * does not belong to "operator()" or "(anonymous namespace)".  Comparisons are operators' names.
 */
static size_t parameters_of(const char *text)
{
	int depth = 0;

	for (size_t i = 0; text[i]; i++) {
		if (strncmp(text + i, "operator", 8) == 0) {
			i += 8;
			if (strncmp(text + i, "()", 2) == 0)
				i++;
			else
				i += strspn(text + i, "<>=-") -
				     (strchr("<>=-", text[i]) && text[i]);
			if (!text[i])
				return i;
			continue;
		}
		if (text[i] == '<')
			depth++;
		else if (text[i] == '>')
			depth--;
		else if (text[i] == '(' && depth <= 0) {
			if (strncmp(text + i, "(anonymous namespace)", 21) != 0)
				return i;
			i += 20;
		}
	}
	return strlen(text);
}

/* Where the name begins, after a template function's result type. */
static size_t result_of(const char *text, size_t end)
{
	size_t begin = 0;
	int depth = 0;

	for (size_t i = 0; i < end; i++) {
		if (strncmp(text + i, "operator", 8) == 0 ||
		    strncmp(text + i, "(anonymous ", 11) == 0)
			break;
		if (text[i] == '<' || text[i] == '(')
			depth++;
		else if (text[i] == '>' || text[i] == ')')
			depth--;
		else if (text[i] == ' ' && depth == 0)
			begin = i + 1;
	}
	return begin;
}

static bool text_matches(const char *name, const char *text, bool by_pattern)
{
	return by_pattern ? !fnmatch(name, text, 0) : !strcmp(name, text);
}

static bool demangled_matches(const char *name, char *text, bool by_pattern)
{
	size_t end;

	if (text_matches(name, text, by_pattern))
		return true;
	end = parameters_of(text);
	text[end] = '\0';
	return text_matches(name, text, by_pattern) ||
	       text_matches(name, text + result_of(text, end), by_pattern);
}

/* Copies a name without its version (foo@@VERSION); false if it is too long. */
static bool version_cut(const char *symbol, char ret[SYMBOL_MAX])
{
	size_t size = strnlen(symbol, SYMBOL_MAX);

	if (size == SYMBOL_MAX)
		return false;
	memcpy(ret, symbol, size + 1);
	/* In the assembler's own names @ is not first. */
	if (size)
		ret[1 + strcspn(ret + 1, "@")] = '\0';
	return true;
}

static bool symbol_matches(const char *name, const char *symbol, bool by_pattern)
{
	char plain[SYMBOL_MAX];
	_cleanup_free_ char *text = NULL;

	if (!version_cut(symbol, plain))
		return false;
	/* Not the start of a function. */
	if (by_pattern && strstr(plain, ".cold"))
		return false;
	if (text_matches(name, plain, by_pattern))
		return true;
	text = reel_demangle(plain);
	return text && demangled_matches(name, text, by_pattern);
}

bool reel_probe_name_matches(const char *name, const char *symbol)
{
	return symbol_matches(name, symbol, false) ||
	       (strpbrk(name, "*?[") && symbol_matches(name, symbol, true));
}

/* ---- places ---------------------------------------------------------------------- */

static void place_add(struct reel_probe_places *places, const struct reel_probe_place *place)
{
	if (places->is_full || places->is_out_of_memory)
		return;
	for (size_t i = 0; i < places->n; i++) {
		if (places->all[i].offset == place->offset)
			return;
	}
	if (places->n == REEL_PROBE_PLACES_MAX)
		places->is_full = true;
	else if (!reel_array_reserve(&places->all, places->n, &places->capacity,
				     sizeof(*places->all)))
		places->is_out_of_memory = true;
	else
		places->all[places->n++] = *place;
}

static void visit_symbol(void *context, const struct reel_code_symbol *symbol)
{
	struct search *search = context;
	struct reel_probe_places *places = search->places;
	uint64_t address = symbol->address + search->name->offset;
	struct reel_segment segment;

	if (places->is_full || places->is_out_of_memory ||
	    !symbol_matches(search->name->function, symbol->name, search->by_pattern))
		return;
	if (symbol->is_resolver) {
		places->chooses = true;
		return;
	}
	if (search->name->has_offset && symbol->size && search->name->offset >= symbol->size) {
		places->is_beyond = true;
		return;
	}
	if (!reel_elf_file_code_segment(search->file, address, &segment))
		return;
	place_add(places, &(struct reel_probe_place){ .offset = address - segment.address +
								segment.offset });
}

static void visit_usdt(void *context, const struct reel_usdt *usdt)
{
	struct search *search = context;

	if (!fnmatch(search->name->provider, usdt->provider, 0) &&
	    !fnmatch(search->name->function, usdt->name, 0))
		place_add(search->places,
			  &(struct reel_probe_place){ .offset = usdt->offset,
						      .counter = usdt->semaphore,
						      .arguments = usdt->arguments });
}

static int compare_offsets(const void *left, const void *right)
{
	const struct reel_probe_place *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

struct reel_error *reel_probe_places_find(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  struct reel_probe_places *ret)
{
	struct search search = { .file = file, .name = name, .places = ret };

	if (name->kind == REEL_SAMPLER_USDT)
		reel_usdt_visit(file, visit_usdt, &search);
	else
		TRY(reel_code_symbols_visit(file, debug, visit_symbol, &search));
	/* char const* is a type, not a pattern. */
	if (name->kind != REEL_SAMPLER_USDT && !ret->n && !ret->chooses && !ret->is_beyond &&
	    strpbrk(name->function, "*?[")) {
		search.by_pattern = true;
		TRY(reel_code_symbols_visit(file, debug, visit_symbol, &search));
	}
	if (ret->is_out_of_memory)
		return reel_error_no_memory();
	if (ret->n)
		qsort(ret->all, ret->n, sizeof(*ret->all), compare_offsets);
	return NULL;
}

/* ---- names of places --------------------------------------------------------------- */

struct naming {
	struct reel_elf_file *file;
	const struct reel_probe_name *name;
	void (*visit)(void *context, const char *text);
	void *context;
};

/* The demangled name, unless it is too long or the command line would split it at a comma
 * (operator>). */
static void name_symbol(void *context, const struct reel_code_symbol *symbol)
{
	const struct naming *naming = context;
	_cleanup_free_ char *text = NULL;
	struct reel_segment segment;
	char plain[SYMBOL_MAX];

	if (symbol->is_resolver || !version_cut(symbol->name, plain) ||
	    !reel_probe_name_matches(naming->name->function, symbol->name) ||
	    !reel_elf_file_code_segment(naming->file, symbol->address, &segment))
		return;
	text = reel_demangle(plain);
	naming->visit(naming->context,
		      text && !strstr(text, "operator") && strlen(text) < SYMBOL_MAX ? text
										     : plain);
}

static void name_usdt(void *context, const struct reel_usdt *usdt)
{
	const struct naming *naming = context;
	_cleanup_free_ char *text = NULL;

	if (!fnmatch(naming->name->provider, usdt->provider, 0) &&
	    !fnmatch(naming->name->function, usdt->name, 0) &&
	    asprintf(&text, "%s:%s", usdt->provider, usdt->name) >= 0)
		naming->visit(naming->context, text);
}

struct reel_error *reel_probe_places_name(struct reel_elf_file *file, struct reel_elf_file *debug,
					  const struct reel_probe_name *name,
					  void (*visit)(void *context, const char *text),
					  void *context)
{
	struct naming naming = { file, name, visit, context };

	if (name->kind != REEL_SAMPLER_USDT)
		return reel_code_symbols_visit(file, debug, name_symbol, &naming);
	reel_usdt_visit(file, name_usdt, &naming);
	return NULL;
}
