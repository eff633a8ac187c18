package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/reflectory/reflectory/sdk/wire"
)

// serverName is what go-plugin's certificates are for.
const serverName = "localhost"

// certLife is longer than any instance lives, since connections are made once.
const certLife = 365 * 24 * time.Hour

// issueTLS makes a certificate pair for each side of one connection. Both are
// P-256, whose handshake takes a tenth of the time of go-plugin's P-521.
func issueTLS(now time.Time) (host *tls.Config, theirs *wire.StartTLS, err error) {
	hostCert, hostKey, err := issue(now)
	if err != nil {
		return nil, nil, err
	}
	pluginCert, pluginKey, err := issue(now)
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(hostCert, hostKey)
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pluginCert)
	host = &tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      roots,
		ServerName:   serverName,
		MinVersion:   tls.VersionTLS13,
	}
	return host, &wire.StartTLS{
		Certificate: string(pluginCert), Key: string(pluginKey), HostCertificate: string(hostCert),
	}, nil
}

// issue makes a self-signed certificate and its key, both PEM.
func issue(now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: serverName, Organization: []string{"Reflectory"}},
		DNSNames:     []string{serverName},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		// Its own authority, as peers in other languages want it.
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
