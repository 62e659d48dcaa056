/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of stackreel use of the library beyond stackreel.h.  This header is not
 * installed, libstackreel.so does not export its functions, and everything in it may change.
 * stackreel.h's rules of handles, lifetimes, threads and errors hold here, too.  Callbacks run on
 * the calling thread; contexts of those that are called later must outlive the call.
 */
#ifndef STACKREEL_COMMANDS_H
#define STACKREEL_COMMANDS_H

#include "include/stackreel.h"

#define REEL_LOSS_COUNT	  15
#define REEL_STOP_COUNT	  16
#define REEL_EVENT_VALUES 6

/* ---- opening captures ---------------------------------------------------------------- */

struct reel_open_options {
	struct reel_capture_options common;
	/* Called periodically during long work, on each thread that calls reel_traces_next,
	 * reel_capture_scrub or reel_capture_shrink; in bytes of the file.  May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
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
	/* If the file header is damaged but the first block is intact, open the capture and report
	 * a problem.  Not for encrypted files or streams. */
	bool may_lack_header;
	/*
	 * The caller will only ask for traces from this time, in ns since the first sample: processes
	 * with samples at other times only need not be read.  Iterating other traces reads them
	 * later; reel_capture_cut with other times, and all functions that write a capture of all
	 * samples, fail (INVALID).  Both 0: the whole time.
	 */
	uint64_t from, to;
	/*
	 * Iterating the traces of that time makes about this many at most, of samples spread evenly
	 * over 16 blocks, themselves spread evenly; over fewer, but at least 4, if they are large.
	 * 0: all.  Encrypted captures, and those with damaged headers of blocks, are always read as
	 * a whole.  This is for counts: unless 0, frames have no names from files.
	 */
	uint32_t samples_max;
	/*
	 * A capture of an earlier time from the same reel_live, with the same options: files that
	 * it has open are not opened and read again.  Only used by reel_capture_open; either
	 * capture may be closed first.  NULL: none.
	 */
	const struct reel_capture *previous;
};

/* As reel_capture_open, with more options. */
struct reel_error *reel_capture_open_with(const char *path, const struct reel_open_options *options,
					  struct reel_capture **ret);

/* The ids of the keys that open a locked capture, separated by ", "; NULL if it is not locked.  The
 * first problem then explains which key is missing (KEY). */
const char *reel_capture_locked(const struct reel_capture *capture);
/* The user who owns the file.  A pipe or standard input is copied: it has the reader's. */
uint32_t reel_capture_owner(const struct reel_capture *capture);
/* In the file's order; constant. */
const struct reel_event_info *reel_capture_events(const struct reel_capture *capture,
						  size_t *count_ret);
/* The keys of the event's values: REEL_EVENT_VALUES, NULL for one without a name, which is argN; or
 * NULL: none has a name. */
const char *const *reel_capture_value_keys(const struct reel_capture *capture, uint32_t event);

/* What a moment of the recording is marked for. Later versions may have others. */
enum reel_mark {
	/* Somebody asked the recorder to keep what it had recorded (SIGUSR2 with --rotate or
	 * --overwrite). */
	REEL_MARK_TRIGGER = 1,
	/* Why data is missing, in all of the recording or in a file of it. */
	REEL_MARK_NOTE = 2,
	/* From here on, samples are taken at another frequency or with shorter stacks, or none. */
	REEL_MARK_STEP = 3,
	/* How far the wall clock may have been off: at the start and end. */
	REEL_MARK_CLOCK = 4,
	/* The wall clock was set, or the host slept. */
	REEL_MARK_JUMP = 5,
};

/* "mark" for kinds of later versions. */
const char *reel_mark_name(uint64_t kind);

struct reel_mark_info {
	uint64_t time; /* as in traces */
	uint64_t kind; /* enum reel_mark */
	const char *text;
};
/* In the file's order; constant. */
const struct reel_mark_info *reel_capture_marks(const struct reel_capture *capture,
						size_t *count_ret);

/* A host with captures in a merged capture (reel_captures_merge). */
struct reel_host_info {
	const char *name;
	const char *kernel_release; /* "" if it had several */
	uint64_t captures;
	/* Start of the first capture, Unix time, ns. */
	uint64_t start_wall_time;
	/* The largest change of its clock between two parts of one recording, ns. */
	uint64_t clock_change;
};
/* Sorted by name; empty if the capture is not merged; constant. */
const struct reel_host_info *reel_capture_hosts(const struct reel_capture *capture,
						size_t *count_ret);

/*
 * All modules, sorted by id, in their present state: a new array, which the caller frees with
 * free(3).  Its strings live as long as the capture.
 * Errors: NO_MEMORY.
 */
struct reel_error *reel_capture_modules(struct reel_capture *capture, struct reel_module_info **ret,
					size_t *count_ret);

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
 * The segment of a module's file with the code at `address` (a frame's module_address).  Returns false
 * without one, as for a module without a file, whose addresses are file offsets.  Only valid for modules with frames.
 */
