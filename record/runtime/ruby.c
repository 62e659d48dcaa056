/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ruby's state.  Its variables have no symbols, so each pointer among the data of the file that
 * runs Ruby is tried: the one to the virtual machine leads to a thread that leads back to it.
 */
#include "record/runtime/ruby.h"

#include "record/proc/proc.h"

/* Reading races with the process: it is wrong only if it is so each time. */
#define TRIES 10
/* Data of the file; 3.3 has 128 KB. */
#define DATA_MAX (4u << 20)
/* Frames and tags to look at. */
#define FRAMES_MAX 512
#define TAGS_MAX   256
/* enum rb_iseq_type: ISEQ_TYPE_MAIN. */
#define TYPE_MAIN 7

/* VM_FRAME_FLAG_FINISH, and frames without a function: VM_FRAME_MAGIC_DUMMY. */
#define FLAG_FINISH 0x20
#define MAGIC_MASK  0x7fff0001
#define MAGIC_DUMMY 0x79990001

/*
 * Where struct rb_vm_tag has a word that setjmp takes from the code that calls it, and `prev`.  With a
 * C library's setjmp, the word is the code's address, which the library hides in a way that is the same
 * for all of a process.
 */
static const struct tag_layout {
	uint16_t word, previous; /* beyond `buf` */
} tag_layouts[] = {
	{ 56, 200 }, /* glibc, x86-64: JB_PC */
	{ 88, 312 }, /* glibc, AArch64: JB_LR */
	{ 8, 40 },   /* __builtin_setjmp */
};

struct ruby {
	uint32_t pid;
	uint32_t version;
	const uint16_t *fields;
};

static bool is_row(const struct ruby_version *row, uint32_t version, uint64_t node)
{
	return row->version == version && (!node || row->fields[RUBY_RACTOR_NODE] == node);
}

/* `node`: where a ractor has its place in the list; 0: unknown. */
static const uint16_t *fields_of(uint32_t version, uint64_t node)
{
	for (size_t i = 0; i < n_ruby_versions; i++) {
		if (is_row(&ruby_versions[i], version, node))
			return ruby_versions[i].fields;
	}
	return NULL;
}

const uint16_t *ruby_fields_of(uint32_t version)
{
	return fields_of(version, 0);
}

static bool follow(const struct ruby *ruby, uint64_t object, enum ruby_field field, uint64_t *ret)
{
	return reel_proc_memory(ruby->pid, object + ruby->fields[field], ret, sizeof(*ret)) &&
	       *ret && !(*ret & 7);
}

/* ---- the virtual machine ------------------------------------------------------------------ */

struct machine {
	uint64_t ractors;	 /* where their list begins */
	uint64_t ractor, thread; /* the main ones */
};

/* What is read of a place that may be the machine: ractor.set to main_thread. */
#define MACHINE_WORDS 8

static uint64_t machine_word(const struct ruby *ruby, const uint64_t *words, enum ruby_field field)
{
	return words[ruby->fields[field] / sizeof(*words) % MACHINE_WORDS];
}

/*
 * Rows of a version differ only in fields of ractors: these follow mutexes, whose size the CPU and the
 * C library choose.
 */
static bool choose_fields(struct ruby *ruby, const uint64_t *words)
{
	uint64_t ractor = machine_word(ruby, words, RUBY_VM_MAIN_RACTOR);
	uint64_t node = machine_word(ruby, words, RUBY_VM_RACTORS);
	const uint16_t *fields = node > ractor ? fields_of(ruby->version, node - ractor) : NULL;

	if (fields)
		ruby->fields = fields;
	return fields != NULL;
}

static bool is_machine(struct ruby *ruby, uint64_t at, const uint64_t *words, struct machine *ret)
{
	uint64_t back, context;

	ret->ractors = at + ruby->fields[RUBY_VM_RACTORS];
	ret->ractor = machine_word(ruby, words, RUBY_VM_MAIN_RACTOR);
	ret->thread = machine_word(ruby, words, RUBY_VM_MAIN_THREAD);
	return choose_fields(ruby, words) && ret->thread &&
	       follow(ruby, ret->thread, RUBY_THREAD_VM, &back) && back == at &&
	       follow(ruby, ret->thread, RUBY_THREAD_RACTOR, &back) && back == ret->ractor &&
	       follow(ruby, ret->thread, RUBY_THREAD_CONTEXT, &context) &&
	       follow(ruby, context, RUBY_CONTEXT_THREAD, &back) && back == ret->thread;
}

/* Most words point into the file, to its functions and texts. */
static bool may_be_machine(const struct reel_runtime_place *place, uint64_t word)
{
	return word && !(word & 7) &&
	       word - (place->at - place->before) >= place->before + place->size;
}

