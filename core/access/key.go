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
	Part: "access", Prefix: tokenPrefix, Passing: true, Exact: true,
	Valid: func(id string, rec *record) string {
		if rec.ID != id || id == OperatorID || reserved(rec.Subject) || !rec.LastUsedAt.IsZero() {
			return "it isn't a token"
		}
		return ""
	},
}

// uses are when tokens were last used.
var uses = table.Kind[time.Time]{
	Part: "access", Prefix: usedPrefix, Passing: true, Exact: true,
	Agrees: func(r core.Reader, id string, _ *time.Time) (string, error) { return ofToken(r, id) },
}

// links and sessions are logins by the id of their token and the digest of their own secret.
var (
	links    = logins(linkPrefix)
	sessions = logins(sessionPrefix)
)

func logins(prefix string) *table.Kind[login] {
	return &table.Kind[login]{
		Part: "access", Prefix: prefix, Passing: true, Exact: true,
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