bool reel_capture_segment(struct reel_capture *capture, uint64_t module_id, uint64_t address,
			  struct reel_segment *ret);

/* ---- walking traces -------------------------------------------------------------------- */

enum reel_value_state {
	REEL_VALUE_KNOWN = 0,
	/* The compiler keeps the value nowhere at this address. */
	REEL_VALUE_OPTIMIZED_OUT = 1,
	/* It was in a register or in memory that the sample does not have, or the debug information
	 * is not understood; `reason` has a phrase. */
	REEL_VALUE_NOT_CAPTURED = 2,
};

/* "known", "optimized out" or "not captured". */
const char *reel_value_state_name(enum reel_value_state state);

/* The value of a variable, or of a part of one, in a frame of a trace. */
struct reel_frame_value {
	size_t frame;	  /* index of reel_trace.frames */
	size_t request;	  /* index of reel_walk_options.values */
	const char *name; /* as asked for, such as "request->length" */
	enum reel_value_state state;
	const char *text;   /* the value, "" unless KNOWN */
	const char *reason; /* a constant; "" unless NOT_CAPTURED */
	/* The value is a number, or by one: an enumeration, a pointer. */
	bool is_number, is_signed;
	uint64_t number; /* of 64 bits, in two's complement */
	/* What the expression begins with; neither if no variable at this address has that name. */
	bool is_parameter, is_local;
};

/* Which values traces have. */
struct reel_value_request {
	/* Of frames of this function, named as in reel_frame, or without scopes and arguments; NULL:
	 * of all functions. */
	const char *function;
	/* A variable, and members and elements of it: "length", "request->length", "this->items[2]".
	 * NULL: all parameters. */
	const char *expression;
	/* Without an expression: also local variables. */
	bool locals;
};

/* Samples to iterate; zero means any. */
struct reel_walk_options {
	struct reel_filter filter;
	/* If `shards` is not 0, iterate only every `shards`th of the blocks that may have matching
	 * samples, starting with number `shard` (from 0).  So the iterators of all shards, in any
	 * processes, return each trace once between them.  The number of samples in END is not
	 * checked.  reel_capture_cut does not support shards. */
	uint32_t shard, shards;
	/*
	 * Traces of threads that waited also have the stack of the thread that woke them, if it was
	 * sampled: on top, in reverse, so that the waker's root is the leaf.  A frame "[woken by]"
	 * is between both; n_kernel_frames is 0.  With shards, some are without.
	 */
	bool wakers;
	/* Values of variables, which need debug information.  Traces of Python functions have none.
	 */
	const struct reel_value_request *values;
	size_t n_values;
};

/* As reel_traces_create, with more options, which may be NULL.
 * Errors: INVALID (invalid shard, or stacks with wakers). */
struct reel_error *reel_traces_create_with(struct reel_capture *capture,
					   const struct reel_walk_options *options,
					   struct reel_traces **ret);

/* All keys of labels that are not fields, in the order of SPEC.md's list; NULL-terminated. */
const char *const *reel_label_keys(void);

/* Of a trace's labels, only those with the match's key count. */
bool reel_label_match_passes(const struct reel_label_match *match, const struct reel_trace *trace);

/* The number that a register of the CPU with this ELF machine and word size has in the masks and
 * samples of Linux's perf_event_open (asm/perf_regs.h), or -1 if it has none. */
int reel_register_perf_number(uint16_t machine, uint32_t word_bits, uint16_t dwarf);

/* ---- variables ------------------------------------------------------------ */

/* A place in the data of a module's file. */
struct reel_variable {
	/* Demangled unless disabled; "" if unknown: the file has no symbol there. */
	const char *name;
	/* Bytes from the variable's start; without a name, the address in the module's ELF address
	 * space. */
	uint64_t offset;
	/* As reel_frame.module_id and module_path. */
	uint64_t module_id;
	const char *module_path;
};

/*
 * The variable with a runtime address, such as a lock's, in the thread of a trace at its time.
 * `ret->module_id` is 0 if the address is not in the data of a known module, as on a heap or stack.
 * Captures record where code is mapped, and the module's file or image shows where its data is;
 * only files have names of variables.
 * Errors: UNSUPPORTED (an ELF file has more than 2^31 symbols).
 */
struct reel_error *reel_capture_variable(struct reel_capture *capture, uint64_t thread,
					 uint64_t time, uint64_t address,
					 struct reel_variable *ret);

/* ---- the code of functions ------------------------------------------------ */

/* The machine code of a function that traces lead to, instruction by instruction. */
struct reel_function;

struct reel_function_options {
	size_t size;
	/* As in a reel_trace with the frame; selects between versions of JIT code. */
	uint64_t thread, time;
	/* Known starts of instructions, such as sampled addresses: ELF addresses of the module,
	 * ascending.  They give the instruction boundaries if only parts of the code are
	 * available. */
	const uint64_t *starts;
	size_t n_starts;
	/* Use Intel's syntax for x86 instead of AT&T's. */
	bool intel;
};

