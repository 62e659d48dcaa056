// SPDX-License-Identifier: Apache-2.0

// inlines [SECONDS]: uses that much CPU time, in inlined functions and others.  Without an argument it prints its own runtime's
// answer for each address on standard input: function, file and line of the innermost one.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

type shape interface{ area() float64 }
type square struct{ side float64 }

func (s square) area() float64 { return s.side * s.side }

func plus(a, b int) int { return a*3 + b }
func twice(i int) int   { return plus(i, i) }

//go:noinline
func spin(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += twice(i) ^ sum<<1
	}
	return
}

func used() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func work(seconds float64) (sum int) {
	for end := used() + seconds; used() < end; {
		words := strings.Fields(strings.Repeat("b a c ", 100))
		sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
		sum += spin(10000) + len(words) + int(shape(square{2}).area())
	}
	return
}

func main() {
	if len(os.Args) > 1 {
		seconds, _ := strconv.ParseFloat(os.Args[1], 64)
		fmt.Println(work(seconds))
		return
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		address, _ := strconv.ParseUint(in.Text(), 16, 64)
		// A return address: the preceding byte is looked up, but in the function that contains the address itself.
		if after := uintptr(address) + 1; runtime.FuncForPC(after) != runtime.FuncForPC(uintptr(address)) {
			fmt.Println("another function")
			continue
		}
		frame, _ := runtime.CallersFrames([]uintptr{uintptr(address) + 1}).Next()
		fmt.Printf("%s %s:%d\n", frame.Function, frame.File, frame.Line)
	}
}
