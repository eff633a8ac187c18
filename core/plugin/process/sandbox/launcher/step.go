package launcher

// Step is a step of the launcher, by which it reports a failure.
type Step uint32

// The steps, in their order.
const (
	StepSpec     Step = iota + 1 // read the spec
	StepUser                     // become another user, without capabilities
	StepHost                     // end with the host
	StepAccess                   // read the granted paths
	StepLandlock                 // give up the rest of the file system
	StepLimits                   // limit memory, files and processes
	StepSeccomp                  // give up most system calls
	StepExec                     // become the program
	StepRoom                     // make a file system of its own
	StepMount                    // mount a path of it
	StepNetwork                  // make the loopback device usable
	StepFork                     // start the second launcher
)

// String names what failed, to follow "can't".
func (s Step) String() string {
	names := [...]string{
		StepSpec: "read its orders", StepUser: "become its own user", StepHost: "be bound to the host",
		StepAccess: "read a granted path", StepLandlock: "apply Landlock", StepLimits: "set resource limits",
		StepSeccomp: "apply seccomp", StepExec: "run the program",
		StepRoom: "make its own file system", StepMount: "mount a path", StepNetwork: "make the loopback device usable",
		StepFork: "start its second process",
	}
	if int(s) < len(names) && names[s] != "" {
		return names[s]
	}
	return "do an unknown step"
}

// Failure is what the launcher reports before it exits.
type Failure struct {
	Step Step
	// Errno is the kernel's error number.
	Errno uint32
	// Item is the index of the path, in StepAccess and StepMount.
	Item uint32
}

// FailureBytes is the length of an encoded failure.
const FailureBytes = 12

// encode returns three little-endian numbers.
func (f Failure) encode() [FailureBytes]byte {
	var b [FailureBytes]byte
	for i, n := range [...]uint32{uint32(f.Step), f.Errno, f.Item} {
		for j := range 4 {
			b[4*i+j] = byte(n >> (8 * j))
		}
	}
	return b
}

// DecodeFailure reads what a launcher reported.
func DecodeFailure(b [FailureBytes]byte) Failure {
	var n [3]uint32
	for i := range n {
		for j := range 4 {
			n[i] |= uint32(b[4*i+j]) << (8 * j)
		}
	}
	return Failure{Step: Step(n[0]), Errno: n[1], Item: n[2]}
}
