package cli

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/certs"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// peering is how a server and the other servers on its store send each other requests.
// Without an address they send no requests, and each server handles the requests that it
// gets.
type peering struct {
	address, folder string
	listener        net.Listener
	certificate     *certs.Peers
}

// flags adds the flags.
func (p *peering) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.address, "peer-listen", "", "`address` at which the other servers on the database reach this one; each forwards a request to the server that the namespace belongs to")
	c.Flags().StringVar(&p.folder, "peer-tls", "", "`folder` with tls.crt, tls.key and ca.crt, by which these servers authenticate each other")
}

// check refuses flags that can't work, and reads the certificate.
func (p *peering) check(a *App) (err error) {
	name, _, malformed := net.SplitHostPort(p.address)
	ip := net.ParseIP(name)
	switch {
	case p.address == "" && p.folder == "":
		return nil
	case p.address == "" || p.folder == "":
		return sdk.Errorf(sdk.Invalid, "peers_incomplete", "--peer-listen and --peer-tls are needed together").
			WithHint("hosts that ask each other say who asks, and are believed because of their certificates")
	case malformed != nil || name == "" || ip != nil && ip.IsUnspecified():
		return sdk.Errorf(sdk.Invalid, "peers_unreachable", "--peer-listen %s: other hosts can't connect to that", p.address).
			WithHint("give an address of this machine, such as 10.1.2.3:7843")
	case !a.config.Shared() && a.Base.Store == nil:
		return sdk.Errorf(sdk.Invalid, "peers_without_store", "--peer-listen: no other host can have the store of a data folder").
			WithHint("it is for hosts that share a database, which --store names")
	}
	for _, file := range certs.PeerFiles(p.folder) { // a user who writes them is believed about who asks
		if err := a.config.Trusted("--peer-tls", file); err != nil {
			return err
		}
	}
	p.certificate, err = certs.OpenPeers(p.folder, a.reportCertificate)
	return sdk.Wrap("--peer-tls", err)
}

// open listens for the other servers, unless no address is given.
func (p *peering) open(ctx context.Context) (err error) {
	if p.address == "" {
		return nil
	}
	p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "listen_failed", "listen for other hosts: %w", err).
			WithHint("another program may use the port; give another address with --peer-listen")
	}
	return nil
}

// reached is the address that this server publishes to the others; "" is none.
func (p *peering) reached() string {
	if p.listener == nil {
		return ""
	}
	name, _, _ := net.SplitHostPort(p.address)
	_, port, _ := net.SplitHostPort(p.listener.Addr().String())
	return net.JoinHostPort(name, port)
}

// peers are the other hosts for the API; nil if this host sends them no requests.
func (p *peering) peers(a *App, h *host.Host) *httpapi.Peers {
	if p.listener == nil {
		return nil
	}
	return &httpapi.Peers{Home: h.Membership.Home, Self: h.ID, TLS: p.certificate.Client(), Failed: func(address string, err error) {
		a.notice(host.Notice{
			Level: "warn", Message: "the host at " + address + " doesn't answer; this one does what it was asked for: " + err.Error(),
			Hint: "look whether that host works, and whether --peer-listen of it can be reached from here",
		})
	}}
}

// close closes the listener, if it isn't served; otherwise it is closed already.
func (p *peering) close() {
	if p.listener != nil {
		_ = p.listener.Close()
	}
}
