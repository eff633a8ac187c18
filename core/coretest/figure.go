package coretest

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Figure is one measured value and what it has to reach. `make bench` collects
// them into a table.
type Figure struct {
	Name  string
	Value float64
	// Unit is what Value is in: "×" for a ratio, "µs", "calls/s", …
	Unit string
	// Target bounds Value from above, or from below if AtLeast is set. 0 is none.
	Target  float64
	AtLeast bool
	// Note describes what the value was made of, such as both medians of a ratio.
	Note string
}

// Met reports whether the figure reaches its target.
func (f Figure) Met() bool {
	switch {
	case f.Target == 0:
		return true
	case f.AtLeast:
		return f.Value >= f.Target
	}
	return f.Value <= f.Target
}

// Print writes the figure as a row of the table.
func (f Figure) Print(w io.Writer) {
	target, met := "–", ""
	if f.Target != 0 {
		sign := "≤"
		if f.AtLeast {
			sign = "≥"
		}
		target = fmt.Sprintf("%s %s %s", sign, number(f.Target), f.Unit)
		met = map[bool]string{true: "met", false: "MISSED"}[f.Met()]
	}
	fmt.Fprintf(w, "figure | %s | %s %s | %s | %s | %s\n", f.Name, number(f.Value), f.Unit, target, met, f.Note)
}

func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Interleave times functions in turn, A B A B …, so that a machine whose speed
// drifts slows all of them alike. Each turn calls a function calls times; the
// samples of a function are the mean durations of its turns. One turn of each
// is run first and not counted.
func Interleave(rounds, calls int, fns ...func()) []Samples {
	out := make([]Samples, len(fns))
	for round := range rounds + 1 {
		for i, fn := range fns {
			start := time.Now()
			for range calls {
				fn()
			}
			if took := time.Since(start); round > 0 {
				out[i] = append(out[i], took/time.Duration(calls))
			}
		}
	}
	return out
}

// SharedSyncs is the target for the rate of 64 writers over the rate of one: 20, where a sync takes 1 ms or
// longer. Where it is faster there is little to share, so that there is no target.
func SharedSyncs(sync Samples) float64 {
	if sync.At(0.5) < time.Millisecond {
		return 0
	}
	return 20
}

// Samples are durations of the same thing.
type Samples []time.Duration

// At returns the duration at a quantile of 0 to 1: 0.5 is the median.
func (s Samples) At(quantile float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(quantile*float64(len(sorted)-1))]
}

// Micros is the duration at a quantile in microseconds.
func (s Samples) Micros(quantile float64) float64 {
	return float64(s.At(quantile).Nanoseconds()) / 1e3
}

// Ratio is the figure of a over b by their medians.
func Ratio(name string, a, b Samples, target float64) Figure {
	return Figure{
		Name: name, Value: a.Micros(0.5) / b.Micros(0.5), Unit: "×", Target: target,
		Note: fmt.Sprintf("%.1f µs (p10 %.1f) over %.1f µs (p10 %.1f)", a.Micros(0.5), a.Micros(0.1), b.Micros(0.5), b.Micros(0.1)),
	}
}
