/* SPDX-License-Identifier: Apache-2.0 */
/* ends: runs loops in .init and .fini, between crti.S's code and crtn.S's, which have no CFI. */

#define LOOP(section)                                                                              \
	__asm__(".pushsection " section ", \"ax\"\n"                                               \
		"mov $400000000, %ecx\n"                                                           \
		"1: dec %ecx\n"                                                                    \
		"jnz 1b\n"                                                                         \
		".popsection\n")

LOOP(".init");
LOOP(".fini");

int main(void)
{
	return 0;
}
