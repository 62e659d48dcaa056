// SPDX-License-Identifier: Apache-2.0
// Inlined functions without a linkage name: compilers write none for functions that are invisible to other units.
#define INLINE static inline __attribute__((always_inline))

volatile int sink;

namespace outer
{
namespace
{
INLINE int hidden(int x)
{
	sink = x;
	return x * 3 + sink;
}
} // namespace

struct Klass {
	static __attribute__((always_inline)) int method(int x)
	{
		sink += x;
		return hidden(x) + sink;
	}
};

INLINE int fixed(int x)
{
	sink ^= x;
	return Klass::method(x) + sink;
}

__attribute__((noinline)) int top(int x)
{
	return fixed(x);
}
} // namespace outer

int main(int argc, char **)
{
	return outer::top(argc);
}
