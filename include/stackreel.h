/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstackreel: offline stack unwinding from stackreel captures.
 *
 * This header has everything a program needs to open a capture and walk its traces, and the
 * unwinder by itself for data from other tools.  The library never prints and never exits.
 *
 * Handles
 *   `_open` and `_create` return a handle; `_close` and `_destroy` free it and accept NULL.
 *   Destroy a reel_traces before you close its capture.
 *
 * Lifetimes
 *   `const T *` results are borrowed.  Everything reached from a capture lives until the capture is
 *   closed, including a trace's frames and comm; shorter lifetimes are stated where they apply.
 *   Arguments need not outlive the call, except the contexts of callbacks that are called later.
 *   Names of enum values and reel_version are constants.
 *
 * Threads
 *   There is no global state; threads may use different handles at the same time.  Any number of
 *   threads may use one capture at once, each with its own reel_traces; only reel_capture_close
 *   must not run concurrently with other calls.  A reel_traces, a reel_table, a reel_unwinder and
 *   an error may be used by one thread at a time.  Callbacks run on the calling thread.
 *
 * Errors
 *   A function that can fail returns `struct reel_error *`.  NULL means success.  Otherwise the
 *   caller owns the error (reel_error_destroy) and must not use any output.  Every such function
 *   may return NO_MEMORY; those that open, read or write files may return OS and PERMISSION.
 *   "Errors: ..." lists the other codes of a function ("no others" if there are none).
 *
 * Options
 *   Structs filled by the caller begin with `size`, the sizeof the struct.  The library treats
 *   members missing from an older caller's struct as 0; a newer caller's members that an older
 *   library does not know stay untouched.
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

#define REEL_VERSION_MAJOR  0
#define REEL_VERSION_MINOR  1
#define REEL_VERSION_PATCH  0
#define REEL_VERSION_STRING "0.1.0"

/* The version of the library in use, such as "0.1.0". */
const char *reel_version(void);

/* ---- errors ---------------------------------------------------------- */

enum reel_error_code {
	REEL_ERROR_NO_MEMORY = 1,
	/* A system call failed; the message holds its errno's text. */
	REEL_ERROR_OS = 2,
	/* The file is not a capture (or not an ELF file or a perf.data, where one is asked for). */
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

/* `error` must not be NULL, except for reel_error_destroy().  The message lives as long as the
 * error. */
enum reel_error_code reel_error_code(const struct reel_error *error);
/* One line without a newline: what failed, where, and what to do. */
const char *reel_error_message(const struct reel_error *error);
void reel_error_destroy(struct reel_error *error);

/* ---- captures -------------------------------------------------------- */

struct reel_capture;

struct reel_capture_options {
	size_t size; /* sizeof(struct reel_capture_options) */
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
	/* Do not demangle C++ and Rust names. */
	bool no_demangle;
	/* Never fall back to frame pointers if a pc has no CFI. */
	bool no_frame_pointers;
	/* Largest number of frames in a trace; 0 means 16384. */
	uint32_t max_frames;
	/* Called periodically during long work, on each thread that calls reel_traces_next,
	 * reel_capture_scrub or reel_capture_shrink; in bytes of the file.  May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
	/*
	 * Number of unwinding threads in addition to the one that calls reel_traces_next; 0: one
	 * for each CPU available to this process; 1: none, that call does all the work.  The result
	 * is the same for any number.  The threads live from the first reel_traces_next to
	 * reel_traces_destroy, with all signals blocked.
	 */
	uint32_t threads;
	/* Files with secret keys for an encrypted capture; NULL-terminated, or NULL.  If there are
	 * any, reel_capture_open refuses unencrypted captures (INVALID), since an attacker could
	 * have replaced the encrypted one. */
	const char *const *identities;
	/* If none of the keys opens the capture, open it anyway as locked: only the properties of
	 * the file in reel_capture_info are then available. */
	bool may_be_locked;
	/*
	 * Called by reel_capture_open when all files are open, a stream has been copied and keys
	 * have been read, but only the first bytes of the capture have been examined: the place to
	 * drop privileges.  Later, the library only opens modules, for reading.  May be NULL.
	 */
	void (*opened)(void *context);
	void *opened_context;
	/* A cache directory of elfutils' debuginfod client (BUILD-ID/executable,
	 * BUILD-ID/debuginfo), searched last; nothing is fetched.  NULL: none. */
	const char *debuginfod_cache;
	/* If the file header is damaged but the first block is intact, open the capture and report
	 * a problem.  Not for encrypted files or streams. */
	bool may_lack_header;
	/*
	 * The caller will only ask for traces from this time, as in struct reel_filter: processes
	 * with samples at other times only need not be read.  Iterating other traces reads them
	 * later; reel_capture_cut with other times, and all functions that write a capture of all
	 * samples, fail (INVALID).  Both 0: the whole time.
	 */
	uint64_t from, to;
	/*
	 * Iterating the traces of that time gives only those of this many blocks of samples, spread
	 * evenly; 0: of all.  Encrypted captures and damaged ones are always read as a whole.
	 */
	uint32_t blocks_max;
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
	/* The ids of the keys that open it, separated by ", "; NULL unless the capture is locked.
	 * The first problem then explains which key is missing (KEY). */
	const char *locked;
	/* Number of records from JITs: named functions, their lines, and functions with unwind
	 * information. */
	uint64_t jit_symbols, jit_lines, jit_unwinds;
	/* The file is truncated, or the recorder did not finish it: it lacks an unknown number of
	 * samples after last_sample_time. */
	bool truncated;
};

const struct reel_capture_info *reel_capture_info(const struct reel_capture *capture);

/* A reason why a capture is incomplete, or a damaged part. */
struct reel_capture_problem {
	/* CORRUPT, TRUNCATED, UNSUPPORTED, INVALID, KEY, or OS if reading failed. */
	enum reel_error_code code;
	/* One line without a newline. */
	const char *message;
};
/*
 * The problems found so far; iterating traces and other calls that read the file may find more.
 * The array does not move, existing entries do not change, and new ones are appended.  There are at
 * most 1001; the last one then states that further problems are not listed.
 */
const struct reel_capture_problem *reel_capture_problems(struct reel_capture *capture,
							 size_t *count_ret);

/* Data lost by the recorder, summed over the whole capture. */
enum reel_loss {
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
	/* Hits of a kernel function while the BPF program of an earlier hit was running. */
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
};
#define REEL_LOSS_COUNT 14

const char *reel_loss_name(enum reel_loss loss);

struct reel_loss_info {
	uint32_t cpu; /* UINT32_MAX: not specific to a CPU */
	enum reel_loss cause;
	uint64_t count;
};
/* All non-zero counts by (cpu, cause); constant. */
const struct reel_loss_info *reel_capture_losses(const struct reel_capture *capture,
						 size_t *count_ret);

/* A host with captures in a merged capture (reel_captures_merge). */
struct reel_host_info {
	const char *name;
	const char *kernel_release; /* "" if it had several */
	uint64_t captures;
	/* Start of the first of them, Unix time, ns. */
	uint64_t start_wall_time;
	/* The largest change of its clock between two parts of one recording, ns. */
	uint64_t clock_change;
};
/* Sorted by name; empty if the capture is not merged; constant. */
const struct reel_host_info *reel_capture_hosts(const struct reel_capture *capture,
						size_t *count_ret);

struct reel_event_info {
	uint32_t id;
	const char *name;
	/* "ns" or "" (a count). */
	const char *weight_unit;
	/* Hz if not 0; otherwise `period`. */
	uint64_t frequency, period;
};
/* Constant. */
const struct reel_event_info *reel_capture_events(const struct reel_capture *capture,
						  size_t *count_ret);

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
	/* The file in use cannot be verified, because the capture has no build-id and no digest of
	 * it: the user named it, or it has the same inode. */
	bool unchecked;
	/* The image in the capture is in use instead of a file (reel_capture_pack); `state` is
	 * FOUND. */
	bool embedded;
	/* A file in use has DWARF: functions, inlined calls and lines. */
	bool has_debug_info;
	/* No file is in use, but the capture has names of its functions (kernel and its modules) or
	 * its code (mappings without a file, such as a JIT's). */
	bool recorded;
};
/*
 * All modules, sorted by id, in their present state.  The array lives until the next call of this
 * function for the capture, on any thread; its strings live as long as the capture.
 * Errors: no others.
 */
