/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file is created: a folder, opened once, and a name in it.  Others may be able to write
 * into that folder; their files must not decide where our bytes go, or who can read them:
 *
 * - An existing file of that name, whoever owns it, is not opened.  A new file is made beside it
 *   and renamed over it.
 * - A symbolic link, also one to a folder on the way, is followed, and a FIFO or device written to, if it is trusted: we own it, or
 *   only we and root can write into its folder.  The kernel's fs.protected_symlinks and
 *   fs.protected_fifos require less, only in sticky folders, and may be switched off.
 * - A device must be named itself, not by a link to it; /dev/stdout and /dev/fd/N are files that
 *   this process already has open.
 */
#ifndef BASE_OUTPUT_PLACE_H
#define BASE_OUTPUT_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Captures and keys are for their owner alone: umask and access control lists of the
 * folder add no permissions. */
#define REEL_PLACE_PRIVATE 0600
/* Everything else is created as by a shell's redirection: umask and the folder's list apply. */
#define REEL_PLACE_SHARED 0666

struct reel_output_place {
	int folder;  /* O_PATH */
	mode_t mode; /* of new files; PRIVATE unless the caller changes it */
	char *name;  /* in the folder: a link's target, not the link's own name */
	char *path;  /* as the user named it, for messages */
	bool exists;
	struct stat status; /* of the existing file, if any */
	/* A FIFO, a device, or an open descriptor: written in place, and keeps its name. */
	bool is_lasting;
	bool is_descriptor; /* below /proc/PID/fd, where names lead elsewhere */
	unsigned int links; /* followed on the way */
};

/* Opens the folder of `path`; ignores any existing file of that name. */
struct reel_error *reel_output_place_open_folder(const char *path,
						 struct reel_output_place *ret) REEL_MUST_CHECK;
/* Also checks an existing file: an error if it may be neither replaced nor written to. */
struct reel_error *reel_output_place_open(const char *path,
					  struct reel_output_place *ret) REEL_MUST_CHECK;
void reel_output_place_close(struct reel_output_place *place);
#define _cleanup_place_ __attribute__((cleanup(reel_output_place_close)))

/*
 * Opens a folder to write into (O_PATH), and creates it if it is missing.  Links on the way are
 * followed if they are trusted.  Another user's folder in a folder writable by others is an error,
 * except the user's who ran this through sudo: its owner could replace what we write.
 */
struct reel_error *reel_output_folder_open(const char *path, int *fd_ret) REEL_MUST_CHECK;

/* Creates the file `name` there, to write and read; -1 and errno on failure (EEXIST: the name is
 * taken, even by a dangling link). */
int reel_output_place_create(const struct reel_output_place *place, const char *name);
/* A nameless file there, which vanishes however the program ends; -1 if the file system has none. */
int reel_output_place_create_nameless(const struct reel_output_place *place);
/* Whether a user ran this through sudo, as root. */
bool reel_output_place_caller(uid_t *user_ret, gid_t *group_ret);
/*
 * Whether that user owns the folder: new files there become the user's as
 * well, since nobody else could read root's.  In other folders sudo may have allowed only this
 * program, and giving the user a file could grant what others may not create there.
 */
bool reel_output_place_is_of_caller(const struct reel_output_place *place, uid_t *user_ret,
				    gid_t *group_ret);
/* If so and if permitted, makes that user the owner of a file created there. */
void reel_output_place_give_to_caller(const struct reel_output_place *place, int fd);
/* A name that nobody can predict, which the caller frees; NULL if memory runs out. */
char *reel_output_place_temporary_name(void);
/* Creates a file with such a name. */
struct reel_error *reel_output_place_create_temporary(const struct reel_output_place *place,
						      char **name_ret, int *fd_ret) REEL_MUST_CHECK;
/* Renames `from` to the place's name, replacing any other file; deletes `from` on failure. */
struct reel_error *reel_output_place_take_name(const struct reel_output_place *place,
					       const char *from) REEL_MUST_CHECK;
/*
 * Renames an existing file that is not empty to NAME.old.  NAME.old- and a random number if NAME.old
 * must not be replaced: anything but a file or a link, or, in a folder writable by others, that of
 * another user than the file's.
 */
struct reel_error *reel_output_place_move_old(const struct reel_output_place *place)
	REEL_MUST_CHECK;
/* Opens an is_lasting file.  A FIFO waits up to five seconds for a reader. */
struct reel_error *reel_output_place_open_lasting(const struct reel_output_place *place,
						  int *fd_ret) REEL_MUST_CHECK;

#endif
