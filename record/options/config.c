/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/options/config.h"

#define FILE_SIZE_MAX (64u << 10)

/* What argp prints about a line; its hint to use --help stays unseen. */
static char *message;
static size_t message_size;
static FILE *messages;

static void print_message(void)
{
	if (!messages)
		return;
	fclose(messages);
	fprintf(stderr, "stackreel-record: %.*s\n", (int)strcspn(message, "\n"), message);
	free(message);
}

static void fail(const char *place, const char *text) __attribute__((noreturn));

static void fail(const char *place, const char *text)
{
	fprintf(stderr, "stackreel-record: %s: %s\n", place, text);
	exit(argp_err_exit_status);
}

static char *read_file(const char *path)
{
	char *text = malloc(FILE_SIZE_MAX + 1);
	FILE *file = fopen(path, "re");
	size_t size;

	if (!file || !text)
		fail(path, file ? "out of memory" : strerror(errno));
	size = fread(text, 1, FILE_SIZE_MAX + 1, file);
	if (ferror(file))
		fail(path, strerror(errno));
	if (size > FILE_SIZE_MAX)
		fail(path, "a configuration file may have 64 KiB");
	fclose(file);
	text[size] = '\0';
	if (strlen(text) != size)
		fail(path, "not a text file");
	return text;
}

static const struct argp_option *find_option(const struct argp *argp, const char *name)
{
	for (const struct argp_option *option = argp->options;
	     option->name || option->key || option->doc; option++) {
		if ((option->name && !strcmp(option->name, name)) ||
		    (*name && !name[1] && option->key == *name))
			return option;
	}
	return NULL;
}

/* argp's input while a line is parsed. */
struct line {
	char place[512]; /* FILE:LINE */
	const struct argp *argp;
	void *input;
};

/* The options' own parser, with the line's place in messages; checks of all options wait. */
static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct line *line = state->input;
	error_t result;

	if (key == ARGP_KEY_END)
		return 0;
	if (key == ARGP_KEY_INIT) {
		state->name = line->place;
		state->err_stream = messages;
	}
	state->input = line->input;
	result = line->argp->parser(key, argument, state);
	state->input = line;
	return result;
}

static void parse_line(struct line *line, char *text, void (*keep)(void *input, char *text))
{
	char *name = text + strspn(text, " \t"), *value = name + strcspn(name, " \t=\r");
	const struct argp_option *option;
	struct argp argp = *line->argp;
	char *arguments[2] = { line->place };
	bool has_value;
	char *end = value;

	if (!*name || *name == '#' || *name == '\r')
		return;
	value += strspn(value, " \t\r");
	if (*value == '=')
		value += 1 + strspn(value + 1, " \t");
	*end = '\0';
	for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]);)
		*--end = '\0';
	has_value = *value;
	option = find_option(line->argp, name);
	if (!option || !strcmp(name, "config"))
		fail(line->place, "unknown option");
	if (has_value && !option->arg)
		fail(line->place, "this option has no value");
	if (!has_value && option->arg && !(option->flags & OPTION_ARG_OPTIONAL))
		fail(line->place, "this option needs a value");
	arguments[1] = option->name ? reel_text_print("--%s%s%s", name, has_value ? "=" : "", value)
				    : reel_text_print("-%s%s", name, value);
	messages = open_memstream(&message, &message_size);
	if (!arguments[1] || !messages)
		fail(line->place, "out of memory");
	keep(line->input, arguments[1]);
	argp.parser = parse;
	argp_parse(&argp, 2, arguments, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, line);
	fclose(messages);
	messages = NULL;
	free(message);
}

void reel_config_parse(const char *path, const struct argp *argp, void *input,
		       void (*keep)(void *input, char *text))
{
	struct line line = { .argp = argp, .input = input };
	char *text = read_file(path), *next = text;
	static bool is_registered;

	if (!is_registered)
		atexit(print_message);
	is_registered = true;
	for (unsigned int i = 1; next; i++) {
		char *this = strsep(&next, "\n");

		snprintf(line.place, sizeof(line.place), "%s:%u", path, i);
		parse_line(&line, this, keep);
	}
	free(text);
}
