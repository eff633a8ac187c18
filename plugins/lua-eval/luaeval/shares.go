package luaeval

import "runtime"

// shares divide the memory of one instance between its scripts.
type shares struct {
	floor  int64 // bytes that each running script may have, whatever the others hold
	shared int64 // bytes that running scripts may have beyond that, all together
	idle   int64 // bytes that prepared scripts may keep between two calls, all together
}

// What the rest of the process takes of its limit on data.
const (
	// ownMemory is what the Go runtime, gRPC, their eight threads and some messages of 8 MiB
	// take: 120 to 130 MiB when measured.
	ownMemory = 128 << 20
	// goMemory is from when on the Go runtime collects its garbage more often, so that the
	// copies of large messages stay within ownMemory.
	goMemory = ownMemory / 2
	// threadMemory is the stack that each thread reserves: a script that runs has one.
	threadMemory = 8 << 20
	// leastFloor is enough for most judgements on outputs of up to 100 KB.
	leastFloor = 2 << 20
)

// memoryShares divides what a limit leaves: an eighth is for scripts that wait, half of the
// rest is guaranteed. It reports false if there is no limit.
func memoryShares(limit int64) (shares, bool) {
	if limit <= 0 {
		return shares{}, false
	}
	running := int64(parallel(limit))
	left := limit - ownMemory - running*threadMemory
	s := shares{idle: max(leastFloor, left/8)}
	left -= s.idle
	s.floor = max(leastFloor, left/2/running)
	s.shared = max(0, left-s.floor*running)
	return s, true
}

// parallel is how many scripts one instance runs at a time: enough to use every processor
// even if some scripts run too long, as far as their threads and floors take no more than
// half of what the limit leaves: 6 with the default of 256 MiB. 0 is no limit.
func parallel(limit int64) int {
	n := max(4, 2*runtime.NumCPU())
	if limit > 0 {
		n = min(n, max(4, int((limit-ownMemory)/(2*(threadMemory+leastFloor)))))
	}
	return n
}
