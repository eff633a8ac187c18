package access

import (
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

// The prefixes of the keys. See the package comment.
const (
	tokenPrefix   = "token/"
	usedPrefix    = "token-used/"
	linkPrefix    = "login-link/"
	sessionPrefix = "login-session/"
)

// tokens are the records of tokens. What this package doesn't write, byte for byte, isn't valid.
var tokens = table.Kind[record]{
	Part: "access", Prefix: tokenPrefix,
	Doc:     "id | a token: `{id, subject, scopes, namespaces, default_namespace?, models?, budget?, label?, issued_by?, created_at, expires_at, revoked_at?, digest}`, byte for byte as the program writes it: anything else lets nobody in. `digest` is the SHA-256 of its secret, in hexadecimal. At most 10,000; each new token drops the tokens that ended 30 days ago or more. Here `id` is a token's id: 16 lower-case hexadecimal digits, of which the first 8 are the time, in seconds, at which it was made",
	Passing: true, Exact: true,
	Valid: func(id string, rec *record) string {
		if rec.ID != id || id == OperatorID || reserved(rec.Subject) || !rec.LastUsedAt.IsZero() {
			return "it isn't a token"
		}
		return ""
	},
}

// uses are when tokens were last used.
var uses = table.Kind[time.Time]{
	Part: "access", Prefix: usedPrefix, Doc: "id | when the token was last used, as JSON text, written at most once an hour", Passing: true, Exact: true,
	Agrees: func(r core.Reader, id string, _ *time.Time) (string, error) { return ofToken(r, id) },
}

// links and sessions are logins by the id of their token and the digest of their own secret.
var (
	links    = logins(linkPrefix, "id `/` digest | a link that logs in once: `{token, created_at, expires_at}`; `id` is the token's id, or `operator`, `digest` the SHA-256 of the link's secret, `token` the SHA-256 of the token's secret")
	sessions = logins(sessionPrefix, "id `/` digest | a browser that is logged in, in the same form")
)

func logins(prefix, doc string) *table.Kind[login] {
	return &table.Kind[login]{
		Part: "access", Prefix: prefix, Doc: doc, Passing: true, Exact: true,
		Valid: func(id string, _ *login) string {
			if id, text, _ := strings.Cut(id, "/"); !validID(id) || new(digest).UnmarshalText([]byte(text)) != nil {
				return "its key isn't the key of a login"
			}
			return ""
		},
		Agrees: func(r core.Reader, id string, _ *login) (string, error) {
			if id, _, _ = strings.Cut(id, "/"); id == OperatorID {
				return "", nil
			}
			return ofToken(r, id)
		},
	}
}

// ofToken describes a record that belongs to a missing token.
func ofToken(r core.Reader, id string) (string, error) {
	_, found, err := r.Get(tokenKey(id))
	if err != nil || found {
		return "", err
	}
	return "it belongs to a token that doesn't exist", nil
}

func tokenKey(id string) []byte { return []byte(tokenPrefix + id) }

// loginID is the id of a link or session.
func loginID(token string, d digest) string { return token + "/" + d.String() }