static bool find_among(struct ruby *ruby, const uint64_t *places, size_t n, struct machine *ret)
{
	uint64_t words[REEL_PROC_PLACES_MAX][MACHINE_WORDS];
	size_t end;

	/* One that cannot be read ends each call. */
	for (size_t i = 0; i < n; i = end + 1) {
		end = i + reel_proc_memory_places(ruby->pid, places + i, n - i, words[i],
						  sizeof(words[0]));
		for (size_t j = i; j < end; j++) {
			if (is_machine(ruby, places[j], words[j], ret))
				return true;
		}
	}
	return false;
}

static bool find_machine(struct ruby *ruby, const struct reel_runtime_place *place,
			 struct machine *ret)
{
	uint64_t end = place->at + (place->size < DATA_MAX ? place->size : DATA_MAX);
	uint64_t words[REEL_PROC_PLACES_MAX];

	for (uint64_t at = place->at & ~7ull; at < end; at += sizeof(words)) {
		size_t size = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);
		size_t n = 0;

		if (!reel_proc_memory(ruby->pid, at, words, size))
			continue;
		for (size_t i = 0; i < size / sizeof(words[0]); i++) {
			if (may_be_machine(place, words[i]))
				words[n++] = words[i];
		}
		if (find_among(ruby, words, n, ret))
			return true;
	}
	return false;
}

/* ---- what its calls keep on the native stack ---------------------------------------------- */

struct context {
	uint64_t stack, size, frame, tag;
};

/* Of the frames that calls of vm_exec end with: how many there are, and whether the outermost is the
 * program's. */
struct entries {
	size_t n;
	bool is_main;
};

static bool is_main(const struct ruby *ruby, uint64_t code)
{
	uint64_t body;
	uint32_t type;

	return follow(ruby, code, RUBY_CODE_BODY, &body) &&
	       reel_proc_memory(ruby->pid, body, &type, sizeof(type)) && type == TYPE_MAIN;
}

static bool count_entries(const struct ruby *ruby, const struct context *context,
			  struct entries *ret)
{
	uint64_t end = context->stack + 8 * context->size, frame = context->frame;

	*ret = (struct entries){ 0 };
	for (size_t i = 0; i < FRAMES_MAX && frame < end; i++) {
		uint64_t words[REEL_BPF_FRAME_SIZE / 8], environment, flags;
		const uint16_t *fields = ruby->fields;

		if (!reel_proc_memory(ruby->pid, frame, words, fields[RUBY_FRAME_SIZE]))
			return false;
		environment = words[fields[RUBY_FRAME_ENVIRONMENT] / 8];
		frame += fields[RUBY_FRAME_SIZE];
		if (!words[fields[RUBY_FRAME_CODE] / 8] || !words[fields[RUBY_FRAME_PC] / 8])
			continue;
		if (!reel_proc_memory(ruby->pid, environment, &flags, sizeof(flags)))
			return false;
		if (flags & FLAG_FINISH && (flags & MAGIC_MASK) != MAGIC_DUMMY) {
			ret->n++;
			ret->is_main = is_main(ruby, words[fields[RUBY_FRAME_CODE] / 8]);
		}
	}
	return frame == end;
}

/* The marks of tags, the innermost first; 0 if this is not their layout. */
static size_t read_marks(const struct ruby *ruby, const struct tag_layout *layout, uint64_t tag,
			 uint64_t marks[TAGS_MAX])
{
	uint16_t buffer = ruby->fields[RUBY_TAG_BUFFER];
	uint64_t previous;
	size_t n = 0;

	for (; tag && n < TAGS_MAX; tag = previous) {
		if (!reel_proc_memory(ruby->pid, tag + buffer + layout->word, &marks[n++],
				      sizeof(marks[0])) ||
		    !reel_proc_memory(ruby->pid, tag + buffer + layout->previous, &previous,
				      sizeof(previous)) ||
		    previous & 7 || (previous && previous <= tag))
			return 0;
	}
	return tag ? 0 : n;
}

static size_t count_marks(const uint64_t *marks, size_t n, uint64_t mark)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += marks[i] == mark;
	return found;
}

/*
 * The mark of vm_exec's tags: as many have it as frames are entries.  The program's main function is
 * run by the second one of all calls with tags (ruby_exec_node, vm_exec); elsewhere, only one mark may
 * fit.
 */
static uint64_t choose_mark(const uint64_t *marks, size_t n, const struct entries *entries)
{
	uint64_t mark = 0;

	if (entries->is_main)
		return n > 1 && count_marks(marks, n, marks[n - 2]) == entries->n ? marks[n - 2]
										  : 0;
	for (size_t i = 0; i < n; i++) {
		if (marks[i] == mark || count_marks(marks, n, marks[i]) != entries->n)
			continue;
		if (mark)
			return 0;
		mark = marks[i];
	}
	return mark;
}

