/* SPDX-License-Identifier: Apache-2.0 */
/* Works 60 % of its time for kind 1, 30 % for kind 20, and 10 % for kind -300. */
volatile unsigned long sink;

__attribute__((noinline)) void work(int kind, int percent)
{
	for (int i = 0; i < percent * 50000; i++)
		sink += (unsigned long)kind;
}

int main(void)
{
	for (int i = 0; i < 100; i++) {
		work(1, 60);
		work(20, 30);
		work(-300, 10);
	}
}
