/* SPDX-License-Identifier: Apache-2.0 */
/* Missing data of a module or a capture, and remedies. */
#ifndef CLI_DOCTOR_LACKS_H
#define CLI_DOCTOR_LACKS_H

#include "cli/doctor/ward.h"

enum lack {
	LACKS_FILE,
	LACKS_ROWS,
	LACKS_SYMBOLS,
	LACKS_LINES, /* the embedded file has none */
	LACKS_MORE,  /* a file with debug information exists, but is incomplete */
	LACKS_KALLSYMS,
	IS_JIT,
	/* Not of a module: */
	LACKS_STACK,
	LACKS_IMAGES,
	LACKS_JIT_NAMES,
	LACKS, /* number of lacks */
};

extern const struct lacking {
	const char *name, *cure;
	bool is_served;	     /* by debuginfod, for a module with a known build-id */
	enum reel_loss loss; /* 0, or the loss that the recorder counted */
} lacks[LACKS];

/* Bits by enum lack. */
unsigned lacks_of(const struct patient *patient, const struct reel_module_info *module);
/* The subset that a debuginfod server may provide. */
unsigned lacks_served(const struct patient *patient, const struct reel_module_info *module);

/*
 * Prints remedies for the lacks in `told` (bits), and the recorder's counts. Those in `served` may
 * be on a debuginfod server that was not asked yet.
 */
void lacks_print_cures(const struct session *session, const struct ward *ward, unsigned told,
		       unsigned served, FILE *file);

#endif
