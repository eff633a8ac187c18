//go:build !unix

package process

import (
	"errors"
	"net"
)

// receiveConn always fails: on this system no host has a proxy.
func receiveConn(uintptr) (net.Conn, error) { return nil, proxyBroken(errors.ErrUnsupported) }
