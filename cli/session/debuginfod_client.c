/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/session/debuginfod_client.h"
#include "cli/print/text.h"
#include "cli/session/sandbox.h"
#include "host/system.h"

static volatile sig_atomic_t is_ended, is_too_large;

/* ---- the library ------------------------------------------------------------------------ */

/* elfutils, debuginfod/debuginfod.h.  It is loaded on demand, so that it stays optional and its
 * dependencies (libcurl, TLS) are never in a process that replays. */
struct client;

typedef int progress_function(struct client *client, long done, long total);
typedef int find_function(struct client *client, const unsigned char *build_id, int build_id_size,
			  char **path_ret);

struct library {
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	void (*set_progress)(struct client *client, progress_function *progress);
	void (*set_log)(struct client *client, int fd);
	find_function *find[2]; /* by enum fetch_kind */
};

static bool library_load(struct library *ret)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	/* POSIX requires that a function pointer fits into a data pointer (dlsym(3)). */
	*(void **)&ret->begin = dlsym(handle, "debuginfod_begin");
	*(void **)&ret->end = dlsym(handle, "debuginfod_end");
	*(void **)&ret->set_progress = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&ret->set_log = dlsym(handle, "debuginfod_set_verbose_fd");
	*(void **)&ret->find[FETCH_EXECUTABLE] = dlsym(handle, "debuginfod_find_executable");
	*(void **)&ret->find[FETCH_DEBUGINFO] = dlsym(handle, "debuginfod_find_debuginfo");
	return ret->begin && ret->end && ret->set_progress && ret->set_log && ret->find[0] &&
	       ret->find[1];
}

/* ---- restrictions ------------------------------------------------------------------------- */

static void end_soon(int signal_number)
{
	(void)signal_number;
	is_ended = 1;
}

static void record_size(int signal_number)
{
	(void)signal_number;
	is_too_large = 1;
}

static void handle(int signal_number, void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	sigaction(signal_number, &action, NULL);
}

