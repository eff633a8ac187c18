package install

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// SignatureFile is the detached signature of a package: the base64 of an ed25519
// signature over a line that names what is signed and the list of all other
// files, as sha256sum prints it, sorted by name. A second line, which may be missing, is the
// public key, as the trust file has it: so the signature of a key that isn't trusted can be
// checked too, and the key be shown.
const SignatureFile = PackageFile + ".sig"

const (
	signedWhat        = "reflectory package 1\n"
	maxSignatureBytes = 256
	maxKeyBytes       = 4 << 10
	maxPublishers     = 1000
	maxKeys           = 16
)

var publisherForm = core.Pattern(`^[a-z][a-z0-9-]{0,63}$`)

// Trust has the keys with which publishers sign. The packages of a publisher that it
// names must be signed with one of that publisher's keys; others needn't be signed.
type Trust struct {
	keys map[string][]ed25519.PublicKey
}

// ReadTrust reads a trust file, which maps publishers to keys:
//
//	publishers:
//	  acme: [MCowBQYDK2VwAyEA…]   # what `openssl pkey -pubout` prints between its lines
//
// A file that doesn't exist names nobody. The error, sdk.Invalid with reason
// "trust_invalid", lists every problem with its line; or it is an error of
// [plainfile.Read].
func ReadTrust(file string) (*Trust, error) {
	text, err := plainfile.Read(file, maxYAMLBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &Trust{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := newReader(file)
	t := &Trust{keys: map[string][]ed25519.PublicKey{}}
	if root := r.parse(text); root != nil {
		r.readTrust(root, t)
	}
	if err := r.Err("trust_invalid"); err != nil {
		return nil, err
	}
	return t, nil
}

func (r *reader) readTrust(n *document.Node, t *Trust) {
	r.Known(n, "the trust file", "publishers")
	publishers := n.Get("publishers")
	if publishers == nil || publishers.Kind != document.Mapping || len(publishers.Entries) > maxPublishers {
		r.Add(n.At, "write publishers: {acme: [KEY]}", "publishers must be a mapping of at most %d publishers to lists of keys", maxPublishers)
		return
	}
	for _, publisher := range publishers.Entries {
		if !publisherForm().MatchString(publisher.Key) {
			r.Add(publisher.At, "", "%q is no publisher", core.Cut(publisher.Key))
		}
		t.keys[publisher.Key] = []ed25519.PublicKey{} // named, even if no key can be read
		for _, item := range r.list(publisher.Value, "the keys of "+core.Cut(publisher.Key), maxKeys) {
			key, err := parsePublicKey(r.text(item, "a key"))
			if err != nil {
				r.Add(item.At, "write the base64 that `openssl pkey -pubout` prints between its lines", "this is no ed25519 public key")
				continue
			}
			t.keys[publisher.Key] = append(t.keys[publisher.Key], key)
		}
	}
}

func parsePublicKey(text string) (ed25519.PublicKey, error) {
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("not ed25519")
	}
	return key, nil
}

// KeyID names a public key: the first 16 digits of the SHA-256 of its 32 bytes.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:])[:16]
}

// Signed is what the signature of a package shows about it.
type Signed struct {
	// Signer is the key that signed it, by the first 16 digits of the key's SHA-256, if the trust
	// file names that key for its publisher.
	Signer string `json:"signer,omitempty"`
	// UntrustedSigner is the key that signed it, if the trust file names no key of its publisher.
	// The key shows only that two packages come from one place.
	UntrustedSigner string `json:"untrusted_signer,omitempty"`
}

