/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sampling/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bpf/sample.h"
#include "bpf/settings.h"
#include "record/host/kernel.h"

#define KALLSYMS "/proc/kallsyms"

/* The kernel's errno.h (include/linux/errno.h); unknown to strerror. */
#define KERNEL_ENOTSUPP 524

static const struct {
	const char *prefix;
	enum reel_sampler_hook hook;
} hooks[] = {
	{ "fentry:", REEL_SAMPLER_ENTRY },
	{ "fexit:", REEL_SAMPLER_EXIT },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- looking a function up ---------------------------------------------------- */

struct lookup {
	const char *function;
	const char *module; /* required module; "": any, the kernel first */
	uint64_t address;
	unsigned in_kernel, in_module; /* functions with that name */
	char module_ret[REEL_SAMPLER_MODULE_MAX];
	bool modules_differ;
	char made_of_it[512]; /* compiler's variant: FUNCTION.isra.0 and the like */
	bool readable;
};

static void lookup_symbol(struct lookup *lookup, uint64_t address, const char *name,
			  const char *module)
{
	size_t length = strlen(lookup->function);

	if (strncmp(name, lookup->function, length) != 0)
		return;
	if (name[length] == '.' && !strstr(name + length, ".cold"))
		snprintf(lookup->made_of_it, sizeof(lookup->made_of_it), "%s", name);
	if (name[length])
		return;
	if (!*module) {
		if (!lookup->in_kernel++)
			lookup->address = address;
		return;
	}
	if (*lookup->module && strcmp(module, lookup->module) != 0)
		return;
	if (lookup->in_module++ && strcmp(module, lookup->module_ret) != 0)
		lookup->modules_differ = true;
	snprintf(lookup->module_ret, sizeof(lookup->module_ret), "%s", module);
}

/* A line is "ADDRESS TYPE NAME" and in modules a tab and "[MODULE]" (kernel/kallsyms.c, s_show). */
static void lookup_line(struct lookup *lookup, const char *line)
{
	char name[512], module[REEL_SAMPLER_MODULE_MAX + 2] = "", type;
	uint64_t address;

	if (sscanf(line, "%" SCNx64 " %c %511s [%57[^]]", &address, &type, name, module) < 3)
		return;
	if (strchr("tTwW", type))
		lookup_symbol(lookup, address, name, module);
}

static void lookup_all(struct lookup *lookup)
{
	FILE *file = fopen(KALLSYMS, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return;
	while (getline(&line, &size, file) > 0) {
		lookup->readable = true;
		/* Few lines contain the name; parsing all takes long in an emulator. */
		if (strstr(line, lookup->function))
			lookup_line(lookup, line);
	}
	free(line);
	fclose(file);
}

static uint64_t find_address(const char *function)
{
	struct lookup lookup = { .function = function, .module = "" };

	lookup_all(&lookup);
	return lookup.address;
}

char *reel_function_name(const char *function)
{
	struct lookup lookup = { .function = function, .module = "" };

	lookup_all(&lookup);
	if (lookup.in_kernel)
		return strdup(function);
	return *lookup.made_of_it ? strdup(lookup.made_of_it) : NULL;
}

void reel_interrupt_entries_find(struct reel_bpf_settings *settings)
{
	uint64_t begin = find_address("__irqentry_text_start");
	uint64_t end = find_address("__irqentry_text_end");

	settings->interrupt_entries = begin;
	settings->interrupt_entries_size = begin < end ? end - begin : 0;
}

static struct reel_error *lookup_refusal(const struct lookup *lookup)
{
	if (*lookup->made_of_it)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "this kernel has no function %s, only the compiler's "
					 "variant %s, which cannot be traced: its arguments differ",
					 lookup->function, lookup->made_of_it);
	if (*lookup->module)
		return reel_error_create(REEL_ERROR_NOT_FOUND,
					 "no function %s in a loaded module %s (" KALLSYMS ")",
					 lookup->function, lookup->module);
	return reel_error_create(
		REEL_ERROR_NOT_FOUND,
		"this kernel has no function %s, or its compiler inlined all calls (" KALLSYMS ")",
		lookup->function);
}

/* libbpf and the kernel find functions only by name, the kernel's before modules'. */
static struct reel_error *lookup_check(const struct lookup *lookup)
{
	if (!lookup->readable)
		return NULL;
	if (!lookup->in_kernel && !lookup->in_module)
		return lookup_refusal(lookup);
	if (*lookup->module && !lookup->in_module)
		return lookup_refusal(lookup);
	if (*lookup->module && lookup->in_kernel)
		return reel_error_create(
			REEL_ERROR_INVALID,
			"the kernel itself also has a function %s, and would trace that one",
			lookup->function);
	if (lookup->modules_differ)
		return reel_error_create(REEL_ERROR_INVALID,
					 "ambiguous function %s: several modules have one",
					 lookup->function);
	if (lookup->in_kernel > 1 || (!lookup->in_kernel && lookup->in_module > 1))
		return reel_error_create(REEL_ERROR_INVALID,
					 "ambiguous function: this kernel has %u called %s",
					 lookup->in_kernel ? lookup->in_kernel : lookup->in_module,
					 lookup->function);
	return NULL;
}

/* ---- names --------------------------------------------------------------------- */

static enum reel_sampler_hook hook_of(const char *name, const char **rest_ret)
{
	for (size_t i = 0; i < COUNT(hooks); i++) {
		size_t length = strlen(hooks[i].prefix);

		if (strncmp(name, hooks[i].prefix, length) == 0) {
			*rest_ret = name + length;
			return hooks[i].hook;
		}
	}
	return REEL_SAMPLER_NO_HOOK;
}

bool reel_function_event_is(const char *name)
{
	const char *rest;

	return hook_of(name, &rest) != REEL_SAMPLER_NO_HOOK;
}

/* CPUs in bpf/trampoline.h. */
static bool cpu_is_known(const char *machine)
{
	return strcmp(machine, "x86_64") == 0 || strcmp(machine, "aarch64") == 0;
}

static struct reel_error *invalid(void)
{
	return reel_error_create(REEL_ERROR_INVALID,
				 "invalid event (expected fentry:FUNCTION, fexit:FUNCTION, or for "
				 "a module's function fentry:MODULE:FUNCTION)");
}

struct reel_error *reel_function_event_resolve(const char *name, struct reel_sampler_event *ret)
{
	struct lookup lookup = { 0 };
	struct reel_error *error;
	struct utsname uts;
	const char *colon;

	*ret = (struct reel_sampler_event){ .name = name, .type = REEL_EVENT_NOT_PERF };
	ret->hook = hook_of(name, &ret->function);
	colon = strchr(ret->function, ':');
	if (colon) {
		size_t length = (size_t)(colon - ret->function);

		if (!length || length >= sizeof(ret->module))
			return invalid();
		memcpy(ret->module, ret->function, length);
		ret->module[length] = '\0';
		ret->function = colon + 1;
	}
	if (!*ret->function || ret->function[strcspn(ret->function, ": \t\n")])
		return invalid();
	if (uname(&uts) == 0 && !cpu_is_known(uts.machine))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"kernel functions can only be traced on x86-64 and arm64, not on %s",
			uts.machine);
	lookup.function = ret->function;
	lookup.module = ret->module;
	lookup_all(&lookup);
	error = lookup_check(&lookup);
	ret->function_address = lookup.address;
	/* Later kernels give the program the address (bpf_get_func_ip). */
	if (!error && !lookup.address && !reel_kernel_at_least(5, 15))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"before Linux 5.15 the function's address is required, and " KALLSYMS
			" does not show it (a module's function, or kernel.kptr_restrict)");
	return error;
}

