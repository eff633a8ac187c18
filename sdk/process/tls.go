package process

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// serverTLS serves with the host's certificate for this process and accepts only that
// host. It returns nil for nil: the host didn't ask for TLS.
func serverTLS(t *wire.StartTLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	cert, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "start_invalid", "the host's start message: certificate: %w", err)
	}
	hosts := x509.NewCertPool()
	if !hosts.AppendCertsFromPEM([]byte(t.HostCertificate)) {
		return nil, sdk.Errorf(sdk.Invalid, "start_invalid", "the host's start message: host_certificate is not a PEM certificate")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    hosts,
		MinVersion:   tls.VersionTLS13,
	}, nil
}
