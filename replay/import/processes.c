/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "replay/import/processes.h"
#include "base/id_table.h"

/* Without the NUL.  The kernel's TASK_COMM_LEN is 16; a longer one is from a converter. */
#define COMM_MAX 63

struct process;

struct thread {
	struct reel_id_entry entry; /* by tid */
	uint64_t id;		    /* THREAD */
	struct process *process;
	struct thread *next, *previous; /* in the process */
	char comm[COMM_MAX + 1];
};

struct process {
	struct reel_id_entry entry; /* by pid */
	struct reel_record_space space;
	struct thread *threads;
};

struct reel_processes {
	struct reel_processes_options options;
	struct reel_id_table by_pid, by_tid; /* alive */
	uint64_t last_space, last_thread;
};

struct reel_error *reel_processes_create(const struct reel_processes_options *options,
					 struct reel_processes **ret)
{
	struct reel_processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return reel_error_no_memory();
	processes->options = *options;
	*ret = processes;
	return NULL;
}

void reel_processes_destroy(struct reel_processes *processes)
{
	if (!processes)
		return;
	reel_id_table_free_all(&processes->by_tid);
	reel_id_table_free_all(&processes->by_pid);
	free(processes);
}

struct reel_error *reel_processes_write(struct reel_processes *processes,
					const struct reel_record *record)
{
	const struct reel_processes_options *options = &processes->options;

	if (options->timeline)
		TRY(reel_timeline_add(options->timeline, record));
	return reel_writer_record(options->writer, record);
}

static struct process *find_process(const struct reel_processes *processes, uint32_t pid)
{
	return (struct process *)reel_id_table_find(&processes->by_pid, pid);
}

static struct thread *find_thread(const struct reel_processes *processes, uint32_t tid)
{
	return (struct thread *)reel_id_table_find(&processes->by_tid, tid);
}

/* ---- spaces ------------------------------------------------------------------------------ */

static struct reel_error *write_space(struct reel_processes *processes,
				      const struct process *process)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE, .space = process->space };

	return reel_processes_write(processes, &record);
}

/* Starts with the mappings of `parent`, unless NULL. */
static struct reel_error *add_process(struct reel_processes *processes,
				      const struct reel_task *task, const struct process *parent,
				      struct process **ret)
{
	struct process *process =
		reel_id_table_add(&processes->by_pid, task->pid, sizeof(*process));

	if (!process)
		return reel_error_no_memory();
	if (parent) {
		process->space = reel_space_fork(&parent->space, task->time);
	} else {
		process->space.time = task->time;
		process->space.origin = REEL_ORIGIN_FOUND;
		reel_space_set_program(&process->space, &processes->options.programs, false);
	}
	process->space.pid = task->pid;
	process->space.id = ++processes->last_space;
	*ret = process;
	return write_space(processes, process);
}

static struct reel_error *process_gone(struct reel_processes *processes, struct process *process,
				       uint64_t time)
{
	struct reel_record record = { .id = REEL_RECORD_SPACE_EXIT };

	record.space_exit = (struct reel_record_space_exit){ time, process->space.id };
	reel_id_table_remove(&processes->by_pid, process->entry.id);
	free(process);
	return reel_processes_write(processes, &record);
}

static struct reel_error *need_process(struct reel_processes *processes,
				       const struct reel_task *task, struct process **ret)
{
	*ret = find_process(processes, task->pid);
	return *ret ? NULL : add_process(processes, task, NULL, ret);
}

/* ---- threads ----------------------------------------------------------------------------- */

static void set_text(struct thread *thread, struct reel_bytes comm)
{
	size_t size = comm.size < COMM_MAX ? comm.size : COMM_MAX;

	memcpy(thread->comm, comm.data, size);
	thread->comm[size] = '\0';
}

static struct reel_error *add_thread(struct reel_processes *processes, struct process *process,
				     const struct reel_task *task, enum reel_origin origin,
				     const struct thread *parent, struct thread **ret)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD };
	struct thread *thread = reel_id_table_add(&processes->by_tid, task->tid, sizeof(*thread));

	if (!thread)
		return reel_error_no_memory();
	thread->id = ++processes->last_thread;
	thread->process = process;
	if (parent)
		memcpy(thread->comm, parent->comm, sizeof(thread->comm));
	thread->next = process->threads;
	if (thread->next)
		thread->next->previous = thread;
	process->threads = thread;
	*ret = thread;
	record.thread = (struct reel_record_thread){
		.time = task->time,
		.id = thread->id,
		.space = process->space.id,
		.origin = origin,
		.tid = task->tid,
		.parent = parent ? parent->id : 0,
		.comm = reel_bytes_of_string(thread->comm),
	};
	return reel_processes_write(processes, &record);
}

static struct reel_error *end_thread(struct reel_processes *processes, struct thread *thread,
				     uint64_t time, bool keep_process)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXIT };
	struct process *process = thread->process;

	record.thread_exit = (struct reel_record_thread_exit){ time, thread->id };
	if (thread->previous)
		thread->previous->next = thread->next;
	else
		process->threads = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	reel_id_table_remove(&processes->by_tid, thread->entry.id);
	free(thread);
	TRY(reel_processes_write(processes, &record));
	return process->threads || keep_process ? NULL : process_gone(processes, process, time);
}

