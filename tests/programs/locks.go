// SPDX-License-Identifier: Apache-2.0

// Goroutines, each on a thread of its own, that wait for a lock for two seconds: half of them for a
// sync.Mutex, half in futex(2) for a word with the holder's tid 8 bytes after it, where glibc's
// mutexes have their owner.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	futexWait = 128
	futexWake = 129
)

var mutex sync.Mutex

var word struct {
	locked, unused, tid int32
}

func futex(operation uintptr) {
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&word.locked)), operation, 1, 0, 0, 0)
}

func lockWord() {
	for !atomic.CompareAndSwapInt32(&word.locked, 0, 1) {
		futex(futexWait)
	}
	word.tid = int32(syscall.Gettid())
}

func unlockWord() {
	atomic.StoreInt32(&word.locked, 0)
	futex(futexWake)
}

func main() {
	var threads sync.WaitGroup
	end := time.Now().Add(2 * time.Second)

	for i := 0; i < 6; i++ {
		lock, unlock := mutex.Lock, mutex.Unlock
		if i%2 == 1 {
			lock, unlock = lockWord, unlockWord
		}
		threads.Add(1)
		go func() {
			runtime.LockOSThread()
			for time.Now().Before(end) {
				lock()
				time.Sleep(15 * time.Millisecond)
				unlock()
				time.Sleep(2 * time.Millisecond)
			}
			threads.Done()
		}()
	}
	threads.Wait()
}