/* The file size limit stops an endless body, even if the client does not. */
static void limit_size(uint64_t max_size)
{
	struct rlimit limit;

	if (!max_size || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max < max_size)
		return;
	limit.rlim_cur = limit.rlim_max = (rlim_t)max_size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void confine(const struct fetch_request *request)
{
	int null = open("/dev/null", O_RDWR);

	/* The parent handles Ctrl-C and ends this process. */
	handle(SIGINT, SIG_IGN);
	handle(SIGTERM, end_soon);
	handle(SIGXFSZ, record_size);
	reel_system_end_with_parent(SIGKILL);
	/* The client must not reach the capture or any other open file. */
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
#ifdef SYS_close_range
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
#endif
	limit_size(request->max_size);
	sandbox_enter_to_fetch(request->cache);
}

static void set_environment(const struct fetch_request *request)
{
	if (request->urls)
		setenv("DEBUGINFOD_URLS", request->urls, 1);
	/* The cache in which replay looks. */
	setenv("DEBUGINFOD_CACHE_PATH", request->cache, 1);
	/* The parent shows progress. */
	unsetenv("DEBUGINFOD_PROGRESS");
}

/* ---- one file ------------------------------------------------------------------------------ */

static struct fetch_news *current_news;

static int show_progress(struct client *client, long done, long total)
{
	(void)client;
	(void)total;
	/* Before the first byte, the client passes the number of calls. */
	current_news->bytes = total > 0 && done > 0 ? (uint64_t)done : 0;
	return is_ended;
}

/* No server that answered has the file. The client returns ENOENT for any other answer as well, and
 * only its log shows which answer it was. */
static bool is_not_there(int log)
{
	char text[16384];
	ssize_t size = pread(log, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return true;
	text[size] = '\0';
	/* Without a response, the client has cached a miss from some minutes ago. */
	return !strstr(text, "server response") || strstr(text, "returned error: 404");
}

static enum fetch_result result_of(int error, int log)
{
	if (is_ended)
		return FETCH_INTERRUPTED;
	if (is_too_large)
		return FETCH_TOO_LARGE;
	switch (error) {
	case ENOENT:
		return is_not_there(log) ? FETCH_NOT_THERE : FETCH_SERVER_FAILED;
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return FETCH_UNREACHABLE;
	case ETIME:
	case ETIMEDOUT:
		return FETCH_TOO_SLOW;
	case ECONNRESET:
	case EMLINK:
		return FETCH_SERVER_FAILED;
	case EFBIG: /* $DEBUGINFOD_MAXSIZE */
		return FETCH_TOO_LARGE;
	case EACCES:
	case EDQUOT:
	case EIO:
	case ENOSPC:
	case EPERM:
	case EROFS:
		return FETCH_NOT_WRITTEN;
	default:
		return FETCH_FAILED;
	}
}

/* The server is not trusted. */
static enum fetch_result check(const struct fetch_request *request, const char *path,
			       struct fetch_news *news)
{
	REEL_SIZED(reel_file_identity, identity);
	struct reel_error *error = reel_file_identify(path, &identity);
	bool is_known = !error || reel_error_code(error) != REEL_ERROR_NO_MEMORY;

	reel_error_destroy(error);
	if (!is_known)
		return FETCH_FAILED;
	if (strcmp(identity.build_id, request->build_id) != 0) {
		unlink(path);
		return FETCH_LYING;
	}
	memcpy(news->alternate, identity.alternate, sizeof(news->alternate));
	return FETCHED;
}

/* The client caches a miss as an empty file, and trusts it for minutes; it does so even after an
 * error that may be temporary. */
static void forget_miss(const struct fetch_request *request)
{
	_cleanup_free_ char *path =
		memory_print("%s/%s/%s", request->cache, request->build_id,
			     request->kind == FETCH_EXECUTABLE ? "executable" : "debuginfo");
	struct stat status;

	if (!stat(path, &status) && !status.st_size)
		unlink(path);
}

/*
 * Of all processes that share the folder, on this host or others, only one fetches a file; the
 * waiting ones find it there. Each file has a byte in one lock file, which no process needs to
 * remove: locks end with their process. Without locks in the file system, a file is at worst
 * fetched twice.
 */
static void lock(const struct fetch_request *request)
{
	_cleanup_free_ char *path = memory_print("%s/stackreel.lock", request->cache);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Any part of a build-id as long as a hash is a hash itself. */
	_cleanup_free_ char *digits = memory_print("%.14s", request->build_id);
	struct flock range = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(strtoull(digits, NULL, 16) * 2 + request->kind),
		.l_len = 1,
	};

	if (fd >= 0) {
		while (fcntl(fd, F_OFD_SETLKW, &range) && errno == EINTR && !is_ended)
			;
	}
}

static enum fetch_result fetch(const struct library *library, const struct fetch_request *request,
			       struct fetch_news *news)
{
	struct client *client = library->begin();
	int log = reel_system_memory_file("log"), fd;
	enum fetch_result result;
	struct stat status;
	char *path = NULL;

	if (!client || log < 0)
		return FETCH_FAILED;
	lock(request);
	if (is_ended)
		return FETCH_INTERRUPTED;
	library->set_progress(client, show_progress);
	library->set_log(client, log);
	/* Size 0: the build-id is text. */
	fd = library->find[request->kind](client, (const unsigned char *)request->build_id, 0,
					  &path);
	if (fd < 0 || !path) {
		result = result_of(-fd, log);
		if (result != FETCH_NOT_THERE)
			forget_miss(request);
	} else {
		news->bytes = fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
		result = check(request, path, news);
	}
	free(path);
	library->end(client);
	return result;
}

_Noreturn void debuginfod_client_run(const struct fetch_request *request, struct fetch_news *news)
{
	struct library library;

	current_news = news;
	set_environment(request);
	confine(request);
	_exit(library_load(&library) ? (int)fetch(&library, request, news) : FETCH_NO_LIBRARY);
}
