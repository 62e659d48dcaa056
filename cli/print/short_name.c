/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/memory.h"
#include "cli/print/short_name.h"
#include "cli/print/text.h"

/* Names nested deeper than this stay as they are. */
#define DEPTH_MAX 100

/* Template arguments are shown up to this width. */
#define TEMPLATE_WIDTH_MAX 20

/* The longest "[abi:…]" and "[clone …]" to be known as such. */
#define TAG_MAX 100

#define ELLIPSIS     "…"
#define JAVA_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.<>"

struct shortening {
	const char *start, *at, *end;
	char *out;
	size_t n;
	/* Outside of brackets: the name's place in `out`, after its result. */
	size_t name;
	bool has_arguments, keeps_result;
	/* In a conversion, "operator unsigned long", whose blanks belong to the name. */
	bool in_conversion;
	/* The end in `out` of the last operator: a `<' after it starts template arguments. */
	size_t operator_end;
	unsigned int depth;
	bool too_deep;
};

/* What is between brackets, or all. */
struct level {
	char open; /* 0: outside of brackets */
	/* In "<alloc::vec::Vec<T> as core::ops::Drop>": only a path's last part is kept. */
	bool drops_paths;
	size_t path; /* its place in `out` */
	/* Template arguments: the current one's place in `out`, and the end of the one before. */
	size_t argument, argument_before;
};

/* ---- characters ----------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static bool comes(const struct shortening *s, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(s->end - s->at) >= size && !memcmp(s->at, text, size);
}

static char next_char(const struct shortening *s, size_t i)
{
	return s->at + i < s->end ? s->at[i] : '\0';
}

static char last_char(const struct shortening *s)
{
	return s->n ? s->out[s->n - 1] : '\0';
}

static bool ends_with(const struct shortening *s, const char *text)
{
	size_t size = strlen(text);

	return s->n >= size && !memcmp(s->out + s->n - size, text, size);
}

static void put(struct shortening *s, const char *text)
{
	size_t size = strlen(text);

	memcpy(s->out + s->n, text, size);
	s->n += size;
}

static void copy(struct shortening *s, size_t size)
{
	memcpy(s->out + s->n, s->at, size);
	s->n += size;
	s->at += size;
}

static size_t width_from(struct shortening *s, size_t from)
{
	s->out[s->n] = '\0';
	return text_width(s->out + from);
}

/* ---- words ---------------------------------------------------------------------------------- */

/* At "operator": copies it with its symbol, so that this is not mistaken for brackets. */
static void read_operator(struct shortening *s, const struct level *level)
{
	static const char *const symbols[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
					       ">=",  "->",  "()",  "[]",  "<",	 ">",  "," };

	copy(s, strlen("operator"));
	if (!level->open && next_char(s, 0) == ' ')
		s->in_conversion = true;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		if (comes(s, symbols[i])) {
			copy(s, strlen(symbols[i]));
			break;
		}
	}
	while (next_char(s, 0) && strchr("+-*/%^&|~!=\"", next_char(s, 0)))
		copy(s, 1);
	s->operator_end = s->n;
}

static void read_word(struct shortening *s, const struct level *level)
{
	size_t size = 0;

	if (comes(s, "operator") && !is_word(next_char(s, 8))) {
		read_operator(s, level);
		return;
	}
	if (comes(s, "__cxx11::") || (comes(s, "__1::") && ends_with(s, "std::"))) {
		s->at = strstr(s->at, "::") + 2;
		return;
	}
	while (is_word(next_char(s, size)))
		size++;
	copy(s, size);
}

static void read_colons(struct shortening *s, const struct level *level)
{
	if (level->drops_paths && is_word(next_char(s, 2))) {
		s->n = level->path;
		s->at += 2;
	} else {
		copy(s, 2);
	}
}

/* ---- brackets ------------------------------------------------------------------------------- */

static bool read_level(struct shortening *s, struct level *level);

