/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports of perf.data: mappings of processes over time, modules and their build-ids, and losses.
 */
#include "tests/support/import.h"
#include "tests/support/test.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define FLAGS	    (BUILD_FLAG(FREQ) | BUILD_FLAG(SAMPLE_ID_ALL))
#define USER	    PERF_RECORD_MISC_USER
/* tools/perf: PERF_RECORD_MISC_FORK_EXEC, of a FORK that perf made up. */
#define FORK_EXEC (1 << 13)

static struct builder_id at(uint64_t time, uint32_t pid, uint32_t tid)
{
	return (struct builder_id){ pid, tid, time, 0, 3 };
}

static struct perf_builder start_of(bool big_endian, uint64_t flags)
{
	struct perf_builder b = { .big_endian = big_endian };

	add_event(&b, SAMPLE_TYPE, flags, 0);
	feature_text(&b, BUILD_FEATURE_HOSTNAME, "here");
	feature_text(&b, BUILD_FEATURE_ARCH, "x86_64");
	return b;
}

static struct perf_builder start(uint64_t flags)
{
	return start_of(false, flags);
}

static void put_at(struct perf_builder *b, uint64_t time, uint32_t pid, uint32_t tid)
{
	put_sample(b, 0, &(struct builder_sample){ .id = at(time, pid, tid), .ip = 0x1000 + time });
}

/* ---- processes --------------------------------------------------------------------------- */

TEST(test_fork)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_comm(&b, 0, "parent", at(0, 10, 10));
	put_mmap(&b, USER, 0x1000, 0x1000, 0, "/bin/parent", at(0, 10, 10));
	put_task(&b, PERF_RECORD_FORK, 0, 10, 10, at(5, 10, 11)); /* a thread */
	put_task(&b, PERF_RECORD_FORK, 0, 10, 11, at(6, 20, 20)); /* a process */
	put_at(&b, 7, 10, 11);
	put_at(&b, 8, 20, 20);
	put_task(&b, PERF_RECORD_EXIT, 0, 10, 10, at(9, 10, 11));
	put_task(&b, PERF_RECORD_EXIT, 0, 10, 10, at(10, 10, 10));
	put_task(&b, PERF_RECORD_EXIT, 0, 10, 10, at(11, 20, 20));
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SPACE time=0 id=1 parent=0 origin=0 pid=10 ");
	assert_lines(1, &imported, "THREAD time=5 id=2 space=1 origin=1 tid=11 ",
		     "parent=1 comm=\"parent\"");
	/* It inherits the parent's mappings: they are not repeated. */
	assert_lines(1, &imported, "SPACE time=6 id=2 parent=1 origin=1 pid=20 ");
	assert_lines(1, &imported, "THREAD time=6 id=3 space=2 origin=1 tid=20 ",
		     "parent=2 comm=\"parent\"");
	assert_lines(1, &imported, "MAP ", "space=1 ");
	assert_lines(1, &imported, "SAMPLE id=1 time=7 thread=2 ");
	assert_lines(1, &imported, "SAMPLE id=2 time=8 thread=3 ");
	assert_lines(1, &imported, "THREAD_EXIT time=9 thread=2 ");
	assert_lines(1, &imported, "SPACE_EXIT time=10 space=1 ");
	assert_lines(1, &imported, "SPACE_EXIT time=11 space=2 ");
	assert_int_equal(imported.problem_codes, 0);
}

/* At the beginning of a recording, perf lists each existing mapping. */
TEST(test_made_up_fork)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_mmap(&b, USER, 0x1000, 0x1000, 0, "/bin/parent", at(0, 10, 10));
	put_task(&b, PERF_RECORD_FORK, FORK_EXEC, 10, 10, at(0, 20, 20));
	put_task(&b, PERF_RECORD_FORK, FORK_EXEC, 20, 20, at(0, 20, 21));
	put_mmap(&b, USER, 0x2000, 0x1000, 0, "/bin/child", at(0, 20, 20));
	put_at(&b, 8, 20, 21);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SPACE ", "parent=0 origin=0 pid=20 ");
	assert_lines(1, &imported, "MAP ", "space=2 address=0x2000 ");
	assert_lines(1, &imported, "MAP ", "space=1 address=0x1000 ");
	assert_lines(2, &imported, "THREAD ", "space=2 origin=0 ");
}

