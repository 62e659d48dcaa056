/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/page/page_server.h"
#include "cli/print/output.h"
#include "cli/print/memory.h"
#include "host/system.h"

#define TOKEN_BYTES    16
#define REQUEST_MAX    8192
#define CLIENT_SECONDS 5 /* for a request, and for a pause while the page is sent */
#define CLIENTS_MAX    64

/* ---- in the server's process ---------------------------------------------------------------- */

struct served {
	int socket;
	const char *path;     /* "/TOKEN/" */
	const char *hosts[3]; /* names that a browser of this host uses, with the port */
	char *page;
	size_t size;
};

static bool send_all(int client, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		bytes += sent;
		size -= (size_t)sent;
	}
	return true;
}

/* A request's head, up to the empty line; false if the client sent none. */
static bool read_head(int client, char head[REQUEST_MAX])
{
	size_t size = 0;

	while (size < REQUEST_MAX - 1) {
		ssize_t got = recv(client, head + size, REQUEST_MAX - 1 - size, 0);

		if (got <= 0)
			return false;
		size += (size_t)got;
		head[size] = '\0';
		if (strstr(head, "\r\n\r\n"))
			return true;
	}
	return false;
}

/* Another site may point its own name at this address (DNS rebinding); such requests name that
 * host. */
static bool is_host_ours(const struct served *served, const char *head)
{
	const char *host = strcasestr(head, "\r\nhost:");
	size_t size;

	if (!host)
		return false;
	host += strlen("\r\nhost:");
	host += strspn(host, " ");
	size = strcspn(host, "\r ");
	for (size_t i = 0; i < sizeof(served->hosts) / sizeof(*served->hosts); i++) {
		if (size == strlen(served->hosts[i]) && !strncasecmp(host, served->hosts[i], size))
			return true;
	}
	return false;
}

static bool is_wanted(const struct served *served, const char *head)
{
	size_t size = strlen(served->path);

	return !strncmp(head, "GET ", 4) && !strncmp(head + 4, served->path, size) &&
	       head[4 + size] == ' ' && is_host_ours(served, head);
}

static void answer(const struct served *served, int client)
{
	static const char missing[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
				      "Connection: close\r\n\r\n";
	const struct timeval timeout = { .tv_sec = CLIENT_SECONDS };
	_cleanup_free_ char *head = NULL;
	char request[REQUEST_MAX];

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	/* For all parts of the request together. */
	alarm(CLIENT_SECONDS);
	if (!read_head(client, request))
		return;
	alarm(0);
	if (!is_wanted(served, request)) {
		send_all(client, missing, strlen(missing));
		return;
	}
	head = memory_print("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
			    "Content-Length: %zu\r\nCache-Control: no-store\r\n"
			    "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
			    "X-Frame-Options: DENY\r\nConnection: close\r\n\r\n",
			    served->size);
	if (send_all(client, head, strlen(head)))
		send_all(client, served->page, served->size);
}

static void read_page(struct served *served, int fd)
{
	FILE *page = open_memstream(&served->page, &served->size);
	char chunk[65536];
	ssize_t n;

	memory_check(page);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n > 0)
			fwrite(chunk, 1, (size_t)n, page);
		else if (errno != EINTR)
			_exit(STATUS_ERROR);
	}
	fclose(page);
	close(fd);
	if (!served->size)
		_exit(STATUS_OK);
}

/* In a process of its own: any user of this host can connect, and be slow. */
static void start_answer(const struct served *served, int client, unsigned int *n_clients)
{
	pid_t server = getpid(), pid;

	/* Ended ones; if there are too many, the next one that ends. */
	while (*n_clients && waitpid(-1, NULL, *n_clients < CLIENTS_MAX ? WNOHANG : 0) > 0)
		--*n_clients;
	pid = fork();
	*n_clients += pid > 0;
	if (pid)
		return;
	reel_system_end_with_parent(SIGTERM);
	if (getppid() == server)
		answer(served, client);
	_exit(0);
}

