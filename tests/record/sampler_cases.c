/* SPDX-License-Identifier: Apache-2.0 */
/* Children that know the expected contents of their samples, and checks of these samples. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __x86_64__
#include <asm/prctl.h>
#endif

#include "tests/record/sampler_probe.h"
#include "tests/record/sampler_workers.h"

#define PATTERN(address) ((uint64_t)(address) ^ UINT64_C(0x5a5aa5a5c3c33c3c))

/* ---- shared checks ------------------------------------------------------------------- */

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return false;
}

static bool check_registers(const struct reel_bpf_sample *sample, uint64_t mask)
{
	for (unsigned i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		if (!(sample->known >> i & 1))
			return fail("register %u is unknown", i);
		if (sample->registers[i] != MAGIC(i))
			return fail("register %u is %#llx, where %u", i,
				    (unsigned long long)sample->registers[i], sample->where);
	}
	return true;
}

static bool page_missing(const struct reel_bpf_region *region, uint64_t address)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t n = address / page - region->address / page;

	return region->missing[n / 64] >> n % 64 & 1;
}

/* The pattern from shared->low to high, except for holes, is in the region. */
static bool check_pattern(const struct reel_bpf_region *region, const uint8_t *bytes)
{
	if (region->address > shared->low || region->address + region->size < shared->high)
		return fail("region [%#llx + %#x] misses a part of [%#llx, %#llx)",
			    (unsigned long long)region->address, region->size,
			    (unsigned long long)shared->low, (unsigned long long)shared->high);
	if (((uintptr_t)bytes - region->address) % REEL_BPF_ALIGNMENT)
		return fail("the region of %#llx is at %p: copied slowly",
			    (unsigned long long)region->address, (const void *)bytes);
	for (uint64_t address = shared->low; address < shared->high; address += 8) {
		bool in_hole = address >= shared->hole && address < shared->hole_end;
		uint64_t value;

		memcpy(&value, bytes + (address - region->address), 8);
		if (page_missing(region, address)) {
			if (value)
				return fail("%#llx is missing, but not 0",
					    (unsigned long long)address);
			continue;
		}
		if (in_hole ? value != 0 : value != PATTERN(address))
			return fail("at %#llx: %#llx", (unsigned long long)address,
				    (unsigned long long)value);
	}
	return true;
}

static bool any_missing(const struct reel_bpf_region *region)
{
	for (unsigned i = 0; i < REEL_BPF_MISSING_WORDS; i++) {
		if (region->missing[i])
			return true;
	}
	return false;
}

/* The sample's task is at probe_spin's end. */
static bool is_spinning(const struct reel_bpf_sample *sample)
{
	return sample->flags & REEL_BPF_REGISTERS && !(sample->flags & REEL_BPF_COMPAT) &&
	       sample->pc == (uint64_t)(uintptr_t)probe_spin_pc;
}

/* Fills `size` bytes of the stack, then spins below them. */
static __attribute__((noinline)) void pattern_spin(size_t size)
{
	volatile uint64_t *words = __builtin_alloca(size);

	for (size_t i = 0; i < size / 8; i++) {
		uint64_t address = (uint64_t)(uintptr_t)&words[i];

		if (address < shared->hole || address >= shared->hole_end)
			words[i] = PATTERN(address);
	}
	shared->low = (uint64_t)(uintptr_t)words;
	shared->high = shared->low + size / 8 * 8;
	probe_spin(&shared->sp);
}

/* ---- registers ------------------------------------------------------------------------ */

static void spin_worker(void)
{
	probe_spin(&shared->sp);
}

static bool spin_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if ((int)sample->pid != state.child || sample->tid != sample->pid)
		return fail("pid %u, tid %u", sample->pid, sample->tid);
	if (sample->weight < 900000 || sample->weight > 1100000)
		return fail("weight %llu", (unsigned long long)sample->weight);
	if (!is_spinning(sample))
		return true;
	if (sample->where != REEL_BPF_WHERE_USER && sample->where != REEL_BPF_WHERE_INTERRUPT)
		return fail("where %u", sample->where);
	if (sample->pc_register != PROBE_PC)
		return fail("the pc is register %u", sample->pc_register);
	if (sample->registers[PROBE_SP] != shared->sp)
		return fail("sp %#llx, not %#llx", (unsigned long long)sample->registers[PROBE_SP],
			    (unsigned long long)shared->sp);
	if (!check_registers(sample, PROBE_SPIN_MASK))
		return false;
	if (sample->n_regions != 1 || sample->regions[0].kind != REEL_BPF_REGION_STACK)
		return fail("%u regions", sample->n_regions);
	if (sample->flags & (REEL_BPF_STACK_CUT | REEL_BPF_TOP_UNKNOWN))
		return fail("flags %#x", sample->flags);
	good++;
	return true;
}