TEST(test_exec)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_comm(&b, 0, "sh", at(0, 10, 10));
	put_task(&b, PERF_RECORD_FORK, 0, 10, 10, at(1, 10, 11));
	put_mmap(&b, USER, 0x1000, 0x1000, 0, "/bin/sh", at(2, 10, 10));
	put_at(&b, 3, 10, 10);
	put_comm(&b, PERF_RECORD_MISC_COMM_EXEC, "ls", at(4, 10, 10));
	put_mmap(&b, USER, 0x5000, 0x1000, 0, "/bin/ls", at(5, 10, 10));
	put_at(&b, 6, 10, 10);
	put_comm(&b, 0, "renamed", at(7, 10, 10));
	import_built(&b, NULL, &imported);
	/* Its own space, with no earlier mappings. */
	assert_lines(1, &imported, "SPACE time=4 id=2 parent=1 origin=2 pid=10 ");
	assert_lines(1, &imported, "THREAD_EXEC time=4 thread=1 space=2 ");
	assert_lines(1, &imported, "THREAD_EXIT time=4 thread=2 ");
	assert_lines(1, &imported, "THREAD_COMM time=4 thread=1 comm=\"ls\"");
	assert_lines(1, &imported, "THREAD_COMM time=7 thread=1 comm=\"renamed\"");
	assert_lines(1, &imported, "MAP time=2 space=1 ");
	assert_lines(1, &imported, "MAP time=5 space=2 ");
	assert_lines(2, &imported, "SAMPLE ", "thread=1 ");
}

/* Numbers that are reused, even where the end of the first was lost. */
TEST(test_reused_numbers)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_comm(&b, 0, "one", at(1, 10, 10));
	put_task(&b, PERF_RECORD_EXIT, 0, 1, 1, at(2, 10, 10));
	put_task(&b, PERF_RECORD_FORK, 0, 1, 1, at(3, 10, 10));
	put_at(&b, 4, 10, 10);
	put_task(&b, PERF_RECORD_FORK, 0, 1, 1, at(5, 10, 10)); /* no exit before */
	put_at(&b, 6, 10, 10);
	put_at(&b, 7, 30, 10); /* a thread of another process now */
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SAMPLE id=1 time=4 thread=2 ");
	assert_lines(1, &imported, "SAMPLE id=2 time=6 thread=3 ");
	assert_lines(1, &imported, "SAMPLE id=3 time=7 thread=4 ");
	assert_lines(1, &imported, "THREAD_EXIT time=2 thread=1 ");
	assert_lines(1, &imported, "THREAD_EXIT time=5 thread=2 ");
	assert_lines(1, &imported, "THREAD_EXIT time=7 thread=3 ");
	assert_lines(3, &imported, "SPACE_EXIT ");
	assert_lines(1, &imported, "SPACE time=7 id=4 ", "pid=30 ");
}

/* A task that is being torn down has no numbers any more; the idle tasks all have 0. */
TEST(test_odd_numbers)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_at(&b, 1, UINT32_MAX, UINT32_MAX);
	put_at(&b, 2, 0, 0);
	put_at(&b, 3, 0, 0);
	put_mmap(&b, USER, 0x1000, 0x1000, 0, "/x", at(4, UINT32_MAX, UINT32_MAX));
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "SAMPLE id=1 time=1 thread=0 ");
	assert_lines(2, &imported, "SAMPLE ", "thread=1 ");
	assert_lines(0, &imported, "MAP ");
}

/* Without sample_id_all, only samples, forks and exits have times. */
TEST(test_no_sample_ids)
{
	_cleanup_builder_ struct perf_builder b = start(BUILD_FLAG(FREQ));
	_cleanup_imported_ struct imported imported;

	put_comm(&b, 0, "one", at(1, 10, 10));
	put_at(&b, 4, 10, 10);
	put_mmap(&b, USER, 0x1000, 0x1000, 0, "/bin/one", at(9, 10, 10));
	put_task(&b, PERF_RECORD_FORK, 0, 10, 10, at(5, 20, 20));
	put_mmap(&b, USER, 0x2000, 0x1000, 0, "/bin/two", at(9, 20, 20));
	put_at(&b, 6, 20, 20);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "THREAD_COMM time=0 ");
	assert_lines(1, &imported, "MAP time=4 ", "address=0x1000 ");
	assert_lines(1, &imported, "MAP time=5 ", "space=2 address=0x2000 ");
	assert_lines(1, &imported, "THREAD time=5 ", "origin=1 tid=20 ");
}