/* The thread of that tid if it is the task's: if it is in another process, its end was lost. */
static struct reel_error *current_thread(struct reel_processes *processes,
					 const struct reel_task *task, struct thread **ret)
{
	struct thread *thread = find_thread(processes, task->tid);

	*ret = thread;
	if (!thread || thread->process->entry.id == task->pid)
		return NULL;
	*ret = NULL;
	return end_thread(processes, thread, task->time, false);
}

static struct reel_error *need_thread(struct reel_processes *processes,
				      const struct reel_task *task, struct thread **ret)
{
	struct process *process;

	TRY(current_thread(processes, task, ret));
	if (*ret)
		return NULL;
	TRY(need_process(processes, task, &process));
	return add_thread(processes, process, task, REEL_ORIGIN_FOUND, NULL, ret);
}

/* ---- reported events --------------------------------------------------------------------- */

/* Ends all its threads, and so the process. */
static struct reel_error *end_process(struct reel_processes *processes, struct process *process,
				      uint64_t time)
{
	if (!process->threads)
		return process_gone(processes, process, time);
	while (process->threads->next)
		TRY(end_thread(processes, process->threads, time, true));
	return end_thread(processes, process->threads, time, false);
}

struct reel_error *reel_processes_fork(struct reel_processes *processes,
				       const struct reel_task *task, uint32_t parent_pid,
				       uint32_t parent_tid, bool was_there)
{
	struct process *process, *parent = NULL;
	struct thread *thread;

	if (was_there)
		return need_thread(processes, task, &thread);
	/* A process with the same pid has ended, though nothing reported it. */
	process = find_process(processes, task->pid);
	if (task->pid != parent_pid && process)
		TRY(end_process(processes, process, task->time));
	thread = find_thread(processes, task->tid);
	if (thread)
		TRY(end_thread(processes, thread, task->time,
			       thread->process->entry.id == task->pid));
	if (task->pid == parent_pid) {
		TRY(need_process(processes, task, &process));
	} else {
		parent = find_process(processes, parent_pid);
		TRY(add_process(processes, task, parent, &process));
	}
	return add_thread(processes, process, task, REEL_ORIGIN_FORK,
			  find_thread(processes, parent_tid), &thread);
}

struct reel_error *reel_processes_comm(struct reel_processes *processes,
				       const struct reel_task *task, struct reel_bytes comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_COMM };
	struct thread *thread;

	TRY(need_thread(processes, task, &thread));
	set_text(thread, comm);
	record.thread_comm = (struct reel_record_thread_comm){
		.time = task->time,
		.thread = thread->id,
		.comm = reel_bytes_of_string(thread->comm),
	};
	return reel_processes_write(processes, &record);
}

/* The kernel ended the other threads (fs/exec.c, de_thread); their exits may follow later. */
static struct reel_error *end_others(struct reel_processes *processes, struct process *process,
				     const struct thread *kept, uint64_t time)
{
	for (struct thread *thread = process->threads, *next; thread; thread = next) {
		next = thread->next;
		if (thread != kept)
			TRY(end_thread(processes, thread, time, true));
	}
	return NULL;
}

struct reel_error *reel_processes_exec(struct reel_processes *processes,
				       const struct reel_task *task, struct reel_bytes comm)
{
	struct reel_record record = { .id = REEL_RECORD_THREAD_EXEC };
	struct process *process;
	struct thread *thread;

	TRY(need_thread(processes, task, &thread));
	process = thread->process;
	TRY(end_others(processes, process, thread, task->time));
	reel_space_exec(&process->space, &processes->options.programs, ++processes->last_space,
			task->time);
	TRY(write_space(processes, process));
	record.thread_exec =
		(struct reel_record_thread_exec){ task->time, thread->id, process->space.id };
	TRY(reel_processes_write(processes, &record));
	return reel_processes_comm(processes, task, comm);
}

struct reel_error *reel_processes_exit(struct reel_processes *processes,
				       const struct reel_task *task)
{
	struct thread *thread = find_thread(processes, task->tid);

	return thread ? end_thread(processes, thread, task->time, false) : NULL;
}

struct reel_error *reel_processes_space(struct reel_processes *processes,
					const struct reel_task *task, uint64_t *space_ret)
{
	struct process *process;
	struct reel_error *error = need_process(processes, task, &process);

	*space_ret = process ? process->space.id : 0;
	return error;
}

struct reel_error *reel_processes_set_vdso(struct reel_processes *processes,
					   const struct reel_task *task, uint64_t address)
{
	struct process *process = find_process(processes, task->pid);

	if (!process || process->space.vdso == address)
		return NULL;
	process->space.vdso = address;
	/* A 64-bit program has it there only with a rare personality (ADDR_LIMIT_3GB); registers,
	 * if recorded, are more reliable. */
	if (address < UINT64_C(1) << 32)
		reel_space_set_program(&process->space, &processes->options.programs, true);
	return write_space(processes, process);
}

struct reel_error *reel_processes_place(struct reel_processes *processes,
					const struct reel_task *task, bool has_registers,
					bool compat, uint64_t *thread_ret)
{
	struct thread *thread;
	struct reel_record_space *space;

	*thread_ret = 0;
	/* A task being destroyed no longer has ids in the kernel. */
	if (task->tid == UINT32_MAX || task->pid == UINT32_MAX)
		return NULL;
	TRY(need_thread(processes, task, &thread));
	*thread_ret = thread->id;
	space = &thread->process->space;
	if (!has_registers || processes->options.programs.native.word_bits == 32 ||
	    compat == (space->word_bits == 32))
		return NULL;
	reel_space_set_program(space, &processes->options.programs, compat);
	return write_space(processes, thread->process);
}
