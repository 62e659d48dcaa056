/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstackreel: offline stack unwinding from stackreel captures.
 *
 * This header has everything a program needs to open a capture and walk its traces, the unwinder by
 * itself for data from other tools, and a writer of captures.  The library never prints and never
 * exits.
 *
 * Stability
 *   Programs built with this header run with every later version of libstackreel.so.1.  Functions,
 *   members and enum constants are only added, members at the end of structs.
 *   A struct that begins with `size` may grow.  In structs that the caller fills, REEL_SIZED sets
 *   it: members that an older caller does not have are taken as 0, and members that an older
 *   library does not know are ignored.  In structs that the library fills, `size` tells a newer
 *   caller whether an older library has a member (REEL_HAS).  Other structs never change.
 *   Enums may get constants: treat an unknown value as the `_name` functions do, as "unknown".
 *
 * Handles
 *   `_open` and `_create` return a handle; `_close` and `_destroy` free it and accept NULL.
 *   Destroy a reel_traces before you close its capture.
 *
 * Lifetimes
 *   `const T *` results are borrowed.  Everything reached from a capture lives until the capture is
 *   closed, including a trace's frames and comm; shorter lifetimes are stated where they apply.
 *   Arguments need not outlive the call.  Names of enum values and reel_version are constants.
 *
 * Threads
 *   There is no global state; threads may use different handles at the same time.  Any number of
 *   threads may use one capture at once, each with its own reel_traces; only reel_capture_close
 *   must not run concurrently with other calls.  A reel_traces, a reel_unwinder, a reel_recorder
 *   and an error may be used by one thread at a time; unwinders that share files count as one.  The
 *   library's own threads block all signals.
 *
 * Errors
 *   A function that can fail returns `struct reel_error *`.  NULL means success.  Otherwise the
 *   caller owns the error (reel_error_destroy) and must not use any output.  Every such function
 *   may return NO_MEMORY; those that open, read or write files may return OS and PERMISSION.
 *   "Errors: ..." lists the other codes of a function ("no others" if there are none).
 *
 * Files may be hostile: the resources that a file can use are bounded by its size, and exceeding
 * the bound is an error (stackreel(1), LIMITS).  To limit memory, set RLIMIT_DATA: an allocation
 * failure, also in the libraries used, makes the call return NO_MEMORY.
 *
 * Times are nanoseconds of the capture's clock (CLOCK_MONOTONIC of the recording host).  Sizes are
 * in bytes.  Addresses are those of the target.
 */
#ifndef STACKREEL_H
#define STACKREEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REEL_VERSION_MAJOR  1
#define REEL_VERSION_MINOR  0
#define REEL_VERSION_PATCH  0
#define REEL_VERSION_STRING "1.0.0"

/* The version of the library in use, such as "1.0.0". */
const char *reel_version(void);

/*
 * Declares a variable of `struct type` with its size and the given members; the others are 0:
 *
 *	REEL_SIZED(reel_capture_options, options, .no_inlines = true, .threads = 1);
 *	const REEL_SIZED(reel_filter, filter, .pids = &pid, .n_pids = 1);
 *	REEL_SIZED(reel_module_info, module);
 */
#define REEL_SIZED(type, name, ...) struct type name = { .size = sizeof(struct type), __VA_ARGS__ }

/* Whether a struct that the library filled has a member: older libraries lack newer members. */
#define REEL_HAS(pointer, member)                                                                  \
	((pointer)->size >=                                                                        \
	 (size_t)((const char *)(&(pointer)->member + 1) - (const char *)(pointer)))

/* ---- errors ---------------------------------------------------------- */

enum reel_error_code {
	REEL_ERROR_NO_MEMORY = 1,
	/* A system call failed; the message holds its errno's text. */
	REEL_ERROR_OS = 2,
	/* The file is not a capture (or not an ELF file or a perf.data, if one is expected). */
	REEL_ERROR_NOT_A_CAPTURE = 3,
	/* Well-formed, but with a version, codec or CPU that this library does not know. */
	REEL_ERROR_UNSUPPORTED = 4,
	/* Damaged: the message names block and offset. */
	REEL_ERROR_CORRUPT = 5,
	/* The end of the file is missing. */
	REEL_ERROR_TRUNCATED = 6,
	/* The caller's arguments are unusable. */
	REEL_ERROR_INVALID = 7,
	/* No object of the given name exists. */
	REEL_ERROR_NOT_FOUND = 8,
	/* Found, but with a different build-id or checksum. */
	REEL_ERROR_MISMATCH = 9,
	/* The kernel does not allow it (privileges, lockdown, paranoia settings). */
	REEL_ERROR_PERMISSION = 10,
	/* Encrypted, and none of the given keys opens it. */
	REEL_ERROR_KEY = 11,
};

