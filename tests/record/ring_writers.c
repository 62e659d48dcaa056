/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffers of a host with 192 CPUs, with one writer each and one of tasks, on any machine:
 * the kernel's own rings, read by record/sampling/rings.c.  A BPF program writes one record for
 * each call.  Prints what was wrong; needs root.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "record/sampling/rings.h"

#define CPUS	    192
#define RINGS	    (CPUS + 1)
#define RING_SIZE   65536
#define TASK_SIZE   (4 * RING_SIZE)
#define RECORD_SIZE 248 /* with its header: 256 bytes */
#define ROUNDS	    4
#define EACH	    512 /* records of a writer in a round: twice what its ring holds */

/* Its begin is the BPF program's argument. */
struct record {
	uint64_t ring, sequence;
};

/* Of each ring. */
struct account {
	uint64_t written, refused; /* by the writer */
	uint64_t read;
	uint64_t next; /* the lowest sequence that may be read */
	bool out_of_order;
};

static struct account accounts[RINGS];
static unsigned failed;
static int program;
static bool refill;
static atomic_uint n_done; /* rounds of writers */
static pthread_barrier_t round_end;

static void check(bool is_right, const char *what)
{
	if (is_right)
		return;
	failed++;
	printf("FAIL %s\n", what);
}

static void die(const char *what)
{
	printf("FAIL %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- writers ------------------------------------------------------------------- */

#define INSN(c, d, s, o, i)                                                                        \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                \
	}
#define LOAD(dst, src, offset)	INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define STORE(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define MOVE(dst, src)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(dst, value)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define CALL(helper)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define UNLESS_NULL(skip)	INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, skip, 0)
#define EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Writes a struct record to its ring; returns 1, or 0 if the ring is full. */
static int load_program(int outer)
{
	const struct bpf_insn code[] = {
		MOVE(6, 1),
		LOAD(7, 6, 0), /* ring */
		LOAD(8, 6, 8), /* sequence */
		STORE(10, -8, 7),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, outer),
		INSN(0, 0, 0, 0, 0),
		MOVE(2, 10),
		/* The map's key is its low half. */
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0,
		     __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? -8 : -4),
		CALL(BPF_FUNC_map_lookup_elem),
		UNLESS_NULL(1),
		EXIT,
		MOVE(1, 0),
		SET(2, RECORD_SIZE),
		SET(3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		UNLESS_NULL(1),
		EXIT,
		STORE(0, 0, 7),
		STORE(0, 8, 8),
		MOVE(1, 0),
		SET(2, BPF_RB_NO_WAKEUP),
		CALL(BPF_FUNC_ringbuf_submit),
		SET(0, 1),
		EXIT,
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_SLEEPABLE);

	return bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "ring_writer", "GPL", code,
			     sizeof(code) / sizeof(*code), &options);
}

/* Only the ring's writer calls it, as only its CPU writes to a ring. */
static bool write_record(uint64_t ring)
{
	struct account *account = &accounts[ring];
	struct record record = { ring, account->written++ };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &record, .ctx_size_in = sizeof(record));

	if (bpf_prog_test_run_opts(program, &options))
		die("cannot run the BPF program");
	account->refused += !options.retval;
	return options.retval;
}

static void *writer(void *argument)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < EACH; i++)
			write_record((uintptr_t)argument);
		n_done++;
		pthread_barrier_wait(&round_end);
	}
	return NULL;
}

/* ---- reader -------------------------------------------------------------------- */

static struct reel_error *take(void *context, const void *data, size_t size)
{
	const struct record *record = data;
	struct account *account;

	if (size != RECORD_SIZE || record->ring >= RINGS)
		return reel_error_create(REEL_ERROR_CORRUPT, "a record of %zu bytes", size);
	account = &accounts[record->ring];
	account->out_of_order |= record->sequence < account->next;
	account->next = record->sequence + 1;
	account->read++;
	if (refill)
		write_record(record->ring);
	return NULL;
}

