/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's side of inspection.h. The recorder continues despite any error here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/helper/fd_message.h"
#include "record/helper/inspection.h"
#include "record/host/privileges.h"
#include "base/quantity.h"

struct answer {
	int socket;
	bool whole;
	int file; /* for the next packet, -1: none */
	size_t size;
	uint8_t bytes[INSPECTION_PACKET_MAX];
};

static void send_packet(struct answer *answer)
{
	bool sent = reel_fd_message_send(answer->socket, answer->bytes, answer->size, &answer->file,
					 answer->file >= 0, 0);

	/* The recorder has given up, or ended. */
	if (!sent)
		_exit(0);
	if (answer->file >= 0)
		close(answer->file);
	answer->file = -1;
	answer->size = 0;
}

/* Adds an item of `size` bytes, followed by `more`. */
static void append_item(struct answer *answer, uint32_t kind, const void *bytes, size_t size,
			const char *more, size_t more_size)
{
	struct inspection_item item = { kind, (uint32_t)(size + more_size) };
	uint8_t *at = answer->bytes + answer->size;

	memcpy(at, &item, sizeof(item));
	at += sizeof(item);
	if (size)
		memcpy(at, bytes, size);
	if (more_size)
		memcpy(at + size, more, more_size);
	memset(at + item.size, 0, -item.size & 7);
	answer->size += sizeof(item) + ((item.size + 7) & ~7u);
	if (answer->size >= INSPECTION_PACKET)
		send_packet(answer);
}

static void end(struct answer *answer)
{
	uint32_t whole = answer->whole;

	append_item(answer, ITEM_END, &whole, sizeof(whole), NULL, 0);
	if (answer->size)
		send_packet(answer);
}

static void list_processes(struct answer *answer)
{
	size_t count;
	uint32_t *pids = reel_proc_processes(&count);

	for (size_t i = 0; i < count; i++)
		append_item(answer, ITEM_NUMBER, &pids[i], sizeof(pids[i]), NULL, 0);
	free(pids);
}

static void add_map(void *context, const struct reel_proc_map *map)
{
	struct answer *answer = context;
	struct reel_proc_map copy = *map;
	size_t size = strlen(map->path) + 1;

	copy.path = NULL;
	if (size > INSPECTION_PATH_MAX)
		answer->whole = false;
	else
		append_item(answer, ITEM_MAP, &copy, sizeof(copy), map->path, size);
}

static void look_at_process(struct answer *answer, const struct inspection_request *request)
{
	struct reel_proc_process process;

	answer->whole = reel_proc_process(request->number, &process);
	if (!answer->whole)
		return;
	append_item(answer, ITEM_PROCESS, &process, sizeof(process), NULL, 0);
	if (reel_proc_maps(request->number, &request->limits, add_map, answer) == REEL_ANSWER_PART)
		answer->whole = false;
}

static void look_at_threads(struct answer *answer, const struct inspection_request *request)
{
	uint32_t pid = request->number;
	size_t count;
	uint32_t *tids = reel_proc_threads(pid, &count);
	struct reel_proc_thread thread;

	for (size_t i = request->first; i < count && answer->whole; i++) {
		answer->whole = reel_now() <= request->limits.deadline;
		/* Gone since the list was read, or another process's by now. */
		if (reel_proc_thread(tids[i], &thread) && thread.pid == pid)
			append_item(answer, ITEM_THREAD, &thread, sizeof(thread), NULL, 0);
	}
	free(tids);
}

static void look_at_thread(struct answer *answer, uint32_t tid)
{
	struct reel_proc_thread thread;

	answer->whole = reel_proc_thread(tid, &thread);
	if (answer->whole)
		append_item(answer, ITEM_THREAD, &thread, sizeof(thread), NULL, 0);
}

static void look_at_file(struct answer *answer, const struct inspection_request *request)
{
	struct reel_proc_map map = request->map;
	struct reel_proc_file file;
	bool exact;
	int place;

	map.path = request->path;
	place = reel_proc_find_mapped(request->number, &map, &exact);
	if (place >= 0 && exact) {
		append_item(answer, ITEM_FOUND, NULL, 0, NULL, 0);
		send_packet(answer);
	}
	answer->whole = place >= 0 && reel_proc_file(place, &file, &answer->file);
	if (answer->file >= 0 &&
	    (!request->first || (exact && reel_proc_only_executes(request->number, place)))) {
		close(answer->file);
		answer->file = -1;
	}
	if (answer->whole) {
		file.stays = reel_proc_is_in_our_root(map.path, &file);
		append_item(answer, ITEM_FILE, &file, sizeof(file), NULL, 0);
	}
	if (place >= 0)
		close(place);
}

static void look_at_module(struct answer *answer, const struct inspection_request *request)
{
	struct reel_proc_file file = { 0 };

	answer->whole = reel_proc_module_build_id(
		request->path, (enum reel_byte_order)request->number, &file.build_id);
	if (answer->whole)
		append_item(answer, ITEM_FILE, &file, sizeof(file), NULL, 0);
}

