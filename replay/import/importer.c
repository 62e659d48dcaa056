/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "replay/import/importer.h"

void reel_importer_problem(struct importer *importer, struct reel_error *problem)
{
	enum reel_error_code code = reel_error_code(problem);

	importer->report.damaged |= code == REEL_ERROR_CORRUPT || code == REEL_ERROR_TRUNCATED;
	if (importer->options.problem)
		importer->options.problem(importer->options.context, code,
					  reel_error_message(problem));
	reel_error_destroy(problem);
}

struct reel_error *reel_importer_tolerate(struct importer *importer, struct reel_error *error)
{
	if (!error || (reel_error_code(error) != REEL_ERROR_CORRUPT &&
		       reel_error_code(error) != REEL_ERROR_TRUNCATED))
		return error;
	reel_importer_problem(importer, error);
	return NULL;
}

struct reel_error *reel_importer_bad_record(struct importer *importer,
					    const struct perf_record *record, const char *problem)
{
	if (!importer->report.lacks[LACK_BAD_RECORD]++) {
		struct reel_error *error =
			reel_perf_record_error(&importer->stream, record, "%s", problem);

		snprintf(importer->report.first_bad, sizeof(importer->report.first_bad), "%s",
			 reel_error_message(error));
		reel_error_destroy(error);
	}
	return NULL;
}