static void read_worker(void)
{
	static char buffer[1 << 16];
	int fd = open("/dev/zero", O_RDONLY);

	shared->low = (uint64_t)(uintptr_t)buffer;
	probe_read(fd, buffer, sizeof(buffer));
}

static bool read_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!(sample->flags & REEL_BPF_REGISTERS) ||
	    sample->pc != (uint64_t)(uintptr_t)probe_read_pc)
		return true;
	if (!check_registers(sample, PROBE_READ_MASK))
		return false;
	/* Between the system call and the jump it is in user mode. */
	if (sample->where != REEL_BPF_WHERE_SYSCALL)
		return true;
	if (sample->known & PROBE_READ_UNKNOWN)
		return fail("known is %#llx", (unsigned long long)sample->known);
	if (sample->registers[PROBE_BUFFER] != shared->low ||
	    sample->registers[PROBE_SIZE] != 1 << 16)
		return fail("arguments are wrong");
	if (state.probe->kernel_chain && !sample->n_kernel_chain)
		return fail("no kernel chain");
	if (state.probe->kernel_chain && !PROBE_KERNEL(parts->kernel_chain[0]))
		return fail("kernel chain at %#llx", (unsigned long long)parts->kernel_chain[0]);
	if (!state.probe->kernel_chain && sample->n_kernel_chain)
		return fail("an unrequested kernel chain");
	if (state.probe->frame_chain &&
	    (!sample->n_frame_chain || parts->frame_chain[0] != sample->pc))
		return fail("the first of %u addresses by frame pointers is not the pc",
			    sample->n_frame_chain);
	if (!state.probe->frame_chain && sample->n_frame_chain)
		return fail("an unrequested frame chain");
	good++;
	return true;
}

/* ---- stacks ---------------------------------------------------------------------------- */

static void pattern_worker(void)
{
	pattern_spin(20000);
}

static bool pattern_check(const struct reel_sampler_parts *parts)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0];
	const uint64_t red_zone = PROBE_RED_ZONE;

	if (!is_spinning(sample))
		return true;
	/* At sp's page if the next lower one was never touched. */
	if (region->address != ((shared->sp - red_zone) & ~UINT64_C(7)) &&
	    (region->address != (shared->sp & ~(page - 1)) ||
	     shared->sp - region->address >= red_zone))
		return fail("the region begins at %#llx, sp is %#llx",
			    (unsigned long long)region->address, (unsigned long long)shared->sp);
	if (region->address + region->size > (uint64_t)(uintptr_t)environ[0])
		return fail("the region reaches beyond the main thread's stack");
	if (!check_pattern(region, parts->region_bytes[0]))
		return false;
	if (!any_missing(region))
		good++;
	return true;
}

static void deep_worker(void)
{
	pattern_spin(900 << 10);
}

static bool deep_counts(const struct reel_bpf_counts *counts)
{
	return !counts->stack_cut || fail("stack_cut %lu", (unsigned long)counts->stack_cut);
}

static bool cut_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *root = &sample->regions[REEL_BPF_ROOT];
	uint64_t high = shared->high;
	bool is_right;

	if (!is_spinning(sample))
		return true;
	if (!(sample->flags & REEL_BPF_STACK_CUT) || !(sample->flags & REEL_BPF_ROOT_PART) ||
	    sample->regions[0].size != 49152 || root->size != 16384)
		return fail("flags %#x, sizes %u and %u", sample->flags, sample->regions[0].size,
			    root->size);
	shared->high = sample->regions[0].address + sample->regions[0].size;
	is_right = check_pattern(&sample->regions[0], parts->region_bytes[0]);
	shared->high = high;
	if (!is_right)
		return false;
	/* It ends where the arguments begin, and contains the pattern's end. */
	if (root->address + root->size <= high || root->address >= high)
		return fail("the root part [%#llx + %#x] is not at %#llx",
			    (unsigned long long)root->address, root->size,
			    (unsigned long long)high);
	for (uint64_t address = root->address; address < high && !any_missing(root); address += 8) {
		uint64_t value;

		memcpy(&value, parts->region_bytes[REEL_BPF_ROOT] + (address - root->address), 8);
		if (value != PATTERN(address))
			return fail("at %#llx of the root part: %#llx", (unsigned long long)address,
				    (unsigned long long)value);
	}
	good++;
	return true;
}

