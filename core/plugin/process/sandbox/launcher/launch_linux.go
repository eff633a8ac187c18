//go:build linux && (amd64 || arm64)

package launcher

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall lacks. They are the same on both architectures.
const (
	sysLandlockRestrictSelf = 446
	sysCloseRange           = 436

	prSetPdeathsig  = 1
	prSetNoNewPrivs = 38
	prCapAmbient    = 47
	prAmbientClear  = 4

	capVersion3       = 0x20080522
	closeRangeCloexec = 4
	seccompSetFilter  = 1
	accessRead        = 4
	pollHangUp        = 0x10
	oPath             = 0x200000
	atEmptyPath       = 0x1000
	sigKill           = 9
	filterBytes       = 8 // of one instruction
)

// control is the descriptor of the socket to the host.
const control = 3

// exitFailed is the exit status of a launcher that couldn't start the program; the host
// reads the reason from the socket.
const exitFailed = 126

func init() {
	if v, ok := syscall.Getenv(Variable); ok && v == Value {
		launch()
	}
}

// launch confines the process and becomes the program. It doesn't return.
//
// Everything here is done by raw system calls on the main thread, to which an init is
// bound. Settings for this thread only are enough: exec ends the others.
func launch() {
	var s Spec
	check(StepHost, prctl(prSetPdeathsig, sigKill))
	if !receive(&s) {
		fail(Failure{Step: StepSpec, Errno: uint32(syscall.EINVAL)})
	}
	if s.Room.Root != "" {
		s.rule()
	}
	// Another user may have no access to the folders above the program.
	program, err := syscall.Open(s.Path, oPath|syscall.O_CLOEXEC, 0)
	checkError(StepExec, 0, err)
	if s.Dir != "" {
		checkError(StepExec, 0, syscall.Chdir(s.Dir))
	}
	syscall.Umask(0o077)
	s.become()
	s.bind()
	for i, path := range s.Access {
		checkError(StepAccess, i, syscall.Access(path, accessRead))
	}
	s.forget()
	s.exec(program)
}

// receive reads a spec: its size, then that many bytes.
func receive(s *Spec) bool {
	var head [4]byte
	if !readFull(head[:]) {
		return false
	}
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16 | int(head[3])<<24
	if size > maxSpec {
		return false
	}
	body := make([]byte, size)
	return readFull(body) && s.decode(body)
}

func readFull(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(control, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// become gives up the user, its groups and every capability.
func (s *Spec) become() {
	if s.User != 0 {
		id := uintptr(s.User)
		// The wrappers of package syscall would do this on all threads.
		check(StepUser, call(syscall.SYS_SETGROUPS, 0, 0, 0))
		check(StepUser, call(syscall.SYS_SETRESGID, id, id, id))
		check(StepUser, call(syscall.SYS_SETRESUID, id, id, id))
	}
	_ = prctl(prCapAmbient, prAmbientClear) // kernels before 4.3 have none
	header, none := [2]uint32{capVersion3, 0}, [6]uint32{}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	check(StepUser, errno)
}

// bind makes the kernel end this process when the host ends. When the process became
// another user's, it lost the binding that the host had made. If the host died meanwhile,
// the socket is closed.
func (s *Spec) bind() {
	check(StepHost, prctl(prSetPdeathsig, sigKill))
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: control}
	var now syscall.Timespec
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL,
		uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	check(StepHost, errno)
	if poll.revents&pollHangUp != 0 {
		syscall.Exit(exitFailed)
	}
}

// forget gives up rights that no program gets back.
func (s *Spec) forget() {
	check(StepLandlock, prctl(prSetNoNewPrivs, 1))
	if s.Ruleset != 0 {
		check(StepLandlock, call(sysLandlockRestrictSelf, uintptr(s.Ruleset), 0, 0))
	}
	for i := 0; i+1 < len(s.Limits); i += 2 {
		limit := [2]uint64{s.Limits[i+1], s.Limits[i+1]}
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64,
			0, uintptr(s.Limits[i]), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		check(StepLimits, errno)
	}
	closeOnExec(uintptr(s.Keep))
	if s.Filter == "" {
		return
	}
	filter := []byte(s.Filter)
	program := struct {
		length uint16
		filter *byte
	}{uint16(len(filter) / filterBytes), &filter[0]}
	_, _, errno := syscall.RawSyscall(sysSeccomp, seccompSetFilter, 0, uintptr(unsafe.Pointer(&program)))
	check(StepSeccomp, errno)
}

// closeOnExec keeps every descriptor but the standard ones and one from the
// program, whatever the host itself inherited.
func closeOnExec(keep uintptr) {
	if call(sysCloseRange, control, 1<<32-1, closeRangeCloexec) != 0 { // before Linux 5.11
		for fd := uintptr(control); fd < 1024; fd++ {
			_ = call(syscall.SYS_FCNTL, fd, syscall.F_SETFD, syscall.FD_CLOEXEC)
		}
	}
	if keep != 0 {
		_ = call(syscall.SYS_FCNTL, keep, syscall.F_SETFD, 0)
	}
}

// exec becomes the program: by its path, so that scripts and relative library paths work,
// or by the descriptor, if the path can't be reached.
func (s *Spec) exec(program int) {
	err := syscall.Exec(s.Path, s.Args, s.Env)
	if err == syscall.EACCES { //nolint:errorlint // as it is; package errors would be one import more
		if again := execAt(program, s.Args, s.Env); again != syscall.ENOENT { //nolint:errorlint // a script, whose interpreter couldn't read it
			err = again
		}
	}
	checkError(StepExec, 0, err)
	syscall.Exit(exitFailed)
}

func execAt(program int, args, env []string) error {
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	envv, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	var empty byte
	_, _, errno := syscall.RawSyscall6(sysExecveat, uintptr(program), uintptr(unsafe.Pointer(&empty)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), atEmptyPath, 0)
	return errno
}

// fail reports a failure and ends.
func fail(f Failure) {
	b := f.encode()
	_, _ = syscall.Write(control, b[:])
	syscall.Exit(exitFailed)
}

func check(step Step, errno syscall.Errno) {
	if errno != 0 {
		fail(Failure{Step: step, Errno: uint32(errno)})
	}
}

func checkError(step Step, item int, err error) {
	if err == nil {
		return
	}
	errno, ok := err.(syscall.Errno) //nolint:errorlint // package errors would be one import more
	if !ok {
		errno = syscall.EINVAL
	}
	fail(Failure{Step: step, Errno: uint32(errno), Item: uint32(item)})
}

func call(number, a, b, c uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall(number, a, b, c)
	return errno
}

func prctl(option, a uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, a, 0, 0, 0, 0)
	return errno
}