static void look_at_code(struct answer *answer, const struct inspection_request *request)
{
	struct reel_code_page page;

	for (uint32_t i = 0; i < request->first && i < REEL_CODE_PAGES_MAX; i++) {
		if (reel_proc_code(request->number, request->pages[i], &page))
			append_item(answer, ITEM_CODE, &page, sizeof(page), NULL, 0);
		else
			answer->whole = false;
	}
}

static void add_said(void *context, enum reel_jit_said what, const void *bytes, size_t size,
		     struct reel_bytes more)
{
	append_item(context, ITEM_JIT_SAID + what, bytes, size, (const char *)more.data, more.size);
}

static void look_at_jit(struct answer *answer, const struct inspection_request *request)
{
	const struct reel_jit_listener listener = { add_said, answer };
	struct reel_proc_map map = request->map;
	struct reel_jit_state state;

	map.path = request->path;
	reel_jit_files_read(request->number, &request->jit, &map, &listener, &state);
	append_item(answer, ITEM_JIT_STATE, &state, sizeof(state), NULL, 0);
}

static void look_at_service(struct answer *answer, const struct inspection_request *request)
{
	struct reel_proc_service service;

	answer->whole = reel_proc_service(request->number, request->limits.deadline, &service);
	if (answer->whole)
		append_item(answer, ITEM_SERVICE, &service, sizeof(service), NULL, 0);
}

static void look_at_container(struct answer *answer, const struct inspection_request *request)
{
	struct reel_container_names names;

	answer->whole = reel_container_names_find("", request->path, request->number, &names);
	if (answer->whole)
		append_item(answer, ITEM_CONTAINER, &names, sizeof(names), NULL, 0);
}

static void look_at_interpreter(struct answer *answer, const struct inspection_request *request)
{
	struct inspection_interpreter found = { 0 };

	found.answer = reel_runtime_locate(request->number, &request->runtime, &found.interpreter);
	append_item(answer, ITEM_INTERPRETER, &found, sizeof(found), NULL, 0);
}

static void add_function(void *context, const struct reel_runtime_function *function)
{
	const struct reel_bytes parts[] = { function->name, function->file, function->lines };
	struct inspection_function head = {
		.code = function->code,
		.line = function->line,
		.name_size = (uint32_t)function->name.size,
		.file_size = (uint32_t)function->file.size,
	};
	static char more[INSPECTION_FUNCTION_MAX];
	size_t size = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		/* No bytes may be at NULL, which memcpy() must not get. */
		if (parts[i].size)
			memcpy(more + size, parts[i].data, parts[i].size);
		size += parts[i].size;
	}
	append_item(context, ITEM_FUNCTION, &head, sizeof(head), more, size);
}

static void look_at_functions(struct answer *answer, const struct inspection_request *request)
{
	if (request->first <= REEL_RUNTIME_CODES_MAX)
		answer->whole = reel_runtime_functions(
			request->number, &request->runtime, request->codes, request->first,
			request->limits.deadline, add_function, answer);
}

static void answer_to(struct answer *answer, const struct inspection_request *request)
{
	answer->whole = true;
	answer->size = 0;
	answer->file = -1;
	switch ((enum inspection_kind)request->kind) {
	case INSPECT_PROCESSES:
		list_processes(answer);
		break;
	case INSPECT_PROCESS:
		look_at_process(answer, request);
		break;
	case INSPECT_THREADS:
		look_at_threads(answer, request);
		break;
	case INSPECT_THREAD:
		look_at_thread(answer, request->number);
		break;
	case INSPECT_FILE:
		look_at_file(answer, request);
		break;
	case INSPECT_KERNEL_MODULE:
		look_at_module(answer, request);
		break;
	case INSPECT_CODE:
		look_at_code(answer, request);
		break;
	case INSPECT_JIT:
		look_at_jit(answer, request);
		break;
	case INSPECT_SERVICE:
		look_at_service(answer, request);
		break;
	case INSPECT_CONTAINER:
		look_at_container(answer, request);
		break;
	case INSPECT_INTERPRETER:
		look_at_interpreter(answer, request);
		break;
	case INSPECT_FUNCTIONS:
		look_at_functions(answer, request);
		break;
	}
	end(answer);
}

void reel_inspections_answer(int socket)
{
	static struct inspection_request request;
	static struct answer answer;
	ssize_t n;

	answer.socket = socket;
	for (;;) {
		n = recv(socket, &request, sizeof(request), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(request))
			return;
		answer_to(&answer, &request);
	}
}

void reel_inspections_answer_confined(int socket)
{
	const struct reel_privileges kept = { .roles = REEL_ROLE_READER };
	const char *lacks; /* the recorder finds the same */
	struct reel_error *error = reel_privileges_drop(&kept, &lacks);

	if (!error)
		reel_inspections_answer(socket);
	reel_error_destroy(error);
}
