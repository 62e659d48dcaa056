/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/profile_file.h"

static const char incomplete[] = "[incomplete: ";

/* The blank before a line's number; NULL without a number. */
static const char *amount_of(const char *line, size_t size)
{
	size_t digits = 0;

	while (digits < size && line[size - 1 - digits] >= '0' && line[size - 1 - digits] <= '9')
		digits++;
	return digits && digits + 1 < size && line[size - 1 - digits] == ' '
		       ? line + size - 1 - digits
		       : NULL;
}

bool folded_text_is(const char *head, size_t size)
{
	const char *end = memchr(head, '\n', size);

	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)head[i] < ' ' && head[i] != '\n')
			return false;
	}
	/* A first line that is longer than the head of a file will show its number later. */
	if (!end)
		return size >= PROFILE_HEAD_SIZE && memchr(head, ';', size);
	return amount_of(head, (size_t)(end - head));
}

static bool is_mark(const char *name)
{
	return !strncmp(name, incomplete, strlen(incomplete)) || !strcmp(name, "[no frames]");
}

static struct symbol *symbol_of(struct symbol_table *symbols, const char *name)
{
	_cleanup_free_ char *plain = memory_print("%s", name);
	bool is_ours = text_unescape(plain);

	return symbol_of_parts(symbols, &(struct symbol_parts){
						.name = !*name	  ? "[unknown]"
							: is_ours ? plain
								  : name,
						.module = "",
						.function = true,
					});
}

static uint32_t add_stack(struct profiles *profiles, struct call_tree *tree, char *stack)
{
	uint32_t node = CALL_TREE_ROOT;
	bool is_first = true;
	char *name;

	while ((name = strsep(&stack, ";"))) {
		/* A table has no marks. */
		if (!is_first || !is_mark(name))
			node = call_tree_child(tree, node, symbol_of(&profiles->symbols, name));
		else if (profiles->mark_cut)
			node = call_tree_child(tree, node,
					       symbol_of_group(&profiles->symbols, name));
		is_first = false;
	}
	return node;
}

/* Returns the problem, or NULL. */
static const char *add_line(struct profiles *profiles, struct profile *profile, char *line,
			    size_t size)
{
	char *amount_text = (char *)amount_of(line, size);
	struct amount amount;
	uint32_t node;

	if (memchr(line, '\0', size) || !amount_text)
		return "no stack and number (expected 'a;b;c 10')";
	errno = 0;
	amount.samples = amount.weight = strtoull(amount_text + 1, NULL, 10);
	if (errno || !profile_add_sum(profile, amount))
		return "sum does not fit in 64 bits";
	if (!amount.samples)
		return NULL;
	*amount_text = '\0';
	node = add_stack(profiles, &profile->tree, line);
	amount_add(&profile->tree.nodes[node].self, amount);
	return NULL;
}

bool folded_text_read(FILE *file, const char *path, struct profiles *profiles,
		      struct profile_totals *totals)
{
	static const struct reel_event_info event = { .name = "samples", .weight_unit = "" };
	struct profile *profile = profiles_get(profiles, &event);
	const char *problem = NULL;
	uint64_t before = profile->sum.samples;
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, number = 0;
	ssize_t size;

	profiles_leave_capture(profiles);
	totals->is_folded = true;
	while (!problem && (size = getline(&line, &capacity, file)) > 0) {
		size -= line[size - 1] == '\n';
		line[size] = '\0';
		number++;
		problem = size ? add_line(profiles, profile, line, (size_t)size) : NULL;
	}
	if (!problem && ferror(file))
		problem = strerror(errno);
	if (problem)
		complain("%s: line %zu: %s", path, number, problem);
	totals->recorded += profile->sum.samples - before;
	/* Whether stacks are whole is unknown: their samples count as those without a stack. */
	profile->quality.traces += profile->sum.samples - before;
	profile->quality.without_stack += profile->sum.samples - before;
	return !problem;
}
