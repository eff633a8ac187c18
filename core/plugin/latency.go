package plugin

import (
	"math"
	"sync"
	"time"
)

// A supervisor remembers how long the calls of each plugin took in the last hour, so that an
// operator sees when a plugin became slow, and whether all of its calls did or only a few.
// This takes 12 KiB per plugin, whatever the number of calls: a column for every two minutes
// has bins whose bounds grow by the fourth root of two, so a percentile is at most 19 % too
// high. The figures aren't stored: they are about this host since it was started.

const (
	latencyStep  = 2 * time.Minute
	latencySteps = 30
	// latencyFirst is the bound of the first row of bins. The bound of each row is twice
	// the bound of the row before; the last row, up to 134 s, also has longer calls.
	latencyFirst = 16 * time.Microsecond
	latencyRows  = 24
	binsOfRow    = 4
)

// Latency is how long the calls of a plugin took in the last hour, in all environments.
type Latency struct {
	// Since is the beginning of the first column.
	Since time.Time `json:"since"`
	// StepSeconds is how long each of Columns is.
	StepSeconds int `json:"step_seconds"`
	// Calls counts the calls that were answered. Calls whose caller gave up aren't counted.
	Calls int64 `json:"calls"`
	// Failed counts the calls that ended with an error, or that got no answer in time.
	Failed int64 `json:"failed"`
	// P50Micros is the median duration of the answered calls, in microseconds; 0 if there are
	// none.
	P50Micros int64 `json:"p50_micros"`
	// P99Micros is the duration within which 99 of 100 answered calls ended, in microseconds.
	P99Micros int64 `json:"p99_micros"`
	// BoundsMicros are the upper bounds of the rows of each column, in microseconds: each bound
	// is twice the previous one. The last row, up to 134 s, also has the calls that took
	// longer.
	BoundsMicros []int64 `json:"bounds_micros"`
	// Columns are the steps of the hour, the oldest first.
	Columns []LatencyColumn `json:"columns"`
}

// LatencyColumn has the calls that ended in one step of a [Latency].
type LatencyColumn struct {
	// Calls counts the answered calls by row.
	Calls []int64 `json:"calls"`
	// Failed counts the other calls.
	Failed int64 `json:"failed"`
	// P50Micros is the median duration of the answered calls, in microseconds; 0 if there are
	// none.
	P50Micros int64 `json:"p50_micros"`
}

// latencies count the calls of a plugin. They are safe for concurrent use.
type latencies struct {
	mu      sync.Mutex
	columns [latencySteps]latencyColumn
}

// latencyColumn has the calls of a step, which counts steps since 1970.
type latencyColumn struct {
	step   int64
	failed int64
	bins   bins
}

// bins count calls by their latency.
type bins [latencyRows * binsOfRow]uint32

// binOf is the bin of a call: the first bin whose bound isn't below the call's duration.
func binOf(took time.Duration) int {
	n := math.Ceil(binsOfRow * math.Log2(float64(max(took, 1))/float64(latencyFirst)))
	return min(max(int(n)+binsOfRow-1, 0), len(bins{})-1)
}

// bound is the upper bound of a bin, in microseconds.
func bound(bin int) int64 {
	return int64(math.Ceil(float64(latencyFirst.Microseconds()) * math.Exp2(float64(bin+1-binsOfRow)/binsOfRow)))
}

// percentile is the bound below which a share of the calls lies; 0 if there are no calls.
func (b *bins) percentile(share float64) int64 {
	total, below := 0.0, 0.0
	for _, n := range b {
		total += float64(n)
	}
	for i, n := range b {
		if below += float64(n); n > 0 && below >= share*total {
			return bound(i)
		}
	}
	return 0
}

func stepOf(t time.Time) int64 { return t.Unix() / int64(latencyStep/time.Second) }

// note counts a call that has ended.
func (l *latencies) note(now time.Time, took time.Duration, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := stepOf(now)
	c := &l.columns[step%latencySteps]
	if c.step != step {
		*c = latencyColumn{step: step}
	}
	if failed {
		c.failed++
		return
	}
	c.bins[binOf(took)]++
}

// read returns the last hour; nil if there was no call in it.
func (l *latencies) read(now time.Time) *Latency {
	l.mu.Lock()
	columns := l.columns
	l.mu.Unlock()
	first := stepOf(now) - latencySteps + 1
	found := &Latency{Since: time.Unix(first*int64(latencyStep/time.Second), 0).UTC(), StepSeconds: int(latencyStep / time.Second), BoundsMicros: []int64{}}
	var all bins
	steps := make([]*latencyColumn, latencySteps)
	for i := range steps {
		steps[i] = &latencyColumn{}
		if c := &columns[(first+int64(i))%latencySteps]; c.step == first+int64(i) {
			steps[i] = c
		}
		found.Failed += steps[i].failed
		for b, n := range steps[i].bins {
			all[b] += n
		}
	}
	low, high := latencyRows, -1 // the rows that have a call
	for b, n := range all {
		if found.Calls += int64(n); n > 0 {
			low, high = min(low, b/binsOfRow), b/binsOfRow
		}
	}
	if found.Calls+found.Failed == 0 {
		return nil
	}
	found.P50Micros, found.P99Micros = all.percentile(.5), all.percentile(.99)
	for row := low; row <= high; row++ {
		found.BoundsMicros = append(found.BoundsMicros, bound(row*binsOfRow+binsOfRow-1))
	}
	for _, c := range steps {
		column := LatencyColumn{Calls: make([]int64, len(found.BoundsMicros)), Failed: c.failed, P50Micros: c.bins.percentile(.5)}
		for i := range column.Calls {
			for b := range binsOfRow {
				column.Calls[i] += int64(c.bins[(low+i)*binsOfRow+b])
			}
		}
		found.Columns = append(found.Columns, column)
	}
	return found
}