struct reel_error;

/* Not NULL, except for reel_error_destroy.  The message lives as long as the error. */
enum reel_error_code reel_error_code(const struct reel_error *error);
/* One line without a newline: what failed, where, and what to do. */
const char *reel_error_message(const struct reel_error *error);
void reel_error_destroy(struct reel_error *error);

/* ---- captures -------------------------------------------------------- */

struct reel_capture;

/* The functions that interpreters ran (CPython, Ruby), if they were recorded. */
enum reel_runtimes_shown {
	/* They take the place of the interpreter's evaluation function (_PyEval_EvalFrameDefault,
	 * rb_vm_exec) and of the functions that only lead there (such as
	 * _PyFunction_Vectorcall), between the native frames that called it and those that it
	 * called. */
	REEL_RUNTIMES_INTERLEAVED = 0,
	/* They replace all native user frames of the trace. */
	REEL_RUNTIMES_ONLY = 1,
	/* They are left out. */
	REEL_RUNTIMES_NATIVE = 2,
};

struct reel_capture_options {
	size_t size;
	/* Directories with a copy of the target's file system (like perf's --symfs);
	 * NULL-terminated, or NULL. */
	const char *const *symfs;
	/* Directories with debug files, including the kernel's; NULL-terminated.  NULL means
	 * /usr/lib/debug. */
	const char *const *debug_dirs;
	/* Files to use for the modules with the same build-id; NULL-terminated. */
	const char *const *module_files;
	/* Do not open files of this host by their recorded path, or through /proc/PID/root of
	 * recorded processes that are still alive. */
	bool no_host_files;
	/* Omit inlined functions and source lines. */
	bool no_inlines;
	/* Do not demangle names. */
	bool no_demangle;
	/* Never fall back to frame pointers if a pc has no CFI. */
	bool no_frame_pointers;
	/* Largest number of frames in a trace; 0 means 16384. */
	uint32_t max_frames;
	/*
	 * Number of unwinding threads in addition to the one that calls reel_traces_next; 0: one
	 * for each CPU available to this process; 1: none, that call does all the work.  The result
	 * is the same for any number.  The threads live from the first reel_traces_next to
	 * reel_traces_destroy.
	 */
	uint32_t threads;
	/* Files with secret keys for an encrypted capture; NULL-terminated, or NULL.  If there are
	 * any, reel_capture_open refuses unencrypted captures (INVALID), since an attacker could
	 * have replaced the encrypted one. */
	const char *const *identities;
	/* A cache directory of elfutils' debuginfod client (BUILD-ID/executable,
	 * BUILD-ID/debuginfo), searched last; nothing is fetched.  NULL: none. */
	const char *debuginfod_cache;
	/* How traces show interpreted code. */
	enum reel_runtimes_shown runtimes;
};

/*
 * Opens a capture.  "-" reads standard input (spooled to an unlinked temporary file).  A truncated
 * or partly damaged file opens with its readable parts; reel_capture_problems lists the rest.
 * `options` may be NULL.
 *
 * Errors: NOT_A_CAPTURE; UNSUPPORTED (a newer format or an unknown kind of encryption); TRUNCATED
 * and CORRUPT (the file header, or the keys of an encrypted file); KEY; INVALID (an invalid key
 * file, or `identities` for a capture that is not encrypted).
 */
struct reel_error *reel_capture_open(const char *path, const struct reel_capture_options *options,
				     struct reel_capture **ret);
void reel_capture_close(struct reel_capture *capture);

/* Does not change while the capture is open. */
struct reel_capture_info {
	size_t size;
	const char *path;
	/* Version of the file format (SPEC.md). */
	uint16_t format_major, format_minor;
	uint8_t file_id[16];
	const char *tool_version;
	const char *hostname;
	const char *kernel_release;
	/* Hexadecimal, "" if unknown. */
	const char *kernel_build_id;
	/* "x86_64", "aarch64", …; "unknown" for an unsupported ELF machine. */
	const char *arch;
	bool big_endian;
	uint32_t page_size;
	uint32_t cpus;
	/* The recorder's command line, quoted for a shell; "" if it was not recorded. */
	const char *command_line;
	/* Start of the recording: capture clock and Unix time, ns. */
	uint64_t start_time, start_wall_time;
	/* Times of the first and last sample. */
	uint64_t first_sample_time, last_sample_time;
	uint64_t max_stack;
	uint64_t samples;
	uint64_t file_size;
	uint64_t blocks;
	/* Bytes of the blocks as stored, and after decompression. */
	uint64_t stored_bytes, raw_bytes;
	/* Bytes of all stack regions, fully expanded. */
	uint64_t stack_bytes;
	/* All samples are scrubbed: stacks and registers hold addresses only. */
	bool scrubbed;
	/* The recorder finished the file itself. */
	bool complete;
	/* The file is or was encrypted: a problem may be the work of an attacker. */
	bool encrypted;
	/* Number of records from JITs: named functions, their lines, and functions with unwind
	 * information. */
	uint64_t jit_symbols, jit_lines, jit_unwinds;
	/* The file is truncated, or the recorder did not finish it: an unknown number of samples is
	 * missing after last_sample_time. */
	bool truncated;
};

