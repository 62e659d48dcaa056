// Go calls C, which calls Go, and so on, on goroutines and on C's own threads; at each level, Go works a while, and at the last one, C does.
package main

/*
#cgo CFLAGS: -g -O0
#include <pthread.h>

extern int goLevel(int);
static volatile long sink;

static __attribute__((noinline)) void spinC(void)
{
	for (int i = 0; i < 40000; i++)
		sink += i;
}

static __attribute__((noinline)) int viaC(int n)
{
	if (n)
		return goLevel(n - 1) + 1;
	spinC();
	return 0;
}

static void *thread(void *unused)
{
	for (int i = 0; i < 1500; i++)
		goLevel(1);
	return unused;
}

static void run_thread(void)
{
	pthread_t thread_id;

	if (!pthread_create(&thread_id, 0, thread, 0))
		pthread_join(thread_id, 0);
}
*/
import "C"
import "sync"

//export goLevel
func goLevel(n C.int) C.int { return C.int(level(int(n))) }

//go:noinline
func spinGo() int {
	s := 0
	for i := 0; i < 40000; i++ {
		s += i % 7
	}
	return s
}

//go:noinline
func level(n int) int { return spinGo() + int(C.viaC(C.int(n))) }

func main() {
	var group sync.WaitGroup
	for g := 0; g < 2; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 1500; i++ {
				level(3)
			}
		}()
	}
	group.Wait()
	C.run_thread()
}
