//go:build !unix

package process

import (
	"errors"
	"net"
)

// receiveConn fails here, where no host has a proxy.
func receiveConn(uintptr) (net.Conn, error) { return nil, proxyBroken(errors.ErrUnsupported) }
