/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/budget/budget.h"
#include "record/helper/fd_message.h"
#include "record/helper/inspection.h"
#include "record/helper/inspector.h"
#include "record/helper/spawner.h"
#include "record/host/privileges.h"
#include "base/quantity.h"

/* A working or sending helper may take this many times as long as an idle one. */
#define ROUNDS_MAX	 20
#define SETUP_ROUNDS_MAX 100
/* Retry interval if no helper can be started. */
#define RESTART_INTERVAL (100 * REEL_NS_PER_MS)

static const struct reel_helper_limits limits = {
	.memory = UINT64_C(512) << 20,
	/* Our budget limits each answer's time; an hour for all of them is a backstop, and costs
	 * the one answer that it ends. */
	.cpu_seconds = 3600,
	.files = 1024,
};

struct reel_inspector {
	struct reel_spawner *spawner;
	int helper; /* our end of its socket, -1: none */
	bool hurries;
	uint64_t restart; /* not before */
	uint64_t left_out;
	bool said;
	void (*note)(void *context, const char *line);
	void *context;
	struct reel_budget *budget;
	enum reel_budget_kind kind; /* of the request, and the process that pays for it */
	uint32_t charged;
	struct inspection_request request;
	uint64_t packet[(INSPECTION_PACKET_MAX + 7) / 8];
};

/* Receives an answer: `take` returns false for invalid items. */
struct receiver {
	bool (*take)(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size);
	void (*visit_number)(void *context, uint32_t number);
	void (*visit_map)(void *context, const struct reel_proc_map *map);
	void (*visit_thread)(void *context, const struct reel_proc_thread *thread);
	void (*visit_code)(void *context, const struct reel_code_page *page);
	void (*visit_function)(void *context, const struct reel_runtime_function *function);
	void *context;
	const struct reel_jit_listener *listener;
	void *ret;	  /* of the size of the one wanted item */
	uint64_t address; /* end of the previous mapping */
	int file;	  /* received with the answer, -1: none */
	bool began, found, ended, whole;
	bool asked;	  /* a helper took the question */
	uint64_t step;	  /* when this began, for begin_step */
	uint64_t stopped; /* how long we did not run, which is nobody's fault */
	/* The answer takes long: the time until that was found, and the helper's state then. */
	bool is_long;
	uint64_t worked;
	struct reel_spawner_state state;
};

/* Called early, so that a helper is ready for the next question. */
static void start_helper(struct reel_inspector *inspector)
{
	uint64_t now = reel_now();

	if (inspector->helper >= 0 || now < inspector->restart)
		return;
	inspector->helper = reel_spawner_start(inspector->spawner);
	if (inspector->helper < 0)
		inspector->restart = now + RESTART_INTERVAL;
}

static void replace_helper(struct reel_inspector *inspector)
{
	/* It did not even begin: there are too many processes, or too many that hang. */
	if (inspector->helper >= 0 && !reel_spawner_look(inspector->spawner).begun)
		inspector->restart = reel_now() + RESTART_INTERVAL;
	if (inspector->helper >= 0)
		close(inspector->helper);
	inspector->helper = -1;
	start_helper(inspector);
}

struct reel_error *reel_inspector_create(struct reel_budget *budget, bool confined,
					 void (*note)(void *context, const char *line),
					 void *context, struct reel_inspector **ret)
{
	struct reel_inspector *inspector = calloc(1, sizeof(*inspector));
	struct reel_error *error;

	if (!inspector)
		return reel_error_no_memory();
	inspector->helper = -1;
	inspector->budget = budget;
	inspector->note = note;
	inspector->context = context;
	error = reel_spawner_create(confined ? reel_inspections_answer_confined
					     : reel_inspections_answer,
				    confined ? REEL_ROLE_READER : 0, &limits, &inspector->spawner);
	if (error) {
		free(inspector);
		return error;
	}
	start_helper(inspector);
	*ret = inspector;
	return NULL;
}

void reel_inspector_destroy(struct reel_inspector *inspector)
{
	if (!inspector)
		return;
	reel_spawner_destroy(inspector->spawner);
	if (inspector->helper >= 0)
		close(inspector->helper);
	free(inspector);
}

