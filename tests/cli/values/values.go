// SPDX-License-Identifier: Apache-2.0
// Values of many types, for test-values.py: strings, slices, maps, interfaces, structures in registers.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type Color uint8

const (
	Red   Color = 0
	Green Color = 7
)

type Pair struct {
	A int16
	B uint64
}

type Request struct {
	Length int32
	Name   string
	Pair   Pair
	Ratio  float64
	Sizes  [5]uint16
	Next   *Request
	Tags   []string
	Any    interface{}
}

type Summer interface{ Sum(from uint64) uint64 }

//go:noinline
func (request *Request) Sum(from uint64) uint64 {
	total := from
	for i := uint64(0); i < 20000; i++ {
		total = total*31 + i ^ uint64(request.Length)
	}
	return total
}

//go:noinline
func measure(text string, data []byte, letter rune, color Color, pair Pair, ratio float64, flag bool) (total uint64) {
	for i := 0; i < 200; i++ {
		for _, c := range data {
			total = total*33 + uint64(c)
		}
		for _, c := range text {
			total = total*33 + uint64(c) ^ uint64(letter)
		}
	}
	if flag {
		total += uint64(ratio) + uint64(color) + pair.B
	}
	return total
}

//go:noinline
func visit(depth int, request *Request, summer Summer, then func(uint64) uint64) uint64 {
	if depth > 0 {
		return visit(depth-1, request, summer, then) + uint64(depth)
	}
	return then(summer.Sum(uint64(request.Pair.A)))
}

func byLength(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

//go:noinline
func serve(request Request, words []string, counts map[string]int, depth int) uint64 {
	total := visit(depth, &request, &request, func(x uint64) uint64 {
		return x + measure(request.Name, []byte("bytes of it"), 'ß', Green, request.Pair, request.Ratio, depth > 1)
	})
	sorted := append([]string(nil), words...)
	sort.Slice(sorted, func(i, j int) bool { return byLength(sorted[i], sorted[j]) })
	for _, word := range sorted {
		counts[strings.ToUpper(word)] += len(word)
	}
	return total
}

func main() {
	words := strings.Fields("some words that are sorted by length each time and then counted in upper case for want of a better task")
	first := &Request{Length: -12, Name: "first", Pair: Pair{-3, 1 << 40}, Ratio: 0.25, Sizes: [5]uint16{1, 2, 3, 4, 5}}
	counts := map[string]int{}
	for round := 0; ; round++ {
		second := Request{Length: 1234567, Name: fmt.Sprintf("second %d", round), Pair: Pair{4, uint64(round)}, Ratio: 1.5, Next: first, Tags: words, Any: round}
		if serve(second, words, counts, 3) == 0 {
			os.Exit(1)
		}
	}
}
