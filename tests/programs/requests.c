/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes which request each thread works for, written from OpenTelemetry's OTEP 4947.  Two
 * threads work for two requests each, in turn, and each request has functions of its own:
 * `work_1_2` and `wait_1_2` are only called while thread 1 works for the request whose ids end in
 * 0102, and `idle` only without a request.
 *
 *   requests SECONDS [PUBLISHER.so | MAP] [fork | bad | late | torn | huge | anonymous]
 *
 * PUBLISHER.so has the variable, instead of the program: REQUESTS_PUBLISHER makes it, and
 * REQUESTS_LIBRARY the program that loads it.
 * REQUESTS_MAP makes a program without the variable, which acts as OpenTelemetry's eBPF
 * instrumentation: it writes to a map pinned at MAP, which it makes (OTEP 4855).  With `both`, it has
 * the variable as well, and the map other ids; with `wrong`, it only pins a map of other sizes.
 * The process belongs to the service "shop" in "staging", after OTEP 4719.
 * fork: a child does all of this.
 * late: the service is published after 0.3 s; torn: it is always being changed; huge: its message
 * is larger than memory; anonymous: in a named mapping without a file.
 * bad: also publishes invalid pointers and records, each while a function `bad_…` runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct record {
	uint8_t trace[16], span[8];
	uint8_t valid, flags;
	uint16_t attributes_size;
} __attribute__((packed, aligned(2)));

#ifndef REQUESTS_LIBRARY
/* With other variables, so that the place is not a module's first or last. */
__thread uint64_t requests_before[5] __attribute__((aligned(64))) = { 1 };
__thread struct record *otel_thread_ctx_v1;
__thread uint64_t requests_after[9];
#endif

#ifdef REQUESTS_PUBLISHER
void publish(struct record *record);

void publish(struct record *record)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(struct record *volatile *)&otel_thread_ctx_v1 = record;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
#else
#ifdef REQUESTS_MAP
/* ---- a map instead: OTEP 4855 ---- */

static int map;
static int is_both;

static int bpf(int command, union bpf_attr *attr)
{
	int result = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (result < 0 && errno != ENOENT) {
		perror("bpf");
		exit(1);
	}
	return result;
}

static void map_pin(const char *path, unsigned value_size)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_LRU_HASH, .key_size = 8 };
	union bpf_attr pin = { .pathname = (uintptr_t)path };
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &all); /* before Linux 5.11 */
	make.value_size = value_size;
	make.max_entries = 1 << 14;
	unlink(path);
	map = bpf(BPF_MAP_CREATE, &make);
	pin.bpf_fd = (unsigned)map;
	bpf(BPF_OBJ_PIN, &pin);
}

/* Without a request, a thread has in turn no entry and one without ids. */
static void map_set(const struct record *record)
{
	uint64_t key = (uint64_t)getpid() << 32 | (uint32_t)gettid();
	struct record value = { .trace = { 0 } };
	union bpf_attr entry = { .map_fd = (unsigned)map, .key = (uintptr_t)&key };
	static __thread unsigned count;

	if (record)
		value = *record;
	if (is_both)
		value.span[0] = 0xee;
	if (!record && (is_both || count++ % 2)) {
		bpf(BPF_MAP_DELETE_ELEM, &entry);
		return;
	}
	entry.value = (uintptr_t)&value;
	bpf(BPF_MAP_UPDATE_ELEM, &entry);
}
#endif

#ifdef REQUESTS_LIBRARY
static void (*publish)(struct record *record);
#else
static void publish(struct record *record)
{
#ifdef REQUESTS_MAP
	map_set(record);
	if (!is_both)
		return;
#endif
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(struct record *volatile *)&otel_thread_ctx_v1 = record;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
#endif

/* ---- the process's service: OTEP 4719 ---- */

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	uint64_t message;
};

/* A field of protobuf that has a length, below 128. */
static size_t add_field(uint8_t *to, unsigned number, const void *bytes, size_t size)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)size;
	memmove(to + 2, bytes, size);
	return 2 + size;
}

static size_t add_attribute(uint8_t *to, const char *key, const char *text)
{
	uint8_t value[64], pair[64];
	size_t n = add_field(value, 1, text, strlen(text)), size = 0;

	size += add_field(pair + size, 1, key, strlen(key));
	size += add_field(pair + size, 2, value, n);
	return add_field(to, 1, pair, size);
}

