/* SPDX-License-Identifier: Apache-2.0 */
/* The format: llvm/include/llvm/ProfileData/SampleProfReader.h and SampleProf.h (LLVM 14 to 19). */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/sample_profile.h"
#include "cli/print/text.h"

/* Lines within a function are distinguished by these bits, as in DILocation's users. */
#define LINE_MASK 0xffffu

struct location {
	uint32_t line; /* from the function's own on */
	uint32_t discriminator;
};

struct target {
	char *name;
	uint64_t count;
};

struct sample_line {
	struct location location;
	uint64_t finished; /* of parts before the last one */
	uint64_t highest;  /* of `part`, the last one with this line */
	uint32_t part;
	void *targets;		   /* a tree by name */
	struct instance *function; /* the outermost function around it */
};

/* A function by itself, or inlined at another function's call. */
struct instance {
	struct location location; /* of the call */
	char *name;
	uint64_t total;
	struct sample_line entry; /* number of times the function is entered, as for a line */
	void *lines, *calls;	  /* trees: struct sample_line, struct instance */
};

/* ---- trees ---------------------------------------------------------------------------------- */

static int compare_locations(const void *a, const void *b)
{
	const struct location *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->discriminator > y->discriminator) - (x->discriminator < y->discriminator);
}

static int compare_instances(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;
	int result = compare_locations(&x->location, &y->location);

	return result ? result : strcmp(x->name, y->name);
}

static int compare_targets(const void *a, const void *b)
{
	return strcmp(((const struct target *)a)->name, ((const struct target *)b)->name);
}

/* Returns the equal item, or adds a copy of `wanted`. */
static void *find_or_add(void **tree, const void *wanted, size_t size,
			 int (*compare)(const void *, const void *), bool *is_new_ret)
{
	void **found = tfind(wanted, tree, compare), *item;

	*is_new_ret = !found;
	if (found)
		return *found;
	item = memory_get(size);
	memcpy(item, wanted, size);
	memory_check(tsearch(item, tree, compare));
	return item;
}

static struct instance *find_instance(void **tree, struct location location, const char *name)
{
	const struct instance wanted = { .location = location, .name = (char *)name };
	bool is_new;
	struct instance *instance =
		find_or_add(tree, &wanted, sizeof(wanted), compare_instances, &is_new);

	if (is_new)
		memory_check(instance->name = strdup(name));
	return instance;
}

static struct sample_line *find_line(struct instance *instance, struct location location)
{
	const struct sample_line wanted = { .location = location };
	bool is_new;

	return find_or_add(&instance->lines, &wanted, sizeof(wanted), compare_locations, &is_new);
}

static void free_target(void *item)
{
	struct target *target = item;

	free(target->name);
	free(target);
}

static void free_line(void *item)
{
	struct sample_line *line = item;

	tdestroy(line->targets, free_target);
	free(line);
}

static void free_instance(void *item)
{
	struct instance *instance = item;

	tdestroy(instance->lines, free_line);
	tdestroy(instance->calls, free_instance);
	free(instance->name);
	free(instance);
}

/* ---- discriminators ----------------------------------------------------------------------- */

/*
 * LLVM's discriminators hold three numbers, from the lowest bits up: the block of the line, the
 * number of copies of the code, and the copy's number. A set bit means the number 0; otherwise 5
 * bits follow, and a bit that states whether 7 more follow.
 */
static uint32_t read_number(uint32_t *bits)
{
	uint32_t number;

	if (*bits & 1) {
		*bits >>= 1;
		return 0;
	}
	number = *bits >> 1 & 0x1f;
	if (*bits & 0x40) {
		number |= *bits >> 2 & 0xfe0;
		*bits >>= 14;
	} else {
		*bits >>= 7;
	}
	return number;
}

static struct location locate(const struct reel_function_place *place, uint32_t *copies_ret)
{
	uint32_t bits = place->discriminator;
	struct location location = {
		.line = (place->line - place->function_line) & LINE_MASK,
		.discriminator = read_number(&bits),
	};
	uint32_t copies = read_number(&bits);