const struct reel_capture_info *reel_capture_info(const struct reel_capture *capture);

/* A reason why a capture is incomplete, or a damaged part.  Lives as long as the capture. */
struct reel_capture_problem {
	/* CORRUPT, TRUNCATED, UNSUPPORTED, INVALID, KEY, or OS if reading failed. */
	enum reel_error_code code;
	/* One line without a newline. */
	const char *message;
};
/*
 * The problems found so far; iterating traces and other calls that read the file may find more.
 * The array does not move, existing entries do not change, and new ones are appended.  Their number
 * is limited; the last one then states that further problems are not listed.
 */
const struct reel_capture_problem *reel_capture_problems(struct reel_capture *capture,
							 size_t *count_ret);

/* Data lost by the recorder, summed over the whole capture. */
enum reel_loss {
	/* A cause that only a newer version knows. */
	REEL_LOSS_OTHER = 0,
	/* The BPF ring buffer was full: a sample was dropped. */
	REEL_LOSS_RING_FULL = 1,
	/* The ring buffer's lock was held (NMI context): a sample was dropped. */
	REEL_LOSS_RING_BUSY = 2,
	/* Stack bytes could not be read (pages not resident); the sample is kept. */
	REEL_LOSS_COPY_FAILED = 3,
	/* The live stack was larger than --max-stack; the sample is kept. */
	REEL_LOSS_STACK_CUT = 4,
	/* Records of processes or mappings were dropped, or a child could not be followed. */
	REEL_LOSS_PROCESS_EVENTS = 5,
	/* The recorder could not keep up or write: a sample was dropped. */
	REEL_LOSS_RECORDER = 6,
	/* The kernel throttled the event. */
	REEL_LOSS_THROTTLED = 7,
	/* Hits of a function or probe while the BPF program of an earlier hit was running, or
	 * above --max-rate. */
	REEL_LOSS_MISSED = 8,
	/* A CPU came online during the recording and is not recorded. */
	REEL_LOSS_CPU_NOT_WATCHED = 9,
	/* Mappings and names of processes that the recorder skipped: a process had too many, or
	 * too many at once. */
	REEL_LOSS_LEFT_OUT = 10,
	/* Pages of JIT code that the recorder skipped: too many, or unreadable. */
	REEL_LOSS_CODE = 11,
	/* Names of JIT functions that the recorder skipped: too many, or unreadable. */
	REEL_LOSS_JIT = 12,
	/* Programs and libraries hit by samples that the recorder did not embed: unreadable, or
	 * too large. */
	REEL_LOSS_IMAGES = 13,
	/* ns of waits that no sample has, as far as it is known: the event off-cpu lacks them. */
	REEL_LOSS_WAITING = 14,
};

const char *reel_loss_name(enum reel_loss loss);

struct reel_loss_info {
	uint32_t cpu; /* UINT32_MAX: not specific to a CPU */
	enum reel_loss cause;
	uint64_t count;
};
/* All non-zero counts by (cpu, cause); constant. */
const struct reel_loss_info *reel_capture_losses(const struct reel_capture *capture,
						 size_t *count_ret);

struct reel_event_info {
	size_t size;
	uint32_t id;
	const char *name;
	/* "ns" or "" (a count). */
	const char *weight_unit;
	/* Hz if not 0; otherwise `period`. */
	uint64_t frequency, period;
	/* Of an event that is every wait (--off-cpu=all), where in the kernel waits were found:
	 * "sched_exit_tp" or "finish_task_switch".  Of waits found by looking, with a frequency,
	 * "process_vm_readv" if that system call read their stacks, as on kernels before 5.18.
	 * NULL: unknown, or another event. */
	const char *waits_found_at;
};
/* The event with this id (reel_trace.event), NULL if it does not exist.  Constant. */
const struct reel_event_info *reel_capture_event(const struct reel_capture *capture, uint32_t id);

enum reel_module_kind {
	REEL_MODULE_FILE = 1,
	REEL_MODULE_VDSO = 2,
	REEL_MODULE_KERNEL = 3,
	REEL_MODULE_KERNEL_MODULE = 4,
	/* Executable memory without a file (JIT code, huge-page copies). */
	REEL_MODULE_ANONYMOUS = 5,
	/* Other special mappings of the kernel ([vsyscall], [uprobes]). */
	REEL_MODULE_SPECIAL = 6,
};