/* ---- mappings and modules ------------------------------------------------------------------ */

TEST(test_mappings)
{
	uint8_t id[20] = { 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
	_cleanup_builder_ struct perf_builder b = start(FLAGS | BUILD_FLAG(BUILD_ID));
	_cleanup_imported_ struct imported imported;

	put_mmap(&b, USER, 0x1000, 0x3000, 0x2000, "/bin/one", at(1, 10, 10));
	put_mmap(&b, USER | (1 << 13), 0x8000, 0x1000, 0, "/data", at(1, 10, 10));
	put_mmap2(&b, USER, 0x5000, 0x1000, NULL, 0, "/bin/two", at(2, 10, 10));
	put_mmap2(&b, USER, 0x6000, 0, id, 4, "/bin/three", at(3, 10, 10));
	put_mmap2(&b, USER, 0x6000, 0, id, 20, "/bin/four", at(3, 10, 10));
	/* Another name for the same file, or a different file with the same identity. */
	put_mmap2(&b, USER, 0x7000, 0, id, 20, "/mnt/four", at(3, 20, 20));
	put_mmap2(&b, USER, 0x9000, 0, NULL, 0, "//anon", at(3, 10, 11));
	put_mmap(&b, USER, 0x7fff0000, 0x2000, 0, "[vdso]", at(4, 10, 10));
	put_mmap(&b, PERF_RECORD_MISC_GUEST_USER, 0xa000, 0x1000, 0, "/guest", at(4, 10, 10));
	put_mmap(&b, PERF_RECORD_MISC_KERNEL, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
		 "[kernel.kallsyms]_text", at(0, UINT32_MAX, 0));
	put_mmap(&b, USER, 0xb000, 0, 0, "/nothing", at(5, 10, 10));
	put_mmap(&b, USER, UINT64_MAX, 2, 0, "/around", at(5, 10, 10));
	put_at(&b, 10, 10, 10);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported,
		     "MAP time=1 space=1 address=0x1000 size=0x3000 offset=0x2000 protection=5 ");
	assert_lines(1, &imported, "MAP time=1 ", "address=0x8000 ", "protection=1 ");
	assert_lines(1, &imported, "MAP time=2 ",
		     "address=0x5000 size=0x1000 offset=0x1000 protection=5 flags=2 ");
	assert_lines(8, &imported, "MAP ");
	assert_lines(1, &imported, "MODULE ", "kind=1 ",
		     "inode=4711 inode_generation=3 build_id= path=\"/bin/two\"");
	assert_lines(1, &imported, "MODULE ", "kind=1 ", "build_id=aabbccdd path=\"/bin/three\"");
	assert_lines(1, &imported, "MODULE ",
		     "build_id=aabbccddee000000000000000000000000000000 path=\"/bin/four\"");
	assert_lines(1, &imported, "MODULE ",
		     "build_id=aabbccddee000000000000000000000000000000 path=\"/mnt/four\"");
	assert_lines(1, &imported, "MAP time=3 space=2 ", "module=6");
	assert_lines(1, &imported, "MODULE id=6 ", "path=\"/mnt/four\"");
	assert_lines(1, &imported, "MODULE ", "kind=5 ", "path=\"//anon\"");
	assert_lines(1, &imported, "MODULE ", "kind=2 ", "path=\"[vdso]\"");
	assert_lines(1, &imported, "SPACE ", "vdso=0x7fff0000 ");
	assert_lines(0, &imported, "IMAGE ");
	assert_int_equal(imported.counts.modules, 8);
	assert_says(imported.problems, "an empty mapping; skipped 2 such records");
}