struct reel_function_info {
	/* As reel_frame.function; "" if unknown. */
	const char *name;
	/* Address range, as in reel_frame.module_address: [begin, end). */
	uint64_t begin, end;
	/* As reel_frame.module_id and module_path. */
	uint64_t module_id;
	const char *module_path;
	/* Of its instructions, named as in reel_capture_info.arch; "" if unknown. */
	const char *arch;
	/* The file with the code's bytes; "" if none. */
	const char *code_path;
	/* The bytes are in the capture: pieces of a file missing here, or JIT code. */
	bool embedded;
	/* The disassembler in use, such as "capstone 4.0.2"; "" if it does not know the CPU. */
	const char *disassembler;
};

struct reel_function_place {
	const char *function; /* "" if unknown */
	const char *file;     /* the same */
	uint32_t line, column;
	bool inlined; /* into the place that follows */
	/*
	 * How compilers identify the place, from the debug information of a module's file: the
	 * function's linkage name ("" if unknown; a symbol may have another name, for example a
	 * part's or an alias's); the line of its declaration (0 if unknown); and the block within
	 * the line (DWARF's discriminator; 0 if unknown or the only one).
	 */
	const char *linkage_name;
	uint32_t function_line, discriminator;
};

struct reel_function_instruction {
	uint64_t address;
	/* NULL: the `size` bytes from here on are not available. */
	const uint8_t *bytes;
	uint64_t size;
	/* "mov    (%rdi,%rax,4),%edx"; "" if unknown or without bytes. */
	const char *text;
	enum {
		REEL_FUNCTION_NEXT = 0,	  /* continues after it */
		REEL_FUNCTION_BRANCH = 1, /* after it or at the target */
		REEL_FUNCTION_JUMP = 2,
		REEL_FUNCTION_CALL = 3,
		REEL_FUNCTION_RETURN = 4,
		REEL_FUNCTION_END = 5, /* does not continue */
	} flow;
	/* The target of a branch, jump or call, if the instruction itself contains it. */
	bool has_target;
	uint64_t target;
	/* The function with the target, "" if unknown, and the offset in it. */
	const char *target_name;
	uint64_t target_offset;
	/* The source places of the instruction, innermost first; at least one. */
	const struct reel_function_place *places;
	size_t n_places;
};

/*
 * The function with the address of a frame of this capture; for an inlined frame, the function that
 * it is inlined into.  The result of reel_function_get_info lives as long as the function.  Close
 * the function before the capture.  `options` may be NULL.
 *
 * Errors: NOT_FOUND (the frame is not code but a gap in the stack, REEL_STEP_GAP).
 */
struct reel_error *reel_function_open(struct reel_capture *capture, const struct reel_frame *frame,
				      const struct reel_function_options *options,
				      struct reel_function **ret);
void reel_function_close(struct reel_function *function);
const struct reel_function_info *reel_function_get_info(const struct reel_function *function);
/*
 * The next instruction, NULL after the last one.  It lives until the next call; the strings of its
 * places live as long as the capture.
 *
 * Errors: as reel_traces_next.
 */
struct reel_error *reel_function_next(struct reel_function *function,
				      const struct reel_function_instruction **ret);

/* ---- samples as core files ------------------------------------------------- */

/* A sample with its stack, as an ELF core file of its thread. */
struct reel_core;

struct reel_core_info {
	const char *arch; /* as in reel_capture_info.arch, of the thread */
	uint64_t time;
	uint32_t pid, tid;
	const char *comm;
	uint64_t pc;
	/* Its stack and registers have addresses, but no values. */
	bool scrubbed;
	/* The far end of the stack is missing: it was larger than the recorder's limit. */
	bool stack_cut;
	/* Names of the CPU's registers that the sample lacks, separated by blanks; "" if it has all
	 * that captures store.  The core file has 0 for them. */
	const char *unknown_registers;
	/* Bytes of stacks, and of these the bytes that were not recorded. */
	uint64_t stack_bytes, missing_bytes;
};

/* A module whose code was mapped at the sample's time. */
struct reel_core_module {
	uint64_t id;	  /* as in reel_module_info */
	uint64_t address; /* lowest runtime address */
	/* Its file or image is known, and runtime addresses are ELF addresses plus `bias`. */
	bool has_bias;
	uint64_t bias;
	bool is_program; /* the executable, not one of its libraries */
};

/*
 * Finds the sample with this id (reel_trace.id) and the files of the modules mapped at its time.
 *
 * Errors: NOT_FOUND (no such sample); UNSUPPORTED (its CPU); INVALID (the sample has no stack);
 * CORRUPT (the sample cannot be read).
 */
struct reel_error *reel_core_open(struct reel_capture *capture, uint64_t sample,
				  struct reel_core **ret);
/* Close it before the capture. */
void reel_core_close(struct reel_core *core);
/* Lives as long as the core. */
const struct reel_core_info *reel_core_get_info(const struct reel_core *core);
/* In order of addresses; lives as long as the core. */
const struct reel_core_module *reel_core_modules(const struct reel_core *core, size_t *count_ret);
/*
 * Writes the core file, readable by its owner only.  It has the recorded bytes of stacks and vDSO,
 * and the names of the mapped files (NT_FILE), whose contents debuggers read there.  `path`
 * appears, or replaces an existing file, when it is complete.
 *
 * Errors: UNSUPPORTED (too many separate pieces of stacks).
 */
