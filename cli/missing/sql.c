/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces cli/sql/ in builds without libsqlite3. */
#include "cli/commands.h"
#include "cli/export/formats.h"

static void say_why(void)
{
	complain("stackreel was built without libsqlite3 and has no SQL; use 'stackreel export' "
		 "with another format");
}

static void *no_database(const struct export_target *target)
{
	(void)target;
	say_why();
	return NULL;
}

const struct export_format export_sqlite = {
	.name = "sqlite",
	.summary = "a database for SQLite (not in this build)",
	.needs_file = true,
	.open = no_database,
};

int command_sql(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	say_why();
	return STATUS_ERROR;
}