/*
 * While another recorder asks for build-ids, Linux also marks the records of recorders that did
 * not; these have the device there. With the disks' major number 8, half an inode would be read as
 * a build-id.
 */
TEST(test_marked_mappings)
{
	/* MMAP2's union: maj 8, min 1, ino 4711, generation 3; put_mmap2 puts the size first. */
	uint8_t device[20] = { 1, 0, 0, 0, 0x67, 0x12, 0, 0, 0, 0, 0, 0, 3 };
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported;

	put_mmap2(&b, USER, 0x5000, 0, device, 8, "/bin/marked", at(2, 10, 10));
	put_at(&b, 10, 10, 10);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "MODULE ", "device_major=8 device_minor=1 ",
		     "inode=4711 inode_generation=3 build_id= path=\"/bin/marked\"");
}

/* The list of build-ids at the end of a file, or as a pipe's records. */
TEST(test_build_ids)
{
	uint8_t id[20] = { 1, 2, 3, 4, 5, 6, 7 };

	for (int i = 0; i < 4; i++) {
		_cleanup_builder_ struct perf_builder b = start_of(i & 2, FLAGS);
		_cleanup_imported_ struct imported imported;
		struct reel_buffer *list = feature(&b, BUILD_FEATURE_BUILD_ID);

		b.is_pipe = i & 1;
		/* Since Linux 5.10 with the size; before that, MD5 and other 16-byte ids were
		 * padded with zeros. */
		put_build_id(&b, list, USER | 1 << 15, id, 10, "/bin/sized");
		put_build_id(&b, list, USER, id, 0, "/bin/old");
		put_build_id(&b, list, PERF_RECORD_MISC_KERNEL, id, 0, "[kernel.kallsyms]");
		put_build_id(&b, list, USER | 1 << 15, id, 0, "/bin/none");
		put_mmap(&b, USER, 0x1000, 0x1000, 0, "/bin/sized", at(1, 10, 10));
		put_mmap2(&b, USER, 0x2000, 0, NULL, 0, "/bin/old", at(1, 10, 10));
		put_mmap2(&b, USER, 0x3000, 0, NULL, 0, "/bin/none", at(1, 10, 10));
		put_at(&b, 10, 10, 10);
		import_built(&b, NULL, &imported);
		assert_lines(1, &imported, "MODULE ",
			     "build_id=01020304050607000000 path=\"/bin/sized\"");
		/* The best guess: trailing zeros may belong to it. */
		assert_lines(1, &imported, "MODULE ", "inode=4711 ",
			     "build_id=0102030405060700 path=\"/bin/old\"");
		assert_lines(1, &imported, "MODULE ", "inode=4711 ",
			     "build_id= path=\"/bin/none\"");
		assert_lines(1, &imported, "CAPTURE ", "kernel_build_id=0102030405060700 ");
		assert_int_equal(imported.problem_codes, 0);
	}
}

