/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/export/trace_facts.h"
#include "cli/sql/database.h"
#include "cli/print/text.h"
#include "cli/session/session.h"

/* ---- files by their descriptors ------------------------------------------------------------- */

/* SQLite's sqlite3_file is its first member: https://www.sqlite.org/c3ref/file.html */
struct open_file {
	sqlite3_file base;
	int fd;
	bool own;
};

static int fd_of(sqlite3_file *file)
{
	return ((struct open_file *)file)->fd;
}

static int file_close(sqlite3_file *file)
{
	if (((struct open_file *)file)->own)
		close(fd_of(file));
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset)
{
	size_t wanted = (size_t)size, done = 0;

	while (done < wanted) {
		ssize_t n = pread(fd_of(file), (char *)to + done, wanted - done,
				  (off_t)offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return SQLITE_IOERR_READ;
		if (!n)
			break;
		done += (size_t)n;
	}
	memset((char *)to + done, 0, wanted - done);
	return done < wanted ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset)
{
	size_t wanted = (size_t)size, done = 0;

	while (done < wanted) {
		ssize_t n = pwrite(fd_of(file), (const char *)from + done, wanted - done,
				   (off_t)offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL
								  : SQLITE_IOERR_WRITE;
		done += (size_t)n;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(fd_of(file), (off_t)size) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	*ret = lseek(fd_of(file), 0, SEEK_END);
	return *ret < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

/* The file is private to this process until complete, and the code that names it syncs it. */
static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
	(void)file;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_characteristics(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *flags_ret)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 1,
		.xClose = file_close,
		.xRead = file_read,
		.xWrite = file_write,
		.xTruncate = file_truncate,
		.xSync = file_sync,
		.xFileSize = file_size,
		.xLock = file_lock,
		.xUnlock = file_lock,
		.xCheckReservedLock = file_is_reserved,
		.xFileControl = file_control,
		.xSectorSize = file_sector_size,
		.xDeviceCharacteristics = file_characteristics,
	};
	struct open_file *open = (struct open_file *)file;
	int *main_fd = vfs->pAppData;

	*open = (struct open_file){ .fd = -1 };
	if (flags & SQLITE_OPEN_MAIN_DB && *main_fd >= 0) {
		open->fd = *main_fd;
		*main_fd = -1;
	} else if (!name && !(flags & SQLITE_OPEN_MAIN_DB)) {
		/* For sorting data that does not fit into the cache. */
		open->own = no_error(reel_temporary_file(&open->fd));
	}
	if (open->fd < 0)
		return SQLITE_CANTOPEN;
	open->base.pMethods = &methods;
	if (flags_ret)
		*flags_ret = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

/* The database has no journal. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	(void)vfs;
	sqlite3_snprintf(size, ret, "%s", name);
	return SQLITE_OK;
}

/* The host's own VFS, except for files. */
static bool register_vfs(int fd)
{
	static sqlite3_vfs vfs;
	static int main_fd;
	const sqlite3_vfs *host = sqlite3_vfs_find(NULL);

	if (!host)
		return false;
	vfs = *host;
	vfs.pNext = NULL;
	vfs.zName = "stackreel";
	vfs.szOsFile = sizeof(struct open_file);
	vfs.pAppData = &main_fd;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	vfs.xAccess = vfs_access;
	vfs.xFullPathname = vfs_full_path;
	vfs.xDlOpen = NULL;
	main_fd = fd;
	return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

/* ---- the database --------------------------------------------------------------------------- */

bool database_fail(struct database *database)
{
	int code = sqlite3_errcode(database->connection);

	if (database->failed)
		return false;
	database->failed = true;
	if (code == SQLITE_NOMEM)
		memory_complain(NULL);
	else if (code == SQLITE_FULL)
		complain("cannot write: %s", strerror(ENOSPC));
	else
		complain("%s", sqlite3_errmsg(database->connection));
	return false;
}

bool database_open(struct database *database, int fd, bool sandboxed)
{
	/* One writer, which starts over after any error: neither journal nor locks. */
	static const char settings[] = "PRAGMA journal_mode = OFF;"
				       "PRAGMA synchronous = OFF;"
				       "PRAGMA locking_mode = EXCLUSIVE;"
				       "PRAGMA cache_size = -32768;";

	*database = (struct database){ 0 };
	if (!register_vfs(fd)) {
		complain("cannot use SQLite");
		database->failed = true;
		return false;
	}
	if (sqlite3_open_v2("capture", &database->connection,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "stackreel") != SQLITE_OK)
		return database_fail(database);
	return database_run(database, settings) &&
	       (!sandboxed || database_run(database, "PRAGMA temp_store = MEMORY"));
}

bool database_close(struct database *database)
{
	if (sqlite3_close(database->connection) != SQLITE_OK)
		database_fail(database);
	database->connection = NULL;
	return !database->failed;
}

bool database_run(struct database *database, const char *sql)
{
	return sqlite3_exec(database->connection, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       database_fail(database);
}

sqlite3_stmt *database_prepare(struct database *database, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v3(database->connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
			       NULL) != SQLITE_OK)
		database_fail(database);
	return statement;
}

sqlite3_stmt *database_prepare_insert(struct database *database, const char *table)
{
	_cleanup_free_ char *select = memory_print("SELECT * FROM %s", table);
	sqlite3_stmt *columns = database_prepare(database, select);
	int n = sqlite3_column_count(columns);
	_cleanup_free_ char *values = memory_get((size_t)n * 2 + 1);
	_cleanup_free_ char *insert = NULL;

	sqlite3_finalize(columns);
	for (int i = 0; i < n; i++)
		memcpy(values + 2 * i, i ? ",?" : " ?", 2);
	insert = memory_print("INSERT INTO %s VALUES (%s)", table, values);
	return columns ? database_prepare(database, insert) : NULL;
}

bool database_step(struct database *database, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		return database_fail(database);
	sqlite3_reset(statement);
	return true;
}

/* ---- values --------------------------------------------------------------------------------- */

void bind_number(sqlite3_stmt *statement, int column, uint64_t value)
{
	if (value <= INT64_MAX)
		sqlite3_bind_int64(statement, column, (sqlite3_int64)value);
	else
		sqlite3_bind_double(statement, column, (double)value);
}

void bind_bits(sqlite3_stmt *statement, int column, uint64_t value)
{
	sqlite3_bind_int64(statement, column, (sqlite3_int64)value);
}

void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
	_cleanup_free_ char *escaped = text_escape(text, "");

	sqlite3_bind_text(statement, column, escaped, -1, SQLITE_TRANSIENT);
}

void bind_text_or_null(sqlite3_stmt *statement, int column, const char *text)
{
	if (*text)
		bind_text(statement, column, text);
	else
		sqlite3_bind_null(statement, column);
}

void bind_literal(sqlite3_stmt *statement, int column, const char *text)
{
	sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

void bind_or_null(sqlite3_stmt *statement, int column, uint64_t value)
{
	if (value)
		bind_number(statement, column, value);
	else
		sqlite3_bind_null(statement, column);
}

void bind_wall_time(sqlite3_stmt *statement, int column, const struct reel_capture_info *info,
		    uint64_t time)
{
	uint64_t wall_time;

	bind_or_null(statement, column, wall_time_of(info, time, &wall_time) ? wall_time : 0);
}
