// SPDX-License-Identifier: Apache-2.0
// Values of many types, for test-values.py: classes, references, texts, templates and lambdas.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

enum class Color : unsigned char { red, green = 7 };
struct Base {
	virtual ~Base() = default;
	virtual uint64_t sum(uint64_t from) const = 0;
	int id_ = 3;
};
union Either {
	float ratio;
	uint32_t bits;
};
struct Request : Base {
	int length;
	std::string name;
	std::pair<short, uint64_t> pair;
	double ratio;
	unsigned low : 3, high : 5;
	Either either;
	uint16_t sizes[2][3];
	const Request *next;
	int Request::*member = &Request::length;

	Request(int length, std::string name, const Request *next)
		: length(length), name(std::move(name)), pair(-3, 1ull << 40), ratio(1.5), low(5), high(17), either{ 0.5f },
		  sizes{ { 1, 2, 3 }, { 4, 5, 6 } }, next(next)
	{
	}
	__attribute__((noinline)) uint64_t sum(uint64_t from) const override
	{
		uint64_t total = from;
		for (volatile unsigned i = 0; i < 20000; i++)
			total = total * 31 + (i ^ (unsigned)length);
		return total;
	}
};

__attribute__((noinline)) uint64_t measure(const std::string &text, std::string copy, std::string_view view, Color color, bool flag,
					   double ratio, long double wide, __int128 big, Request &&request)
{
	uint64_t total = (uint64_t)color + flag + (uint64_t)ratio + (uint64_t)wide + (uint64_t)big + request.low;
	for (volatile int i = 0; i < 300; i++) {
		for (char c : text)
			total = total * 33 + (unsigned char)c;
		for (char c : view)
			total = total * 33 + (unsigned char)c + copy.size();
	}
	return total;
}

template <typename T, int N> __attribute__((noinline)) uint64_t visit(int depth, const Base &base, T then)
{
	if (depth > N)
		return visit<T, N>(depth - 1, base, then) + 1;
	return then(base.sum(3)) + N;
}

static inline uint64_t tail(const Request &request, int depth)
{
	using function = uint64_t (*)(uint64_t);
	return visit<function, 1>(depth, request, [](uint64_t x) { return x ^ 5; });
}

__attribute__((noinline)) uint64_t serve(const Request &request, const std::vector<int> &numbers, std::map<std::string, int> &counts)
{
	auto then = [&](uint64_t x) {
		return x + measure(request.name, request.name + "!", "a view", Color::green, request.low > 1, request.ratio, 2.5L, -5, Request(9, "moved", nullptr));
	};
	uint64_t total = visit<decltype(then), 0>(3, request, then);
	auto sorted = numbers;
	std::sort(sorted.begin(), sorted.end(), [](int a, int b) { return a % 1000 < b % 1000; });
	counts[request.name] += sorted[0];
	return total + std::accumulate(sorted.begin(), sorted.end(), 0u) + tail(request, 4);
}

int main()
{
	std::vector<int> numbers(1000);
	std::map<std::string, int> counts;
	Request first(-12, "first", nullptr);
	uint64_t total = 0;
	for (int round = 0;; round++) {
		Request second(1234567, "the second, with a longer name " + std::to_string(round % 50), &first);
		for (size_t i = 0; i < numbers.size(); i++)
			numbers[i] = (int)((i * 7919 + total) % 10007);
		total += serve(second, numbers, counts);
	}
}
