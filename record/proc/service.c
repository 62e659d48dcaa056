/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/quantity.h"
#include "record/proc/proc.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION	  2

/* A larger message is ignored. */
#define MESSAGE_MAX (64u << 10)
/* Mappings with such a name that are tried. */
#define MAPPINGS_MAX 8

/* OTEP 4719, "Header Structure". */
struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published; /* 0: being changed */
	uint64_t message;
};

/* ---- the message: ProcessContext of OTEP 4719, Resource, KeyValue and AnyValue of OTLP ------- */

#define CONTEXT_RESOURCE    1
#define RESOURCE_ATTRIBUTES 1
#define ATTRIBUTE_KEY	    1
#define ATTRIBUTE_VALUE	    2
#define VALUE_STRING	    1

/* The next field, of any type; its bytes if it has a length, else none.  0 at the end. */
static uint64_t next_field(struct reel_cursor *cursor, struct reel_bytes *ret)
{
	uint64_t tag;

	*ret = (struct reel_bytes){ 0 };
	if (!reel_cursor_left(cursor))
		return 0;
	tag = reel_cursor_uleb(cursor);
	switch (tag & 7) {
	case 0:
		reel_cursor_uleb(cursor);
		break;
	case 1:
		reel_cursor_take(cursor, 8);
		break;
	case 2:
		ret->size = reel_cursor_uleb(cursor);
		ret->data = reel_cursor_take(cursor, ret->size);
		break;
	case 5:
		reel_cursor_take(cursor, 4);
		break;
	default:
		return 0;
	}
	return cursor->failed ? 0 : tag >> 3;
}

/* The last field with this number; empty without one. */
static struct reel_bytes find_field(struct reel_bytes message, uint64_t number)
{
	struct reel_cursor cursor = reel_cursor(message.data, message.size);
	struct reel_bytes field, found = { 0 };
	uint64_t n;

	while ((n = next_field(&cursor, &field)))
		if (n == number)
			found = field;
	return found;
}

static bool is_key(struct reel_bytes key, const char *name)
{
	return key.size == strlen(name) && !memcmp(key.data, name, key.size);
}

static void copy_text(struct reel_bytes text, char ret[REEL_SERVICE_TEXT])
{
	if (!text.size || text.size >= REEL_SERVICE_TEXT || memchr(text.data, 0, text.size))
		return;
	memcpy(ret, text.data, text.size);
	ret[text.size] = '\0';
}

static void parse_message(struct reel_bytes message, struct reel_proc_service *ret)
{
	struct reel_bytes resource = find_field(message, CONTEXT_RESOURCE), attribute;
	struct reel_cursor cursor = reel_cursor(resource.data, resource.size);
	uint64_t n;

	while ((n = next_field(&cursor, &attribute))) {
		struct reel_bytes key = find_field(attribute, ATTRIBUTE_KEY);
		struct reel_bytes value = find_field(attribute, ATTRIBUTE_VALUE);

		if (n != RESOURCE_ATTRIBUTES)
			continue;
		if (is_key(key, "service.name"))
			copy_text(find_field(value, VALUE_STRING), ret->name);
		else if (is_key(key, "deployment.environment.name"))
			copy_text(find_field(value, VALUE_STRING), ret->environment);
	}
}

/* ---- the mapping ------------------------------------------------------------------------- */

/* By the time of its publication, which is read before and after, the message is whole. */
static bool read_message(uint32_t pid, uint64_t address, struct reel_proc_service *ret)
{
	struct header before, after;
	_cleanup_free_ uint8_t *message = NULL;

	if (!reel_proc_memory(pid, address, &before, sizeof(before)) ||
	    memcmp(before.signature, SIGNATURE, sizeof(before.signature)) != 0 ||
	    before.version != VERSION || !before.published || !before.size ||
	    before.size > MESSAGE_MAX)
		return false;
	message = malloc(before.size);
	if (!message || !reel_proc_memory(pid, before.message, message, before.size) ||
	    !reel_proc_memory(pid, address, &after, sizeof(after)) ||
	    memcmp(&before, &after, sizeof(before)) != 0)
		return false;
	*ret = (struct reel_proc_service){ 0 };
	parse_message((struct reel_bytes){ message, before.size }, ret);
	return ret->name[0] || ret->environment[0];
}

static bool is_context(const char *name)
{
	static const char *const names[] = { "[anon_shmem:" SIGNATURE "]", "[anon:" SIGNATURE "]",
					     ("/memfd:" SIGNATURE) };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

bool reel_proc_service(uint32_t pid, uint64_t deadline, struct reel_proc_service *ret)
{
	unsigned int left = MAPPINGS_MAX;
	bool is_found = false, is_begin = true;
	/* Names that matter are short, so only the beginning of a line counts. */
	char path[64], line[256];
	FILE *maps;

	*ret = (struct reel_proc_service){ 0 };
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && left && !is_found && reel_now() < deadline &&
	       fgets(line, sizeof(line), maps)) {
		bool was_begin = is_begin;
		uint64_t address;
		int name = 0;

		is_begin = strchr(line, '\n');
		if (!was_begin || !strstr(line, SIGNATURE) ||
		    sscanf(line, "%" SCNx64 "-%*x %*s %*x %*s %*u %n", &address, &name) < 1 ||
		    !name || !is_context(line + name))
			continue;
		left--;
		is_found = read_message(pid, address, ret);
	}
	if (maps)
		fclose(maps);
	return is_found;
}
