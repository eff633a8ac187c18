package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/acme"
	"github.com/reflectory/reflectory/cmd/host/internal/certs"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/identity"
	"github.com/reflectory/reflectory/cmd/host/internal/web"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// Flags determine how a server is reached. They are checked before anything is opened: a
// start that would admit strangers is refused before the store is opened.

// reach is how a server is reached.
type reach struct {
	access.Listen
	hosts []string

	peering peering
	// ready is called as soon as the server accepts requests; nil does nothing.
	ready func(ctx context.Context) error

	// certificate is the server's certificate; nil if it does no TLS.
	certificate certificate
	exposure    *access.Exposure
	// asked is the certificate from ACME; nil if there is none.
	asked *acme.Certificate
	// identities authenticates callers that have tokens of an OpenID Connect issuer; nil if there is
	// none.
	identities *identity.Verifier
	// gateway has the models that are served, and closeGateway ends the gateway; nil before it begins.
	gateway      *gateway.Settings
	closeGateway func() error
}

// certificate is a server's certificate, the hosts that it covers, and when it expires.
type certificate interface {
	Get(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Expires() time.Time
	Covers(host string) bool
	Name() string
}

// flags adds the flags.
func (r *reach) flags(c *cobra.Command, settings *flags) {
	f := c.Flags()
	f.StringVar(&settings.listen, "listen", "", "`address` for HTTP; port 0 takes a free one (default "+httpapi.DefaultListen+")")
	f.StringVar(&settings.runs, "runs", "", "`number` of runs that are worked on at once (default 32)")
	f.StringVar(&settings.tlsCert, "tls-cert", "", "`file` with the server's certificate in PEM, followed by its issuers' certificates")
	f.StringVar(&settings.tlsKey, "tls-key", "", "`file` of the certificate's key, in PEM")
	f.StringVar(&settings.acme, "acme", "", "get a certificate for this `name` by ACME, and accept the authority's terms; port 443 of the name must reach this server")
	f.StringVar(&settings.acmeDirectory, "acme-directory", "", "`URL` of the ACME authority's directory (default: Let's Encrypt's)")
	f.StringArrayVar(&settings.proxies, "tls-by-proxy", nil, "`network` of the proxies that do TLS, such as 10.1.2.3/32; may be repeated")
	f.StringArrayVar(&settings.hosts, "host", nil, "`name` by which clients reach the server, in addition to the names in its certificate; may be repeated")
	f.StringVar(&settings.oidcIssuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose tokens are accepted too")
	f.StringVar(&settings.oidcAudience, "oidc-audience", "", "audience `name` of such tokens (default: the server's URL)")
	f.StringVar(&settings.oidcClient, "oidc-client", "", "client `id` of this server at the issuer, for browser logins; its secret, if any, is in REFLECTORY_OIDC_CLIENT_SECRET")
	f.StringArrayVar(&settings.oidcGrants, "oidc-grant", nil, "`grant` of scopes to everyone whose token has a certain claim, such as 'groups=staff memory:read in team/**'; may be repeated, and the first that matches applies")
	r.peering.flags(c)
	f.BoolVar(&r.NoAuth, "no-auth", false, "let every program on this machine read and write memories, and run workflows, without a token")
}

// check refuses an invalid start, before the store is opened.
func (r *reach) check(ctx context.Context, a *App) (err error) {
	if presence, err := pebble.Look(host.StoreDir(a.config)); err == nil && !presence.Exists && a.Base.Store == nil && !a.config.Shared() {
		r.Tokens = new(int) // a new store has none
	}
	if err := r.peering.check(a); err != nil {
		return err
	}
	s := a.config
	r.Address, r.TLSCert, r.TLSKey, r.ACMEName, r.Proxies, r.hosts = s.Listen.Value, s.TLSCert.Value, s.TLSKey.Value, s.ACMEName.Value, s.ProxyList(), s.HostList()
	r.OIDC = s.OIDCIssuer.Value != ""
	if r.exposure, err = httpapi.CheckListen(ctx, &r.Listen); err != nil {
		return err
	}
	// The files may belong to another user, such as the program that renews the certificate,
	// which has the key anyway: a user who writes them gets no right here, and clients accept only what
	// their own authorities issued. certs refuses a key that more than its owner may write.
	if r.exposure.Encryption == access.EncryptionFiles {
		files, err := certs.Open(certs.Options{Cert: r.TLSCert, Key: r.TLSKey, Report: a.reportCertificate})
		if err != nil {
			return err
		}
		r.certificate = files
	}
	return nil
}

// open listens for other hosts, and prepares the certificate from ACME for the listener.
func (r *reach) open(ctx context.Context, a *App, listen net.Addr) (err error) {
	if err := r.peering.open(ctx); err != nil || r.ACMEName == "" {
		return err
	}
	r.asked, err = acme.New(acme.Options{
		Name: r.ACMEName, Directory: a.config.ACMEDirectory.Value, Listen: listen.String(), Folder: filepath.Join(a.config.DataDir.Value, "acme"), Report: a.reportCertificate,
		Proxy: a.config.Network().Proxy,
	})
	if err == nil {
		r.certificate = r.asked
	}
	return err
}

// start gets the certificate from ACME, once the listener is served.
func (r *reach) start() error {
	if r.asked == nil {
		return nil
	}
	return r.asked.Start()
}

// checkTokens refuses a start beyond loopback if only the operator has a token. It opens the
// store.
func (r *reach) checkTokens(ctx context.Context, h *host.Host) error {
	if !r.exposure.Beyond {
		return nil
	}
	n, err := h.Access.Active(ctx)
	if err != nil {
		return err
	}
	r.Tokens = &n
	_, err = r.Check()
	return err
}

// reportCertificate reports a new certificate, or the reason why there is none.
func (a *App) reportCertificate(err error) {
	if err == nil {
		a.notice(host.Notice{Level: "info", Message: "another certificate is in use"})
		return
	}
	a.notice(host.Notice{Level: "warn", Message: "the new certificate can't be used, and the earlier one stays in use: " + err.Error(), Hint: sdk.AsError(err).Hint})
}

// server describes how a server that listens on an address is reached.
func (r *reach) server(listen net.Addr) *host.Server {
	s := &host.Server{
		URL: r.url(listen.String()), Listen: listen.String(), Beyond: r.exposure.Beyond, Encryption: r.exposure.Encryption, Auth: host.AuthToken,
		Peers: r.peering.reached(),
	}
	at, _ := netip.ParseAddrPort(s.Listen)
	loopback := map[string]bool{"127.0.0.1": true, "::1": true}[at.Addr().Unmap().String()]
	s.Bound = loopback && r.exposure.Encryption == access.EncryptionNone && !r.NoAuth
	switch {
	case r.NoAuth:
		s.Auth = host.AuthNone
	case r.OIDC:
		s.Auth = host.AuthOIDC
	}
	return s
}

// url is the server's URL for clients. Its host is the first name in --host. Without --host,
// it is the name in --listen, or the certificate's name if the certificate doesn't cover the
// name in --listen.
func (r *reach) url(listen string) string {
	name, port, _ := net.SplitHostPort(listen)
	if asked, _, _ := net.SplitHostPort(r.Address); asked != "" {
		name = asked
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsUnspecified() {
		name = "localhost"
	}
	if r.certificate != nil && r.certificate.Name() != "" && !r.certificate.Covers(name) {
		name = r.certificate.Name()
	}
	if len(r.hosts) > 0 {
		name = r.hosts[0]
	}
	switch {
	case r.exposure.Encryption == access.EncryptionProxy && len(r.hosts) > 0:
		return "https://" + name // the proxy's URL
	case r.secure():
		return "https://" + net.JoinHostPort(name, port)
	}
	return "http://" + net.JoinHostPort(name, port)
}

// portOf is the port of an address.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// secure is whether this server does TLS itself.
func (r *reach) secure() bool { return r.certificate != nil }

// api makes the API of this server, with other surfaces below their paths.
func (r *reach) api(a *App, h *host.Host, mounts map[string]http.Handler) (*httpapi.API, error) {
	encrypted := r.exposure.Encryption != access.EncryptionNone
	c := httpapi.Config{
		Host: h, Version: serverVersion(), Hosts: r.hosts, Proxies: r.exposure.Proxies, NoAuth: r.NoAuth, Log: a.requestLog(), Mounts: mounts, Metrics: a.observed.scrapes(h, r.expiries()),
		Trace: a.observed.traces(), Peers: r.peering.peers(a, h), Limits: serverLimits(a.config.Limits()),
	}
	tokens := httpapi.Tokens{Authority: h.Access, Cookie: access.CookieName(encrypted), Bound: a.serving.Bound}
	c.LoginHosts = a.serving.Bound
	if r.OIDC {
		c.Resource = &httpapi.Resource{URL: a.serving.URL, Audience: cmp.Or(a.config.OIDCAudience.Value, a.serving.URL), Issuer: a.config.OIDCIssuer.Value}
		r.identities = identity.New(identity.Options{
			Transport: a.config.Network().Transport(),
			Issuer:    c.Resource.Issuer, Audience: c.Resource.Audience, Mapping: access.Mapping{Subject: a.config.OIDCSubject.Value, Grants: a.config.Grants()},
			Client: identity.Client{
				ID: a.config.OIDCClient.Value, Secret: strings.TrimSpace(a.Getenv(clientSecretVariable)), Scopes: a.config.OIDCScopeList(), Callback: a.serving.URL + identity.CallbackPath,
			},
		})
		tokens.Identities, tokens.Sessions = r.identities.Authenticate, r.identities.Session
	}
	c.Authenticator = tokens
	if err := r.serveGateway(a, h, &c, tokens); err != nil {
		return nil, err
	}
	if name, _, err := net.SplitHostPort(r.Address); err == nil && name != "" {
		c.Hosts = append(c.Hosts, name)
	}
	if r.NoAuth {
		c.Authenticator = httpapi.Anybody{}
	}
	if r.certificate != nil {
		c.Covers = r.certificate.Covers
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: certs.Suites(), GetCertificate: r.certificate.Get}
		if r.asked != nil {
			c.TLS.NextProtos = []string{acme.Protocol}
		}
	}
	shown := web.Config{
		Host: h, Authority: h.Access, Secure: encrypted, NoAuth: r.NoAuth, Version: serverVersion(), Bound: a.serving.Bound, Port: portOf(a.serving.Listen),
		Authenticate: func(r *http.Request) (core.Caller, error) { return c.Authenticator.Authenticate(r) },
	}
	browserLogin := r.identities != nil && a.config.OIDCClient.Value != ""
	if browserLogin {
		shown.Issuer, shown.EndSession = issuerName(c.Resource.Issuer), r.identities.EndSession
	}
	pages := web.New(shown)
	c.Pages = func(w http.ResponseWriter, hr *http.Request, v httpapi.Visit) {
		if browserLogin && (hr.URL.Path == identity.LoginPath || hr.URL.Path == identity.CallbackPath) {
			b := identity.Browser{Verifier: r.identities, Secure: encrypted}
			if a.serving.Bound {
				b.NewHost = h.Access.NewLoginHost
			}
			b.Serve(w, hr, v.Failed)
			return
		}
		pages.Serve(w, hr, web.Visit(v))
	}
	return httpapi.New(c)
}

// expiries tell when this server's certificates expire, by what they are for.
func (r *reach) expiries() map[string]func() time.Time {
	all := map[string]func() time.Time{}
	if r.certificate != nil {
		all["server"] = r.certificate.Expires
	}
	if r.peering.certificate != nil {
		all["peers"] = r.peering.certificate.Expires
	}
	return all
}

// serverLimits are the limits of the settings.
func serverLimits(l config.Limits) httpapi.Limits {
	return httpapi.Limits{
		Body: l.Body, ImportBody: l.ImportBody, Headers: int(l.Headers), JSONDepth: int(l.JSONDepth),
		HeaderTime: l.HeaderTime, BodyTime: l.BodyTime, IdleTime: l.IdleTime,
		Requests: l.Requests, Writes: l.Writes, FailedLogins: l.FailedLogins,
		AtOnce: int(l.AtOnce), Gateway: int(l.Gateway), Connections: int(l.Connections), Streams: int(l.Streams), SubjectStreams: int(l.SubjectStreams),
	}
}

// clientSecretVariable has this server's client secret at the issuer. It isn't a setting,
// since settings are shown.
const clientSecretVariable = "REFLECTORY_OIDC_CLIENT_SECRET" //nolint:gosec // the variable's name, not the secret

// issuerName is an issuer's name for people: its host.
func issuerName(issuer string) string {
	if u, err := url.Parse(issuer); err == nil && u.Host != "" {
		return u.Host
	}
	return issuer
}

// close closes the certificate, the issuer's client and the listener for other hosts.
func (r *reach) close() {
	r.peering.close()
	if r.asked != nil {
		_ = r.asked.Close() // it never fails
	}
	if r.identities != nil {
		_ = r.identities.Close() // only idle connections
	}
}
