/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/quantity.h"
#include "cli/session/debuginfod.h"
#include "cli/session/debuginfod_cache.h"
#include "cli/session/debuginfod_client.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "host/system.h"

/* Files fetched at the same time. */
#define PARALLEL 8
/* More than any program has modules. A capture may name any number of build-ids. */
#define FILES_MAX 4096
/* Time for the client to exit by itself and remove its unfinished file. */
#define GRACE		 (2 * REEL_NS_PER_SECOND)
#define LOOK_INTERVAL_NS 20000000

/* ---- scouts ------------------------------------------------------------------------------ */

/* A scout's report on a module. An attacker who takes over the scout can send anything. */
struct lack {
	char build_id[REEL_BUILD_ID_TEXT_SIZE];
	char path[256];
	bool executable; /* fetch the file itself as well */
};

static void send_lack(int told, const struct reel_module_info *module)
{
	struct lack lack = { .executable = module->state != REEL_MODULE_FOUND };

	snprintf(lack.build_id, sizeof(lack.build_id), "%s", module->build_id);
	snprintf(lack.path, sizeof(lack.path), "%s", module->path);
	reel_write_all(told, &lack, sizeof(lack), NULL);
}

static bool lacks_something(const struct reel_module_info *module)
{
	return module->kind == REEL_MODULE_FILE && module->frames && module->build_id[0] &&
	       (module->state != REEL_MODULE_FOUND || !module->has_debug_info);
}

/* The parent runs into the same errors and reports them. */
static void visit_traces(struct reel_capture *capture, const struct reel_walk_options *options)
{
	const struct reel_trace *trace;
	struct reel_traces *traces;
	struct reel_error *error = reel_traces_create_with(capture, options, &traces);

	if (error) {
		reel_error_destroy(error);
		return;
	}
	do {
		error = reel_traces_next(traces, &trace);
	} while (!error && trace);
	reel_error_destroy(error);
	reel_traces_destroy(traces);
}

_Noreturn void debuginfod_scout(struct reel_capture *capture, const struct options *options,
				int told)
{
	struct reel_walk_options walk;
	_cleanup_free_ struct reel_module_info *modules = NULL;
	struct reel_error *error;
	size_t n;

	if (!capture)
		_exit(STATUS_ERROR);
	walk = options_of_walk(options, reel_capture_info(capture));
	visit_traces(capture, &walk);
	error = reel_capture_modules(capture, &modules, &n);
	for (size_t i = 0; !error && i < n; i++) {
		if (lacks_something(&modules[i]))
			send_lack(told, &modules[i]);
	}
	_exit(error ? STATUS_ERROR : STATUS_OK);
}

/* ---- files to fetch ---------------------------------------------------------------------- */

struct file {
	enum fetch_kind kind;
	char build_id[REEL_BUILD_ID_TEXT_SIZE];
	char path[256]; /* of the module */
	enum fetch_result result;
};