static bool cut_counts(const struct reel_bpf_counts *counts)
{
	return counts->stack_cut >= state.good ||
	       fail("stack_cut %lu", (unsigned long)counts->stack_cut);
}

static bool full_counts(const struct reel_bpf_counts *counts)
{
	return counts->ring_full ||
	       fail("ring_full %lu, ring_busy %lu", (unsigned long)counts->ring_full,
		    (unsigned long)counts->ring_busy);
}

/* Three pages in the middle are never touched, far below the stack used earlier. */
static void hole_worker(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char here;

	shared->hole = ((uint64_t)(uintptr_t)&here - 40 * page) & ~(page - 1);
	shared->hole_end = shared->hole + 3 * page;
	pattern_spin(50 * page);
}

static bool hole_check(const struct reel_sampler_parts *parts)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0];

	if (!is_spinning(sample))
		return true;
	if (!(sample->flags & REEL_BPF_COPY_FAILED))
		return fail("the hole was read");
	for (uint64_t address = shared->hole; address < shared->hole_end; address += page) {
		if (!page_missing(region, address))
			return fail("the hole's page %#llx is not missing",
				    (unsigned long long)address);
	}
	if (!check_pattern(region, parts->region_bytes[0]))
		return false;
	if (!page_missing(region, shared->hole - page) && !page_missing(region, shared->hole_end))
		good++;
	return true;
}

/* ---- threads and other stacks ------------------------------------------------------------- */

static void *thread_main(void *unused)
{
	pthread_attr_t attributes;
	size_t size;
	void *stack;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack, &size);
	shared->stack_low = (uint64_t)(uintptr_t)stack;
	shared->stack_high = shared->stack_low + size;
	shared->tid = (uint64_t)syscall(SYS_gettid);
	pattern_spin(9000);
	return NULL;
}

static void thread_worker(void)
{
	pthread_t thread;

	/* Other mappings next to its stack. */
	for (int i = 0; i < 200; i++)
		mmap(NULL, 4096 << (i % 3), i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

static bool thread_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0];

	if (!is_spinning(sample))
		return true;
	if (sample->tid != shared->tid || (int)sample->pid != state.child)
		return fail("pid %u, tid %u", sample->pid, sample->tid);
	if (sample->flags & REEL_BPF_TOP_UNKNOWN)
		return fail("the stack's end is unknown");
	if (region->address + region->size > shared->stack_high)
		return fail("the region reaches beyond the thread's stack");
	if (!check_pattern(region, parts->region_bytes[0]))
		return false;
	good++;
	return true;
}

#ifdef __x86_64__
/* A stack in the middle of a mapping, as goroutines have, and the structures that describe it.  Go's
 * are larger: what is read of one is in touched pages. */
static struct {
	uint64_t lo, hi, guards[2], panic, defer, *m;
} __attribute__((aligned(512))) goroutine, g0;

static void goroutine_main(void)
{
	/* No thread-local variable is needed from here on. */
	__asm__ volatile("mov %0, %%fs:-8" : : "r"(&goroutine) : "memory");
	pattern_spin(9000);
}

static void goroutine_worker(void)
{
	char *arena =
		mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint64_t m[1];
	ucontext_t context;

	m[0] = (uint64_t)(uintptr_t)&g0;
	goroutine.m = m;
	if (!g0.m)
		g0.m = m;
	goroutine.lo = shared->stack_low = (uint64_t)(uintptr_t)arena + (16 << 20);
	goroutine.hi = shared->stack_high = goroutine.lo + 65536;
	getcontext(&context);
	context.uc_stack.ss_sp = arena + (16 << 20);
	context.uc_stack.ss_size = 65536;
	context.uc_link = NULL;
	makecontext(&context, goroutine_main, 0);
	setcontext(&context);
}

static bool goroutine_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0];

	if (!is_spinning(sample))
		return true;
	if (region->address + region->size != shared->stack_high ||
	    sample->flags & (REEL_BPF_STACK_CUT | REEL_BPF_TOP_UNKNOWN))
		return fail("flags %#x, the region ends %lld bytes after the stack", sample->flags,
			    (long long)(region->address + region->size - shared->stack_high));
	if (!check_pattern(region, parts->region_bytes[0]))
		return false;
	good++;
	return true;
}

