/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/probe_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Registers by DWARF number, and by their place in the kernel's struct pt_regs (asm/ptrace.h), in
 * words. */
static const struct {
	const char *machine;
	uint8_t n, arguments[REEL_BPF_VALUES_MAX], result;
	uint8_t kernel_arguments[REEL_BPF_VALUES_MAX], kernel_result;
} cpus[] = {
	{ "x86_64", 6, { 5, 4, 1, 2, 8, 9 }, 0, { 14, 13, 12, 11, 9, 8 }, 10 },
	{ "aarch64", 6, { 0, 1, 2, 3, 4, 5 }, 0, { 0, 1, 2, 3, 4, 5 }, 0 },
	{ "riscv64", 6, { 10, 11, 12, 13, 14, 15 }, 10, { 10, 11, 12, 13, 14, 15 }, 10 },
	{ "s390x", 5, { 2, 3, 4, 5, 6 }, 2, { 5, 6, 7, 8, 9 }, 5 },
};

/* ---- operands of static probes ------------------------------------------------------ */

/* x86-64's register names without r or e, and the suffixes of their parts. */
static const char *const x86_registers[] = { "ax", "dx", "cx", "bx", "si", "di", "bp", "sp" };

/* Takes "%rdi", "%edi", "%r8d"; false for another. */
static bool x86_register(const char **at, uint8_t *ret)
{
	const char *name = *at + 1;
	char *end;

	if (**at != '%')
		return false;
	if (name[0] == 'r' && isdigit((unsigned char)name[1])) {
		unsigned long number = strtoul(name + 1, &end, 10);

		if (number < 8 || number > 15)
			return false;
		*ret = (uint8_t)number;
		*at = end + (*end && strchr("dwb", *end) ? 1 : 0);
		return true;
	}
	if (*name == 'r' || *name == 'e')
		name++;
	for (size_t i = 0; i < sizeof(x86_registers) / sizeof(*x86_registers); i++) {
		const char *wanted = x86_registers[i];

		/* %al: a byte of the first four; not %ah. */
		if (strncmp(name, wanted, 2) != 0 &&
		    !(i < 4 && name[0] == wanted[0] && name[1] == 'l'))
			continue;
		*ret = (uint8_t)i;
		*at = name + 2;
		if (**at == 'l')
			++*at;
		return true;
	}
	return false;
}

/* $5, %rdi, -20(%rbp), 8(%rax,%rdx,4) */
static bool x86_operand(const char *at, struct reel_bpf_value *ret)
{
	char *end;

	if (*at == '$') {
		ret->source = REEL_BPF_VALUE_CONSTANT;
		ret->offset = strtoll(at + 1, &end, 0);
		return end != at + 1 && !*end;
	}
	if (*at == '%') {
		ret->source = REEL_BPF_VALUE_REGISTER;
		return x86_register(&at, &ret->base) && !*at;
	}
	ret->source = REEL_BPF_VALUE_MEMORY;
	ret->offset = strtoll(at, &end, 0);
	at = end;
	if (*at++ != '(' || !x86_register(&at, &ret->base))
		return false;
	if (*at == ',') {
		at++;
		ret->has_index = 1;
		ret->scale = 1;
		if (!x86_register(&at, &ret->index))
			return false;
		if (*at == ',') {
			unsigned long scale = strtoul(at + 1, &end, 10);

			if (scale > 8)
				return false;
			ret->scale = (uint8_t)scale;
			at = end;
		}
	}
	return at[0] == ')' && !at[1];
}

/* Takes x0, w0, sp. */
static bool arm64_register(const char **at, uint8_t *ret)
{
	char *end;
	unsigned long number;

	if (strncmp(*at, "sp", 2) == 0) {
		*ret = 31;
		*at += 2;
		return true;
	}
	if ((**at != 'x' && **at != 'w') || !isdigit((unsigned char)(*at)[1]))
		return false;
	number = strtoul(*at + 1, &end, 10);
	*ret = (uint8_t)number;
	*at = end;
	return number < 31;
}

/* 5, x0, [sp, 16] */
static bool arm64_operand(const char *at, struct reel_bpf_value *ret)
{
	char *end;

	if (isdigit((unsigned char)*at) || *at == '-') {
		ret->source = REEL_BPF_VALUE_CONSTANT;
		ret->offset = strtoll(at, &end, 0);
		return !*end;
	}
	if (*at != '[') {
		ret->source = REEL_BPF_VALUE_REGISTER;
		return arm64_register(&at, &ret->base) && !*at;
	}
	at++;
	ret->source = REEL_BPF_VALUE_MEMORY;
	if (!arm64_register(&at, &ret->base))
		return false;
	if (*at == ',') {
		at++;
		ret->offset = strtoll(at, &end, 0);
		if (end == at)
			return false;
		at = end;
	}
	return at[0] == ']' && !at[1];
}