/* ---- refusals by the kernel ------------------------------------------------------- */

struct reel_error *reel_function_refusal_btf(const struct reel_sampler_event *event, int errnum)
{
	if (errnum == ESRCH || errnum == ENOENT)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s: this kernel's BTF (/sys/kernel/btf) does not describe %s: assembly "
			"functions, ambiguous names and modules without BTF cannot be traced",
			event->name, event->function);
	return reel_error_os(errnum, "%s: cannot look the function up in the kernel's BTF",
			     event->name);
}

/* Whether the kernel lists the function as traceable; true without such a list. */
static bool is_traceable(const char *function)
{
	FILE *file = fopen("/sys/kernel/tracing/available_filter_functions", "re");
	bool found = false, readable = false;
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return true;
	while (!found && getline(&line, &size, file) > 0) {
		size_t length = strcspn(line, " \t\n");

		readable = true;
		found = strlen(function) == length && strncmp(line, function, length) == 0;
	}
	free(line);
	fclose(file);
	return found || !readable;
}

struct reel_error *reel_function_refusal_attach(const struct reel_sampler_event *event, int errnum)
{
	struct utsname uts;

	if (uname(&uts))
		strcpy(uts.release, "?");
	if (errnum == EPERM || errnum == EACCES)
		return reel_refusal_permission(errnum, REEL_REFUSAL_OF_FUNCTION, event->name);
	if (!is_traceable(event->function))
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s: this function cannot be traced (notrace, or entry code): it is not in "
			"/sys/kernel/tracing/available_filter_functions",
			event->name);
	if (errnum == KERNEL_ENOTSUPP && strcmp(uts.machine, "aarch64") == 0 &&
	    !reel_kernel_at_least(6, 4))
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: on arm64, BPF can trace kernel functions from Linux "
					 "6.4 on; this is %s",
					 event->name, uts.release);
	if (errnum == KERNEL_ENOTSUPP || errnum == EOPNOTSUPP)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: Linux %s cannot trace %s: it has too many arguments, "
					 "or struct arguments",
					 event->name, uts.release, event->function);
	if (errnum == EBUSY)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: the kernel cannot trace %s now: it is live-patched, "
					 "or already traced in another way",
					 event->name, event->function);
	return reel_error_os(errnum, "%s: the kernel refuses to trace %s", event->name,
			     event->function);
}