void reel_inspector_hurry(struct reel_inspector *inspector)
{
	inspector->hurries = true;
	reel_budget_hurry(inspector->budget, true);
}

bool reel_inspector_lives(const struct reel_inspector *inspector)
{
	return reel_spawner_lives(inspector->spawner);
}

uint64_t reel_inspector_left_out(const struct reel_inspector *inspector)
{
	return inspector->left_out;
}

static void leave_out(struct reel_inspector *inspector)
{
	inspector->left_out++;
	if (inspector->said || !inspector->note)
		return;
	inspector->said = true;
	inspector->note(inspector->context,
			"/proc or a mapped file did not answer in time: skipped files have no "
			"build-id, skipped processes no mappings");
}

/* ---- packets ------------------------------------------------------------------------------ */

static bool take_end(struct receiver *receiver, const uint8_t *bytes, size_t size)
{
	uint32_t whole;

	if (size != sizeof(whole))
		return false;
	memcpy(&whole, bytes, sizeof(whole));
	receiver->ended = true;
	receiver->whole = whole == 1;
	return true;
}

/* False if a working helper cannot have sent it. */
static bool take_packet(struct receiver *receiver, const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		struct inspection_item item;

		if (size - at < sizeof(item) || receiver->ended)
			return false;
		memcpy(&item, bytes + at, sizeof(item));
		at += sizeof(item);
		if (item.size > size - at || (-item.size & 7) > size - at - item.size)
			return false;
		if (item.kind == ITEM_END
			    ? !take_end(receiver, bytes + at, item.size)
			    : !receiver->take(receiver, item.kind, bytes + at, item.size))
			return false;
		at += item.size + (-item.size & 7);
	}
	receiver->began = true;
	return size != 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

/* Waits for data, or until the time `until`. */
static bool poll_until(int fd, uint64_t until)
{
	struct pollfd set = { fd, POLLIN, 0 };

	for (;;) {
		uint64_t now = reel_now(), left = now < until ? until - now : 0;
		struct timespec time = { (time_t)(left / REEL_NS_PER_SECOND),
					 (long)(left % REEL_NS_PER_SECOND) };
		int n = ppoll(&set, 1, &time, NULL);

		if (n >= 0 || errno != EINTR)
			return n > 0;
	}
}

/* What a packet that takes longer to handle, or a wait that takes that much longer, is charged. */
#define STEP_MAX (50 * REEL_NS_PER_MS)

/*
 * The next step should have begun at `due`.  A recorder that was stopped, as by SIGSTOP or with its
 * virtual machine, must not take that for the process's work: nothing could be asked for many
 * seconds afterwards.
 */
static void begin_step(struct receiver *receiver, uint64_t due)
{
	uint64_t now = reel_now();

	if (now > due + STEP_MAX)
		receiver->stopped += now - due - STEP_MAX;
	receiver->step = now;
}

static bool wait_for(int fd, uint64_t until, struct receiver *receiver)
{
	bool found;

	begin_step(receiver, receiver->step);
	found = poll_until(fd, until);
	begin_step(receiver, until > receiver->step ? until : receiver->step);
	return found;
}

/*
 * Whether a missing answer is only late, as on a slow or busy host, where we are late as well: the
 * helper hangs only if it sleeps despite a question.
 */
static bool is_late(struct reel_inspector *inspector, uint64_t until, uint64_t limit)
{
	struct reel_spawner_state state = reel_spawner_look(inspector->spawner);
	uint64_t now = reel_now();

	return !state.begun || state.runs || (now > until && now - until > limit / 4);
}

static ssize_t receive_packet(struct reel_inspector *inspector, struct receiver *receiver)
{
	size_t n_files = 1;
	int file;
	ssize_t n = reel_fd_message_receive(inspector->helper, inspector->packet,
					    sizeof(inspector->packet), &file, &n_files,
					    MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 || !n_files)
		return n;
	if (receiver->file >= 0)
		close(receiver->file);
	receiver->file = file;
	return n;
}

