// Package acme gets a certificate from an authority by the ACME protocol, and renews it
// while the server works.
//
// The authority checks that the server has the name by a special handshake (TLS-ALPN-01) with port 443 of
// that name. The server's own listener answers it, so no other port has to be open. Certificate and account
// are kept in a folder, since authorities issue only a few certificates a week.
package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/reflectory/reflectory/sdk"
)

// DefaultDirectory is the default authority: Let's Encrypt.
const DefaultDirectory = certmagic.LetsEncryptProductionCA

// Protocol is the protocol of the authority's handshake, which the listener must offer
// in addition to its own.
const Protocol = "acme-tls/1"

// Options are what [New] works with.
type Options struct {
	// Name is what the certificate is for.
	Name string
	// Folder keeps the account and the certificate. It is made when it is needed.
	Folder string
	// Directory is the URL of the authority's directory. Default [DefaultDirectory].
	Directory string
	// Listen is the address of the listener that shows the certificate.
	Listen string
	// Roots are trusted for the authority's own server certificate; nil means the system's.
	Roots *x509.CertPool
	// Proxy is the proxy through which the authority is reached: see [http.Transport]. Default
	// the environment's.
	Proxy func(*http.Request) (*url.URL, error)
	// Report is called with nil for each new certificate, and with the error if a certificate couldn't
	// be obtained. It must be safe for concurrent use and return soon. It may be nil.
	Report func(error)
}

// Certificate is the certificate for a name, once it was obtained. It is safe for concurrent use,
// and must be closed.
type Certificate struct {
	name   string
	cache  *certmagic.Cache
	config *certmagic.Config
	stop   context.CancelFunc
	ctx    context.Context
	close  func()
}

// New makes a Certificate. It contacts nobody before [Certificate.Start].
func New(o Options) (*Certificate, error) {
	host, text, err := net.SplitHostPort(o.Listen)
	port, portErr := strconv.Atoi(text)
	if err := errors.Join(err, portErr); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "listen_invalid", "listen %q can't be used: %w", o.Listen, err).
			WithHint("write it like 0.0.0.0:443").WithDetail("field", "listen")
	}
	if o.Directory == "" {
		o.Directory = DefaultDirectory
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	c := &Certificate{name: strings.ToLower(o.Name)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	quiet := zap.NewNop() // what matters is reported
	c.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return c.config, nil }, Logger: quiet,
	})
	c.config = certmagic.New(c.cache, certmagic.Config{
		Storage: &certmagic.FileStorage{Path: o.Folder}, DefaultServerName: c.name, Logger: quiet,
		OCSP: certmagic.OCSPConfig{DisableStapling: true},
		OnEvent: func(_ context.Context, event string, data map[string]any) error {
			report(o.Report, event, data)
			return nil
		},
	})
	c.config.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(c.config, certmagic.ACMEIssuer{
		CA: o.Directory, TrustedRoots: o.Roots, HTTPProxy: o.Proxy, Agreed: true, DisableHTTPChallenge: true, ListenHost: host, AltTLSALPNPort: port, Logger: quiet,
	})}
	c.close = sync.OnceFunc(func() {
		c.stop()
		c.cache.Stop()
	})
	return c, nil
}

// report passes on an event about a certificate.
func report(to func(error), event string, data map[string]any) {
	switch event {
	case "cached_managed_cert":
		to(nil)
	case "cert_failed":
		cause, _ := data["error"].(error)
		to(sdk.Errorf(sdk.Unavailable, "certificate_failed", "the issuer gives no certificate: %w", cause).
			WithHint("check that port 443 of the name leads to this server; it asks again by itself"))
	}
}

// Start gets the certificate, unless the folder has one, and keeps it renewed. It returns
// at once; until there is a certificate, handshakes fail. The listener must already be
// served.
func (c *Certificate) Start() error { return c.config.ManageAsync(c.ctx, []string{c.name}) }

// Get is the certificate for a handshake: it fits [tls.Config.GetCertificate].
func (c *Certificate) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.config.GetCertificate(hello)
}

// Expires is when the certificate expires; zero until one was obtained.
func (c *Certificate) Expires() (at time.Time) {
	for _, have := range c.cache.AllMatchingCertificates(c.name) {
		if have.Leaf.NotAfter.After(at) {
			at = have.Leaf.NotAfter
		}
	}
	return at
}

// Covers reports whether the certificate is for a host.
func (c *Certificate) Covers(host string) bool { return strings.EqualFold(host, c.name) }

// Name is what the certificate is for.
func (c *Certificate) Name() string { return c.name }

// Close ends the background work. It is idempotent.
func (c *Certificate) Close() error {
	c.close()
	return nil
}