/*
 * The main thread on a stack of its own in a larger mapping: of that, a quarter of the limit; and
 * the end of the kernel's stack, which it came from.
 */
static void coroutine_main(void)
{
	pattern_spin(9000);
}

static void run_coroutine(char *memory)
{
	ucontext_t context;

	shared->stack_low = (uint64_t)(uintptr_t)&context;
	getcontext(&context);
	context.uc_stack.ss_sp = memory;
	context.uc_stack.ss_size = 65536;
	context.uc_link = NULL;
	makecontext(&context, coroutine_main, 0);
	setcontext(&context);
}

static void coroutine_worker(void)
{
	char *memory =
		mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* All pages are present. */
	memset(memory, 1, 4 << 20);
	run_coroutine(memory);
}

static bool coroutine_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0],
				     *root = &sample->regions[REEL_BPF_ROOT];

	if (!is_spinning(sample))
		return true;
	if (!(sample->flags & REEL_BPF_STACK_CUT) || !(sample->flags & REEL_BPF_ROOT_PART) ||
	    region->size != 1 << 18 || root->size != 4096)
		return fail("flags %#x, sizes %u and %u", sample->flags, region->size, root->size);
	if (root->address + root->size - shared->stack_low >= 1 << 16)
		return fail("the root part [%#llx + %#x] is not above %#llx",
			    (unsigned long long)root->address, root->size,
			    (unsigned long long)shared->stack_low);
	good++;
	return true;
}

/* Unused memory, and far above it the thread pointer, follow such a stack in its mapping. */
static void unused_worker(void)
{
	char *memory =
		mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *thread = memory + (2 << 20);

	madvise(memory, 4 << 20, MADV_NOHUGEPAGE);
	/* The ends of the thread-local variables and of struct pthread are not used. */
	memcpy(thread - 512, (char *)pthread_self() - 512, 1536);
	syscall(SYS_arch_prctl, ARCH_SET_FS, thread);
	shared->stack_high = (uint64_t)(uintptr_t)memory + 65536;
	run_coroutine(memory);
}

static bool unused_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[0];

	if (!is_spinning(sample))
		return true;
	if (sample->flags & REEL_BPF_STACK_CUT ||
	    region->address + region->size != shared->stack_high)
		return fail("flags %#x, the region ends %lld bytes after the stack", sample->flags,
			    (long long)(region->address + region->size - shared->stack_high));
	good++;
	return true;
}

/*
 * On the scheduler's stack, for a goroutine: the sample includes the goroutine's stack, and where
 * it continues.  As in Go: m begins with g0, and has curg at 0xc0.
 */
static struct {
	uint64_t lo, hi, unused[4];
	void *m;
	uint64_t sched[7];
} scheduler, waiting;

static uint64_t waiting_m[0xc0 / 8 + 1];
static uint64_t waiting_stack[512];

static void run_scheduler(uint64_t curg)
{
	for (size_t i = 0; i < 512; i++)
		waiting_stack[i] = PATTERN(&waiting_stack[i]);
	waiting_m[0] = (uint64_t)(uintptr_t)&scheduler;
	waiting_m[0xc0 / 8] = curg;
	scheduler.m = waiting.m = waiting_m;
	waiting.lo = (uint64_t)(uintptr_t)waiting_stack;
	waiting.hi = (uint64_t)(uintptr_t)(waiting_stack + 512);
	for (uint64_t i = 0; i < 7; i++) {
		waiting.sched[i] = 100 + i;
		scheduler.sched[i] = 200 + i;
	}
	waiting.sched[0] = shared->low = waiting.lo + 1024;
	shared->high = waiting.hi;
	__asm__ volatile("mov %0, %%fs:-8" : : "r"(&scheduler) : "memory");
	probe_spin(&shared->sp);
}

static void scheduler_worker(void)
{
	run_scheduler((uint64_t)(uintptr_t)&waiting);
}

