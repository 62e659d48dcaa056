// SPDX-License-Identifier: Apache-2.0

// work: goroutines that sort, allocate, format and wait for each other, for two seconds.
package main

import (
	"fmt"
	"sort"
	"time"
)

func work(seed int, done chan<- int) {
	end := time.Now().Add(2 * time.Second)
	sum := 0
	for time.Now().Before(end) {
		counts := map[string]int{}
		for i := 0; i < 3000; i++ {
			seed = seed*1103515245 + 12345
			counts[fmt.Sprintf("%d", seed>>16%997)]++
		}
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		sum += len(keys)
	}
	done <- sum
}

func main() {
	done := make(chan int)
	for i := 0; i < 3; i++ {
		go work(i, done)
	}
	fmt.Println(<-done + <-done + <-done)
}
