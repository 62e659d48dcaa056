/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/symbols.h"
#include "cli/report/lock_times.h"
#include "cli/report/locks.h"

struct lock_thread {
	uint64_t id; /* host and tid */
	struct symbol *symbol;
	bool waits; /* for some lock */
};

struct lock_pair {
	uint32_t lock;
	uint32_t holder; /* an index of by_tid; LOCK_NOBODY if unknown */
};

struct lock_waiter {
	uint32_t lock, thread;
};

/* ---- the code that waits ----------------------------------------------------------------- */

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++) {
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	}
	return false;
}

static bool is_locking(const struct reel_frame *frame)
{
	static const char *const modules[] = { "libc.so",   "libc-",  "libpthread",  "ld-musl-",
					       "libstdc++", "libc++", "libgcc_s.so", NULL };
	/* Also where they are inlined, or linked statically. */
	static const char *const functions[] = { "pthread_",
						 "__pthread_",
						 "___pthread_",
						 "__GI___pthread_",
						 "__lll_",
						 "lll_",
						 "__futex_",
						 "futex",
						 "__GI___lll_",
						 "__GI___futex_",
						 "__internal_syscall_cancel",
						 "__syscall_cancel",
						 "sem_wait",
						 "sem_timedwait",
						 "sem_clockwait",
						 "__new_sem_",
						 "__gthread_",
						 "std::",
						 "core::",
						 "<std::",
						 "<core::",
						 "runtime.",
						 "sync.",
						 "internal/sync.",
						 "sync/atomic.",
						 "parking_lot",
						 "lock_api::",
						 NULL };

	return frame->kernel || begins_with_any(path_base(frame->module_path), modules) ||
	       begins_with_any(frame->function, functions);
}

/*
 * The innermost frame that is not a function for locking: not in the kernel, libc or libpthread, nor
 * of the standard library of C++ or Rust, or of Go's runtime. The outermost frame if all are; NULL
 * without frames.
 */
static const struct reel_frame *lock_waiting_frame(const struct reel_trace *trace)
{
	for (size_t i = 0; i < trace->n_frames; i++) {
		if (!is_locking(trace->frames[i]))
			return trace->frames[i];
	}
	return trace->n_frames ? trace->frames[trace->n_frames - 1] : NULL;
}

/* ---- locks ------------------------------------------------------------------------------- */

void locks_init(struct locks *locks)
{
	*locks = (struct locks){ 0 };
	symbol_table_init(&locks->symbols, SYMBOLS_BY_FUNCTION);
	groups_init(&locks->threads, (struct group_key){ GROUP_THREAD, "thread", 0 });
	groups_init(&locks->processes, (struct group_key){ GROUP_PROCESS, "process", 0 });
	call_tree_init(&locks->waiting);
	call_tree_init(&locks->held);
	call_tree_init(&locks->stacks);
	locks->waiting.compare = locks->held.compare = symbol_compare;
}

