/* SPDX-License-Identifier: Apache-2.0 */
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/text.h"
#include "cli/push/push.h"
#include "include/commands.h"

/* Seconds to wait before another attempt; the last one fails for good. */
static const unsigned int pauses[] = { 1, 2, 4 };

#define ATTEMPTS (sizeof(pauses) / sizeof(*pauses) + 1)
/* Show at most this much of a server's answer. */
#define ANSWER_MAX 200
/* Environment variable: one header per line, as "Authorization: Bearer ...". */
#define HEADERS_VARIABLE "STACKREEL_PUSH_HEADERS"

struct push_server {
	const char *name;
	const char *content_type;
	/* Follows the server's URL; the caller frees it. */
	char *(*path)(const struct push *push, uint64_t from, uint64_t until);
	/* A file with the request's body; NULL: the profile itself. */
	FILE *(*body)(const struct push *push, FILE *profile);
};

/*
 * libcurl, loaded on demand: otherwise each command would load it and its dependencies for TLS and
 * more.
 */
struct curl_library {
	CURL *(*init)(void);
	void (*cleanup)(CURL *);
	CURLcode (*setopt)(CURL *, CURLoption, ...);
	CURLcode (*perform)(CURL *);
	CURLcode (*getinfo)(CURL *, CURLINFO, ...);
	const char *(*strerror)(CURLcode);
	struct curl_slist *(*append)(struct curl_slist *, const char *);
	void (*free_all)(struct curl_slist *);
};

static bool load(struct curl_library *ret)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	/* POSIX requires that a function pointer fits into a data pointer (dlsym(3)). */
	*(void **)&ret->init = dlsym(handle, "curl_easy_init");
	*(void **)&ret->cleanup = dlsym(handle, "curl_easy_cleanup");
	*(void **)&ret->setopt = dlsym(handle, "curl_easy_setopt");
	*(void **)&ret->perform = dlsym(handle, "curl_easy_perform");
	*(void **)&ret->getinfo = dlsym(handle, "curl_easy_getinfo");
	*(void **)&ret->strerror = dlsym(handle, "curl_easy_strerror");
	*(void **)&ret->append = dlsym(handle, "curl_slist_append");
	*(void **)&ret->free_all = dlsym(handle, "curl_slist_free_all");
	return ret->init && ret->cleanup && ret->setopt && ret->perform && ret->getinfo &&
	       ret->strerror && ret->append && ret->free_all;
}

/* Reports a missing library. */
static bool load_or_complain(struct curl_library *ret)
{
	if (load(ret))
		return true;
	complain("--push needs libcurl (libcurl.so.4), which is not installed");
	return false;
}

bool push_is_possible(void)
{
	struct curl_library library;

	return load_or_complain(&library);
}

/* ---- servers ------------------------------------------------------------------------------------
 */

/* https://grafana.com/docs/pyroscope/latest/configure-server/about-server-api/ */
static char *pyroscope_path(const struct push *push, uint64_t from, uint64_t until)
{
	_cleanup_free_ char *name = text_percent_encode(push->name);

	/* Whole seconds, at least one. */
	return memory_print("/ingest?name=%s&from=%" PRIu64 "&until=%" PRIu64
			    "&format=pprof&spyName=stackreel",
			    name, from / 1000000000, until / 1000000000 + 1);
}

/* WriteRaw of parca/profilestore/v1alpha1/profilestore.proto, as JSON. */
static char *parca_path(const struct push *push, uint64_t from, uint64_t until)
{
	(void)push;
	(void)from;
	(void)until;
	return memory_print("/api/profiles/writeraw");
}

static void print_base64(FILE *from, FILE *to)
{
	/* Pieces of three bytes each, so that none but the last one is padded. */
	unsigned char bytes[3 << 10];
	char text[sodium_base64_ENCODED_LEN(sizeof(bytes), sodium_base64_VARIANT_ORIGINAL)];
	size_t n;

	while ((n = fread(bytes, 1, sizeof(bytes), from))) {
		sodium_bin2base64(text, sizeof(text), bytes, n, sodium_base64_VARIANT_ORIGINAL);
		fputs(text, to);
	}
}

static FILE *parca_body(const struct push *push, FILE *profile)
{
	FILE *file;
	int fd;

	if (!no_error(reel_temporary_file(&fd)))
		return NULL;
	file = fdopen(fd, "w+");
	memory_check(file);
	fputs("{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":"
	      "\"stackreel\"},"
	      "{\"name\":\"job\",\"value\":",
	      file);
	json_string((const uint8_t *)push->name, strlen(push->name), file);
	fputs("}]},\"samples\":[{\"rawProfile\":\"", file);
	print_base64(profile, file);
	fputs("\"}]}]}", file);
	if (!fflush(file) && !ferror(file) && !ferror(profile))
		return file;
	complain("cannot write a temporary file: %s", strerror(errno));
	fclose(file);
	return NULL;
}

static const struct push_server servers[] = {
	{ "pyroscope", "Content-Type: application/octet-stream", pyroscope_path, NULL },
	{ "parca", "Content-Type: application/json", parca_path, parca_body },
};

