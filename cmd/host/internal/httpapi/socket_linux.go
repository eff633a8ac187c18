package httpapi

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenPrivate listens on a socket that only its owner can connect to. The socket has
// the right mode before it listens, so that others can never connect.
func listenPrivate(path string) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has a copy
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	if own, ok := l.(*net.UnixListener); ok {
		own.SetUnlinkOnClose(false) // by its owner, whose path may be a longer one
	}
	return l, nil
}

// peerOf is the user at the other end of a connection.
func peerOf(c net.Conn) (uid int, err error) {
	own, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("no connection of a socket")
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return 0, err
	}
	var found *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		found, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a descriptor is an int
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(found.Uid), nil
}
