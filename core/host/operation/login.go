package operation

import (
	"context"
	"net"
	"net/url"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// logins are the operations on logins of browsers.
func logins() []Operation {
	return []Operation{
		define(Operation{
			Name: "login_new", main: true, Method: "POST", Path: "/v1/logins", Scope: core.ScopeOperate, Secret: true,
			Doc: "Make a link that logs a browser in as the local operator, once, within a minute.",
		}, inAll[LoginNew], loginNew),
	}
}

// LoginNew asks for a login link.
type LoginNew struct{}

// NewLogin is a login link.
type NewLogin struct {
	// URL is the link to open in a browser.
	URL access.Secret `json:"url"`
	// ExpiresAt is when the link expires; zero if no link is needed, since the server needs no
	// credentials.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

func loginNew(ctx context.Context, c *Call, _ *LoginNew) (*NewLogin, error) {
	server := c.Host.Config.Server
	if server == nil {
		return nil, sdk.Errorf(sdk.Unavailable, "not_serving", "there is no server that a browser could log in at").
			WithHint("start one").WithAction("serve")
	}
	if server.Auth == host.AuthNone {
		return &NewLogin{URL: access.Secret(server.URL + "/")}, nil
	}
	if err := c.Host.Config.Settings.MakeDataDir(); err != nil {
		return nil, err
	}
	at, host := server.URL, ""
	if server.Bound {
		var err error
		if host, err = c.Host.Access.NewLoginHost(); err != nil {
			return nil, err
		}
		at = "http://" + net.JoinHostPort(host, portOf(server.Listen))
	}
	link, err := c.Host.Access.NewLinkAt(ctx, host)
	if err != nil {
		return nil, err
	}
	query := url.Values{"link": {string(link.Secret)}}
	return &NewLogin{URL: access.Secret(at + "/login?" + query.Encode()), ExpiresAt: link.ExpiresAt}, nil
}

// portOf is the port of an address.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