enum reel_module_state {
	/* No trace has needed it yet. */
	REEL_MODULE_UNUSED = 0,
	REEL_MODULE_FOUND = 1,
	/* No file with that identity. */
	REEL_MODULE_MISSING = 2,
	/* The file has a different build-id. */
	REEL_MODULE_MISMATCH = 3,
	/* The file exists but is not readable as ELF. */
	REEL_MODULE_BROKEN = 4,
};

/* A module named by a mapping; iterating traces fills in `state`. */
struct reel_module_info {
	size_t size; /* set by the caller */
	uint64_t id;
	enum reel_module_kind kind;
	enum reel_module_state state;
	/* As recorded on the target. */
	const char *path;
	/* Hexadecimal, "" if none. */
	const char *build_id;
	/* The file in use on this host, "" if none. */
	const char *local_path;
	/* The file with its debug information, "" if none. */
	const char *debug_path;
	/* Why `state` is not FOUND, or why its debug information is unusable; "" otherwise. */
	const char *problem;
	/* Number of frames in it so far. */
	uint64_t frames;
	/* The file in use cannot be verified, because the capture has no build-id or digest for
	 * it: the user named it, or it has the same inode. */
	bool unchecked;
	/* The image in the capture is in use instead of a file (stackreel pack); `state` is
	 * FOUND. */
	bool embedded;
	/* A file in use has DWARF: functions, inlined calls and lines. */
	bool has_debug_info;
	/* No file is in use, but the capture has names of its functions (kernel and its modules) or
	 * its code (mappings without a file, such as a JIT's). */
	bool recorded;
};
/*
 * The module with this id (reel_frame.module_id) in its present state; ret->id is 0 if it does not
 * exist.  Its strings live as long as the capture.  Errors: no others.
 */
struct reel_error *reel_capture_module(struct reel_capture *capture, uint64_t id,
				       struct reel_module_info *ret);

/* ---- traces ---------------------------------------------------------- */

/* Why a trace ended.  Only REEL_STOP_ROOT is a complete trace. */
enum reel_stop {
	/* The CFI marks the outermost frame, or this is the thread's entry. */
	REEL_STOP_ROOT = 0,
	/* The bytes needed were not recorded. */
	REEL_STOP_STACK_END = 1,
	/* The same, and the recorder had cut the stack at its limit. */
	REEL_STOP_STACK_CUT = 2,
	/* The module is known but has no CFI for this pc (and no usable frame pointer). */
	REEL_STOP_NO_UNWIND_INFO = 3,
	/* The CFI for this pc cannot be interpreted. */
	REEL_STOP_BAD_UNWIND_INFO = 4,
	/* The caller's (pc, sp) would not be past the callee's. */
	REEL_STOP_NO_PROGRESS = 5,
	/* The trace has max_frames frames. */
	REEL_STOP_DEPTH_LIMIT = 6,
	/* The file of the module at this pc was not found. */
	REEL_STOP_MODULE_MISSING = 7,
	/* No executable mapping at this pc. */
	REEL_STOP_NO_MAPPING = 8,
	/* The rule needs a register whose value is unknown. */
	REEL_STOP_REGISTER_UNKNOWN = 9,
	/* No user stack: a kernel thread, an exiting task, or no registers. */
	REEL_STOP_NO_USER_STATE = 10,
	/* A call chain from another recorder ends here, and the CFI does not mark the root. */
	REEL_STOP_RECORDED_END = 11,
	/* The process runs on a CPU that this library cannot unwind (32-bit Arm). */
	REEL_STOP_UNKNOWN_CPU = 12,
	/* The CFI computes with a number that scrubbing removed. */
	REEL_STOP_SCRUBBED = 13,
	/* The root was reached, but a step on the way is an unproven guess. */
	REEL_STOP_GUESSED_ROOT = 14,
	/* The function switched stacks, and the caller's stack was not recorded (Go's
	 * runtime.systemstack, mcall, morestack). */
	REEL_STOP_OTHER_STACK = 15,
};

/* A short English phrase, such as "root reached". */
const char *reel_stop_name(enum reel_stop stop);

