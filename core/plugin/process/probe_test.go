//go:build linux

package process_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is a system call that a plugin makes on a file: by its path, and by a
// descriptor of it, or of its folder where it can't be opened.
type attempt struct {
	name   string
	number uintptr
	args   func(path, fd uintptr) [5]uintptr
}

// attributeCalls would change a file's mode, owner, times or attributes, or watch it.
func attributeCalls() []attempt {
	text := func(s string) uintptr { b := append([]byte(s), 0); return uintptr(unsafe.Pointer(&b[0])) }
	attr, value := text("user.probe"), text("x")
	at := ^uintptr(99) // AT_FDCWD
	times := uintptr(unsafe.Pointer(&[2]unix.Timespec{{Sec: 1}, {Sec: 1}}))
	flags, xattr := uintptr(unsafe.Pointer(new(uint64))), uintptr(unsafe.Pointer(new([28]byte)))
	list := []attempt{
		{"fchmodat", unix.SYS_FCHMODAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, 0o777} }},
		{"fchmodat2", unix.SYS_FCHMODAT2, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, 0o777} }},
		{"fchmod", unix.SYS_FCHMOD, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, 0o777} }},
		{"fchownat", unix.SYS_FCHOWNAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, uintptr(os.Getuid()), uintptr(os.Getgid())} }},
		{"fchown", unix.SYS_FCHOWN, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, uintptr(os.Getuid()), uintptr(os.Getgid())} }},
		{"utimensat", unix.SYS_UTIMENSAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, times} }},
		{"futimens", unix.SYS_UTIMENSAT, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, 0, times} }},
		{"setxattr", unix.SYS_SETXATTR, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, attr, value, 1} }},
		{"lsetxattr", unix.SYS_LSETXATTR, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, attr, value, 1} }},
		{"fsetxattr", unix.SYS_FSETXATTR, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, attr, value, 1} }},
		{"setxattrat", unix.SYS_SETXATTRAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, 0, flags, 16} }},
		{"removexattr", unix.SYS_REMOVEXATTR, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, attr} }},
		{"lremovexattr", unix.SYS_LREMOVEXATTR, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, attr} }},
		{"fremovexattr", unix.SYS_FREMOVEXATTR, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, attr} }},
		{"removexattrat", unix.SYS_REMOVEXATTRAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, 0, attr} }},
		{"file_setattr", unix.SYS_FILE_SETATTR, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, xattr, 24} }},
		{"FS_IOC_SETFLAGS", unix.SYS_IOCTL, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, unix.FS_IOC_SETFLAGS, flags} }},
		{"FS_IOC_FSSETXATTR", unix.SYS_IOCTL, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, 0x401c5820, xattr} }},
		{"inotify_init1", unix.SYS_INOTIFY_INIT1, func(_, _ uintptr) [5]uintptr { return [5]uintptr{} }},
		{"inotify_add_watch", unix.SYS_INOTIFY_ADD_WATCH, func(p, f uintptr) [5]uintptr { return [5]uintptr{f, p, unix.IN_ALL_EVENTS} }},
		{"F_NOTIFY", unix.SYS_FCNTL, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, unix.F_NOTIFY, 2} }},
		{"F_SETLEASE", unix.SYS_FCNTL, func(_, f uintptr) [5]uintptr { return [5]uintptr{f, unix.F_SETLEASE, unix.F_RDLCK} }},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, func(_, _ uintptr) [5]uintptr { return [5]uintptr{1, xattr} }},
		{"openat2", unix.SYS_OPENAT2, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, xattr, 24} }},
		{"truncate", unix.SYS_TRUNCATE, func(p, _ uintptr) [5]uintptr { return [5]uintptr{p, 0} }},
		{"open for writing", unix.SYS_OPENAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p, unix.O_WRONLY} }},
		{"unlink", unix.SYS_UNLINKAT, func(p, _ uintptr) [5]uintptr { return [5]uintptr{at, p} }},
	}
	return append(list, olderAttributeCalls(uintptr(unsafe.Pointer(&[2]unix.Timeval{{Sec: 1}, {Sec: 1}})))...)
}

