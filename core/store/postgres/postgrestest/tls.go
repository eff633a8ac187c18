package postgrestest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ListenTLS has the cluster listen on the loopback too, with TLS for the name localhost, and
// let users of a password in there. It returns the port, and the file of the CA that issued
// the server's certificate.
func (c *Cluster) ListenTLS(t testing.TB) (port int, ca string) {
	t.Helper()
	ca = filepath.Join(c.Dir, "ca.pem")
	err := errors.Join(
		c.issue(ca),
		c.Append("pg_hba.conf", "hostssl all all 127.0.0.1/32 scram-sha-256\n"),
		c.Stop("fast"),
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // another program may take a port that was free
		if port, err = freePort(); err == nil {
			c.port = port
			err = errors.Join(c.Append("postgresql.conf", fmt.Sprintf("listen_addresses = '127.0.0.1'\nport = %d\nssl = on\n", port)))
		}
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			return port, ca
		}
	}
	t.Fatal(err)
	return 0, ""
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// NewCA writes the certificate of a CA that issued nothing.
func NewCA(t testing.TB, file string) {
	t.Helper()
	_, _, text, err := newCA()
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// issue gives the server a certificate, and writes its CA's.
func (c *Cluster) issue(ca string) error {
	issuer, issuerKey, issuerText, err := newCA()
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := certificate(2)
	template.DNSNames = []string{"localhost"}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{
		{ca, issuerText},
		{filepath.Join(c.data(), "server.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})},
		{filepath.Join(c.data(), "server.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})},
	} {
		if err := errors.Join(os.WriteFile(f.name, f.text, 0o600), chown(f.name)); err != nil {
			return err
		}
	}
	return nil
}

func newCA() (*x509.Certificate, *ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	template := certificate(1)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

func certificate(serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprintf("test %d", serial)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}
