/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/helper/fd_message.h"

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(REEL_FD_MESSAGE_MAX * sizeof(int))];
};

bool reel_fd_message_send(int socket, const void *bytes, size_t size, const int *fds, size_t count,
			  int flags)
{
	union control control = { .header = {
					  .cmsg_len = CMSG_LEN(count * sizeof(*fds)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
				  } };
	struct iovec vector = { (void *)bytes, size };
	struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = count ? &control : NULL,
		.msg_controllen = count ? CMSG_SPACE(count * sizeof(*fds)) : 0,
	};
	ssize_t n;

	if (count)
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(*fds));
	do {
		n = sendmsg(socket, &header, MSG_NOSIGNAL | flags);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

ssize_t reel_fd_message_receive(int socket, void *bytes, size_t size, int *fds, size_t *count,
				int flags)
{
	int received[REEL_FD_MESSAGE_MAX];
	union control control;
	struct iovec vector = { bytes, size };
	struct msghdr header = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	size_t n_received = 0, max = *count;
	ssize_t n;

	*count = 0;
	do {
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return n;
	if (header.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_level == SOL_SOCKET && control.header.cmsg_type == SCM_RIGHTS)
		n_received = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (n_received)
		memcpy(received, CMSG_DATA(&control.header), n_received * sizeof(int));
	for (size_t i = 0; i < n_received; i++) {
		if (*count < max)
			fds[(*count)++] = received[i];
		else
			close(received[i]);
	}
	return n;
}
