package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"time"

	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// The files of a folder for [OpenPeers]: as cert-manager and Kubernetes name them.
const (
	peerCert, peerKey, peerAuthority = "tls.crt", "tls.key", "ca.crt"
)

// PeerFiles are the files in a folder for [OpenPeers].
func PeerFiles(folder string) []string {
	return []string{filepath.Join(folder, peerCert), filepath.Join(folder, peerKey), filepath.Join(folder, peerAuthority)}
}

// Peers is how hosts on the same store prove to each other who they are: both sides show a
// certificate from the same authority, for the same name. So a certificate that this authority
// issued for something else isn't accepted.
type Peers struct {
	files *Files
	pool  *x509.CertPool
	name  string
}

// OpenPeers reads the folder's tls.crt and tls.key, which are read again like the files of
// [Open], and ca.crt, which is read once. The certificate must be for servers and for
// clients, and its first name must be the name that all hosts have. The error is
// sdk.Invalid, reason "tls_invalid".
func OpenPeers(folder string, report func(error)) (*Peers, error) {
	files, err := Open(Options{Cert: filepath.Join(folder, peerCert), Key: filepath.Join(folder, peerKey), Report: report})
	if err != nil {
		return nil, peersInvalid(folder, errors.Unwrap(err))
	}
	p := &Peers{files: files, pool: x509.NewCertPool(), name: files.Name()}
	text, err := plainfile.Read(filepath.Join(folder, peerAuthority), maxFile)
	if err == nil && !p.pool.AppendCertsFromPEM(text) {
		err = errors.New("it has no certificate in PEM")
	}
	if err == nil && p.name == "" {
		err = errors.New("the certificate " + peerCert + " has no name")
	}
	if err == nil {
		err = p.verify(files.current.Load())
	}
	if err != nil {
		return nil, peersInvalid(folder, err)
	}
	return p, nil
}

// Expires is when this host's own certificate expires.
func (p *Peers) Expires() time.Time { return p.files.Expires() }

func peersInvalid(folder string, err error) error {
	return sdk.Errorf(sdk.Invalid, "tls_invalid", "%s can't be used: %w", folder, err).
		WithHint("put a certificate for servers and clients there (%s), its key (%s) and its authority's certificate (%s)", peerCert, peerKey, peerAuthority)
}

// verify checks the host's own certificate in the same way as the other hosts will.
func (p *Peers) verify(own *tls.Certificate) error {
	between := x509.NewCertPool()
	for _, der := range own.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		between.AddCert(c)
	}
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := own.Leaf.Verify(x509.VerifyOptions{DNSName: p.name, Roots: p.pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Server is the encryption of a listener for other hosts. A host's certificate is for the
// name that they have in common.
func (p *Peers) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, GetCertificate: p.files.Get, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: p.pool,
		VerifyConnection: func(s tls.ConnectionState) error { return s.PeerCertificates[0].VerifyHostname(p.name) },
	}
}

// Client is the encryption of connections to other hosts.
func (p *Peers) Client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: p.pool, ServerName: p.name,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p.files.Get(nil) },
	}
}