static bool check_gobuf(const struct reel_bpf_sample *sample, uint32_t flag, uint64_t sp,
			uint64_t first)
{
	const struct reel_bpf_gobuf *gobuf =
		flag == REEL_BPF_OWN_GOBUF ? &sample->own : &sample->waiting;

	if (!(sample->flags & flag) || gobuf->words[0] != sp)
		return fail("flags %#x, sp %#llx", sample->flags,
			    (unsigned long long)gobuf->words[0]);
	for (uint64_t i = 1; i < 7; i++) {
		if (gobuf->words[i] != first + i)
			return fail("word %llu is %llu", (unsigned long long)i,
				    (unsigned long long)gobuf->words[i]);
	}
	good++;
	return true;
}

static bool scheduler_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[1];

	if (!is_spinning(sample))
		return true;
	if (sample->n_regions != 2 || region->kind != REEL_BPF_REGION_OTHER_STACK ||
	    region->address + region->size != shared->high || region->address > shared->low ||
	    shared->low - region->address > 4096)
		return fail("%u regions", sample->n_regions);
	return check_pattern(region, parts->region_bytes[1]) &&
	       check_gobuf(sample, REEL_BPF_WAITING_GOBUF, shared->low, 100);
}

/* A goroutine that C functions have called: the scheduler's stack, without an old pc. */
static void called_back_worker(void)
{
	uint64_t stack[512];

	for (size_t i = 0; i < 512; i++)
		stack[i] = PATTERN(&stack[i]);
	waiting_m[0] = (uint64_t)(uintptr_t)&scheduler;
	scheduler.m = waiting.m = waiting_m;
	scheduler.hi = shared->high = (uint64_t)(uintptr_t)(stack + 512);
	scheduler.sched[0] = shared->low = (uint64_t)(uintptr_t)(stack + 128);
	scheduler.sched[1] = 1;
	__asm__ volatile("mov %0, %%fs:-8" : : "r"(&waiting) : "memory");
	probe_spin(&shared->sp);
}

static bool called_back_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	const struct reel_bpf_region *region = &sample->regions[1];

	if (!is_spinning(sample))
		return true;
	if (sample->n_regions != 2 || region->kind != REEL_BPF_REGION_OTHER_STACK ||
	    !(sample->flags & REEL_BPF_WAITING_GOBUF) || sample->waiting.words[0] != shared->low ||
	    sample->waiting.words[1])
		return fail("%u regions, flags %#x", sample->n_regions, sample->flags);
	good++;
	return check_pattern(region, parts->region_bytes[1]);
}

/* Without a goroutine: the start of its own stack. */
static void idle_scheduler_worker(void)
{
	run_scheduler(0);
}

static bool idle_scheduler_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!is_spinning(sample))
		return true;
	if (sample->n_regions != 1)
		return fail("%u regions", sample->n_regions);
	return check_gobuf(sample, REEL_BPF_OWN_GOBUF, 200, 200);
}

/* A goroutine that does not belong to that m is rejected. */
static void no_scheduler_worker(void)
{
	waiting_m[0xb8 / 8] = 1;
	run_scheduler(4096);
}

static bool no_scheduler_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!is_spinning(sample))
		return true;
	if (sample->n_regions != 1 || sample->flags & (REEL_BPF_WAITING_GOBUF | REEL_BPF_OWN_GOBUF))
		return fail("%u regions, flags %#x", sample->n_regions, sample->flags);
	good++;
	return true;
}

/* A structure that is not a goroutine is rejected: its m is not the one of its g0. */
static void no_goroutine_worker(void)
{
	static uint64_t other[1];

	g0.m = other;
	goroutine_worker();
}

static bool no_goroutine_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!is_spinning(sample))
		return true;
	/* The root part is of the kernel's stack. */
	if (!(sample->flags & REEL_BPF_ROOT_PART) || sample->regions[REEL_BPF_ROOT].size != 4096)
		return fail("flags %#x", sample->flags);
	good++;
	return true;
}
#endif

static void on_signal(int number)
{
	probe_spin(&shared->sp);
}

static __attribute__((noinline)) void pattern_raise(size_t size)
{
	volatile uint64_t *words = __builtin_alloca(size);

	for (size_t i = 0; i < size / 8; i++)
		words[i] = PATTERN(&words[i]);
	shared->low = (uint64_t)(uintptr_t)words;
	shared->high = shared->low + size / 8 * 8;
	raise(SIGUSR1);
}

static void alternate_worker(void)
{
	stack_t stack = { .ss_size = 65536, .ss_sp = malloc(65536 + 16) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	shared->stack_low = (uint64_t)(uintptr_t)stack.ss_sp;
	shared->stack_high = shared->stack_low + stack.ss_size;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	pattern_raise(6000);
}

static void *alternate_thread(void *unused)
{
	alternate_worker();
	return NULL;
}

static void alternate_thread_worker(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, alternate_thread, NULL);
	pthread_join(thread, NULL);
}

