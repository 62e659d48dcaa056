/* SPDX-License-Identifier: Apache-2.0 */
/* How rows are kept: each a byte, and then its cells. */
#ifndef CLI_SQL_QUERY_CELL_H
#define CLI_SQL_QUERY_CELL_H

#include <stdint.h>

/* So many bytes follow. */
struct query_cell {
	uint32_t kind; /* SQLITE_NULL, SQLITE_TEXT … */
	uint32_t size;
};

#endif
