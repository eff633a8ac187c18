package access

import (
	"strings"

	"github.com/reflectory/reflectory/core"
)

// The prefixes of the keys. See the package comment.
const (
	tokenPrefix   = "token/"
	usedPrefix    = "token-used/"
	linkPrefix    = "login-link/"
	sessionPrefix = "login-session/"
)

func tokenKey(id string) []byte { return []byte(tokenPrefix + id) }

func usedKey(id string) []byte { return []byte(usedPrefix + id) }

// loginKey is the key of a link or session, whose prefix is given.
func loginKey(prefix, id string, d digest) []byte {
	return []byte(prefix + id + "/" + d.String())
}

// splitLogin returns the id and the digest in a key of [loginKey]. ok is whether it is
// one.
func splitLogin(prefix, key string) (id string, d digest, ok bool) {
	rest, found := strings.CutPrefix(key, prefix)
	id, text, _ := strings.Cut(rest, "/")
	d, ok = parseDigest(text)
	return id, d, ok && found && validID(id)
}

// scan calls fn for each key with a prefix, until it returns an error.
func scan(r core.Reader, prefix string, fn func(key string, value []byte) error) error {
	return core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
		return true, fn(string(key), value)
	})
}