/* How a frame's address was found. */
enum reel_step {
	/* Frame 0: the sample's own pc. */
	REEL_STEP_SAMPLE = 0,
	REEL_STEP_CFI = 1,
	/* A signal frame's saved registers. */
	REEL_STEP_SIGNAL = 2,
	/* The frame pointer, without CFI: checked, but a guess. */
	REEL_STEP_FRAME_POINTER = 3,
	/* A call was undone: to an address without a mapping, at a PLT stub without CFI, or at the
	 * return of a function whose CFI does not cover its epilogue. */
	REEL_STEP_UNDO_CALL = 4,
	/* From the kernel's own walk of its stack. */
	REEL_STEP_KERNEL = 5,
	/* The link register, without CFI (frame 0 only). */
	REEL_STEP_LINK_REGISTER = 6,
	/* From another recorder's walk by frame pointers: unchecked. */
	REEL_STEP_RECORDED = 7,
	/* Without CFI, from what the code does up to its return or since its entry.  The address
	 * found follows a call that can have led here. */
	REEL_STEP_SYNTHESIZED = 8,
	/* A call that had not returned yet, as another recorder read it from the CPU (perf record
	 * --call-graph lbr).  It has the address of the call instruction.  The CPU keeps the
	 * newest 8 to 32 calls; they are unchecked. */
	REEL_STEP_RECORDED_CALL = 9,
	/* Not a frame but a gap: stack bytes, and any number of frames, were not kept here.  The
	 * address is 0, and the frame's function names the gap. */
	REEL_STEP_GAP = 10,
	/* The frame after such a gap: in the kept far end of the stack, the innermost return
	 * address from which possible calls lead to the root.  It is only likely: the trace ends
	 * with REEL_STOP_STACK_CUT. */
	REEL_STEP_BEYOND_GAP = 11,
	/* The function had switched stacks: the address after a call that can have led here, where
	 * the program itself notes that the other stack continues (Go's goroutines and the C
	 * functions that they call). */
	REEL_STEP_OTHER_STACK = 12,
	/* A function that an interpreter ran, as the recorder found it in the interpreter's memory.
	 * The address is 0. */
	REEL_STEP_RUNTIME = 13,
};

/* The interpreter that runs a function. */
enum reel_runtime_kind {
	REEL_RUNTIME_NONE = 0,	 /* a native function */
	REEL_RUNTIME_PYTHON = 1, /* CPython */
	REEL_RUNTIME_RUBY = 2,	 /* Ruby (CRuby) */
};

/*
 * One function at one address.  Interned: the same (module, address, inline depth) has the same
 * pointer for the life of the capture.
 */
struct reel_frame {
	size_t size;
	/* Never NULL; "" if unknown. */
	const char *function;
	/* A key to count by: the same number for all addresses of a function, from 0 without holes
	 * (numbers depend on the threads' timing and may differ between runs).  Functions are
	 * different if name, module or `inlined` differs.  An unknown function is identified by its
	 * unwind entry (is_fde below) or program (jit_program), otherwise by its address. */
	uint32_t function_id;
	/* The function is inlined into the frame that follows. */
	bool inlined;
	bool kernel;
	/* The address belongs to the next instruction or to the call; otherwise it follows a call,
	 * and the preceding byte was looked up. */
	bool exact;
	/* Source file as in the debug information ("" if unknown) and line (0 if unknown). */
	const char *file;
	uint32_t line, column;
	/* Bytes from the start of the symbol or unwind entry with the address. */
	uint64_t function_offset;
	/* Address in the module's ELF address space.  For the kernel and its modules, in the
	 * file with their debug information; without one, the address itself. */
	uint64_t module_address;
	/* As recorded on the target; "" if none, "[kernel]" for the kernel. */
	const char *module_path;
	/* 0 if none: see reel_capture_module. */
	uint64_t module_id;
	/*
	 * The function has no name (`function` is ""), but its unwind entry (FDE) is known, and
	 * begins at module_address - function_offset.  The commands show the function as
	 * "libfoo.so+0x1f30 [fde]": the module's file name and that address.
	 */
	bool is_fde;
	/* The mangled name, if `function` is its demangled form; "" if they are the same. */
	const char *linkage_name;
	/* The file name of the program whose JIT made this code, if the function has no name and
	 * the code is in anonymous memory; "" otherwise.  All such code of a program has one
	 * function_id. */
	const char *jit_program;
	/*
	 * Not NONE: a function of the program that the interpreter runs, such as a Python function.
	 * `function` is its qualified name, `file` and `line` are as the program has them,
	 * `function_line` is the line of its definition (0 if unknown), and module_path is
	 * "[python]" or "[ruby]".  The same function of several processes has one function_id.
	 */
	enum reel_runtime_kind runtime;
	uint32_t function_line;
};

enum reel_where {
	REEL_WHERE_UNKNOWN = 0,
	/* In user code: pc is exact. */
	REEL_WHERE_USER = 1,
	/* In the kernel after a system call: pc is after the instruction. */
	REEL_WHERE_SYSCALL = 2,
	/* In the kernel after an interrupt or a fault: pc is exact. */
	REEL_WHERE_INTERRUPT = 3,
	/* In a kernel thread. */
	REEL_WHERE_KERNEL_THREAD = 4,
};

