package main

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/loop"
)

func Example() {
	main()
	// Output: passed {"guess":6}
}

func TestWrongOptionsAreReported(t *testing.T) {
	if said := improve(&loop.Options{}); !strings.Contains(said, "generator") || !strings.Contains(said, "evaluator") {
		t.Errorf("it says %q", said)
	}
}
