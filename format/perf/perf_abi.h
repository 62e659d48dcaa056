/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants of perf.data, for reading and writing it.  They belong to the file, not to this
 * host, so none is taken from a system header.
 *
 * Sources: tools/perf/Documentation/perf.data-file-format.txt, tools/lib/perf/include/perf/event.h,
 * tools/perf/util/header.h and include/uapi/linux/perf_event.h, as of Linux 6.18; deferred chains,
 * as of 6.19.
 */
#ifndef FORMAT_PERF_PERF_ABI_H
#define FORMAT_PERF_PERF_ABI_H

/* "PERFILE2" as a number, which shows the byte order. */
#define PERF_MAGIC	      0x32454c4946524550ull
#define PERF_MAGIC_SWAPPED    0x50455246494c4532ull
#define PERF_FILE_HEADER_SIZE 104 /* of a file; a pipe's is smaller */
#define PERF_PIPE_HEADER_SIZE 16
#define PERF_FEATURES	      256 /* bits of the header's bitmap */
#define PERF_RECORD_HEADER    8	  /* bytes */
/* struct perf_event_attr up to sample_stack_user (PERF_ATTR_SIZE_VER3), and the first version. */
#define PERF_ATTR_SIZE_MIN 64

enum perf_record_type {
	/* The kernel's. */
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_LOST = 2,
	PERF_RECORD_COMM = 3,
	PERF_RECORD_EXIT = 4,
	PERF_RECORD_THROTTLE = 5,
	PERF_RECORD_FORK = 7,
	PERF_RECORD_SAMPLE = 9,
	PERF_RECORD_MMAP2 = 10,
	PERF_RECORD_LOST_SAMPLES = 13,
	PERF_RECORD_KSYMBOL = 17,
	PERF_RECORD_CALLCHAIN_DEFERRED = 22,
	/* perf's own. */
	PERF_RECORD_USER_START = 64,
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_TRACING_DATA = 66,
	PERF_RECORD_BUILD_ID = 67,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_COMPRESSED2 = 83,
};

enum perf_misc {
	PERF_MISC_CPUMODE = 7,
	PERF_MISC_KERNEL = 1,
	PERF_MISC_USER = 2,
	/* 3: hypervisor, 4 and 5: a guest's kernel and user code */
	PERF_MISC_COMM_EXEC = 1 << 13,
	/* For FORK: perf made it up for an already existing process. */
	PERF_MISC_FORK_EXEC = 1 << 13,
	PERF_MISC_MMAP_DATA = 1 << 13,
	PERF_MISC_MMAP_BUILD_ID = 1 << 14,
	/* For BUILD_ID: the record has the build-id's size. */
	PERF_MISC_BUILD_ID_SIZE = 1 << 15,
	/* For LOST_SAMPLES: the user's filter dropped them. */
	PERF_MISC_LOST_SAMPLES_BPF = 1 << 15,
};

enum perf_sample_type {
	PERF_SAMPLE_IP = 1 << 0,
	PERF_SAMPLE_TID = 1 << 1,
	PERF_SAMPLE_TIME = 1 << 2,
	PERF_SAMPLE_ADDR = 1 << 3,
	PERF_SAMPLE_READ = 1 << 4,
	PERF_SAMPLE_CALLCHAIN = 1 << 5,
	PERF_SAMPLE_ID = 1 << 6,
	PERF_SAMPLE_CPU = 1 << 7,
	PERF_SAMPLE_PERIOD = 1 << 8,
	PERF_SAMPLE_STREAM_ID = 1 << 9,
	PERF_SAMPLE_RAW = 1 << 10,
	PERF_SAMPLE_BRANCH_STACK = 1 << 11,
	PERF_SAMPLE_REGS_USER = 1 << 12,
	PERF_SAMPLE_STACK_USER = 1 << 13,
	PERF_SAMPLE_IDENTIFIER = 1 << 16,
};

enum perf_read_format {
	PERF_READ_TOTAL_TIME_ENABLED = 1 << 0,
	PERF_READ_TOTAL_TIME_RUNNING = 1 << 1,
	PERF_READ_ID = 1 << 2,
	PERF_READ_GROUP = 1 << 3,
	PERF_READ_LOST = 1 << 4,
};

/* branch_sample_type: calls that have not yet returned, as requested by perf's --call-graph lbr. */
#define PERF_BRANCH_CALL_STACK (1 << 11)
/* The index of the newest branch's entry precedes the entries. */
#define PERF_BRANCH_HW_INDEX (1 << 17)
/* A word of counters for each entry follows the entries. */
#define PERF_BRANCH_COUNTERS (1 << 19)
/* The size of struct perf_branch_entry: from, to, flags. */
#define PERF_BRANCH_WORDS 3

/* Bits of struct perf_event_attr's flags, counted from the first declared flag. */
enum perf_attr_flag {
	PERF_ATTR_MMAP = 8,
	PERF_ATTR_COMM = 9,
	PERF_ATTR_FREQ = 10,
	PERF_ATTR_TASK = 13,
	PERF_ATTR_SAMPLE_ID_ALL = 18,
	PERF_ATTR_EXCLUDE_GUEST = 20,
	PERF_ATTR_EXCLUDE_CALLCHAIN_USER = 22,
	PERF_ATTR_MMAP2 = 23,
	PERF_ATTR_COMM_EXEC = 24,
	PERF_ATTR_USE_CLOCKID = 25,
	PERF_ATTR_BUILD_ID = 34,
};

/* The default limit for addresses in a call chain. */
#define PERF_MAX_STACK_DEPTH 127

/* Entries of a call chain from here on are not addresses, but the context of the following ones. */
#define PERF_CONTEXT_MAX	   (-4095ll)
#define PERF_CONTEXT_KERNEL	   (-128ll)
#define PERF_CONTEXT_USER	   (-512ll)
#define PERF_CONTEXT_USER_DEFERRED (-640ll)

enum perf_regs_abi {
	PERF_REGS_ABI_NONE = 0,
	PERF_REGS_ABI_32 = 1,
	PERF_REGS_ABI_64 = 2,
};

/* Features of the header; missing numbers are not used here. */
enum perf_feature {
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_DIR_FORMAT = 24,
	PERF_FEATURE_CLOCK_DATA = 29,
};

/* perf_event_attr.clockid: CLOCK_MONOTONIC. */
#define PERF_CLOCK_MONOTONIC 1

/* perf_event_attr.type, and the configs of PERF_TYPE_SOFTWARE that count nanoseconds. */
#define PERF_TYPE_SOFTWARE	 1
#define PERF_COUNT_SW_CPU_CLOCK	 0
#define PERF_COUNT_SW_TASK_CLOCK 1

#endif