struct pass {
	const struct options *options;
	struct file *files;
	size_t n, started;
	struct {
		pid_t pid; /* 0: none */
		size_t file;
	} running[PARALLEL];
	struct fetch_news *news; /* one for each running process */
	size_t n_running, n_ended;
	bool new_executables; /* since the last scout */
	uint64_t bytes;	      /* of fetched files */
	uint64_t time_left;   /* ns */
	struct progress progress;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

/* Only build-ids may become part of a URL. */
static bool is_build_id(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return length && length < size && length % 2 == 0 &&
	       strspn(text, "0123456789abcdef") == length;
}

static void add_file(struct pass *pass, enum fetch_kind kind, const char *build_id,
		     const char *path)
{
	struct file *file;

	for (size_t i = 0; i < pass->n; i++) {
		if (pass->files[i].kind == kind && !strcmp(pass->files[i].build_id, build_id))
			return;
	}
	if (pass->n == FILES_MAX)
		return;
	file = &pass->files[pass->n++];
	*file = (struct file){ .kind = kind };
	snprintf(file->build_id, sizeof(file->build_id), "%s", build_id);
	snprintf(file->path, sizeof(file->path), "%s", path);
}

static void add_lack(struct pass *pass, struct lack *lack)
{
	lack->path[sizeof(lack->path) - 1] = '\0';
	if (!is_build_id(lack->build_id, sizeof(lack->build_id)))
		return;
	if (lack->executable)
		add_file(pass, FETCH_EXECUTABLE, lack->build_id, lack->path);
	add_file(pass, FETCH_DEBUGINFO, lack->build_id, lack->path);
}

/* Until the scout ends. */
static void read_lacks(struct pass *pass, int told)
{
	struct lack lack;
	size_t size = 0;

	while (!is_interrupted) {
		ssize_t n = read(told, (char *)&lack + size, sizeof(lack) - size);

		if (n <= 0)
			return;
		size += (size_t)n;
		if (size == sizeof(lack)) {
			add_lack(pass, &lack);
			size = 0;
		}
	}
}

/* Returns a descriptor in the scout; in the parent -1, after the scout ended. */
static int send_scout(struct pass *pass)
{
	int ends[2];
	pid_t scout;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	scout = fork();
	if (!scout) {
		signal(SIGINT, SIG_DFL);
		reel_system_end_with_parent(SIGKILL);
		close(ends[0]);
		return ends[1];
	}
	close(ends[1]);
	if (scout > 0) {
		read_lacks(pass, ends[0]);
		if (is_interrupted)
			kill(scout, SIGKILL);
		while (waitpid(scout, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return -1;
}

/* ---- fetching ---------------------------------------------------------------------------- */

static void start(struct pass *pass, size_t slot)
{
	struct file *file = &pass->files[pass->started];
	const struct fetch_request request = {
		.kind = file->kind,
		.build_id = file->build_id,
		.urls = pass->options->debuginfod.urls,
		.cache = pass->options->debuginfod_cache,
		.max_size = pass->options->debuginfod.max_size,
	};
	pid_t pid;

	pass->news[slot] = (struct fetch_news){ 0 };
	pid = fork();
	if (!pid)
		debuginfod_client_run(&request, &pass->news[slot]);
	if (pid < 0) {
		file->result = FETCH_FAILED;
		pass->n_ended++;
	} else {
		pass->running[slot].pid = pid;
		pass->running[slot].file = pass->started;
		pass->n_running++;
	}
	pass->started++;
}

static void start_some(struct pass *pass)
{
	for (size_t slot = 0; slot < PARALLEL && pass->started < pass->n; slot++) {
		if (!pass->running[slot].pid)
			start(pass, slot);
	}
}

/* The process ended: record its result for the file. */
static void record_result(struct pass *pass, size_t slot, int status)
{
	struct file *file = &pass->files[pass->running[slot].file];
	/* Read only once: the memory is shared. */
	struct fetch_news news = pass->news[slot];

	pass->running[slot].pid = 0;
	pass->n_running--;
	pass->n_ended++;
	file->result = WIFEXITED(status) && WEXITSTATUS(status) < FETCH_RESULTS
			       ? (enum fetch_result)WEXITSTATUS(status)
			       : FETCH_FAILED;
	if (file->result != FETCHED)
		return;
	pass->bytes += news.bytes;
	pass->new_executables |= file->kind == FETCH_EXECUTABLE;
	if (is_build_id(news.alternate, sizeof(news.alternate)))
		add_file(pass, FETCH_DEBUGINFO, news.alternate, file->path);
}

static void collect(struct pass *pass)
{
	int status;

	for (size_t slot = 0; slot < PARALLEL; slot++) {
		pid_t pid = pass->running[slot].pid;

		if (pid && waitpid(pid, &status, WNOHANG) == pid)
			record_result(pass, slot, status);
	}
}

static void show(struct pass *pass)
{
	uint64_t bytes = pass->bytes;
	_cleanup_free_ char *text = NULL;

	for (size_t slot = 0; slot < PARALLEL; slot++)
		bytes += pass->running[slot].pid ? pass->news[slot].bytes : 0;
	text = memory_print("debuginfod: %s of %s files, %s (Ctrl-C to continue without)",
			    format_count(pass->n_ended).text, format_count(pass->n).text,
			    format_bytes(bytes).text);
	progress_say(&pass->progress, text);
}

static void sleep_shortly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = LOOK_INTERVAL_NS }, NULL);
}

static void signal_all(const struct pass *pass, int signal_number)
{
	for (size_t slot = 0; slot < PARALLEL; slot++) {
		if (pass->running[slot].pid)
			kill(pass->running[slot].pid, signal_number);
	}
}

/* Ends the running fetches and all that have not started with this result. */
static void give_up(struct pass *pass, enum fetch_result result)
{
	uint64_t end = reel_now() + GRACE;
	bool is_open[FILES_MAX] = { false };

	for (size_t slot = 0; slot < PARALLEL; slot++) {
		if (pass->running[slot].pid)
			is_open[pass->running[slot].file] = true;
	}
	signal_all(pass, SIGTERM);
	while (pass->n_running && reel_now() < end) {
		sleep_shortly();
		collect(pass);
	}
	signal_all(pass, SIGKILL);
	while (pass->n_running) {
		sleep_shortly();
		collect(pass);
	}
	for (size_t i = 0; i < pass->n; i++) {
		if (i >= pass->started || (is_open[i] && pass->files[i].result != FETCHED))
			pass->files[i].result = result;
	}
	pass->started = pass->n;
}

static void fetch_all(struct pass *pass)
{
	uint64_t begin = reel_now();

	while (pass->started < pass->n || pass->n_running) {
		if (is_interrupted || reel_now() - begin >= pass->time_left) {
			give_up(pass, is_interrupted ? FETCH_INTERRUPTED : FETCH_OUT_OF_TIME);
			break;
		}
		start_some(pass);
		show(pass);
		sleep_shortly();
		collect(pass);
	}
	progress_end(&pass->progress);
	begin = reel_now() - begin;
	pass->time_left = begin < pass->time_left ? pass->time_left - begin : 0;
}

/* ---- results ----------------------------------------------------------------------------- */

/* "the file of /a (build-id 1234), and 3 more"; NULL if no file has this result. */
static char *list_files(const struct pass *pass, enum fetch_result result)
{
	const struct file *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < pass->n; i++) {
		if (pass->files[i].result != result)
			continue;
		if (!first)
			first = &pass->files[i];
		n++;
	}
	if (!first)
		return NULL;
	return n > 1 ? memory_print("%s of %s (build-id %s), and %s more",
				    first->kind == FETCH_EXECUTABLE ? "the file"
								    : "the debug information",
				    first->path, first->build_id, format_count(n - 1).text)
		     : memory_print("%s of %s (build-id %s)",
				    first->kind == FETCH_EXECUTABLE ? "the file"
								    : "the debug information",
				    first->path, first->build_id);
}

