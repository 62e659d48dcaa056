/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The frames of a Python program, in the interpreter's memory (struct reel_bpf_interpreter).  A
 * thread changes only its own, and does not run meanwhile, so that they are whole, but for a thread
 * that is interrupted while it makes one.
 *
 * The walk is a machine that names the next bytes to read: so all reads of a program, which may
 * sleep or not, are at one place, and the rest is checked by the verifier once.
 */
#ifndef BPF_PYTHON_H
#define BPF_PYTHON_H

/* How long a thread without Python frames is not looked for again. */
#define REEL_PYTHON_RETRY 100000000ull /* ns */
/* pthread_self() is at most this far from the thread pointer (struct pthread, AArch64). */
#define REEL_PYTHON_PTHREAD_SIZE 4096
/* Enough for 1,000 threads, or for 512 frames, each with a native one. */
#define REEL_PYTHON_READS_MAX 2048

/*
 * Where a thread's state was found, by its number modulo the size.  Entries are not locked: what is
 * at `state` must have the thread's number.
 */
#define REEL_PYTHON_CACHE 4096

struct reel_python_thread {
	__u32 pid, tid;
	__u64 state; /* 0: none was found */
	__u64 retry; /* not before that time */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REEL_PYTHON_CACHE);
	__type(key, __u32);
	__type(value, struct reel_python_thread);
} reel_python_threads SEC(".maps");

/* Processes by their number in the recorder's namespace; preallocated as reel_processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REEL_INTERPRETERS_MAX);
	__type(key, __u32);
	__type(value, struct reel_bpf_interpreter);
} reel_interpreters SEC(".maps");

/* What is being read. */
enum reel_python_stage {
	REEL_PYTHON_INTERPRETER, /* the address of an interpreter, the newest first */
	REEL_PYTHON_THREADS,	 /* of its first thread's state */
	REEL_PYTHON_ID,		 /* that thread's number */
	REEL_PYTHON_TOP,	 /* the address of its frame, or of its _PyCFrame */
	REEL_PYTHON_CFRAME_TOP,	 /* the frame of that _PyCFrame */
	REEL_PYTHON_NEXT,	 /* the address of the next thread's state */
	REEL_PYTHON_FRAME,
	REEL_PYTHON_CODE,   /* of that frame: its identity */
	REEL_PYTHON_CFRAME, /* the address of the previous _PyCFrame */
	REEL_PYTHON_END,
};

/* The next bytes to read are a field of an object; false, the end, if there is no such object. */
static __always_inline bool reel_python_want(struct reel_python_walk *walk, __u32 stage,
					     __u64 object, __u16 offset, __u32 size)
{
	walk->stage = stage;
	walk->from = object + offset;
	walk->size = size;
	return object && offset != REEL_BPF_NO_OFFSET;
}

/* ---- the cache ------------------------------------------------------------------------------ */

static __always_inline struct reel_python_thread *reel_python_cached(const struct reel_draft *draft)
{
	__u32 at = draft->sample.tid & (REEL_PYTHON_CACHE - 1);

	return bpf_map_lookup_elem(&reel_python_threads, &at);
}

static __always_inline void reel_python_remember(const struct reel_draft *draft, __u64 state)
{
	struct reel_python_thread *cached = reel_python_cached(draft);

	if (!cached)
		return;
	cached->state = state;
	cached->retry = draft->sample.time + REEL_PYTHON_RETRY;
	cached->pid = draft->sample.pid;
	cached->tid = draft->sample.tid;
}

/* ---- the thread's state --------------------------------------------------------------------- */

static __always_inline bool reel_python_want_id(struct reel_python_walk *walk)
{
	const struct reel_bpf_interpreter *python = &walk->interpreter;

	return reel_python_want(walk, REEL_PYTHON_ID, walk->state,
				python->thread_native_id != REEL_BPF_NO_OFFSET
					? python->thread_native_id
					: python->thread_id,
				8);
}

/* Whether a thread with this number is the sample's. */
static __always_inline bool reel_python_is_own(const struct reel_python_walk *walk, __u64 id)
{
	return walk->interpreter.thread_native_id != REEL_BPF_NO_OFFSET
		       ? id == walk->tid
		       : walk->thread_pointer - id < REEL_PYTHON_PTHREAD_SIZE;
}

/* The first interpreter, unless a search has found nothing a moment ago. */
static __always_inline bool reel_python_want_first(struct reel_draft *draft)
{
	struct reel_python_walk *walk = &draft->python;

	if (walk->retry > draft->sample.time)
		return false;
	walk->is_search = 1;
	return reel_python_want(walk, REEL_PYTHON_INTERPRETER, walk->interpreter.head, 0, 8);
}

