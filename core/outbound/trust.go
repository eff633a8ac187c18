package outbound

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of files of authorities. The system's own file has about 220 KB.
const (
	maxTrustBytes = 4 << 20
	maxTrustFiles = 2000
)

// trust are the authorities that were read.
type trust struct {
	bundle []byte // PEM
	roots  *x509.CertPool
	err    error // of what couldn't be read
}

// Roots are the authorities that are trusted; nil means the system's, if nothing else is
// set.
func (n *Network) Roots() *x509.CertPool { return n.trust().roots }

// Bundle is what is trusted because of SSL_CERT_FILE, SSL_CERT_DIR and settings.llm.ca, as
// one PEM file; nil if none of them is set. folders reports whether the system's folders are
// replaced too.
func (n *Network) Bundle() (pem []byte, folders bool) {
	return n.trust().bundle, n.options.CertDir != ""
}

// Problem is what is wrong with the files of authorities, as one line; nil if nothing is.
// What can be read is trusted all the same.
func (n *Network) Problem() error { return n.trust().err }

// readTrust reads the authorities of a network.
func readTrust(o Options) (t trust) {
	if o.CertFile == "" && o.CertDir == "" && o.CA == "" {
		return t
	}
	var errs []error
	add := func(source, path string) {
		data, err := readPEM(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", source, err))
		}
		t.bundle = append(t.bundle, data...)
	}
	if o.CertFile != "" {
		add("SSL_CERT_FILE", o.CertFile)
	}
	for _, folder := range filepath.SplitList(o.CertDir) {
		files, err := filesOf(folder)
		if err != nil {
			errs = append(errs, fmt.Errorf("SSL_CERT_DIR: %w", err))
		}
		for _, file := range files {
			if data, err := readPEM(file); err == nil { // such folders have other files too
				t.bundle = append(t.bundle, data...)
			}
		}
	}
	if o.CA != "" {
		add("settings.llm.ca", o.CA)
	}
	if len(t.bundle) > maxTrustBytes {
		errs = append(errs, fmt.Errorf("the files of authorities have %d bytes (limit %d)", len(t.bundle), maxTrustBytes))
		t.bundle = nil
	}
	t.roots, _ = x509.SystemCertPool() // it follows the program's own environment
	if t.roots == nil {
		t.roots = x509.NewCertPool()
	}
	t.roots.AppendCertsFromPEM(t.bundle)
	if err := errors.Join(errs...); err != nil {
		t.err = sdk.Errorf(sdk.Invalid, "authorities_unreadable", "%w", err).WithHint("correct the path, or unset it to trust the system's authorities alone")
	}
	return t
}

// filesOf lists the files of a folder.
func filesOf(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries[:min(len(entries), maxTrustFiles)] {
		files = append(files, filepath.Join(folder, e.Name()))
	}
	return files, err
}

// readPEM reads the certificates of a file. A file without one is an error.
func readPEM(path string) ([]byte, error) {
	info, err := os.Stat(path) // a pipe would never end
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s isn't a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTrustBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxTrustBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxTrustBytes)
	}
	return Certificates(data, path)
}

// Certificates are the certificates in PEM data, without anything else in it, such as a
// private key. Data without one is an error, which names the source.
func Certificates(data []byte, source string) ([]byte, error) {
	var out bytes.Buffer
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil {
			_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM", source)
	}
	return out.Bytes(), nil
}
