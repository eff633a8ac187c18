package httpapi

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/sdk"
)

// The socket is for users who could open the store themselves: it is in the same folder, only
// its owner may connect, and the system reports who connected. So it needs no token.

// ListenSocket listens on the socket of a data folder. This process has the folder's store open,
// so no other process can be listening: an existing socket was left by a killed server, and is
// removed.
func ListenSocket(dataDir string) (net.Listener, error) {
	path := filepath.Join(dataDir, client.SocketName)
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, sdk.Errorf(sdk.Conflict, "socket_taken", "%s is there, and is no socket", path).WithHint("move it away")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, sdk.Errorf(sdk.Unavailable, "socket_failed", "the socket that a server left can't be removed: %w", err)
	}
	var l net.Listener
	err := client.AtSocket(dataDir, func(short string) error {
		made, err := listenPrivate(short)
		l = made
		return err
	})
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "socket_failed", "listen on %s: %w", path, err)
	}
	return &owners{l, path}, nil
}

// owners accepts connections of the server's user and of root. It removes the socket when
// it is closed.
type owners struct {
	net.Listener
	path string
}

// Accept implements [net.Listener].
func (o *owners) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerOf(c); err == nil && (uid == os.Getuid() || uid == 0) {
			return c, nil
		}
		_ = c.Close() // another user of this machine, who gets no answer
	}
}

// Close implements [net.Listener].
func (o *owners) Close() error {
	err := o.Listener.Close()
	if removed := os.Remove(o.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) && err == nil {
		err = removed
	}
	return err
}