	*copies_ret = copies ? copies : 1;
	return location;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Whether a profile line can hold the name: LLVM ends names at blanks and colons. */
static bool is_legal(const char *name)
{
	_cleanup_free_ char *escaped = text_escape(name, " :");

	return *name && !(*name >= '0' && *name <= '9') && !strcmp(escaped, name);
}

/*
 * The name by which a compiler looks up a function: its name before the compiler makes parts and
 * clones (.cold, .part.0, .llvm.123); the number from -funique-internal-linkage-names is kept. "":
 * not possible in a profile. The caller frees it.
 */
static char *make_name(const char *linkage_name)
{
	const char *unique = strstr(linkage_name, ".__uniq."), *from, *end;
	char *name;

	from = unique ? unique + strlen(".__uniq.") : linkage_name + (*linkage_name != 0);
	end = strchr(from, '.');
	name = end ? strndup(linkage_name, (size_t)(end - linkage_name)) : strdup(linkage_name);
	memory_check(name);
	if (!is_legal(name))
		*name = 0;
	return name;
}

/* The same, made once for each address of a name. */
static const char *name_of(struct sample_profile *profile, const char *linkage_name)
{
	char *name = pointer_map_get(&profile->names, linkage_name);

	if (!name) {
		name = make_name(linkage_name);
		pointer_map_put(&profile->names, linkage_name, name);
	}
	return name;
}

static void forget_names(struct sample_profile *profile)
{
	for (size_t i = 0; i < profile->names.n_slots; i++)
		free(profile->names.slots[i].value);
	pointer_map_free(&profile->names);
	profile->names = (struct pointer_map){ 0 };
}

void sample_profile_free(struct sample_profile *profile)
{
	forget_names(profile);
	tdestroy(profile->functions, free_instance);
}

bool sample_profile_can_name(struct sample_profile *profile,
			     const struct reel_function_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!places[i].function_line || !*name_of(profile, places[i].linkage_name))
			return false;
	}
	return n;
}

/* ---- counts --------------------------------------------------------------------------------- */

/* The innermost function's instance, as inlined here; adds `count` to all functions around it.
 * *function_ret: the outermost function. */
static struct instance *descend(struct sample_profile *profile,
				const struct reel_function_place *places, size_t n, uint64_t count,
				struct instance **function_ret)
{
	struct location location = { 0 };
	void **tree = &profile->functions;
	struct instance *instance = NULL;
	uint32_t copies;

	while (n--) {
		instance = find_instance(tree, location, name_of(profile, places[n].linkage_name));
		instance->total += count;
		if (tree == &profile->functions)
			*function_ret = instance;
		location = locate(&places[n], &copies);
		tree = &instance->calls;
	}
	return instance;
}

/* Sums the highest count of each part. */
static void count_line(const struct sample_profile *profile, struct sample_line *line,
		       uint64_t count)
{
	if (line->part != profile->part) {
		line->finished += line->highest;
		line->highest = 0;
		line->part = profile->part;
	}
	if (count > line->highest)
		line->highest = count;
}

const struct sample_line *sample_profile_add(struct sample_profile *profile,
					     const struct reel_function_place *places, size_t n,
					     uint64_t count)
{
	struct instance *function, *instance = descend(profile, places, n, count, &function);
	struct location location;
	struct sample_line *line;
	uint32_t copies;

	if (!places[0].line)
		return NULL;
	location = locate(&places[0], &copies);
	line = find_line(instance, location);
	line->function = function;
	count_line(profile, line, count * copies);
	return line;
}

void sample_profile_add_entry(struct sample_profile *profile, const struct sample_line *line)
{
	if (line)
		count_line(profile, &line->function->entry, line->highest);
}

