/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload of the demo and of testdata/aarch64/orders.reel: a C++ program
 * that uses the CPU in four ways, with these call chains.
 *
 *   run -> checkout -> [total -> price -> tax]      three functions inlined into each other
 *   run -> rank -> qsort (libc) -> by_value         a callback from a library
 *   run -> walk -> walk -> … -> walk (48 deep)      recursion
 *   run -> pack -> checksum                         a leaf function in a hot loop
 *
 * Usage: orders [SECONDS]   of CPU time, default 2
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE	 inline __attribute__((always_inline))

namespace shop
{

enum { ORDERS = 512, DEPTH = 48 };

struct Order {
	uint32_t id;
	uint32_t items;
	double value;
};

static Order orders[ORDERS];
static volatile uint64_t sink;

class Checkout
{
      public:
	explicit Checkout(double rate) : rate_(rate)
	{
	}

	NOINLINE double checkout(const Order *list, int count)
	{
		double sum = 0;

		for (int round = 0; round < 24; round++)
			for (int i = 0; i < count; i++)
				sum += total(list[i]);
		return sum;
	}

      private:
	INLINE double tax(double amount) const
	{
		double owed = amount;

		for (int i = 0; i < 8; i++)
			owed = owed * rate_ + amount / (owed + 1);
		return owed;
	}

	INLINE double price(const Order &order) const
	{
		return order.value + tax(order.value) * order.items;
	}

	INLINE double total(const Order &order) const
	{
		return price(order) + order.id;
	}

	double rate_;
};

static int by_value(const void *a, const void *b)
{
	const Order *left = static_cast<const Order *>(a), *right = static_cast<const Order *>(b);
	uint32_t mix = 0;

	for (int i = 0; i < 48; i++)
		mix = mix * 31 + (left->id ^ right->items) + (mix >> 7);
	sink = mix;
	return (left->value > right->value) - (left->value < right->value);
}

NOINLINE void rank(uint64_t seed)
{
	for (Order &order : orders) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		order = Order{ static_cast<uint32_t>(seed >> 40), static_cast<uint32_t>(seed >> 60),
			       static_cast<double>(seed >> 33) };
	}
	qsort(orders, ORDERS, sizeof(*orders), by_value);
	sink = orders[0].id; /* or the call would be a jump, and rank in no chain */
}

/* The store after the call keeps compilers from turning it into a loop. */
NOINLINE uint64_t walk(int depth, uint64_t value)
{
	if (!depth) {
		for (int i = 0; i < 250000; i++)
			value = value * 2862933555777941757u + 3037000493u;
		return value;
	}
	value = walk(depth - 1, value ^ static_cast<uint64_t>(depth));
	sink = value;
	return value;
}

NOINLINE uint64_t checksum(const uint8_t *bytes, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
	return sum;
}

NOINLINE uint64_t pack()
{
	uint64_t sum = 0;

	for (int i = 0; i < 400; i++)
		sum += checksum(reinterpret_cast<const uint8_t *>(orders), sizeof(orders));
	return sum;
}

static double cpu_seconds()
{
	return static_cast<double>(clock()) / CLOCKS_PER_SEC;
}

NOINLINE int run(double seconds)
{
	Checkout till(0.19);
	uint64_t rounds = 0;

	while (cpu_seconds() < seconds) {
		rank(rounds);
		sink = static_cast<uint64_t>(till.checkout(orders, ORDERS));
		sink = walk(DEPTH, rounds);
		sink = pack();
		rounds++;
	}
	return rounds > 0;
}

} // namespace shop

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;

	return shop::run(seconds) ? 0 : 1;
}
