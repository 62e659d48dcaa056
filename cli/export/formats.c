/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/print/text.h"
#include "cli/session/selection.h"

const struct export_format *const export_formats[] = {
	&export_sqlite,
	&export_ndjson,
	&export_csv,
	&export_parquet,
	&export_pprof,
	&export_perfetto,
	&export_otlp,
	&export_speedscope,
	&export_firefox,
	&export_callgrind,
	&export_perf_script,
	&export_perf_data,
	&export_llvm_sample_profile,
	NULL,
};

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; export_formats[i]; i++) {
		if (!strcmp(export_formats[i]->name, name))
			return export_formats[i];
	}
	return NULL;
}

char *export_format_names(void)
{
	char *names = memory_print("%s", export_formats[0]->name);

	for (size_t i = 1; export_formats[i]; i++) {
		char *more = memory_print("%s%s%s", names, export_formats[i + 1] ? ", " : " or ",
					  export_formats[i]->name);

		free(names);
		names = more;
	}
	return names;
}

struct visitor {
	const struct export_format *format;
	void *state;
	struct value_labels values;
	bool ok;
};

static bool visit(void *context, const struct reel_trace *trace,
		  const struct reel_event_info *event)
{
	struct visitor *visitor = context;

	visitor->ok = visitor->format->add(visitor->state,
					   value_labels_add(&visitor->values, trace), event);
	return visitor->ok;
}

int export_capture(const struct export_format *format, void *state, const struct options *options,
		   bool *ok_ret)
{
	struct visitor visitor = { .format = format, .state = state, .ok = true };
	struct session session;
	int status = STATUS_ERROR;

	value_labels_init(&visitor.values, options->values, options->n_values,
			  &options->shown_values);
	*ok_ret = session_open(&session, options) &&
		  format->begin_capture(state, &session, options->file) &&
		  session_visit(&session, visit, &visitor) && visitor.ok &&
		  (!format->end_capture || format->end_capture(state, &session));
	if (*ok_ret) {
		session_warn(&session);
		status = session_status(&session);
		if (!session_explain_labels(&session, &visitor.values))
			status = STATUS_ERROR;
	}
	value_labels_free(&visitor.values);
	session_close(&session);
	return status;
}