bool push_parse(const char *text, struct push *ret)
{
	const char *url = strchr(text, ':');

	if (!url++ || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		return false;
	for (size_t i = 0; i < sizeof(servers) / sizeof(*servers); i++) {
		if (strlen(servers[i].name) == (size_t)(url - text) - 1 &&
		    !strncmp(text, servers[i].name, (size_t)(url - text) - 1)) {
			ret->server = &servers[i];
			ret->url = url;
			return true;
		}
	}
	return false;
}

/* ---- requests -----------------------------------------------------------------------------------
 */

struct request {
	struct curl_library library;
	const struct push *push;
	char *url;
	struct curl_slist *headers;
	FILE *body;
	curl_off_t size;
	/* Of the last attempt. */
	CURLcode result;
	long status;
	char answer[ANSWER_MAX + 1];
	size_t answer_size;
};

static size_t append_answer(char *bytes, size_t one, size_t n, void *context)
{
	struct request *request = context;
	size_t room = ANSWER_MAX - request->answer_size;
	size_t size = n < room ? n : room;

	(void)one;
	memcpy(request->answer + request->answer_size, bytes, size);
	request->answer_size += size;
	return n;
}

static void attempt(struct request *request)
{
	const struct curl_library *library = &request->library;
	CURL *curl = library->init();

	memory_check(curl);
	memset(request->answer, 0, sizeof(request->answer));
	request->answer_size = 0;
	request->status = 0;
	rewind(request->body);
	library->setopt(curl, CURLOPT_URL, request->url);
	library->setopt(curl, CURLOPT_NOSIGNAL, 1L);
	library->setopt(curl, CURLOPT_TIMEOUT_MS, (long)(request->push->timeout / 1000000));
	library->setopt(curl, CURLOPT_USERAGENT, "stackreel/" REEL_VERSION_STRING);
	library->setopt(curl, CURLOPT_POST, 1L);
	library->setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, request->size);
	library->setopt(curl, CURLOPT_READDATA, request->body);
	library->setopt(curl, CURLOPT_READFUNCTION, fread);
	library->setopt(curl, CURLOPT_HTTPHEADER, request->headers);
	library->setopt(curl, CURLOPT_WRITEFUNCTION, append_answer);
	library->setopt(curl, CURLOPT_WRITEDATA, request);
	request->result = library->perform(curl);
	library->getinfo(curl, CURLINFO_RESPONSE_CODE, &request->status);
	library->cleanup(curl);
}

/* Worth a retry: requests without an answer, and answers that report a temporary problem. */
static bool may_change(const struct request *request)
{
	switch (request->result) {
	case CURLE_OK:
		return request->status == 408 || request->status == 429 || request->status >= 500;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return true;
	default:
		return false;
	}
}

static void complain_of(const struct request *request, const char *what)
{
	const char *name = request->push->server->name;

	if (request->result != CURLE_OK)
		complain("pushing to %s: %s%s", name, request->library.strerror(request->result),
			 what);
	else
		complain("pushing to %s: the server answered %ld%s%.*s%s", name, request->status,
			 *request->answer ? ": " : "", (int)strcspn(request->answer, "\r\n"),
			 request->answer, what);
}

static bool send_request(struct request *request)
{
	for (size_t i = 0; i < ATTEMPTS; i++) {
		attempt(request);
		if (request->result == CURLE_OK && request->status >= 200 && request->status < 300)
			return true;
		if (!may_change(request) || i + 1 == ATTEMPTS)
			break;
		complain_of(request, "; retrying");
		sleep(pauses[i]);
	}
	complain_of(request, "");
	return false;
}

static void add_header(struct request *request, const char *text)
{
	struct curl_slist *longer = request->library.append(request->headers, text);

	memory_check(longer);
	request->headers = longer;
}

static void add_headers(struct request *request)
{
	const char *variable = getenv(HEADERS_VARIABLE);
	_cleanup_free_ char *lines = memory_print("%s", variable ? variable : "");
	char *rest = lines, *line;

	add_header(request, request->push->server->content_type);
	/* Do not wait for the server's permission to send: many never give it. */
	add_header(request, "Expect:");
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			add_header(request, line);
	}
}

bool push_profile(const struct push *push, int fd, uint64_t from, uint64_t until)
{
	FILE *profile = fdopen(dup(fd), "r"), *made = NULL;
	_cleanup_free_ char *path = push->server->path(push, from, until);
	size_t size = strlen(push->url);
	struct request request = { .push = push };
	bool ok = load_or_complain(&request.library);

	memory_check(profile);
	rewind(profile);
	if (ok && push->server->body) {
		made = push->server->body(push, profile);
		ok = made;
	}
	if (ok) {
		while (size && push->url[size - 1] == '/')
			size--;
		request.url = memory_print("%.*s%s", (int)size, push->url, path);
		request.body = made ? made : profile;
		fseeko(request.body, 0, SEEK_END);
		request.size = ftello(request.body);
		add_headers(&request);
		ok = send_request(&request);
		request.library.free_all(request.headers);
		free(request.url);
	}
	if (made)
		fclose(made);
	fclose(profile);
	return ok;
}