/* Whether the thread was on a CPU.  A sample of a thread that was not covers the time from
 * `time` - `weight` to `time` (event off-cpu). */
enum reel_state {
	/* On a CPU; or unknown: a capture made by another program. */
	REEL_STATE_RUNNING = 0,
	/* Asleep or stopped. */
	REEL_STATE_BLOCKED = 1,
	/* It lost its CPU while it could run. */
	REEL_STATE_PREEMPTED = 2,
	/* It could run, but has not got a CPU since it was blocked. */
	REEL_STATE_WOKEN = 3,
};

/* "running", "blocked", "preempted" or "woken". */
const char *reel_state_name(enum reel_state state);

enum reel_label_kind {
	REEL_LABEL_TEXT = 0,
	REEL_LABEL_UNSIGNED = 1,
	REEL_LABEL_SIGNED = 2, /* of 64 bits, in two's complement */
	REEL_LABEL_ADDRESS = 3,
};

/*
 * Something else that is known of a sample, or of its thread at that time, such as the lock that it
 * waits for.  Keys are lower-case words, listed in SPEC.md (LABELS), or a tracepoint's fields, such as
 * prev_comm, or arg-pid if other data of samples has the field's name.  A trace has each at most
 * once.
 */
struct reel_label {
	const char *key; /* lives as long as the capture */
	enum reel_label_kind kind;
	uint64_t number;   /* 0 for TEXT */
	const char *text;  /* the value as text, numbers included; lives as long as the trace */
	const char *alias; /* another key for the same: arg1 of a field; or NULL */
};

struct reel_trace {
	size_t size;
	/* The sample's number in the capture. */
	uint64_t id;
	uint64_t time;
	uint64_t weight;
	uint32_t event; /* reel_event_info.id */
	uint32_t cpu;
	/* In the recorder's PID namespace. */
	uint32_t pid, tid;
	/* In the process's own (innermost) PID namespace; 0 if unknown. */
	uint32_t namespace_pid, namespace_tid;
	/* Distinguishes successive threads with the same tid. */
	uint64_t thread;
	/* HOST:COMM in a capture of several hosts. */
	const char *comm;
	/* Never NULL; "" if unknown. */
	const char *host;
	/* Identifies the host, from 1; 0 if unknown or if all samples are of one host. */
	uint32_t host_id;
	enum reel_where where;
	enum reel_state state;
	/* Leaf first: kernel frames, then user frames, inlined ones included. */
	const struct reel_frame *const *frames;
	/* The runtime address of each frame (unadjusted return addresses) and how it was found. */
	const uint64_t *addresses;
	const uint8_t *steps; /* enum reel_step */
	size_t n_frames;
	/* Number of kernel frames at the front. */
	size_t n_kernel_frames;
	enum reel_stop stop;
	/* The recorder cut the stack at --max-stack. */
	bool stack_cut;
	/*
	 * The result of a walk by frame pointers on the target, in addition to the stack from which
	 * `frames` were unwound: user addresses, leaf first, starting with pc.  n_frame_chain is 0
	 * without a walk, or if `frames` were made from the walk, without a stack.
	 */
	const uint64_t *frame_chain;
	size_t n_frame_chain;
	/* That walk ended at its limit of addresses. */
	bool frame_chain_cut;
	const struct reel_label *labels; /* in the order of SPEC.md's list */
	size_t n_labels;
	/*
	 * If the filter asks for stacks, and the trace was unwound from a recorded stack; otherwise
	 * NULL.  The stack pointer in each frame: inlined functions have that of the function they
	 * are inlined into, and a caller has the value that it gets back when its callee returns.
	 * 0: unknown, as in the kernel and for interpreted functions.
	 */
	const uint64_t *stack_pointers;
	/* Bytes from the sample's stack pointer to the top of the thread's stack, the deepest one if
	 * there are several (sigaltstack, goroutines); 0 if unknown. */
	uint64_t stack_size;
	/* The top of the stack is unknown: stack_size is a lower bound. */
	bool stack_size_is_minimum;
	/* As comm, of the process's main thread; NULL if unknown. */
	const char *process_comm;
	/* Reserved: used by the commands of stackreel. */
	const struct reel_frame_value *values;
	size_t n_values;
};

enum reel_match_kind {
	REEL_MATCH_VALUE = 0,  /* the label is this value; numbers may be decimal or 0x... */
	REEL_MATCH_PREFIX = 1, /* its text begins with this */
	REEL_MATCH_BELOW = 2,  /* it is this path or one below it, such as a cgroup */
	/* It is this id, or begins with these 8 or more digits of one; or the label KEY-name is
	 * this: of a container or pod. */
	REEL_MATCH_ID = 3,
};

