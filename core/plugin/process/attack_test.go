//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	author "github.com/reflectory/reflectory/sdk/process"
	"github.com/reflectory/reflectory/sdk/wire"
)

// attacks are what a hostile plugin tries, each with an argument from the test.
// They return what they got, or why they didn't get it.
var attacks = map[string]func(arg string) (string, error){
	"read":     func(path string) (string, error) { b, err := os.ReadFile(path); return string(b), err },
	"list":     func(path string) (string, error) { e, err := os.ReadDir(path); return fmt.Sprint(e), err },
	"write":    func(path string) (string, error) { return "written", os.WriteFile(path, []byte("x"), 0o600) },
	"scratch":  scratch,
	"symlink":  func(to string) (string, error) { return "linked", os.Symlink(to, filepath.Join(os.TempDir(), "link")) },
	"big file": bigFile,
	"litter":   litter,
	"own folder": func(string) (string, error) {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		return "written", os.WriteFile(filepath.Join(filepath.Dir(path), "left"), nil, 0o600)
	},
	"socket":  socket,
	"pair":    pair,
	"connect": connect,
	"listen":  listen,
	"spin":    func(string) (string, error) { go spin(); return "spins", nil },
	"fork": func(string) (string, error) {
		out, err := exec.Command("/bin/true").CombinedOutput()
		return string(out), err
	},
	"forks":    forks,
	"allocate": func(bytes string) (string, error) { return allocate(bytes, unix.MAP_PRIVATE) },
	"share":    func(bytes string) (string, error) { return allocate(bytes, unix.MAP_SHARED) },
	"signal":   func(pid string) (string, error) { return "signalled", syscall.Kill(number(pid), 0) },
	"ptrace":   func(pid string) (string, error) { return "attached", syscall.PtraceAttach(number(pid)) },
	"prlimit": func(pid string) (string, error) {
		return "limits", unix.Prlimit(number(pid), unix.RLIMIT_CORE, nil, new(unix.Rlimit))
	},
	"call":  call,
	"get":   get,
	"dial":  dial,
	"many":  many,
	"proxy": rawProxy,
	"touch": touch, "set-uid": setUID, "threads": threads, "children": children, "seal": sealDirs, "nest": nest,
	"unlinked": unlinked, "mapped": mapped, "in flight": inFlight, "buffers": buffers, "grows down": growsDown, "fill": fillBoth, "take": forkAndTake, "pipes": pipes,
	"shell": shell, "descriptors": descriptors, "drip": drip,
	"ids": func(string) (string, error) {
		g, err := os.Getgroups()
		return fmt.Sprint(os.Getuid(), os.Getgid(), g), err
	},
}

// attack runs one and reports.
func attack(name, arg string) string {
	got, err := attacks[name](arg)
	if err != nil {
		return "refused: " + err.Error()
	}
	return "got: " + got
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func scratch(string) (string, error) {
	path := filepath.Join(os.TempDir(), "a", "b")
	err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "c"), []byte("text"), 0o600),
		os.Rename(filepath.Join(path, "c"), filepath.Join(os.TempDir(), "d")))
	b, readErr := os.ReadFile(filepath.Join(os.TempDir(), "d"))
	return string(b), errors.Join(err, readErr, os.RemoveAll(filepath.Join(os.TempDir(), "a")))
}