/* Waits until `until`, and keeps the helper's state once the answer takes longer than most. */
static bool wait_for_packet(struct reel_inspector *inspector, struct receiver *receiver,
			    uint64_t start, uint64_t until)
{
	uint64_t soon = start + REEL_BUDGET_SHORT;

	if (!receiver->is_long) {
		if (wait_for(inspector->helper, soon < until ? soon : until, receiver))
			return true;
		receiver->is_long = true;
		receiver->state = reel_spawner_look(inspector->spawner);
		receiver->worked = reel_now() - start - receiver->stopped;
	}
	return wait_for(inspector->helper, until, receiver);
}

/* False if the helper does not answer any more. */
static bool receive(struct reel_inspector *inspector, struct receiver *receiver, uint64_t start,
		    uint64_t limit)
{
	uint64_t rounds = inspector->hurries ? ROUNDS_MAX : SETUP_ROUNDS_MAX;
	uint64_t end = start + rounds * limit;

	while (!receiver->ended) {
		uint64_t until = reel_now() + limit;
		ssize_t n;

		if (until > end)
			until = end;
		if (!wait_for_packet(inspector, receiver, start, until)) {
			if (reel_now() < end && is_late(inspector, until, limit))
				continue;
			return false;
		}
		n = receive_packet(inspector, receiver);
		if (n <= 0 || (size_t)n > sizeof(inspector->packet) ||
		    !take_packet(receiver, (const uint8_t *)inspector->packet, (size_t)n))
			return false;
	}
	return true;
}

/* Until an answer is found to take long, the helper is taken to work: its state costs more to read
 * than most answers. */
static void charge(struct reel_inspector *inspector, struct receiver *receiver, uint64_t start)
{
	struct reel_spawner_state state;
	uint64_t took;

	begin_step(receiver, receiver->step);
	took = receiver->step - start - receiver->stopped;
	if (!receiver->is_long) {
		reel_budget_charge(inspector->budget, inspector->kind, inspector->charged, took);
		return;
	}
	state = reel_spawner_look(inspector->spawner);
	reel_budget_charge_answer(inspector->budget, inspector->kind, inspector->charged, took,
				  receiver->worked + state.work - receiver->state.work,
				  receiver->worked + state.busy - receiver->state.busy);
}

static enum reel_answer ask(struct reel_inspector *inspector, struct receiver *receiver)
{
	const struct inspection_request *request = &inspector->request;
	uint64_t start = reel_now();
	uint64_t limit =
		reel_budget_wait_limit(inspector->budget, inspector->kind, inspector->charged);
	bool failed;

	receiver->step = start;
	start_helper(inspector);
	receiver->asked = limit && inspector->helper >= 0 &&
			  send(inspector->helper, request, sizeof(*request),
			       MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*request);
	failed = !receiver->asked || !receive(inspector, receiver, start, limit);
	charge(inspector, receiver, start);
	if (failed) {
		receiver->ended = false;
		leave_out(inspector);
		if (limit)
			replace_helper(inspector);
	}
	if (receiver->ended)
		return receiver->whole ? REEL_ANSWER_WHOLE : REEL_ANSWER_PART;
	return receiver->began ? REEL_ANSWER_PART : REEL_ANSWER_NONE;
}

static void prepare(struct reel_inspector *inspector, enum inspection_kind kind, uint32_t number)
{
	memset(&inspector->request, 0, sizeof(inspector->request));
	inspector->request.kind = kind;
	inspector->request.number = number;
	inspector->kind = kind >= INSPECT_CODE ? REEL_BUDGET_NAMES : REEL_BUDGET_PLACES;
	inspector->charged = 0;
}

/* IDs of backoffs against a process or a device. */
static uint64_t process_backoff_id(uint32_t pid)
{
	return UINT64_C(1) << 62 | pid;
}

static uint64_t device_backoff_id(const struct reel_proc_map *map)
{
	return UINT64_C(2) << 62 | (uint64_t)map->device_major << 32 | map->device_minor;
}

/* Asks about a process, which pays, unless it made us wait recently. */
static enum reel_answer ask_process(struct reel_inspector *inspector, uint32_t pid,
				    struct receiver *receiver)
{
	struct reel_budget *budget = inspector->budget;
	uint64_t who = process_backoff_id(pid);
	enum reel_answer answer;