// quiet are the attribute calls that return success and do nothing, which the state of
// the file shows.
var quiet = map[string]bool{
	"chmod": true, "fchmod": true, "fchmodat": true, "fchmodat2": true,
	"utime": true, "utimes": true, "futimesat": true, "utimensat": true, "futimens": true,
}

// touch tries every attribute call on a path and reports those that weren't
// refused, as JSON: name to what it got.
func touch(path string) (string, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return "", err
	}
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		fd, err = unix.Open(path, unix.O_PATH, 0) // Landlock doesn't ask for these
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	through := map[string]string{}
	for _, a := range attributeCalls() {
		n := a.args(uintptr(unsafe.Pointer(name)), uintptr(fd))
		_, _, errno := unix.Syscall6(a.number, n[0], n[1], n[2], n[3], n[4], 0)
		switch errno {
		case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOTTY, unix.EISDIR, unix.EOPNOTSUPP:
		case 0:
			if quiet[a.name] {
				continue
			}
			fallthrough
		default:
			through[a.name] = fmt.Sprint(errno)
		}
	}
	runtime.KeepAlive(name)
	b, err := json.Marshal(through)
	return string(b), err
}

// setUID makes files that would run as their owner, in the plugin's own folder.
func setUID(string) (string, error) {
	var got []string
	for name, err := range map[string]error{
		"open":  made(unix.Open(filepath.Join(os.TempDir(), "open"), unix.O_CREAT|unix.O_WRONLY, 0o4755)),
		"mknod": unix.Mknod(filepath.Join(os.TempDir(), "mknod"), unix.S_IFREG|0o4755, 0),
		"mkdir": unix.Mkdir(filepath.Join(os.TempDir(), "mkdir"), 0o2755),
		"chmod": unix.Chmod(os.TempDir(), 0o4700),
	} {
		if err == nil {
			got = append(got, name)
		}
	}
	sort.Strings(got)
	return fmt.Sprint(got), nil
}

func made(fd int, err error) error {
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// threads makes the runtime start threads that stay. The runtime ends the program if it
// gets none; threads returns how many there were.
func threads(arg string) (string, error) {
	for range number(arg) {
		ready := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(ready)
			select {}
		}()
		<-ready
	}
	return arg, nil
}

// children forks processes that stay, each with one thread, until it may not.
func children(arg string) (string, error) {
	for n := range number(arg) {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return strconv.Itoa(n), nil
		}
		for pid == 0 { // a child, which has nothing of Go's runtime
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return arg, nil
}

// sealDirs makes folders that the host can't list or enter, with something in
// them: the mode comes from mkdir, and from the umask.
func sealDirs(string) (string, error) {
	sealed, masked := filepath.Join(os.TempDir(), "outer", "sealed"), filepath.Join(os.TempDir(), "masked")
	err := errors.Join(os.Mkdir(filepath.Dir(sealed), 0o700), unix.Mkdir(sealed, 0o300),
		os.MkdirAll(filepath.Join(sealed, "deeper"), 0o100), os.WriteFile(filepath.Join(sealed, "file"), nil, 0))
	unix.Umask(0o777)
	err = errors.Join(err, unix.Mkdir(masked, 0o777))
	unix.Umask(0o477)
	err = errors.Join(err, unix.Mkdir(masked+"2", 0o777), os.Mkdir(filepath.Join(masked+"2", "in"), 0o777))
	unix.Umask(0o077)
	return "sealed", err
}

// nest makes folders in folders, deeper than a path can name.
func nest(depth string) (string, error) {
	home, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(home) }()
	at, err := unix.Open(os.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range number(depth) {
		if err == nil {
			err = unix.Mkdirat(at, "in", 0o700)
		}
		if err != nil {
			break
		}
		var next int
		next, err = unix.Openat(at, "in", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		_ = unix.Close(at)
		at = next
	}
	return "nested", err
}

// unlinked holds files open that have no name, and continues.
func unlinked(arg string) (string, error) {
	for n := range number(arg) {
		f, err := os.Create(filepath.Join(os.TempDir(), "f"+strconv.Itoa(n)))
		if err != nil {
			return strconv.Itoa(n), err
		}
		if err := f.Truncate(60 << 20); err != nil {
			return "", err
		}
		_ = os.Remove(f.Name())
		held = append(held, f)
	}
	select {} // until it is ended
}

// mapped holds them by their mappings alone.
func mapped(arg string) (string, error) {
	for n := range number(arg) {
		f, err := os.Create(filepath.Join(os.TempDir(), "f"+strconv.Itoa(n)))
		if err != nil {
			return strconv.Itoa(n), err
		}
		if err := f.Truncate(60 << 20); err != nil {
			return "", err
		}
		_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return "", err
		}
		_ = os.Remove(f.Name())
		_ = f.Close()
	}
	select {}
}

// inFlight holds them by the messages that carry them, which nobody receives.
func inFlight(arg string) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	for n := range number(arg) {
		f, err := os.Create(filepath.Join(os.TempDir(), "f"+strconv.Itoa(n)))
		if err != nil {
			return strconv.Itoa(n), err
		}
		if err := f.Truncate(60 << 20); err != nil {
			return "", err
		}
		if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(f.Fd())), nil, 0); err != nil {
			return strconv.Itoa(n), err
		}
		_ = os.Remove(f.Name())
		_ = f.Close()
	}
	select {}
}