/* The next thread's state. */
static __always_inline bool reel_python_want_next(struct reel_draft *draft)
{
	struct reel_python_walk *walk = &draft->python;

	/* Where the state was does not count any more. */
	if (!walk->is_search)
		return reel_python_want_first(draft);
	return reel_python_want(walk, REEL_PYTHON_NEXT, walk->state, walk->interpreter.thread_next,
				8);
}

/* The threads of an interpreter; if a thread runs several, the newest is the innermost. */
static __always_inline bool reel_python_want_threads(struct reel_draft *draft, __u64 object)
{
	struct reel_python_walk *walk = &draft->python;

	walk->main = object;
	if (!object)
		reel_python_remember(draft, 0);
	return reel_python_want(walk, REEL_PYTHON_THREADS, object,
				walk->interpreter.interpreter_threads, 8);
}

static __always_inline bool reel_python_want_state(struct reel_python_walk *walk, __u64 state)
{
	walk->state = state;
	if (state)
		return reel_python_want_id(walk);
	return reel_python_want(walk, REEL_PYTHON_INTERPRETER, walk->main,
				walk->interpreter.interpreter_next, 8);
}

/* ---- its frames ----------------------------------------------------------------------------- */

#define REEL_FRAME_WORDS (sizeof(struct reel_bpf_frame) / 8)

static __always_inline bool reel_python_add(struct reel_draft *draft, __u64 code, __u32 position,
					    __u32 identity)
{
	__u32 n = draft->sample.n_frames;
	__u64 at = draft->python.begin + (__u64)n * REEL_FRAME_WORDS;

	barrier_var(at);
	if (n >= REEL_BPF_FRAMES_MAX || at > REEL_CHAINS_WORDS - REEL_FRAME_WORDS)
		return false;
	draft->chains[at] = code;
	draft->chains[at + 1] = position | (__u64)identity << 32;
	draft->sample.n_frames = n + 1;
	return true;
}

static __always_inline __u8 reel_python_byte(const struct reel_python_walk *walk, __u16 offset)
{
	return ((const __u8 *)walk->words)[offset & (REEL_BPF_FRAME_SIZE - 1)];
}

static __always_inline __u64 reel_python_word(const struct reel_python_walk *walk, __u16 offset)
{
	return walk->words[offset / 8 & (REEL_BPF_FRAME_SIZE / 8 - 1)];
}

/* The outermost frame has none before it; all other ends leave the flag. */
static __always_inline bool reel_python_want_frame(struct reel_draft *draft, __u64 frame)
{
	struct reel_python_walk *walk = &draft->python;

	if (frame)
		draft->sample.flags |= REEL_BPF_FRAMES_CUT;
	else
		draft->sample.flags &= ~REEL_BPF_FRAMES_CUT;
	return reel_python_want(walk, REEL_PYTHON_FRAME, frame, 0, walk->interpreter.frame_size);
}

/* A frame was read. */
static __always_inline bool reel_python_take_frame(struct reel_draft *draft)
{
	struct reel_python_walk *walk = &draft->python;
	const struct reel_bpf_interpreter *python = &walk->interpreter;
	__u64 frame = walk->from, position = reel_python_word(walk, python->frame_position);

	walk->previous = reel_python_word(walk, python->frame_previous);
	if (python->frame_owner != REEL_BPF_NO_OFFSET &&
	    reel_python_byte(walk, python->frame_owner) >= python->owner_native)
		return reel_python_add(draft, frame, REEL_BPF_FRAME_NATIVE, 0) &&
		       reel_python_want_frame(draft, walk->previous);
	walk->code = reel_python_word(walk, python->frame_code) & ~(__u64)python->code_tags;
	walk->is_entry = python->frame_is_entry != REEL_BPF_NO_OFFSET
				 ? reel_python_byte(walk, python->frame_is_entry)
				 : python->position_size == 4;
	position = python->position_size == 4 ? position >> python->frame_position % 8 * 8
					      : position - walk->code;
	/* f_lasti of a function that has just been called. */
	walk->position = (__u32)position == REEL_BPF_FRAME_NATIVE ? 0 : position;
	return reel_python_want(walk, REEL_PYTHON_CODE, walk->code, python->code_identity,
				REEL_BPF_IDENTITY_SIZE);
}

