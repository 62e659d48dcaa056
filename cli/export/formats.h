/* SPDX-License-Identifier: Apache-2.0 */
/* The available formats, described in their own files. */
#ifndef CLI_EXPORT_FORMATS_H
#define CLI_EXPORT_FORMATS_H

#include "cli/export/export.h"

extern const struct export_format export_sqlite, export_ndjson, export_csv, export_perf_script,
	export_speedscope, export_firefox, export_callgrind, export_perf_data,
	export_llvm_sample_profile;
extern const struct export_format export_pprof, export_perfetto, export_otlp;

#endif