static bool alternate_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!is_spinning(sample))
		return true;
	/* An unreadable stack cannot be searched. */
	if (sample->n_regions == 1 && any_missing(&sample->regions[0]))
		return true;
	if (sample->n_regions != 2)
		return fail("%u regions", sample->n_regions);
	if (sample->regions[0].address < shared->stack_low ||
	    sample->regions[0].address + sample->regions[0].size != shared->stack_high)
		return fail("region 0 is not the alternate stack");
	if (sample->regions[1].kind != REEL_BPF_REGION_INTERRUPTED_STACK)
		return fail("region 1 is of kind %u", sample->regions[1].kind);
	if (!check_pattern(&sample->regions[1], parts->region_bytes[1]))
		return false;
	good++;
	return true;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void fork_worker(void)
{
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid) {
			shared->pid = (uint64_t)getpid();
			probe_spin(&shared->sp);
		}
	}
	waitpid(pid, NULL, 0);
}

static bool fork_check(const struct reel_sampler_parts *parts)
{
	if (!is_spinning(parts->sample))
		return true;
	if (parts->sample->pid != shared->pid)
		return fail("pid %u", parts->sample->pid);
	good++;
	return true;
}

static bool fork_counts(const struct reel_bpf_counts *counts)
{
	bool found = false;

	for (unsigned i = 0; i < n_processes; i++) {
		if (processes[i].pid == shared->pid && !processes[i].is_exec)
			found = processes[i].tid == processes[i].pid && processes[i].vdso &&
				!processes[i].flags && processes[i].time;
	}
	if (!found)
		return fail("no record of the child's fork");
	return !counts->process_lost || fail("process_lost");
}

static void exec_worker(void)
{
	char address[32];

	snprintf(address, sizeof(address), "%p", (void *)shared);
	execl("/proc/self/exe", "sampler_probe", "--vdso", NULL);
	_exit(127);
}

/* After exec: the shared memory is gone, so a file passes on the vDSO's address. */
void vdso_main(void)
{
	char line[64];
	int fd = open("/tmp/sampler_probe.vdso", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint64_t sp;

	snprintf(line, sizeof(line), "%#lx\n", getauxval(AT_SYSINFO_EHDR));
	if (write(fd, line, strlen(line)) < 0)
		_exit(1);
	close(fd);
	probe_spin(&sp);
}

static bool exec_check(const struct reel_sampler_parts *parts)
{
	if (is_spinning(parts->sample) || parts->sample->where == REEL_BPF_WHERE_USER)
		good++;
	return true;
}

static bool exec_counts(const struct reel_bpf_counts *counts)
{
	FILE *file = fopen("/tmp/sampler_probe.vdso", "r");
	unsigned long vdso = 0;

	if (!file || fscanf(file, "%lx", &vdso) != 1)
		return fail("the new program did not start");
	fclose(file);
	unlink("/tmp/sampler_probe.vdso");
	for (unsigned i = 0; i < n_processes; i++) {
		if ((int)processes[i].pid == state.child && processes[i].is_exec)
			return processes[i].vdso == vdso ||
			       fail("vDSO at %#llx, not %#lx",
				    (unsigned long long)processes[i].vdso, vdso);
	}
	return fail("no record of exec");
}

/* A child in a new PID namespace has pid 1 there. */
static void namespace_worker(void)
{
	if (unshare(CLONE_NEWPID))
		_exit(1);
	fork_worker();
}

static bool namespace_check(const struct reel_sampler_parts *parts)
{
	if (!is_spinning(parts->sample))
		return true;
	if (parts->sample->pid == 1 || parts->sample->pid == 2 || parts->sample->pid == shared->pid)
		return fail("pid %u", parts->sample->pid);
	good++;
	return true;
}

static bool namespace_counts(const struct reel_bpf_counts *counts)
{
	unsigned found = 0;

	/* In any order, since the rings are read one after the other. */
	for (unsigned i = 0; i < n_processes; i++) {
		if (processes[i].namespace_pid <= 2 && processes[i].pid > 2)
			found += processes[i].namespace_pid;
	}
	return found == 1 + 2 || fail("processes of the namespace: %u", found);
}

/* With a thread as the target, the other thread is invisible. */
static void one_thread_worker(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	probe_spin(&shared->sp);
}

static bool one_thread_check(const struct reel_sampler_parts *parts)
{
	if ((int)parts->sample->tid != state.child)
		return fail("tid %u", parts->sample->tid);
	good++;
	return true;
}

/* ---- 32-bit code ---------------------------------------------------------------------------- */

#define COMPAT_BASE    0x10000u
#define COMPAT_FILE    "/tmp/sampler_probe.32"
#define PROBE_ELF_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/* A pipe, in compat_possible(). */
static int compat_error[2] = { -1, -1 };

static void fail_compat(void)
{
	int error = errno;

	_exit(write(compat_error[1], &error, sizeof(error)) != sizeof(error));
}

static void compat_worker(void)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		uint8_t code[sizeof(probe_compat_code)];
	} image = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					 PROBE_ELF_DATA, 1 },
			    .e_type = ET_EXEC,
			    .e_machine = PROBE_COMPAT_MACHINE,
			    .e_version = 1,
			    .e_entry = COMPAT_BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			    .e_phoff = sizeof(Elf32_Ehdr),
			    .e_flags = PROBE_COMPAT_MACHINE == EM_ARM ? EF_ARM_EABI_VER5 : 0,
			    .e_ehsize = sizeof(Elf32_Ehdr),
			    .e_phentsize = sizeof(Elf32_Phdr),
			    .e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
			     .p_vaddr = COMPAT_BASE,
			     .p_filesz = sizeof(image),
			     .p_memsz = sizeof(image),
			     .p_flags = PF_R | PF_X,
			     .p_align = 4096 },
	};
	char *arguments[] = { (char *)"compat", NULL };
	int fd = open(COMPAT_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	memcpy(image.code, probe_compat_code, sizeof(image.code));
	if (fd < 0 || write(fd, &image, sizeof(image)) != sizeof(image))
		fail_compat();
	/* A file that is open for writing cannot be executed. */
	close(fd);
	execve(COMPAT_FILE, arguments, environ);
	fail_compat();
}

