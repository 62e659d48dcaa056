/* SPDX-License-Identifier: Apache-2.0 */
/* A C name that looks like Ada's. */
void work__bits__count(void);

void work__bits__count(void)
{
}
