/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/tracepoint_fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "char comm[16]", "unsigned char x[6]"; but "u8 mac[6]" is not a text. */
static bool has_type(const char *declaration, const char *type)
{
	size_t size = strlen(type);

	return strncmp(declaration, type, size) == 0 && !isalnum((unsigned char)declaration[size]);
}

static bool is_text(const char *declaration)
{
	if (has_type(declaration, "const"))
		declaration += strlen("const ");
	return has_type(declaration, "char") || has_type(declaration, "unsigned char");
}

/* The last identifier that is not within []. */
static bool name_find(const char *declaration, char *ret, size_t size)
{
	size_t end = strlen(declaration), begin;

	if (end && declaration[end - 1] == ']')
		end = (size_t)(strrchr(declaration, '[') - declaration);
	begin = end;
	while (begin &&
	       (isalnum((unsigned char)declaration[begin - 1]) || declaration[begin - 1] == '_'))
		begin--;
	return begin < end &&
	       snprintf(ret, size, "%.*s", (int)(end - begin), declaration + begin) < (int)size;
}

/* kernel/trace/trace_events.c, f_show: "	field:TYPE NAME;	offset:N;	size:N;	signed:N;" */
bool reel_tracepoint_field_parse(const char *line, struct reel_tracepoint_field *ret)
{
	char declaration[256];
	unsigned offset, size, is_signed;
	const char *type = declaration;

	if (sscanf(line, " field:%255[^;]; offset:%u; size:%u; signed:%u", declaration, &offset,
		   &size, &is_signed) != 4)
		return false;
	*ret = (struct reel_tracepoint_field){ 0 };
	if ((strchr(declaration, ']') && !strchr(declaration, '[')) ||
	    !name_find(declaration, ret->name, sizeof(ret->name)) ||
	    strncmp(ret->name, "common_", strlen("common_")) == 0)
		return false;
	ret->value = (struct reel_bpf_value){
		.source = REEL_BPF_VALUE_FIELD,
		.size = size < UINT8_MAX ? (uint8_t)size : UINT8_MAX,
		.is_signed = is_signed != 0,
		.offset = offset,
	};
	if (has_type(type, "__data_loc") || has_type(type, "__rel_data_loc")) {
		ret->value.source = has_type(type, "__data_loc") ? REEL_BPF_VALUE_LOCATION
								 : REEL_BPF_VALUE_REL_LOCATION;
		type = strchr(type, ' ') + 1;
		ret->value.kind = is_text(type) && size == 4 ? REEL_BPF_VALUE_KERNEL_STRING : 0;
	} else if (strchr(type, '[')) {
		ret->value.source = REEL_BPF_VALUE_ARRAY;
		ret->value.kind = is_text(type) ? REEL_BPF_VALUE_KERNEL_STRING : 0;
	} else if (size == 1 || size == 2 || size == 4 || size == 8) {
		ret->value.kind = REEL_BPF_VALUE_NUMBER;
	}
	return true;
}

static struct reel_error *not_found(const char *name, size_t size, const char *all)
{
	return reel_error_create(REEL_ERROR_NOT_FOUND, "no field '%.*s' (expected %s)", (int)size,
				 name, *all ? all : "none: the tracepoint has no fields");
}

struct reel_error *reel_tracepoint_field_find(const struct reel_sampler_event *event,
					      const char *name, size_t size,
					      struct reel_tracepoint_field *ret,
					      unsigned *number_ret)
{
	_cleanup_free_ char *path = NULL, *line = NULL;
	bool by_number = isdigit((unsigned char)*name);
	unsigned wanted = by_number ? (unsigned)strtoul(name, NULL, 10) : 0;
	size_t capacity = 0, used = 0;
	unsigned number = 0;
	char all[1024] = "";
	bool found = false;
	FILE *file;

	*number_ret = wanted;
	if (asprintf(&path, "%s/format", event->folder) < 0)
		return reel_error_no_memory();
	file = fopen(path, "re");
	if (!file)
		return reel_error_os(errno, "cannot read %s", path);
	while (!found && getline(&line, &capacity, file) > 0) {
		if (!reel_tracepoint_field_parse(line, ret))
			continue;
		number++;
		found = by_number ? number == wanted
				  : strlen(ret->name) == size && !memcmp(ret->name, name, size);
		if (used + sizeof(ret->name) + 2 < sizeof(all))
			used += (size_t)sprintf(all + used, "%s%s", used ? ", " : "", ret->name);
	}
	fclose(file);
	return found ? NULL : not_found(name, size, all);
}