/* Selects samples by a label. */
struct reel_label_match {
	const char *key;
	const char *value; /* "": samples without the label */
	enum reel_match_kind kind;
};

/* The trace's label, NULL if it has none with the key. */
const struct reel_label *reel_trace_label(const struct reel_trace *trace, const char *key);
/* Samples to iterate; zero means any. */
struct reel_filter {
	size_t size;
	const uint32_t *pids;
	size_t n_pids;
	const uint32_t *tids;
	size_t n_tids;
	const char *const *comms; /* COMM matches all hosts, HOST:COMM one; * and ? in them match */
	size_t n_comms;
	const uint32_t *cpus;
	size_t n_cpus;
	/* As reel_trace.time, both inclusive; to == 0 means no end. */
	uint64_t from, to;
	/* Of several matches with one key, a sample must pass one. */
	const struct reel_label_match *labels;
	size_t n_labels;
	/* Traces have stack_pointers. */
	bool stacks;
};

struct reel_traces;

/* `filter` may be NULL.  Several iterators, on one thread or many, are independent.
 * Errors: no others. */
struct reel_error *reel_traces_create(struct reel_capture *capture,
				      const struct reel_filter *filter, struct reel_traces **ret);
void reel_traces_destroy(struct reel_traces *traces);
/*
 * The next trace in the file's order, NULL after the last one.  The trace and its arrays live until
 * the next call for the same iterator, or until the iterator is destroyed.  A damaged block is
 * skipped and added to reel_capture_problems.  An error ends the iteration.
 *
 * Errors: CORRUPT (a module's unwind tables or debug information are not reliable: they need many
 * times the work or memory usual for their size); UNSUPPORTED (an ELF file has more than 2^31
 * symbols or 2^32 address ranges).
 */
struct reel_error *reel_traces_next(struct reel_traces *traces, const struct reel_trace **ret);

/* ---- the standalone unwinder --------------------------------------------- */

struct reel_unwinder;

/*
 * Registers have their CPU's DWARF numbers:
 *
 *           registers               pc  sp  fp  return address before it is saved
 *   x86_64  0-16: rax rdx rcx rbx   16   7   6  -
 *           rsi rdi rbp rsp r8-r15 rip
 *   i386    0-8: eax ecx edx ebx     8   4   5  -
 *           esp ebp esi edi eip
 *   aarch64 0-30: x0-x30, sp, pc    32  31  29  30
 *   riscv64 0-31: x0-x31; 64: pc    64   2   8  1
 *   s390x   0-15: r0-r15; 16-31:    65  15  11  14
 *           f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15; 64, 65: PSW mask and address
 *
 * x86_64: System V psABI, AMD64 supplement 1.0, figure 3.36.  i386: System V psABI, Intel386
 * supplement 1.1, table 2.14.  aarch64: DWARF for the Arm 64-bit Architecture, 4.1.  riscv64:
 * RISC-V DWARF specification, "DWARF register numbers"; 64 is its alternate frame return column.
 * s390x: ELF Application Binary Interface s390x Supplement 1.6, "DWARF register number mapping".
 */
struct reel_register {
	uint16_t dwarf;
	uint64_t value;
};

struct reel_memory {
	uint64_t address;
	size_t size;
	/* In the target's byte order. */
	const uint8_t *bytes;
};

/* `arch` is named as in reel_capture_info.arch.  Errors: UNSUPPORTED (unknown CPU). */
struct reel_error *reel_unwinder_create(const char *arch, struct reel_unwinder **ret);
/*
 * Creates an unwinder for another process of the same CPU.  It has no mappings yet, and shares the
 * open files of `other` and all that is known of their code: a file that several processes map is
 * opened and parsed once, and an unwinder takes a few KiB instead of several MiB.  Results are the
 * same as without sharing.
 *
 * Any number of unwinders may share, and each may be destroyed at any time; the files stay open
 * until the last one is destroyed.  Only one thread at a time may use unwinders that share; threads
 * that unwind at the same time need unwinders from different calls of reel_unwinder_create.
 *
 * Errors: no others.
 */
struct reel_error *reel_unwinder_create_sharing(struct reel_unwinder *other,
						struct reel_unwinder **ret);
void reel_unwinder_destroy(struct reel_unwinder *unwinder);
/*
 * Maps bytes [offset, offset + size) of the ELF file at `path` to `address`, replacing earlier
 * mappings of those addresses.  A file is opened once, and stays open.  If it was replaced or
 * overwritten since, later calls open the new one; earlier mappings keep the file that they have.
 *
 * Errors: NOT_A_CAPTURE (not an ELF file); UNSUPPORTED (unknown ELF version); TRUNCATED, CORRUPT;
 * MISMATCH (a different CPU); INVALID (the mapping is empty or ends past the last address).
 */
