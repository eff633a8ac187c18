//go:build amd64 || arm64

package sandbox

import (
	"testing"
	"time"
)

func TestProcessorTime(t *testing.T) {
	const rest = " 20 0 11 0 1234 1000000 500"
	for name, tt := range map[string]struct {
		stat string
		want time.Duration
		bad  bool
	}{
		"all four":               {"7 (plugin) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 30 40" + rest, time.Second, false},
		"none":                   {"7 (plugin) S 1 7 7 0 -1 4194560 1 2 3 4 0 0 0 0" + rest, 0, false},
		"a name with spaces":     {"7 (a plugin of two) R 1 7 7 0 -1 0 1 2 3 4 5 0 0 0" + rest, 50 * time.Millisecond, false},
		"a name with brackets":   {"7 (p) S 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6) R 1 7 7 0 -1 0 1 2 3 4 5 5 0 0" + rest, 100 * time.Millisecond, false},
		"a name with lines":      {"7 (p\n\t) R 1 7 7 0 -1 0 1 2 3 4 1 0 0 0" + rest, 10 * time.Millisecond, false},
		"an old process":         {"7 (plugin) S 1 7 7 0 -1 0 1 2 3 4 864000000 0 0 0" + rest, 2400 * time.Hour, false},
		"cut":                    {"7 (plugin) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 30", 0, true},
		"no name":                {"7", 0, true},
		"nothing":                {"", 0, true},
		"a field that is text":   {"7 (plugin) S 1 7 7 0 -1 4194560 1 2 3 4 10 x 30 40" + rest, 0, true},
		"a field that overflows": {"7 (plugin) S 1 7 7 0 -1 4194560 1 2 3 4 99999999999999999999 0 0 0" + rest, 0, true},
	} {
		got, err := processorTime([]byte(tt.stat))
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
