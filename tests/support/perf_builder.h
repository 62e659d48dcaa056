/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data in memory, for tests: of a file or of a pipe, in either byte
 * order, compressed or not.  Written from the kernel's and perf's documents
 * (include/uapi/linux/perf_event.h, which is included, and
 * tools/perf/Documentation/perf.data-file-format.txt), not from ours.
 */
#ifndef TESTS_SUPPORT_PERF_BUILDER_H
#define TESTS_SUPPORT_PERF_BUILDER_H

#include <linux/perf_event.h>
#include <zstd.h>

#include "tests/support/capture.h"

/* Records that perf itself writes: tools/lib/perf/include/perf/event.h. */
enum {
	BUILD_HEADER_ATTR = 64,
	BUILD_HEADER_TRACING_DATA = 66,
	BUILD_HEADER_BUILD_ID = 67,
	BUILD_FINISHED_ROUND = 68,
	BUILD_AUXTRACE = 71,
	BUILD_TIME_CONV = 79,
	BUILD_HEADER_FEATURE = 80,
	BUILD_COMPRESSED = 81,
	BUILD_FINISHED_INIT = 82,
	BUILD_COMPRESSED2 = 83,
};

/* Features: tools/perf/util/header.h. */
enum {
	BUILD_FEATURE_TRACING_DATA = 1,
	BUILD_FEATURE_BUILD_ID = 2,
	BUILD_FEATURE_HOSTNAME = 3,
	BUILD_FEATURE_OSRELEASE = 4,
	BUILD_FEATURE_VERSION = 5,
	BUILD_FEATURE_ARCH = 6,
	BUILD_FEATURE_NRCPUS = 7,
	BUILD_FEATURE_CMDLINE = 11,
	BUILD_FEATURE_EVENT_DESC = 12,
	BUILD_FEATURE_DIR_FORMAT = 24,
	BUILD_FEATURE_COMPRESSED = 27,
	BUILD_FEATURE_CLOCK_DATA = 29,
	BUILD_FEATURES = 64,
};

/* The flags of struct perf_event_attr in order of declaration. */
enum {
	BUILD_FLAG_FREQ = 10,
	BUILD_FLAG_SAMPLE_ID_ALL = 18,
	BUILD_FLAG_EXCLUDE_CALLCHAIN_USER = 22,
	BUILD_FLAG_USE_CLOCKID = 25,
	BUILD_FLAG_BUILD_ID = 34,
};
#define BUILD_FLAG(name) (1ull << BUILD_FLAG_##name)

#define BUILD_EVENTS_MAX 8

struct perf_builder_event {
	uint32_t type;
	uint64_t config, period, sample_type, read_format;
	uint64_t flags; /* 1 << the flag's number in the declaration */
	uint64_t branch_sample_type, user_registers;
	uint32_t stack;
	int32_t clock;
	uint16_t max_chain;
	uint32_t attr_size; /* 0: PERF_ATTR_SIZE_VER5 */
	uint64_t ids[4];
	size_t n_ids;
};

struct perf_builder {
	bool big_endian;
	bool is_pipe;
	struct perf_builder_event events[BUILD_EVENTS_MAX];
	size_t n_events;
	/* The records so far. */
	struct reel_buffer data;
	size_t record; /* start of the open record */
	struct reel_buffer features[BUILD_FEATURES];
	uint64_t feature_bits;
	ZSTD_CCtx *zstd;
	/* perf was killed before it wrote the data size and features. */
	bool unfinished;
};

static inline void builder_free(struct perf_builder *b)
{
	reel_buffer_free(&b->data);
	for (size_t i = 0; i < BUILD_FEATURES; i++)
		reel_buffer_free(&b->features[i]);
	ZSTD_freeCCtx(b->zstd);
	b->zstd = NULL;
}
#define _cleanup_builder_ __attribute__((cleanup(builder_free)))

