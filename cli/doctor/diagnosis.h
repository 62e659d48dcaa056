/* SPDX-License-Identifier: Apache-2.0 */
/* Missing data of a module or a capture, and remedies. */
#ifndef CLI_DOCTOR_DIAGNOSIS_H
#define CLI_DOCTOR_DIAGNOSIS_H

#include "cli/doctor/module_stats.h"

enum diagnosis_kind {
	MISSING_FILE,
	MISSING_ROWS,
	MISSING_SYMBOLS,
	MISSING_LINES, /* the embedded file has none */
	MISSING_MORE,  /* a file with debug information exists, but is incomplete */
	MISSING_KALLSYMS,
	JIT_CODE,
	INTERPRETED,
	/* Not of a module: */
	MISSING_STACK,
	MISSING_IMAGES,
	MISSING_JIT_NAMES,
	DIAGNOSES, /* number of diagnoses */
};

extern const struct diagnosis {
	const char *name, *remedy;
	bool is_served;	     /* by debuginfod, for a module with a known build-id */
	enum reel_loss loss; /* 0, or the loss that the recorder counted */
} diagnoses[DIAGNOSES];

/* Bits by enum diagnosis_kind. */
unsigned diagnoses_of(const struct module_counts *counts, const struct reel_module_info *module);
/* The subset that a debuginfod server may provide. */
unsigned diagnoses_served(const struct module_counts *counts,
			  const struct reel_module_info *module);

/*
 * Prints remedies for the diagnoses in `told` (bits), and the recorder's counts. Those in `served` may
 * be on a debuginfod server that was not asked yet.
 */
void diagnoses_print_remedies(const struct session *session, const struct module_stats *stats,
			      unsigned told, unsigned served, FILE *file);

#endif
