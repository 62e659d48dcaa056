/* SPDX-License-Identifier: Apache-2.0 */
/* tcc: run by `tcc -run`, which puts its code into the heap; no headers, for any C library. */
long clock(void);
static volatile long sum;

void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
}

int fib(int n)
{
	leaf(10);
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	while (clock() < 2000000)
		sum += fib(15);
	return 0;
}