/* ---- numbers --------------------------------------------------------------------------- */

static inline void put_number(const struct perf_builder *b, struct reel_buffer *to, uint64_t value,
			      unsigned int size)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < size; i++)
		bytes[b->big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	reel_buffer_append(to, bytes, size);
}

static inline void put_text(struct reel_buffer *to, const char *text, size_t size)
{
	size_t n = strlen(text) + 1;

	for (size_t i = 0; i < size; i++)
		reel_buffer_u8(to, i < n ? (uint8_t)text[i] : 0);
}

static inline void b16(struct perf_builder *b, uint64_t value)
{
	put_number(b, &b->data, value, 2);
}

static inline void b32(struct perf_builder *b, uint64_t value)
{
	put_number(b, &b->data, value, 4);
}

static inline void b64(struct perf_builder *b, uint64_t value)
{
	put_number(b, &b->data, value, 8);
}

static inline void bbytes(struct perf_builder *b, const void *bytes, size_t size)
{
	reel_buffer_append(&b->data, bytes, size);
}

/* A name with its NUL, and NULs up to a multiple of 8 bytes. */
static inline void bname(struct perf_builder *b, const char *name)
{
	put_text(&b->data, name, (strlen(name) + 8) & ~(size_t)7);
}

/* ---- records --------------------------------------------------------------------------- */

static inline void set16(const struct perf_builder *b, uint8_t *at, uint16_t value)
{
	at[b->big_endian] = (uint8_t)value;
	at[!b->big_endian] = (uint8_t)(value >> 8);
}

static inline void begin(struct perf_builder *b, uint32_t type, uint16_t misc)
{
	b->record = b->data.size;
	b32(b, type);
	b16(b, misc);
	b16(b, 0);
}

static inline void end(struct perf_builder *b)
{
	size_t size = b->data.size - b->record;

	must_be(size <= UINT16_MAX, "a record below 64 KiB");
	set16(b, b->data.bytes + b->record + 6, (uint16_t)size);
}

struct builder_id {
	uint32_t pid, tid;
	uint64_t time, id;
	uint32_t cpu;
};

/* struct sample_id, after the kernel's records except samples. */
static inline void put_sample_id(struct perf_builder *b, const struct perf_builder_event *event,
				 struct builder_id id)
{
	uint64_t type = event->sample_type;

