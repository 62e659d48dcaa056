/* SPDX-License-Identifier: Apache-2.0 */
/* The format of stored rows: a byte each, then the cells. */
#ifndef CLI_SQL_QUERY_CELL_H
#define CLI_SQL_QUERY_CELL_H

#include <stdint.h>

/* `size` bytes follow. */
struct query_cell {
	uint32_t kind; /* SQLITE_NULL, SQLITE_TEXT … */
	uint32_t size;
};

#endif
