/* SPDX-License-Identifier: Apache-2.0 */
/* Options of perf record that people type here: accepted with a note, or an error with a hint. */
#ifndef RECORD_OPTIONS_PERF_OPTIONS_H
#define RECORD_OPTIONS_PERF_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

/* A child parser of stackreel-record, hidden from --help. Its input is a bool: print no notes. */
extern const struct argp reel_perf_options;

/* --call-graph MODE: ends the program if the mode is unsupported. */
void reel_perf_call_graph(struct argp_state *state, const char *mode, bool quiet);
/* Whether `text` is one of perf's modes, dwarf, fp or lbr, with or without a size. */
bool reel_perf_is_call_graph(const char *text);

#endif
