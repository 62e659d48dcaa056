/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An embedded image's debug information: functions, inlined calls and lines of the addresses that
 * were looked up (SPEC.md 5.1, .stackreel.lines).
 */
#ifndef REPLAY_DWARF_EMBEDDED_LINES_H
#define REPLAY_DWARF_EMBEDDED_LINES_H

#include "elf/embedded_code.h"
#include "replay/dwarf/debug_info.h"

struct reel_embedded_lines;

/* The section's bytes must outlive it.  CORRUPT if they do not conform to SPEC.md. */
struct reel_error *reel_embedded_lines_open(struct reel_bytes section,
					    struct reel_embedded_lines **ret) REEL_MUST_CHECK;
void reel_embedded_lines_close(struct reel_embedded_lines *lines);
/* As reel_debug_info_look_up, for exactly the stored addresses: *n_ret is 0 for others. */
void reel_embedded_lines_look_up(struct reel_embedded_lines *lines, uint64_t address,
				 const struct reel_debug_frame **frames_ret, size_t *n_ret,
				 uint64_t *begin_ret);

/* ---- writing ------------------------------------------------------------------------------ */

struct reel_lines_writer;

struct reel_error *reel_lines_writer_create(struct reel_lines_writer **ret) REEL_MUST_CHECK;
void reel_lines_writer_destroy(struct reel_lines_writer *writer);
/*
 * Add addresses in ascending order.  reel_embedded_lines_look_up will return `frames`.  `begin` is
 * the start of the last frame's function; it is not kept if the function has no name.
 */
struct reel_error *reel_lines_writer_add(struct reel_lines_writer *writer, uint64_t address,
					 const struct reel_debug_frame *frames, size_t n,
					 uint64_t begin) REEL_MUST_CHECK;
/* Writes nothing if no address was added. */
struct reel_error *reel_lines_writer_finish(struct reel_lines_writer *writer,
					    struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