bool reel_probe_operand_read(const char *machine, const char *operand, struct reel_bpf_value *ret)
{
	char *end;
	long size = strtol(operand, &end, 10);

	*ret = (struct reel_bpf_value){ 0 };
	if (end == operand || *end != '@' ||
	    (labs(size) != 1 && labs(size) != 2 && labs(size) != 4 && labs(size) != 8))
		return false;
	ret->size = (uint8_t)labs(size);
	ret->is_signed = size < 0;
	if (strcmp(machine, "x86_64") == 0)
		return x86_operand(end + 1, ret);
	return strcmp(machine, "aarch64") == 0 && arm64_operand(end + 1, ret);
}

/* The N-th operand; in "[sp, 16]", the blank does not end it. */
static bool operand_find(const char *arguments, unsigned n, char *ret, size_t size)
{
	for (;; n--) {
		bool in_brackets = false;
		size_t length = 0;

		arguments += strspn(arguments, " ");
		while (arguments[length] && (arguments[length] != ' ' || in_brackets)) {
			if (arguments[length] == '[' || arguments[length] == ']')
				in_brackets = arguments[length] == '[';
			length++;
		}
		if (!length)
			return false;
		if (n == 1) {
			snprintf(ret, size, "%.*s", (int)length, arguments);
			return length < size;
		}
		arguments += length;
	}
}

static struct reel_error *usdt_value(const struct reel_sampler_event *event, unsigned n,
				     const char *machine, struct reel_bpf_value *ret)
{
	for (size_t i = 0; i < event->n_places; i++) {
		struct reel_bpf_value value;
		char operand[80];

		if (!operand_find(event->places[i].arguments, n, operand, sizeof(operand)))
			return reel_error_create(REEL_ERROR_NOT_FOUND,
						 "the probe has no argument %u", n);
		if (!reel_probe_operand_read(machine, operand, &value))
			return reel_error_create(
				REEL_ERROR_UNSUPPORTED,
				"cannot read argument %u of the probe: unknown operand", n);
		if (i && memcmp(&value, ret, sizeof(value)) != 0)
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "argument %u differs between the probe's %zu "
						 "places in the code",
						 n, event->n_places);
		*ret = value;
	}
	return NULL;
}

/* ---- fields of tracepoints -------------------------------------------------------------- */

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

/* ---- all ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint8_t kind, size, is_signed;
} types[] = {
	{ "u8", REEL_BPF_VALUE_NUMBER, 1, 0 },	   { "u16", REEL_BPF_VALUE_NUMBER, 2, 0 },
	{ "u32", REEL_BPF_VALUE_NUMBER, 4, 0 },	   { "u64", REEL_BPF_VALUE_NUMBER, 8, 0 },
	{ "s8", REEL_BPF_VALUE_NUMBER, 1, 1 },	   { "s16", REEL_BPF_VALUE_NUMBER, 2, 1 },
	{ "s32", REEL_BPF_VALUE_NUMBER, 4, 1 },	   { "s64", REEL_BPF_VALUE_NUMBER, 8, 1 },
	{ "string", REEL_BPF_VALUE_STRING, 8, 0 }, { "ustring", REEL_BPF_VALUE_STRING, 8, 0 },
};

static struct reel_error *invalid(const char *specification)
{
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid value '%s' (expected N or N:TYPE; N from 1 to %d; "
				 "u8, u16, u32, u64, s8, s16, s32, s64, string or ustring)",
				 specification, REEL_BPF_VALUES_MAX);
}

static struct reel_error *register_value(const struct reel_sampler_event *event, unsigned n,
					 const char *machine, struct reel_bpf_value *ret)
{
	bool in_kernel = reel_sampler_event_is_in_kernel(event);
	bool returns = event->probe == REEL_SAMPLER_URETPROBE ||
		       event->probe == REEL_SAMPLER_KRETPROBE ||
		       event->probe == REEL_SAMPLER_LATENCY;

	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		if (strcmp(cpus[i].machine, machine) != 0)
			continue;
		if (n > (returns ? 1 : cpus[i].n))
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 returns ? "a return has a single value, 1"
							 : "only the first %d arguments are in "
							   "registers",
						 cpus[i].n);
		*ret = (struct reel_bpf_value){ .size = 8 };
		if (in_kernel) {
			ret->source = REEL_BPF_VALUE_FIELD;
			ret->offset = 8 * (returns ? cpus[i].kernel_result
						   : cpus[i].kernel_arguments[n - 1]);
		} else {
			ret->source = REEL_BPF_VALUE_REGISTER;
			ret->base = returns ? cpus[i].result : cpus[i].arguments[n - 1];
		}
		return NULL;
	}
	return reel_error_create(REEL_ERROR_UNSUPPORTED, "unsupported CPU %s", machine);
}

static struct reel_error *type_set(const struct reel_sampler_event *event, const char *name,
				   const char *specification, struct reel_bpf_value *value)
{
	bool in_kernel = reel_sampler_event_is_in_kernel(event) || event->folder;
	size_t type = 0;

	while (type < sizeof(types) / sizeof(*types) && strcmp(types[type].name, name) != 0)
		type++;
	if (type == sizeof(types) / sizeof(*types))
		return invalid(specification);
	value->kind = types[type].kind;
	if (value->kind == REEL_BPF_VALUE_STRING && in_kernel && strcmp(name, "string") == 0)
		value->kind = REEL_BPF_VALUE_KERNEL_STRING;
	value->is_signed = types[type].is_signed;
	/* The bytes that a static probe's note does not have are another's. */
	if (types[type].size < value->size)
		value->size = types[type].size;
	return NULL;
}

