/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a capture, one struct for each.  SPEC.md is normative; ids are fixed for ever, and
 * a retired id is not reused.
 *
 * All records except SAMPLE_LAYOUT, COLUMNS and LABELS are a list of fields, each an unsigned number
 * or a string of bytes, in the order of the struct and of SPEC.md.  The tables in format/schema.c
 * describe the fields to the encoder, the decoder and `stackreel dump`.
 */
#ifndef FORMAT_RECORD_H
#define FORMAT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/elf_identity.h"

enum reel_record_id {
	REEL_RECORD_CAPTURE = 1,
	REEL_RECORD_EVENT = 2,
	REEL_RECORD_MODULE = 3,
	REEL_RECORD_IMAGE = 4,
	REEL_RECORD_SPACE = 5,
	REEL_RECORD_SPACE_EXIT = 6,
	REEL_RECORD_THREAD = 7,
	REEL_RECORD_THREAD_COMM = 8,
	REEL_RECORD_THREAD_EXEC = 9,
	REEL_RECORD_THREAD_EXIT = 10,
	REEL_RECORD_MAP = 11,
	REEL_RECORD_UNMAP = 12,
	REEL_RECORD_KERNEL_SYMBOL = 13,
	REEL_RECORD_LOSS = 14,
	REEL_RECORD_END = 15,
	REEL_RECORD_CODE = 16,
	REEL_RECORD_JIT_SYMBOL = 17,
	REEL_RECORD_JIT_UNWIND = 18,
	REEL_RECORD_JIT_LINE = 19,
	REEL_RECORD_TRACE_STEPS = 20,
	REEL_RECORD_ORIGIN = 21,
	REEL_RECORD_CGROUP = 22,
	REEL_RECORD_SPACE_CGROUP = 23,
	REEL_RECORD_FUNCTION = 24,
	REEL_RECORD_MARK = 25,
	REEL_RECORD_CODE_END = 26,
	REEL_RECORD_SAMPLE_LAYOUT = 32,
	REEL_RECORD_COLUMNS = 35,
	REEL_RECORD_LABELS = 38,
	REEL_RECORD_FRAMES = 39,
	REEL_RECORD_INDEX_ENTRY = 48,
	REEL_RECORD_DIGEST = 49,
	REEL_RECORD_KEY = 56,
	REEL_RECORD_ID_LIMIT = 57,
};

/* A time that may be unknown (0): from the start. */
#define REEL_TIME_START 1

/* Limits (SPEC.md, section 9). */
#define REEL_TEXT_MAX  65536
#define REEL_IMAGE_MAX (16u << 20)