static void drain(struct reel_rings *rings)
{
	struct reel_error *error = reel_rings_drain(rings);

	if (!error)
		return;
	printf("FAIL %s\n", reel_error_message(error));
	exit(1);
}

static void check_accounts(const char *what)
{
	unsigned complete = 0, ordered = 0;
	char text[128];

	for (unsigned i = 0; i < RINGS; i++) {
		complete += accounts[i].read + accounts[i].refused == accounts[i].written;
		ordered += !accounts[i].out_of_order;
	}
	snprintf(text, sizeof(text), "%s: in %u of %u rings each record is read or refused", what,
		 complete, RINGS);
	check(complete == RINGS, text);
	snprintf(text, sizeof(text), "%s: %u of %u rings are in order", what, ordered, RINGS);
	check(ordered == RINGS, text);
}

/*
 * A load that is always faster than the reader: each record that is read makes room for one more,
 * which is there at once.
 */
static void check_fair(struct reel_rings *rings)
{
	uint64_t held[RINGS];
	unsigned whole = 0;
	char text[128];

	for (unsigned i = 0; i < RINGS; i++) {
		while (write_record(i))
			;
		held[i] = accounts[i].written - accounts[i].refused;
	}
	refill = true;
	drain(rings);
	refill = false;
	for (unsigned i = 0; i < RINGS; i++)
		whole += accounts[i].read >= held[i];
	snprintf(text, sizeof(text), "overload: what %u of %u rings had is read by one drain",
		 whole, RINGS);
	check(whole == RINGS, text);
	drain(rings);
	drain(rings);
	check_accounts("overload");
}

/* All write at the same time, in the first round more than their rings hold. */
static void check_crowd(struct reel_rings *rings)
{
	uint64_t read = 0, refused = 0;
	unsigned busy = 0;
	pthread_t threads[RINGS];
	char text[128];

	memset(accounts, 0, sizeof(accounts));
	pthread_barrier_init(&round_end, NULL, RINGS + 1);
	for (uintptr_t i = 0; i < RINGS; i++)
		if (pthread_create(&threads[i], NULL, writer, (void *)i))
			die("cannot start a thread");
	for (unsigned round = 0; round < ROUNDS; round++) {
		while (n_done < (round + 1) * RINGS) {
			if (round)
				drain(rings);
			usleep(1000);
		}
		drain(rings);
		pthread_barrier_wait(&round_end);
	}
	for (unsigned i = 0; i < RINGS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&round_end);
	check_accounts("crowd");
	for (unsigned i = 0; i < RINGS; i++) {
		read += accounts[i].read;
		refused += accounts[i].refused;
		busy += accounts[i].read > RING_SIZE / (RECORD_SIZE + 8);
	}
	snprintf(text, sizeof(text), "crowd: more than %u of %u rings hold was read", busy, RINGS);
	check(busy == RINGS, text);
	check(refused > 0, "crowd: nothing was refused, so this proves nothing");
	printf("%u writers: %llu records read, %llu refused\n", RINGS, (unsigned long long)read,
	       (unsigned long long)refused);
}

int main(void)
{
	struct reel_rings_options options = {
		.n = CPUS,
		.size = RING_SIZE,
		.task_size = TASK_SIZE,
		.record = take,
	};
	int inner = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_SIZE, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = (uint32_t)inner);
	struct reel_rings *rings = NULL;
	struct reel_error *error;

	if (inner < 0) {
		printf("skip: no BPF ring buffers here: %s\n", strerror(errno));
		return 0;
	}
	options.outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", 4, 4, RINGS, &outer);
	program = load_program(options.outer);
	if (program < 0) {
		printf("skip: no BPF programs of type syscall here: %s\n", strerror(errno));
		return 0;
	}
	error = reel_rings_create(&options, &rings);
	if (error) {
		printf("FAIL %s\n", reel_error_message(error));
		return 1;
	}
	check_fair(rings);
	check_crowd(rings);
	reel_rings_destroy(rings);
	return failed > 0;
}