	inspector->charged = pid;
	if (reel_budget_is_backing_off(budget, who, reel_now())) {
		leave_out(inspector);
		return REEL_ANSWER_NONE;
	}
	answer = ask(inspector, receiver);
	if (receiver->ended)
		reel_budget_reset_backoff(budget, who);
	else if (receiver->asked)
		reel_budget_back_off(budget, who, reel_now());
	return answer;
}

/* ---- questions ----------------------------------------------------------------------------- */

static bool take_number(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size)
{
	uint32_t number;

	if (kind != ITEM_NUMBER || size != sizeof(number))
		return false;
	memcpy(&number, bytes, sizeof(number));
	receiver->visit_number(receiver->context, number);
	return true;
}

enum reel_answer reel_inspector_processes(struct reel_inspector *inspector,
					  void (*visit)(void *context, uint32_t pid), void *context)
{
	struct receiver receiver = {
		.file = -1, .take = take_number, .visit_number = visit, .context = context
	};

	prepare(inspector, INSPECT_PROCESSES, 0);
	return ask(inspector, &receiver);
}

static bool take_map(struct receiver *receiver, const uint8_t *bytes, size_t size)
{
	struct reel_proc_map map;
	const char *path = (const char *)bytes + sizeof(map);

	if (size <= sizeof(map) || strnlen(path, size - sizeof(map)) != size - sizeof(map) - 1)
		return false;
	memcpy(&map, bytes, sizeof(map));
	map.path = path;
	/* Callers search mappings by address. */
	if (!map.size || map.address < receiver->address || map.size > UINT64_MAX - map.address)
		return false;
	receiver->address = map.address + map.size;
	receiver->visit_map(receiver->context, &map);
	return true;
}

static bool take_process(struct receiver *receiver, uint32_t kind, const uint8_t *bytes,
			 size_t size)
{
	if (kind == ITEM_MAP)
		return take_map(receiver, bytes, size);
	if (kind != ITEM_PROCESS || size != sizeof(struct reel_proc_process))
		return false;
	memcpy(receiver->ret, bytes, size);
	return true;
}

enum reel_answer reel_inspector_process(
	struct reel_inspector *inspector, uint32_t pid, const struct reel_maps_limits *limits,
	struct reel_proc_process *ret,
	void (*visit)(void *context, const struct reel_proc_map *map), void *context)
{
	struct receiver receiver = {
		.file = -1, .take = take_process, .visit_map = visit, .context = context, .ret = ret
	};

	*ret = (struct reel_proc_process){ 0 };
	prepare(inspector, INSPECT_PROCESS, pid);
	inspector->request.limits = *limits;
	return ask_process(inspector, pid, &receiver);
}

static bool load_thread(const uint8_t *bytes, size_t size, struct reel_proc_thread *ret)
{
	if (size != sizeof(*ret))
		return false;
	memcpy(ret, bytes, size);
	return memchr(ret->comm, 0, sizeof(ret->comm)) && ret->time <= reel_now();
}

static bool take_thread(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size)
{
	struct reel_proc_thread thread;

	if (kind != ITEM_THREAD || !load_thread(bytes, size, &thread))
		return false;
	receiver->visit_thread(receiver->context, &thread);
	return true;
}

enum reel_answer reel_inspector_threads(
	struct reel_inspector *inspector, uint32_t pid, uint32_t first, uint64_t deadline,
	void (*visit)(void *context, const struct reel_proc_thread *thread), void *context)
{
	struct receiver receiver = {
		.file = -1, .take = take_thread, .visit_thread = visit, .context = context
	};

	prepare(inspector, INSPECT_THREADS, pid);
	inspector->request.first = first;
	inspector->request.limits.deadline = deadline;
	return ask_process(inspector, pid, &receiver);
}

static void keep_thread(void *context, const struct reel_proc_thread *thread)
{
	*(struct reel_proc_thread *)context = *thread;
}

bool reel_inspector_thread(struct reel_inspector *inspector, uint32_t pid, uint32_t tid,
			   struct reel_proc_thread *ret)
{
	struct receiver receiver = {
		.file = -1, .take = take_thread, .visit_thread = keep_thread, .context = ret
	};

