package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// The path of a socket can have little more than 100 bytes, and the path of a data folder
// may be longer. Then the socket is named through the open folder.

// maxSocketPath is the length in bytes that every system accepts as a socket's path.
const maxSocketPath = 103

// AtSocket calls do with a path of the socket in a data folder that is short enough.
func AtSocket(dataDir string, do func(path string) error) error {
	path := filepath.Join(dataDir, SocketName)
	if len(path) <= maxSocketPath {
		return do(path)
	}
	dir, err := os.Open(dataDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketName))
}

// dial connects to the server of a data folder.
func dial(ctx context.Context, dataDir string) (c net.Conn, err error) {
	err = AtSocket(dataDir, func(path string) (err error) {
		c, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return c, err
}

// Serves reports whether a server has the store of a data folder, by its socket. A socket
// left behind by a killed server doesn't count.
func Serves(ctx context.Context, dataDir string) (bool, error) {
	c, err := dial(ctx, dataDir)
	switch {
	case err == nil:
		return true, c.Close()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENOTSOCK):
		return false, nil
	}
	return false, err
}
