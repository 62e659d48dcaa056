/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample as given to every unwinder: registers, bytes, and the mapped files, at biases that are
 * computed here and not by replay/.  Only the search for a module's file is replay's.
 */
#ifndef TESTS_TRUTH_UNWIND_SAMPLE_H
#define TESTS_TRUTH_UNWIND_SAMPLE_H

#include <elfutils/libdw.h>
#include <gelf.h>

#include "replay/capture/capture.h"

/* DWARF numbers of general registers and pcs of all our CPUs are below. */
#define TRUTH_REGISTERS_MAX 72

/* The file of a module. */
struct truth_file {
	uint64_t module;  /* its id */
	char *name;	  /* as recorded */
	char *path;	  /* the path to open here */
	char *debug_path; /* NULL: no debug file */
	int fd;
	int debug_fd;	      /* -1: none */
	const uint8_t *bytes; /* the whole file, mapped */
	size_t size;
	Elf *elf;
	GElf_Ehdr header;
	GElf_Phdr *segments; /* program headers of all types */
	size_t n_segments;
	/* For the file, and for it or its debug file; NULL: none. */
	Dwarf_CFI *eh_frame, *debug_frame;
	Dwarf *dwarf;
};

struct truth_mapping {
	uint64_t begin, end; /* runtime addresses */
	uint64_t bias;	     /* runtime address - ELF address */
	struct truth_file *file;
};

/* The files of a space at a time. Equal contents are the same object. */
struct truth_space {
	struct truth_mapping *mappings; /* ascending */
	size_t n;
	void *dwfl; /* dwfl_oracle.c's */
	uint64_t dwfl_used;
};

struct truth_sample {
	const struct reel_arch *arch;
	const struct truth_space *space;
	uint64_t code_mask;
	uint64_t pc;
	uint64_t registers[TRUTH_REGISTERS_MAX]; /* by DWARF number */
	bool known[TRUTH_REGISTERS_MAX];
	const struct reel_sample *sample;
	bool big_endian;
	bool hide_red_zone;
	/* Replay's result: user frames, without inlined ones. */
	const struct reel_trace *trace;
	const uint64_t *ours;
	const uint8_t *steps;
	const struct reel_frame *const *frames;
	size_t n_ours;
};

/* The capture. This program's own errors end it. */
struct truth_capture;
struct truth_capture_options {
	const char *const *symfs;
	bool no_host_files;
	bool hide_red_zone; /* truth_read_stack hides the bytes below sp */
	bool spoil;	    /* one of our return addresses is wrong in each sample */
};
struct truth_capture *truth_capture_open(const char *path,
					 const struct truth_capture_options *options);
void truth_capture_close(struct truth_capture *capture);
/* The next sample with its trace; NULL after the last one.  Valid until the next call. */
const struct truth_sample *truth_capture_next(struct truth_capture *capture);
const char *truth_capture_arch(const struct truth_capture *capture);
/* Mappings that cannot be given to oracles: without a file, or whose file was not found. */
uint64_t truth_capture_mappings_left_out(const struct truth_capture *capture);

/* NULL: no file is mapped there. */
const struct truth_mapping *truth_find(const struct truth_sample *sample, uint64_t address);
/* Recorded bytes only. */
bool truth_read_stack(const struct truth_sample *sample, uint64_t address, size_t size,
		      uint8_t *bytes_ret);
/* Bytes of a mapped file at a runtime address. */
bool truth_read_file(const struct truth_sample *sample, uint64_t address, size_t size,
		     uint8_t *bytes_ret);
/* The same for data that the program may have changed since: relocations are not applied. */
bool truth_read_initial_data(const struct truth_sample *sample, uint64_t address, size_t size,
			     uint8_t *bytes_ret);
/* From the stack or a file, as a number in the target's byte order; `size` from 1 to 8. */
bool truth_read_word(const struct truth_sample *sample, uint64_t address, unsigned size,
		     uint64_t *ret);

/* ---- oracles: other unwinders' results --------------------------------------------------- */

/* Longer chains are cut: they make no progress. */
#define TRUTH_CHAIN_MAX 20000

struct truth_chain {
	uint64_t *pcs;
	size_t n, capacity;
	/* The reason for the end, in the oracle's words; "" for an end without an error. */
	char end[160];
};

void truth_chain_add(struct truth_chain *chain, uint64_t pc);

/* libdw's dwfl.  False: it does not support this CPU. */
bool truth_dwfl_unwind(const struct truth_sample *sample, struct truth_chain *ret);
void truth_dwfl_forget(struct truth_space *space);

/* nongnu libunwind, only for this host's CPU.  False: not built in, or another CPU. */
bool truth_libunwind_unwind(const struct truth_sample *sample, struct truth_chain *ret);
const char *truth_libunwind_absent(const struct truth_sample *sample);
/* Drops its cached tables. */
void truth_libunwind_forget(void);

#endif
