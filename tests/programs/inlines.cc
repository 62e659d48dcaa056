// SPDX-License-Identifier: Apache-2.0
// Functions of every kind that debug information describes in its own way: inlined four deep,
// templates, static ones, lambdas, local classes, nested and anonymous namespaces, constructors,
// cold parts, nested calls on one line.  tests/names/test-symbols.sh asks three symbolizers about
// each of its instructions.

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

static volatile int sink;

namespace outer {
namespace {

INLINE int fourth(int x)
{
	sink += x;
	return x * 7 + sink;
}

INLINE int third(int x)
{
	int y = fourth(x) + 1;
	return fourth(y) ^ fourth(y + 1);
}

} // namespace

namespace inner {

inline int second(int x)
{
	return third(x) + third(x + 1);
}

struct Shape {
	virtual ~Shape()
	{
		sink = 1;
	}
	virtual int area() const = 0;
};

struct Square : Shape {
	int side;
	explicit Square(int s) : side(s)
	{
		sink += second(s);
	}
	int area() const override
	{
		return second(side) * side;
	}
};

} // namespace inner

INLINE int first(int x)
{
	if (x & 1)
		return inner::second(x);
	return inner::second(x) - fourth(x);
}

} // namespace outer

template <typename T, int N> struct Repeat {
	T value;

	INLINE T once(T x) const
	{
		return outer::first(x) + value;
	}

	T all(T x) const
	{
		T sum = 0;
		for (int i = 0; i < N; i++)
			sum += once(x + i);
		return sum;
	}
};

template <typename F> static NOINLINE int apply(F f, int x)
{
	return f(x) + f(x + 1);
}

static int helper(int x)
{
	return outer::first(x) + 1;
}

static NOINLINE int cold_path(int x)
{
	if (__builtin_expect(x == -12345, 0)) {
		sink = outer::first(x);
		throw std::runtime_error("cold " + std::to_string(x));
	}
	return helper(x) + helper(x + 2);
}

extern "C" NOINLINE int plain_c(int x)
{
	struct Local {
		int v;
		INLINE int get() const
		{
			return outer::first(v);
		}
	} local = { x };

	return local.get() + Local{ x + 1 }.get();
}

static int recursive(int n)
{
	return n <= 0 ? helper(n) : recursive(n - 1) + outer::first(n);
}

NOINLINE int sorted(std::vector<int> values)
{
	std::sort(values.begin(), values.end(), [](int a, int b) {
		auto key = [](int v) { return outer::first(v); };
		return key(a) < key(b);
	});
	return values.empty() ? 0 : values.front();
}

int main(int argc, char **argv)
{
	Repeat<int, 3> three{ argc };
	Repeat<long, 2> two{ argc };
	outer::inner::Square square(argc);
	int result = 0;

	result += three.all(argc) + (int)two.all(argc);
	result += apply([argc](int x) { return outer::first(x) + argc; }, argc);
	result += apply([&](int x) { return result + helper(x); }, argc);
	try {
		result += cold_path(argc);
	} catch (const std::exception &e) {
		result += (int)std::string(e.what()).size();
	}
	result += plain_c(argc) + recursive(argc) + square.area();
	result += sorted(std::vector<int>(argv ? 5 : 6, argc));
	std::printf("%d\n", result);
	return 0;
}
