//go:build unix

package process

import (
	"net"
	"os"
	"syscall"
)

// socketPair makes two connected unix stream sockets: one for the host, and one
// to be given away.
func socketPair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock() // until both close on exec, which not every unix can do at once
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "proxy"), os.NewFile(uintptr(pair[1]), "proxy")
	conn, err := net.FileConn(ours) // a duplicate
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// sendFile writes a byte with a descriptor.
func sendFile(to *net.UnixConn, f *os.File) error {
	_, _, err := to.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(f.Fd())), nil)
	return err
}