/* "std::basic_string<char>" is "std::string"; called at its end. `from` is after the `<'. */
static bool use_alias(struct shortening *s, size_t from)
{
	static const char start[] = "std::basic_";
	const char *wide = "";
	size_t word = from - 1;

	if (s->n - from == strlen("wchar_t") && ends_with(s, "<wchar_t"))
		wide = "w";
	else if (s->n - from != strlen("char") || !ends_with(s, "<char"))
		return false;
	while (word && is_word(s->out[word - 1]))
		word--;
	if (word < 5 || from - 1 - word <= 6 ||
	    memcmp(s->out + word - 5, start, strlen(start)) != 0)
		return false;
	s->n = from - 1;
	memmove(s->out + word + strlen(wide), s->out + word + 6, s->n - word - 6);
	memcpy(s->out + word, wide, strlen(wide));
	s->n -= 6 - strlen(wide);
	return true;
}

/* Drops a template argument that is the default of the one before. */
static void end_argument(struct shortening *s, struct level *level)
{
	static const char *const defaults[] = { "std::allocator<", "std::char_traits<",
						"std::less<",	   "std::hash<",
						"std::equal_to<",  "std::default_delete<" };

	while (s->n > level->argument && last_char(s) == ' ')
		s->n--;
	for (size_t i = 0; level->argument_before && i < sizeof(defaults) / sizeof(*defaults);
	     i++) {
		size_t size = strlen(defaults[i]);

		if (s->n - level->argument >= size &&
		    !memcmp(s->out + level->argument, defaults[i], size)) {
			s->n = level->argument_before;
			break;
		}
	}
}

static void read_template(struct shortening *s, struct level *outer)
{
	/* "drop_in_place::<alloc::vec::Vec<T>>" is Rust's. */
	bool is_rust = ends_with(s, "::");
	struct level level = { .open = '<', .drops_paths = outer->drops_paths || is_rust };
	size_t from;

	copy(s, 1);
	from = level.path = level.argument = s->n;
	if (!read_level(s, &level))
		return;
	end_argument(s, &level);
	if (use_alias(s, from))
		return;
	if (width_from(s, from) > TEMPLATE_WIDTH_MAX) {
		s->n = from;
		put(s, ELLIPSIS);
	}
	put(s, ">");
}

/* "<alloc::vec::Vec<T> as core::ops::drop::Drop>" is "<Vec<T> as Drop>". */
static void read_rust_type(struct shortening *s)
{
	struct level level = { .open = '<', .drops_paths = true };

	copy(s, 1);
	level.path = level.argument = s->n;
	if (read_level(s, &level))
		put(s, ">");
}

static void read_angle(struct shortening *s, struct level *outer)
{
	char last = last_char(s);
	bool is_operator = s->operator_end && (s->n == s->operator_end ||
					       (s->n == s->operator_end + 1 && last == ' '));

	if (is_operator || is_word(last) || last == '}' ||
	    (ends_with(s, "::") && !comes(s, "<impl ")))
		read_template(s, outer);
	else
		read_rust_type(s);
}

static void skip_qualifiers(struct shortening *s)
{
	static const char *const qualifiers[] = { " const", " volatile", " &&", " &", " noexcept" };

	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers);) {
		size_t size = strlen(qualifiers[i]);

		if (comes(s, qualifiers[i]) && !is_word(next_char(s, size))) {
			s->at += size;
			i = 0;
		} else {
			i++;
		}
	}
}

static void read_parentheses(struct shortening *s, struct level *outer)
{
	struct level level = { .open = '(', .drops_paths = outer->drops_paths };
	bool is_lambda = outer->open == '{' && ends_with(s, "{lambda");
	bool is_anonymous = comes(s, "(anonymous ");
	size_t from;

	if (comes(s, "(anonymous namespace)::")) {
		s->at += strlen("(anonymous namespace)::");
		return;
	}
	copy(s, 1);
	from = level.path = s->n;
	if (!read_level(s, &level))
		return;
	if (is_lambda) {
		s->n = from - 1;
		return;
	}
	if (!is_anonymous && s->n > from) {
		s->n = from;
		put(s, ELLIPSIS);
	}
	put(s, ")");
	skip_qualifiers(s);
	if (!outer->open) {
		s->has_arguments = true;
		s->in_conversion = false;
	}
}

