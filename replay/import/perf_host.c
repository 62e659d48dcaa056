/* SPDX-License-Identifier: Apache-2.0 */
/* The host of a recording: its features, its CPU, and how the capture begins. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "format/perf/perf_abi.h"
#include "replay/import/importer.h"
#include "format/perf/kallsyms.h"

/* No command line has more bytes of arguments. */
#define ARGUMENTS_SIZE_MAX (1u << 20)

void reel_perf_host_free(struct perf_host *host)
{
	free(host->hostname);
	free(host->release);
	free(host->version);
	free(host->arch);
	reel_buffer_free(&host->command_line);
	*host = (struct perf_host){ 0 };
}

/* Later values replace earlier ones. */
static struct reel_error *set_text(char **text, struct perf_cursor *cursor)
{
	struct reel_bytes value = perf_cursor_padded(cursor);

	free(*text);
	*text = strndup((const char *)value.data, value.size);
	return *text ? NULL : reel_error_no_memory();
}

static struct reel_error *set_command_line(struct perf_host *host, struct perf_cursor *cursor)
{
	uint32_t count = perf_cursor_u32(cursor);

	host->command_line.size = 0;
	for (uint32_t i = 0; i < count && !cursor->bytes.failed; i++) {
		struct reel_bytes argument = perf_cursor_padded(cursor);

		if (host->command_line.size + argument.size >= ARGUMENTS_SIZE_MAX)
			break;
		reel_buffer_append(&host->command_line, argument.data, argument.size);
		reel_buffer_u8(&host->command_line, 0);
	}
	return host->command_line.failed ? reel_error_no_memory() : NULL;
}

/* The member of a feature that is a text; NULL: none. */
static char **text_of(struct perf_host *host, unsigned int feature)
{
	return feature == PERF_FEATURE_HOSTNAME	   ? &host->hostname
	       : feature == PERF_FEATURE_OSRELEASE ? &host->release
	       : feature == PERF_FEATURE_VERSION   ? &host->version
	       : feature == PERF_FEATURE_ARCH	   ? &host->arch
						   : NULL;
}

bool reel_perf_host_wants(unsigned int feature)
{
	return text_of(&(struct perf_host){ 0 }, feature) || feature == PERF_FEATURE_NRCPUS ||
	       feature == PERF_FEATURE_CMDLINE || feature == PERF_FEATURE_DIR_FORMAT ||
	       feature == PERF_FEATURE_CLOCK_DATA;
}

struct reel_error *reel_perf_host_feature(struct perf_host *host, unsigned int feature,
					  struct perf_cursor cursor)
{
	char **text = text_of(host, feature);
	struct reel_error *error = text ? set_text(text, &cursor) : NULL;

	switch (feature) {
	case PERF_FEATURE_NRCPUS:
		host->cpus_possible = perf_cursor_u32(&cursor);
		host->cpus_online = perf_cursor_u32(&cursor);
		break;
	case PERF_FEATURE_CMDLINE:
		error = set_command_line(host, &cursor);
		break;
	case PERF_FEATURE_DIR_FORMAT:
		host->is_directory = true;
		break;
	case PERF_FEATURE_CLOCK_DATA:
		(void)perf_cursor_u32(&cursor); /* version */
		(void)perf_cursor_u32(&cursor); /* clockid: the events also have it */
		host->wall_time = perf_cursor_u64(&cursor);
		host->clock_time = perf_cursor_u64(&cursor);
		break;
	}
	if (!error && cursor.bytes.failed)
		error = reel_error_create(REEL_ERROR_CORRUPT, "feature %u ends within a field",
					  feature);
	return error;
}

/* ---- the start of the capture --------------------------------------------------------------- */

/* A clock unknown to clock_gettime(2): perf's own (local_clock) unless -k names one. */
#define CLOCK_NOT_OF_USERS 0xffffffffu

/* perf's numbers of all registers used for unwinding. */
static uint64_t registers_of(const struct reel_arch *arch)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < arch->n_registers; i++)
		if (arch->registers[i].perf >= 0)
			mask |= 1ull << arch->registers[i].perf;
	return mask;
}

/*
 * Identifies the CPU by the recorded registers, which are all that perf supports (PERF_REGS_MASK of
 * its asm/perf_regs.h): 24 on x86-64, 32 on riscv64, 33 on aarch64, 34 on s390x.
 */
static const struct reel_arch *arch_by_registers(const struct perf_events *events)
{
	const struct reel_arch *found = NULL;
	uint64_t mask = 0;

	for (size_t i = 0; i < events->n_events; i++)
		mask |= events->events[i].user_registers;
	for (size_t i = 0; reel_arch_all[i]; i++) {
		uint64_t all = registers_of(reel_arch_all[i]);

		if ((mask & all) == all && (!found || all > registers_of(found)))
			found = reel_arch_all[i];
	}
	return found;
}

/* Converts uname -m's name (on arm64 perf uses the name from the kernel's sources). */
static const char *arch_name(const char *machine)
{
	if (!strcmp(machine, "arm64"))
		return "aarch64";
	/* i386 to i686, depending on the CPU (arch/x86/kernel/cpu/common.c: boot_cpu_data.x86). */
	if (machine[0] == 'i' && machine[1] >= '3' && machine[1] <= '6' &&
	    !strcmp(machine + 2, "86"))
		return "i386";
	return machine;
}