static void publish_service(const char *how)
{
	static uint8_t message[256];
	uint8_t resource[128];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 0;
	int fd = -1;
	struct header *header;

	size += add_attribute(resource + size, "telemetry.sdk.language", "c");
	size += add_attribute(resource + size, "service.name", "shop");
	size += add_attribute(resource + size, "deployment.environment.name", "staging");
	size = add_field(message, 1, resource, size);
	if (strcmp(how, "anonymous") != 0) {
		fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)page))
			exit(1);
	}
	header = mmap(NULL, page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (header == MAP_FAILED || madvise(header, page, MADV_DONTFORK))
		exit(1);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	header->size = strcmp(how, "huge") == 0 ? UINT32_MAX : (uint32_t)size;
	header->message = (uintptr_t)message;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	header->published = strcmp(how, "torn") == 0 ? 0 : 1;
	if (fd < 0)
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, page, "OTEL_CTX");
	else
		close(fd);
}

/* ---- requests ---- */

static double seconds;
static int is_bad;
static struct timespec begin;

static double passed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec);
}

/* Records may not change on the way. */
#define WORK(name)                                                                                 \
	__attribute__((noinline, noclone)) static void name(void)                                  \
	{                                                                                          \
		for (int i = 0; i < 3000000; i++)                                                  \
			__asm__ volatile("" ::: "memory");                                         \
	}

/* clang-format off */
#define WAIT(name)                                                                                 \
	__attribute__((noinline, noclone)) static void name(void)                                  \
	{                                                                                          \
		usleep(2000);                                                                      \
		__asm__ volatile("" ::: "memory");                                                 \
	}

WORK(work_1_1) WORK(work_1_2) WORK(work_2_1) WORK(work_2_2) WORK(idle)
WAIT(wait_1_1) WAIT(wait_1_2) WAIT(wait_2_1) WAIT(wait_2_2) WAIT(wait_idle)
WORK(bad_pointer) WORK(bad_valid) WORK(bad_trace) WORK(bad_span) WORK(bad_page)
	/* clang-format on */

	/* In a page of its own, at its end. */
	static struct record *record_make(int thread, int request)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record *record = (void *)(pages + page - sizeof(*record));

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		exit(1);
	for (uint8_t i = 0; i < 14; i++)
		record->trace[i] = 0xa0 + i;
	record->trace[14] = record->span[6] = (uint8_t)thread;
	record->trace[15] = record->span[7] = (uint8_t)request;
	record->span[0] = 0xfe;
	record->flags = 1;
	record->valid = 1;
	return record;
}

static void work_badly(struct record *record)
{
	const struct record valid = *record;

	publish((void *)(uintptr_t)0xffffffff81000000);
	bad_pointer();
	publish((void *)(uintptr_t)123);
	bad_pointer();
	publish((void *)((uint8_t *)record + 24));
	bad_page();
	publish(record);
	record->valid = 0;
	bad_valid();
	record->valid = 2;
	bad_valid();
	record->valid = 1;
	memset(record->span, 0, sizeof(record->span));
	bad_span();
	record->span[7] = 1;
	memset(record->trace, 0, sizeof(record->trace));
	bad_trace();
	publish(NULL);
	*record = valid;
}

static void *work(void *argument)
{
	int thread = (int)(intptr_t)argument;
	struct record *first = record_make(thread, 1), *second = record_make(thread, 2);
	struct record *third = record_make(thread, 3);

	while (passed() < seconds) {
		publish(first);
		thread == 1 ? work_1_1() : work_2_1();
		thread == 1 ? wait_1_1() : wait_2_1();
		publish(second);
		thread == 1 ? work_1_2() : work_2_2();
		thread == 1 ? wait_1_2() : wait_2_2();
		publish(NULL);
		idle();
		wait_idle();
		if (is_bad)
			work_badly(third);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc < 2)
		return 2;
	seconds = atof(argv[1]);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	is_bad = strcmp(argv[argc - 1], "bad") == 0;
	if (strcmp(argv[argc - 1], "fork") == 0) {
		if (fork()) {
			wait(NULL);
			return 0;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
#ifdef REQUESTS_LIBRARY
	void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);

	if (library)
		*(void **)&publish = dlsym(library, "publish");
	if (!publish) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
#endif
#ifdef REQUESTS_MAP
	if (argc < 3)
		return 2;
	is_both = strcmp(argv[argc - 1], "both") == 0;
	if (strcmp(argv[argc - 1], "wrong") == 0) {
		map_pin(argv[2], 16);
		return 0;
	}
	map_pin(argv[2], 24);
#endif
	if (strcmp(argv[argc - 1], "late") == 0)
		usleep(300000);
	publish_service(argv[argc - 1]);
	for (intptr_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
#endif