/* The kernel's names, from a list given by the user. */
TEST(test_kernel_names)
{
	static const char list[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000100 T do_work\n"
				   "ffffffff81000200 t helper\n"
				   "ffffffffc0000000 t driver_do\t[driver]\n"
				   "ffffffffc0000100 t driver_end\t[driver]\n";
	struct builder_sample sample = { .id = { 1, 1, 5, 0, 0 }, .misc = PERF_RECORD_MISC_KERNEL };
	struct reel_import_options options = { 0 };
	_cleanup_imported_ struct imported imported, moved;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file(list, strlen(list)));
	options.kallsyms = path;
	for (int i = 0; i < 2; i++) {
		struct perf_builder b = start(FLAGS);

		/* Its address in the recording; another address would be another boot. */
		put_mmap(&b, PERF_RECORD_MISC_KERNEL, 0xffffffff81000000, 0x1000000,
			 0xffffffff81000000 + (i ? 0x200000 : 0), "[kernel.kallsyms]_text",
			 at(0, UINT32_MAX, 0));
		sample.ip = 0xffffffff81000180;
		put_sample(&b, 0, &sample);
		sample.ip = 0xffffffffc0000010;
		put_sample(&b, 0, &sample);
		begin(&b, PERF_RECORD_KSYMBOL, 0);
		b64(&b, 0xffffffffa0000000);
		b32(&b, 64);
		b16(&b, 1); /* of BPF */
		b16(&b, 0);
		bname(&b, "bpf_prog_1_x");
		end_with_id(&b, at(1, 0, 0));
		begin(&b, PERF_RECORD_KSYMBOL, 0);
		b64(&b, 0xffffffffa0000000);
		b32(&b, 64);
		b16(&b, 1);
		b16(&b, 1); /* it is gone */
		bname(&b, "bpf_prog_1_x");
		end_with_id(&b, at(9, 0, 0));
		import_built(&b, &options, i ? &moved : &imported);
		builder_free(&b);
	}
	assert_lines(1, &imported, "KERNEL_SYMBOL address=0xffffffff81000100 size=256 ",
		     "name=\"do_work\"");
	assert_lines(1, &imported, "KERNEL_SYMBOL address=0xffffffffc0000000 ",
		     "name=\"driver_do\"");
	assert_lines(1, &imported, "KERNEL_SYMBOL address=0xffffffffa0000000 size=64 ",
		     "name=\"bpf_prog_1_x\" since=1");
	assert_lines(1, &imported, "KERNEL_SYMBOL address=0xffffffffa0000000 size=64 ",
		     "name=\"\" since=9");
	/* The kernel's address. */
	assert_lines(1, &imported, "KERNEL_SYMBOL address=0xffffffff81000000 size=1 ",
		     "name=\"_text\"");
	assert_lines(1, &imported, "MODULE ", "kind=4 ", "driver");
	assert_lines(0, &imported, "KERNEL_SYMBOL ", "helper");
	assert_int_equal(imported.problem_codes, 0);
	assert_int_equal(moved.code, REEL_ERROR_MISMATCH);
}

/* ---- losses ------------------------------------------------------------------------------ */

static void put_lost(struct perf_builder *b, uint32_t type, uint16_t misc, uint64_t count,
		     uint64_t time)
{
	begin(b, type, misc);
	if (type == PERF_RECORD_LOST)
		b64(b, 1);
	b64(b, count);
	if (type == PERF_RECORD_THROTTLE) {
		b64(b, 1);
		b64(b, 1);
	}
	end_with_id(b, at(time, 1, 1));
}

TEST(test_losses)
{
	_cleanup_builder_ struct perf_builder b = start(FLAGS);
	_cleanup_imported_ struct imported imported, twice;

	put_at(&b, 1, 10, 10);
	put_lost(&b, PERF_RECORD_LOST, 0, 7, 5);
	put_lost(&b, PERF_RECORD_LOST_SAMPLES, 0, 9, 6);
	/* Samples dropped by the user's own filter (PERF_RECORD_MISC_LOST_SAMPLES_BPF). */
	put_lost(&b, PERF_RECORD_LOST_SAMPLES, 1 << 15, 1000, 6);
	put_lost(&b, PERF_RECORD_THROTTLE, 0, 12345, 7);
	begin(&b, PERF_RECORD_UNTHROTTLE, 0);
	end(&b);
	import_built(&b, NULL, &imported);
	assert_lines(1, &imported, "LOSS time=5 cpu=3 cause=1 count=7 ");
	assert_lines(1, &imported, "LOSS time=6 cpu=3 cause=1 count=9 ");
	assert_lines(1, &imported, "LOSS time=7 cpu=3 cause=7 count=1 ");
	assert_lines(3, &imported, "LOSS ");
	assert_int_equal(imported.counts.lost, 16);
	/*
	 * An event that counts its own losses (PERF_FORMAT_LOST): the same losses, reported twice.
	 */
	b.events[0].read_format = 1 << 4;
	import_built(&b, NULL, &twice);
	assert_lines(1, &twice, "LOSS time=5 cpu=3 cause=1 count=7 ");
	assert_lines(1, &twice, "LOSS time=6 cpu=3 cause=1 count=2 ");
	assert_int_equal(twice.counts.lost, 9);
}

int main(void)
{
	/* This host's kernel and perf's cache must not be used. */
	setenv("HOME", "/nonexistent", 1);
	return unit_tests_run(NULL, NULL);
}
