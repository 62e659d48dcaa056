/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors (unix(7), SCM_RIGHTS) between the recorder and its helpers. */
#ifndef RECORD_HELPER_FD_MESSAGE_H
#define RECORD_HELPER_FD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define REEL_FD_MESSAGE_MAX 2 /* descriptors */

/* Sends one message of these bytes and descriptors; `flags` as for sendmsg(2). */
bool reel_fd_message_send(int socket, const void *bytes, size_t size, const int *fds, size_t count,
			  int flags);
/*
 * As recvmsg(2).  Takes at most *count of the received descriptors, closed on exec, and closes the
 * others.  *count becomes the number taken.
 */
ssize_t reel_fd_message_receive(int socket, void *bytes, size_t size, int *fds, size_t *count,
				int flags);

#endif
