//go:build linux && (amd64 || arm64)

package launcher

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall lacks.
const (
	sysMountSetattr = 442

	atRecursive    = 0x8000
	mountReadOnly  = 0x1
	mountNoSUID    = 0x2
	mountNoDev     = 0x4
	prSetDumpable  = 4
	siocSIFFlags   = 0x8914
	interfaceBytes = 40 // of a struct ifreq
)

// status is the descriptor of the pipe on which the first process reports how the program ended.
const status = 4

// ruleset is the descriptor of the second process's Landlock ruleset.
const ruleset = 5

// rule makes the room, starts the second process in it, and is its init: it collects the processes
// that lose their parent, and ends with the program. All others then end, since the kernel ends a
// PID namespace with its first process.
func (s *Spec) rule() {
	syscall.Umask(0)
	s.Room.furnish(int(s.User))
	check(StepNetwork, loopback())
	s.Room.show()
	// No program may look into this process, which has more rights, though it may have the same user.
	check(StepRoom, prctl(prSetDumpable, 0))
	files := []uintptr{0, 1, 2, control}
	if s.Ruleset != 0 {
		files = append(files, ^uintptr(0), ruleset)
	}
	child, err := syscall.ForkExec("/proc/self/exe", []string{"reflectory-launcher"}, &syscall.ProcAttr{
		Env: []string{Variable + "=" + Value}, Files: files,
	})
	checkError(StepFork, 0, err)
	// The host sees the end of the socket once the program runs, and readers of the program's output
	// see its end.
	for _, fd := range []int{0, 1, 2, control} {
		_ = syscall.Close(fd)
	}
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		if pid == child {
			_, _ = syscall.Write(status, []byte{byte(ended), byte(ended >> 8), byte(ended >> 16), byte(ended >> 24)})
		}
		if pid == child || err != nil && err != syscall.EINTR { //nolint:errorlint // package errors would be one import more
			syscall.Exit(0)
		}
	}
}

// furnish mounts the room and makes it the root.
func (r *Room) furnish(user int) {
	const private = syscall.MS_REC | syscall.MS_PRIVATE
	checkError(StepRoom, 0, syscall.Mount("", "/", "", private, ""))
	checkError(StepRoom, 0, syscall.Mount("tmpfs", r.Root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, r.Options))
	checkError(StepRoom, 0, syscall.Chdir(r.Root))
	for i, path := range r.Binds {
		bind(i, path, mountReadOnly|mountNoSUID|mountNoDev)
	}
	for i, path := range r.Devices {
		bind(len(r.Binds)+i, path, mountNoSUID)
	}
	for i := 0; i+1 < len(r.Links); i += 2 {
		parents(r.Links[i][1:])
		checkError(StepRoom, 0, syscall.Symlink(r.Links[i+1], r.Links[i][1:]))
	}
	for i := 0; i+1 < len(r.Files); i += 2 {
		parents(r.Files[i][1:])
		fd, err := syscall.Open(r.Files[i][1:], syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o444)
		checkError(StepRoom, 0, err)
		_, err = syscall.Write(fd, []byte(r.Files[i+1]))
		checkError(StepRoom, 0, err)
		_ = syscall.Close(fd)
	}
	for _, dir := range r.Dirs {
		parents(dir[1:])
		if err := syscall.Mkdir(dir[1:], 0o700); err != syscall.EEXIST { //nolint:errorlint // package errors would be one import more
			checkError(StepRoom, 0, err)
		}
		if user != 0 {
			checkError(StepRoom, 0, syscall.Lchown(dir[1:], user, user))
		}
	}
	checkError(StepRoom, 0, syscall.Mkdir("proc", 0o755))
	checkError(StepRoom, 0, syscall.Mount("proc", "proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""))
	checkError(StepRoom, 0, syscall.PivotRoot(".", "."))
	checkError(StepRoom, 0, syscall.Unmount(".", syscall.MNT_DETACH))
	checkError(StepRoom, 0, syscall.Chdir("/"))
}

// show sends the host the folders that the program can write. The host has them from before the
// program begins, and so never follows a link that the program put in the place of one.
func (r *Room) show() {
	var dirs []int
	for _, dir := range r.Dirs {
		fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		checkError(StepRoom, 0, err)
		dirs = append(dirs, fd)
	}
	checkError(StepRoom, 0, syscall.Sendmsg(control, []byte{0}, syscall.UnixRights(dirs...), nil, 0))
	for _, fd := range dirs {
		_ = syscall.Close(fd)
	}
}

// bind shows a path of the machine at the same place in the room, which is the working folder.
func bind(item int, path string, attributes uint64) {
	var stat syscall.Stat_t
	checkError(StepMount, item, syscall.Stat(path, &stat))
	at := path[1:]
	parents(at)
	if stat.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		_ = syscall.Mkdir(at, 0o755)
	} else if fd, err := syscall.Open(at, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o444); err == nil {
		_ = syscall.Close(fd)
	}
	checkError(StepMount, item, syscall.Mount(path, at, "", syscall.MS_BIND|syscall.MS_REC, ""))
	name, err := syscall.BytePtrFromString(at)
	checkError(StepMount, item, err)
	attr := [4]uint64{attributes} // set, clear, propagation, user namespace
	_, _, errno := syscall.RawSyscall6(sysMountSetattr, atWorkingFolder, uintptr(unsafe.Pointer(name)), atRecursive,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	checkErrno(StepMount, item, errno)
}

// atWorkingFolder is AT_FDCWD.
const atWorkingFolder = ^uintptr(99)

// parents makes the folders above a relative path.
func parents(path string) {
	for i := range len(path) {
		if path[i] == '/' {
			_ = syscall.Mkdir(path[:i], 0o755) // what isn't there is reported by what needs it
		}
	}
}

// loopback makes the loopback device of a new network namespace usable.
func loopback() syscall.Errno {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.(syscall.Errno) //nolint:errorlint,forcetypeassert // package syscall returns nothing else
	}
	defer func() { _ = syscall.Close(fd) }()
	request := [interfaceBytes]byte{'l', 'o', syscall.IFNAMSIZ: syscall.IFF_UP | syscall.IFF_RUNNING}
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), siocSIFFlags, uintptr(unsafe.Pointer(&request)))
	return errno
}

func checkErrno(step Step, item int, errno syscall.Errno) {
	if errno != 0 {
		fail(Failure{Step: step, Errno: uint32(errno), Item: uint32(item)})
	}
}
