/* SPDX-License-Identifier: Apache-2.0 */
/* Options of perf record that people type here: accepted with a note, or an error with a hint. */
#ifndef RECORD_PERF_OPTIONS_H
#define RECORD_PERF_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

struct reel_options;

/* A child parser of stackreel-record, with its options as input. Hidden from --help. */
extern const struct argp reel_perf_options;

/* --call-graph MODE: ends the program if the mode is unsupported. */
void reel_perf_call_graph(struct argp_state *state, const char *mode, struct reel_options *options);
/* Whether `text` is one of perf's modes, dwarf, fp or lbr, with or without a size. */
bool reel_perf_is_call_graph(const char *text);

#endif