	*ret = (struct reel_proc_thread){ 0 };
	prepare(inspector, INSPECT_THREAD, tid);
	return ask_process(inspector, pid, &receiver) == REEL_ANSWER_WHOLE && ret->tid == tid;
}

static bool take_file(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size)
{
	struct reel_proc_file file;

	if (kind == ITEM_FOUND) {
		receiver->found = true;
		return size == 0;
	}
	if (kind != ITEM_FILE || size != sizeof(file))
		return false;
	memcpy(&file, bytes, size);
	if (file.build_id.size > sizeof(file.build_id.bytes))
		return false;
	*(struct reel_proc_file *)receiver->ret = file;
	return true;
}

bool reel_inspector_file(struct reel_inspector *inspector, uint32_t pid,
			 const struct reel_proc_map *map, struct reel_proc_file *ret, int *fd_ret)
{
	struct reel_budget *budget = inspector->budget;
	struct receiver receiver = { .file = -1, .take = take_file, .ret = ret };
	/* Files whose build-id the kernel reports have no device. */
	uint64_t process = process_backoff_id(pid), now = reel_now();
	uint64_t device = map->inode ? device_backoff_id(map) : process;
	enum reel_answer answer;

	*ret = (struct reel_proc_file){ 0 };
	if (fd_ret)
		*fd_ret = -1;
	if (reel_budget_is_backing_off(budget, device, now) ||
	    reel_budget_is_backing_off(budget, process, now)) {
		leave_out(inspector);
		return false;
	}
	prepare(inspector, INSPECT_FILE, pid);
	inspector->charged = pid;
	inspector->request.first = fd_ret != NULL;
	inspector->request.map = *map;
	inspector->request.map.path = NULL;
	if (strlen(map->path) < sizeof(inspector->request.path))
		strcpy(inspector->request.path, map->path);
	answer = ask(inspector, &receiver);
	/* Blame a device only for a file that is on it: a path may lead anywhere. */
	if (receiver.ended && receiver.found)
		reel_budget_reset_backoff(budget, device);
	else if (receiver.asked && !receiver.ended)
		reel_budget_back_off(budget, receiver.found ? device : process, reel_now());
	if (fd_ret && answer == REEL_ANSWER_WHOLE)
		*fd_ret = receiver.file;
	else if (receiver.file >= 0)
		close(receiver.file);
	return answer == REEL_ANSWER_WHOLE;
}

static bool take_code(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size)
{
	struct reel_code_page page;

	if (kind != ITEM_CODE || size != sizeof(page))
		return false;
	memcpy(&page, bytes, size);
	if (page.before != 0 && page.before != REEL_CODE_BEFORE)
		return false;
	receiver->visit_code(receiver->context, &page);
	return true;
}

enum reel_answer reel_inspector_code(
	struct reel_inspector *inspector, uint32_t pid, const uint64_t *pages, size_t count,
	void (*visit)(void *context, const struct reel_code_page *page), void *context)
{
	struct receiver receiver = {
		.file = -1, .take = take_code, .visit_code = visit, .context = context
	};

	prepare(inspector, INSPECT_CODE, pid);
	inspector->request.first = (uint32_t)count;
	memcpy(inspector->request.pages, pages, count * sizeof(*pages));
	return ask_process(inspector, pid, &receiver);
}

static bool take_service(struct receiver *receiver, uint32_t kind, const uint8_t *bytes,
			 size_t size)
{
	struct reel_proc_service *service = receiver->ret;

	if (kind != ITEM_SERVICE || size != sizeof(*service))
		return false;
	memcpy(service, bytes, size);
	return memchr(service->name, 0, sizeof(service->name)) &&
	       memchr(service->environment, 0, sizeof(service->environment));
}

bool reel_inspector_service(struct reel_inspector *inspector, uint32_t pid, uint64_t deadline,
			    struct reel_proc_service *ret)
{
	struct receiver receiver = { .file = -1, .take = take_service, .ret = ret };

	prepare(inspector, INSPECT_SERVICE, pid);
	inspector->request.limits.deadline = deadline;
	return ask_process(inspector, pid, &receiver) == REEL_ANSWER_WHOLE;
}