struct reel_error *reel_probe_value_parse(const struct reel_sampler_event *event,
					  const char *specification, unsigned *number_ret,
					  struct reel_bpf_value *ret)
{
	struct reel_bpf_value value = { 0 };
	struct utsname uts;
	char *end;
	unsigned long n = strtoul(specification, &end, 10);

	if (!n || n > REEL_BPF_VALUES_MAX || (*end && *end != ':') ||
	    !isdigit((unsigned char)*specification))
		return invalid(specification);
	if (!event->probe)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "only probes and tracepoints have values");
	if (uname(&uts))
		return reel_error_os(errno, "uname");
	if (event->probe == REEL_SAMPLER_USDT)
		TRY(usdt_value(event, (unsigned)n, uts.machine, &value));
	else
		TRY(register_value(event, (unsigned)n, uts.machine, &value));
	value.kind = REEL_BPF_VALUE_NUMBER;
	if (*end)
		TRY(type_set(event, end + 1, specification, &value));
	*number_ret = (unsigned)n;
	*ret = value;
	return NULL;
}

static struct reel_error *probe_value(struct reel_sampler_event *event, const char *specification)
{
	struct reel_bpf_value value;
	unsigned n;
	struct reel_error *error = reel_probe_value_parse(event, specification, &n, &value);

	if (error)
		return reel_error_prefix(error, "--arg");
	event->values[n - 1] = value;
	return NULL;
}

/* A field by its number N is the N-th value; one by its name has the first place that is free. */
static struct reel_error *tracepoint_value(struct reel_sampler_event *event,
					   const char *specification)
{
	size_t size = strcspn(specification, ":");
	const char *type = specification[size] ? specification + size + 1 : NULL;
	struct reel_tracepoint_field field;
	struct reel_error *error;
	unsigned n;

	error = reel_tracepoint_field_find(event, specification, size, &field, &n);
	if (error)
		return reel_error_prefix(error, "--arg");
	for (n += !n; n <= REEL_BPF_VALUES_MAX && event->values[n - 1].kind;)
		n++;
	if (n > REEL_BPF_VALUES_MAX)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "--arg %s: an event has at most %d values (name the "
					 "fields to use any)",
					 specification, REEL_BPF_VALUES_MAX);
	if (!field.value.kind)
		return reel_error_create(REEL_ERROR_UNSUPPORTED, "--arg %s: not a number or a text",
					 specification);
	if (type && field.value.source == REEL_BPF_VALUE_FIELD) {
		error = type_set(event, type, specification, &field.value);
		if (error)
			return reel_error_prefix(error, "--arg");
	} else if (type && strcmp(type, "string") != 0) {
		return reel_error_create(REEL_ERROR_INVALID, "--arg %s: the field is a text",
					 specification);
	}
	event->values[n - 1] = field.value;
	memcpy(event->value_names[n - 1], field.name, sizeof(field.name));
	return NULL;
}

struct reel_error *reel_probe_value_add(struct reel_sampler_event *event, const char *specification)
{
	return event->folder ? tracepoint_value(event, specification)
			     : probe_value(event, specification);
}