struct reel_error *reel_capture_modules(struct reel_capture *capture,
					const struct reel_module_info **ret, size_t *count_ret);

/* The module with this id (reel_frame.module_id), or NULL.  It lives as long as the result of
 * reel_capture_modules. */
struct reel_error *reel_capture_module(struct reel_capture *capture, uint64_t id,
				       const struct reel_module_info **ret);

/*
 * Whether one of options.module_files, spelled as there, belongs to the capture: it has a module's
 * build-id, or traces iterated so far used it as a module's file or debug information.
 */
bool reel_capture_has_module_file(struct reel_capture *capture, const char *path);

/* A segment of a file as mapped: its start in the ELF address space and in the file, and its size
 * in memory. */
struct reel_segment {
	uint64_t address, offset, size;
};
/*
 * The segment of a module's file with the code at `address` (a frame's module_address).  Returns
 * false if there is none, for instance for a module without a file, whose addresses are file
 * offsets.  Only valid for modules with frames.
 */
bool reel_capture_segment(struct reel_capture *capture, uint64_t module_id, uint64_t address,
			  struct reel_segment *ret);

/* ---- traces ---------------------------------------------------------- */

/* Why a trace ended.  Only REEL_STOP_ROOT is a complete trace. */
enum reel_stop {
	/* The CFI says that there is no caller, or this is the thread's entry. */
	REEL_STOP_ROOT = 0,
	/* The bytes needed were not recorded. */
	REEL_STOP_STACK_END = 1,
	/* The same, and the recorder had truncated the stack at its limit. */
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
	/* A call chain from another recorder ends here, and the CFI does not say that this is the
	 * root. */
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
#define REEL_STOP_COUNT 16

/* A short English phrase, such as "root reached". */
const char *reel_stop_name(enum reel_stop stop);

/* How a frame's address was found. */
enum reel_step {
	/* Frame 0: the sample's own pc. */
	REEL_STEP_SAMPLE = 0,
	REEL_STEP_CFI = 1,
	/* A signal frame's saved registers. */
	REEL_STEP_SIGNAL = 2,
	/* The frame pointer: no CFI was there; checked, but a guess. */
	REEL_STEP_FRAME_POINTER = 3,
	/* A call was undone: to an address without a mapping, at a PLT stub without CFI, or at the
	 * return of a function whose CFI forgets its epilogue. */
	REEL_STEP_UNDO_CALL = 4,
	/* From the kernel's own walk of its stack. */
	REEL_STEP_KERNEL = 5,
	/* The link register, where no CFI was there (frame 0 only). */
	REEL_STEP_LINK_REGISTER = 6,
	/* From another recorder's walk by frame pointers: nothing was there to check it with. */
	REEL_STEP_RECORDED = 7,
	/* What the code itself does up to its return, or since the entry that its call led to: no
	 * CFI was there.  The address found stands behind a call that can have led here. */
	REEL_STEP_SYNTHESIZED = 8,
	/* A call that had not returned yet, as another recorder read it from the CPU (perf record
	 * --call-graph lbr): the address is that of the call instruction.  The CPU keeps the newest
	 * 8 to 32, and nothing was there to check them with. */
	REEL_STEP_RECORDED_CALL = 9,
	/* No frame at all: here bytes of the stack were not kept, and any number of frames with
	 * them.  Its address is 0, and its frame's function says so. */
	REEL_STEP_GAP = 10,
	/* The frame behind such a gap: the innermost return address of what was kept of the stack's
	 * far end that leads to the root by calls that can have happened.  It is likely, and no
	 * more: the trace ends with REEL_STOP_STACK_CUT. */
	REEL_STEP_BEYOND_GAP = 11,
	/* The function had changed stacks: where the program itself notes that it goes on on the
	 * other one (Go's goroutines), behind a call that can have led here. */
	REEL_STEP_OTHER_STACK = 12,
};

/*
 * One function at one address.  Interned: the same (module, address, inline
 * depth) is the same pointer for the life of the capture.
 */
struct reel_frame {
	/* Never NULL; "" if unknown. */
	const char *function;
	/* What to count by: the same number for all addresses of a function, from 0 without holes
	 * (which one it is depends on the threads, and may be another each time).  Functions
	 * differ if name, module or being inlined does; an unknown one is its own for
	 * each unwind entry (is_fde below) or program (jit_program), and without one for each
	 * address. */
	uint32_t function_id;
	/* The function is inlined into the frame that follows. */
	bool inlined;
	bool kernel;
	/* The instruction at the address is the one that runs next, or the call; otherwise it is
	 * behind a call, and the byte before was looked up. */
	bool exact;
	/* Source file as the debug information names it ("" if unknown) and line (0). */
	const char *file;
	uint32_t line, column;
	/* Bytes from the start of the symbol that holds the address, or of its unwind entry. */
	uint64_t function_offset;
	/* Address in the module's ELF address space; of the kernel and its modules, in that of the
	 * file with their debug information, and without one the address itself. */
	uint64_t module_address;
	/* As recorded on the target; "" for none, "[kernel]" for the kernel. */
	const char *module_path;
	/* 0 if none: see reel_capture_modules. */
	uint64_t module_id;
	/*
	 * Nothing names the function (`function` is ""), but the unwind entry (FDE) that holds its
	 * addresses is known, and begins at module_address - function_offset.  The commands show it
	 * as "libfoo.so+0x1f30 [fde]": the module's file name and that address.
	 */
	bool is_fde;
	/* The name as the linker knows it, where `function` is that demangled; "" if they are the
	 * same. */
	const char *linkage_name;
	/* The file name of the program whose JIT made this code, where nothing names the function
	 * and the code is in anonymous memory; "" otherwise.  All such code of a program has one
	 * function_id. */
	const char *jit_program;
};

enum reel_where {
	REEL_WHERE_UNKNOWN = 0,
	/* In user code: pc is exact. */
	REEL_WHERE_USER = 1,
	/* In the kernel after a system call: pc is behind the instruction. */
	REEL_WHERE_SYSCALL = 2,
	/* In the kernel after an interrupt or a fault: pc is exact. */
	REEL_WHERE_INTERRUPT = 3,
	/* In a kernel thread. */
	REEL_WHERE_KERNEL_THREAD = 4,
};

struct reel_trace {
	/* The sample's number in the capture. */
	uint64_t id;
	uint64_t time;
	uint64_t weight;
	uint32_t event; /* reel_event_info.id */
	uint32_t cpu;
	/* Of the recorder's PID namespace. */
	uint32_t pid, tid;
	/* Of the process's own (innermost) PID namespace; 0 if unknown. */
	uint32_t namespace_pid, namespace_tid;
	/* Distinguishes threads that had the same tid one after the other. */
	uint64_t thread;
	/* Of a capture of several hosts: HOST:COMM. */
	const char *comm;
	/* Never NULL; "" if unknown. */
	const char *host;
	/* Tells hosts apart, from 1 on; 0 if all samples are of one, and where it is unknown. */
	uint32_t host_id;
	enum reel_where where;
	/* Leaf first: kernel frames, then user frames, inlined ones included. */
	const struct reel_frame *const *frames;
	/* The runtime address of each frame (return addresses as such), and how it was found. */
	const uint64_t *addresses;
	const uint8_t *steps; /* enum reel_step */
	size_t n_frames;
	/* How many of them, from the front, are the kernel's. */
	size_t n_kernel_frames;
	enum reel_stop stop;
	/* The recorder cut the stack at --max-stack. */
	bool stack_cut;
	/*
	 * What a walk by frame pointers found on the target, beside the stack that `frames` were
	 * unwound from: user addresses, leaf first, from pc on.  n_frame_chain is 0 where there was
	 * none, and where it is all there is, so that `frames` were made of it.
	 */
	const uint64_t *frame_chain;
	size_t n_frame_chain;
	/* That walk ended because it may find no more addresses. */
	bool frame_chain_cut;
};

/* Samples to iterate; zero means any. */
struct reel_filter {
	size_t size;
	const uint32_t *pids;
	size_t n_pids;
	const uint32_t *tids;
	size_t n_tids;
	const char *const *comms; /* COMM is that of all hosts, HOST:COMM of one */
	size_t n_comms;
	const uint32_t *cpus;
	size_t n_cpus;
	/* Nanoseconds since the first sample; to == 0 is no end. */
	uint64_t from, to;
	/* Not 0: of the blocks of samples that may have what is wanted, only each `shards`th one,
	 * from that with number `shard` on (0 is the first).  So the iterators of all shards, by
	 * whichever process, have each trace once between them; what the file's end
	 * says of how many samples there are is not checked then.  reel_capture_cut takes none. */
	uint32_t shard, shards;
};

struct reel_traces;

/* `filter` may be NULL.  Several at once, on one thread or on many, do not disturb each other.
 * Errors: INVALID: there is no such shard. */
struct reel_error *reel_traces_create(struct reel_capture *capture,
				      const struct reel_filter *filter, struct reel_traces **ret);
void reel_traces_destroy(struct reel_traces *traces);
/*
 * The next trace in the file's order, NULL behind the last one.  The trace and its arrays live
 * until the next call for the same iterator, or until that is destroyed.  A damaged block is passed
 * over and is among reel_capture_problems then.  After an error there are no more traces.
 *
 * Errors: CORRUPT (a module's unwind tables or debug information take many times the work or the
 * memory that such tables of their size do, and so cannot be relied on); UNSUPPORTED (an ELF file
 * has more than 2^31 symbols or 2^32 address ranges).
 */
struct reel_error *reel_traces_next(struct reel_traces *traces, const struct reel_trace **ret);

/* ---- the code of functions ------------------------------------------------ */

/* The machine code of a function that traces lead to, instruction by instruction. */
struct reel_function;

struct reel_function_options {
	size_t size; /* sizeof(struct reel_function_options) */
	/* As in a reel_trace that has the frame: which code of a JIT's it was. */
	uint64_t thread, time;
	/* Where instructions are known to begin, as samples' addresses are: ELF addresses of the
	 * module, ascending.  Where only parts of the code are there, these tell how it is to be
	 * cut. */
	const uint64_t *starts;
	size_t n_starts;
	/* x86 in Intel's syntax, not AT&T's. */
	bool intel;
};

struct reel_function_info {
	/* As reel_frame.function; "" if nothing names it. */
	const char *name;
	/* [begin, end) of the addresses of reel_frame.module_address. */
	uint64_t begin, end;
	/* As reel_frame.module_id and module_path. */
	uint64_t module_id;
	const char *module_path;
	/* Of its instructions, as reel_capture_info.arch names it; "" if that is not known. */
	const char *arch;
	/* The file that the code's bytes are read from; "" if there is none. */
	const char *code_path;
	/* They are the capture's own: pieces of a file that is not here, or code of a JIT's. */
	bool embedded;
	/* What makes texts of instructions, "capstone 4.0.2", or "" if it does not know the CPU. */
	const char *disassembler;
};

struct reel_function_place {
	const char *function; /* "" if unknown */
	const char *file;     /* the same */
	uint32_t line, column;
	bool inlined; /* into the place that follows */
	/*
	 * What compilers need to know the place by, as the debug information of a module's file has
	 * it: the function's name to the linker (which the symbol's may differ from, as a part's or
	 * an alias's does), "" if unknown; the line that it is declared in, 0 if unknown; and which
	 * of its line's blocks it is in (DWARF's discriminator), 0 if unknown or the only one.
	 */
	const char *linkage_name;
	uint32_t function_line, discriminator;
};

struct reel_function_instruction {
	uint64_t address;
	/* NULL: nobody has the bytes from here on, `size` of them. */
	const uint8_t *bytes;
	uint64_t size;
	/* "mov    (%rdi,%rax,4),%edx"; "" if it is not known, or there are no bytes. */
	const char *text;
	enum {
		REEL_FUNCTION_NEXT = 0,	  /* it goes on behind it */
		REEL_FUNCTION_BRANCH = 1, /* there, or at the target */
		REEL_FUNCTION_JUMP = 2,
		REEL_FUNCTION_CALL = 3,
		REEL_FUNCTION_RETURN = 4,
		REEL_FUNCTION_END = 5, /* it does not go on */
	} flow;
	/* Of a branch, jump or call, if the instruction itself names it. */
	bool has_target;
	uint64_t target;
	/* The function that the target is in, "" if unknown, and where in it. */
	const char *target_name;
	uint64_t target_offset;
	/* What is there, innermost first; at least one. */
	const struct reel_function_place *places;
	size_t n_places;
};

/*
 * The function that holds the address of a frame of this capture; of an inlined one, the one that
 * it is inlined into.  What is known of it is reel_function_get_info's, and lives as long as it;
 * it must be closed before the capture is.  `options` may be NULL.
 *
 * Errors: NOT_FOUND (the frame stands for no code: a part of a stack that was not kept).
 */
struct reel_error *reel_function_open(struct reel_capture *capture, const struct reel_frame *frame,
				      const struct reel_function_options *options,
				      struct reel_function **ret);
void reel_function_close(struct reel_function *function);
const struct reel_function_info *reel_function_get_info(const struct reel_function *function);
/*
 * The next instruction, NULL behind the last one.  It lives until the next call, but for the
 * strings of its places, which live as long as the capture.
 *
 * Errors: as reel_traces_next.
 */
struct reel_error *reel_function_next(struct reel_function *function,
				      const struct reel_function_instruction **ret);

/* ---- the capture's records, as they stand in the file ------------------- */

/*
 * A field of a record, or a value within one.  Lists and objects nest: in a
 * SAMPLE, "registers" is a LIST of LISTs [dwarf, size, value or NULL]; "regions" a LIST of
 * OBJECTs with kind, address, size, missing (a LIST of LISTs [offset, size]),
 * crc (CRC-32 of the bytes) and bytes; "kernel_chain" and "frame_chain" are each a LIST of
 * ADDRESSes, or NULL; "kernel_frame" an OBJECT with pc, sp, fp and
 * return_address, or NULL.  All differences between samples are undone.
 */
struct reel_field {
	/* "" for the items of a list. */
	const char *name;
	enum {
		REEL_FIELD_UNSIGNED = 0, /* `value` */
		REEL_FIELD_ADDRESS = 1,	 /* the same, to be shown in hexadecimal */
		REEL_FIELD_TEXT = 2,	 /* `bytes`, meant as UTF-8, which is not certain */
		REEL_FIELD_BYTES = 3,	 /* `bytes` */
		REEL_FIELD_NULL = 4,	 /* there is no value */
		REEL_FIELD_LIST = 5,	 /* `items`, without names */
		REEL_FIELD_OBJECT = 6,	 /* `items`, with names */
	} kind;
	uint64_t value;
	const uint8_t *bytes;
	size_t n_bytes;
	const struct reel_field *items;
	size_t n_items;
};

struct reel_record_view {
	/* Of the block that holds it. */
	uint64_t block_offset;
	uint32_t block_sequence;
	/* As in SPEC.md; "unknown-N" for one that this version does not know: its only field is
	 * "size". */
	const char *name;
	const struct reel_field *fields;
	size_t n_fields;
};

/*
 * Calls `visit` for every record in the file's order; a false return ends it.  The record and all
 * that it points to live until `visit` returns.  A damaged block is passed over and is among
 * reel_capture_problems then.  Errors: no others.
 */
struct reel_error *reel_capture_visit_records(struct reel_capture *capture,
					      bool (*visit)(void *context,
							    const struct reel_record_view *record),
					      void *context);

/* The same for all records but those of samples, in much less time. */
struct reel_error *reel_capture_visit_side_records(
	struct reel_capture *capture,
	bool (*visit)(void *context, const struct reel_record_view *record), void *context);

/* ---- whether a capture is whole --------------------------------------------- */

struct reel_finding {
	/* CORRUPT, TRUNCATED, UNSUPPORTED, MISMATCH, INVALID, KEY or OS. */
	enum reel_error_code code;
	/* Nothing that a reader takes for damage, but a writer does not do it, or it was lost with
	 * something that is damage. */
	bool is_remark;
	/* One line without a newline: where, and what is wrong. */
	const char *message;
	/* In the file; UINT64_MAX if it is of no place in it. */
	uint64_t offset;
	/* A phrase, such as "the samples of 1.500 s to 2.500 s" (since the first sample), or ""
	 * where that is not known. */
	const char *lost;
};

struct reel_verify_options {
	size_t size;
	/* Called for each, in the file's order: problems, then remarks.  It lives until `found`
	 * returns.  May be NULL. */
	void (*found)(void *context, const struct reel_finding *finding);
	/* Called for a module whose image is of no use, before any is found.  May be NULL. */
	void (*bad_image)(void *context, uint64_t module);
	void *context;
};

struct reel_verify_counts {
	size_t size;
	uint64_t problems, remarks;
	/* Blocks that were found, and those of which not all could be read. */
	uint64_t blocks, damaged_blocks;
	/* That were read, and that END counts, if there is one. */
	uint64_t samples, side_records;
	bool has_end;
	uint64_t expected_samples, expected_side_records;
	/* Of a newer version: nobody here can check them. */
	uint64_t unknown_records, unknown_blocks;
	/* Images of modules, and those that lack bytes. */
	uint64_t images, cut_images;
};

/*
 * Reads all of the capture: every checksum, record and sample, the references between records, and
 * images of modules, which must be of the module's build-id, and read as SPEC.md 5.1 says.  Whole
 * is one without problems.  Of a locked capture it can only check what takes no key; the first
 * problem is that (KEY).  `options` and `counts` may be NULL.  Errors: no others.
 */
struct reel_error *reel_capture_verify(struct reel_capture *capture,
				       const struct reel_verify_options *options,
				       struct reel_verify_counts *counts);

/* ---- captures without secrets --------------------------------------------- */

struct reel_scrub_options {
	size_t size;
	/* Leave the recorder's command line out. */
	bool no_command_line;
	/* Encrypt the new capture to these: public keys, or files of them; NULL-terminated, or
	 * NULL. */
	const char *const *recipients;
	/* Without recipients an encrypted capture is refused (INVALID), unless this says that
	 * everybody may read what comes out. */
	bool decrypt;
};

struct reel_scrub_counts {
	size_t size;
	uint64_t samples;
	/* Records and blocks that this version does not know, and left out. */
	uint64_t unknown;
	uint64_t bytes_written;
};

/*
 * Writes a capture of this one in which of stacks and registers only those words have kept their
 * value that unwinding may follow: what points into the sample's stack, and into code (SPEC.md,
 * section 8.1).  `output` ("-": standard output) appears when it is whole; an existing one is
 * replaced then.  What could not be read is among the capture's problems.  `options` and `counts`
 * may be NULL.
 *
 * Errors: INVALID (a recipient is no public key; `output` is the capture itself; what was
 * encrypted would not be any more).
 */
struct reel_error *reel_capture_scrub(struct reel_capture *capture, const char *output,
				      const struct reel_scrub_options *options,
				      struct reel_scrub_counts *counts);

/* ---- captures for archives ------------------------------------------------- */

struct reel_shrink_options {
	size_t size;
	/* As in reel_scrub_options. */
	const char *const *recipients;
	bool decrypt;
	/* With images of the files, too, as reel_capture_pack makes them, and compressed as far as
	 * it goes. */
	bool archive;
	/* As in reel_pack_options. */
	void (*problem)(void *context, const char *path, const char *why);
	void *context;
};

struct reel_shrink_counts {
	size_t size;
	uint64_t samples;
	/* Of these, those that kept everything: a module on the way is missing, or the CPU is not
	 * one that can be unwound. */
	uint64_t whole;
	/* Of all regions, and of those the bytes that unwinding reads. */
	uint64_t stack_bytes, bytes_kept;
	uint64_t bytes_written;
	/* Of an archive, as in reel_pack_counts. */
	uint64_t modules, missing, left_out, image_bytes;
};

/*
 * Writes a capture of this one in which of stacks only those bytes have kept their value that
 * unwinding reads, with the modules that are found now; the others are 0, and registers that make
 * no difference are not known.  Then both are unwound, and compared: MISMATCH if a trace differs;
 * of an archive with its images alone, and with functions, inlined calls and lines.
 * `output` ("-": standard output) appears when all is well; an existing one is replaced then.  What
 * could not be read is among the capture's problems.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub and reel_traces_next; MISMATCH; INVALID, too, if an archive is
 * wanted and traces of the capture were asked for before.
 */
struct reel_error *reel_capture_shrink(struct reel_capture *capture, const char *output,
				       const struct reel_shrink_options *options,
				       struct reel_shrink_counts *counts);

/* ---- parts of captures -------------------------------------------------------- */

struct reel_cut_options {
	size_t size;
	/* Which samples; NULL: all. */
	const struct reel_filter *filter;
	/* Of events with this name; NULL: of all. */
	const char *event;
	/* As in reel_scrub_options. */
	const char *const *recipients;
	bool decrypt;
};

struct reel_cut_counts {
	size_t size;
	uint64_t samples;
	/* Side records that none of them needs, and that were left out. */
	uint64_t left_out;
	uint64_t bytes_written;
};

/*
 * Writes a capture of this one that has some of its samples, with their ids and times, and of what
 * was recorded beside them what their traces and names need, whatever modules are found when these
 * are made.  `output` ("-": standard output) appears when it is whole; an existing one is replaced
 * then.  What could not be read is among the capture's problems; blocks of samples from other times
 * than the filter's are not read.  `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub; NOT_FOUND if no sample is selected.
 */
struct reel_error *reel_capture_cut(struct reel_capture *capture, const char *output,
				    const struct reel_cut_options *options,
				    struct reel_cut_counts *counts);

/* ---- captures that are being written ------------------------------------------ */

/*
 * A capture as it comes, as `stackreel-record -o -' prints it: what it says of processes and
 * modules is kept in an unlinked temporary file, and of its samples the newest, 64 MB of the stream
 * at most. Used by one thread at a time.
 */
struct reel_live;

/* `fd` is the caller's, and has to stay open. */
struct reel_error *reel_live_create(int fd, struct reel_live **ret);
/* Frees it; NULL is allowed. */
void reel_live_destroy(struct reel_live *live);
/*
 * Reads once, which waits if nothing is there and `fd` is not O_NONBLOCK.  `*ended_ret`: there will
 * be no more.  Errors: as reel_capture_open; CORRUPT, with the offset, where no block begins, and
 * TRUNCATED, where one is cut: what came before it is there.
 */
struct reel_error *reel_live_read(struct reel_live *live, bool *ended_ret);
/*
 * A capture of its own, of all that is known so far and the samples that came in the last `window`
 * ns, older ones are forgotten: in an unlinked file, which reel_capture_open opens as
 * /proc/self/fd/N.  The descriptor is the caller's.  It was not finished, and no problem is made of
 * that but the one of captures whose recorder was killed.
 */
struct reel_error *reel_live_capture(struct reel_live *live, uint64_t window, int *fd_ret);

/* ---- captures of many --------------------------------------------------------- */

struct reel_merge_options {
	size_t size;
	/* As in reel_scrub_options, where one of the captures is encrypted. */
	const char *const *recipients;
	bool decrypt;
	/* As in reel_capture_options, for all captures. */
	const char *const *identities;
	/* Called for what could not be read of a capture.  May be NULL. */
	void (*problem)(void *context, const char *path, const char *message);
	/* Bytes of all the files; may be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

struct reel_merge_counts {
	size_t size;
	uint64_t samples;
	/* What was merged, where those that were merged themselves count with all theirs. */
	uint64_t captures, hosts;
	/* Different ones. */
	uint64_t modules;
	/* As in reel_host_info, the greatest. */
	uint64_t clock_change;
	/* Of what could not be read; records and blocks that this version does not know, and left
	 * out. */
	uint64_t problems, unknown;
	uint64_t bytes_read, bytes_written;
};

/*
 * Writes one capture of all these (paths, NULL-terminated): of several hosts, or of parts of a
 * recording.  Times are put on the wall clock, by what it was when each began; processes, threads,
 * samples and kernels stay apart, and modules and images of them that are the same are there once.
 * In which order the captures are given, and whether some of them were merged before, makes no
 * difference to what is counted.  `output` ("-": standard output) appears when it is whole; an
 * existing one is replaced then.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_open; INVALID if the captures are of different CPUs, one does not tell
 * when it began, or is there twice, or is `output`, or what was encrypted would not be any more;
 * UNSUPPORTED if they are too many for one capture.
 */
struct reel_error *reel_captures_merge(const char *const *paths, const char *output,
				       const struct reel_merge_options *options,
				       struct reel_merge_counts *counts);

/* ---- captures that need no files ------------------------------------------- */

struct reel_pack_options {
	size_t size;
	/* As in reel_scrub_options. */
	const char *const *recipients;
	bool decrypt;
	/* Leave the names of functions out, and inlined functions and lines with them; those that
	 * JITs gave, too. */
	bool no_symbols;
	/* Do not replay the new capture to see that its traces are the same. */
	bool no_check;
	/* Called for each file that has no image, or one that lacks something, and says why.  May
	 * be NULL. */
	void (*problem)(void *context, const char *path, const char *why);
	void *context;
};

struct reel_pack_counts {
	size_t size;
	uint64_t samples;
	/* Files that are embedded now; that were not found; and that would take too much room. */
	uint64_t modules, missing, left_out;
	/* Of all images, before they are compressed. */
	uint64_t image_bytes;
	uint64_t bytes_written;
};

/*
 * Writes a capture of this one that also has what its traces need of the files that are found now:
 * unwind information, names of functions, inlined functions and lines (unless the capture was
 * opened with no_inlines), and bytes of code (SPEC.md, section 5.1).  With it, traces are the same
 * where these files are missing.  Then both are unwound, and compared, but for traces through files
 * that take too much room: MISMATCH if one differs.  `output` ("-": standard output) appears when
 * all is well; an existing one is replaced then.  What could not be read is among the capture's
 * problems.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub and reel_traces_next; MISMATCH; INVALID, too, if traces of the
 * capture were asked for before.
 */
struct reel_error *reel_capture_pack(struct reel_capture *capture, const char *output,
				     const struct reel_pack_options *options,
				     struct reel_pack_counts *counts);

/*
 * Writes a capture of this one that has traces alone: the addresses of each, how they were found,
 * and images with the names and lines of the files that are found now.  There is nothing of stacks,
 * registers and code in it.  With it, traces are the same, and are compared, as by
 * reel_capture_pack; but an address in no executable mapping that a raw capture's trace ends at
 * becomes 1, as by reel_capture_scrub.  Options, counts and errors are those of reel_capture_pack.
 */
struct reel_error *reel_capture_resolve(struct reel_capture *capture, const char *output,
					const struct reel_pack_options *options,
					struct reel_pack_counts *counts);

struct reel_unpack_options {
	size_t size;
	/* Replace files that are there already. */
	bool force;
	/* Called for each image: of which module it is, and its path below the directory; `problem`
	 * says why it was not written, NULL: it was.  May be NULL. */
	void (*visit)(void *context, const char *module_path, const char *path,
		      const char *problem);
	void *context;
	/* Not images, but the files of the modules that traces lead to, whole, as they are found.
	 */
	bool full;
};

struct reel_unpack_counts {
	size_t size;
	uint64_t files, left_out, bytes;
};

/*
 * Writes the images that the capture has of modules' files below `directory`, which is made if it
 * is not there: as .build-id/xx/yyyy.debug, where gdb (debug-file-directory) and perf look for
 * files with debug symbols, or below .no-build-id; of modules that are one file under several
 * paths, the largest image.  With `full`, which makes all traces first, the modules' files, as
 * .build-id/xx/yyyy, and their debug files, where `debug_dirs` of another capture's options finds
 * both.  No link is followed there, and no file replaced without `force`.
 * `options` and `counts` may be NULL.  Errors: no others.
 */
struct reel_error *reel_capture_unpack(struct reel_capture *capture, const char *directory,
				       const struct reel_unpack_options *options,
				       struct reel_unpack_counts *counts);

/* ---- captures that were damaged -------------------------------------------- */

struct reel_repair_options {
	size_t size;
	/* As in reel_scrub_options. */
	const char *const *recipients;
	bool decrypt;
	/* Called for each problem of the capture, as by reel_capture_verify, and for what else is
	 * left out. May be NULL. */
	void (*found)(void *context, const struct reel_finding *finding);
	void *context;
};

struct reel_repair_counts {
	size_t size;
	/* Of the capture; 0: it is whole. */
	uint64_t problems;
	uint64_t samples; /* written */
	/* What is lost, if its END tells. */
	bool tells_losses;
	uint64_t lost_samples, lost_side_records;
	uint64_t bytes_written;
};

/*
 * Writes a capture of what can be read of this one, which reel_capture_verify finds whole: without
 * what is damaged, blocks that are there twice and images that are of no use, and with an END
 * record; samples whose numbers do not ascend get others.  That records were lost is in it (LOSS).
 * `output` ("-": standard output) appears when it was verified; an existing one is replaced then.
 * `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub; CORRUPT (CAPTURE is lost, so that nothing can be replayed, or what
 * can be read contradicts itself); UNSUPPORTED (of what this version does not know it can't tell
 * whether it is damaged); KEY.
 */
struct reel_error *reel_capture_repair(struct reel_capture *capture, const char *output,
				       const struct reel_repair_options *options,
				       struct reel_repair_counts *counts);

/* ---- other recorders' files ----------------------------------------------- */

struct reel_import_options {
	size_t size;
	/* The CPU, as reel_capture_info.arch names it, for a recording that does not tell; or
	 * NULL. */
	const char *arch;
	/* A list of the kernel's symbols like /proc/kallsyms; NULL: from perf's cache in
	 * $HOME/.debug, or of this host's kernel if that has the recorded one's build-id. */
	const char *kallsyms;
	/* Leave perf's command line out. */
	bool no_command_line;
	/* Called now and then: bytes read so far, of how many. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	/* Called for what could not be imported: a line each.  `code` CORRUPT or TRUNCATED: the
	 * file is damaged, and what was readable was imported; else a remark.  May be NULL. */
	void (*problem)(void *context, enum reel_error_code code, const char *message);
	void *context;
	/* Encrypt the capture to these: public keys, or files of them; NULL-terminated, or NULL. */
	const char *const *recipients;
	/* Keep stacks and registers as they are; else the capture is as reel_capture_scrub leaves
	 * one. */
	bool raw_stacks;
	/* The directory with files in which JITs name their code, perf-PID.map and jit-PID.dump;
	 * "none": they are not taken; NULL: those in /tmp, and where perf found them, if it
	 * recorded on this host and they can be the processes'. */
	const char *jit;
};

struct reel_import_counts {
	size_t size;
	uint64_t samples;
	uint64_t modules;
	/* Records that the recorder says it lost. */
	uint64_t lost;
	/* Of the recording, and of the capture. */
	uint64_t bytes_read, bytes_written;
};

/*
 * Makes a capture of what `perf record` wrote to a file or a pipe ("-" is standard input), of
 * any of the CPUs named below (reel_register), of either byte order, compressed or not.  `output`
 * ("-": standard output) appears when it is whole; an existing one is replaced then.  If it fails,
 * nothing is left behind.  `options` and `counts` may be NULL.
 *
 * Errors: NOT_A_CAPTURE (no perf.data); UNSUPPORTED (of an unknown CPU or a perf before Linux
 * 2.6.38, or a directory of several files); TRUNCATED and CORRUPT (what stands before the samples);
 * INVALID (`arch` is unknown, or has to be given; a recipient is no public key; `output` is the
 * file itself); MISMATCH (`kallsyms` is another kernel's or another boot's).
 */
struct reel_error *reel_import_perf(const char *path, const char *output,
				    const struct reel_import_options *options,
				    struct reel_import_counts *counts);

/* ---- keys of encrypted captures --------------------------------------------- */

/* Of a public key as text, its NUL included. */
#define REEL_PUBLIC_KEY_TEXT_SIZE 64

/*
 * Makes a pair of keys, and `path`, which must not exist, with the secret one; nobody but the
 * owner may read it.  The public one is text as --encrypt-to takes it.  Errors: no others.
 */
struct reel_error *reel_identity_create(const char *path,
					char public_key_ret[REEL_PUBLIC_KEY_TEXT_SIZE]);
/* Calls `visit` with the public key of each secret one in the file; it lives until `visit` returns.
 * Errors: INVALID (a line is no secret key, or there is none). */
struct reel_error *reel_identity_public_keys(const char *path,
					     void (*visit)(void *context, const char *public_key),
					     void *context);

/* ---- what an ELF file is ------------------------------------------------- */

/* Of a build-id in hexadecimal, its NUL included. */
#define REEL_BUILD_ID_TEXT_SIZE 129

struct reel_file_identity {
	size_t size;
	/* "" if it has none. */
	char build_id[REEL_BUILD_ID_TEXT_SIZE];
	/* Of the file that dwz moved parts of its debug information to (.gnu_debugaltlink); "" if
	 * there is none. */
	char alternate[REEL_BUILD_ID_TEXT_SIZE];
};

/*
 * Errors: NOT_A_CAPTURE (no ELF file, or not a regular one); UNSUPPORTED (another version of ELF,
 * or an object file); TRUNCATED, CORRUPT.
 */
struct reel_error *reel_file_identify(const char *path, struct reel_file_identity *ret);

/* What an ELF file has the system map (PT_LOAD). */
struct reel_file_segment {
	uint64_t address, offset, size; /* of its bytes in the file */
	uint32_t flags;			/* ELF's: 1 execute, 2 write, 4 read */
};

/* Calls `visit` for each, in the file's order.  Errors: as reel_file_identify. */
struct reel_error *reel_file_segments(const char *path,
				      void (*visit)(void *context,
						    const struct reel_file_segment *segment),
				      void *context);

/* ---- files that come out ------------------------------------------------ */

/* Who may read a new file. */
enum reel_file_access {
	/* Only its owner (0600), whatever umask and the folder's access control list say. */
	REEL_FILE_PRIVATE = 0,
	/* 0666 less umask, as for a file that a shell creates. */
	REEL_FILE_SHARED = 1,
};

/*
 * Creates the file `path` and opens it for writing, as the commands do with -o.  The new file
 * replaces an existing one, whose content stays untouched, and symbolic links that another user
 * may have planted are not followed.  FIFOs and devices are written to, unless another user may
 * have planted them; a FIFO without a reader is an error after five seconds.
 * The caller closes *fd_ret.  Errors: no others.
 */
struct reel_error *reel_file_create(const char *path, enum reel_file_access access, int *fd_ret);

/* A file that gets its name when it is whole. */
struct reel_file;

/*
 * Begins one, to write and to read.  What has the name `path` stays as it is until
 * reel_file_finish; a FIFO or a device is opened as by reel_file_create, and written to at once.
 * Errors: no others.
 */
struct reel_error *reel_file_begin(const char *path, enum reel_file_access access,
				   struct reel_file **ret);
/* The file's own; it stays open until the file is finished or abandoned. */
int reel_file_descriptor(const struct reel_file *file);
/* Gives it its name, in the place of what had it.  The handle is gone, whatever comes of it.
 * Errors: no others. */
struct reel_error *reel_file_finish(struct reel_file *file);
/* Nothing gets the name.  Takes NULL. */
void reel_file_abandon(struct reel_file *file);

/* A file without a name, to write and to read, in the folder that TMPDIR names (/var/tmp). The
 * caller closes *fd_ret. Errors: no others. */
struct reel_error *reel_file_temporary(int *fd_ret);

/* ---- unwind tables ------------------------------------------------------ */

struct reel_table;

/* A location of the form register + offset, or memory at it. */
struct reel_location {
	enum {
		REEL_LOCATION_UNKNOWN = 0,    /* no rule: not recoverable */
		REEL_LOCATION_SAME = 1,	      /* the register keeps its value */
		REEL_LOCATION_REGISTER = 2,   /* in another register */
		REEL_LOCATION_VALUE = 3,      /* register + offset */
		REEL_LOCATION_MEMORY = 4,     /* stored at CFA + offset */
		REEL_LOCATION_EXPRESSION = 5, /* a DWARF expression */
		REEL_LOCATION_UNDEFINED = 6,  /* there is none: the outermost frame */
		REEL_LOCATION_CFA = 7,	      /* is CFA + offset */
	} kind;
	uint16_t reg; /* as in struct reel_register */
	int64_t offset;
};

/* Rules that hold for [begin, end) of the ELF file's addresses. */
struct reel_table_row {
	uint64_t begin, end;
	/* Of the FDE. */
	uint64_t function_begin, function_end;
	/* The symbol at function_begin, "" if none. */
	const char *function;
	bool signal_frame;
	struct reel_location cfa;
	struct reel_location return_address;
	struct reel_location frame_pointer;
	/* Only where the CPU has one (aarch64: x30), else UNKNOWN. */
	struct reel_location link_register;
	/* aarch64: return addresses are signed here (DW_CFA_AARCH64_negate_ra_state). */
	bool return_address_signed;
};

/*
 * The CFI of any ELF file, stripped or not, as rows in address order.
 *
 * Errors: NOT_A_CAPTURE (no ELF file); UNSUPPORTED (of another CPU than those of reel_register, or
 * of another version of ELF); TRUNCATED, CORRUPT; NOT_FOUND (it has no CFI).
 */
struct reel_error *reel_table_open(const char *path, struct reel_table **ret);
void reel_table_close(struct reel_table *table);
/* As reel_capture_info.arch names it: a constant. */
const char *reel_table_arch(const struct reel_table *table);
/* The register's name ("rsp"), or "r<N>" for one that has none here; lives until the next call for
 * the same table. */
const char *reel_table_register_name(struct reel_table *table, uint16_t reg);
/*
 * NULL behind the last row.  The row lives until the next call, and its texts as long as the table.
 * An FDE that cannot be read gives CORRUPT, and is passed over by the next call.
 *
 * Errors: CORRUPT; UNSUPPORTED (more than 2^31 symbols).
 */
struct reel_error *reel_table_next(struct reel_table *table, const struct reel_table_row **ret);

/* ---- the unwinder by itself ---------------------------------------------- */

struct reel_unwinder;

/*
 * A register has the number that the DWARF of its CPU gives it:
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

/* The number of a register of the CPU with this ELF machine and words of so many bits in the masks
 * and samples of Linux's perf_event_open (asm/perf_regs.h), or -1 if it has none. */
int reel_register_perf_number(uint16_t machine, uint32_t word_bits, uint16_t dwarf);

struct reel_memory {
	uint64_t address;
	size_t size;
	/* In the target's byte order. */
	const uint8_t *bytes;
};

/* `arch` as reel_capture_info.arch names it.  Errors: UNSUPPORTED (there is no such CPU). */
struct reel_error *reel_unwinder_create(const char *arch, struct reel_unwinder **ret);
void reel_unwinder_destroy(struct reel_unwinder *unwinder);
/*
 * Says that bytes [offset, offset + size) of the ELF file at `path` are mapped
 * at `address`, replacing whatever was said of those addresses before.  A file is opened once for
 * each path, and stays open.
 *
 * Errors: NOT_A_CAPTURE (no ELF file); UNSUPPORTED (another version of ELF); TRUNCATED, CORRUPT;
 * MISMATCH (of another CPU); INVALID (the mapping is empty, or reaches behind the last address).
 */
struct reel_error *reel_unwinder_map(struct reel_unwinder *unwinder, uint64_t address,
				     uint64_t size, uint64_t offset, const char *path);
/* Bits of a return address that are not address (pointer authentication). */
void reel_unwinder_set_pointer_mask(struct reel_unwinder *unwinder, uint64_t mask);

enum reel_stack_flags {
	/* The thread is in a system call, or has just returned from one: pc is behind the
	 * instruction, and so is looked up one byte before, where pc is indeed behind such an
	 * instruction.  Matters where unwind information ends with it (glibc's clone3). */
	REEL_STACK_AFTER_SYSCALL = 1 << 0,
};

/* What is known of a thread. */
struct reel_stack {
	size_t size; /* sizeof(struct reel_stack) */
	/* Of the innermost frame; pc is one of them. */
	const struct reel_register *registers;
	size_t n_registers;
	/* Nothing else is read but files that are mapped.  Where two overlap, the first one counts.
	 */
	const struct reel_memory *memory;
	size_t n_memory;
	/* Largest number of frames; 0 means 16384. */
	uint32_t max_frames;
	uint32_t flags; /* enum reel_stack_flags */
};

struct reel_unwound_frame {
	uint64_t pc;
	uint64_t sp; /* 0 where it is unknown */
	enum reel_step step;
};

struct reel_unwound {
	/* Leaf first; at least one. */
	const struct reel_unwound_frame *frames;
	size_t n_frames;
	enum reel_stop stop;
};

/*
 * Unwinds one stack.  What it gives lives until the next call for the same unwinder.
 *
 * Errors: INVALID (pc is not among the registers); CORRUPT (a file's unwind tables take many times
 * the work that such tables of their size do, and so cannot be relied on).
 */
struct reel_error *reel_unwind(struct reel_unwinder *unwinder, const struct reel_stack *stack,
			       const struct reel_unwound **ret);

#ifdef __cplusplus
}
#endif
#endif
