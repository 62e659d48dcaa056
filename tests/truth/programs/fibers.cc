// SPDX-License-Identifier: Apache-2.0
// fibers SECONDS: a fiber of boost-context that sorts, and switches back to main after each round.
#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace ctx = boost::context;

__attribute__((noinline)) static void sort(std::vector<int> &values)
{
	for (int &value : values)
		value = rand();
	std::sort(values.begin(), values.end());
}

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 2);
	ctx::fiber fiber([end](ctx::fiber &&back) {
		std::vector<int> values(500);
		while (time(nullptr) < end) {
			sort(values);
			back = std::move(back).resume();
		}
		return std::move(back);
	});

	while (fiber)
		fiber = std::move(fiber).resume();
	return 0;
}
