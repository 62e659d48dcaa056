/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantity.h"
#include "elf/elf_file.h"
#include "record/helper/fd_message.h"
#include "record/host/helper_limits.h"
#include "record/host/privileges.h"
#include "record/probes/probe_files.h"
#include "record/probes/probe_places.h"
#include "record/sampling/functions.h"

#define PATIENCE (10 * REEL_NS_PER_SECOND)

/* Symbols and names of the largest browsers. */
static const struct reel_helper_limits limits = {
	.memory = UINT64_C(4) << 30,
	.cpu_seconds = 10,
};

/*
 * One message from the helper: a file with its descriptor, a place in the last file, a name, or the
 * end.  Only the used part of the text is sent.
 */
struct message {
	enum message_kind {
		MESSAGE_FILE = 1,
		MESSAGE_PLACE,
		MESSAGE_NAME,
		MESSAGE_WARNING,
		MESSAGE_ERROR,
		MESSAGE_END,
	} kind;
	enum reel_error_code code;
	uint64_t offset, counter;
	char text[4096]; /* of an error or warning; a static probe's arguments; a name */
};

#define MESSAGE_HEAD offsetof(struct message, text)

/* A request to the helper, and the function that takes its answers. */
struct question {
	const struct reel_probe_name *name;
	const struct reel_probe_targets *targets;
	bool for_names; /* instead of files and places */
	/* `fd`: owned by the taker; -1: none. */
	struct reel_error *(*take)(void *context, const struct message *message, int fd);
	void *context;
};

/* ---- the helper -------------------------------------------------------------------- */

static bool answer(int socket, const struct message *message, const int *fd)
{
	return reel_fd_message_send(socket, message, MESSAGE_HEAD + strlen(message->text) + 1, fd,
				    fd != NULL, 0);
}

static void answer_error(int socket, struct reel_error *error)
{
	struct message message = { .kind = MESSAGE_ERROR, .code = reel_error_code(error) };
	const char *text = reel_error_message(error);
	size_t size = strnlen(text, sizeof(message.text) - 1);

	memcpy(message.text, text, size);
	answer(socket, &message, NULL);
	reel_error_destroy(error);
}

/* Skips a name that does not fit: users do not type such names. */
static void answer_name(void *context, const char *text)
{
	struct message message = { .kind = MESSAGE_NAME };

	if (snprintf(message.text, sizeof(message.text), "%s", text) < (int)sizeof(message.text))
		answer(*(int *)context, &message, NULL);
}

static struct reel_error *refusal(const struct reel_probe_name *name,
				  const struct reel_probe_places *places)
{
	if (places->is_full)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "more than %d functions match; use a narrower pattern",
					 REEL_PROBE_PLACES_MAX);
	if (places->n)
		return NULL;
	if (places->chooses)
		return reel_error_create(
			REEL_ERROR_UNSUPPORTED,
			"%s is chosen from several functions when the program starts (IFUNC); "
			"use a pattern such as '*%s*' or the name of one of them",
			name->function, name->function);
	if (places->is_beyond)
		return reel_error_create(REEL_ERROR_INVALID,
					 "offset %#" PRIx64 " is beyond the end of %s",
					 name->offset, name->function);
	if (name->kind == REEL_SAMPLER_USDT)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "no probe %s:%s in %s",
					 name->provider, name->function, name->file);
	return reel_error_create(REEL_ERROR_NOT_FOUND,
				 "no function '%s' in %s (inlined everywhere, or the file is "
				 "stripped)",
				 name->function, name->file);
}

/* `places_ret` NULL: answers names instead. */
static struct reel_error *file_search(int socket, struct reel_probe_file *file,
				      const struct reel_probe_name *name,
				      struct reel_elf_file **elf_ret,
				      struct reel_probe_places *places_ret)
{
	struct reel_elf_file *debug = NULL;
	struct reel_error *error;

	error = reel_elf_file_open_descriptor(file->to_read, name->file, elf_ret);
	if (!error && file->debug >= 0)
		reel_error_destroy(
			reel_elf_file_open_descriptor(file->debug, "its debug file", &debug));
	if (!error && places_ret)
		error = reel_probe_places_find(*elf_ret, debug, name, places_ret);
	else if (!error)
		error = reel_probe_places_name(*elf_ret, debug, name, answer_name, &socket);
	reel_elf_file_close(debug);
	return error;
}

