/* SPDX-License-Identifier: Apache-2.0 */
/* The same sample, unwound by libdw, fed by callbacks (elfutils/libdwfl.h). */
#include <elfutils/libdwfl.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/truth/unwind_sample.h"

#define ALIVE_MAX 24

struct run {
	const struct truth_sample *sample;
	struct truth_chain *chain;
};

/* The sample being unwound: data given to dwfl_attach_state lives as long as the Dwfl. */
static struct run run;

static struct truth_space *alive[ALIVE_MAX];
static uint64_t uses;

/* ---- files: only those that replay found ---------------------------------------------------- */

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1; /* already given to dwfl_report_elf */
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **ret)
{
	const struct truth_file *file = *userdata;

	(void)module, (void)name, (void)base, (void)file_name, (void)link, (void)crc;
	if (!file || !file->debug_path)
		return -1;
	*ret = strdup(file->debug_path);
	return dup(file->debug_fd);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

/* A file is reported once for each bias at which it is mapped. */
static bool is_repeated(const struct truth_space *space, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (space->mappings[i].file == space->mappings[index].file &&
		    space->mappings[i].bias == space->mappings[index].bias)
			return true;
	return false;
}

static Dwfl *report(const struct truth_space *space)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		errx(2, "dwfl_begin: %s", dwfl_errmsg(-1));
	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < space->n; i++) {
		struct truth_file *file = space->mappings[i].file;
		Dwfl_Module *module;
		void **userdata;
		int fd;

		if (is_repeated(space, i))
			continue;
		fd = dup(file->fd);
		module = dwfl_report_elf(dwfl, file->name, file->path, fd, space->mappings[i].bias,
					 true);
		if (!module)
			/* An older mapping that is partly covered by a newer one. */
			printf("note: libdw rejects %s at %#llx: %s\n", file->name,
			       (unsigned long long)space->mappings[i].bias, dwfl_errmsg(-1));
		else if (dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
			*userdata = file;
		if (!module)
			close(fd);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}

/* ---- registers and memory ------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread_argument)
{
	(void)dwfl, (void)argument, (void)thread_argument;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *argument, void **thread_argument)
{
	(void)dwfl, (void)tid;
	*thread_argument = argument;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument)
{
	(void)dwfl, (void)argument;
	return truth_read_word(run.sample, address, run.sample->arch->word_size, result);
}

static bool set_initial_registers(Dwfl_Thread *thread, void *argument)
{
	const struct truth_sample *sample = run.sample;

	for (int i = 0; i < TRUTH_REGISTERS_MAX; i++) {
		Dwarf_Word value = sample->registers[i];

		if (!sample->known[i])
			continue;
		/* DWARF or libdw has no number for this CPU's pc. */
		if (i == sample->arch->pc && sample->arch->pc != sample->arch->return_column)
			continue;
		if (!dwfl_thread_state_registers(thread, i, 1, &value))
			return false;
	}
	if (sample->arch->pc != sample->arch->return_column)
		dwfl_thread_state_register_pc(thread, sample->pc);
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

static Dwfl *dwfl_of(struct truth_space *space)
{
	size_t oldest = 0;
	Dwfl *dwfl;

	space->dwfl_used = ++uses;
	if (space->dwfl)
		return space->dwfl;
	for (size_t i = 0; i < ALIVE_MAX; i++) {
		if (!alive[i]) {
			oldest = i;
			break;
		}
		if (alive[i]->dwfl_used < alive[oldest]->dwfl_used)
			oldest = i;
	}
	if (alive[oldest])
		truth_dwfl_forget(alive[oldest]);
	dwfl = report(space);
	if (!dwfl_attach_state(dwfl, NULL, 1, &thread_callbacks, NULL)) {
		dwfl_end(dwfl);
		return NULL;
	}
	alive[oldest] = space;
	space->dwfl = dwfl;
	return dwfl;
}

void truth_dwfl_forget(struct truth_space *space)
{
	for (size_t i = 0; i < ALIVE_MAX; i++)
		if (alive[i] == space)
			alive[i] = NULL;
	if (space->dwfl)
		dwfl_end(space->dwfl);
	space->dwfl = NULL;
}

/* ---- unwinding ------------------------------------------------------------------------------ */

static int take_frame(Dwfl_Frame *frame, void *argument)
{
	struct truth_chain *chain = argument;
	Dwarf_Addr pc;

	/* Its third argument would make libdw unwind one frame further first. */
	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	truth_chain_add(chain, pc & ~run.sample->code_mask);
	return chain->n < TRUTH_CHAIN_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

bool truth_dwfl_unwind(const struct truth_sample *sample, struct truth_chain *ret)
{
	Dwfl *dwfl;
	int status;

	ret->n = 0;
	ret->end[0] = '\0';
	if (!sample->space->n) {
		snprintf(ret->end, sizeof(ret->end), "no file is mapped");
		return true;
	}
	dwfl = dwfl_of((struct truth_space *)sample->space);
	if (!dwfl)
		return false;
	run.sample = sample;
	(void)dwfl_errno();
	status = dwfl_getthread_frames(dwfl, 1, take_frame, ret);
	if (status)
		snprintf(ret->end, sizeof(ret->end), "%s",
			 status < 0 ? dwfl_errmsg(-1) : "no progress");
	return true;
}