// verify checks the signature of a package over its files. A nil Trust names nobody.
func (t *Trust) verify(name string, files digests, signature []byte) (Signed, error) {
	publisher, _, _ := strings.Cut(name, "/")
	var keys []ed25519.PublicKey
	named := false
	if t != nil {
		keys, named = t.keys[publisher]
	}
	if len(signature) == 0 {
		if !named {
			return Signed{}, nil
		}
		return Signed{}, sdk.Errorf(sdk.Denied, "signature_missing", "plugin %s isn't signed, and the trust file names keys of %s", name, publisher).
			WithHint("get the signed package; its publisher signs it").
			WithAction("plugin sign", "key", nil, "path", nil)
	}
	raw, own, err := parseSignature(signature)
	valid := func(key ed25519.PublicKey) bool { return key != nil && ed25519.Verify(key, signed(files), raw) }
	switch {
	case err != nil || own != nil && !valid(own):
		return Signed{}, sdk.Errorf(sdk.Denied, "signature_invalid", "plugin %s or its signature was changed after it was signed", name).
			WithHint("get the package again, or sign it again if it is yours")
	case !named && own == nil: // it can't be checked
		return Signed{}, nil
	case !named:
		return Signed{UntrustedSigner: KeyID(own)}, nil
	}
	if i := slices.IndexFunc(keys, valid); i >= 0 {
		return Signed{Signer: KeyID(keys[i])}, nil
	}
	refused := sdk.Errorf(sdk.Denied, "signature_invalid", "plugin %s was changed after it was signed, or no key that the trust file names for %s signed it", name, publisher)
	if own != nil {
		refused = sdk.Errorf(sdk.Denied, "signature_invalid", "plugin %s is signed by key %s, which the trust file doesn't name for %s", name, KeyID(own), publisher)
	}
	return Signed{}, refused.
		WithHint("get the package again, or sign it again if it is yours; add a new key of its publisher's to the trust file only if you know it to be theirs")
}

// parseSignature reads a [SignatureFile]. own is nil if it doesn't have the key.
func parseSignature(text []byte) (raw []byte, own ed25519.PublicKey, err error) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if raw, err = base64.StdEncoding.Strict().DecodeString(lines[0]); err != nil || len(raw) != ed25519.SignatureSize || len(lines) > 2 {
		return nil, nil, errors.New("not a signature")
	}
	if len(lines) == 2 {
		own, err = parsePublicKey(lines[1])
	}
	return raw, own, err
}

// signed returns the bytes that a signature covers.
func signed(files digests) []byte {
	files = maps.Clone(files)
	delete(files, SignatureFile)
	return append([]byte(signedWhat), listing(files)...)
}

// Sign signs the package in a folder with a private key in PEM, as `openssl
// genpkey -algorithm ed25519` makes it, and returns the key's id.
func Sign(ctx context.Context, dir, keyFile string) (signer string, err error) {
	key, err := readPrivateKey(keyFile)
	if err != nil {
		return "", err
	}
	if _, err := ReadPackage(dir); err != nil {
		return "", err
	}
	f, err := openFolder(dir)
	if err != nil {
		return "", err
	}
	defer f.close()
	files, err := f.hash(ctx)
	if err != nil {
		return "", err
	}
	public := key.Public().(ed25519.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", sdk.Wrap("sign "+dir, err)
	}
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed(files))) + "\n" + base64.StdEncoding.EncodeToString(der) + "\n"
	if err := replaceFile(filepath.Join(dir, SignatureFile), []byte(text)); err != nil {
		return "", sdk.Errorf(sdk.Unavailable, "signature_not_written", "can't write the signature: %w", err).
			WithHint("check that %s can be written to", dir)
	}
	return KeyID(public), nil
}

// readPrivateKey never shows what the file contains in an error.
func readPrivateKey(file string) (ed25519.PrivateKey, error) {
	text, err := plainfile.Read(file, maxKeyBytes)
	if err != nil {
		return nil, err
	}
	if block, rest := pem.Decode(text); block != nil && len(bytes.TrimSpace(rest)) == 0 {
		if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := parsed.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, sdk.Errorf(sdk.Invalid, "key_invalid", "%s holds no ed25519 private key in PEM", file).
		WithHint("make one: openssl genpkey -algorithm ed25519 -out KEY.pem")
}
