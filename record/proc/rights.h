/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process could open a file itself.  The recorder may read every file, also one that a
 * process put, mounted or linked to where the recorder looks for another.
 */
#ifndef RECORD_PROC_RIGHTS_H
#define RECORD_PROC_RIGHTS_H

/*
 * R_OK if the process (/proc/PID, open) may read the file (any descriptor), else X_OK if it may
 * execute it, or is gone, else 0: by its user and groups for files, and by its capabilities over
 * files whose owner and group are in its user namespace.  A file with an access control list is for
 * its owner and for capabilities only, but anyone may execute it.  Folders above the file do not
 * count.
 */
int reel_rights_of(int process, int file);

#endif