static bool take_container(struct receiver *receiver, uint32_t kind, const uint8_t *bytes,
			   size_t size)
{
	if (kind != ITEM_CONTAINER || size != sizeof(struct reel_container_names))
		return false;
	memcpy(receiver->ret, bytes, size);
	return reel_container_names_are_valid(receiver->ret);
}

bool reel_inspector_container(struct reel_inspector *inspector, uint32_t pid,
			      const char id[REEL_CONTAINER_ID + 1],
			      struct reel_container_names *ret)
{
	struct receiver receiver = { .file = -1, .take = take_container, .ret = ret };

	prepare(inspector, INSPECT_CONTAINER, pid);
	memcpy(inspector->request.path, id, REEL_CONTAINER_ID + 1);
	return ask_process(inspector, pid, &receiver) == REEL_ANSWER_WHOLE;
}

static bool take_interpreter(struct receiver *receiver, uint32_t kind, const uint8_t *bytes,
			     size_t size)
{
	struct inspection_interpreter *found = receiver->ret;

	if (kind != ITEM_INTERPRETER || size != sizeof(*found))
		return false;
	memcpy(found, bytes, size);
	return found->answer != REEL_RUNTIME_FOUND || reel_runtime_is_valid(&found->interpreter);
}

enum reel_runtime_answer reel_inspector_interpreter(struct reel_inspector *inspector, uint32_t pid,
						    const struct reel_runtime_place *place,
						    struct reel_bpf_interpreter *ret)
{
	struct inspection_interpreter found = { 0 };
	struct receiver receiver = { .file = -1, .take = take_interpreter, .ret = &found };

	*ret = (struct reel_bpf_interpreter){ 0 };
	prepare(inspector, INSPECT_INTERPRETER, pid);
	inspector->request.runtime = *place;
	if (ask_process(inspector, pid, &receiver) != REEL_ANSWER_WHOLE)
		return REEL_RUNTIME_LATER;
	if (found.answer == REEL_RUNTIME_FOUND)
		*ret = found.interpreter;
	return found.answer == REEL_RUNTIME_FOUND   ? REEL_RUNTIME_FOUND
	       : found.answer == REEL_RUNTIME_LATER ? REEL_RUNTIME_LATER
						    : REEL_RUNTIME_UNKNOWN;
}

static bool is_text(struct reel_bytes text)
{
	return text.size <= REEL_RUNTIME_TEXT_MAX &&
	       (!text.size || !memchr(text.data, 0, text.size));
}

static bool take_function(struct receiver *receiver, uint32_t kind, const uint8_t *bytes,
			  size_t size)
{
	struct reel_cursor cursor = reel_cursor(bytes, size);
	struct reel_runtime_function function;
	struct inspection_function head;
	const uint8_t *at;

	at = reel_cursor_take(&cursor, sizeof(head));
	if (kind != ITEM_FUNCTION || !at)
		return false;
	memcpy(&head, at, sizeof(head));
	function = (struct reel_runtime_function){ .code = head.code, .line = head.line };
	function.name = (struct reel_bytes){ cursor.at, head.name_size };
	reel_cursor_take(&cursor, head.name_size);
	function.file = (struct reel_bytes){ cursor.at, head.file_size };
	reel_cursor_take(&cursor, head.file_size);
	function.lines = (struct reel_bytes){ cursor.at, reel_cursor_left(&cursor) };
	if (cursor.failed || !is_text(function.name) || !is_text(function.file) ||
	    function.lines.size > REEL_RUNTIME_LINES_MAX)
		return false;
	receiver->visit_function(receiver->context, &function);
	return true;
}

enum reel_answer reel_inspector_functions(
	struct reel_inspector *inspector, uint32_t pid, const struct reel_runtime_place *place,
	const struct reel_runtime_code *codes, size_t count, uint64_t deadline,
	void (*visit)(void *context, const struct reel_runtime_function *function), void *context)
{
	struct receiver receiver = {
		.file = -1, .take = take_function, .visit_function = visit, .context = context
	};

	prepare(inspector, INSPECT_FUNCTIONS, pid);
	inspector->request.first = (uint32_t)count;
	inspector->request.limits.deadline = deadline;
	inspector->request.runtime = *place;
	memcpy(inspector->request.codes, codes, count * sizeof(*codes));
	return ask_process(inspector, pid, &receiver);
}

