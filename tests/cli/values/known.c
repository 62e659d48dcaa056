/* SPDX-License-Identifier: Apache-2.0 */
/* Short functions, often sampled while they set up their frames; each parameter always has the value in its name. */
struct pair {
	long a, b;
};
volatile long sink;

__attribute__((noinline)) long leaf(int is_7, long is_8589934592, struct pair is_5_6, double is_half)
{
	return is_7 + is_8589934592 + is_5_6.a + (long)is_half;
}

__attribute__((noinline)) void take(long *number)
{
	sink += *number;
}

__attribute__((noinline)) long addressed(long is_11, long is_minus_9)
{
	take(&is_11);
	take(&is_minus_9);
	return is_11 + is_minus_9;
}

__attribute__((noinline)) long many(int is_1, int is_2, int is_3, int is_4, int is_5, int is_6, int is_7, int is_8)
{
	char text[64];

	text[is_1] = (char)is_8;
	sink += text[1];
	return is_1 + is_2 + is_3 + is_4 + is_5 + is_6 + is_7;
}

int main(void)
{
	struct pair pair = { 5, 6 };

	for (;;) {
		sink += leaf(7, 8589934592, pair, 0.5);
		sink += addressed(11, -9);
		sink += many(1, 2, 3, 4, 5, 6, 7, 8);
	}
}