static struct reel_error *answer_names(int socket, const struct reel_probe_name *name,
				       struct reel_probe_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct reel_elf_file *elf = NULL;
		struct reel_error *error = file_search(socket, &files->all[i], name, &elf, NULL);

		reel_elf_file_close(elf);
		if (error)
			return error;
	}
	return NULL;
}

static struct reel_error *answer_all(int socket, const struct reel_probe_name *name,
				     struct reel_probe_files *files)
{
	struct reel_probe_places all = { 0 };

	for (size_t i = 0; i < files->n; i++) {
		struct reel_probe_places places = { 0 };
		struct message message = { .kind = MESSAGE_FILE };
		struct reel_elf_file *elf = NULL;

		/* Stays open until the process ends: places have its strings. */
		TRY(file_search(socket, &files->all[i], name, &elf, &places));
		all.n += places.n;
		all.chooses |= places.chooses;
		all.is_beyond |= places.is_beyond;
		all.is_full |= places.is_full || all.n > REEL_PROBE_PLACES_MAX;
		if (!places.n || all.is_full)
			continue;
		answer(socket, &message, &files->all[i].fd);
		message.kind = MESSAGE_PLACE;
		for (size_t place = 0; place < places.n; place++) {
			message.offset = places.all[place].offset;
			message.counter = places.all[place].counter;
			snprintf(message.text, sizeof(message.text), "%s",
				 places.all[place].arguments ? places.all[place].arguments : "");
			answer(socket, &message, NULL);
		}
	}
	return refusal(name, &all);
}

static void answer_warning(int socket, const struct question *question,
			   const struct reel_probe_files *files)
{
	struct message message = { .kind = MESSAGE_WARNING };

	reel_probe_files_warn(question->name->file, question->targets, files, sizeof(message.text),
			      message.text);
	if (*message.text)
		answer(socket, &message, NULL);
}

static void serve(int socket, const struct question *question)
{
	const struct reel_privileges none = { .roles = REEL_ROLE_IMAGER };
	static struct reel_probe_files files;
	const struct message end = { .kind = MESSAGE_END };
	struct reel_error *error;
	const char *lacks;

	prctl(PR_SET_NAME, "reel-probes");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	reel_helper_limits_set(&limits);
	error = reel_probe_files_open(question->name->file, question->targets, &files);
	if (!error && !question->for_names)
		answer_warning(socket, question, &files);
	/* From here on, it reads untrusted input. */
	if (!error && question->targets->confined)
		error = reel_privileges_drop(&none, &lacks);
	if (!error)
		error = (question->for_names ? answer_names : answer_all)(socket, question->name,
									  &files);
	if (error)
		answer_error(socket, error);
	else
		answer(socket, &end, NULL);
}

/* ---- the recorder ------------------------------------------------------------------ */

static struct reel_error *append_file(struct reel_sampler_event *event, int fd)
{
	int *grown = reallocarray(event->files, event->n_files + 1, sizeof(*grown));

	if (!grown) {
		close(fd);
		return reel_error_no_memory();
	}
	event->files = grown;
	grown[event->n_files++] = fd;
	return NULL;
}

static struct reel_error *append_place(struct reel_sampler_event *event,
				       const struct message *message)
{
	struct reel_sampler_place *grown =
		reallocarray(event->places, event->n_places + 1, sizeof(*grown));

	char *arguments;

	if (!grown)
		return reel_error_no_memory();
	event->places = grown;
	arguments = strdup(message->text);
	if (!arguments)
		return reel_error_no_memory();
	grown[event->n_places++] = (struct reel_sampler_place){
		.file = event->files[event->n_files - 1],
		.offset = message->offset,
		.counter = message->counter,
		.arguments = arguments,
	};
	return NULL;
}

/* The helper may be under the control of a file that it has read. */
static struct reel_error *unexpected(int fd)
{
	if (fd >= 0)
		close(fd);
	return reel_error_create(REEL_ERROR_CORRUPT, "cannot read the file's symbols");
}

static struct reel_error *apply_to_event(void *context, const struct message *message, int fd)
{
	struct reel_sampler_event *event = context;

	switch (message->kind) {
	case MESSAGE_FILE:
		if (fd >= 0 && event->n_files < REEL_PROBE_FILES_MAX)
			return append_file(event, fd);
		break;
	case MESSAGE_PLACE:
		if (event->n_files && event->n_places < REEL_PROBE_PLACES_MAX)
			return append_place(event, message);
		break;
	case MESSAGE_WARNING:
		if (fd >= 0 || event->warning)
			break;
		event->warning = strdup(message->text);
		return event->warning ? NULL : reel_error_no_memory();
	case MESSAGE_END:
		if (event->n_places)
			return NULL;
		break;
	default:
		break;
	}
	return unexpected(fd);
}

