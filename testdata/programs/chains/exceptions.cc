/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions in flight:
 *
 *   mode_exception -> catcher -> thrown_one -> thrown_two -> thrown_three -> thrower -> __cxa_throw
 * …
 *
 * thrown_two has an object to destroy on the way (a cleanup's landing pad, _Unwind_Resume),
 * thrown_three a handler of another type, catcher the handler.
 */
#include "chains.h"

#ifdef __cpp_exceptions

#include <stdexcept>

NOINLINE void destroy_work(uint64_t value)
{
	sink = spin(1000, value);
}

struct Destroyed {
	explicit Destroyed(uint64_t value) : value_(value)
	{
	}
	NOINLINE ~Destroyed()
	{
		destroy_work(value_);
		sink = sink + 1;
	}
	uint64_t value_;
};

NOINLINE uint64_t thrower(uint64_t value)
{
	if (value != 1)
		throw std::out_of_range("thrown");
	return value;
}

NOINLINE uint64_t thrown_three(uint64_t value)
{
	try {
		value = thrower(value);
	} catch (const std::bad_alloc &) {
		value = 3;
	}
	return value + 3;
}

NOINLINE uint64_t thrown_two(uint64_t value)
{
	Destroyed destroyed(value);

	return thrown_three(value) + destroyed.value_;
}

NOINLINE uint64_t thrown_one(uint64_t value)
{
	volatile uint64_t words[32];

	words[value & 31] = value;
	value = thrown_two(value);
	return value + words[value & 31];
}

NOINLINE void catch_work(uint64_t value)
{
	sink = spin(1000, value);
}

NOINLINE uint64_t catcher(uint64_t value)
{
	try {
		value = thrown_one(value);
	} catch (const std::logic_error &error) {
		catch_work(value);
		value = static_cast<uint64_t>(error.what()[0]);
	}
	return value + 2;
}

int mode_exception(double seconds, char **)
{
	while (cpu_seconds() < seconds) {
		for (int i = 0; i < 100; i++)
			sink = catcher(sink | 2);
	}
	return 0;
}

#endif