static inline bool reel_bytes_are_equal(struct reel_bytes a, struct reel_bytes b)
{
	return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

/* The capture as a whole; the first record of the file. */
struct reel_record_capture {
	uint64_t start_time;	  /* ns, capture clock */
	uint64_t start_wall_time; /* ns since 1970-01-01 UTC, read together with start_time */
	uint64_t clock;		  /* clockid_t of the capture clock: 1 is CLOCK_MONOTONIC */
	uint64_t machine;	  /* ELF e_machine of the kernel */
	uint64_t word_bits;	  /* 32 or 64, of the kernel */
	uint64_t byte_order;	  /* enum reel_byte_order */
	uint64_t page_size;
	uint64_t cpus_possible, cpus_online;
	uint64_t max_stack; /* of a region, in bytes */
	uint64_t ring_size; /* bytes in each BPF ring buffer, and their number */
	uint64_t rings;
	uint64_t part;		     /* 0, 1, 2 … of a rotated recording */
	struct reel_bytes recording; /* file id of part 0; may be empty */
	struct reel_bytes hostname, kernel_release, kernel_version, kernel_build_id;
	struct reel_bytes tool_version;
	struct reel_bytes command_line; /* arguments, each ended by a NUL; may be empty */
};

enum reel_weight_unit {
	REEL_WEIGHT_COUNT = 0,
	REEL_WEIGHT_NANOSECONDS = 1,
};

/* Where the recorder finds waits. */
enum reel_wait_place {
	REEL_WAITS_UNKNOWN = 0, /* by looking at threads, if the event has a frequency */
	REEL_WAITS_SCHED_EXIT = 1,
	REEL_WAITS_FINISH_TASK_SWITCH = 2,
	REEL_WAITS_PROCESS_VM_READV = 3, /* as 0, but stacks are read by this */
};

struct reel_record_event {
	uint64_t id;
	uint64_t perf_type, perf_config; /* perf_event_attr; type 2^32-1: not a perf event */
	uint64_t frequency;		 /* Hz, or 0: then period */
	uint64_t period;
	uint64_t weight_unit; /* enum reel_weight_unit */
	struct reel_bytes name;
	struct reel_bytes value_names; /* of arg1, arg2 …, separated by commas; usually empty */
	uint64_t waits; /* enum reel_wait_place, of off-cpu; early files have it in perf_config */
};

/* A file or another source of executable memory.  Kinds are enum reel_module_kind. */
struct reel_record_module {
	uint64_t id;
	uint64_t kind;
	/* 0 or empty if unknown.  All but the id is the identity (format/timeline/module_set.h). */
	uint64_t device_major, device_minor, inode, inode_generation;
	struct reel_bytes build_id;
	struct reel_bytes path;
	/* Of a file without a build-id: its size, its last change (ns since 1970), and its digest
	 * by reel_file_digest_of; 0 or empty if unknown. */
	uint64_t file_size, file_time;
	struct reel_bytes file_digest;
};

/* Bytes of a module without a file (vDSO), or those that replace its file. */
struct reel_record_image {
	uint64_t module;
	uint64_t offset;
	uint64_t total_size;
	struct reel_bytes bytes;
	uint64_t number; /* of a module's images; the whole one with the highest number counts */
	uint64_t base; /* 0: `bytes` are the image's; or the number, plus 1, of the image that they
			  * change (format/image_patch.h) */
};

enum reel_origin {
	REEL_ORIGIN_FOUND = 0, /* existed before the recording */
	REEL_ORIGIN_FORK = 1,
	REEL_ORIGIN_EXEC = 2,
	REEL_ORIGIN_SNAPSHOT = 3, /* carried over from the previous part of a rotated recording */
};

/*
 * An address space: a process from fork or exec to its next exec or exit.  With origin FORK it
 * starts with its parent's mappings.
 */
struct reel_record_space {
	uint64_t time;
	uint64_t id;
	uint64_t parent; /* space id, 0 for none */
	uint64_t origin;
	uint64_t pid;		/* in the recorder's PID namespace */
	uint64_t namespace_pid; /* in its own, innermost one; 0 if unknown */
	uint64_t machine;	/* ELF e_machine of its user code; 0 if unknown */
	uint64_t word_bits;
	uint64_t byte_order;
	uint64_t code_mask; /* pointer authentication bits of code addresses; 0 if none */
	uint64_t data_mask;
	uint64_t vdso; /* address, 0 if none or unknown */
};

struct reel_record_space_exit {
	uint64_t time;
	uint64_t space;
};

/* A thread from its start to its exit: a reused tid is another thread. */
struct reel_record_thread {
	uint64_t time;
	uint64_t id;
	uint64_t space;
	uint64_t origin;
	uint64_t tid;
	uint64_t namespace_tid;
	uint64_t parent; /* thread id, 0 if none or unknown */
	struct reel_bytes comm;
};

struct reel_record_thread_comm {
	uint64_t time;
	uint64_t thread;
	struct reel_bytes comm;
};

/* The thread continues in another space (exec). */
struct reel_record_thread_exec {
	uint64_t time;
	uint64_t thread;
	uint64_t space;
};

struct reel_record_thread_exit {
	uint64_t time;
	uint64_t thread;
};

/* A mapping; it replaces the space's previous contents in its range. */
struct reel_record_map {
	uint64_t time;
	uint64_t space;
	uint64_t address;
	uint64_t size;
	uint64_t offset;     /* bytes into the file */
	uint64_t protection; /* PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4 */
	uint64_t flags;	     /* MAP_SHARED 1, MAP_PRIVATE 2 */
	uint64_t module;
};

enum reel_unmap_how {
	REEL_UNMAP_REPORTED = 0,
	/* perf reports no munmap: another mapping took its place. */
	REEL_UNMAP_INFERRED_OVERLAP = 1,
	/* The mapping was missing when /proc/PID/maps was read again. */
	REEL_UNMAP_INFERRED_ABSENT = 2,
};

struct reel_record_unmap {
	uint64_t time;
	uint64_t space;
	uint64_t address;
	uint64_t size;
	uint64_t how;
};

struct reel_record_kernel_symbol {
	uint64_t address;
	uint64_t size;		/* up to the next symbol; 0 if unknown */
	uint64_t module;	/* id of a KERNEL or KERNEL_MODULE module */
	struct reel_bytes name; /* empty: from `since` on the range is unknown */
	uint64_t since;		/* capture clock; REEL_TIME_START; 0: unknown */
	uint64_t origin;	/* ORIGIN.id of the capture with this kernel; 0: no ORIGINs */
};

/*
 * Bytes of code that is not in any file, such as a JIT's, as found in memory at `time`.  They hold
 * until other bytes replace them (SPEC.md, section 7).
 */
struct reel_record_code {
	uint64_t time;
	uint64_t space;	 /* 0: not of a process, but of a module's file; not written yet */
	uint64_t module; /* 0 if `space` is not */
	uint64_t address;
	struct reel_bytes bytes;
	/* When these places were last known to have their previous bytes, or none: between then and
	 * `time` they may have had either.  0: unknown. */
	uint64_t since;
};

/* From `time` on, the bytes of code at these addresses are unknown, until a later CODE. */
struct reel_record_code_end {
	uint64_t time;
	uint64_t space;
	uint64_t address;
	uint64_t size;
};

/* A function of an interpreter.  It may follow the samples that need it. */
struct reel_record_function {
	uint64_t id;
	uint64_t runtime;	/* enum reel_runtime_kind */
	uint64_t line;		/* of its definition; 0: unknown */
	struct reel_bytes name; /* text, as the language qualifies it */
	struct reel_bytes file; /* text, as the program knows it */
	/* The lines of positions: pairs of uv and sv, the distance of a position from the previous
	 * pair's (from 0), and of its line from the previous pair's (from `line`).  A line lasts up
	 * to the next pair. */
	struct reel_bytes lines;
};

#define REEL_FUNCTION_MAX	((1ull << 62) - 1) /* its id */
#define REEL_FUNCTION_TEXT_MAX	4096
#define REEL_FUNCTION_LINES_MAX 65536

/* A function that a JIT named. */
struct reel_record_jit_symbol {
	uint64_t time; /* since when it exists; 0: unknown */
	uint64_t space;
	uint64_t address;
	uint64_t size;		/* not 0 */
	uint64_t source;	/* enum reel_jit_source */
	struct reel_bytes name; /* text */
};

enum reel_jit_source {
	REEL_JIT_PERF_MAP = 1,
	REEL_JIT_JITDUMP = 2,
	REEL_JIT_ELF = 3, /* an ELF file in memory; an empty name: nothing is there any more */
};

/* Unwind information of code that a JIT made. */
struct reel_record_jit_unwind {
	uint64_t time;
	uint64_t space;
	uint64_t address; /* of the code */
	uint64_t size;
	uint64_t frame_address;	    /* the address of the first byte of `eh_frame` */
	struct reel_bytes eh_frame; /* in the format of a section of that name, or: */
	uint64_t section;	    /* enum reel_jit_section */
};

enum reel_jit_section {
	REEL_JIT_EH_FRAME = 0,
	REEL_JIT_DEBUG_FRAME = 1,
};

/* The source line for addresses from `address` to the function's next entry. */
struct reel_record_jit_line {
	uint64_t time;
	uint64_t space;
	uint64_t function; /* its address */
	uint64_t address;
	uint64_t line;		/* 0: none */
	struct reel_bytes file; /* text */
};

/* How the frames of resolved samples were found, and why their traces ended. */
struct reel_record_trace_steps {
	uint64_t id;   /* 1 to REEL_TRACE_STEPS_MAX */
	uint64_t stop; /* enum reel_stop */
	/* Pairs of uv: 2 * enum reel_step + (the address is exact), and the number of frames; only
	 * the last may be 0, meaning up to the chain's end. */
	struct reel_bytes steps;
};

#define REEL_TRACE_STEPS_MAX (1u << 20)

/* A capture that was merged into this one; fields as in its CAPTURE. */
struct reel_record_origin {
	uint64_t id;
	uint64_t first_sample;	/* id: its samples end before the next ORIGIN's first */
	struct reel_bytes file; /* id */
	uint64_t start_time, start_wall_time, clock;
	uint64_t cpus_online;
	uint64_t part;
	struct reel_bytes recording;
	struct reel_bytes hostname, kernel_release, kernel_version, kernel_build_id;
	struct reel_bytes tool_version, command_line;
};

/* A control group of processes. */
struct reel_record_cgroup {
	uint64_t id;
	struct reel_bytes path; /* text: from the root of its hierarchy */
	/* What the engine calls its container, and Kubernetes the pod; empty: unknown. */
	struct reel_bytes container_name, pod_name, namespace;
};

/* The space's process is in the cgroup from `time` on. */
struct reel_record_space_cgroup {
	uint64_t time;
	uint64_t space;
	uint64_t cgroup; /* 0: none or unknown */
};

/* Losses since the previous LOSS record of the same cause and CPU. Causes are enum reel_loss. */
struct reel_record_loss {
	uint64_t time;
	uint64_t cpu; /* 2^32-1: not of a single CPU */
	uint64_t cause;
	uint64_t count;
};

static inline enum reel_loss reel_loss_of(uint64_t cause)
{
	return cause < REEL_LOSS_COUNT ? (enum reel_loss)cause : REEL_LOSS_OTHER;
}

#define REEL_MARK_TEXT_MAX 256

/* A moment of the recording that somebody or something pointed out. */
struct reel_record_mark {
	uint64_t time;
	uint64_t kind; /* enum reel_mark; others are those of later versions */
	struct reel_bytes text;
};

enum reel_end_reason {
	REEL_END_COMMAND_EXITED = 0,
	REEL_END_SIGNAL = 1,
	REEL_END_DURATION = 2,
	REEL_END_TARGETS_EXITED = 3,
	REEL_END_ROTATED = 4, /* the recording continues in another file */
	REEL_END_ERROR = 5,
	REEL_END_CONVERTED = 6, /* written by a converter */
};

/* The recorder closed the file; the last record except for the index. */
struct reel_record_end {
	uint64_t time;
	uint64_t reason;
	uint64_t samples;
	uint64_t exit_status; /* of the command, as from wait(2) */
	/* In this file, with END and its block, but no keys and index; both 0: unknown. */
	uint64_t blocks, side_records;
};

/* Registers of the following samples in the same block. */
#define REEL_REGISTERS_MAX 256
#define REEL_LAYOUTS_MAX   256

struct reel_register_slot {
	uint16_t dwarf; /* the psABI's DWARF register number */
	uint8_t size;	/* bytes: 4 or 8 */
};

struct reel_record_sample_layout {
	uint64_t id;
	size_t n_slots;
	const struct reel_register_slot *slots;
};

enum reel_sample_flags {
	/* The live stack was larger than CAPTURE.max_stack. */
	REEL_SAMPLE_STACK_CUT = 1 << 0,
	/* Words that unwinding does not need are zero. */
	REEL_SAMPLE_SCRUBBED = 1 << 1,
	/* The end of the stack is unknown: the region ends where reading failed or at a guess. */
	REEL_SAMPLE_TOP_UNKNOWN = 1 << 2,
	/* The frame chain reached the walk's limit of addresses. */
	REEL_SAMPLE_FRAME_CHAIN_CUT = 1 << 3,
	/* The frame chain is the CPU's record of calls: call instructions follow pc. */
	REEL_SAMPLE_FRAME_CHAIN_CALLS = 1 << 4,
	/* The frame chain is the trace. */
	REEL_SAMPLE_RESOLVED = 1 << 5,
	/* enum reel_state */
	REEL_SAMPLE_STATE = 3 << 6,
	REEL_SAMPLE_FLAGS_KNOWN = 255,
};
#define REEL_SAMPLE_STATE_SHIFT 6

enum reel_region_kind {
	/* From sp minus the red zone up to the top of the stack. */
	REEL_REGION_STACK = 0,
	/* The interrupted stack, while a signal handler runs on an alternate stack. */
	REEL_REGION_INTERRUPTED_STACK = 1,
	/* Another stack with callers: the goroutine's while Go's scheduler runs on its own, or the
	 * scheduler's, with its C functions, while these call back into Go; OCaml's, or the
	 * thread's.  And a gobuf (sp, pc ...) where one of Go's stacks continues or, without one
	 * that waits, where the scheduler's stack begins. */
	REEL_REGION_OTHER_STACK = 2,
	REEL_REGION_GOROUTINE_STATE = 3,
};

#define REEL_REGIONS_MAX     16
#define REEL_REGION_SIZE_MAX (16u << 20)
#define REEL_MISSING_MAX     8192
#define REEL_CHAIN_MAX	     65536
/* Threads named by samples of one block: it bounds a decoder's memory for them. */
#define REEL_THREADS_MAX 65536

struct reel_range {
	uint64_t offset, size; /* bytes from the region's start */
};

struct reel_region {
	uint64_t kind;
	uint64_t address;
	/* In the target's byte order; missing bytes are zero here. */
	const uint8_t *bytes;
	size_t size;
	/* Ascending, not overlapping, not empty, within the region. */
	const struct reel_range *missing;
	size_t n_missing;
};

/* Keys of labels (SPEC.md, 6.6), ascending in a sample. */
enum reel_label_key {
	REEL_LABEL_LOCK = 1,
	REEL_LABEL_LOCK_OWNER = 2,
	REEL_LABEL_WAKER = 3,
	REEL_LABEL_WAKER_TID = 4,
	REEL_LABEL_WAKER_SAMPLE = 5,
	REEL_LABEL_ARG1 = 16, /* to arg6 */
	REEL_LABEL_ARG6 = 21,
	REEL_LABEL_TRACE = 24,
	REEL_LABEL_SPAN = 25,
	REEL_LABEL_SERVICE = 26,
	REEL_LABEL_ENVIRONMENT = 27,
	REEL_LABEL_VALUES = 64, /* to VALUES_LAST */
	REEL_LABEL_VALUES_LAST = 87,
};
#define REEL_LABEL_KEY_MAX  65535
#define REEL_LABELS_MAX	    32
#define REEL_LABEL_TEXT_MAX 1024

struct reel_sample_label {
	uint64_t key;  /* may be unknown */
	uint64_t kind; /* enum reel_label_kind */
	uint64_t number;
	struct reel_bytes text;
};

/* Registers at the entry of a traced kernel function. */
struct reel_kernel_frame {
	uint64_t pc; /* its first instruction */
	uint64_t sp;
	uint64_t fp; /* of the frame-pointer register: its caller's */
	uint64_t return_address;
};

/*
 * A frame of an interpreter, such as a Python function.  Its function is a record FUNCTION, and
 * `position` a place in it, which only that record's lines explain.
 */
struct reel_runtime_frame {
	uint64_t function; /* FUNCTION.id; there may be no such record, and 0 has none */
	uint64_t position;
	/* The outermost of the frames that one call of the interpreter's native function runs. */
	bool is_entry;
	/* With is_entry: an address in the stack frame of that native function; 0: unknown. */
	uint64_t native;
};

#define REEL_RUNTIME_FRAMES_MAX 512
#define REEL_RUNTIME_MAX	((1ull << 62) - 1) /* enum reel_runtime_kind; it may be unknown */
/* Different frames of a FRAMES, which bounds a decoder's memory; and the frames of all its samples,
 * which bounds its work. */
#define REEL_FRAME_NODES_MAX	      (1u << 20)
#define REEL_RUNTIME_FRAMES_TOTAL_MAX (1u << 25)

struct reel_sample {
	uint64_t id; /* ascending in the capture */
	uint64_t time;
	uint64_t thread; /* THREAD.id, 0 if unknown */
	uint64_t cpu;
	uint64_t event; /* EVENT.id */
	uint64_t weight;
	uint64_t where; /* enum reel_where */
	uint64_t flags; /* enum reel_sample_flags */
	uint64_t steps; /* TRACE_STEPS.id of a resolved sample; else 0 */
	uint64_t pc;	/* user pc; 0 with no registers */
	/* Registers; values[i] is known if bit i % 8 of known[i / 8] is set, else it is 0. */
	const struct reel_record_sample_layout *layout; /* NULL: no registers */
	const uint64_t *values;
	const uint8_t *known;
	const struct reel_region *regions;
	size_t n_regions;
	const uint64_t *kernel_chain; /* leaf first */
	size_t n_kernel_chain;
	const uint64_t *frame_chain; /* user addresses from the recorder's walk, leaf first */
	size_t n_frame_chain;
	bool has_kernel_frame; /* else it is 0 */
	struct reel_kernel_frame kernel_frame;
	const struct reel_sample_label *labels;
	size_t n_labels;
	uint64_t runtime;				 /* enum reel_runtime_kind, of the frames */
	const struct reel_runtime_frame *runtime_frames; /* leaf first */
	size_t n_runtime_frames;
	bool runtime_cut; /* the outermost frames are missing */
	/* Set by the decoder: the thread's number in the block, from 0, by appearance. */
	uint32_t thread_index;
};

struct reel_record_index_entry {
	uint64_t offset; /* of the block's header frame in the file */
	uint64_t type;
	uint64_t sequence;
	uint64_t stored_size, raw_size, expanded_size;
	uint64_t time_first, time_last;
	uint64_t records;
};

#define REEL_SHA256_SIZE 32

/* Of all bytes of the file before the index block. */
struct reel_record_digest {
	struct reel_bytes sha256;
};

/* How a file's key is sealed, and how its blocks are encrypted; 1 is retired. */
enum reel_key_algorithm {
	/* crypto_box_seal and crypto_secretstream_xchacha20poly1305 of libsodium. */
	REEL_KEY_X25519_XCHACHA20_POLY1305 = 2,
};

/* The key of an encrypted file, sealed to a public key. */
struct reel_record_key {
	uint64_t algorithm;
	struct reel_bytes key; /* of the public key: reel_public_key_id */
	struct reel_bytes sealed;
};

/* A decoded side record; strings are borrowed from the block. */
struct reel_record {
	enum reel_record_id id;
	bool has_more; /* decoded: fields of a newer version follow those below */
	union {
		struct reel_record_capture capture;
		struct reel_record_event event;
		struct reel_record_module module;
		struct reel_record_image image;
		struct reel_record_space space;
		struct reel_record_space_exit space_exit;
		struct reel_record_thread thread;
		struct reel_record_thread_comm thread_comm;
		struct reel_record_thread_exec thread_exec;
		struct reel_record_thread_exit thread_exit;
		struct reel_record_map map;
		struct reel_record_unmap unmap;
		struct reel_record_kernel_symbol kernel_symbol;
		struct reel_record_loss loss;
		struct reel_record_mark mark;
		struct reel_record_end end;
		struct reel_record_code code;
		struct reel_record_code_end code_end;
		struct reel_record_function function;
		struct reel_record_jit_symbol jit_symbol;
		struct reel_record_jit_unwind jit_unwind;
		struct reel_record_jit_line jit_line;
		struct reel_record_trace_steps trace_steps;
		struct reel_record_origin origin;
		struct reel_record_cgroup cgroup;
		struct reel_record_space_cgroup space_cgroup;
		struct reel_record_index_entry index_entry;
		struct reel_record_digest digest;
		struct reel_record_key key;
	};
};

#endif
