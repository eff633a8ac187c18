package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A credential is text of a fixed length in one alphabet without upper case, so that each
// has exactly one spelling: nothing has to be normalized before it is compared. Its
// prefix lets tools that look for leaked secrets recognize it.

// kind is the purpose of a credential, as the prefix of its text.
type kind string

const (
	kindToken   kind = "rfl"
	kindLink    kind = "rfo" // can be used once
	kindSession kind = "rfs"
)

const (
	// secretBytes is the size of a secret: 256 bits.
	secretBytes = 32
	// idDigits is the length of a token's id: the time in seconds since 1970, so that ids
	// are sorted by time of issue, and 32 random bits.
	idDigits = 16
	// MaxCredential is the longest credential, in bytes.
	MaxCredential = len(kindToken) + 1 + idDigits + 1 + 2*secretBytes
)

// OperatorID is the id of the operator's token.
const OperatorID = "operator"

// Secret is the text of a credential. It is written to JSON as it is, for the one result
// that shows it; everywhere else, such as in a log or an error, it is "[secret]".
type Secret string

// Format implements [fmt.Formatter] for all verbs.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, shown) }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(shown) }

// shown is what a text has instead of a credential.
const shown = "[secret]"

// Hide leaves credentials out of a text that may quote what a client has sent, such as a
// problem or a line of a log: for example a token that was put in the place of an id. The
// beginning of one is left out too.
func Hide(text []byte) []byte { return credentials().ReplaceAll(text, []byte(shown)) }

// credentials matches what is as long as hardly anything else that begins so.
var credentials = core.Pattern(`rf[los]_(` + OperatorID + `|[0-9a-f]{16})_[0-9a-f]+`)

// credential is the parts of a credential. Nobody has the zero value.
type credential struct {
	id     string
	secret [secretBytes]byte
}

// parse splits a credential into its parts. ok is whether it is a credential of that
// kind; otherwise the result is the zero value, which can be looked up like any other.
func parse(k kind, text string) (c credential, ok bool) {
	if len(text) > MaxCredential {
		return credential{}, false
	}
	rest, ok := strings.CutPrefix(text, string(k)+"_")
	id, digits, cut := strings.Cut(rest, "_")
	if !ok || !cut || !validID(id) || len(digits) != 2*secretBytes || !isHex(digits) {
		return credential{}, false
	}
	c.id = id
	_, err := hex.Decode(c.secret[:], []byte(digits))
	return c, err == nil
}

// text is the credential as it is shown, once.
func (c credential) text(k kind) Secret {
	return Secret(string(k) + "_" + c.id + "_" + hex.EncodeToString(c.secret[:]))
}

// digest is the hash of a secret, which is stored instead of the secret.
type digest [sha256.Size]byte

func (c credential) digest() digest { return sha256.Sum256(c.secret[:]) }

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// equal takes the same time, wherever two digests differ.
func (d digest) equal(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// MarshalText implements [encoding.TextMarshaler].
func (d digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]: it reads only what [digest.String] wrote.
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) || !isHex(string(text)) {
		return errors.New("a digest isn't 64 hexadecimal digits")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// newSecret generates a credential's secret.
func newSecret(random io.Reader, id string) (credential, error) {
	c := credential{id: id}
	if _, err := io.ReadFull(random, c.secret[:]); err != nil {
		return credential{}, sdk.Errorf(sdk.Unavailable, "no_randomness", "generate a secret: %w", err)
	}
	return c, nil
}

// validID reports whether a text is a token's id, or the operator's.
func validID(id string) bool { return id == OperatorID || len(id) == idDigits && isHex(id) }

func isHex(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// unauthenticated is the reason of the error for a credential that isn't valid.
const unauthenticated = "unauthenticated"

// refusal is the error for every credential that isn't valid, whatever is wrong with it.
func refusal() error {
	return sdk.Errorf(sdk.Denied, unauthenticated, "the token or login isn't valid").
		WithHint("ask the operator for a token")
}

// Unauthenticated is the error for an invalid credential of another kind.
func Unauthenticated() error { return refusal() }

// IsUnauthenticated reports whether an error means that a credential isn't valid: it is
// malformed, wrong, expired or revoked, or its id doesn't exist.
func IsUnauthenticated(err error) bool {
	return sdk.CodeOf(err) == sdk.Denied && sdk.ReasonOf(err) == unauthenticated
}

// nobody is the result for a credential that isn't valid.
func nobody() (core.Caller, error) { return core.Caller{}, refusal() }