void locks_free(struct locks *locks)
{
	call_tree_free(&locks->waiting);
	call_tree_free(&locks->held);
	call_tree_free(&locks->stacks);
	groups_free(&locks->threads);
	groups_free(&locks->processes);
	symbol_table_free(&locks->symbols);
	reel_hash_index_free(&locks->lock_index);
	reel_hash_index_free(&locks->tid_index);
	reel_hash_index_free(&locks->pair_index);
	reel_hash_index_free(&locks->waiter_index);
	free(locks->items);
	free(locks->samples);
	free(locks->by_tid);
	free(locks->pairs);
	free(locks->waiters);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void put(struct reel_hash_index *index, uint64_t hash, size_t number)
{
	if (!reel_hash_index_add(index, hash, (uint32_t)number))
		memory_check(NULL);
}

/* The number of a tid; of a thread that is not sampled as well. */
static uint32_t find_tid(struct locks *locks, const struct reel_trace *trace, uint32_t tid)
{
	uint64_t id = (uint64_t)trace->host_id << 32 | tid;
	uint32_t known = REEL_HASH_FIND(&locks->tid_index, id, i, locks->by_tid[i].id == id);

	if (known != REEL_HASH_NONE)
		return known;
	locks->by_tid = memory_reserve(locks->by_tid, &locks->tids_capacity, locks->n_tids,
				       sizeof(*locks->by_tid));
	locks->by_tid[locks->n_tids] = (struct lock_thread){ .id = id };
	put(&locks->tid_index, id, locks->n_tids);
	return (uint32_t)locks->n_tids++;
}

static uint32_t find_lock(struct locks *locks, const struct reel_trace *trace, uint64_t address)
{
	uint64_t hash = address ^ (uint64_t)trace->pid << 32 ^ trace->host_id;
	uint32_t known = REEL_HASH_FIND(&locks->lock_index, hash, i,
					locks->items[i].address == address &&
						locks->items[i].pid == trace->pid &&
						locks->items[i].host_id == trace->host_id);
	struct lock *lock;

	if (known != REEL_HASH_NONE)
		return known;
	locks->items =
		memory_reserve(locks->items, &locks->capacity, locks->count, sizeof(*locks->items));
	lock = &locks->items[locks->count];
	*lock = (struct lock){
		.address = address,
		.host_id = trace->host_id,
		.pid = trace->pid,
		.thread = trace->thread,
		.time = trace->time,
		.process = groups_find(&locks->processes, &locks->symbols, trace, NULL),
		.symbol = symbol_of_task(&locks->symbols),
	};
	lock->symbol->number = (uint32_t)locks->count;
	lock->waiting = call_tree_child(&locks->waiting, CALL_TREE_ROOT, lock->symbol);
	lock->held = call_tree_child(&locks->held, CALL_TREE_ROOT, lock->symbol);
	put(&locks->lock_index, hash, locks->count);
	return (uint32_t)locks->count++;
}

static uint32_t find_pair(struct locks *locks, uint32_t lock, uint32_t holder)
{
	uint64_t hash = (uint64_t)lock << 32 | holder;
	uint32_t known =
		REEL_HASH_FIND(&locks->pair_index, hash, i,
			       locks->pairs[i].lock == lock && locks->pairs[i].holder == holder);

	if (known != REEL_HASH_NONE)
		return known;
	locks->pairs = memory_reserve(locks->pairs, &locks->pairs_capacity, locks->n_pairs,
				      sizeof(*locks->pairs));
	locks->pairs[locks->n_pairs] = (struct lock_pair){ lock, holder };
	put(&locks->pair_index, hash, locks->n_pairs);
	return (uint32_t)locks->n_pairs++;
}

static void add_waiter(struct locks *locks, uint32_t lock, uint32_t thread)
{
	uint64_t hash = (uint64_t)lock << 32 | thread;

	if (REEL_HASH_FIND(&locks->waiter_index, hash, i,
			   locks->waiters[i].lock == lock && locks->waiters[i].thread == thread) !=
	    REEL_HASH_NONE)
		return;
	locks->waiters = memory_reserve(locks->waiters, &locks->waiters_capacity, locks->n_waiters,
					sizeof(*locks->waiters));
	locks->waiters[locks->n_waiters] = (struct lock_waiter){ lock, thread };
	put(&locks->waiter_index, hash, locks->n_waiters);
	locks->n_waiters++;
	locks->items[lock].n_threads++;
	locks->n_waiting_threads += !locks->by_tid[thread].waits;
	locks->by_tid[thread].waits = true;
}

/* Adds the wait; returns the pair of lock and holder. */
static uint32_t add_wait(struct locks *locks, const struct reel_trace *trace, uint32_t thread,
			 const struct reel_label *label, uint64_t length)
{
	const struct reel_label *owner = reel_trace_label(trace, "lock-owner");
	const struct reel_frame *frame = lock_waiting_frame(trace);
	uint32_t lock = find_lock(locks, trace, label->number);
	uint32_t holder = owner ? find_tid(locks, trace, (uint32_t)owner->number) : LOCK_NOBODY;
	struct symbol *function = frame ? symbol_of_frame(&locks->symbols, frame)
					: symbol_of_group(&locks->symbols, "[no frames]");
	uint32_t node = call_tree_child(&locks->waiting, locks->items[lock].waiting, function);

	amount_add(&locks->waiting.nodes[node].self, (struct amount){ length, 1 });
	locks->items[lock].has_holder |= owner != NULL;
	add_waiter(locks, lock, thread);
	return find_pair(locks, lock, holder);
}

/* The node of the trace's leaf, as in report's trees. */
static uint32_t add_stack(struct locks *locks, const struct reel_trace *trace)
{
	struct symbol_table *symbols = &locks->symbols;
	uint32_t node = CALL_TREE_ROOT;

	if (trace_is_cut(trace))
		node = call_tree_child(&locks->stacks, node, symbol_of_stop(symbols, trace->stop));
	else if (!trace->n_frames)
		node = call_tree_child(&locks->stacks, node,
				       symbol_of_group(symbols, "[no frames]"));
	for (size_t i = trace->n_frames; i-- > 0;)
		node = call_tree_child(&locks->stacks, node,
				       symbol_of_frame(symbols, trace->frames[i]));
	return node;
}

/*
 * The time that a sample covers, up to its own: of a thread that waits, its weight.  The weight of an
 * event of which each is sampled, such as waker, is another time.
 */
static uint64_t length_of(const struct reel_trace *trace, const struct reel_event_info *event)
{
	if (trace->state != REEL_STATE_RUNNING)
		return trace->weight;
	if (!event || (!event->frequency && event->period <= 1))
		return 0;
	if (!strcmp(event->weight_unit, "ns"))
		return trace->weight;
	return event->frequency ? UINT64_C(1000000000) / event->frequency : 0;
}

bool locks_add(void *context, const struct reel_trace *trace, const struct reel_event_info *event)
{
	struct locks *locks = context;
	const struct reel_label *label = reel_trace_label(trace, "lock");
	uint32_t thread = find_tid(locks, trace, trace->tid);
	uint64_t length = length_of(trace, event);
	struct lock_sample *sample;

	if (!length)
		return true;
	locks->by_tid[thread].symbol = groups_find(&locks->threads, &locks->symbols, trace, event);
	locks->samples = memory_reserve(locks->samples, &locks->samples_capacity, locks->n_samples,
					sizeof(*locks->samples));
	sample = &locks->samples[locks->n_samples++];
	*sample = (struct lock_sample){
		.begin = length < trace->time ? trace->time - length : 0,
		.end = trace->time,
		.thread = thread,
		.stack = add_stack(locks, trace),
		.pair = label ? add_wait(locks, trace, thread, label, length) : LOCK_NO_PAIR,
	};
	return true;
}

/* ---- holders ------------------------------------------------------------------------------ */

struct holding {
	struct locks *locks;
	uint32_t node; /* of the holder */
	uint64_t n;    /* samples of the wait that are not counted yet */
};

/* Adds the part of a wait during which the holder had a stack. */
static void add_part(void *context, const struct lock_sample *sample, uint64_t weight)
{
	struct holding *holding = context;
	struct locks *locks = holding->locks;
	const struct call_tree_node *from = locks->stacks.nodes;
	uint32_t node = holding->node;
	_cleanup_free_ uint32_t *path = NULL;
	size_t n = 0;

	if (!sample) {
		node = call_tree_child(&locks->held, node,
				       symbol_of_group(&locks->symbols, "[not sampled]"));
	} else {
		for (uint32_t at = sample->stack; at != CALL_TREE_ROOT; at = from[at].parent)
			n++;
		path = memory_get(n * sizeof(*path));
		n = 0;
		for (uint32_t at = sample->stack; at != CALL_TREE_ROOT; at = from[at].parent)
			path[n++] = at;
		while (n)
			node = call_tree_child(&locks->held, node, from[path[--n]].key);
	}
	amount_add(&locks->held.nodes[node].self, (struct amount){ weight, holding->n });
	holding->n = 0;
}

static struct symbol *name_of_holder(struct locks *locks, const struct lock_pair *pair)
{
	_cleanup_free_ char *name = NULL;
	struct lock_thread *thread;

	if (pair->holder == LOCK_NOBODY)
		return symbol_of_group(&locks->symbols,
				       locks->items[pair->lock].has_holder
					       ? "[no holder]"
					       : "holder unknown (not a glibc mutex)");
	thread = &locks->by_tid[pair->holder];
	if (!thread->symbol) {
		name = memory_print("[unknown] (%" PRIu32 ")", (uint32_t)thread->id);
		thread->symbol = symbol_of_group(&locks->symbols, name);
	}
	return thread->symbol;
}

static void attribute(struct locks *locks)
{
	for (size_t i = 0; i < locks->n_samples; i++) {
		const struct lock_sample *wait = &locks->samples[i];
		const struct lock_pair *pair;
		struct holding holding = { .locks = locks, .n = 1 };
		struct amount amount = { wait->end - wait->begin, 1 };

		if (wait->pair == LOCK_NO_PAIR)
			continue;
		pair = &locks->pairs[wait->pair];
		holding.node = call_tree_child(&locks->held, locks->items[pair->lock].held,
					       name_of_holder(locks, pair));
		if (pair->holder == LOCK_NOBODY)
			amount_add(&locks->held.nodes[holding.node].self, amount);
		else
			lock_times_attribute(locks->samples, locks->n_samples, wait, pair->holder,
					     add_part, &holding);
	}
}

/* ---- names -------------------------------------------------------------------------------- */

static bool has_several_processes(const struct locks *locks)
{
	for (size_t i = 1; i < locks->count; i++) {
		if (locks->items[i].process != locks->items[0].process)
			return true;
	}
	return false;
}

/* "orders+8 in till", "Python's GIL (...)", or without a name "till+0x4108", or "0x55d0c0ffee00"; not escaped. */
static char *place_of(const struct lock *lock, const struct reel_variable *variable)
{
	const char *module = path_base(variable->module_path);

	if (!variable->module_id)
		return memory_print("%#" PRIx64, lock->address);
	if (!*variable->name)
		return memory_print("%s+%#" PRIx64, module, variable->offset);
	/* CPython has the mutex and the condition variables of its lock in its state (struct
	 * _gil_runtime_state), and no other locks. */
	if (!strcmp(variable->name, "_PyRuntime"))
		return memory_print("Python's GIL (%s+%#" PRIx64 " in %s)", variable->name,
				    variable->offset, module);
	if (variable->offset)
		return memory_print("%s+%#" PRIx64 " in %s", variable->name, variable->offset,
				    module);
	return memory_print("%s in %s", variable->name, module);
}

static bool name_locks(struct locks *locks, struct reel_capture *capture)
{
	bool several = has_several_processes(locks);

	for (size_t i = 0; i < locks->count; i++) {
		const struct lock *lock = &locks->items[i];
		_cleanup_free_ char *place = NULL, *name = NULL;
		struct reel_variable variable;

		if (!no_error(reel_capture_variable(capture, lock->thread, lock->time,
						    lock->address, &variable)))
			return false;
		place = place_of(lock, &variable);
		if (several) {
			_cleanup_free_ char *process = memory_print("%s", lock->process->name);

			text_unescape(process);
			name = memory_print("%s, %s", place, process);
		}
		symbol_name_task(&locks->symbols, lock->symbol, name ? name : place);
	}
	return true;
}

bool locks_finish(struct locks *locks, struct reel_capture *capture)
{
	groups_name(&locks->threads, &locks->symbols);
	groups_name(&locks->processes, &locks->symbols);
	if (!name_locks(locks, capture))
		return false;
	lock_times_sort(locks->samples, locks->n_samples);
	attribute(locks);
	call_tree_finish(&locks->waiting);
	call_tree_finish(&locks->held);
	return true;
}
