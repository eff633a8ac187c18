// Package certs has the certificate that a server shows.
//
// A certificate is renewed every few weeks, by a program that knows nothing of this one, and
// a server that had to be started again for it would end every stream. So the files are read
// again while the server works: at a handshake, and at most once in [lookEvery], so that
// nothing runs where nobody connects, and no notice of a file system can be missed. The two
// files aren't replaced at once. A pair that doesn't fit together, or can't be read, is
// reported, and the one before is shown until they fit: clients take a certificate that
// ends soon, and none would lock out everybody.
package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// lookEvery is how often the files are read at most: two small files take some 50 µs.
	lookEvery = time.Second
	// maxFile is how many bytes a file has at most: a chain of certificates has hardly 16 KiB.
	maxFile = 1 << 20
)

// Options are what [Open] works with.
type Options struct {
	// Cert and Key are the files, in PEM. Cert has the certificates of issuers behind it.
	Cert, Key string
	// Clock says when. Default [core.SystemClock].
	Clock core.Clock
	// Report hears of a renewed pair, with nil, and of one that isn't used, with the error, once
	// for each. It must be safe for concurrent use and return soon. Nil drops them.
	Report func(error)
}

// Files is the certificate in two files, as they are now. It is safe for concurrent use, and
// has nothing to close.
type Files struct {
	options Options
	current atomic.Pointer[tls.Certificate]

	// mu is held by who looks at the files; nobody waits for it.
	mu     sync.Mutex
	looked time.Time
	seen   [sha256.Size]byte // of the pair that was looked at last, used or not
}

// Open reads the files. The error is sdk.Invalid, reason "tls_invalid", where they are no
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
			WithHint("give a certificate in PEM, its issuers' behind it, and the key that belongs to it").WithDetail("field", field)
	}
	f.looked, f.seen = o.Clock.Now(), seen
	f.current.Store(certificate)
	return f, nil
}

// Get is the certificate for a handshake: it fits [tls.Config.GetCertificate].
func (f *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.look()
	return f.current.Load(), nil
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

// look reads the files again, if it is time.
func (f *Files) look() {
	if !f.mu.TryLock() {
		return // somebody else does
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

// read reads the pair. seen tells it from others, even if it can't be used, and field
// says which file is wrong.
func (f *Files) read() (certificate *tls.Certificate, seen [sha256.Size]byte, field string, err error) {
	cert, err := core.ReadFile(f.options.Cert, maxFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), "tls_cert", err
	}
	key, err := core.ReadFile(f.options.Key, maxFile)
	if err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), "tls_key", err
	}
	hash := sha256.New()
	for _, part := range [][]byte{cert, {0}, key} {
		_, _ = hash.Write(part) // it never fails
	}
	copy(seen[:], hash.Sum(nil))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // its words have nothing of the key
		return nil, seen, "tls_cert", err
	}
	if f.options.Clock.Now().After(pair.Leaf.NotAfter) {
		return nil, seen, "tls_cert", fmt.Errorf("it has expired on %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return &pair, seen, "", nil
}
