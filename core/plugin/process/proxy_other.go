//go:build !unix

package process

import (
	"errors"
	"net"
	"os"
)

// socketPair fails here, where descriptors can't be sent over sockets.
func socketPair() (*net.UnixConn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

func sendFile(*net.UnixConn, *os.File) error { return errors.ErrUnsupported }
