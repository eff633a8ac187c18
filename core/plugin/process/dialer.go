package process

import (
	"context"
	"net"
)

// Dialer reaches what a plugin was granted and refuses everything else, judged
// by the address that it really dials.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