static void serve(struct served *served, int fd)
{
	unsigned int n_clients = 0;

	reel_system_end_with_parent(SIGTERM);
	read_page(served, fd);
	for (;;) {
		int client = accept4(served->socket, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (client < 0)
			_exit(STATUS_ERROR);
		start_answer(served, client, &n_clients);
		close(client);
	}
}

/* ---- the address ------------------------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/*
 * Parses "HOST:PORT", "[HOST]:PORT" or "PORT"; the size of the address, 0 if invalid.  Not by
 * getaddrinfo, which a static program cannot have: only this host's addresses are wanted.
 */
static socklen_t parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	bool bracketed = *text == '[' && colon && colon > text && colon[-1] == ']';
	_cleanup_free_ char *host =
		colon ? memory_print("%.*s", (int)(colon - text) - 2 * bracketed, text + bracketed)
		      : memory_print("localhost");
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(port, &end, 10);
	if (*end || end == port || *port == '-' || errno || number > UINT16_MAX)
		return 0;
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &v4->sin_addr) ==
	    1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)number);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return 0;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)number);
	return sizeof(*v6);
}

static int listen_at(const struct sockaddr_storage *address, socklen_t size)
{
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)address, size) || listen(fd, 16)) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* A listening socket; -1 after an error, which was reported. */
static int open_socket(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size = parse_address(text, &address);
	int fd;

	if (!size) {
		complain("--serve=%s: invalid address (expected PORT or HOST:PORT, where HOST is "
			 "localhost or a number)",
			 text);
		return -1;
	}
	if (!is_loopback((const struct sockaddr *)&address)) {
		complain("--serve=%s: not a loopback address; serve on this host, and use "
			 "'ssh -L PORT:localhost:PORT' on the other",
			 text);
		return -1;
	}
	fd = listen_at(&address, size);
	if (fd < 0)
		complain("--serve=%s: cannot listen: %s", text, strerror(errno));
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return 0;
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

/* ---- starting and stopping ---------------------------------------------------------------------- */

static bool make_path(char path[2 * TOKEN_BYTES + 3])
{
	uint8_t token[TOKEN_BYTES];

	if (getrandom(token, sizeof(token), 0) != sizeof(token)) {
		complain("--serve: no random numbers: %s", strerror(errno));
		return false;
	}
	path[0] = '/';
	for (size_t i = 0; i < sizeof(token); i++)
		sprintf(path + 1 + 2 * i, "%02x", token[i]);
	strcpy(path + 1 + 2 * sizeof(token), "/");
	return true;
}

bool page_server_start(struct page_server *server, const char *address)
{
	char path[2 * TOKEN_BYTES + 3];
	struct served served = { .path = path };
	int fds[2];
	uint16_t port;

	if (!make_path(path))
		return false;
	served.socket = open_socket(address ? address : "0");
	if (served.socket < 0)
		return false;
	port = port_of(served.socket);
	served.hosts[0] = memory_print("localhost:%u", port);
	served.hosts[1] = memory_print("127.0.0.1:%u", port);
	served.hosts[2] = memory_print("[::1]:%u", port);
	if (pipe(fds) || (server->pid = fork()) < 0) {
		complain("--serve: %s", strerror(errno));
		return false;
	}
	if (!server->pid) {
		close(fds[1]);
		serve(&served, fds[0]);
	}
	close(fds[0]);
	close(served.socket);
	server->page = fdopen(fds[1], "w");
	memory_check(server->page);
	server->url = memory_print("http://%s%s", served.hosts[0], path);
	for (size_t i = 0; i < sizeof(served.hosts) / sizeof(*served.hosts); i++)
		free((char *)served.hosts[i]);
	return true;
}

int page_server_run(struct page_server *server)
{
	int status;

	if (fclose(server->page)) {
		server->page = NULL;
		complain("--serve: %s", strerror(errno));
		return STATUS_ERROR;
	}
	server->page = NULL;
	complain("serving the page at %s (Ctrl-C ends it)", server->url);
	while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
		;
	server->pid = 0;
	complain("--serve: the server ended");
	return STATUS_ERROR;
}

void page_server_stop(struct page_server *server)
{
	if (server->page)
		fclose(server->page);
	if (server->pid > 0) {
		kill(server->pid, SIGTERM);
		waitpid(server->pid, NULL, 0);
	}
	free(server->url);
}