	if (!(event->flags & BUILD_FLAG(SAMPLE_ID_ALL)))
		return;
	if (type & PERF_SAMPLE_TID) {
		b32(b, id.pid);
		b32(b, id.tid);
	}
	if (type & PERF_SAMPLE_TIME)
		b64(b, id.time);
	if (type & PERF_SAMPLE_ID)
		b64(b, id.id);
	if (type & PERF_SAMPLE_STREAM_ID)
		b64(b, id.id);
	if (type & PERF_SAMPLE_CPU) {
		b32(b, id.cpu);
		b32(b, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		b64(b, id.id);
}

/* Records synthesized by perf have id 0, and the first event's layout. */
static inline void end_with_id(struct perf_builder *b, struct builder_id id)
{
	const struct perf_builder_event *event = &b->events[0];

	for (size_t i = 0; i < b->n_events && id.id; i++)
		for (size_t j = 0; j < b->events[i].n_ids; j++)
			if (b->events[i].ids[j] == id.id)
				event = &b->events[i];
	put_sample_id(b, event, id);
	end(b);
}

static inline void put_comm(struct perf_builder *b, uint16_t misc, const char *name,
			    struct builder_id id)
{
	begin(b, PERF_RECORD_COMM, misc);
	b32(b, id.pid);
	b32(b, id.tid);
	bname(b, name);
	end_with_id(b, id);
}

/* PERF_RECORD_FORK and EXIT: of the task in `id`. */
static inline void put_task(struct perf_builder *b, uint32_t type, uint16_t misc, uint32_t ppid,
			    uint32_t ptid, struct builder_id id)
{
	begin(b, type, misc);
	b32(b, id.pid);
	b32(b, ppid);
	b32(b, id.tid);
	b32(b, ptid);
	b64(b, id.time);
	end_with_id(b, id);
}

static inline void put_mmap(struct perf_builder *b, uint16_t misc, uint64_t address, uint64_t size,
			    uint64_t offset, const char *name, struct builder_id id)
{
	begin(b, PERF_RECORD_MMAP, misc);
	b32(b, id.pid);
	b32(b, id.tid);
	b64(b, address);
	b64(b, size);
	b64(b, offset);
	bname(b, name);
	end_with_id(b, id);
}

/* `build_id`: its 20 bytes, or NULL, and the record has device and inode. */
static inline void put_mmap2(struct perf_builder *b, uint16_t misc, uint64_t address,
			     uint64_t offset, const uint8_t *build_id, uint8_t build_id_size,
			     const char *name, struct builder_id id)
{
	begin(b, PERF_RECORD_MMAP2, misc | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	b32(b, id.pid);
	b32(b, id.tid);
	b64(b, address);
	b64(b, 0x1000);
	b64(b, offset);
	if (build_id) {
		reel_buffer_u8(&b->data, build_id_size);
		reel_buffer_u8(&b->data, 0);
		b16(b, 0);
		bbytes(b, build_id, 20);
	} else {
		b32(b, 8);
		b32(b, 1);
		b64(b, 4711);
		b64(b, 3);
	}
	b32(b, 5);
	b32(b, 2);
	bname(b, name);
	end_with_id(b, id);
}

/* PERF_RECORD_HEADER_BUILD_ID, as in a pipe and, without padding, in the feature. */
static inline void put_build_id(struct perf_builder *b, struct reel_buffer *to, uint16_t misc,
				const uint8_t *build_id, uint8_t size, const char *name)
{
	size_t padded = (strlen(name) + 1 + 63) & ~(size_t)63;

	put_number(b, to, BUILD_HEADER_BUILD_ID, 4);
	put_number(b, to, misc, 2);
	put_number(b, to, 36 + padded, 2);
	put_number(b, to, (uint32_t)-1, 4);
	reel_buffer_append(to, build_id, 20);
	reel_buffer_u8(to, misc & (1 << 15) ? size : 0);
	put_number(b, to, 0, 3);
	put_text(to, name, padded);
}

/* ---- samples --------------------------------------------------------------------------- */

struct builder_sample {
	struct builder_id id;
	uint16_t misc; /* 0: of user code */
	uint64_t ip, address, period;
	const uint64_t *chain;
	size_t n_chain;
	uint32_t raw_size;			  /* 8 n + 4 */
	const struct perf_branch_entry *branches; /* NULL: any */
	uint64_t n_branches;
	uint64_t n_read; /* of PERF_FORMAT_GROUP */
	uint64_t abi;
	uint64_t first_register; /* the others count up from it */
	uint64_t stack_room, stack_size;
	const uint8_t *stack; /* NULL: any bytes */
};

static inline void put_read(struct perf_builder *b, uint64_t format, uint64_t n)
{
	bool group = format & PERF_FORMAT_GROUP;

	b64(b, group ? n : 123);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		b64(b, 1000);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		b64(b, 1000);
	for (uint64_t i = 0; i < (group ? n : 1); i++) {
		if (group)
			b64(b, 123);
		if (format & PERF_FORMAT_ID)
			b64(b, 5);
		if (format & (1 << 4)) /* PERF_FORMAT_LOST */
			b64(b, 0);
	}
}

static inline void put_branches(struct perf_builder *b, uint64_t type,
				const struct builder_sample *s)
{
	uint64_t n = s->n_branches;

	b64(b, n);
	if (type & (1 << 17)) /* PERF_SAMPLE_BRANCH_HW_INDEX */
		b64(b, 7);
	for (uint64_t i = 0; i < n; i++) {
		b64(b, s->branches ? s->branches[i].from : 0x400000 + 3 * i);
		b64(b, s->branches ? s->branches[i].to : 0x400001 + 3 * i);
		b64(b, 0);
	}
	for (uint64_t i = 0; i < n && type & (1 << 19); i++) /* PERF_SAMPLE_BRANCH_COUNTERS */
		b64(b, i);
}

/* As perf_event.h documents PERF_RECORD_SAMPLE. */
static inline void put_sample(struct perf_builder *b, size_t event_index,
			      const struct builder_sample *s)
{
	const struct perf_builder_event *event = &b->events[event_index];
	uint64_t type = event->sample_type;

	begin(b, PERF_RECORD_SAMPLE, s->misc ? s->misc : PERF_RECORD_MISC_USER);
	if (type & PERF_SAMPLE_IDENTIFIER)
		b64(b, s->id.id);
	if (type & PERF_SAMPLE_IP)
		b64(b, s->ip);
	if (type & PERF_SAMPLE_TID) {
		b32(b, s->id.pid);
		b32(b, s->id.tid);
	}
	if (type & PERF_SAMPLE_TIME)
		b64(b, s->id.time);
	if (type & PERF_SAMPLE_ADDR)
		b64(b, s->address);
	if (type & PERF_SAMPLE_ID)
		b64(b, s->id.id);
	if (type & PERF_SAMPLE_STREAM_ID)
		b64(b, s->id.id);
	if (type & PERF_SAMPLE_CPU) {
		b32(b, s->id.cpu);
		b32(b, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		b64(b, s->period);
	if (type & PERF_SAMPLE_READ)
		put_read(b, event->read_format, s->n_read);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		b64(b, s->n_chain);
		for (size_t i = 0; i < s->n_chain; i++)
			b64(b, s->chain[i]);
	}
	if (type & PERF_SAMPLE_RAW) {
		b32(b, s->raw_size);
		for (uint32_t i = 0; i < s->raw_size; i++)
			reel_buffer_u8(&b->data, (uint8_t)i);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(b, event->branch_sample_type, s);
	if (type & PERF_SAMPLE_REGS_USER) {
		b64(b, s->abi);
		for (int i = 0; s->abi && i < __builtin_popcountll(event->user_registers); i++)
			b64(b, s->first_register + (unsigned int)i);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		b64(b, s->stack_room);
		for (uint64_t i = 0; i < s->stack_room; i++)
			reel_buffer_u8(&b->data, i >= s->stack_size ? 0
						 : s->stack	    ? s->stack[i]
								    : (uint8_t)(i * 7));
		if (s->stack_room)
			b64(b, s->stack_size);
	}
	end(b);
}

/* ---- attributes and features ------------------------------------------------------------ */

static inline struct perf_builder_event *add_event(struct perf_builder *b, uint64_t sample_type,
						   uint64_t flags, uint64_t id)
{
	struct perf_builder_event *event = &b->events[b->n_events++];

	must_be(b->n_events <= BUILD_EVENTS_MAX, "few events");
	*event = (struct perf_builder_event){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.period = 99,
		.sample_type = sample_type,
		.flags = flags,
	};
	if (id)
		event->ids[event->n_ids++] = id;
	return event;
}

static inline size_t attr_size(const struct perf_builder_event *event)
{
	return event->attr_size ? event->attr_size : PERF_ATTR_SIZE_VER5;
}

/* A C compiler puts the first bit-field into the lowest bit, or into the highest if big-endian. */
static inline void put_attr(struct perf_builder *b, struct reel_buffer *to,
			    const struct perf_builder_event *event)
{
	size_t start = to->size, size = attr_size(event);
	uint64_t flags = event->flags;

	if (b->big_endian) {
		flags = 0;
		for (unsigned int i = 0; i < 64; i++)
			if (event->flags >> i & 1)
				flags |= 1ull << (63 - i);
	}
	put_number(b, to, event->type, 4);
	put_number(b, to, size, 4);
	put_number(b, to, event->config, 8);
	put_number(b, to, event->period, 8);
	put_number(b, to, event->sample_type, 8);
	put_number(b, to, event->read_format, 8);
	put_number(b, to, flags, 8);
	put_number(b, to, 1, 4); /* wakeup_events */
	put_number(b, to, 0, 4); /* bp_type */
	put_number(b, to, 0, 8); /* bp_addr, config1 */
	put_number(b, to, 0, 8); /* bp_len, config2 */
	put_number(b, to, event->branch_sample_type, 8);
	put_number(b, to, event->user_registers, 8);
	put_number(b, to, event->stack, 4);
	put_number(b, to, (uint32_t)event->clock, 4);
	put_number(b, to, 0, 8); /* sample_regs_intr */
	put_number(b, to, 0, 4); /* aux_watermark */
	put_number(b, to, event->max_chain, 2);
	put_number(b, to, 0, 2); /* reserved */
	while (to->size < start + size)
		reel_buffer_u8(to, 0);
	to->size = start + size;
}

static inline struct reel_buffer *feature(struct perf_builder *b, unsigned int number)
{
	b->feature_bits |= 1ull << number;
	return &b->features[number];
}

/* u32 size, then the text with NULs up to a multiple of 64. */
static inline void put_string(struct perf_builder *b, struct reel_buffer *to, const char *text)
{
	size_t padded = (strlen(text) + 1 + 63) & ~(size_t)63;

	put_number(b, to, padded, 4);
	put_text(to, text, padded);
}

static inline void feature_text(struct perf_builder *b, unsigned int number, const char *text)
{
	put_string(b, feature(b, number), text);
}

static inline void feature_names(struct perf_builder *b, const char *const *names)
{
	struct reel_buffer *to = feature(b, BUILD_FEATURE_EVENT_DESC);

	put_number(b, to, b->n_events, 4);
	put_number(b, to, attr_size(&b->events[0]), 4);
	for (size_t i = 0; i < b->n_events; i++) {
		put_attr(b, to, &b->events[i]);
		put_number(b, to, b->events[i].n_ids, 4);
		put_string(b, to, names[i]);
		for (size_t j = 0; j < b->events[i].n_ids; j++)
			put_number(b, to, b->events[i].ids[j], 8);
	}
}

/* ---- compression ------------------------------------------------------------------------ */

/*
 * Replaces the records from offset `from` on by COMPRESSED ones: a piece of the one zstd stream of
 * the file for each `piece` bytes, flushed, wherever records end.
 */
static inline void compress_from(struct perf_builder *b, size_t from, size_t piece, uint32_t type)
{
	size_t total = b->data.size - from, room = ZSTD_compressBound(piece) + 64;
	uint8_t *raw = malloc(total + 1), *packed = malloc(room);

	must_be(raw && packed, "memory");
	memcpy(raw, b->data.bytes + from, total);
	b->data.size = from;
	if (!b->zstd)
		b->zstd = ZSTD_createCCtx();
	for (size_t at = 0; at < total; at += piece) {
		ZSTD_inBuffer in = { raw + at, total - at < piece ? total - at : piece, 0 };
		ZSTD_outBuffer out = { packed, room, 0 };

		must_be(!ZSTD_compressStream2(b->zstd, &out, &in, ZSTD_e_flush), "flushed");
		begin(b, type, 0);
		if (type == BUILD_COMPRESSED2)
			b64(b, out.pos);
		bbytes(b, packed, out.pos);
		while (type == BUILD_COMPRESSED2 && b->data.size % 8)
			reel_buffer_u8(&b->data, 0);
		end(b);
	}
	free(raw);
	free(packed);
}

/* ---- the file --------------------------------------------------------------------------- */

static inline void build_pipe(struct perf_builder *b, struct reel_buffer *ret)
{
	struct perf_builder head = { .big_endian = b->big_endian };

	put_number(b, &head.data, 0x32454c4946524550u, 8);
	put_number(b, &head.data, 16, 8);
	for (size_t i = 0; i < b->n_events; i++) {
		begin(&head, BUILD_HEADER_ATTR, 0);
		put_attr(&head, &head.data, &b->events[i]);
		for (size_t j = 0; j < b->events[i].n_ids; j++)
			b64(&head, b->events[i].ids[j]);
		end(&head);
	}
	for (unsigned int i = 0; i < BUILD_FEATURES; i++) {
		if (!(b->feature_bits >> i & 1))
			continue;
		/* In a pipe, build-ids are separate records. */
		if (i == BUILD_FEATURE_BUILD_ID) {
			bbytes(&head, b->features[i].bytes, b->features[i].size);
			continue;
		}
		begin(&head, BUILD_HEADER_FEATURE, 0);
		b64(&head, i);
		bbytes(&head, b->features[i].bytes, b->features[i].size);
		end(&head);
	}
	reel_buffer_append(ret, head.data.bytes, head.data.size);
	reel_buffer_append(ret, b->data.bytes, b->data.size);
	builder_free(&head);
}

/* Header, ids, attributes, data, sections of the features, features. */
static inline void build_file(struct perf_builder *b, struct reel_buffer *ret)
{
	uint64_t ids = 104, attrs = ids, data, at, n_features = 0;
	uint64_t each = attr_size(&b->events[0]) + 16;

	for (size_t i = 0; i < b->n_events; i++)
		attrs += 8 * b->events[i].n_ids;
	data = attrs + b->n_events * each;
	put_number(b, ret, 0x32454c4946524550u, 8);
	put_number(b, ret, 104, 8);
	put_number(b, ret, each, 8);
	put_number(b, ret, attrs, 8);
	put_number(b, ret, b->n_events * each, 8);
	put_number(b, ret, data, 8);
	put_number(b, ret, b->unfinished ? 0 : b->data.size, 8);
	put_number(b, ret, 0, 8);
	put_number(b, ret, 0, 8);
	put_number(b, ret, b->unfinished ? 0 : b->feature_bits, 8);
	for (int i = 0; i < 3; i++)
		put_number(b, ret, 0, 8);
	for (size_t i = 0; i < b->n_events; i++)
		for (size_t j = 0; j < b->events[i].n_ids; j++)
			put_number(b, ret, b->events[i].ids[j], 8);
	for (size_t i = 0; i < b->n_events; i++) {
		put_attr(b, ret, &b->events[i]);
		put_number(b, ret, ids, 8);
		put_number(b, ret, 8 * b->events[i].n_ids, 8);
		ids += 8 * b->events[i].n_ids;
	}
	reel_buffer_append(ret, b->data.bytes, b->data.size);
	if (b->unfinished)
		return;
	for (unsigned int i = 0; i < BUILD_FEATURES; i++)
		n_features += b->feature_bits >> i & 1;
	at = data + b->data.size + 16 * n_features;
	for (unsigned int i = 0; i < BUILD_FEATURES; i++) {
		if (!(b->feature_bits >> i & 1))
			continue;
		put_number(b, ret, at, 8);
		put_number(b, ret, b->features[i].size, 8);
		at += b->features[i].size;
	}
	for (unsigned int i = 0; i < BUILD_FEATURES; i++)
		if (b->feature_bits >> i & 1)
			reel_buffer_append(ret, b->features[i].bytes, b->features[i].size);
}

static inline void build(struct perf_builder *b, struct reel_buffer *ret)
{
	ret->size = 0;
	if (b->is_pipe)
		build_pipe(b, ret);
	else
		build_file(b, ret);
}

#endif
