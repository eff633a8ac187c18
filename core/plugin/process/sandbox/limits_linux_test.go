//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLimits_AreNeverAboveTheHosts(t *testing.T) {
	c := &Cell{spec: Spec{MemoryBytes: 256 << 20, Processes: 1}}
	for name, host := range map[string]map[int]uint64{
		"none":                 {},
		"few descriptors":      {unix.RLIMIT_NOFILE: 200},
		"very few descriptors": {unix.RLIMIT_NOFILE: 20},
		"as many":              {unix.RLIMIT_NOFILE: 256},
		"more":                 {unix.RLIMIT_NOFILE: 1024},
		"a small stack":        {unix.RLIMIT_STACK: 1 << 20},
		"small files":          {unix.RLIMIT_FSIZE: 1 << 20},
		"little data":          {unix.RLIMIT_DATA: 200 << 20},
		"all of them":          {unix.RLIMIT_NOFILE: 64, unix.RLIMIT_STACK: 4 << 20, unix.RLIMIT_DATA: 160 << 20, unix.RLIMIT_FSIZE: 4096},
	} {
		hard := func(resource int) uint64 {
			if limit, ok := host[resource]; ok {
				return limit
			}
			return unix.RLIM_INFINITY
		}
		wanted := c.limits()
		got := lowered(slices.Clone(wanted), hard)
		for i := 0; i+1 < len(got); i += 2 {
			if limit := hard(int(got[i])); got[i] != wanted[i] || got[i+1] > limit || got[i+1] != min(wanted[i+1], limit) {
				t.Errorf("%s: resource %d is %d, wanted %d, the host's is %d", name, got[i], got[i+1], wanted[i+1], limit)
			}
		}
	}
}
