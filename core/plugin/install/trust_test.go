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
			if _, err := install.Add(t.Context(), w.source, w.options); err != nil { // nobody should use it
				wantError(t, err, sdk.Denied, "signature_invalid", "changed after it was signed")
				return
			}
			set := w.open(func(o *install.Options) { o.Trust = trust })
			wantError(t, start(t, set, &driver{}), sdk.Denied, tt.reason, "acme")
		})
	}
}

// A signature shows its key, and holds for the files, also where nobody trusts the key.
func TestAdd_ChecksTheSignatureOfAKeyThatIsNotTrusted(t *testing.T) {
	mine, _ := key(t, 1)
	other, _ := key(t, 2)
	sign := func(t *testing.T, w *world, key string) (signature []byte, id string) {
		id, err := install.Sign(t.Context(), w.source, key)
		if err != nil {
			t.Fatal(err)
		}
		if signature, err = os.ReadFile(filepath.Join(w.source, install.SignatureFile)); err != nil {
			t.Fatal(err)
		}
		return signature, id
	}
	put := func(w *world, text string) { write(t, w.source, map[string]string{install.SignatureFile: text}) }
	for name, tt := range map[string]struct {
		change func(w *world, signature string)
		// refused is whether it isn't added, and shown whether its key is shown.
		refused, shown bool
	}{
		"as it was signed":       {func(*world, string) {}, false, true},
		"without a signature":    {func(w *world, _ string) { without(w, install.SignatureFile) }, false, false},
		"without the key":        {func(w *world, s string) { put(w, s[:strings.Index(s, "\n")+1]) }, false, false},
		"a program's first byte": {func(w *world, _ string) { write(t, w.source, map[string]string{"judge": " !/bin/true\n"}) }, true, false},
		"a program's last byte":  {func(w *world, _ string) { write(t, w.source, map[string]string{"judge": "#!/bin/true "}) }, true, false},
		"its version": {func(w *world, _ string) {
			write(t, w.source, map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "1.2.3", "1.2.4", 1)})
		}, true, false},
		"a file's name": {func(w *world, _ string) {
			without(w, "data/words")
			write(t, w.source, map[string]string{"data/wordz": "a\n"})
		}, true, false},
		"a file less":          {func(w *world, _ string) { without(w, "data/words") }, true, false},
		"a file more":          {func(w *world, _ string) { write(t, w.source, map[string]string{"more": ""}) }, true, false},
		"an empty signature":   {func(w *world, _ string) { put(w, "\n") }, true, false},
		"the signature's byte": {func(w *world, s string) { put(w, flipped(s, 3)) }, true, false},
		"the signature's end":  {func(w *world, s string) { put(w, flipped(s, 84)) }, true, false},
		"the key's byte":       {func(w *world, s string) { put(w, flipped(s, len(s)-9)) }, true, false},
		"a third line":         {func(w *world, s string) { put(w, s+"x\n") }, true, false},
		"another's key": {func(w *world, s string) {
			theirs, _ := sign(t, w, other)
			put(w, s[:strings.Index(s, "\n")]+string(theirs[strings.Index(string(theirs), "\n"):]))
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			signature, id := sign(t, w, mine)
			tt.change(w, string(signature))
			for _, source := range []string{w.source, packed(w)} {
				p, err := install.Add(t.Context(), source, w.options)
				switch {
				case tt.refused:
					wantError(t, err, sdk.Denied, "signature_invalid", "changed after it was signed")
					w.nothingLeft()
				case err != nil:
					t.Error(err)
				case (p.Locked.UntrustedSigner == id) != tt.shown || p.Locked.Signer != "":
					t.Errorf("signed by %+v, want %s", p.Locked.Signed, id)
				}
			}
		})
	}
}

// flipped changes a character of base64 into another one.
func flipped(text string, at int) string {
	other := "A"
	if text[at] == 'A' {
		other = "B"
	}
	return text[:at] + other + text[at+1:]
}

// packed packs the world's package.
func packed(w *world) (file string) {
	w.t.Helper()
	p, err := install.Pack(w.t.Context(), w.source, filepath.Join(w.dir, "packed.tar.gz"))
	if err != nil {
		w.t.Fatal(err)
	}
	return p.File
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
