/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded list of problems, however many a file has. */
#ifndef FORMAT_PROBLEMS_H
#define FORMAT_PROBLEMS_H

#include "format/reader.h"

struct reel_problems {
	struct reel_problem *list;
	size_t n, max;
	/* Problems beyond `max`; the last item reports the number. */
	uint64_t more;
	/* Memory ran out: some are not in the list. */
	bool failed;
};

void reel_problems_init(struct reel_problems *problems, size_t max);
void reel_problems_clear(struct reel_problems *problems);
void reel_problems_free(struct reel_problems *problems);
void reel_problems_add(struct reel_problems *problems, enum reel_error_code code, uint64_t offset,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
