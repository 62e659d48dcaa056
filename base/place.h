/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file is made: a folder, opened once, and a name in it.  Others may be able to write into
 * that folder; what they put there must not decide where our bytes go, or who can read them:
 *
 * - A file that has the name, whoever's it is, is not opened.  A new one is made beside it and
 *   renamed over it.
 * - A symbolic link is followed, and a FIFO or a device written to, if it is trusted: it is ours,
 *   or nobody but us and root can write into its folder.  The kernel's fs.protected_symlinks and
 *   fs.protected_fifos ask for less, in sticky folders alone, and may be switched off.
 * - A device has to be named itself, not by a link to it; /dev/stdout and /dev/fd/N are what this
 *   process has open already.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Captures and keys are for their owner alone: neither umask nor an access control list of the
 * folder adds to that. */
#define REEL_PLACE_PRIVATE 0600
/* Everything else is created as by a shell's redirection: umask and the folder's list decide. */
#define REEL_PLACE_SHARED 0666

struct reel_place {
	int folder;  /* O_PATH */
	mode_t mode; /* of new files; PRIVATE unless the caller changes it */
	char *name;  /* in it: where a link leads to, not its own */
	char *path;  /* as the user named it, for messages */
	bool exists;
	struct stat status; /* of what has the name, if it exists */
	/* A FIFO, a device, or an open descriptor: is written to, and keeps its name. */
	bool is_lasting;
	bool is_descriptor; /* below /proc/PID/fd, where names lead elsewhere */
};

/* The folder of `path`; what has the name in it is not looked at. */
struct reel_error *reel_place_open_folder(const char *path, struct reel_place *ret) REEL_MUST_CHECK;
/* The same, and what has the name: an error if it is not to be replaced, nor to be written to. */
struct reel_error *reel_place_open(const char *path, struct reel_place *ret) REEL_MUST_CHECK;
void reel_place_close(struct reel_place *place);
#define _cleanup_place_ __attribute__((cleanup(reel_place_close)))

/* A new file `name` there, to write and to read; -1 and errno if there is none (EEXIST: something
 * has the name, even a link that leads nowhere). */
int reel_place_create(const struct reel_place *place, const char *name);
/*
 * Whether somebody had this run by sudo, and the folder is theirs: then new files there are, too,
 * since nobody else could read root's. In other folders sudo may have allowed this program alone,
 * and a file of theirs could be what nobody else may make there.
 */
bool reel_place_is_of_caller(const struct reel_place *place, uid_t *user_ret, gid_t *group_ret);
/* Gives them a file that was made there, where that is so and may be done. */
void reel_place_give_to_caller(const struct reel_place *place, int fd);
/* A name that nobody can foresee, to be freed; NULL if there is no memory. */
char *reel_place_temporary_name(void);
/* A new file of such a name. */
struct reel_error *reel_place_create_temporary(const struct reel_place *place, char **name_ret,
					       int *fd_ret) REEL_MUST_CHECK;
/* The file `from` takes the place's name from whatever has it. If it can't, it is deleted. */
struct reel_error *reel_place_take_name(const struct reel_place *place,
					const char *from) REEL_MUST_CHECK;
/* Opens what is_lasting. A FIFO waits for somebody who reads, up to five seconds. */
struct reel_error *reel_place_open_lasting(const struct reel_place *place,
					   int *fd_ret) REEL_MUST_CHECK;

#endif
