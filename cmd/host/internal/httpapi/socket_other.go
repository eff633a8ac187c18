//go:build !linux

package httpapi

import (
	"errors"
	"net"
	"os"
)

// listenPrivate listens on a socket in a folder that only its owner can look into.
func listenPrivate(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, errors.Join(os.Chmod(path, 0o600))
}

// peerOf fails: this system can't report who is at the other end, so no connection
// is accepted.
func peerOf(net.Conn) (uid int, err error) {
	return 0, errors.New("this system doesn't say who connected")
}