/* The identity of a frame's code was read, or could not be. */
static __always_inline bool reel_python_take_code(struct reel_draft *draft, bool failed)
{
	struct reel_python_walk *walk = &draft->python;
	__u32 identity = failed ? 0 : reel_bpf_identity(walk->words);

	if (walk->is_entry)
		identity |= REEL_BPF_FRAME_ENTRY;
	if (!reel_python_add(draft, walk->code, walk->position, identity))
		return false;
	if (!walk->is_entry || !walk->cframe)
		return reel_python_want_frame(draft, walk->previous);
	return reel_python_add(draft, walk->cframe, REEL_BPF_FRAME_NATIVE, 0) &&
	       reel_python_want(walk, REEL_PYTHON_CFRAME, walk->cframe,
				walk->interpreter.cframe_previous, 8);
}

/*
 * Takes what was read; false at the end.  Not static: the verifier then checks it once, for all
 * stages.
 */
__noinline bool reel_python_take(__u32 slot, bool failed)
{
	struct reel_draft *draft = reel_draft(slot);
	struct reel_python_walk *walk;
	__u64 word;

	if (!draft)
		return false;
	walk = &draft->python;
	word = failed ? 0 : walk->words[0];
	switch (walk->stage) {
	case REEL_PYTHON_INTERPRETER:
		return reel_python_want_threads(draft, word);
	case REEL_PYTHON_NEXT:
	case REEL_PYTHON_THREADS:
		return reel_python_want_state(walk, word);
	case REEL_PYTHON_ID:
		if (failed || !reel_python_is_own(walk, word))
			return reel_python_want_next(draft);
		if (walk->interpreter.thread_cframe != REEL_BPF_NO_OFFSET)
			return reel_python_want(walk, REEL_PYTHON_TOP, walk->state,
						walk->interpreter.thread_cframe, 8);
		return reel_python_want(walk, REEL_PYTHON_CFRAME_TOP, walk->state,
					walk->interpreter.thread_frame, 8);
	case REEL_PYTHON_TOP:
		walk->cframe = word;
		return reel_python_want(walk, REEL_PYTHON_CFRAME_TOP, word,
					walk->interpreter.cframe_frame, 8);
	case REEL_PYTHON_CFRAME_TOP:
		if (!word)
			return reel_python_want_next(draft);
		if (walk->is_search)
			reel_python_remember(draft, walk->state);
		return reel_python_want_frame(draft, word);
	case REEL_PYTHON_FRAME:
		return !failed && reel_python_take_frame(draft);
	case REEL_PYTHON_CODE:
		return reel_python_take_code(draft, failed);
	case REEL_PYTHON_CFRAME:
		walk->cframe = word;
		return reel_python_want_frame(draft, walk->previous);
	default:
		return false;
	}
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Reads what comes next; false at the end. */
static __always_inline bool reel_python_step(struct task_struct *other, struct reel_draft *draft,
					     __u32 slot)
{
	__u64 size = draft->python.size;

	barrier_var(size);
	if (size > REEL_BPF_FRAME_SIZE)
		return false;
	return reel_python_take(slot, reel_user_read(other, draft->python.words, size,
						     (void *)draft->python.from) != 0);
}

/* Whether the process runs Python, and there is something to read. */
static __always_inline bool reel_python_begin(struct task_struct *task, struct reel_draft *draft)
{
	struct reel_python_walk *walk = &draft->python;
	const struct reel_bpf_interpreter *python;
	const struct reel_python_thread *cached;

	if (draft->sample.flags & REEL_BPF_COMPAT)
		return false;
	python = bpf_map_lookup_elem(&reel_interpreters, &draft->sample.pid);
	cached = reel_python_cached(draft);
	if (!python || !cached)
		return false;
	walk->interpreter = *python;
	walk->begin = (__u64)draft->sample.n_kernel_chain + draft->sample.n_frame_chain +
		      draft->sample.n_user_probes + draft->sample.n_values;
	walk->tid = reel_pid_innermost(BPF_CORE_READ(task, thread_pid));
	walk->thread_pointer = reel_thread_pointer(task, false);
	walk->cframe = walk->is_search = walk->state = walk->retry = 0;
	if (cached->pid == draft->sample.pid && cached->tid == draft->sample.tid) {
		walk->state = cached->state;
		walk->retry = cached->retry;
	}
	return walk->state ? reel_python_want_id(walk) : reel_python_want_first(draft);
}

__noinline bool reel_python_step_current(__u32 slot)
{
	struct reel_draft *draft = reel_draft(slot);

	return draft && reel_python_step(NULL, draft, slot);
}

/* Stores the current thread's frames in the sample. */
__noinline int reel_python_store(__u32 slot)
{
	struct reel_draft *draft = reel_draft(slot);

	if (!draft || !reel_python_begin(REEL_TASK_CURRENT(), draft))
		return 0;
	for (__u32 i = 0; i < REEL_PYTHON_READS_MAX; i++) {
		if (!reel_python_step_current(slot))
			break;
	}
	return 0;
}

#endif
