package coretest

import (
	"os"
	"strings"
	"testing"
)

// Intents are what people ask discover for, from a labelled set such as the one of core/host/operation; fewer of them
// in go test -short.
func Intents(t testing.TB, file string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		_, intent, is := strings.Cut(strings.TrimSpace(line), " | ")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		if n++; n%Cases(4, 1) == 0 {
			list = append(list, intent)
		}
	}
	return list
}