static bool compat_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;
	uint64_t pc = COMPAT_BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr) + PROBE_COMPAT_SPIN;

	if (!(sample->flags & REEL_BPF_COMPAT))
		return true;
	if (sample->pc != pc)
		return true;
	if (sample->pc_register != PROBE_COMPAT_PC)
		return fail("the pc is register %u", sample->pc_register);
	for (unsigned i = 0; i < 32; i++) {
		if (PROBE_COMPAT_REGISTERS >> i & 1 && sample->registers[i] != 0x40 + i)
			return fail("register %u is %#llx", i,
				    (unsigned long long)sample->registers[i]);
	}
	/* It is empty: sp is where the kernel set it. */
	if (sample->n_regions != 1)
		return fail("%u regions", sample->n_regions);
	good++;
	return true;
}

static bool compat_counts(const struct reel_bpf_counts *counts)
{
	for (unsigned i = 0; i < n_processes; i++) {
		if ((int)processes[i].pid == state.child && processes[i].is_exec)
			return processes[i].flags & REEL_BPF_COMPAT ||
			       fail("exec is not marked compat");
	}
	return fail("no record of exec");
}

bool compat_possible(void)
{
	int error = 0, go;
	pid_t child;

	if (pipe2(compat_error, O_CLOEXEC))
		exit(1);
	child = child_start(compat_worker, &go);
	close(compat_error[1]);
	if (write(go, "x", 1) != 1)
		exit(1);
	/* The child's end is closed when it executes the file, or the kernel's error arrives. */
	if (read(compat_error[0], &error, sizeof(error)) > 0)
		printf("32-bit code: %s\n", strerror(error));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(compat_error[0]);
	compat_error[1] = -1;
	close(go);
	return !error;
}

/* ---- the system
 * ---------------------------------------------------------------------------------- */

static bool system_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if (!sample->pid || !sample->tid)
		return fail("pid %u, tid %u", sample->pid, sample->tid);
	if (sample->where == REEL_BPF_WHERE_KERNEL_THREAD &&
	    (sample->flags & REEL_BPF_REGISTERS || sample->n_regions))
		return fail("a kernel thread with user state");
	if (is_spinning(sample))
		good++;
	return true;
}

static void switch_worker(void)
{
	for (;;)
		usleep(1000);
}

