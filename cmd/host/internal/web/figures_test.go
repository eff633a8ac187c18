//go:build bench

package web

import (
	"net/http"
	"os"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestFigures measures pages of a store with 10,000 runs: the list with 50 rows, the overview,
// which reads 1,000, and a run.
func TestFigures(t *testing.T) {
	s := newSite(t)
	for range 10_000 {
		r := s.begin("contact")
		s.end(r, "passed")
	}
	_, ended := s.demo()
	page := func(target string) func() {
		return func() {
			if a := s.get(target); a.StatusCode != http.StatusOK {
				t.Fatal(a.Status)
			}
		}
	}
	for i, figure := range coretest.Interleave(21, 10, page("/runs"), page("/runs/"+ended), page("/")) {
		what := []string{"web page of 50 runs, p50", "web page of a run, p50", "web overview of 1,000 runs, p50"}[i]
		coretest.Figure{Name: what, Value: figure.Micros(0.5), Unit: "µs", Target: 10_000}.Print(os.Stdout)
	}
}