/* A line for each kind of failure: the text before and after the list of files. */
static void complain_of_failures(const struct pass *pass)
{
	const struct debuginfod_options *options = &pass->options->debuginfod;
	_cleanup_free_ char *out_of_time =
		memory_print(", which took longer than %s (--debuginfod-timeout)",
			     format_nanoseconds(options->timeout).text);
	_cleanup_free_ char *too_large = memory_print(", larger than %s (--debuginfod-max-size)",
						      format_bytes(options->max_size).text);
	_cleanup_free_ char *not_written =
		memory_print(", which could not be written to %s", pass->options->debuginfod_cache);
	const struct {
		const char *before, *behind;
	} texts[FETCH_RESULTS] = {
		[FETCH_NOT_THERE] = { "no server has ", "" },
		[FETCH_UNREACHABLE] = { "no server can be reached for ", "" },
		[FETCH_SERVER_FAILED] = { "a server failed to send ", "" },
		[FETCH_TOO_SLOW] = { "a server is too slow for ", " (DEBUGINFOD_TIMEOUT)" },
		[FETCH_LYING] = { "a server sent a file with a different build-id for ",
				  ", which was discarded" },
		[FETCH_TOO_LARGE] = { "refused: ", too_large },
		[FETCH_NOT_WRITTEN] = { "could not store ", not_written },
		[FETCH_NO_LIBRARY] = { "libdebuginfod.so.1 is not available to fetch ",
				       "; install it (Debian: libdebuginfod1, Fedora: "
				       "elfutils-debuginfod-client); a static stackreel cannot "
				       "load it" },
		[FETCH_FAILED] = { "could not fetch ", "" },
		[FETCH_OUT_OF_TIME] = { "continuing without ", out_of_time },
		[FETCH_INTERRUPTED] = { "interrupted: continuing without ", "" },
	};

	for (int result = FETCHED + 1; result < FETCH_RESULTS; result++) {
		_cleanup_free_ char *files = list_files(pass, (enum fetch_result)result);

		if (files)
			complain("debuginfod: %s%s%s", texts[result].before, files,
				 texts[result].behind);
	}
}

/* ---- all together ------------------------------------------------------------------------ */

/* A fetched executable may lead to further modules, so run scouts until they find nothing new. */
static int fetch_rounds(struct pass *pass)
{
	do {
		int told = send_scout(pass);

		if (told >= 0)
			return told;
		pass->new_executables = false;
		fetch_all(pass);
	} while (pass->new_executables && !is_interrupted && pass->time_left);
	return -1;
}

static bool pass_open(struct pass *pass, const struct options *options)
{
	*pass = (struct pass){ .options = options, .time_left = options->debuginfod.timeout };
	if (!options->debuginfod_cache || !debuginfod_cache_make(options->debuginfod_cache)) {
		complain(
			"debuginfod: cannot create the cache folder%s%s; set DEBUGINFOD_CACHE_PATH",
			options->debuginfod_cache ? ": " : "",
			options->debuginfod_cache ? options->debuginfod_cache : "");
		return false;
	}
	pass->news = mmap(NULL, PARALLEL * sizeof(*pass->news), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pass->news == MAP_FAILED)
		return false;
	pass->files = memory_get(FILES_MAX * sizeof(*pass->files));
	progress_start(&pass->progress, !options->quiet);
	return true;
}

int debuginfod_fetch(const struct options *options)
{
	const struct sigaction end_fetching = { .sa_handler = interrupt };
	struct sigaction before;
	struct pass pass;
	int told;

	if (!options->debuginfod.fetch || !pass_open(&pass, options))
		return -1;
	is_interrupted = 0;
	sigaction(SIGINT, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &end_fetching, NULL);
	told = fetch_rounds(&pass);
	if (told < 0) {
		sigaction(SIGINT, &before, NULL);
		if (!options->quiet)
			complain_of_failures(&pass);
	}
	munmap(pass.news, PARALLEL * sizeof(*pass.news));
	free(pass.files);
	return told;
}
