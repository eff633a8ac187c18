//go:build linux

package process_test

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
)

// TestProcessorTime_OfAPluginThatSpins after its call grows without end; an honest one's doesn't.
func TestProcessorTime_OfAPluginThatSpins(t *testing.T) {
	const much = 300 * time.Millisecond // of processor time, more than the start of the next takes
	for _, processes := range []int{1, 2} {
		p := self(t, "serve")
		p.Limits.Processes = processes
		honest, i := start(t, process.Options{}, p), start(t, process.Options{}, p)
		try(t, i, "spin", "")
		used := func(i plugin.Instance) time.Duration {
			used, err := i.(plugin.InstanceWithProcessor).ProcessorTime()
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		first, idle := used(i), used(honest)
		for deadline := time.Now().Add(patience); used(i) < first+much; <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d processes: %s, then %s", processes, first, used(i))
			}
		}
		if got := used(honest); got > idle+much/2 {
			t.Errorf("%d processes: an idle one used %s, then %s", processes, idle, got)
		}
	}
}
