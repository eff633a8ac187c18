//go:build wasip1

// Goguest is a guest in Go for the tests and the figures of metering.
package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// main is what the command does; a reactor is only initialised.
func main() { fmt.Println("done") }

// work does the kind of thing that evaluators do, n times: it parses JSON,
// counts words in a map, sorts, and matches an expression.
//
//go:wasmexport work
func work(n uint32) uint32 {
	var sum uint32
	address := regexp.MustCompile(`[a-z0-9.]+@[a-z0-9]+\.[a-z]{2,}`)
	for range n {
		var doc struct {
			Title string
			Tags  []string
			Parts []map[string]any
		}
		err := json.Unmarshal([]byte(`{"Title":"A report for ann.b@example.org","Tags":["b","c","a"],"Parts":[{"n":1,"x":[1.5,true,null]},{"n":2}]}`), &doc)
		if err != nil {
			panic(err)
		}
		words := map[string]int{}
		for word := range strings.FieldsSeq(strings.Repeat(doc.Title+" ", 20)) {
			words[word]++
		}
		slices.Sort(doc.Tags)
		sum += uint32(len(words)) + uint32(doc.Tags[0][0]) + uint32(len(address.FindString(doc.Title)))
	}
	return sum
}

// spin never returns.
//
//go:wasmexport spin
func spin() uint32 {
	var x uint32
	for {
		x = x*1664525 + 1013904223
		if x == 12345 && len(words) > 0 {
			return x
		}
	}
}

var words []string