static void read_braces(struct shortening *s)
{
	struct level level = { .open = '{' };

	if (comes(s, "{{closure}}")) {
		put(s, "{closure}");
		s->at += strlen("{{closure}}");
		return;
	}
	copy(s, 1);
	level.path = s->n;
	if (read_level(s, &level))
		put(s, "}");
}

/* ---- other parts ---------------------------------------------------------------------------- */

/* The bracket after what starts with `text`; NULL if this does not come. */
static const char *tag_end(const struct shortening *s, const char *text)
{
	size_t size = (size_t)(s->end - s->at);

	return comes(s, text) ? memchr(s->at, ']', size < TAG_MAX ? size : TAG_MAX) : NULL;
}

/* " [clone .constprop.0]" is ".constprop". */
static bool read_clone(struct shortening *s)
{
	const char *close = tag_end(s, " [clone .");

	if (!close)
		return false;
	s->at += strlen(" [clone ");
	while (s->at < close) {
		size_t size = 1 + strcspn(s->at + 1, ".]");

		if (strspn(s->at + 1, "0123456789") + 1 == size)
			s->at += size;
		else
			copy(s, size);
	}
	s->at++;
	return true;
}

static void read_blank(struct shortening *s, struct level *level)
{
	/* "operator<< <T>" */
	bool is_operator = s->operator_end && s->n == s->operator_end;

	if (!level->open && read_clone(s))
		return;
	/* "non-virtual thunk to A::f()", "guard variable for f()::x" */
	if (!level->open && (ends_with(s, " to") || ends_with(s, " for")))
		s->keeps_result = true;
	copy(s, 1);
	level->path = s->n;
	if (!level->open && !s->in_conversion && !is_operator) {
		s->name = s->n;
		s->has_arguments = false;
	}
}

/* "f[abi:cxx11]" is "f". */
static void read_square(struct shortening *s, struct level *level)
{
	const char *close = tag_end(s, "[abi:");

	if (close) {
		s->at = close + 1;
		return;
	}
	copy(s, 1);
	level->path = s->n;
}

static void read_comma(struct shortening *s, struct level *level)
{
	if (level->open == '<')
		end_argument(s, level);
	level->argument_before = s->n;
	copy(s, 1);
	if (next_char(s, 0) == ' ')
		copy(s, 1);
	level->argument = level->path = s->n;
}

/* Closes this level, or one around it. */
static bool is_end(const struct shortening *s, const struct level *level)
{
	switch (*s->at) {
	case '>':
		/* Elsewhere it compares. */
		return level->open == '<' && s->at[-1] != '-';
	case ')':
	case '}':
		return level->open;
	default:
		return false;
	}
}

/* ---- the name ------------------------------------------------------------------------------- */

static void read_one(struct shortening *s, struct level *level)
{
	char last = s->at > s->start ? s->at[-1] : '\0';

	if (is_word(*s->at) && !is_word(last))
		read_word(s, level);
	else if (comes(s, "::"))
		read_colons(s, level);
	else if (*s->at == '<')
		read_angle(s, level);
	else if (*s->at == '(')
		read_parentheses(s, level);
	else if (*s->at == '{')
		read_braces(s);
	else if (*s->at == ' ')
		read_blank(s, level);
	else if (*s->at == '[')
		read_square(s, level);
	else if (*s->at == ',')
		read_comma(s, level);
	else {
		copy(s, 1);
		level->path = s->n;
	}
}

/* Reads up to the level's end and its bracket, which is not written. False: it has none. */
static bool read_level(struct shortening *s, struct level *level)
{
	bool is_closed = false;

	if (++s->depth > DEPTH_MAX) {
		s->too_deep = true;
		s->at = s->end;
	}
	while (s->at < s->end && !is_end(s, level))
		read_one(s, level);
	if (s->at < s->end) {
		is_closed = *s->at == (level->open == '<' ? '>' : level->open == '(' ? ')' : '}');
		s->at += is_closed;
	}
	s->depth--;
	return is_closed;
}