static bool read_context(const struct ruby *ruby, uint64_t thread, struct context *ret)
{
	uint64_t at;

	return follow(ruby, thread, RUBY_THREAD_CONTEXT, &at) &&
	       reel_proc_memory(ruby->pid, at + ruby->fields[RUBY_CONTEXT_STACK], ret,
				sizeof(*ret)) &&
	       ret->size <= UINT32_MAX && ret->frame >= ret->stack &&
	       ret->frame < ret->stack + 8 * ret->size;
}

static bool find_mark(const struct ruby *ruby, uint64_t thread, struct reel_bpf_ruby *ret)
{
	struct context context, again;
	uint64_t marks[TAGS_MAX];
	struct entries entries;

	if (!read_context(ruby, thread, &context) || !count_entries(ruby, &context, &entries) ||
	    !entries.n)
		return false;
	for (size_t i = 0; i < sizeof(tag_layouts) / sizeof(*tag_layouts); i++) {
		size_t n = read_marks(ruby, &tag_layouts[i], context.tag, marks);
		uint64_t mark = choose_mark(marks, n, &entries);

		if (!mark)
			continue;
		ret->tag_mark = mark;
		ret->tag_word = ruby->fields[RUBY_TAG_BUFFER] + tag_layouts[i].word;
		ret->tag_previous = ruby->fields[RUBY_TAG_BUFFER] + tag_layouts[i].previous;
		return read_context(ruby, thread, &again) && again.frame == context.frame &&
		       again.tag == context.tag;
	}
	return false;
}

/* ---- the answer --------------------------------------------------------------------------- */

bool ruby_is_valid(const struct reel_bpf_interpreter *interpreter)
{
	const struct reel_bpf_ruby *ruby = &interpreter->ruby;

	return reel_runtime_has_frame_size(interpreter) &&
	       ruby->frame_pc + 8 <= interpreter->frame_size &&
	       ruby->frame_code + 8 <= interpreter->frame_size &&
	       ruby->frame_environment + 8 <= interpreter->frame_size &&
	       ruby->body_identity >= ruby->body_instructions + 8 &&
	       ruby->body_identity - ruby->body_instructions + REEL_BPF_IDENTITY_SIZE <=
		       REEL_BPF_FRAME_SIZE;
}

static void fill(const uint16_t *fields, uint64_t ractors, struct reel_bpf_interpreter *ret)
{
	*ret = (struct reel_bpf_interpreter){
		.head = ractors,
		.kind = REEL_BPF_INTERPRETER_RUBY,
		.frame_size = fields[RUBY_FRAME_SIZE],
		.ruby = {
			.ractor_node = fields[RUBY_RACTOR_NODE],
			.ractor_threads = fields[RUBY_RACTOR_THREADS],
			.thread_node = fields[RUBY_THREAD_NODE],
			.thread_native = fields[RUBY_THREAD_NATIVE],
			.thread_id = fields[RUBY_THREAD_ID],
			.thread_context = fields[RUBY_THREAD_CONTEXT],
			.context_stack = fields[RUBY_CONTEXT_STACK],
			.frame_pc = fields[RUBY_FRAME_PC],
			.frame_code = fields[RUBY_FRAME_CODE],
			.frame_environment = fields[RUBY_FRAME_ENVIRONMENT],
			.code_body = fields[RUBY_CODE_BODY],
			.body_instructions = fields[RUBY_BODY_INSTRUCTIONS],
			.body_identity = fields[RUBY_BODY_FILE],
			.method_identity = fields[RUBY_METHOD_CLASS],
		},
	};
}

enum reel_runtime_answer ruby_locate(uint32_t pid, const struct reel_runtime_place *place,
				     struct reel_bpf_interpreter *ret)
{
	struct ruby ruby = { pid, place->version, ruby_fields_of(place->version) };
	struct reel_bpf_interpreter interpreter;
	struct machine machine;

	if (!ruby.fields)
		return REEL_RUNTIME_UNKNOWN;
	if (!find_machine(&ruby, place, &machine))
		return REEL_RUNTIME_LATER;
	fill(ruby.fields, machine.ractors, &interpreter);
	for (size_t i = 0; i < TRIES; i++) {
		if (!find_mark(&ruby, machine.thread, &interpreter.ruby))
			continue;
		*ret = interpreter;
		return REEL_RUNTIME_FOUND;
	}
	return REEL_RUNTIME_LATER;
}
