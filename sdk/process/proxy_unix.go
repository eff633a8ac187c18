//go:build unix

package process

import (
	"net"
	"os"
	"syscall"

	"github.com/reflectory/reflectory/sdk"
)

// receiveConn asks the host's proxy for a socket.
func receiveConn(fd uintptr) (net.Conn, error) {
	duplicate, err := syscall.Dup(int(fd))
	if err != nil {
		return nil, proxyBroken(err)
	}
	syscall.CloseOnExec(duplicate)
	f := os.NewFile(uintptr(duplicate), "proxy")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, proxyBroken(err)
	}
	defer conn.Close()
	proxy, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, proxyBroken(syscall.ENOTSOCK)
	}
	if _, err := proxy.Write([]byte{0}); err != nil {
		return nil, proxyBroken(err)
	}
	rights := make([]byte, syscall.CmsgSpace(4)) // one descriptor
	_, n, _, _, err := proxy.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, proxyBroken(err)
	}
	return takeConn(rights[:n])
}

// takeConn makes a connection from a received descriptor.
func takeConn(rights []byte) (net.Conn, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, proxyBroken(err)
	}
	if len(messages) == 0 {
		return nil, sdk.Errorf(sdk.Exhausted, "connections_exhausted", "the plugin has too many connections open").
			WithHint("close some; keep idle HTTP connections few")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, proxyBroken(syscall.EBADMSG)
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	return net.FileConn(f)
}
