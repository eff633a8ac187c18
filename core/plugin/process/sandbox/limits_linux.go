//go:build amd64 || arm64

package sandbox

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Resource limits of each process.
const (
	// maxFile is the size of the largest file that a plugin may write: scratch
	// space for eight messages of the default cap.
	maxFile = 64 << 20
	// maxOpen is how many descriptors it may have: a call needs none, a proxied
	// connection two, and each of its processes three. A socket holds up to 208 KiB
	// that no limit of its memory counts, and as many again may be on their way in
	// messages: about 110 MiB.
	maxOpen = 256
	// maxStack is the system's usual soft limit, which a program could raise.
	maxStack = 8 << 20
)

// tasks bounds processes and threads together.
func tasks(processes int) int { return TasksPerProcess * processes }

// limits lists the resource limits. RLIMIT_AS isn't among them, since a Go program
// reserves 768 MiB of addresses at its start. The filter refuses the kinds of memory that
// the data limit doesn't count.
func (c *Cell) limits() []uint64 {
	if c.spec.Room != nil {
		return c.roomLimits()
	}
	list := []uint64{
		unix.RLIMIT_DATA, uint64(max(c.spec.MemoryBytes, MinMemory)),
		unix.RLIMIT_STACK, maxStack,
		unix.RLIMIT_FSIZE, maxFile,
		unix.RLIMIT_NOFILE, maxOpen,
		unix.RLIMIT_CORE, 0,
		unix.RLIMIT_MEMLOCK, 0,
		unix.RLIMIT_MSGQUEUE, 0,
	}
	if c.user != 0 || c.ownUserNS { // otherwise it would count the host's own processes
		list = append(list, unix.RLIMIT_NPROC, uint64(tasks(c.spec.Processes)))
	}
	return lowered(list, hardLimit)
}

// lowered lowers each limit of a list to the hard limit of the host itself, above which a
// process can't set its own: a host with fewer descriptors gives its plugins no more.
func lowered(list []uint64, hard func(resource int) uint64) []uint64 {
	for i := 0; i+1 < len(list); i += 2 {
		list[i+1] = min(list[i+1], hard(int(list[i])))
	}
	return list
}

// hardLimit is the host's own, which its child inherits.
func hardLimit(resource int) uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

// lastOfEach keeps the last of the variables of one name, as os/exec does.
func lastOfEach(env []string) []string {
	seen := map[string]bool{}
	var kept []string
	for i := len(env) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(env[i], "=")
		if !seen[name] {
			seen[name] = true
			kept = append(kept, env[i])
		}
	}
	return kept
}