// drip starts a child that leaves the group and writes to the plugin's log for minutes, and goes
// on when nobody reads it any more.
func drip(string) (string, error) {
	cmd := exec.Command("sh", "-c", "trap '' PIPE; n=0; while [ $n -lt 10000 ]; do echo drip >&2; n=$((n+1)); sleep 0.05; done")
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

// litter makes so many files and continues.
func litter(files string) (string, error) {
	for n := range number(files) {
		if err := os.WriteFile(filepath.Join(os.TempDir(), "litter"+strconv.Itoa(n)), nil, 0o600); err != nil {
			return "", err
		}
	}
	select {} // until it is ended
}

func bigFile(bytes string) (string, error) {
	f, err := os.Create(filepath.Join(os.TempDir(), "big"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return "grown", f.Truncate(int64(number(bytes)))
}

// socket opens one: "family type".
func socket(arg string) (string, error) {
	var family, kind int
	if _, err := fmt.Sscan(arg, &family, &kind); err != nil {
		return "", err
	}
	fd, err := syscall.Socket(family, kind, 0)
	if err == nil {
		_ = syscall.Close(fd)
	}
	return "opened", err
}

func pair(kind string) (string, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, number(kind), 0)
	if err == nil {
		_, _ = syscall.Close(fds[0]), syscall.Close(fds[1])
	}
	return "opened", err
}

// connect connects to a unix socket, "@…" being an abstract one.
func connect(name string) (string, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	return "connected", syscall.Connect(fd, &syscall.SockaddrUnix{Name: name})
}

// listen listens on an abstract unix socket, by a name in Go's quoted form; "" lets the kernel
// choose one. It returns the name, quoted, and goes on listening.
func listen(quoted string) (string, error) {
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return "", err
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	address := append([]byte{unix.AF_UNIX, 0}, name...) // struct sockaddr_un
	_, _, errno := syscall.Syscall(syscall.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if errno != 0 {
		return "", errno
	}
	if err := syscall.Listen(fd, 1); err != nil {
		return "", err
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	return strconv.Quote(bound.(*syscall.SockaddrUnix).Name), nil
}

// spin uses a processor for as long as the plugin lives.
func spin() {
	for {
		_ = bytes.Repeat([]byte{1}, 1<<10)
	}
}

// forks starts sleeping processes until it may not, or has as many as it wants.
func forks(arg string) (string, error) {
	for n := range number(arg) {
		if err := exec.Command("/bin/sleep", "1000").Start(); err != nil {
			return strconv.Itoa(n), nil
		}
	}
	return arg, nil
}

func allocate(bytes string, kind int) (string, error) {
	b, err := syscall.Mmap(-1, 0, number(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|kind)
	if err == nil {
		_ = syscall.Munmap(b)
	}
	return "allocated", err
}

// call makes a system call by its numbers: "number argument…".
func call(arg string) (string, error) {
	var n [5]uintptr
	for i, field := range strings.Fields(arg) {
		v, err := strconv.ParseUint(field, 0, 64)
		if err != nil {
			return "", err
		}
		n[i] = uintptr(v)
	}
	r, _, errno := syscall.Syscall6(n[0], n[1], n[2], n[3], n[4], uintptr(unsafe.Pointer(nil)), 0)
	if errno != 0 {
		return "", errno
	}
	return fmt.Sprint(r), nil
}

func get(url string) (string, error) {
	res, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// dial sends a line, ends its side, and reads all of the other.
func dial(address string) (string, error) {
	conn, err := author.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	b := make([]byte, 5)
	if _, err := io.ReadFull(conn, b); err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(conn, "bye")
	rest, readErr := io.ReadAll(conn)
	return string(b) + string(rest), errors.Join(err, readErr)
}

// many opens connections until it may not.
func many(address string) (string, error) {
	for n := 0; n < 1000; n++ {
		conn, err := author.DialContext(context.Background(), "tcp", address)
		if err != nil {
			return strconv.Itoa(n), err
		}
		defer conn.Close()
	}
	return "all", nil
}

// rawProxy says something else than it should to the proxy's own socket: first
// bytes for sockets, then to the one socket that it takes.
func rawProxy(text string) (string, error) {
	own, err := syscall.Dup(number(os.Getenv(wire.ProxyVariable)))
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(own), "proxy")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if text == "flood" {
		_, err := conn.Write(bytes.Repeat([]byte{0}, 1<<12))
		return "flooded", err
	}
	_, _ = conn.Write([]byte{0})
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return "", err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return "", err
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return "", err
	}
	tunnel := os.NewFile(uintptr(fds[0]), "tunnel")
	defer tunnel.Close()
	_, _ = tunnel.WriteString(text)
	b, err := io.ReadAll(tunnel)
	return string(b), err
}