var held []*os.File

// buffers fills sockets that nobody reads, both ways, and sends one end of each in a
// message that nobody receives, which frees its descriptor and keeps its buffer. It returns
// how many bytes they took.
func buffers(string) (string, error) {
	carrier, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	total := 0
	for {
		pair, n, err := filledPair()
		if err != nil {
			return strconv.Itoa(total), nil
		}
		total += n
		if unix.Sendmsg(carrier[0], []byte("x"), unix.UnixRights(pair[1]), nil, unix.MSG_DONTWAIT) == nil {
			_ = unix.Close(pair[1])
		}
	}
}

// filledPair makes two connected sockets, fills them both ways, and returns with how much.
func filledPair() (pair [2]int, bytes int, err error) {
	pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return pair, 0, err
	}
	block := make([]byte, 1<<16)
	for _, fd := range pair {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<20)
		for n := 0; n >= 0; bytes += max(n, 0) {
			n, _ = unix.Write(fd, block)
		}
	}
	return pair, bytes, nil
}

// pipes fills as many pipes as it can.
func pipes(string) (string, error) {
	block, total := make([]byte, 1<<16), 0
	for {
		var pipe [2]int
		if unix.Pipe2(pipe[:], unix.O_NONBLOCK) != nil {
			return strconv.Itoa(total), nil
		}
		_, _ = unix.FcntlInt(uintptr(pipe[1]), unix.F_SETPIPE_SZ, 1<<20)
		for n := 0; n >= 0; total += max(n, 0) {
			n, _ = unix.Write(pipe[1], block)
		}
	}
}

// descriptors opens a file until it may not, and closes what it opened, since a program
// that has none left can't answer.
func descriptors(arg string) (string, error) {
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for range number(arg) {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	return strconv.Itoa(len(fds)), nil
}

// growsDown maps memory that the data limit doesn't count.
func growsDown(bytes string) (string, error) {
	return allocate(bytes, unix.MAP_PRIVATE|unix.MAP_GROWSDOWN)
}

// fillBoth has sockets hold what they can, and takes shared memory on top. It sends none of
// them in a message, for which the host ends it too, when it next looks.
func fillBoth(bytes string) (string, error) {
	total := 0
	for {
		_, n, err := filledPair()
		if err != nil {
			break
		}
		total += n
	}
	got := strconv.Itoa(total)
	b, err := unix.Mmap(-1, 0, number(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return got, err
}

// forkAndTake has children take memory, each as much as is said, and says whether all of
// them live.
func forkAndTake(bytes string) (string, error) {
	const children = 16
	b, err := unix.Mmap(-1, 0, number(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return "", err
	}
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return "", err
	}
	for range children {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return "", errno
		}
		if pid == 0 { // a child, which has nothing of Go's runtime
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(pipe[1]), uintptr(unsafe.Pointer(&b[0])), 1)
			for {
				_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	_ = unix.SetNonblock(pipe[0], true)
	for done := 0; done < children; {
		if n, _ := unix.Read(pipe[0], make([]byte, 1)); n == 1 {
			done++
		}
		if pid, _ := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid > 0 {
			return "ended", nil
		}
	}
	return "lived", nil
}
