// Package certs reads a server's certificate from files.
//
// A certificate is renewed every few weeks by a program that knows nothing about this one,
// and restarting the server for it would end every stream. So the files are read again
// while the server works: during a handshake, and at most once in [lookEvery]. Nothing runs
// if nobody connects, and no notification of a file system can be missed. The two files
// aren't replaced at the same moment. If they don't fit together, or can't be read, that is
// reported, and the earlier pair is used until they fit: clients accept a certificate that
// expires soon, and having none would lock out everybody.
package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// lookEvery is the minimum time between two readings of the files. Reading two small files
	// takes about 50 µs.
	lookEvery = time.Second
	// maxFile is the largest size of a file: a chain of certificates rarely has 16 KiB.
	maxFile = 1 << 20
)

// Options are what [Open] works with.
type Options struct {
	// Cert and Key are the files, in PEM. In Cert the issuers' certificates follow the
	// server's.
	Cert, Key string
	// Clock is the clock. Default [core.SystemClock].
	Clock core.Clock
	// Report is called once for each new pair: with nil if it is used, otherwise with the
	// error. It must be safe for concurrent use and return soon. It may be nil.
	Report func(error)
}

// Files is a certificate and its key, read from two files. If the files change, they are read
// again. It is safe for concurrent use, and needs no Close.
type Files struct {
	options Options
	current atomic.Pointer[tls.Certificate]

	// mu is held while the files are read; nobody waits for it.
	mu     sync.Mutex
	looked time.Time
	seen   [sha256.Size]byte // of the pair that was looked at last, used or not
}

// Open reads the files. The error is sdk.Invalid, reason "tls_invalid", if they aren't a
// pair that can be used now.
func Open(o Options) (*Files, error) {
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	f := &Files{options: o}
	certificate, seen, field, err := f.read()
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "tls_invalid", "%s can't be used: %w", field, err).
			WithHint("give a certificate in PEM, followed by its issuers' certificates, and the key that belongs to it").WithDetail("field", field)
	}
	f.looked, f.seen = o.Clock.Now(), seen
	f.current.Store(certificate)
	return f, nil
}

// Suites are the cipher suites for TLS 1.2: those with forward secrecy that authenticate what they
// encrypt, so none in CBC mode. TLS 1.3 has no others.
func Suites() (ids []uint16) {
	for _, s := range tls.CipherSuites() {
		aead := strings.Contains(s.Name, "_GCM_") || strings.Contains(s.Name, "_CHACHA20_POLY1305")
		if aead && strings.HasPrefix(s.Name, "TLS_ECDHE_") {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Get is the certificate for a handshake: it fits [tls.Config.GetCertificate].
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.readAgain()
	return f.current.Load(), nil
}

// Expires is when the certificate expires that is shown now.
func (f *Files) Expires() time.Time {
	f.readAgain()
	return f.current.Load().Leaf.NotAfter
}

// Covers reports whether the certificate is for a host, a name or an IP address.
func (f *Files) Covers(host string) bool { return f.current.Load().Leaf.VerifyHostname(host) == nil }

// Name is the first host that the certificate is for, without a pattern; "" is none.
func (f *Files) Name() string {
	leaf := f.current.Load().Leaf
	for _, name := range leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name
		}
	}
	for _, ip := range leaf.IPAddresses {
		return ip.String()
	}
	return ""
}

// secret refuses a key that everybody on this machine may read or change. Its group may read it, as
// programs that renew certificates have it.
func secret(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o027 == 0 || runtime.GOOS == "windows" {
		return nil // reading it reports what is wrong
	}
	return sdk.Errorf(sdk.Invalid, "tls_key_open", "other users may read or change %s (its mode is %#o)", path, info.Mode().Perm()).
		WithHint("make it readable only by the server's user: chmod 600 %s", path)
}

// readAgain reads the files again, if it is time.
func (f *Files) readAgain() {
	if !f.mu.TryLock() {
		return // another goroutine does
	}
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	if since := now.Sub(f.looked); since >= 0 && since < lookEvery {
		return
	}
	f.looked = now
	certificate, seen, _, err := f.read()
	if seen == f.seen {
		return
	}
	f.seen = seen
	if err == nil {
		f.current.Store(certificate)
	}
	f.options.Report(err)
}

// read reads the pair. seen distinguishes it from other pairs, even if it can't be used,
// and field names the wrong file.
func (f *Files) read() (certificate *tls.Certificate, seen [sha256.Size]byte, field string, err error) {
	cert, err := plainfile.Read(f.options.Cert, maxFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), "tls_cert", err
	}
	if err := secret(f.options.Key); err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), "tls_key", err
	}
	key, err := plainfile.Read(f.options.Key, maxFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), "tls_key", err
	}
	hash := sha256.New()
	for _, part := range [][]byte{cert, {0}, key} {
		_, _ = hash.Write(part) // it never fails
	}
	copy(seen[:], hash.Sum(nil))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // its message contains no part of the key
		return nil, seen, "tls_cert", err
	}
	if f.options.Clock.Now().After(pair.Leaf.NotAfter) {
		return nil, seen, "tls_cert", fmt.Errorf("it expired on %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return &pair, seen, "", nil
}