struct names {
	reel_probe_name_visitor *visit;
	void *context;
};

static struct reel_error *visit_name(void *context, const struct message *message, int fd)
{
	const struct names *names = context;

	if (fd >= 0 || (message->kind != MESSAGE_NAME && message->kind != MESSAGE_END))
		return unexpected(fd);
	return message->kind == MESSAGE_END ? NULL : names->visit(names->context, message->text);
}

static struct reel_error *receive(int socket, const struct question *question)
{
	uint64_t deadline = reel_now() + PATIENCE;
	struct message message = { 0 };
	ssize_t size;

	while (message.kind != MESSAGE_END) {
		struct pollfd readable = { .fd = socket, .events = POLLIN };
		uint64_t now = reel_now();
		size_t n_fds = 1;
		int fd = -1;

		if (now >= deadline ||
		    poll(&readable, 1, (int)((deadline - now) / REEL_NS_PER_MS) + 1) <= 0)
			return reel_error_create(REEL_ERROR_OS,
						 "reading the file's symbols takes too long");
		size = reel_fd_message_receive(socket, &message, sizeof(message), &fd, &n_fds, 0);
		if (size <= (ssize_t)MESSAGE_HEAD)
			return reel_error_create(REEL_ERROR_OS,
						 "the process that reads the file's symbols ended");
		message.text[(size_t)size - MESSAGE_HEAD - 1] = '\0';
		if (message.kind == MESSAGE_ERROR)
			return reel_error_create(message.code, "%s", message.text);
		TRY(question->take(question->context, &message, n_fds ? fd : -1));
	}
	return NULL;
}

static struct reel_error *ask(const struct question *question)
{
	struct reel_error *error;
	int sockets[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return reel_error_os(errno, "cannot create a socket");
	child = fork();
	if (child < 0) {
		close(sockets[0]);
		close(sockets[1]);
		return reel_error_os(errno, "cannot start a helper process");
	}
	if (!child) {
		serve(sockets[1], question);
		_exit(0);
	}
	close(sockets[1]);
	error = receive(sockets[0], question);
	close(sockets[0]);
	/* It may hang in the kernel: it is not waited for then. */
	kill(child, SIGKILL);
	waitpid(child, NULL, error ? WNOHANG : 0);
	return error;
}

/* The kernel looks the function up. */
static struct reel_error *kernel_place(struct reel_probe_name *name,
				       struct reel_sampler_event *event)
{
	event->places = calloc(1, sizeof(*event->places));
	if (!event->places)
		return reel_error_no_memory();
	event->places[event->n_places++] =
		(struct reel_sampler_place){ .file = -1, .offset = name->offset };
	event->symbol = name->function;
	name->function = NULL;
	return NULL;
}

bool reel_probe_event_is(const char *name)
{
	return reel_probe_name_kind(name) != REEL_SAMPLER_NO_PROBE;
}

struct reel_error *reel_probe_event_resolve(const char *name,
					    const struct reel_probe_targets *targets,
					    struct reel_sampler_event *ret)
{
	struct reel_probe_name parts;
	struct reel_error *error;

	*ret = (struct reel_sampler_event){ .name = name, .type = REEL_EVENT_NOT_PERF };
	error = reel_probe_name_parse(name, &parts);
	ret->probe = parts.kind;
	ret->weight_is_time = parts.kind == REEL_SAMPLER_LATENCY;
	if (!error && reel_sampler_event_is_in_kernel(ret))
		error = kernel_place(&parts, ret);
	else if (!error)
		error = ask(&(struct question){ .name = &parts,
						.targets = targets,
						.take = apply_to_event,
						.context = ret });
	reel_probe_name_free(&parts);
	if (error)
		reel_sampler_event_free(ret);
	return error;
}

struct reel_error *reel_probe_names_visit(const char *pattern,
					  const struct reel_probe_targets *targets,
					  reel_probe_name_visitor *visit, void *context)
{
	struct names names = { visit, context };
	struct reel_probe_name parts;
	struct reel_error *error = reel_probe_name_parse(pattern, &parts);

	if (!error)
		error = ask(&(struct question){ .name = &parts,
						.targets = targets,
						.for_names = true,
						.take = visit_name,
						.context = &names });
	reel_probe_name_free(&parts);
	return error;
}
