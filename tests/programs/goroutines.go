// Goroutines on memory that others have left full: what is above their outermost frames is not 0.
package main

import (
	"runtime"
	"sync"
)

var kept [][]byte

//go:noinline
func fill() {
	kept = make([][]byte, 20000)
	for i := range kept {
		kept[i] = make([]byte, 2048)
		for j := range kept[i] {
			kept[i][j] = 0x33
		}
	}
}

//go:noinline
func spin() int {
	s := 0
	for i := 0; i < 1000000; i++ {
		s += i % 7
	}
	return s
}

//go:noinline
func work(group *sync.WaitGroup) {
	spin()
	group.Done()
}

func main() {
	fill()
	kept = nil
	runtime.GC()
	for i := 0; i < 20; i++ {
		var group sync.WaitGroup

		group.Add(100)
		for j := 0; j < 100; j++ {
			go work(&group)
		}
		group.Wait()
	}
}