static bool switch_check(const struct reel_sampler_parts *parts)
{
	const struct reel_bpf_sample *sample = parts->sample;

	if ((int)sample->pid != state.child || sample->weight != 1)
		return fail("pid %u, weight %llu", sample->pid, (unsigned long long)sample->weight);
	if (sample->where == REEL_BPF_WHERE_SYSCALL && sample->n_regions == 1)
		good++;
	return true;
}

/* ---- the tables ------------------------------------------------------------------ */

static void bench_worker(void)
{
	pattern_spin(36 << 10);
}

/*
 * Not all samples of a large stack are whole: see stack_touch.  Debian's 7.2 constantly ages pages
 * (DAMON_STAT), which shows on QEMU's cortex-a57.
 */
const struct probe probe_cases[] = {
	{ "registers", spin_worker, spin_check, .good_percent = 95 },
	{ "registers in a system call", read_worker, read_check, .good_percent = 50 },
	{ "kernel chain", read_worker, read_check, .good_percent = 50, .kernel_chain = true },
	{ "frame chain", read_worker, read_check, .good_percent = 50, .frame_chain = true },
	{ "both chains", read_worker, read_check, .good_percent = 50, .kernel_chain = true,
	  .frame_chain = true },
	{ "stack", pattern_worker, pattern_check, .good_percent = 85 },
	{ "stack of 900 KB", deep_worker, pattern_check, deep_counts, .max_stack = 1 << 20,
	  .ring_size = 32 << 20, .good_percent = 50 },
	{ "stack cut", deep_worker, cut_check, cut_counts, .good_percent = 50 },
	{ "ring full", deep_worker, NULL, full_counts, .max_stack = 1 << 20, .ring_size = 1 << 20,
	  .no_drain = true, .samples = 1 },
	{ "missing pages", hole_worker, hole_check, .max_stack = 1 << 20, .good_percent = 80 },
	{ "thread", thread_worker, thread_check, .good_percent = 80, .about_processes = true },
#ifdef __x86_64__
	{ "coroutine", coroutine_worker, coroutine_check, cut_counts, .max_stack = 1 << 20,
	  .good_percent = 80 },
	{ "unused memory", unused_worker, unused_check, .max_stack = 1 << 20, .good_percent = 80 },
	{ "goroutine", goroutine_worker, goroutine_check, .good_percent = 80 },
	{ "no goroutine", no_goroutine_worker, no_goroutine_check, .good_percent = 80 },
	{ "scheduler", scheduler_worker, scheduler_check, .good_percent = 80 },
	{ "called back", called_back_worker, called_back_check, .good_percent = 80 },
	{ "idle scheduler", idle_scheduler_worker, idle_scheduler_check, .good_percent = 80 },
	{ "no scheduler", no_scheduler_worker, no_scheduler_check, .good_percent = 80 },
#endif
	{ "alternate stack", alternate_worker, alternate_check, .good_percent = 80 },
	{ "alternate stack of a thread", alternate_thread_worker, alternate_check,
	  .good_percent = 80 },
	{ "fork", fork_worker, fork_check, fork_counts, .good_percent = 80,
	  .about_processes = true },
	{ "exec", exec_worker, exec_check, exec_counts, .good_percent = 50,
	  .about_processes = true },
	{ "namespace", namespace_worker, namespace_check, namespace_counts, .good_percent = 50,
	  .about_processes = true },
	{ "one thread", one_thread_worker, one_thread_check, .thread = true, .good_percent = 100,
	  .about_processes = true },
	{ "whole system", spin_worker, system_check, .system_wide = true, .kernel_chain = true,
	  .good_percent = 2, .about_processes = true },
};
const size_t probe_n_cases = sizeof(probe_cases) / sizeof(probe_cases[0]);

const struct probe probe_compat = { "32-bit code", compat_worker, compat_check, compat_counts,
				    .good_percent = 80 };
const struct probe probe_tracepoint = { "tracepoint", switch_worker, switch_check,
					.event = "sched:sched_switch", .good_percent = 90 };

/* Children that only differ in their stacks, a second each. */
const struct probe probe_bench[3] = {
	{ "shallow", spin_worker, .max_stack = 1 << 20, .ring_size = 64 << 20, .samples = 1000 },
	{ "36 KB", bench_worker, .max_stack = 1 << 20, .ring_size = 64 << 20, .samples = 1000 },
	{ "900 KB", deep_worker, .max_stack = 1 << 20, .ring_size = 64 << 20, .samples = 1000 },
};
