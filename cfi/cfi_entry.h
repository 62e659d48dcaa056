/* SPDX-License-Identifier: Apache-2.0 */
/* Parses CIEs, FDEs and encoded pointers in a section.  Internal to cfi*.c. */
#ifndef CFI_CFI_ENTRY_H
#define CFI_CFI_ENTRY_H

#include "base/bytes.h"
#include "cfi/cfi.h"

/* A section of CFI and the parameters to read it. */
struct cfi_data {
	const struct reel_arch *arch;
	struct reel_loaded_bytes section;
	bool big_endian;
	bool is_eh; /* .eh_frame (or its header), not .debug_frame */
	uint64_t text_base, data_base;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	uint8_t address_size;
	uint8_t segment_size;
	uint8_t fde_encoding; /* DW_EH_PE_* */
	bool has_augmentation_size;
	bool signal_frame;
	bool has_personality;
	const uint8_t *program;
	size_t program_size;
};

struct cfi_fde {
	struct cfi_cie cie;
	uint64_t begin, size;
	const uint8_t *program;
	size_t program_size;
};

/* An entry's extent.  The cursor is after the CIE id or pointer. */
struct cfi_entry {
	uint64_t offset, next;
	bool is_cie;
	uint64_t cie_offset;  /* of an FDE */
	unsigned offset_size; /* 4 or 8 */
	struct reel_cursor body;
};

enum cfi_entry_found {
	CFI_ENTRY_FOUND,
	CFI_ENTRY_TERMINATOR, /* a length of zero; `next` is after it */
	CFI_ENTRY_END,	      /* the end of the section, or an entry beyond it */
};

enum cfi_entry_found reel_cfi_entry_at(const struct cfi_data *data, uint64_t offset,
				       struct cfi_entry *ret);
/* NULL, or a static text that describes the error. */
const char *reel_cfi_cie_parse(const struct cfi_data *data, uint64_t offset, struct cfi_cie *ret);
/* `entry` is an FDE; `cie` its CIE.  Sets begin and size if they can be read, even if the rest is
 * invalid. */
const char *reel_cfi_fde_parse(const struct cfi_data *data, const struct cfi_entry *entry,
			       const struct cfi_cie *cie, struct cfi_fde *ret);

/* Parses both entries for the FDE at an offset. */
const char *reel_cfi_fde_at(const struct cfi_data *data, uint64_t offset, struct cfi_fde *ret);

/*
 * Reads a pointer in a DW_EH_PE encoding (LSB Core 5.0, 10.5.1).  False if it has no value here:
 * omitted, indirect, relative to a function, or malformed.
 */
bool reel_cfi_pointer(const struct cfi_data *data, struct reel_cursor *cursor, uint8_t encoding,
		      uint64_t *ret);
/* The size of a pointer in that encoding, 0 if it varies or is undefined. */
unsigned reel_cfi_pointer_size(const struct cfi_data *data, uint8_t encoding);

#endif