struct reel_error *reel_core_write(const struct reel_core *core, const char *path);

/* ---- the capture's records, as stored in the file ------------------------- */

/*
 * A field of a record, or a value within a field.  Lists and objects nest.  In a SAMPLE,
 * "registers" is a LIST of LISTs [dwarf, size, value or NULL]; "regions" a LIST of OBJECTs with
 * kind, address, size, missing (a LIST of LISTs [offset, size]), crc (CRC-32 of the bytes) and
 * bytes; "kernel_chain" and "frame_chain" are each a LIST of ADDRESSes, or NULL; "kernel_frame" is
 * an OBJECT with pc, sp, fp and return_address, or NULL.  Values that the file stores as
 * differences between samples are shown in full.
 */
struct reel_field {
	/* "" for the items of a list. */
	const char *name;
	enum {
		REEL_FIELD_UNSIGNED = 0, /* `value` */
		REEL_FIELD_ADDRESS = 1,	 /* `value`, to be shown in hexadecimal */
		REEL_FIELD_TEXT = 2,	 /* `bytes`, supposed to be UTF-8 but not checked */
		REEL_FIELD_BYTES = 3,	 /* `bytes` */
		REEL_FIELD_NULL = 4,	 /* no value */
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
	/* Of the block with the record. */
	uint64_t block_offset;
	uint32_t block_sequence;
	/* As in SPEC.md; "unknown-N" if this version does not know the record, whose only field is
	 * then "size". */
	const char *name;
	const struct reel_field *fields;
	size_t n_fields;
};

/*
 * Calls `visit` for every record in the file's order until it returns false.  The record and all
 * that it points to live until `visit` returns.  A damaged block is skipped and added to
 * reel_capture_problems.  Errors: no others.
 */
struct reel_error *reel_capture_visit_records(struct reel_capture *capture,
					      bool (*visit)(void *context,
							    const struct reel_record_view *record),
					      void *context);

/* The same for all records except samples; much faster. */
struct reel_error *reel_capture_visit_side_records(
	struct reel_capture *capture,
	bool (*visit)(void *context, const struct reel_record_view *record), void *context);

/* ---- verification of captures ----------------------------------------------- */

struct reel_finding {
	/* CORRUPT, TRUNCATED, UNSUPPORTED, MISMATCH, INVALID, KEY or OS. */
	enum reel_error_code code;
	/* Not damage to a reader, but writers do not do it, or it is a consequence of damage. */
	bool is_remark;
	/* One line without a newline: the place and the problem. */
	const char *message;
	/* In the file; UINT64_MAX if the finding has no place in the file. */
	uint64_t offset;
	/* A phrase such as "the samples of 1.500 s to 2.500 s" (since the first sample); "" if
	 * unknown. */
	const char *lost;
};

struct reel_verify_options {
	size_t size;
	/* Called for each finding in the file's order: problems, then remarks.  The finding lives
	 * until `found` returns.  May be NULL. */
	void (*found)(void *context, const struct reel_finding *finding);
	/* Called for each module with an unusable image, before any `found`.  May be NULL. */
	void (*bad_image)(void *context, uint64_t module);
	void *context;
};

struct reel_verify_counts {
	size_t size;
	uint64_t problems, remarks;
	/* Blocks found, and those that could not be read completely. */
	uint64_t blocks, damaged_blocks;
	/* Number read, and number according to END, if it exists. */
	uint64_t samples, side_records;
	bool has_end;
	uint64_t expected_samples, expected_side_records;
	/* From a newer version, so not checked. */
	uint64_t unknown_records, unknown_blocks;
	/* Records and samples with numbers of a newer version, such as a kind. */
	uint64_t unknown_numbers;
	/* Images of modules, and those with missing bytes. */
	uint64_t images, cut_images;
	/* SHA-256 digests of the file that are right: 0 if it has none, 1 otherwise. */
	uint64_t digests;
};

/*
 * Checks the whole capture: every checksum, record and sample, the references between records, and
 * images of modules, which must have the module's build-id and conform to SPEC.md 5.1.  A capture
 * without problems is intact.  Of a locked capture, only the parts readable without a key are
 * checked, and the first problem is KEY.  `options` and `counts` may be NULL.  Errors: no others.
 */
struct reel_error *reel_capture_verify(struct reel_capture *capture,
				       const struct reel_verify_options *options,
				       struct reel_verify_counts *counts);

/* ---- captures made from captures -------------------------------------------- */

/*
 * The options of all functions that make a capture from a capture: reel_capture_scrub, _shrink,
 * _cut, _pack, _resolve and _repair, and reel_captures_merge.  The functions that use a member are
 * named with it; the others ignore it.
 */
struct reel_rewrite_options {
	size_t size;
	/* All: encrypt the new capture to these public keys or files of public keys;
	 * NULL-terminated, or NULL. */
	const char *const *recipients;
	/* All: write an encrypted capture unencrypted.  Without this and without recipients,
	 * encrypted captures are refused (INVALID). */
	bool decrypt;
	/* Scrub: omit the recorder's command line. */
	bool no_command_line;
	/* Shrink: also embed images of the files, as reel_capture_pack does, and use the highest
	 * compression. */
	bool archive;
	/* Pack, resolve: omit names of functions, including JIT functions, and inlined functions
	 * and lines. */
	bool no_symbols;
	/* Pack, resolve: do not replay the new capture to verify that its traces are the same. */
	bool no_check;
	/* Cut: samples to copy; NULL: all. */
	const struct reel_walk_options *filter;
	/* Cut: only samples of events with this name, in which * and ? match; NULL: of all. */
	const char *event;
	/* Merge: as in reel_capture_options, for all captures. */
	const char *const *identities;
	/* Pack, resolve, and shrink for an archive: called with the reason for each file without an
	 * image or with an incomplete one.  Merge: called for each unreadable part of a capture.
	 * May be NULL. */
	void (*problem)(void *context, const char *path, const char *message);
	/* Repair: called for each problem of the capture, as by reel_capture_verify, and for each
	 * other omission.  May be NULL. */
	void (*found)(void *context, const struct reel_finding *finding);
	/* Merge: bytes of all the files.  May be NULL; the others call that of
	 * reel_capture_options. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	/* Scrub: values of variables to keep in the samples; each has a function and an
	 * expression, which together have at most 160 bytes. */
	const struct reel_value_request *keep;
	size_t n_keep;
	/* Pack: embed the debug information and the constants that values of variables need. */
	bool values;
	/* Cut: only samples with these ids, in ascending order; NULL: all. */
	const uint64_t *samples;
	size_t n_samples;
	/* Merge: only samples, losses and marks from this Unix time to that one, in ns; blocks of
	 * other samples are not read.  A `to` of 0: no end. */
	uint64_t from, to;
};

/* The results of the same functions; members of other functions are 0. */
struct reel_rewrite_counts {
	size_t size;
	/* All: samples of the new capture, and bytes of all their stack regions. */
	uint64_t samples, stack_bytes;
	/* All: bytes of the old files, and of the new one. */
	uint64_t bytes_read, bytes_written;
	/* All: records, labels, fields and blocks that this version does not know and omitted. */
	uint64_t unknown;
	/* Shrink: the bytes that unwinding reads, and the number of samples kept unchanged, since a
	 * module on the way is missing or this library cannot unwind the CPU. */
	uint64_t bytes_kept, whole;
	/* Cut: side records that the samples do not need and that were omitted. */
	uint64_t unneeded;
	/* Pack, resolve, and shrink for an archive: files embedded; not found; and omitted as too
	 * large. */
	uint64_t images, images_missing, images_too_large;
	/* Of all images, before compression. */
	uint64_t image_bytes;
	/* Merge: captures and their hosts; a merged one counts as all of its own.  Number of
	 * different modules.  As in reel_host_info: the largest. */
	uint64_t captures, hosts, modules, clock_change;
	/* Merge: unreadable parts.  Repair: problems of the capture; 0: it is intact. */
	uint64_t problems;
	/* Repair: the losses are known from the capture's END. */
	bool tells_losses;
	uint64_t lost_samples, lost_side_records;
	/* Scrub: values of outer calls that samples with many of them have no room for. */
	uint64_t values_left_out;
	/* Merge: the most that a host's wall clock may have been off, in ns; 0: unknown. */
	uint64_t clock_error;
};

/*
 * Writes a copy in which only those words of stacks and registers keep their value that unwinding
 * may follow: pointers into the sample's stack and into code (SPEC.md, section 8.1).  `output`
 * ("-": standard output) appears, or replaces an existing file, when it is complete.  Unreadable
 * parts are reported as the capture's problems.  `options` and `counts` may be NULL.
 *
 * Of the values in options.keep, which are found as by reel_traces_next, traces of the new capture
 * have the same as those of the old one.
 *
 * Errors: INVALID (an invalid public key among the recipients; `output` is the capture itself; an
 * encrypted capture would be written unencrypted; no sample has a known value of one to keep, or it
 * is a structure or an array); with values to keep, as reel_traces_next.
 */
struct reel_error *reel_capture_scrub(struct reel_capture *capture, const char *output,
				      const struct reel_rewrite_options *options,
				      struct reel_rewrite_counts *counts);

/*
 * Writes a copy in which stacks keep only the bytes that unwinding with the present modules reads.
 * Other bytes become 0, and registers without influence become unknown.  Both captures are unwound
 * and compared: MISMATCH if a trace differs.  An archive is compared using its images alone,
 * including functions, inlined calls and lines.  `output` ("-": standard output) appears, or
 * replaces an existing file, after that comparison.  Unreadable parts are reported as the capture's
 * problems.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub and reel_traces_next; MISMATCH; also INVALID if `archive` is set
 * and traces of the capture were iterated before.
 */
struct reel_error *reel_capture_shrink(struct reel_capture *capture, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts);

/*
 * Writes a capture of some of the samples, with their ids and times, and of the side records that
 * their traces and names need, whichever modules are found later.  `output` ("-": standard output)
 * appears, or replaces an existing file, when it is complete.  Unreadable parts are reported as the
 * capture's problems; blocks of samples outside the filter's times are not read.  `options` and
 * `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub; NOT_FOUND if no samples match.
 */
struct reel_error *reel_capture_cut(struct reel_capture *capture, const char *output,
				    const struct reel_rewrite_options *options,
				    struct reel_rewrite_counts *counts);

/*
 * Merges the captures at `paths` (NULL-terminated), from several hosts or parts of a recording.
 * Times are converted to the wall clock, using each capture's start.  Processes, threads, samples
 * and kernels stay separate; identical modules and their images are stored once.  The counts do not
 * depend on the order of the captures or on earlier merges.  `output` ("-": standard output)
 * appears, or replaces an existing file, when it is complete.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_open; INVALID (captures of different CPUs; a capture without a start
 * time, listed twice, or equal to `output`; an encrypted capture would be written unencrypted);
 * UNSUPPORTED (too many captures for one file).
 */
struct reel_error *reel_captures_merge(const char *const *paths, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts);
/* The same, into an open and empty file, which stays open; `name` is for messages. */
struct reel_error *reel_captures_merge_fd(const char *const *paths, int fd, const char *name,
					  const struct reel_rewrite_options *options,
					  struct reel_rewrite_counts *counts);

/*
 * Writes a copy with images of the present files that contain all its traces need: unwind
 * information, names of functions, inlined functions and lines (unless the capture was opened with
 * no_inlines), and bytes of code (SPEC.md, section 5.1).  Its traces are the same where the files
 * are missing.  Both captures are unwound and compared, except traces through files that were too
 * large: MISMATCH if a trace differs.  `output` ("-": standard output) appears, or replaces an
 * existing file, after that.  Unreadable parts are reported as the capture's problems.  `options`
 * and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub and reel_traces_next; MISMATCH; also INVALID if traces of the
 * capture were iterated before.
 */
struct reel_error *reel_capture_pack(struct reel_capture *capture, const char *output,
				     const struct reel_rewrite_options *options,
				     struct reel_rewrite_counts *counts);

/*
 * Writes a capture with traces only: their addresses and how these were found, and images with the
 * names and lines of the present files.  It has no stacks, registers or code.  Its traces are the
 * same, and are compared, as by reel_capture_pack, except that if a raw capture's trace ends at an
 * address without an executable mapping, the address becomes 1, as by reel_capture_scrub.
 * `options` and `counts` may be NULL.  Errors: as reel_capture_pack.
 */
struct reel_error *reel_capture_resolve(struct reel_capture *capture, const char *output,
					const struct reel_rewrite_options *options,
					struct reel_rewrite_counts *counts);

/*
 * Writes the readable parts to a capture that passes reel_capture_verify: without damaged parts,
 * duplicate blocks and unusable images, and with an END record.  Samples whose ids do not ascend
 * get new ones.  A LOSS record reports lost records.  `output` ("-": standard output) appears, or
 * replaces an existing file, when it was verified.  `options` and `counts` may be NULL.
 *
 * Errors: as reel_capture_scrub; CORRUPT (CAPTURE is lost, so nothing can be replayed, or the
 * readable parts contradict each other); UNSUPPORTED (data unknown to this version, which may be
 * damaged); KEY.
 */
struct reel_error *reel_capture_repair(struct reel_capture *capture, const char *output,
				       const struct reel_rewrite_options *options,
				       struct reel_rewrite_counts *counts);

/* ---- images as files ---------------------------------------------------------- */

struct reel_unpack_options {
	size_t size;
	/* Replace existing files. */
	bool force;
	/* Called for each image, with its module and its path below the directory; `problem` is the
	 * reason why it was not written, or NULL.  May be NULL. */
	void (*visit)(void *context, const char *module_path, const char *path,
		      const char *problem);
	void *context;
	/* Instead of images, copy the complete local files of the modules in traces. */
	bool full;
};

struct reel_unpack_counts {
	size_t size;
	uint64_t files, left_out, bytes;
};

/*
 * Writes the capture's images of modules' files below `directory`, which is created if missing: as
 * .build-id/xx/yyyy.debug, where gdb (debug-file-directory) and perf look for debug symbols, or
 * below .no-build-id.  If modules are one file under several paths, the largest image is written.
 * `full` unwinds all traces first and writes the modules' files, as .build-id/xx/yyyy, and their
 * debug files, where `debug_dirs` of another capture's options finds both.  Links below `directory`
 * are not followed, in its path only those that no other user could have made; files are not
 * replaced without `force`.
 * `options` and `counts` may be NULL.  Errors: no others.
 */
struct reel_error *reel_capture_unpack(struct reel_capture *capture, const char *directory,
				       const struct reel_unpack_options *options,
				       struct reel_unpack_counts *counts);

/* ---- outlines ------------------------------------------------------------------- */

struct reel_outline_comm {
	const char *name;
	uint64_t samples;
};

/* What a capture contains, found without reading its stacks. */
struct reel_outline {
	uint8_t file_id[16];
	const char *hostname;
	/* Unix times, ns: of its start and of its end, which is that of its last block if the
	 * recorder did not finish it. */
	uint64_t start, end;
	/* The same of its samples; both 0: no samples. */
	uint64_t first_sample, last_sample;
	uint64_t file_size;
	bool complete; /* the recorder finished it */
	bool encrypted;
	const char *problem; /* the first damage found; NULL: none */
	/* Only with `contents`: the number of samples, lost data by enum reel_loss, and the threads'
	 * names with most samples first. */
	uint64_t samples, lost[REEL_LOSS_COUNT];
	const struct reel_outline_comm *comms;
	size_t n_comms;
};

/*
 * Reads the outline of the capture at `path`; it lives until reel_outline_destroy.  `identities` as
 * in reel_capture_options, or NULL.  With `contents` reads all side records and the heads of samples,
 * else only headers and the first and last side records.
 *
 * Errors: as reel_capture_open; CORRUPT also if the capture's start is unknown.
 */
struct reel_error *reel_outline_read(const char *path, const char *const *identities, bool contents,
				     const struct reel_outline **ret);
void reel_outline_destroy(const struct reel_outline *outline);

/* ---- live captures -------------------------------------------------------------- */

/*
 * A capture that is read while `stackreel-record -o -' writes it.  Records of processes and modules
 * are kept in an unlinked temporary file, with the newest samples, at most 64 MiB of the stream.
 * Used by one thread at a time.
 */
struct reel_live;

/* `fd` belongs to the caller and must stay open. */
struct reel_error *reel_live_create(int fd, struct reel_live **ret);
/* Frees it; NULL is allowed. */
void reel_live_destroy(struct reel_live *live);
/*
 * Reads once, and waits for data unless `fd` is O_NONBLOCK.  `*ended_ret`: the stream has ended.
 * Errors: as reel_capture_open; CORRUPT, with the offset, if no block begins there; TRUNCATED if a
 * block is cut.  Earlier data remains usable.
 */
struct reel_error *reel_live_read(struct reel_live *live, bool *ended_ret);
/* Whether the capture's header and first records have arrived, so that reel_live_capture makes a
 * capture that can be opened. */
bool reel_live_has_begun(const struct reel_live *live);
/* The number of the next block of samples to arrive. */
uint64_t reel_live_next_block(const struct reel_live *live);

struct reel_live_part {
	int fd;		     /* of the capture, which reel_capture_open opens as /proc/self/fd/N */
	uint64_t next_block; /* of the part that follows */
	/* Bytes of the blocks of samples in the stream: in the part, and skipped for max_size. */
	uint64_t size, skipped_size;
};

/*
 * Makes a capture of all side records so far and of samples: those that arrived within the last
 * `window` ns, in blocks numbered `from` or higher, in order of arrival from 0 on.  If these have
 * more than `max_size` bytes, the oldest blocks are skipped, but not the last one.  Samples outside
 * the window are dropped.  The capture is an unlinked file, whose descriptor the caller owns.  It
 * is unfinished; the only problem reported for that is that of a capture whose recorder was killed.
 * Parts that follow one another (`from`: the previous part's next_block) have each sample once.
 */
struct reel_error *reel_live_capture(struct reel_live *live, uint64_t window, uint64_t from,
				     uint64_t max_size, struct reel_live_part *ret);

/* ---- other recorders' files ----------------------------------------------- */

struct reel_import_options {
	size_t size;
	/* The CPU, named as in reel_capture_info.arch, for recordings that do not contain it; or
	 * NULL. */
	const char *arch;
	/* A list of the kernel's symbols like /proc/kallsyms; NULL: from perf's cache in
	 * $HOME/.debug, or from this host's kernel if it has the recorded build-id. */
	const char *kallsyms;
	/* Omit perf's command line. */
	bool no_command_line;
	/* Called periodically, with bytes read and in total.  May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	/* Called with one line for anything not imported.  `code` CORRUPT or TRUNCATED: the file is
	 * damaged, and its readable parts were imported; else a remark.  May be NULL. */
	void (*problem)(void *context, enum reel_error_code code, const char *message);
	void *context;
	/* As in reel_rewrite_options. */
	const char *const *recipients;
	/* Keep stacks and registers as they are; otherwise the capture is scrubbed as by
	 * reel_capture_scrub. */
	bool raw_stacks;
	/* The directory with JITs' symbol files, perf-PID.map and jit-PID.dump; "none": do not use
	 * them; NULL: those in /tmp and where perf found them, if perf recorded on this host and
	 * the files can belong to the processes. */
	const char *jit;
};

struct reel_import_counts {
	size_t size;
	uint64_t samples;
	uint64_t modules;
	/* Lost records, as reported by the recorder. */
	uint64_t lost;
	/* Of the recording, and of the capture. */
	uint64_t bytes_read, bytes_written;
};

/*
 * Converts output of `perf record`, from a file or a pipe ("-" is standard input), to a capture.
 * It may be of any CPU named below (reel_register) and of either byte order, compressed or not.
 * `output` ("-": standard output) appears, or replaces an existing file, when it is complete; a
 * failed import leaves no file.  `options` and `counts` may be NULL.
 *
 * Errors: NOT_A_CAPTURE (not a perf.data); UNSUPPORTED (an unknown CPU, a perf before Linux 2.6.38,
 * or a directory of several files); TRUNCATED and CORRUPT (the part before the samples); INVALID
 * (`arch` is unknown or missing; an invalid public key among the recipients; `output` is the file
 * itself); MISMATCH (`kallsyms` is from a different kernel or boot).
 */
struct reel_error *reel_import_perf(const char *path, const char *output,
				    const struct reel_import_options *options,
				    struct reel_import_counts *counts);

/* ---- keys of encrypted captures --------------------------------------------- */

/* Of a public key as text, with its NUL. */
#define REEL_PUBLIC_KEY_TEXT_SIZE 64

/*
 * Makes a pair of keys and writes the secret key to `path`, which must not exist, readable by its
 * owner only.  The public key is text for --encrypt-to.  Errors: no others.
 */
struct reel_error *reel_identity_create(const char *path,
					char public_key_ret[REEL_PUBLIC_KEY_TEXT_SIZE]);
/* Calls `visit` with the public key of each secret key in the file; the text lives until `visit`
 * returns.  Errors: INVALID (a line is not a secret key, or no keys were found). */
struct reel_error *reel_identity_public_keys(const char *path,
					     void (*visit)(void *context, const char *public_key),
					     void *context);

/* ---- identity of an ELF file ---------------------------------------------- */

/* Of a build-id in hexadecimal, with its NUL. */
#define REEL_BUILD_ID_TEXT_SIZE 129

struct reel_file_identity {
	size_t size;
	/* "" if none. */
	char build_id[REEL_BUILD_ID_TEXT_SIZE];
	/* The build-id of the file with the parts of its debug information that dwz moved
	 * (.gnu_debugaltlink); "" if none. */
	char alternate[REEL_BUILD_ID_TEXT_SIZE];
};

/*
 * Errors: NOT_A_CAPTURE (not an ELF file, or not a regular file); UNSUPPORTED (unknown ELF version,
 * or an object file); TRUNCATED, CORRUPT.
 */
struct reel_error *reel_file_identify(const char *path, struct reel_file_identity *ret);

/* A loadable segment of an ELF file (PT_LOAD). */
struct reel_file_segment {
	uint64_t address, offset, size; /* of its bytes in the file */
	uint32_t flags;			/* as in ELF: 1 execute, 2 write, 4 read */
};

/* Calls `visit` for each segment in the file's order.  Errors: as reel_file_identify. */
struct reel_error *reel_file_segments(const char *path,
				      void (*visit)(void *context,
						    const struct reel_file_segment *segment),
				      void *context);

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
		REEL_LOCATION_UNDEFINED = 6,  /* no caller: the outermost frame */
		REEL_LOCATION_CFA = 7,	      /* is CFA + offset */
	} kind;
	uint16_t reg; /* as in struct reel_register */
	int64_t offset;
};