/* "f (file.py:12)": Python's, as frame_name prints them. */
static bool has_line(const char *name, const char *end)
{
	const char *at = end;

	if (at == name || *--at != ')')
		return false;
	while (at > name && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at < end - 1 && at > name && at[-1] == ':';
}

/* Names of Go, Java, JavaScript and others have dots, single colons or paths. */
static bool is_foreign(const char *name, const char *end)
{
	for (const char *at = name; at < end; at++) {
		if (*at == '/' && (at - name < 8 || memcmp(at - 8, "operator", 8) != 0))
			return true;
	}
	for (const char *at = name; at < end && !strchr("(<{[", *at); at++) {
		if (*at == '.' || *at == ';' || (*at == ':' && at[1] != ':'))
			return true;
		at += *at == ':';
	}
	return *name == '[' || has_line(name, end);
}

/* Without Rust's "::h0123456789abcdef". */
static const char *end_of(const char *name)
{
	const char *end = name + strlen(name);

	if (end - name <= 19 || memcmp(end - 19, "::h", 3) != 0 ||
	    strspn(end - 16, "0123456789abcdef") != 16)
		return end;
	return end - 19;
}

/* A file, or an address in one, that does not exist any more: what the kernel adds is not arguments. */
static bool is_deleted_file(const char *name)
{
	static const char mark[] = " (deleted)";
	const char *at = strstr(name, mark);

	return at && (!at[strlen(mark)] || !strncmp(at + strlen(mark), "+0x", 3));
}

static bool may_be_short(const char *name, const char *end)
{
	return !is_foreign(name, end) && !is_deleted_file(name) &&
	       (strstr(name, "::") || strchr(name, '(') || strchr(name, '<'));
}

/*
 * "int java.util.List.add(java.lang.Object)", as JVMs name methods, without the result and the
 * arguments' types; and without the address in the name of a hidden class. NULL for other names.
 */
static char *java_name(const char *full)
{
	size_t result = strspn(full, JAVA_LETTERS "[]");
	const char *name = result && full[result] == ' ' ? full + result + 1 : full;
	size_t n = strspn(name, JAVA_LETTERS), n_rest = 0, n_types;
	const char *rest = name + n;

	if (!strncmp(rest, "/0x", 3)) {
		rest += 3 + strspn(rest + 3, "0123456789abcdef");
		n_rest = *rest == '.' ? strspn(rest, JAVA_LETTERS) : 0;
	}
	if (!n || rest[n_rest] != '(' || (!memchr(name, '.', n) && !memchr(rest, '.', n_rest)))
		return NULL;
	n_types = strspn(rest + n_rest + 1, JAVA_LETTERS "[], ");
	if (strcmp(rest + n_rest + 1 + n_types, ")") != 0)
		return NULL;
	return memory_print("%.*s%.*s(%s)", (int)n, name, (int)n_rest, rest,
			    n_types ? ELLIPSIS : "");
}

char *short_name(const char *full)
{
	const char *end = end_of(full);
	struct shortening s = { .start = full, .at = full, .end = end };
	struct level level = { 0 };
	char *name = java_name(full);

	if (name)
		return name;
	if (!may_be_short(full, end))
		return memory_print("%s", full);
	/* A mark takes the place of at least one byte. */
	s.out = memory_get((size_t)(end - full) * strlen(ELLIPSIS) + 1);
	read_level(&s, &level);
	s.out[s.n] = '\0';
	if (!s.has_arguments || s.keeps_result)
		s.name = 0;
	/* The result of a function that returns a function is around its name. */
	name = s.too_deep || !s.n || s.out[s.name] == '(' ? memory_print("%s", full)
							  : memory_print("%s", s.out + s.name);
	free(s.out);
	return name;
}