static struct reel_error *find_arch(struct importer *importer)
{
	const char *file = importer->stream.file.name, *name = importer->host.arch;

	if (name) {
		importer->arch = reel_arch_by_name(arch_name(name));
		if (!importer->arch)
			return reel_error_create(REEL_ERROR_UNSUPPORTED,
						 "%s: recorded on an unknown CPU: %s", file, name);
		return NULL;
	}
	if (importer->options.arch) {
		importer->arch = reel_arch_by_name(importer->options.arch);
		if (!importer->arch)
			return reel_error_create(REEL_ERROR_INVALID, "unknown CPU '%s'",
						 importer->options.arch);
		return NULL;
	}
	importer->arch = arch_by_registers(&importer->events);
	if (!importer->arch)
		return reel_error_create(REEL_ERROR_INVALID, "%s: unknown CPU; use --arch", file);
	reel_importer_problem(
		importer,
		reel_error_create(
			REEL_ERROR_NOT_FOUND,
			"%s: the file does not name its CPU; assuming %s, by its registers", file,
			importer->arch->name));
	return NULL;
}

static struct reel_bytes text(const char *string)
{
	return reel_bytes_of_string(string ? string : "");
}

static uint64_t first_time(const struct importer *importer)
{
	for (size_t i = 0; i < importer->queue.n; i++)
		if (importer->queue.entries[i].time)
			return importer->queue.entries[i].time;
	return 0;
}

static struct reel_error *write_capture(struct importer *importer)
{
	const struct perf_host *host = &importer->host;
	const struct perf_event *event = &importer->events.events[0];
	struct reel_record record = { .id = REEL_RECORD_CAPTURE };
	_cleanup_free_ char *tool = NULL;
	uint64_t start = first_time(importer), max_stack = 0;

	for (size_t i = 0; i < importer->events.n_events; i++)
		if (importer->events.events[i].stack_size > max_stack)
			max_stack = importer->events.events[i].stack_size;
	if (asprintf(&tool, "perf %s, imported by stackreel %s",
		     host->version ? host->version : "of unknown version",
		     REEL_VERSION_STRING) < 0) {
		tool = NULL;
		return reel_error_no_memory();
	}
	record.capture = (struct reel_record_capture){
		.start_time = start,
		.clock = event->flags >> PERF_ATTR_USE_CLOCKID & 1 ? (uint32_t)event->clock
								   : CLOCK_NOT_OF_USERS,
		.machine = importer->arch->elf_machine,
		.word_bits = importer->arch->word_size * 8u,
		.byte_order =
			importer->stream.big_endian ? REEL_BYTE_ORDER_BIG : REEL_BYTE_ORDER_LITTLE,
		.cpus_possible = host->cpus_possible,
		.cpus_online = host->cpus_online,
		.max_stack = max_stack,
		.hostname = text(host->hostname),
		.kernel_release = text(host->release),
		.kernel_build_id = importer->kernel.build_id,
		.tool_version = reel_bytes_of_string(tool),
	};
	if (host->wall_time && host->clock_time)
		record.capture.start_wall_time = host->wall_time + (start - host->clock_time);
	if (!importer->options.no_command_line)
		record.capture.command_line =
			(struct reel_bytes){ host->command_line.bytes, host->command_line.size };
	return reel_writer_record(importer->writer, &record);
}

static bool counts_nanoseconds(const struct perf_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}

static struct reel_error *write_events(struct importer *importer)
{
	for (size_t i = 0; i < importer->events.n_events; i++) {
		const struct perf_event *event = &importer->events.events[i];
		bool is_frequency = event->flags >> PERF_ATTR_FREQ & 1;
		struct reel_record record = { .id = REEL_RECORD_EVENT };
		char name[64];

		snprintf(name, sizeof(name), "perf:%u:%#llx", event->type,
			 (unsigned long long)event->config);
		record.event = (struct reel_record_event){
			.id = i + 1,
			.perf_type = event->type,
			.perf_config = event->config,
			.frequency = is_frequency ? event->period_or_frequency : 0,
			.period = is_frequency ? 0 : event->period_or_frequency,
			.weight_unit = counts_nanoseconds(event) ? REEL_WEIGHT_NANOSECONDS
								 : REEL_WEIGHT_COUNT,
			.name = reel_bytes_of_string(event->name ? event->name : name),
		};
		TRY(reel_writer_record(importer->writer, &record));
	}
	return NULL;
}

/* Records without build-ids (perf -z or a pipe) are this host's if everything else agrees. */
static bool is_this_host(const struct perf_host *host)
{
	struct utsname here;

	return host->hostname && host->release && host->arch && !uname(&here) &&
	       !strcmp(host->hostname, here.nodename) && !strcmp(host->release, here.release) &&
	       !strcmp(host->arch, here.machine);
}

struct reel_error *reel_importer_find_origin(struct importer *importer)
{
	struct reel_recorded_kernel *kernel = &importer->kernel;

	kernel->build_id = reel_import_modules_build_id(importer->modules,
							reel_bytes_of_string(REEL_KALLSYMS_KERNEL));
	importer->is_this_host = is_this_host(&importer->host);
	kernel->is_here = kernel->build_id.size ? reel_kernel_is_here(kernel->build_id)
						: importer->is_this_host;
	return find_arch(importer);
}

struct reel_error *reel_importer_write_origin(struct importer *importer)
{
	TRY(write_capture(importer));
	return write_events(importer);
}