static bool is_range(uint64_t address, uint64_t size)
{
	return size && address + (size - 1) >= address;
}

/* Sets the size of the entry's struct, and returns whether its fields are valid. */
static bool check_said(enum reel_jit_said what, const uint8_t *bytes, size_t size, size_t *size_ret)
{
	struct reel_jit_said_function function;
	struct reel_jit_said_move move;

	switch (what) {
	case REEL_JIT_SAID_FUNCTION:
		*size_ret = sizeof(function);
		if (size < sizeof(function))
			return false;
		memcpy(&function, bytes, sizeof(function));
		return is_range(function.address, function.size) && function.file <= REEL_JIT_LIST;
	case REEL_JIT_SAID_FRAMES:
		*size_ret = 0;
		return true;
	case REEL_JIT_SAID_LINE:
		*size_ret = sizeof(struct reel_jit_said_line);
		return size >= sizeof(struct reel_jit_said_line);
	case REEL_JIT_SAID_MOVE:
		*size_ret = sizeof(move);
		if (size != sizeof(move))
			return false;
		memcpy(&move, bytes, sizeof(move));
		return is_range(move.from, move.size) && is_range(move.to, move.size);
	case REEL_JIT_SAID_ENTRY:
	case REEL_JIT_SAID_WANTED:
		*size_ret = sizeof(struct reel_jit_entry);
		return size == sizeof(struct reel_jit_entry);
	default:
		return false;
	}
}

static bool take_jit(struct receiver *receiver, uint32_t kind, const uint8_t *bytes, size_t size)
{
	enum reel_jit_said what = kind - ITEM_JIT_SAID;
	struct reel_bytes more;
	size_t fixed;

	if (kind == ITEM_JIT_STATE && size == sizeof(struct reel_jit_state)) {
		memcpy(receiver->ret, bytes, size);
		receiver->found = true;
		return true;
	}
	if (kind < ITEM_JIT_SAID || kind > ITEM_JIT_SAID_LAST || receiver->found ||
	    !check_said(what, bytes, size, &fixed))
		return false;
	more = (struct reel_bytes){ bytes + fixed, size - fixed };
	if (more.size > REEL_JIT_TEXT_MAX ||
	    (what != REEL_JIT_SAID_FRAMES && more.size && memchr(more.data, 0, more.size)))
		return false;
	receiver->listener->say(receiver->listener->context, what, bytes, fixed, more);
	return true;
}

bool reel_inspector_jit(struct reel_inspector *inspector, uint32_t pid,
			const struct reel_jit_question *question, const struct reel_proc_map *dump,
			const struct reel_jit_listener *listener, struct reel_jit_state *ret)
{
	struct receiver receiver = { .take = take_jit, .listener = listener, .ret = ret };

	*ret = (struct reel_jit_state){ 0 };
	prepare(inspector, INSPECT_JIT, pid);
	inspector->request.jit = *question;
	inspector->request.map = *dump;
	inspector->request.map.path = NULL;
	if (dump->size && strlen(dump->path) < sizeof(inspector->request.path))
		strcpy(inspector->request.path, dump->path);
	return ask_process(inspector, pid, &receiver) == REEL_ANSWER_WHOLE && receiver.found;
}

bool reel_inspector_kernel_module(struct reel_inspector *inspector, const char *name,
				  enum reel_byte_order order, struct reel_build_id *ret)
{
	struct reel_proc_file file = { 0 };
	struct receiver receiver = { .file = -1, .take = take_file, .ret = &file };
	bool known = false;

	prepare(inspector, INSPECT_KERNEL_MODULE, order);
	if (strlen(name) < sizeof(inspector->request.path)) {
		strcpy(inspector->request.path, name);
		known = ask(inspector, &receiver) == REEL_ANSWER_WHOLE;
	}
	*ret = known ? file.build_id : (struct reel_build_id){ 0 };
	return known;
}
