// SPDX-License-Identifier: Apache-2.0
// coroutine SECONDS: a coroutine of boost that sorts, throws and catches, and yields after each round.
#include <algorithm>
#include <boost/coroutine/all.hpp>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <vector>

typedef boost::coroutines::asymmetric_coroutine<int> coroutine;

__attribute__((noinline)) static int sort(std::vector<int> &values)
{
	for (int &value : values)
		value = rand();
	std::sort(values.begin(), values.end());
	throw std::runtime_error("sorted");
}

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 2);
	coroutine::pull_type rounds([end](coroutine::push_type &yield) {
		std::vector<int> values(500);

		while (time(nullptr) < end) {
			try {
				sort(values);
			} catch (const std::runtime_error &) {
				yield(values[0]);
			}
		}
	});

	while (rounds)
		rounds();
	return 0;
}
