package install_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// age makes a file look as if it had been there for long.
func age(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// key writes the private key of a seed in PEM, and returns its file and the
// public key as a trust file has it.
func key(t *testing.T, seed byte) (file, public string) {
	t.Helper()
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+seed)), 32)))
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return file, base64.StdEncoding.EncodeToString(spki)
}

func trusting(t *testing.T, publisher string, keys ...string) *install.Trust {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"trust.yaml": fmt.Sprintf("publishers:\n  %s: [%s]\n", publisher, strings.Join(keys, ", "))})
	trust, err := install.ReadTrust(filepath.Join(dir, "trust.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func TestASignedPublisherMustVerify(t *testing.T) {
	mine, public := key(t, 1)
	_, other := key(t, 2)
	sign := func(t *testing.T, w *world) {
		if _, err := install.Sign(t.Context(), w.source, mine); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		prepare   func(t *testing.T, w *world)
		publisher string
		keys      []string
		reason    string
	}{
		"signed by the key":             {sign, "acme", []string{public}, ""},
		"signed by one of the keys":     {sign, "acme", []string{other, public}, ""},
		"of a publisher not named":      {nil, "other", []string{other}, ""},
		"not signed":                    {nil, "acme", []string{public}, "signature_missing"},
		"signed by another key":         {sign, "acme", []string{other}, "signature_invalid"},
		"of a publisher without a key":  {sign, "acme", nil, "signature_invalid"},
		"changed after it was signed":   {func(t *testing.T, w *world) { sign(t, w); write(t, w.source, map[string]string{"judge": "evil"}) }, "acme", []string{public}, "signature_invalid"},
		"added to after it was signed":  {func(t *testing.T, w *world) { sign(t, w); write(t, w.source, map[string]string{"more": ""}) }, "acme", []string{public}, "signature_invalid"},
		"with a signature that is none": {func(t *testing.T, w *world) { write(t, w.source, map[string]string{install.SignatureFile: "x"}) }, "acme", []string{public}, "signature_invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			if tt.prepare != nil {
				tt.prepare(t, w)
			}
			trust := trusting(t, tt.publisher, tt.keys...)
			w.options.Trust = trust
			p, err := install.Add(t.Context(), w.source, w.options)
			if tt.reason == "" {
				if err != nil || (p.Locked.Signer != "") != (tt.publisher == "acme") {
					t.Fatalf("%v, signer %q", err, p.Locked.Signer)
				}
				if err := start(t, w.open(), &driver{}); err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, sdk.Denied, tt.reason, "acme")
			// What was pinned before the trust file named the publisher doesn't run either.
			w.options.Trust = nil
			w.add()
			set := w.open(func(o *install.Options) { o.Trust = trust })
			wantError(t, start(t, set, &driver{}), sdk.Denied, tt.reason, "acme")
		})
	}
}

func TestABadTrustFileIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no publishers":   {"acme: x", `no key "acme"`},
		"a list":          {"publishers: [a]", "must be a mapping"},
		"a bad publisher": {"publishers: {A/b: []}", `"A/b" is no publisher`},
		"a bad key":       {"publishers: {acme: [x]}", "no ed25519 public key"},
		"a key of RSA":    {"publishers: {acme: [MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK==]}", "no ed25519 public key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"trust.yaml": tt.text})
			_, err := install.ReadTrust(filepath.Join(dir, "trust.yaml"))
			wantError(t, err, sdk.Invalid, "trust_invalid", tt.want)
		})
	}
	if _, err := install.ReadTrust(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatIsNoneIsNotShown(t *testing.T) {
	w := judge(t)
	write(t, w.dir, map[string]string{"key": "secret"})
	_, err := install.Sign(t.Context(), w.source, filepath.Join(w.dir, "key"))
	wantError(t, err, sdk.Invalid, "key_invalid", "openssl genpkey")
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
