/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "cli/profile/stem.h"
#include "cli/print/text.h"

static const char clone_mark[] = " [clone ";

static size_t digits_at(const char *text)
{
	return strspn(text, "0123456789");
}

/* ".constprop.1", ".cold": a word that compilers append, optionally followed by numbers. `__part' is
 * a basic block section of clang, `__uniq' a hash of its file's name; BOLT makes `.cold.0', `.warm'. */
static size_t suffix_at(const char *text)
{
	static const char *const words[] = { "constprop", "part",	 "isra", "cold",
					     "lto_priv",  "llvm",	 "warm", "localalias",
					     "__part",	  "__uniq" };

	for (size_t i = 0; *text == '.' && i < sizeof(words) / sizeof(*words); i++) {
		size_t size = 1 + strlen(words[i]);

		if (strncmp(text + 1, words[i], size - 1) != 0)
			continue;
		while (text[size] == '.' && digits_at(text + size + 1))
			size += 1 + digits_at(text + size + 1);
		if (!text[size] || text[size] == '.' || text[size] == ']')
			return size;
	}
	return 0;
}

/* "::h" and 16 digits at the end. */
static size_t rust_hash_at(const char *text)
{
	return !strncmp(text, "::h", 3) && strspn(text + 3, "0123456789abcdef") == 16 && !text[19]
		       ? 19
		       : 0;
}

/* Length of the mark of a clone or part at `text`, 0 if none. */
static size_t part_mark_at(const char *text)
{
	const char *end;

	if (strncmp(text, clone_mark, strlen(clone_mark)) != 0)
		return suffix_at(text);
	end = strchr(text, ']');
	return end ? (size_t)(end + 1 - text) : 0;
}

/* Length to skip at `text`; its first *kept_ret bytes are kept. */
static size_t passed_at(const char *text, size_t *kept_ret)
{
	size_t size = part_mark_at(text);

	*kept_ret = 0;
	if (size)
		return size;
	/* "{lambda(int)#2}", "{closure#0}"; Go's "main.f.func1.2". */
	if (*text == '#' && digits_at(text + 1) && text[1 + digits_at(text + 1)] == '}') {
		*kept_ret = 1;
		return 1 + digits_at(text + 1);
	}
	if (!strncmp(text, ".func", 5) && digits_at(text + 5)) {
		*kept_ret = 5;
		size = 5 + digits_at(text + 5);
		while (text[size] == '.' && digits_at(text + size + 1))
			size += 1 + digits_at(text + size + 1);
		return !text[size] || text[size] == '.' ? size : 0;
	}
	return rust_hash_at(text);
}

static char *without(const char *name, size_t (*passed_at_text)(const char *text, size_t *kept_ret))
{
	char *stem = memory_print("%s", name), *to = stem;

	while (*name) {
		size_t kept, passed = passed_at_text(name, &kept);

		/* Do not skip the whole name. */
		if (!passed || (!kept && to == stem)) {
			*to++ = *name++;
			continue;
		}
		memcpy(to, name, kept);
		to += kept;
		name += passed;
	}
	*to = '\0';
	return stem;
}

char *stem_of(const char *name)
{
	return without(name, passed_at);
}

static size_t part_passed_at(const char *text, size_t *kept_ret)
{
	*kept_ret = 0;
	return part_mark_at(text);
}

char *whole_function_of(const char *name)
{
	return without(name, part_passed_at);
}

char *stem_of_module(const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	char *stem = memory_print("%s", slash ? slash + 1 : path);
	size_t size = strlen(stem);
	char *library;

	if (size > strlen(deleted) && !strcmp(stem + size - strlen(deleted), deleted))
		stem[size - strlen(deleted)] = '\0';
	library = strstr(stem, ".so.");
	if (library && isdigit((unsigned char)library[4]))
		library[3] = '\0';
	return stem;
}