/* Rules for [begin, end) of the ELF file's addresses. */
struct reel_table_row {
	uint64_t begin, end;
	/* The FDE's range. */
	uint64_t function_begin, function_end;
	/* The symbol at function_begin, "" if none. */
	const char *function;
	bool signal_frame;
	struct reel_location cfa;
	struct reel_location return_address;
	struct reel_location frame_pointer;
	/* Only if the CPU has one (aarch64: x30), else UNKNOWN. */
	struct reel_location link_register;
	/* aarch64: return addresses are signed here (DW_CFA_AARCH64_negate_ra_state). */
	bool return_address_signed;
};

/*
 * The CFI of any ELF file, stripped or not, as rows in address order.
 *
 * Errors: NOT_A_CAPTURE (not an ELF file); UNSUPPORTED (a CPU not listed at reel_register, or an
 * unknown ELF version); TRUNCATED, CORRUPT; NOT_FOUND (no CFI).
 */
struct reel_error *reel_table_open(const char *path, struct reel_table **ret);
void reel_table_close(struct reel_table *table);
/* Named as in reel_capture_info.arch; a constant. */
const char *reel_table_arch(const struct reel_table *table);
/* The register's name ("rsp"), or "r<N>" if the library has no name for it; lives until the next
 * call for the same table. */
const char *reel_table_register_name(struct reel_table *table, uint16_t reg);
/*
 * The next row, NULL after the last one.  It lives until the next call, its strings as long as the
 * table.  An unreadable FDE returns CORRUPT; the next call skips it.
 *
 * Errors: CORRUPT; UNSUPPORTED (more than 2^31 symbols).
 */
struct reel_error *reel_table_next(struct reel_table *table, const struct reel_table_row **ret);

#endif
