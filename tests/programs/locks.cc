// SPDX-License-Identifier: Apache-2.0
// Threads that wait for two mutexes of the C++ library: inside of an array in a namespace, and a
// static variable of an inline function. With -DLIBRARY or -DPROGRAM only that part.
#include <chrono>
#include <mutex>
#include <thread>

extern "C" void work(bool is_book);

#ifndef PROGRAM
namespace orders
{
struct book {
	long pad;
	std::mutex mutex;
};

static book books[3];

inline std::mutex &desk()
{
	static std::mutex mutex;

	return mutex;
}
} // namespace orders

void work(bool is_book)
{
	for (int i = 0; i < 40; i++) {
		std::lock_guard<std::mutex> guard(is_book ? orders::books[2].mutex : orders::desk());

		std::this_thread::sleep_for(std::chrono::milliseconds(15));
	}
}
#endif

#ifndef LIBRARY
int main()
{
	std::thread a(work, false), b(work, false), c(work, true), d(work, true);

	a.join();
	b.join();
	c.join();
	d.join();
}
#endif