void sample_profile_add_target(struct sample_profile *profile,
			       const struct reel_function_place *places, size_t n,
			       const char *target, uint64_t count)
{
	const struct target wanted = { .name = (char *)name_of(profile, target) };
	struct instance *function;
	struct target *found;
	struct sample_line *line;
	uint32_t copies;
	bool is_new;

	if (!*wanted.name || !places[0].line)
		return;
	line = find_line(descend(profile, places, n, 0, &function), locate(&places[0], &copies));
	found = find_or_add(&line->targets, &wanted, sizeof(wanted), compare_targets, &is_new);
	if (is_new)
		memory_check(found->name = strdup(wanted.name));
	found->count += count;
}

void sample_profile_next_part(struct sample_profile *profile)
{
	profile->part++;
	forget_names(profile);
}

/* ---- text ----------------------------------------------------------------------------------- */

struct items {
	const void **all;
	size_t n, capacity;
};

static struct items listed; /* twalk(3) passes no argument on */

static void append_item(const void *node, VISIT which, int depth)
{
	(void)depth;
	if (which != postorder && which != leaf)
		return;
	listed.all = memory_reserve(listed.all, &listed.capacity, listed.n, sizeof(*listed.all));
	listed.all[listed.n++] = *(const void *const *)node;
}

/* In the tree's order. */
static struct items list_items(const void *tree)
{
	listed = (struct items){ 0 };
	twalk(tree, append_item);
	return listed;
}

static int compare_counts(const void *a, const void *b)
{
	const struct target *x = *(const struct target *const *)a;
	const struct target *y = *(const struct target *const *)b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_totals(const void *a, const void *b)
{
	const struct instance *x = *(const struct instance *const *)a;
	const struct instance *y = *(const struct instance *const *)b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void print_location(struct location location, int depth, FILE *file)
{
	fprintf(file, "%*s%" PRIu32, depth, "", location.line);
	if (location.discriminator)
		fprintf(file, ".%" PRIu32, location.discriminator);
	fputs(": ", file);
}

static uint64_t value_of(const struct sample_line *line)
{
	return line->finished + line->highest;
}

static void print_line(const struct sample_line *line, int depth, FILE *file)
{
	struct items targets = list_items(line->targets);

	print_location(line->location, depth, file);
	fprintf(file, "%" PRIu64, value_of(line));
	if (targets.n)
		qsort(targets.all, targets.n, sizeof(*targets.all), compare_counts);
	for (size_t i = 0; i < targets.n; i++) {
		const struct target *target = targets.all[i];

		fprintf(file, " %s:%" PRIu64, target->name, target->count);
	}
	fputc('\n', file);
	free(targets.all);
}

/* Skips instances without samples, as if they were not inlined. */
static void print_instance(const struct instance *instance, int depth, FILE *file)
{
	struct items lines = list_items(instance->lines), calls = list_items(instance->calls);

	for (size_t i = 0; i < lines.n; i++)
		print_line(lines.all[i], depth, file);
	for (size_t i = 0; i < calls.n; i++) {
		const struct instance *call = calls.all[i];

		if (!call->total)
			continue;
		print_location(call->location, depth, file);
		fprintf(file, "%s:%" PRIu64 "\n", call->name, call->total);
		print_instance(call, depth + 1, file);
	}
	free(lines.all);
	free(calls.all);
}

bool sample_profile_print(const struct sample_profile *profile, FILE *file)
{
	struct items functions = list_items(profile->functions);
	bool is_empty = true;

	if (functions.n)
		qsort(functions.all, functions.n, sizeof(*functions.all), compare_totals);
	for (size_t i = 0; i < functions.n; i++) {
		const struct instance *function = functions.all[i];

		if (!function->total)
			break;
		fprintf(file, "%s:%" PRIu64 ":%" PRIu64 "\n", function->name, function->total,
			value_of(&function->entry));
		print_instance(function, 1, file);
		is_empty = false;
	}
	free(functions.all);
	return !is_empty;
}
