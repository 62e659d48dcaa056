/* SPDX-License-Identifier: Apache-2.0 */
/* What a module, or a capture, may lack, and what would mend it. */
#ifndef CLI_DOCTOR_LACKS_H
#define CLI_DOCTOR_LACKS_H

#include "cli/doctor/ward.h"

enum lack {
	LACKS_FILE,
	LACKS_ROWS,
	LACKS_SYMBOLS,
	LACKS_LINES, /* what is embedded has none */
	LACKS_MORE,  /* a file with debug information is there, and does not say all */
	LACKS_KALLSYMS,
	IS_JIT,
	/* No module does: */
	LACKS_STACK,
	LACKS_IMAGES,
	LACKS_JIT_NAMES,
	LACKS, /* how many there are */
};

extern const struct lacking {
	const char *name, *cure;
	bool is_served;	     /* by debuginfod, of a module whose build-id is known */
	enum reel_loss loss; /* 0, or what the recorder counted: then it is lacking */
} lacks[LACKS];

/* Bits by enum lack. */
unsigned lacks_of(const struct patient *patient, const struct reel_module_info *module);
/* The same, those that a debuginfod server may mend. */
unsigned lacks_served(const struct patient *patient, const struct reel_module_info *module);

/*
 * Prints how what is `told` (bits) can be mended, and what the recorder counted. `served` of it may
 * be on a debuginfod server, where nobody has asked it yet.
 */
void lacks_print_cures(const struct session *session, const struct ward *ward, unsigned told,
		       unsigned served, FILE *file);

#endif
