/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as it is written to a core file: shared by the files of replay/core/. */
#ifndef REPLAY_CORE_CORE_STATE_H
#define REPLAY_CORE_CORE_STATE_H

#include "arch/arch.h"
#include "replay/capture/capture.h"

/* ---- how Linux lays out the notes of core files, for each CPU (core_layout.c) --------------- */

/* Registers `first`, `first` + 1 …, `count` of them, at `offset`, `offset` + `step` … */
struct reel_core_registers {
	uint16_t first; /* DWARF number */
	uint16_t count;
	uint16_t offset; /* in the note */
	int16_t step;
};

/* A note with registers; integer registers are in NT_PRSTATUS, after its head. */
struct reel_core_register_note {
	uint32_t type; /* ELF's NT_... */
	uint16_t size; /* of its descriptor */
	const struct reel_core_registers *runs;
	size_t n_runs;
};

struct reel_core_layout {
	uint16_t machine;
	uint8_t word_size;
	/* The type of user and group ids in NT_PRPSINFO, in bytes (__kernel_uid_t). */
	uint8_t id_size;
	const struct reel_core_register_note *notes; /* NT_PRSTATUS first */
	size_t n_notes;
};

/* NULL if unknown. */
const struct reel_core_layout *reel_core_layout_of(const struct reel_arch *arch);

/* ---- the sample ----------------------------------------------------------------------------- */

/* Recorded memory, which the core owns. */
struct reel_core_piece {
	uint64_t address, size;
	uint8_t *bytes;
};

/* A mapped part of a file: an entry of NT_FILE. */
struct reel_core_file {
	uint64_t begin, end;
	uint64_t offset;
	const char *path;
};

/* The main executable, as the kernel describes it in the auxiliary vector. */
struct reel_core_program {
	const char *path; /* NULL: unknown, and so are the others */
	uint64_t entry, headers;
	uint32_t header_size, n_headers;
	uint32_t flags; /* e_flags */
};

struct reel_core {
	struct reel_capture *capture;
	struct reel_core_info info;
	const struct reel_arch *arch;
	const struct reel_core_layout *layout;
	bool big_endian;
	uint64_t page_size;
	uint64_t code_mask, data_mask; /* of pointer authentication; 0: none */
	uint64_t vdso;		       /* its address; 0: unknown */
	/* By DWARF number. */
	uint64_t values[REEL_ARCH_DWARF_MAX];
	bool known[REEL_ARCH_DWARF_MAX];
	/* In order of addresses, without overlaps. */
	struct reel_core_piece *pieces;
	size_t n_pieces, pieces_capacity;
	struct reel_core_module *modules;
	size_t n_modules, modules_capacity;
	struct reel_core_file *files;
	size_t n_files, files_capacity;
	struct reel_core_program program;
	struct reel_texts *texts;
};

/* Finds the sample with this id, and copies its registers and memory; *space_ret is its process. */
struct reel_error *reel_core_read_sample(struct reel_core *core, uint64_t id,
					 uint64_t *space_ret) REEL_MUST_CHECK;
/* Adds a copy of the bytes, except those at addresses of earlier pieces; call reel_core_sort_pieces
 * before adding bytes that may overlap them. */
struct reel_error *reel_core_add_piece(struct reel_core *core, size_t n_sorted, uint64_t address,
				       const uint8_t *bytes, uint64_t size) REEL_MUST_CHECK;
void reel_core_sort_pieces(struct reel_core *core);

/* Adds the modules and files that are mapped in the space at the sample's time. */
struct reel_error *reel_core_add_modules(struct reel_core *core, uint64_t space) REEL_MUST_CHECK;

/* The file's bytes. */
struct reel_error *reel_core_make_file(const struct reel_core *core,
				       struct reel_buffer *ret) REEL_MUST_CHECK;

#endif
