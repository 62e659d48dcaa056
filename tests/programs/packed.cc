// SPDX-License-Identifier: Apache-2.0
// For tests/rewrite/test-pack-live.sh: functions inlined into others, the C++ library, and a secret on the stack while it runs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static inline unsigned mix(unsigned x)
{
	return x * 2654435761u >> 7;
}

static inline unsigned mix_twice(unsigned x)
{
	return mix(x) + mix(x + 1);
}

extern "C" __attribute__((noinline)) unsigned hot_leaf(const unsigned *values, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += mix_twice(values[i] ^ sum);
	return sum;
}

__attribute__((noinline)) static unsigned hot_sort(std::vector<unsigned> &values)
{
	std::sort(values.begin(), values.end(), [](unsigned a, unsigned b) { return mix(a) < mix(b); });
	return hot_leaf(values.data(), values.size());
}

int main()
{
	volatile uint64_t secret = 0x5ec4e7b10c0de5a1;
	std::map<std::string, unsigned> counts;
	std::vector<unsigned> values(4000);
	unsigned sum = 0;

	for (unsigned round = 0; round < 600; round++) {
		for (size_t i = 0; i < values.size(); i++)
			values[i] = mix_twice((unsigned)i + round);
		sum += hot_sort(values);
		for (size_t i = 0; i < 400; i++)
			counts[std::to_string(values[i] % 997)] += sum;
		sum += hot_leaf(values.data(), values.size());
	}
	printf("%u %zu %d\n", sum, counts.size(), (int)(secret >> 60));
	return 0;
}