struct reel_error *reel_unwinder_map(struct reel_unwinder *unwinder, uint64_t address,
				     uint64_t size, uint64_t offset, const char *path);
enum reel_stack_flags {
	/* The thread is in a system call or has just returned from one.  If pc does follow a system
	 * call instruction, the byte before pc is looked up.  This matters if unwind information
	 * ends with the instruction (glibc's clone3). */
	REEL_STACK_AFTER_SYSCALL = 1 << 0,
};

/* The state of a thread. */
struct reel_stack {
	size_t size;
	/* Of the innermost frame; pc must be among them. */
	const struct reel_register *registers;
	size_t n_registers;
	/* The only memory read, except mapped files.  Where two overlap, the first is used. */
	const struct reel_memory *memory;
	size_t n_memory;
	/* Largest number of frames; 0 means 16384. */
	uint32_t max_frames;
	uint32_t flags; /* enum reel_stack_flags */
	/* Bits of a return address that are not part of the address (aarch64's pointer
	 * authentication: PTRACE_GETREGSET of NT_ARM_PAC_MASK). */
	uint64_t pointer_mask;
};

/* Of each frame, leaf first: as in struct reel_trace, without inlined functions. */
struct reel_unwound {
	size_t size;
	const uint64_t *addresses;
	const uint64_t *stack_pointers; /* 0: unknown */
	const uint8_t *steps;		/* enum reel_step */
	size_t n_frames;		/* at least one */
	enum reel_stop stop;
};

/*
 * Unwinds one stack.  The result lives until the next call for the same unwinder.
 *
 * Errors: INVALID (pc is not among the registers); CORRUPT (a file's unwind tables are not
 * reliable: they need many times the work usual for their size).
 */
struct reel_error *reel_unwind(struct reel_unwinder *unwinder, const struct reel_stack *stack,
			       const struct reel_unwound **ret);

/* ---- writing captures -------------------------------------------------------- */

/*
 * Writes a capture of samples that the caller took: a debugger, a crash handler or an emulator.
 * Used by one thread at a time.
 */
struct reel_recorder;

struct reel_recorder_options {
	size_t size;
	/* The name of the event in reports; NULL: "samples". */
	const char *event;
	/* Weights are nanoseconds; otherwise counts. */
	bool weights_are_ns;
	/* The CPU's byte order. */
	bool big_endian;
	/* As reel_stack.pointer_mask, of all processes. */
	uint64_t pointer_mask;
	/* As in reel_capture_info; 0 or NULL: unknown.  `tool` is the caller's name and version. */
	uint64_t start_time, start_wall_time;
	uint32_t page_size; /* 0: 4096 */
	const char *hostname, *tool;
};

/* `arch` is named as in reel_capture_info.arch.  The file `path` ("-": standard output) appears, or
 * replaces an existing file, when it is finished.  `options` may be NULL.
 * Errors: UNSUPPORTED (unknown CPU). */
struct reel_error *reel_recorder_create(const char *path, const char *arch,
					const struct reel_recorder_options *options,
					struct reel_recorder **ret);
/* Frees it; without reel_recorder_finish, discards the file. */
void reel_recorder_destroy(struct reel_recorder *recorder);
/*
 * From `time` on, process `pid` has the bytes [offset, offset + size) of the file at `path` at
 * `address`, instead of earlier mappings of those addresses.  The path is absolute, as in
 * /proc/PID/maps.  If the file can be read, the capture gets its build-id.
 *
 * Errors: INVALID (the mapping is empty or ends past the last address).
 */
struct reel_error *reel_recorder_map(struct reel_recorder *recorder, uint32_t pid, uint64_t time,
				     uint64_t address, uint64_t size, uint64_t offset,
				     const char *path);

struct reel_snapshot {
	size_t size;
	uint64_t time;
	uint64_t weight; /* 0: 1 */
	uint32_t pid, tid, cpu;
	/* The thread's name, of which its first sample's counts; NULL: unknown. */
	const char *comm;
	/* Its registers and memory are stored as they are (`stackreel scrub' removes data): at most
	 * 16 pieces of memory, of 16 MiB each.  max_frames and pointer_mask are ignored. */
	const struct reel_stack *stack;
};

/*
 * Adds a sample.  The mappings that it needs are added before.  One pid is one process, and one tid
 * one thread, in all of the capture.
 *
 * Errors: INVALID (pc is not among the registers, or unusable memory).
 */
struct reel_error *reel_recorder_add(struct reel_recorder *recorder,
				     const struct reel_snapshot *snapshot);
/* Completes the file.  Only reel_recorder_destroy may follow.  Errors: no others. */
struct reel_error *reel_recorder_finish(struct reel_recorder *recorder);

#ifdef __cplusplus
}
#endif
#endif
